"""Modules imported when first used: a process that asks one question should not wait for what it does not do."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import ModuleType


class LazyModule:
    """Stands for a module; its first attribute brings it in. What the module holds is not kept here: whoever puts
    something else there, as tests do, would be heard by some and not by others."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._module: ModuleType | None = None

    def __getattr__(self, attribute: str) -> Any:
        if self._module is None:
            self._module = import_module(self._name)
        return getattr(self._module, attribute)

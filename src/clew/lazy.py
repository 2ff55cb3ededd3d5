"""Modules imported when first used: a process that asks one question should not wait for what it does not do."""

from __future__ import annotations

from importlib import import_module
from typing import Any


class LazyModule:
    """Stands for a module; its first attribute brings it in."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        value = getattr(import_module(self._name), attribute)
        if not attribute.startswith("__"):
            self.__dict__[attribute] = value  # next time without a detour
        return value

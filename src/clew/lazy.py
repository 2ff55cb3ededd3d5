"""Modules imported and parts made when first used: a process that asks one question should not wait for what it
does not do."""

from __future__ import annotations

from functools import cached_property
from importlib import import_module
from threading import RLock
from typing import TYPE_CHECKING, Any, TypeVar, overload

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Self

T = TypeVar("T")


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


class made_once(cached_property[T]):  # noqa: N801 - it is written as a decorator
    """A property that one thread makes while others that ask wait for it. From Python 3.12 on, each that asks first
    makes a `cached_property` of its own, and all but the last are lost without being closed."""

    def __init__(self, func: Callable[[Any], T]) -> None:
        super().__init__(func)
        self._turn = RLock()

    @overload
    def __get__(self, instance: None, owner: type | None = None) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type | None = None) -> T: ...
    def __get__(self, instance: object, owner: type | None = None) -> Self | T:
        """Only until it is made: then it stands in the instance itself."""
        if instance is None:
            return self
        name = self.func.__name__
        with self._turn:
            if name not in instance.__dict__:
                instance.__dict__[name] = self.func(instance)
            made: T = instance.__dict__[name]
            return made

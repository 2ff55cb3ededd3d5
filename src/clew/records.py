"""Frozen values that are quick to define: `@record(frozen=True, slots=True)` does what `@dataclass` does with that.

A dataclass compiles six functions for each class, some 0.5 ms, and a process that asks one question defines sixty
of them before it asks. Here only `__init__` is compiled, which leaves a quarter of that; the others are the same
for every class. `fields`, `replace`, `match`, copies and pickles know no difference.
"""

from __future__ import annotations

from dataclasses import MISSING, FrozenInstanceError, dataclass, fields
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NoReturn

__all__ = ["record"]

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from dataclasses import Field
    from dataclasses import dataclass as record
else:

    def record(*, frozen: bool, slots: bool = False, eq: bool = True, repr: bool = True, kw_only: bool = False):
        """Always frozen: one that may change has little to gain, and is written as what it is."""
        if not frozen:
            raise TypeError("a record is frozen: write frozen=True, or use a dataclass")

        def define(cls: type) -> type:
            own = cls.__dict__.keys()
            made = dataclass(init=False, repr=False, eq=False, slots=slots, kw_only=kw_only)(cls)
            for name, function in _functions(made, eq=eq, repr=repr):
                if name not in own:  # what a class defines itself stays
                    setattr(made, name, function)
            return made

        return define


def _functions(cls: type, *, eq: bool, repr: bool) -> Iterator[tuple[str, Callable[..., Any]]]:
    yield "__init__", _compiled_init(cls, fields(cls))
    yield "__setattr__", _refuse_to_assign
    yield "__delattr__", _refuse_to_delete
    yield "__getstate__", _state
    yield "__setstate__", _restore
    if repr:
        yield "__repr__", _shown
    if eq:
        yield from _comparing(fields(cls))


def _compiled_init(cls: type, all_fields: tuple[Field[Any], ...]) -> Callable[..., None]:
    """Takes what a field is given or falls back on, in their order, those for which a name is needed last."""
    known: dict[str, Any] = {"__set": object.__setattr__, "__missing": MISSING}
    body = []
    for field in all_fields:
        if field.default is not MISSING:
            known[_fallback(field)] = field.default
        elif field.default_factory is not MISSING:
            known[_fallback(field)] = field.default_factory
        if (taken := _taken(field)) is not None:
            body.append(f" __set(self, {field.name!r}, {taken})")
    if hasattr(cls, "__post_init__"):
        body.append(" self.__post_init__()")
    by_place = [_parameter(field) for field in all_fields if field.init and not field.kw_only]
    by_name = [_parameter(field) for field in all_fields if field.init and field.kw_only]
    parameters = ", ".join(["self", *by_place, *(["*", *by_name] if by_name else [])])
    made: dict[str, Any] = {}
    source = f"def __init__({parameters}):\n" + "\n".join(body or [" pass"])
    exec(source, known, made)  # noqa: S102 - of names of fields alone, which Python took as names
    init: Callable[..., None] = made["__init__"]
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    init.__annotations__ = {field.name: field.type for field in all_fields if field.init} | {"return": None}
    return init


def _parameter(field: Field[Any]) -> str:
    if field.default is not MISSING:
        return f"{field.name}={_fallback(field)}"
    return f"{field.name}=__missing" if field.default_factory is not MISSING else field.name


def _taken(field: Field[Any]) -> str | None:
    """The value of a field, as the compiled function says it; None for one that it does not set."""
    if field.default_factory is not MISSING:
        made = f"{_fallback(field)}()"
        return f"{made} if {field.name} is __missing else {field.name}" if field.init else made
    if field.init:
        return field.name
    return None if field.default is MISSING else _fallback(field)


def _fallback(field: Field[Any]) -> str:
    """A name that neither a field nor what is used beside them has."""
    return f"__{field.name}__"


def _comparing(all_fields: tuple[Field[Any], ...]) -> Iterator[tuple[str, Callable[..., Any]]]:
    compared = [field.name for field in all_fields if field.compare]
    told = attrgetter(*compared, "__class__")  # a tuple for one field, too

    def is_equal(self: object, other: object) -> Any:
        return told(self) == told(other) if other.__class__ is self.__class__ else NotImplemented

    def hashed(self: object) -> int:
        return hash(told(self))

    yield "__eq__", is_equal
    yield "__hash__", hashed


def _shown(self: Any) -> str:
    told = ", ".join(f"{field.name}={getattr(self, field.name)!r}" for field in fields(self) if field.repr)
    return f"{self.__class__.__qualname__}({told})"


def _refuse_to_assign(self: object, name: str, value: object) -> NoReturn:  # noqa: ARG001 - as Python calls it
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(self: object, name: str) -> NoReturn:  # noqa: ARG001
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: Any) -> list[Any]:
    return [getattr(self, field.name) for field in fields(self)]


def _restore(self: Any, state: list[Any]) -> None:
    for field, value in zip(fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)

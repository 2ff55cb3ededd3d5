"""`dataclass` as in the standard library, but cheap to define.

There, every class compiles six functions from text, 0.6 ms of them, and a recall in a fresh process meets sixty
classes: a fifth of its time. Here only `__init__` is compiled; what compares, hashes, shows and guards a value is
the same few functions for all. Fields stay those of the standard library, so `replace`, `fields` and `asdict`
work as ever. Not taken over: `order`, `unsafe_hash`, `InitVar`, `field(hash=...)`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:
    from dataclasses import MISSING, FrozenInstanceError, fields
    from dataclasses import dataclass as _standard
    from operator import attrgetter

    from clew import native

    FEW = 4  # fields: of more, the slots are filled by one compiled call

    def dataclass(cls=None, /, *, frozen=False, slots=False, kw_only=False, eq=True, repr=True):
        def make(cls):
            return _made(cls, frozen=frozen, slots=slots, kw_only=kw_only, eq=eq, repr=repr)

        return make if cls is None else make(cls)

    def _made(cls, *, frozen, slots, kw_only, eq, repr):
        own = set(cls.__dict__)
        if cls.__doc__ is None:
            cls.__doc__ = cls.__name__  # otherwise the signature is looked for, which takes as long as all the rest
        made = _standard(init=False, repr=False, eq=False, slots=slots, kw_only=kw_only)(cls)
        methods = {"__init__": _init_of(made, frozen=frozen, slots=slots)}
        if repr:
            methods["__repr__"] = _shown
        if eq:
            made.__values__ = _values_of(made)
            methods |= {"__eq__": _is_equal, "__hash__": _hash if frozen else None}
        if frozen:
            methods |= {"__setattr__": _refuse_to_set, "__delattr__": _refuse_to_delete}
            if slots:
                methods |= {"__getstate__": _state, "__setstate__": _set_state}
        for name, method in methods.items():
            if name not in own:
                setattr(made, name, method)
        return made

    class _NotGiven:
        def __repr__(self):
            return "<factory>"

    _set = object.__setattr__
    _NOT_GIVEN = _NotGiven()

    def _init_of(cls, *, frozen, slots):
        known, body, told, filled = {"_set": _set, "_NOT_GIVEN": _NOT_GIVEN}, [], {}, {}
        positional, by_name = ["self"], []
        for field in fields(cls):
            name = field.name
            has_default, has_factory = field.default is not MISSING, field.default_factory is not MISSING
            if has_default:
                known[f"_default_{name}"] = field.default
            if has_factory:
                known[f"_make_{name}"] = field.default_factory
            value = name
            if field.init:
                default = f"=_default_{name}" if has_default else "=_NOT_GIVEN" if has_factory else ""
                (by_name if field.kw_only else positional).append(name + default)
                told[name] = field.type
                if has_factory:
                    value = f"_make_{name}() if {name} is _NOT_GIVEN else {name}"
            elif has_default or has_factory:
                value = f"_default_{name}" if has_default else f"_make_{name}()"
            else:
                continue
            if frozen and slots:  # the slot's own setter takes two thirds of the time of the general one
                known[f"_set_{name}"] = getattr(cls, name).__set__
                body.append(f" _set_{name}(self, {value})")
                filled[name] = value
            else:
                body.append(f" _set(self, {name!r}, {value})" if frozen else f" self.{name} = {value}")
        if native.compiled is not None and len(filled) > FEW:
            known |= {"_fill": native.compiled.fill, "_slots": tuple(getattr(cls, name) for name in filled)}
            body = [f" _fill(self, _slots, ({', '.join(filled.values())}))"]
        if hasattr(cls, "__post_init__"):
            body.append(" self.__post_init__()")
        asked = ", ".join([*positional, *(["*", *by_name] if by_name else [])])
        exec(f"def __init__({asked}):\n" + ("\n".join(body) or " pass"), known)  # noqa: S102 - names of fields
        made = known["__init__"]
        made.__qualname__, made.__annotations__ = f"{cls.__qualname__}.__init__", told | {"return": None}
        return made

    def _values_of(cls):
        """The values that are compared, as a tuple. No descriptor: in the class it stays what it is."""
        names = [field.name for field in fields(cls) if field.compare]
        if len(names) > 1:
            return attrgetter(*names)
        return staticmethod(lambda value: tuple(getattr(value, name) for name in names))

    def _is_equal(self, other):
        if other.__class__ is not self.__class__:
            return NotImplemented
        values = self.__values__
        return values(self) == values(other)

    def _hash(self):
        return hash(self.__values__(self))

    def _shown(self):
        told = (f"{field.name}={getattr(self, field.name)!r}" for field in fields(self) if field.repr)
        return f"{self.__class__.__qualname__}({', '.join(told)})"

    def _refuse_to_set(_self, name, _value):
        raise FrozenInstanceError(f"cannot assign to field {name!r}")

    def _refuse_to_delete(_self, name):
        raise FrozenInstanceError(f"cannot delete field {name!r}")

    def _state(self):
        return [getattr(self, field.name) for field in fields(self)]

    def _set_state(self, state):
        for field, value in zip(fields(self), state, strict=True):
            _set(self, field.name, value)

"""Whether what a caller gave is of the kind that a signature names.

Annotations are read as the texts they are, so that nothing is imported for it. Before a verb runs, only what would
be taken for something else without a word is looked at: switches, and who asks. The rest when Python objects to it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, wraps
from types import FunctionType
from typing import Any, TypeVar

from clew.errors import InvalidInput
from clew.model.choice import is_many
from clew.model.limit import MOST, as_whole
from clew.model.scope import is_text

T = TypeVar("T")
Verb = TypeVar("Verb", bound=Callable[..., Any])
TROUBLE = (TypeError, AttributeError, ValueError, OverflowError, LookupError)
_BARE = re.compile(r"\[.*\]")
_ANY = frozenset(("Any", "object", "Callable", "Progress", "TextIO"))
_MANY = frozenset(("tuple", "list", "Sequence", "Iterable", "Collection"))
_OF = re.compile(r"(?:tuple|list|Sequence|Iterable|Collection)\[(\w+)")  # of what there are many
_PLAIN = {"str": "text", "int": "a whole number", "float": "a number", "bool": "True or False", "None": "None"}


def checked(kind: type[T]) -> type[T]:
    """A class whose public methods refuse arguments of the wrong kind by their names, as errors of ours."""
    for name, member in list(vars(kind).items()):
        if isinstance(member, FunctionType) and not name.startswith("_"):
            setattr(kind, name, _checked(member))
    return kind


def takes(kind: type) -> Callable[[Verb], Verb]:
    """Of a verb: whose fields its further keywords are."""

    def marked(verb: Verb) -> Verb:
        verb.__dict__["extra"] = kind
        return verb

    return marked


def check_given(given: Mapping[str, Any], told: Mapping[str, str]) -> None:
    """Refuse the first argument that is of another kind than it is told to be."""
    for name in told.keys() & given.keys():
        if not _fits(given[name], told[name]):
            raise _refusal(name, told[name], given[name])


@contextmanager
def looked_at(values: Iterable[Any]) -> Iterator[None]:
    """Where Python objects, the first of these values that holds something of the wrong kind is refused."""
    try:
        yield
    except TROUBLE as error:
        refusal = next(filter(None, map(_wrong_field, values)), None)
        if refusal is None:
            raise
        raise refusal from error


def _checked(verb: FunctionType) -> Callable[..., Any]:
    told = _told(getattr(verb.__dict__.get("extra"), "__init__", None)) | _told(verb)
    first = {name: kind for name, kind in told.items() if kind == "bool" or kind.startswith("Identity")}

    @wraps(verb)
    def guarded(*given: Any, **named: Any) -> Any:
        check_given(named, first)
        try:
            return verb(*given, **named)
        except TROUBLE as error:
            refusal = _wrong(verb, told, given, named)
            if refusal is None:
                raise
            raise refusal from error

    return guarded


def _told(function: Any) -> dict[str, str]:
    return {name: str(kind) for name, kind in getattr(function, "__annotations__", {}).items() if name != "return"}


def _wrong(
    verb: FunctionType, told: Mapping[str, str], given: Sequence[Any], named: Mapping[str, Any]
) -> InvalidInput | None:
    places = verb.__code__.co_varnames[: verb.__code__.co_argcount]
    for name, value in (dict(zip(places, given, strict=False)) | dict(named)).items():
        if name in told and not _fits(value, told[name]):
            return _refusal(name, told[name], value)
        if (refusal := _wrong_field(value)) is not None:
            return refusal
    return None


def _wrong_field(value: Any) -> InvalidInput | None:
    if not hasattr(value, "__dataclass_fields__"):
        return None
    told = _told(type(value).__init__)
    wrong = (name for name, kind in told.items() if not _fits(getattr(value, name), kind))
    name = next(wrong, None)
    return None if name is None else _refusal(name, told[name], getattr(value, name))


def _fits(value: Any, kind: str) -> bool:
    return any(_is_one(value, bare, kind) for bare in _kinds(kind))


@cache
def _kinds(kind: str) -> tuple[str, ...]:
    """Of an annotation, without what is in brackets and without modules."""
    return tuple(one.strip().rpartition(".")[2] for one in _BARE.sub("", str(kind)).split("|"))


def _is_one(value: Any, bare: str, whole: str) -> bool:
    match bare:
        case "None":
            return value is None
        case "str":
            return is_text(value)
        case "int":
            number = None if isinstance(value, bool) else as_whole(value)
            return number is not None and abs(number) <= MOST
        case "float":
            return hasattr(value, "__float__") and not isinstance(value, bool)
        case "PathLike":
            return hasattr(value, "__fspath__")
        case "Mapping" | "dict":
            return hasattr(value, "keys")
    if bare in _MANY:
        return is_many(value) and all(_is_entry(one, _of(whole)) for one in _kept(value))
    return bare in _ANY or any(bare == one.__name__ for one in type(value).__mro__)


def _is_entry(value: Any, kind: str) -> bool:
    """A list of texts may hold paths."""
    return _is_one(value, kind, "") or (kind == "str" and hasattr(value, "__fspath__"))


def _of(kind: str) -> str:
    found = _OF.match(kind)
    return found[1] if found else "Any"


def _kept(value: Any) -> Iterable[Any]:
    """What can be gone through twice; the rest was used up by the verb."""
    return value if hasattr(value, "__len__") else ()


def _refusal(name: str, kind: str, value: Any) -> InvalidInput:
    wanted = " or ".join(_PLAIN.get(one, one) for one in _kinds(kind) if one != "None") or "None"
    if _OF.match(kind):
        wanted = f"a list of {_PLAIN.get(_of(kind), _of(kind))}"
    return InvalidInput(
        f"{name} is {wanted}, not {_what(value)}", code="ARGUMENT_INVALID", next=f"give {name} as {wanted}"
    )


def _what(value: Any) -> str:
    """Of which kind it is; never what it says."""
    if isinstance(value, str) and not is_text(value):
        return "text with half a character"
    if isinstance(value, int) and not isinstance(value, bool):
        return "int" if abs(value) <= MOST else "so large a number"
    return type(value).__name__

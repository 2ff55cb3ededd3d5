"""Values to JSON and back: our frozen dataclasses field by field, plain JSON and nothing else.

Decoding builds only the types that a verb names; what does not fit is refused. Errors travel in the shape that the
command line prints, with the class they belong to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import fields, is_dataclass
from datetime import datetime
from functools import cache
from math import isfinite
from os import PathLike, fspath
from pathlib import PurePath
from typing import Any

import msgspec

from clew import errors
from clew.errors import ClewError, InvalidInput
from clew.model import numbers
from clew.model.metadata import metadata_text
from clew.model.scope import AcrossProjects, Identity, Scope
from clew.wire.names import type_of
from clew.wire.verbs import Verb

OR = " or "
MAX_WHOLE = 2**53
_NUMBERS = {"confidence": numbers.confidence, "weight": numbers.weight}
ONE_OR_MANY = frozenset(("paths", "tags", "types"))


class Place(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A scope as it is sent. Without an org it is in that of the credential."""

    org: str | None = None
    project: str | None = None
    user: str | None = None
    agent: str | None = None
    session: str | None = None
    namespace: str | None = None
    across_projects: bool = False

    @classmethod
    def of(cls, scope: Scope) -> Place:
        """`local` is what nobody names: the place where one is, and that is the credential's."""
        given = {name: getattr(scope, name) for name in Scope.__slots__}
        given["across_projects"] = isinstance(scope, AcrossProjects)
        return cls(**given | {"org": None if scope.org == "local" else scope.org})

    def scope(self, verb: Verb, identity: Identity) -> Scope:
        """See `Verb.puts`."""
        given = {name: getattr(self, name) for name in Scope.__slots__}
        user = self.user if verb.puts or self.user is not None else identity.user
        kind = AcrossProjects if self.across_projects else Scope
        return kind(**given | {"org": identity.org if self.org is None else self.org, "user": user})


def encode(value: Any) -> bytes:
    return msgspec.json.encode(value, enc_hook=_plain)


def encode_arguments(arguments: Mapping[str, Any]) -> bytes:
    given = {name: _as_sent(name, one) for name, one in arguments.items()}
    for one in (arguments, *arguments.get("drafts", ()), arguments.get("content")):
        _check_metadata(one)
        _check_numbers(one)
    try:
        _check_sendable(arguments)
        return msgspec.json.encode(given, enc_hook=_sendable)
    except (TypeError, ValueError, RecursionError) as error:  # half a character, or what is no value
        raise InvalidInput(
            f"the arguments cannot be sent: {type(error).__name__}",
            code="ARGUMENT_INVALID",
            next="give plain values, and text that is valid UTF-8",
        ) from None


def _as_sent(name: str, value: Any) -> Any:
    """Also here a lone text among tags, types or paths is one, not its letters."""
    if name in ONE_OR_MANY and isinstance(value, str):
        return [value] if value else []
    return Place.of(value) if isinstance(value, Scope) else value


def _check_metadata(given: Any) -> None:
    """Of a draft, or given by name: as the store takes it, which is not all that could be made JSON."""
    metadata = given.get("metadata") if isinstance(given, Mapping) else getattr(given, "metadata", None)
    if metadata:
        metadata_text(metadata)


def _check_numbers(given: Any) -> None:
    """The same: what JSON cannot say is refused by its name, as at home."""
    for name, check in _NUMBERS.items():
        number = given.get(name) if isinstance(given, Mapping) else getattr(given, name, None)
        if isinstance(number, float) and not isfinite(number):
            check(number)


def _check_sendable(value: Any) -> None:
    """Refuse what JSON would change: bytes, and numbers that are none."""
    if isinstance(value, (bytes, bytearray, memoryview)):
        raise TypeError(f"{type(value).__name__} cannot be sent")
    if isinstance(value, float) and not isfinite(value):
        raise ValueError("a number that is none cannot be sent")
    for one in _held(value):
        _check_sendable(one)


def _sendable(value: Any) -> Any:
    plain = _plain(value)
    _check_sendable(plain)
    return plain


def encode_answer(verb: Verb, value: Any) -> bytes:
    kinds = verb.answer.split(OR)
    if len(kinds) > 1:
        value = [kinds.index(type(value).__name__), value]
    return encode(value)


def decode_answer(verb: Verb, data: bytes) -> Any:
    kinds = verb.answer.split(OR)
    if len(kinds) == 1:
        return decoder(verb.answer)(data)
    number, value = msgspec.json.decode(data, type=tuple[int, msgspec.Raw])
    return decoder(kinds[number])(bytes(value))


@cache
def decoder(expression: str) -> Callable[[bytes], Any]:
    return msgspec.json.Decoder(type_of(expression), dec_hook=_unusual).decode


def decode_argument(name: str, data: bytes, kind: Any) -> Any:
    try:
        value = msgspec.json.decode(data, type=kind)
        _check_all(value)
    except (msgspec.DecodeError, RecursionError, TypeError, ValueError, OverflowError) as error:
        raise InvalidInput(
            f"argument '{name[:40]}' is wrong: {_reason(error)}",
            code="ARGUMENT_INVALID",
            next="see the signature of the verb",
        ) from None
    return value


def _reason(error: Exception) -> str:
    """What msgspec says names types and places; others may quote what they were given."""
    return str(error) if isinstance(error, msgspec.DecodeError) else type(error).__name__


def _check_all(value: Any) -> None:
    """Refuse whole numbers that not every reader of JSON can hold and times of no zone, wherever they stand."""
    if isinstance(value, int) and abs(value) > MAX_WHOLE:
        raise msgspec.ValidationError(f"Expected `int` between -{MAX_WHOLE} and {MAX_WHOLE}")
    if isinstance(value, datetime) and value.tzinfo is None:
        raise msgspec.ValidationError("Expected a time with its zone, such as Z")
    for one in _held(value):
        _check_all(one)


def _held(value: Any) -> Iterable[Any]:
    if isinstance(value, Mapping):
        return value.values()
    if isinstance(value, (list, tuple, Set)):
        return value
    return [getattr(value, one.name) for one in fields(value)] if is_dataclass(value) else ()


def error_document(error: ClewError) -> dict[str, Any]:
    """As the command line tells it, with the class it belongs to."""
    told: dict[str, Any] = error.as_json()["error"]  # type: ignore[assignment]
    return {"error": {"kind": _kind_of(error), **told}}


def error_of(document: Mapping[str, Any], otherwise: type[ClewError] = ClewError) -> ClewError | None:
    """The error that a document tells of, None when it tells of none. `otherwise`: its class, if none is told."""
    told = document.get("error")
    if not isinstance(told, Mapping) or not isinstance(told.get("message"), str):
        return None
    kind = getattr(errors, str(told.get("kind", "")), ClewError)
    if not (isinstance(kind, type) and issubclass(kind, ClewError)) or kind is ClewError:
        kind = otherwise
    details = told.get("details")
    return kind(
        told["message"],
        code=str(told.get("code") or kind.default_code),
        next=str(told.get("next", "")),
        details=details if isinstance(details, Mapping) else None,
    )


def _kind_of(error: ClewError) -> str:
    """The nearest class that errors.py itself has."""
    return next(kind.__name__ for kind in type(error).__mro__ if kind.__module__ == errors.__name__)


def _unusual(kind: type[Any], value: Any) -> Any:
    if issubclass(kind, PurePath):
        return kind(value)
    raise ValueError(f"{kind.__name__} cannot be read")


def _plain(value: Any) -> Any:
    """What is no JSON yet but can be without a loss; numbers of numpy among it."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, PathLike):
        return fspath(value)
    if hasattr(value, "item"):
        return value.item()
    if isinstance(value, (Iterable, Set)):
        return list(value)
    raise TypeError(f"{type(value).__name__} cannot be sent")

"""Running a verb for somebody afar: arguments in JSON, the answer in JSON, as whoever the credential stands for."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

from clew.errors import InvalidInput, NotFound
from clew.model.memory import Draft
from clew.model.scope import Identity, Scope
from clew.wire.codec import Place, decode_argument, encode_answer
from clew.wire.names import everything, named, type_of
from clew.wire.verbs import LOCAL, VERBS, WITHOUT_IDENTITY, Verb

if TYPE_CHECKING:
    from clew.clew import Clew

IDENTITY = "identity"
MAX_LIMIT = 1_000  # of a list, as over the other routes; not for whoever runs the store, who could open it as well


def call(clew: Clew, name: str, arguments: Mapping[str, bytes], *, identity: Identity) -> bytes:
    """What a verb answers, encoded. Its errors are the verb's own; what is no ClewError is a mistake of ours, and
    not the caller's."""
    verb = _verb(name)
    if verb.is_value:
        return encode_answer(verb, attrgetter(name)(clew))
    method = attrgetter(name)(clew)
    taken = {argument: _decoded(verb, method, argument, data, identity) for argument, data in arguments.items()}
    if name not in WITHOUT_IDENTITY:
        taken[IDENTITY] = identity
    _check_complete(method, taken)
    return encode_answer(verb, method(**taken))


def _verb(name: str) -> Verb:
    if name in VERBS:
        return VERBS[name]
    if name in LOCAL:
        raise InvalidInput(f"'{name}' cannot be called from afar", code="VERB_LOCAL", next=LOCAL[name])
    raise NotFound(f"there is no verb '{name[:80]}'", code="VERB_UNKNOWN", next="update the client or the server")


def _decoded(verb: Verb, method: Callable[..., Any], name: str, data: bytes, identity: Identity) -> Any:
    kind = arguments_of(verb, method.__func__).get(name)  # type: ignore[attr-defined]
    if kind is None:
        raise _unknown(name)
    value = decode_argument(name, data, kind)
    if name == "drafts" or isinstance(value, Draft):
        _check_own(value if isinstance(value, list) else [value])
    if name == "limit":
        _check_limit(value, identity)
    return value.scope(verb, identity) if isinstance(value, Place) else value


def _check_limit(limit: int | None, identity: Identity) -> None:
    if limit is not None and limit > MAX_LIMIT and not identity.runs_the_store:
        raise InvalidInput(
            f"limit {limit} is too large", code="LIMIT_INVALID", next=f"ask for at most {MAX_LIMIT} at a time"
        )


def _check_own(drafts: Sequence[Draft]) -> None:
    """An import says what was, also about trust; it happens where the store is."""
    if any(draft.id is not None or draft.past is not None for draft in drafts):
        raise InvalidInput(
            "only an import brings ids and a past along",
            code="DRAFT_IMPORTED",
            next="leave out id and past, or import the memories where the store is",
        )


@cache
def arguments_of(verb: Verb, function: Callable[..., Any]) -> Mapping[str, Any]:
    """What a verb takes from afar, by name. The org of a scope may be left out; functions cannot be sent."""
    module = vars(sys.modules[function.__module__])
    hints = get_type_hints(function, {**everything(), **module})
    told = {name: kind for name, kind in hints.items() if name not in ("return", IDENTITY, "progress", "told")}
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is parameter.VAR_KEYWORD:
            told.pop(parameter.name)
            told = _fields(verb.extra) | told
    return {name: _sent(kind) for name, kind in told.items()} | {name: type_of(one) for name, one in verb.takes}


def _fields(extra: str) -> dict[str, Any]:
    kind = named(extra)
    hints = get_type_hints(kind)
    return {one.name: hints[one.name] for one in fields(kind) if one.name not in ("id", "past")}


def _sent(kind: Any) -> Any:
    return Place | None if Scope in (kind, *get_args(kind)) else kind


def _check_complete(method: Callable[..., Any], taken: Mapping[str, Any]) -> None:
    try:
        inspect.signature(method).bind(**taken)
    except TypeError as error:
        raise InvalidInput(
            f"the arguments do not fit: {error}", code="ARGUMENT_MISSING", next="see the signature of the verb"
        ) from None


def _unknown(name: str) -> InvalidInput:
    if name == IDENTITY:
        why, move = "identity is no argument", "use the credential of whoever asks"
    else:
        why, move = f"there is no argument '{name[:40]}'", "see the signature of the verb"
    return InvalidInput(why, code="ARGUMENT_UNKNOWN", next=move)

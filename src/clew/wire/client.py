"""A Clew that is elsewhere, with the methods and topics of `Clew`: each is a request, made as the token says.

What comes back are the same values, and errors of the same classes. Verbs that need the store's own files, and
parts of the store itself, are refused with the reason.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from clew.errors import ClewError, Conflict, Denied, InvalidInput, Misconfigured, NotFound, Unavailable
from clew.lazy import LazyModule
from clew.model.kinds import check_given
from clew.wire.address import address_of
from clew.wire.http1 import Reply
from clew.wire.transport import Transport
from clew.wire.verbs import BY_CLIENT, LOCAL, TOPICS, VERBS, Verb

if TYPE_CHECKING:
    from inspect import Signature
    from types import TracebackType

    from clew.clew import Clew as Surface
    from clew.model.memory import Draft
    from clew.wire import codec
else:
    Surface = object  # what it can do is known to type checkers only; here it is asked for by name
    codec = LazyModule("clew.wire.codec")

AGENT_HEADER = "Clew-Agent"
BATCH, BATCH_CHARS = 100, 1_000_000  # drafts sent at once
_BY_STATUS: Mapping[int, type[ClewError]] = {
    400: InvalidInput, 401: Denied, 403: Denied, 404: NotFound, 405: NotFound, 409: Conflict, 412: Conflict,
    413: InvalidInput, 415: InvalidInput, 421: Misconfigured, 422: InvalidInput, 431: InvalidInput,
}  # fmt: skip


_KEY = "set CLEW_TOKEN to a key that is valid there; who runs it makes one: clew key create NAME --user USER"


def connect(url: str, *, token: str | None = None) -> RemoteClew:
    """The Clew at an address. Nothing is sent before the first call."""
    return RemoteClew(Transport(address_of(url), token=token))


class RemoteClew(Surface):
    """Memory that is elsewhere. Thread-safe; use as a context manager, or call `close()`. A scope that names no org
    is in that of the token."""

    def __init__(self, transport: Transport, *, agent: str | None = None, answer_s: float | None = None) -> None:
        self._transport = transport
        self._agent, self._answer_s = agent, answer_s
        self._headers = {AGENT_HEADER: agent} if agent else {}

    def acting_as(self, agent: str) -> RemoteClew:
        """The same for an agent that uses this token: what it says is trusted as an agent's, not as its user's."""
        return RemoteClew(self._transport, agent=agent, answer_s=self._answer_s)

    def answering_within(self, answer_s: float) -> RemoteClew:
        """The same for what is not worth waiting longer for."""
        return RemoteClew(self._transport, agent=self._agent, answer_s=answer_s)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            return _part(self, name)

    def __dir__(self) -> Iterable[str]:
        return sorted({*super().__dir__(), *_parts_of("")})

    def now(self) -> datetime:
        return datetime.now(UTC)

    def close(self) -> None:
        self._transport.close()

    def __enter__(self) -> RemoteClew:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"RemoteClew({self._transport.address.name!r})"

    def call(self, verb: Verb, arguments: Mapping[str, Any]) -> Any:
        """Ask for a verb by name; for everything else there are the methods."""
        reply = self._transport.post(
            f"/v1/call/{verb.name}",
            codec.encode_arguments(arguments),
            twice=verb.reads,
            answer_s=self._answer_s,
            headers=self._headers,
        )
        if reply.status != 200:
            raise refusal_of(reply, self._transport)
        try:
            return codec.decode_answer(verb, reply.body)
        except ValueError:  # msgspec's errors are ValueErrors; what they quote is not for messages
            raise Unavailable(
                f"the answer of the Clew at {self._transport.address.name} cannot be read",
                code="ANSWER_INVALID",
                next="use the same version of Clew on both sides",
            ) from None


class RemoteTopic:
    """A topic, such as `clew.jobs`."""

    def __init__(self, clew: RemoteClew, name: str) -> None:
        self._clew, self._name = clew, name

    def __getattr__(self, name: str) -> Any:
        return _part(self._clew, f"{self._name}.{name}")

    def __dir__(self) -> Iterable[str]:
        return sorted({*super().__dir__(), *_parts_of(f"{self._name}.")})


class RemoteVerb:
    """A verb to be called. Its signature is that of the verb itself."""

    def __init__(self, clew: RemoteClew, verb: Verb) -> None:
        self._clew, self._verb = clew, verb
        self.__name__ = verb.name.rpartition(".")[2]

    def __call__(self, *given: Any, **named: Any) -> Any:
        arguments = _bound(self._verb, given, named)
        if arguments.pop("identity", None) is not None:
            raise InvalidInput(
                "who asks is told by the token alone",
                code="IDENTITY_FROM_CREDENTIAL",
                next="leave out identity, or connect with a token of its own",
            )
        check_given(arguments, _TAKEN)
        prepare = _SPECIAL.get(self._verb.name)
        return prepare(self._clew, arguments) if prepare else self._clew.call(self._verb, arguments)

    @property
    def __signature__(self) -> Signature:
        from inspect import signature

        whole = signature(method_named(self._verb.name))
        return whole.replace(parameters=list(whole.parameters.values())[1:])


def method_named(name: str) -> Callable[..., Any]:
    """The method of Clew, or of a topic, that has a verb's name."""
    import sys
    from typing import get_type_hints

    from clew.clew import Clew

    *topics, last = name.split(".")
    owner: Any = Clew
    for topic in topics:
        make = getattr(owner, topic).func
        owner = get_type_hints(make, vars(sys.modules[make.__module__]))["return"]
    found: Callable[..., Any] = getattr(owner, last)
    return found


def _parts_of(topic: str) -> Iterator[str]:
    """What can be asked for by name: '' for the Clew itself, or a topic with its dot."""
    known = (name[len(topic) :] for name in (*VERBS, *TOPICS, *BY_CLIENT) if name.startswith(topic))
    return (name for name in known if "." not in name)


def _part(clew: RemoteClew, name: str) -> Any:
    verb = VERBS.get(name)
    if verb is not None:
        return clew.call(verb, {}) if verb.is_value else RemoteVerb(clew, verb)
    if name in TOPICS:
        return RemoteTopic(clew, name)
    if name in BY_CLIENT:
        return _OWN[name]
    if name in LOCAL:
        return _refusing(name)
    raise AttributeError(f"a Clew that is elsewhere has no '{name}'")


def _bound(verb: Verb, given: tuple[Any, ...], named: Mapping[str, Any]) -> dict[str, Any]:
    places = verb.places.split()
    if len(given) > len(places):
        raise TypeError(f"{verb.name}() takes {len(places)} arguments by place, {len(given)} were given")
    arguments = dict(zip(places, given, strict=False))
    twice = arguments.keys() & named.keys()
    if twice:
        raise TypeError(f"{verb.name}() got '{min(twice)}' twice")
    return arguments | dict(named)


def _refusing(name: str) -> Callable[..., Any]:
    def refuse(*_given: Any, **_named: Any) -> Any:
        raise InvalidInput(f"'{name}' cannot be called from afar", code="VERB_LOCAL", next=LOCAL[name])

    return refuse


# -- verbs that are not one request -----------------------------------------------------------------------


def _remember_many(clew: RemoteClew, arguments: dict[str, Any]) -> Iterator[Any]:
    """As in the store: what was yielded is durable, and nothing happens until it is iterated."""
    for batch in _batches(iter(arguments["drafts"])):
        yield from clew.call(VERBS["remember_many"], arguments | {"drafts": batch})


def _batches(drafts: Iterator[Draft]) -> Iterator[list[Draft]]:
    batch: list[Draft] = []
    chars = 0
    for draft in drafts:
        size = _size(draft)
        if batch and (len(batch) == BATCH or chars + size > BATCH_CHARS):
            yield batch
            batch, chars = [], 0
        batch.append(draft)
        chars += size
    if batch:
        yield batch


def _size(draft: Draft) -> int:
    """What is no draft, or has no text, is refused over there."""
    content = getattr(draft, "content", None)
    return len(content) if isinstance(content, str) else 0


def _fingerprint(clew: RemoteClew, arguments: dict[str, Any]) -> Any:
    """A directory is one of this machine: what is asked about is read here."""
    from clew.learn.fingerprint import read_manifests

    files = arguments.get("files")
    if not isinstance(files, Mapping) and files is not None:
        arguments["files"] = read_manifests(files)
    return clew.call(VERBS["transfer.fingerprint"], arguments)


# Looked at here as by an open store: over there a document with fields that are not known would do for a value.
_TAKEN = {
    "scope": "Scope | None", "options": "RecallOptions | None", "wanted": "Filter | None",
    "drafts": "Iterable", "files": "Mapping | str | PathLike",
}  # fmt: skip
_SPECIAL: Mapping[str, Callable[[RemoteClew, dict[str, Any]], Any]] = {
    "remember_many": _remember_many,
    "transfer.fingerprint": _fingerprint,
}


def _activate(case: Mapping[str, object]) -> list[dict[str, object]]:
    from clew.verbs.graph import GraphVerbs

    return GraphVerbs.activate(case)


def _no_portion() -> Any:
    """The server does what writes leave behind."""
    from clew.model.job import Ran

    return Ran()


_OWN: Mapping[str, Callable[..., Any]] = {
    "graph.activate": _activate,
    "jobs.portion": _no_portion,
    "rollout.flush": lambda: None,
}


# -- refusals ---------------------------------------------------------------------------------------------


def refusal_of(reply: Reply, by: Transport) -> ClewError:
    """What a reply that is no answer says, as the error it is. How a token is sent is nobody's business here, only
    where it is put."""
    document, where = _document(reply), by.address.name
    if reply.status == 401:
        what = "refuses the token that was given" if by.has_token else "asks for a token, and none was given"
        return Denied(f"the Clew at {where} {what}", code="UNAUTHENTICATED", next=_KEY)
    error = codec.error_of(document, _BY_STATUS.get(reply.status, ClewError))
    if error is not None:
        return error
    kind = _BY_STATUS.get(reply.status, Unavailable)
    if 300 <= reply.status < 400:
        return Misconfigured(f"the Clew at {where} is elsewhere", code="REDIRECTED", next="correct CLEW_URL")
    message = document.get("detail")
    if not isinstance(message, str):
        return kind(f"what answers at {where} is no Clew (status {reply.status})", next="check CLEW_URL")
    return kind(message, code=_text(document, "code"), next=_text(document, "next") or "")


def _document(reply: Reply) -> Mapping[str, Any]:
    try:
        found = json.loads(reply.body) if "json" in reply.kind else {}
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _text(document: Mapping[str, Any], name: str) -> str | None:
    value = document.get(name)
    return value if isinstance(value, str) else None

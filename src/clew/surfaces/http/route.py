"""What a route is: a verb with its method and path, what it takes, what it answers. The API is a list of them.

A route returns a value, which becomes JSON (values with `as_json` too), or an `Answer` when there is more to say.
With `Route.produces` other than JSON the value is text or bytes, sent as they are. Two kinds of answer are sent
while they are made: a `Stream`, whose frames come from the event loop, for events as they happen; and `Written`,
which a thread of its own writes, for exports.

The body is JSON of the type `Route.body`. With `body=bytes`, or with `consumes` other than JSON, it stays as it
came. With `to_file` it is written to a file that lives as long as the call: `call.file`.

Lists take `Page` (`cursor`, `limit`) in their query and answer with `next_cursor`, left out on the last page.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Protocol

import msgspec

from clew.errors import ClewError
from clew.model.scope import Identity, Scope
from clew.values import dataclass

if TYPE_CHECKING:
    from clew import Clew
    from clew.surfaces.http.standing import Standing
    from clew.surfaces.http.streams import Streams

JSON = "application/json"
JSON_LINES = "application/x-ndjson"
EVENTS = "text/event-stream"
MARKDOWN = "text/markdown"
TEXT = "text/plain; charset=utf-8"
MAX_PAGE = 1_000

Send = Callable[[bytes], None]  # hands a piece to the client; raises ClientGone when nobody listens any more
Limit = Annotated[int, msgspec.Meta(ge=1, le=MAX_PAGE)]


class ClientGone(Exception):
    """Whoever asked has left, or the server stops. It ends what is being written; nobody is told."""


class Nothing(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """No query parameters, no body."""


class InScope(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where a call looks. The org comes from the credential alone; without a user, one's own and what is shared."""

    project: str | None = None
    user: str | None = None


class Page(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which part of a list. `cursor` is what the page before named as `next_cursor`."""

    cursor: str | None = None
    limit: Limit = 20


@dataclass(frozen=True, slots=True)
class Credential:
    """Who asks, and how that was shown. `is_local`: by this machine's socket or the token of this installation, so
    that files of this machine are the caller's own. `key` tells callers apart where they are counted."""

    identity: Identity
    is_local: bool = False
    key: str = ""


@dataclass(frozen=True, slots=True)
class Call:
    """One request, understood: who asks, and what the route's types made of the rest."""

    clew: Clew
    identity: Identity
    path: Mapping[str, str] = field(default_factory=dict)
    query: Any = None
    body: Any = None
    if_match: int | None = None  # the version that an edit expects
    last_event: str | None = None  # the last one that a client of a stream has seen
    streams: Streams | None = None  # where streams are counted
    headers: Mapping[str, str] = field(default_factory=dict)  # names in small letters
    is_local: bool = False  # see Credential
    file: Path | None = None  # the body, of a route with `to_file`
    server: Standing | None = None  # what the server knows of itself; None without one
    is_welcome: Callable[[], bool] = lambda: True  # whether the credential is still valid, for answers that go on
    key: str = ""  # see Credential

    def scope(self, given: Any) -> Scope:
        """Where to look: whoever names no user finds their own and what is shared."""
        return Scope(org=self.identity.org, project=given.project, user=given.user or self.identity.user)

    def place(self, given: Any) -> Scope:
        """Where something is put or taken from, as it is said: without a user, where all share it."""
        return Scope(org=self.identity.org, project=given.project, user=given.user)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a route answers if it is more than a value with status `Route.status`. `gone` is called, on the event
    loop, when the connection over which it was asked has ended."""

    value: Any
    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    gone: Callable[[], object] | None = None


@dataclass(frozen=True, slots=True)
class Stream:
    """An answer that goes on: frames are made on the event loop, until the client leaves or the server stops."""

    frames: AsyncIterator[bytes]


@dataclass(frozen=True, slots=True)
class Written:
    """An answer in pieces. `write` is called on a thread of its own with the function that sends one; what it
    raises before the first piece becomes a problem document."""

    write: Callable[[Send], None]


class Envelope(Protocol):
    """The own shape of a route's answers, errors of every kind included: 400, 401, 403, 404, 409, 413, 429, 503."""

    failure: Any  # describes an error for the OpenAPI document, in place of the problem document

    def success(self, value: Any, *, at: datetime) -> Any: ...
    def error(self, error: ClewError, status: int, *, at: datetime) -> Any: ...


@dataclass(frozen=True, slots=True)
class Route:
    """`run` is an ordinary function: it is called in a worker thread, and a ClewError it raises becomes a problem
    document. `name` is the verb: memories.show. `answer` describes the value for the OpenAPI document."""

    method: str
    path: str  # /v1/memories/{id}
    name: str
    summary: str
    run: Callable[[Call], Any]
    answer: Any
    query: type[msgspec.Struct] = Nothing
    body: Any = None
    status: int = 200
    also: tuple[int, ...] = ()  # statuses besides the usual ones
    is_idempotent: bool = False  # takes an Idempotency-Key
    reads_only: bool = False  # a POST that changes nothing, such as a recall
    for_operators: bool = False
    envelope: Envelope | None = None  # None: the value itself, and errors as problem documents
    # Not JSON: `run` answers bytes (JSON_LINES) or a Stream (EVENTS); of a body that is not JSON it gets the bytes.
    produces: str = JSON
    consumes: str = JSON
    also_consumes: tuple[str, ...] = ()
    takes_if_match: bool = False
    needs_header: tuple[str, str] | None = None  # a header that `run` looks at, and the pattern of its value
    to_file: bool = False
    max_body_kb: int | None = None  # instead of serve.max_body_kb
    is_open: bool = False  # answers without a credential
    only_local: bool = False  # refused to API keys: it looks at files of this machine
    is_urgent: bool = False  # has to be answered also while every worker is stuck
    # Answered on the event loop instead of by `run`: (clew, identity, request, body, receive) to a Response.
    on_loop: Callable[..., Awaitable[Any]] | None = None

    @property
    def has_body(self) -> bool:
        return self.body is not None or self.consumes != JSON

"""What a route is: a verb with its method and path, what it takes, what it answers. The API is a list of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

from clew.model.scope import Identity, Scope

if TYPE_CHECKING:
    from clew import Clew


class Nothing(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """No query parameters, no body."""


class InScope(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where a call looks. The org comes from the credential alone; the user too, unless an owner names another."""

    project: str | None = None
    user: str | None = None


@dataclass(frozen=True, slots=True)
class Call:
    """One request, understood: who asks, and what the route's types made of the rest."""

    clew: Clew
    identity: Identity
    path: Mapping[str, str] = field(default_factory=dict)
    query: Any = None
    body: Any = None
    if_match: int | None = None  # the version that an edit expects

    def scope(self, given: Any) -> Scope:
        """The scope that a query or body names, in the org of the credential."""
        return Scope(org=self.identity.org, project=given.project, user=given.user or self.identity.user)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a route answers if it is more than a value with status `Route.status`."""

    value: Any
    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


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
    body: type[msgspec.Struct] | None = None
    status: int = 200
    also: tuple[int, ...] = ()  # statuses besides the usual ones
    is_idempotent: bool = False  # takes an Idempotency-Key
    reads_only: bool = False  # a POST that changes nothing, such as a recall
    for_operators: bool = False

"""Scope says where a memory lives and what a call may see; identity says who asks."""

from __future__ import annotations

import re
from dataclasses import field
from typing import Any, NoReturn

from clew.errors import Denied, InvalidInput, NotFound
from clew.model.choice import is_many
from clew.values import dataclass

_CONTROL = re.compile(r"[\x00-\x1f\x7f\u2028\u2029]")

_SURROGATE = re.compile(r"[\ud800-\udfff]")

_LIMITS = {"org": 120, "project": 240, "user": 120, "agent": 120, "session": 120, "namespace": 120}


@dataclass(frozen=True, slots=True)
class Scope:
    """Org is the security boundary. Project and user narrow: a memory without one is seen by all
    who share the rest. Agent, session and namespace are provenance and restrict only when asked."""

    org: str = "local"
    project: str | None = None
    user: str | None = None
    agent: str | None = None
    session: str | None = None
    namespace: str | None = None

    def __post_init__(self) -> None:
        for name, limit in _LIMITS.items():
            _check_name(name, getattr(self, name), limit)


class AcrossProjects(Scope):
    """Where ids are looked up as a user sees them, whatever the project; a Scope without one is in no project."""

    __slots__ = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.project is not None:
            raise InvalidInput(
                "a look across projects names none", code="SCOPE_INVALID", next="use Scope(project=...)"
            )


@dataclass(frozen=True, slots=True)
class Identity:
    """Comes from the credential, never from arguments. The local default owns the org `local`."""

    org: str = "local"
    user: str | None = None
    agent: str | None = None
    roles: tuple[str, ...] = ("owner",)
    key: str = field(default="", compare=False)  # by which it came, where that is all there is to name it

    def __post_init__(self) -> None:
        for name in ("org", "user", "agent"):
            value = getattr(self, name)
            if not isinstance(value, str) and (value is not None or name == "org"):
                _refuse(name, f"is no text but {type(value).__name__}", f"give {name} as text")
        if type(self.roles) is not tuple or not all(map(is_text, self.roles)):
            object.__setattr__(self, "roles", _roles(self.roles))

    @property
    def trust(self) -> str:
        """The most that what it says can be trusted: an agent is not its user, also with its user's credential."""
        return "agent" if self.agent else "user"

    @property
    def name(self) -> str:
        """In messages, and where what somebody did before is told from what others did."""
        return self.user or self.agent or "owner"

    @property
    def actor(self) -> str:
        """Who did it, for the audit log and beside what was changed: a user, an agent, or both, told apart."""
        powers = [role for role in ("owner", "admin", "operator") if role in self.roles]
        if self.user:
            who = [_named("user", self.user)]
        elif self.agent and not powers:
            who = []
        else:
            who = [_named("key", self.key) if self.key else (*powers, "nobody")[0]]
        return " via ".join([*who, _named("agent", self.agent)] if self.agent else who)

    @property
    def _kind(self) -> str:
        if self.user:
            return f"user '{self.user}'"
        return f"agent '{self.agent}'" if self.agent else "a credential without a user"

    def check(self, scope: Scope) -> None:
        """Refuse a scope outside this identity. Another org is 'not found', not 'denied'."""
        if not isinstance(scope, Scope):
            raise InvalidInput(
                f"a scope is a Scope, not {type(scope).__name__}",
                code="SCOPE_INVALID",
                next='pass one, such as Scope(project="shop")',
            )
        if scope.org != self.org:
            raise NotFound(
                f"org '{scope.org}' was not found",
                code="ORG_NOT_FOUND",
                next=f"use a credential of that org, or the org '{self.org}'",
            )
        if scope.user not in (None, self.user) and "owner" not in self.roles:
            raise Denied(
                f"{self._kind} may not act as user '{scope.user}'",
                code="USER_DENIED",
                next="use your own user, or none" if self.user else "leave the user out",
            )

    @property
    def runs_the_store(self) -> bool:
        return "operator" in self.roles or (self.org == "local" and "owner" in self.roles)

    def check_operator(self) -> None:
        """Refuse what concerns the whole store, and with it every org, to all but those who run it."""
        if not self.runs_the_store:
            raise Denied(
                "this concerns the whole store and is for its operator",
                code="OPERATOR_ONLY",
                next="ask whoever runs this Clew",
            )


@dataclass(frozen=True, slots=True)
class Reach:
    """Which rows of an org a query may see: every store call takes one. None means any.

    `labels` narrows the graph to what memories of these classifications say, `trusts` to those of these levels of
    trust, `hidden` takes out single ones by their rows; the lists of memories themselves are looked through by the
    policies, one by one. Where nothing but the label decides what may be read, `by_label`, a recall does without
    the others from the start.
    """

    org: str
    projects: tuple[str, ...] | None
    users: tuple[str, ...] | None
    labels: tuple[str, ...] | None = None
    hidden: tuple[int, ...] | None = None
    by_label: bool = False
    trusts: tuple[str, ...] | None = None

    @classmethod
    def of(cls, scope: Scope) -> Reach:
        return cls(scope.org, _or_absent(scope.project), _or_absent(scope.user))

    @classmethod
    def place(cls, scope: Scope) -> Reach:
        """Just this project and user, without what they share with others: for forgetting in bulk."""
        return cls(scope.org, (scope.project or "",), (scope.user or "",))

    @classmethod
    def belonging(cls, scope: Scope, *, own: str | None, all_projects: bool = False) -> Reach:
        """The same for export: where no user is named, what all share and what is the caller's `own`."""
        users = _or_absent(own) if scope.user is None else (scope.user,)
        return cls(scope.org, None if all_projects else (scope.project or "",), users)

    @classmethod
    def across_projects(cls, scope: Scope) -> Reach:
        """The whole org, but still no other user's private memories."""
        return cls(scope.org, None, _or_absent(scope.user))

    @classmethod
    def everything(cls, org: str) -> Reach:
        """For the owner's own tools: export, re-index, statistics."""
        return cls(org, None, None)

    def sees(self, project: str | None, user: str | None) -> bool:
        in_project = self.projects is None or (project or "") in self.projects
        return in_project and (self.users is None or (user or "") in self.users)

    def places(self) -> list[tuple[str, str]] | None:
        """The (project, user) pairs, or None when they cannot be listed."""
        if self.projects is None or self.users is None:
            return None
        return [(project, user) for project in self.projects for user in self.users]


def _or_absent(name: str | None) -> tuple[str, ...]:
    return ("",) if name is None else ("", name)


def is_encodable(text: str) -> bool:
    """Lone halves of characters have no UTF-8 form, so they can neither be stored nor matched."""
    return not _SURROGATE.search(text)


def is_text(value: object) -> bool:
    """Whether it is a text that can be stored and matched, whatever a caller gave."""
    return isinstance(value, str) and is_encodable(value)


def _roles(given: Any) -> tuple[str, ...]:
    """A lone text is one role: a part of it, such as 'owner' in 'co-owner', is none."""
    given = (given,) if isinstance(given, str) else given
    roles = tuple(given) if is_many(given) else (None,)
    if not all(map(is_text, roles)):
        raise InvalidInput("roles are texts", code="ROLES_INVALID", next='give them as a list, such as ["member"]')
    return roles


def _check_name(name: str, value: str | None, limit: int) -> None:
    if value is None and name != "org":
        return
    if value is not None and not isinstance(value, str):
        _refuse(name, f"is no text but {type(value).__name__}", f"give {name} as text")
    if value is None or not value.strip():
        _refuse(name, "is blank", f"leave {name} out or give it a name")
    if len(value) > limit:
        _refuse(name, f"is longer than {limit} characters", f"shorten {name}")
    if _CONTROL.search(value):
        _refuse(name, "holds a line break or another control character", f"give {name} a name of one line")
    if not is_encodable(value):
        _refuse(name, "is not valid UTF-8", f"give {name} a name in UTF-8")


def _refuse(name: str, trouble: str, move: str) -> NoReturn:
    raise InvalidInput(f"{name} {trouble}", code=f"{name.upper()}_ID_INVALID", next=move)


def _named(kind: str, name: str) -> str:
    """No name holds a space after this, so that none can look like two."""
    return f"{kind}:{name.replace('%', '%25').replace(' ', '%20')}"


OWNER = Identity()  # of one's own machine: who asks without a credential

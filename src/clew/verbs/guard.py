"""Policies and quarantine: `clew.policies.load(...)`, `clew.quarantine.release(...)`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from clew.errors import Denied
from clew.lazy import LazyModule
from clew.model.access import AccessContext, Resource
from clew.model.ids import check_cursor
from clew.model.kinds import checked
from clew.model.limit import check_limit
from clew.model.scope import Identity

if TYPE_CHECKING:
    from datetime import datetime

    from clew.clew import Clew
    from clew.deliver import queue as queueing
    from clew.guard import added, engine, pep, quarantine
    from clew.model.access import AddedPolicy
    from clew.model.config import AgentRights
    from clew.model.memory import Remembered
    from clew.model.quarantine import Quarantined
    from clew.ports import Clock, Tx
    from clew.relate import embed
    from clew.remember import key_names, prepare
else:
    added, engine, pep = (LazyModule(f"clew.guard.{name}") for name in ("added", "engine", "pep"))
    quarantine, embed = LazyModule("clew.guard.quarantine"), LazyModule("clew.relate.embed")
    prepare, queueing = LazyModule("clew.remember.prepare"), LazyModule("clew.deliver.queue")
    key_names = LazyModule("clew.remember.key_names")

T = TypeVar("T")
_PAGE = 100  # of what is held, at a look


@checked
class Policies:
    """The Cedar policies in force. Who may change them is decided by the shipped ones alone, so that nobody can
    lock everybody out. An agent may not, whatever its roles and whoever's credential it uses, or it could give
    itself any right. `org`: None is the own one, `*` all of them."""

    __slots__ = ("_clew",)

    def __init__(self, clew: Clew) -> None:
        self._clew = clew

    def check(
        self, text: str, *, name: str = "policy", org: str | None = None, identity: Identity | None = None
    ) -> list[engine.Problem]:
        """What is wrong with a text, and where; beside the shipped policies and those in force. Of one that may be
        loaded, what was hardly meant: warnings."""
        stored = self._allowed(org, identity)
        with self._clew.store.read() as tx:
            found = added.problems_with(tx, self._engine, text, org=stored, name=added.checked_name(name))
        return found or self._engine.warnings(text)

    def load(
        self, text: str, *, name: str, org: str | None = None, identity: Identity | None = None
    ) -> AddedPolicy:
        """Put a policy in force, in place of the one of this name. A bad one is refused, and nothing changes."""
        given, who = self._changing(org, identity), identity or Identity()
        key_names.refuse_secret(name, "policy", code="POLICY_NAME_SECRET")
        load = partial(added.load, engine=self._engine, text=text, name=name, org=given, identity=who)
        return self._clew.store.write(partial(_changed, change=load, org=given, clock=self._clew.clock))

    def drop(self, name: str, *, org: str | None = None, identity: Identity | None = None) -> AddedPolicy:
        """Take an added policy out of force."""
        given, who = self._changing(org, identity), identity or Identity()
        drop = partial(added.drop, org=given, name=name, identity=who)
        return self._clew.store.write(partial(_changed, change=drop, org=given, clock=self._clew.clock))

    def show(
        self, *, shipped: bool = False, org: str | None = None, identity: Identity | None = None
    ) -> added.InForce:
        """What is in force for an org; `shipped` also gives the text of what comes with Clew."""
        given = self._allowed(org, identity)
        with self._clew.store.read() as tx:
            return added.in_force(tx, self._engine, given, with_text=shipped)

    def agent(self, name: str, *, identity: Identity | None = None, **changes: Any) -> AgentRights:
        """What is known of an agent; changes of `clearance` (0 to 3), `suspended` and `can_write` are kept."""
        if not changes:
            return self._clew._rights(self._allowed(None, identity), name)
        org, who, clock = self._changing(None, identity), identity or Identity(), self._clew.clock
        change = partial(added.set_rights, org=org, agent=name, changes=changes, identity=who)
        if changes.keys() == {"suspended"}:  # which every delivery looks at
            return self._clew.store.write(partial(change, now=clock.now()))
        return self._clew.store.write(partial(_changed, change=change, org=org, agent=name, clock=clock))

    @property
    def _engine(self) -> engine.Engine:
        return self._clew._pep.engine

    def _changing(self, org: str | None, identity: Identity | None) -> str:
        """The org as it is stored, if this identity may change its policies."""
        given = self._allowed(org, identity)
        if identity and identity.trust == "agent":
            raise Denied(
                f"agent '{identity.agent}' may not change policies or what agents may",
                code="POLICIES_NOT_FOR_AGENTS",
                next="ask an owner or admin of the org",
            )
        return given

    def _allowed(self, org: str | None, identity: Identity | None) -> str:
        """The org as it is stored, if this identity looks after its policies."""
        who = identity or Identity()
        name = who.org if org is None else org
        action = "configure" if name == who.org != "*" else "operate"
        [decision] = pep.Pep(engine=self._engine, rights_of=self._clew._rights).decide(
            who, action, [Resource("org", name, name)], AccessContext(who.org)
        )
        if not decision:
            raise Denied(
                f"'{who.name}' may not look after the policies of org '{name}'",
                code="POLICY_DENIED",
                next="ask an owner or admin of the org, or the operator for other orgs",
            )
        return "" if name == "*" else name


def _changed(tx: Tx, *, change: Callable[..., T], org: str, agent: str = "", clock: Clock) -> T:
    """Change rights, and take back what waits to be said under the old ones: as of when it is written, or what is
    rendered while this waits for its turn would count as made under the new ones."""
    now = clock.now()
    done = change(tx, now=now)
    queueing.revoke(tx, org, agent=agent, now=now)
    return done


@checked
class Quarantine:
    """Text that waits for a judgement: for owners, admins and reviewers of the org. An agent is none of these,
    whatever its roles and whoever's credential it uses, or it could let in what it was told to say."""

    __slots__ = ("_clew",)

    def __init__(self, clew: Clew) -> None:
        self._clew = clew

    def list(
        self,
        *,
        project: str | None = None,
        limit: int = 50,
        cursor: str | None = None,
        identity: Identity | None = None,
    ) -> list[Quarantined]:
        """Newest first. `cursor` is the id of the last one of the page before. What has expired goes."""
        who, now = identity or Identity(), self._clew.clock.now()
        self._check_reviewer(who)
        check_limit(limit)
        with self._clew.store.read() as tx:
            if cursor is not None:
                check_cursor(cursor, "mem", is_known=lambda id: tx.guarding.quarantined(who.org, id, now))
            is_due = tx.guarding.has_expired_quarantine(who.org, now)
        if is_due:
            self._clew.store.write(lambda tx: tx.guarding.expire_quarantine(who.org, now))
        return list(islice(self._reviewed(who, project, cursor, now), min(limit, quarantine.MAX_PAGE)))

    def _reviewed(
        self, who: Identity, project: str | None, cursor: str | None, now: datetime
    ) -> Iterator[Quarantined]:
        """What this identity may review; what others hold back in between is passed over."""
        while True:
            with self._clew.store.read() as tx:
                page = tx.guarding.quarantine_page(who.org, now=now, limit=_PAGE, project=project, cursor=cursor)
            yield from (held for held, allowed in zip(page, self._may_review(who, page), strict=True) if allowed)
            if len(page) < _PAGE:
                return
            cursor = page[-1].id

    def show(self, id: str, *, identity: Identity | None = None) -> Quarantined:
        who = identity or Identity()
        self._check_reviewer(who)
        held = self.find(id, identity=who)
        if held is None:
            raise quarantine.not_held(id)
        return held

    def release(self, id: str, *, identity: Identity | None = None) -> Remembered:
        """Remember it under its id, trusted as far as its origin is. Twice is once."""
        clew, who = self._clew, identity or Identity()
        self._check_reviewer(who)
        held, door = self.find(id, identity=who), clew._doors.door(who, None)
        may = door.may if door.pep else None
        if held is None:
            with clew.store.read() as tx:
                return quarantine.released_before(tx, who.org, id, may=may)
        text = prepare.embedding_text(held.memory.title, held.memory.content)
        [(vector, space)] = embed.pack_vectors(clew._near_embedder, [text])
        indexed = prepare.index_terms(held.memory, vector, space)
        let_in = partial(quarantine.release, held=held, indexed=indexed, policy=clew._policy)
        now = clew.clock.now()
        stored = clew.store.write(partial(let_in, graph=clew._graph_policy, now=now, actor=who.actor, may=may))
        clew._jobs_are_waiting()
        return stored

    def drop(self, id: str, *, identity: Identity | None = None) -> Quarantined:
        """Remove it for good."""
        held = self.show(id, identity=identity)
        who, now = identity or Identity(), self._clew.clock.now()
        self._clew.store.write(partial(quarantine.drop, held=held, now=now, actor=who.actor))
        return held

    def find(self, id: str, *, identity: Identity | None = None) -> Quarantined | None:
        """None also for those who may not review it: to them it is not there."""
        who = identity or Identity()
        with self._clew.store.read() as tx:
            held = tx.guarding.quarantined(who.org, id, self._clew.clock.now())
        return held if held and all(self._may_review(who, [held])) else None

    def _check_reviewer(self, who: Identity) -> None:
        [allowed] = self._decide(
            who, [Resource("memory", "any", who.org, classification="public", quarantined=True)]
        )
        if not allowed:
            raise Denied(
                f"'{who.name}' may not review what is in quarantine",
                code="REVIEW_DENIED",
                next="ask an owner, admin or reviewer of the org",
            )

    def _may_review(self, who: Identity, held: Sequence[Quarantined]) -> Sequence[bool]:
        return self._decide(who, quarantine.resources(held))

    def _decide(self, who: Identity, rows: Sequence[Resource]) -> Sequence[bool]:
        if who.trust == "agent":
            return [False] * len(rows)
        pep = self._clew._doors.door(who, None).pep
        if pep is None:  # the owner's door stands open
            return [True] * len(rows)
        decisions = pep.decide(who, "review", rows, AccessContext(who.org, user=who.user))
        return [decision.allowed for decision in decisions]

"""The policy enforcement point: may this identity do that with these rows?

In: who asks, the action, rows as they were loaded, the context made from the session's row. Out: one decision per
row, in order. It never raises and never allows for want of an answer: any trouble denies every row, with a reason.
Nothing is written; denials are counted, kept in a ring and handed to a callback.

Rows that differ in nothing a policy can see share one decision (`class_of`), and decisions are kept for as long
as nothing they rest on changes: the version of the policies, the principal, the context and the attributes are
all part of the key. A policy that names a row by its id ends the sharing as soon as it is loaded.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from clew.errors import ClewError
from clew.guard.engine import Engine, Loaded
from clew.guard.entities import (
    ASKED_OF_AGENT,
    DECIDED_OF_USER,
    TYPES,
    AttributeClass,
    Question,
    agent_beside,
    class_of,
    principal_of,
    resource_reference,
)
from clew.model.access import ACTIONS, AccessContext, AddedPolicies, Decision, Denial, PolicySource, Resource
from clew.model.config import AgentRights
from clew.model.scope import Identity
from clew.values import dataclass

TTL_S = 30.0  # FC-12 allows up to 60
QUESTIONS, CLASSES = 500, 2_000  # kept at most
LOGGED = 1_000
CHUNK = 64  # questions between two looks at the clock: about 6 ms

_SETTLED = ("", "forbidden", "no_permit")

logger = logging.getLogger(__name__)


class Pep:
    """Thread-safe. Without a source there are the shipped policies alone."""

    def __init__(
        self,
        policies: PolicySource | None = None,
        *,
        rights_of: Callable[[str, str], AgentRights] | None = None,
        on_denial: Callable[[Denial], None] | None = None,
        engine: Engine | None = None,
        clock: Callable[[], float] = time.monotonic,
        ttl_s: float = TTL_S,
    ) -> None:
        self._source = policies or _nothing_added
        self._rights_of = rights_of
        self._on_denial = on_denial
        self.engine = engine or Engine()
        self._clock, self._ttl_s = clock, min(ttl_s, 60.0)
        self._sets: dict[str, tuple[tuple[int, int], Loaded]] = {}
        self._decisions: dict[tuple[str, Question], dict[AttributeClass, tuple[Decision, float]]] = {}
        self._failed = self._stale = ""
        self._lock = threading.Lock()
        self.log: deque[Denial] = deque(maxlen=LOGGED)
        self.counts: Counter[str] = Counter()  # denials by policy id, or by reason where no policy decided

    def start(self) -> None:
        """Refuse to go on with a shipped set that is not valid: Misconfigured."""
        self.engine.load()

    def decide(
        self,
        identity: Identity,
        action: str,
        resources: Sequence[Resource | None],
        context: AccessContext,
        *,
        rights: AgentRights | None = None,
        grants: Sequence[str] = (),
        readers: Sequence[Identity] = (),
        deadline_s: float | None = None,
    ) -> list[Decision]:
        """One decision per row, in order; a row that was not found is None, and denied. Rights that are not given
        are looked up. `readers` are the users who get to see what is injected: each must be allowed to read it."""
        until = None if deadline_s is None else self._clock() + deadline_s
        try:
            question = self._question(identity, action, context, rights, tuple(sorted(grants)))
            loaded = self.in_force(question.principal.org)
            decisions = self._decided(question, resources, loaded, until)
            if identity.agent:
                decisions = self._of_agent_too(identity, question, resources, loaded, until, decisions)
            if loaded.has_added and action == "inject":
                decisions = self._of_readers_too(readers, question, resources, loaded, until, decisions)
            self._failed = ""
        except Exception as error:  # FC-2: whatever went wrong, nobody is let in for it
            if not isinstance(error, _Refused | TimeoutError):
                self._failed = _said(error)
                logger.warning("policies could not be asked: %s", self._failed)
            decisions = [Decision(False, reason=_reason(error))] * len(resources)
        self._note(identity, action, resources, decisions)
        return decisions

    @property
    def health(self) -> str:
        """Empty, or why everything is being denied or an older set is in force."""
        return self._failed or self._stale

    def forget(self) -> None:
        """Drop every kept decision: after rights, grants or labels changed by hand."""
        self._decisions.clear()

    def in_force(self, org: str) -> Loaded:
        """The set of an org. A newer one that cannot be loaded leaves the old one in force (FC-9)."""
        added = self._source(org)
        known = self._sets.get(org)
        if known is not None and known[0] == added.version:
            return known[1]
        with self._lock:
            try:
                loaded = self.engine.load(added.policies)
            except Exception as error:  # FC-9: whatever is wrong with the new set, the old one holds
                if known is None:
                    raise
                self._stale = _said(error)
                logger.error("the new policies are not in force: %s", self._stale)
                self._sets[org] = (added.version, known[1])  # until there is a newer one
                return known[1]
            self._sets[org] = (added.version, loaded)
            self._stale = ""
        self.forget()
        return loaded

    # -- one question ------------------------------------------------------------------------------

    def _question(
        self,
        identity: Identity,
        action: str,
        context: AccessContext,
        rights: AgentRights | None,
        grants: tuple[str, ...],
    ) -> Question:
        if rights is None and identity.agent and self._rights_of:
            rights = self._rights_of(identity.org, identity.agent)
        principal = principal_of(identity, action, rights or AgentRights())
        if isinstance(principal, str):
            raise _Refused(principal)
        if action not in ACTIONS:
            raise _Refused("unknown_action")
        if not context.org:
            raise _Refused("missing_org")
        return Question(principal, action, context, grants)

    def _of_agent_too(
        self,
        identity: Identity,
        question: Question,
        resources: Sequence[Resource | None],
        loaded: Loaded,
        until: float | None,
        decisions: list[Decision],
    ) -> list[Decision]:
        """An agent with a user's credential: what the user may, but for what a policy forbids the agent. It needs
        no permit of its own, and whose a memory is was decided of the user."""
        agent = agent_beside(question.principal, identity, has_added=loaded.has_added)
        action = ASKED_OF_AGENT.get(question.action)
        if agent is None or action is None:
            return decisions
        asked = replace(question, principal=agent, action=action)
        return _both(decisions, map(_unless_forbidden, self._decided(asked, resources, loaded, until)))

    def _of_readers_too(
        self,
        readers: Sequence[Identity],
        question: Question,
        resources: Sequence[Resource | None],
        loaded: Loaded,
        until: float | None,
        decisions: list[Decision],
    ) -> list[Decision]:
        """What may not be read cannot be injected: `inject` is asked of the agent, and what is said of users does
        not reach it. Without added policies nothing is."""
        for reader in readers:
            asked = self._question(reader, "read", question.context, None, question.grants)
            read = self._decided(asked, resources, loaded, until)
            decisions = _both(decisions, self._of_agent_too(reader, asked, resources, loaded, until, read))
        return decisions

    def _decided(
        self, question: Question, resources: Sequence[Resource | None], loaded: Loaded, until: float | None
    ) -> list[Decision]:
        rows = [_Row.of(resource, question, loaded) for resource in resources]
        asked = {row.key: row.resource for row in rows if row.resource}
        answers = self._answers(question, asked, loaded, until)
        return [answers[row.key] if row.resource else Decision(False, reason=row.reason) for row in rows]

    def _answers(
        self, question: Question, asked: Mapping[AttributeClass, Resource], loaded: Loaded, until: float | None
    ) -> dict[AttributeClass, Decision]:
        """Per class: what is kept, and for the rest what Cedar says of one row of it."""
        now = self._clock()
        kept = self._decisions.get((loaded.version, question), {})
        answers = {key: found[0] for key in asked if (found := kept.get(key)) and found[1] > now}
        missing = [key for key in asked if key not in answers]
        for start in range(0, len(missing), CHUNK):
            self._check_time(until)
            chunk = missing[start : start + CHUNK]
            decisions = self._asked(question, [asked[key] for key in chunk], loaded)
            answers |= zip(chunk, decisions, strict=True)
        self._check_time(until)
        self._keep((loaded.version, question), {key: answers[key] for key in missing})
        return answers

    def _asked(self, question: Question, resources: Sequence[Resource], loaded: Loaded) -> list[Decision]:
        stand_ins = [f"~{number}" if loaded.is_grouped else None for number in range(len(resources))]
        pairs = [
            (resource_reference(resource, stand_in=stand_in), resource)
            for resource, stand_in in zip(resources, stand_ins, strict=True)
        ]
        return self.engine.ask(loaded, question.requests(uid for uid, _resource in pairs), question.entities(pairs))

    def _keep(self, key: tuple[str, Question], answers: Mapping[AttributeClass, Decision]) -> None:
        """Only what Cedar decided: trouble is looked at anew."""
        expires = self._clock() + self._ttl_s
        settled = {one: (decision, expires) for one, decision in answers.items() if decision.reason in _SETTLED}
        if not settled:
            return
        if len(self._decisions) >= QUESTIONS or len(self._decisions.get(key, ())) >= CLASSES:
            self.forget()
        self._decisions.setdefault(key, {}).update(settled)

    def _check_time(self, until: float | None) -> None:
        """FC-11: too late is a deny of everything, never half an answer."""
        if until is not None and self._clock() >= until:
            raise TimeoutError

    def _note(
        self, identity: Identity, action: str, resources: Sequence[Resource | None], decisions: Sequence[Decision]
    ) -> None:
        """FC-10: silent to whoever asked, visible to those who run it."""
        for resource, decision in zip(resources, decisions, strict=True):
            if decision.allowed:
                continue
            self.counts.update(decision.policies or (decision.reason,))
            kind, id = (resource.kind, resource.id) if resource else ("", "")
            denial = Denial(identity.org, identity.actor, action, kind, id, decision)
            self.log.append(denial)
            if self._on_denial:
                try:
                    self._on_denial(denial)
                except Exception:  # a listener's trouble changes no decision
                    logger.warning("a denial could not be handed on", exc_info=True)


@dataclass(frozen=True, slots=True)
class _Row:
    """A row with the key of its class; without it, the reason why it is denied before Cedar is asked."""

    key: AttributeClass = ()
    resource: Resource | None = None
    reason: str = ""

    @classmethod
    def of(cls, resource: Resource | None, question: Question, loaded: Loaded) -> _Row:
        """FC-4: what was not loaded. FC-8: a second line behind SQL: no other org's row gets near a prompt."""
        if resource is None or resource.kind not in TYPES or not resource.id:
            return cls(reason="missing_entity")
        if not resource.org and resource.kind != "matrix":
            return cls(reason="missing_org")
        if question.action == "inject" and resource.org != question.principal.org:
            return cls(reason="cross_org")
        return cls(class_of(resource, by_id=not loaded.is_grouped), resource)


class _Refused(Exception):
    """No question for Cedar: its argument is the reason."""


def _both(one: Sequence[Decision], other: Iterable[Decision]) -> list[Decision]:
    return [
        first if second.allowed or not first.allowed else second for first, second in zip(one, other, strict=True)
    ]


def _unless_forbidden(decision: Decision) -> Decision:
    """Trouble stays a no."""
    is_said = decision.reason == "forbidden" and not DECIDED_OF_USER.issuperset(decision.policies)
    return decision if is_said or decision.reason not in _SETTLED else Decision(True)


def _nothing_added(_org: str) -> AddedPolicies:
    return AddedPolicies()


def _reason(error: Exception) -> str:
    match error:
        case _Refused():
            return str(error)
        case TimeoutError():
            return "timeout"
        case ImportError():
            return "engine_unavailable"
        case ClewError():
            return error.code.lower()
        case _:
            return "engine_error"


def _said(error: Exception) -> str:
    """Never what the engine says of entities: only ours are known to hold no content."""
    return error.message if isinstance(error, ClewError) else type(error).__name__

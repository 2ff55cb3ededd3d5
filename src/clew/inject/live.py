"""The injector's surroundings in production: sessions and switches in the store, the durable queue, the log.

A block and its log row are one transaction of the writer, and durable. What was not pushed is logged behind the
answer, in a transaction of its own: the writer has it before the caller has the answer, so closing the store writes
it.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Hashable, Iterable
from concurrent.futures import CancelledError, Future
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import datetime
from functools import partial
from hashlib import sha256

from clew.deliver import queue
from clew.deliver.rights import SessionRights
from clew.deliver.states import DeliverPolicy
from clew.inject.access import Decider
from clew.inject.asking import asked_of_rules, questions_of
from clew.inject.config import InSessionConfig
from clew.inject.deadline import Late, Ticket
from clew.inject.gates import OPEN, delivery_gate, first_closed, graph_gate, memory_gate, work_type_gate
from clew.inject.log import write_log
from clew.inject.match import Matched, Situation
from clew.inject.matcher import seen_key
from clew.inject.surroundings import Asked, asker_for
from clew.inject.switches import Switched, Switches
from clew.model.config import GateDecision
from clew.model.inject import (
    MAX_QUERY_BYTES,
    ContextInjectionLog,
    InjectionResult,
    Skipped,
    VerbEvent,
    memories_denied,
)
from clew.model.scope import Identity, Reach, Scope
from clew.model.session import AgentSession, InjectDraft
from clew.ports import Store, Tx
from clew.remember.redact import redact
from clew.values import dataclass

MAX_LOGGED_CHARS = 500  # of what was asked
MAX_MASKED_CHARS = 4 * MAX_QUERY_BYTES  # looked at for secrets: those at the end of what is asked are seen whole
_ID = re.compile(r"[\w.:@-]{1,120}")

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class InStore:
    """`graph` is what the settings of this installation say about the graph, `rollout` how far that of an org and a
    project is."""

    store: Store
    switches: Switches
    now: Callable[[], datetime]
    pep: Decider
    rights: Callable[[Identity | None], SessionRights]
    policy: DeliverPolicy
    config: InSessionConfig
    graph: GateDecision
    weighting: bool = True
    ranking: str = "weight"
    rollout: Callable[[str, str | None], GateDecision] = lambda _org, _project: OPEN
    hides: Callable[[str, str | None], bool] = lambda _org, _agent: True  # whether policies may deny an agent more

    # -- before ------------------------------------------------------------------------------------

    def situation(self, event: VerbEvent, identity: Identity | None, /) -> Situation:
        at = self.now()
        rights = self.rights(identity)
        with self.store.read() as tx:
            session = rights.must_see(tx, event.session)
            version = tx.injections.taken_back(session.org, session.id)
            silent = _silent(tx, session.org) if event.memory_scope == "org" else frozenset()
        work_type = session.work_type or self.config.work_type
        switched = self.switches.of(session.org, session.project, work_type)
        scope = Scope(session.org, session.project, session.user, session.agent, session.id)
        return Situation(
            scope=scope,
            asker=asker_for(scope, event, self.pep, by=identity, deadline_s=self.config.latency_ms / 1_000),
            budget_tokens=self.config.budget_tokens or switched.recall.observation_budget,
            most_bytes=self.policy.max_text_bytes,
            work_type=work_type,
            skip=_why_skipped(session, switched),
            may_read=rights.reads(session),
            pushes=delivery_gate(switched.project).is_open,
            weighting=self.weighting and not switched.features.feedback_weighting_disabled,
            ranking=self.ranking,
            graph_status=self._graph_status(session, switched, work_type),
            at=at,
            version=version,
            silent=silent,
            hides=bool(silent) or self.hides(session.org, session.agent),
        )

    def _graph_status(self, session: AgentSession, switched: Switched, work_type: str) -> str:
        stored, rollout = (
            graph_gate(switched.project, switched.features),
            self.rollout(session.org, session.project),
        )
        gates = (self.graph, rollout, stored, work_type_gate(switched.recall, work_type))
        return first_closed(gates).reason

    def shown(self, session: Hashable, /) -> Iterable[str]:
        assert isinstance(session, tuple)
        org, id = session
        with self.store.read() as tx:
            edges = tx.injections.shown_edges(org, id)
            return {*tx.injections.shown(org, id), *map(seen_key, edges)}

    # -- handing over ------------------------------------------------------------------------------

    def push(self, asked: Asked, situation: Situation, ticket: Ticket, /) -> InjectionResult:
        """What is not committed in time does not count; if it is committed after all, the queue's unique key makes
        saying it again harmless."""
        matched = asked.matched
        draft = queue.prepared(
            InjectDraft(
                asked.event.session, matched.text, agent=situation.scope.agent,
                observation_ids=matched.memory_ids, node_ids=matched.graph.node_ids,
                source_ids=matched.source_ids, is_rendered=True,
            )
        )  # fmt: skip
        log = replace(_log_of(asked.event, situation, matched), id=asked.log_id)
        # Enqueued when it began: what changes while it is looked for has changed since.
        put = partial(self._put, asked, draft=draft, log=log, situation=situation, now=situation.at or self.now())
        return _committed(self.store.submit(partial(put, ticket=ticket), org=log.org_id), ticket)

    def _put(
        self,
        asked: Asked,
        tx: Tx,
        *,
        draft: InjectDraft,
        log: ContextInjectionLog,
        situation: Situation,
        now: datetime,
        ticket: Ticket,
    ) -> InjectionResult:
        """In the writer's transaction. Whoever is late already puts nothing in."""
        ticket.check()
        matched = asked.matched
        said = tx.injections.said(log.org_id, draft.session, draft.observation_ids, beside=draft.text)
        if said:  # at the start, or by another process: what we know of the session is older than that
            return InjectionResult(
                "no-match", reason="seen", deduplicated=True, skipped=tuple(Skipped(id, "seen") for id in said)
            )
        put = queue.put(tx, draft, reach=Reach.everything(log.org_id), policy=self.policy, now=now)
        inject = put.inject or put.known
        result = InjectionResult(
            "queued" if inject else "suppressed",
            draft.text,
            matched.tokens,
            matched.memory_ids,
            matched.triplets,
            delivery_id=inject.delivery_id if inject else None,
            deduplicated=put.deduplicated,
            ms=asked.ms,
            reason=put.reason,
            skipped=matched.skipped,
        )
        # What found no room is noted like everything else that was not pushed.
        is_new = put.inject is not None
        if inject and (is_new or not tx.injections.has_event(log, inject.delivery_id)):
            _write(tx, log, matched, result, weighting=situation.weighting, now=now, delivered=is_new)
        return result

    def at_one_moment(self) -> AbstractContextManager[None]:
        return self.store.at_one_moment()

    # -- noting ------------------------------------------------------------------------------------

    def note(self, asked: Asked, result: InjectionResult, /) -> None:
        if result.delivery_id:
            return
        event, situation, matched = asked.event, asked.situation, asked.matched
        if situation:
            log = _log_of(event, situation, matched)
        else:  # too late before anything was known of the session
            org = self.rights(asked.identity).reach.org
            log = ContextInjectionLog(
                session_id=event.session, org_id=org, phase="in_session", event_id=_event_id(event)
            )
        log = replace(log, id=asked.log_id)
        weighting = situation.weighting if situation else self.weighting
        note = partial(_note, log=log, matched=matched, result=result, weighting=weighting, now=self.now())
        self.store.submit(note, durable=False, org=log.org_id).add_done_callback(_tell_failure)


def _silent(tx: Tx, org: str) -> frozenset[str]:
    """The projects of which nothing is told anywhere: their memory is off."""
    return frozenset(name for name, config in tx.config.projects(org).items() if not config.memory_enabled)


def _why_skipped(session: AgentSession, switched: Switched) -> str | None:
    """R-087: only a session that a worker runs, with an agent in it."""
    if session.state != "running":
        return "not_running"
    if not session.agent:
        return "no_agent"
    gate = memory_gate(switched.project)
    return None if gate else gate.reason


def _log_of(event: VerbEvent, situation: Situation, matched: Matched) -> ContextInjectionLog:
    scope, graph = situation.scope, matched.graph
    return ContextInjectionLog(
        session_id=event.session,
        org_id=scope.org,
        project_id=scope.project,
        agent_id=scope.agent,
        phase="in_session",
        event_id=_event_id(event),
        work_type=situation.work_type,
        budget_tokens=situation.budget_tokens,
        graph_budget_tokens=situation.budget_tokens - matched.observation_tokens if graph.triplets else 0,
        actual_tokens=matched.tokens,
        actual_observation_tokens=matched.observation_tokens,
        actual_graph_tokens=graph.actual_tokens,
        observation_ids=matched.memory_ids,
        graph_node_ids=graph.node_ids,
        graph_edge_keys=graph.edge_keys,
        query_text=_asked_text(event, matched),
        graph_status=graph.status,
        denied_ids=memories_denied(matched.skipped),
    )


def _asked_text(event: VerbEvent, matched: Matched) -> str:
    """Masked before anything is cut or left out of it: half a secret, or one without the word before it, no longer
    looks like one."""
    query = (event.query or "")[:MAX_MASKED_CHARS]
    masked = redact(query).text
    questions = matched.questions
    if questions and masked != query:
        asked = replace(event, query=masked)
        questions = (*questions_of(asked), *asked_of_rules(asked))
    return redact("\n".join(question.text for question in questions)).text[:MAX_LOGGED_CHARS]


def _event_id(event: VerbEvent) -> str:
    """As the host named it, if it is a name; of anything else the hash, which tells two apart as well."""
    id = event.event_id
    if not id or (_ID.fullmatch(id) and redact(id).text == id):
        return id
    return f"sha256:{sha256(id.encode('utf-8', 'replace')).hexdigest()[:32]}"


def _committed(future: Future[InjectionResult], ticket: Ticket) -> InjectionResult:
    try:
        return future.result(timeout=ticket.remaining_s)
    except (TimeoutError, CancelledError):
        future.cancel()
        raise Late from None


def _note(
    tx: Tx,
    *,
    log: ContextInjectionLog,
    matched: Matched,
    result: InjectionResult,
    weighting: bool,
    now: datetime,
) -> None:
    """Of a session that is there: one too many or too late may be about none. Not of a push that was committed
    after all, which has its row."""
    if not tx.sessions.get(Reach.everything(log.org_id), log.session_id):
        return
    if not tx.injections.is_there(log.org_id, log.id or ""):
        delivered = result.outcome in ("injected", "queued")
        _write(tx, log, matched, result, weighting=weighting, now=now, delivered=delivered)


def _write(
    tx: Tx,
    log: ContextInjectionLog,
    matched: Matched,
    result: InjectionResult,
    *,
    weighting: bool,
    now: datetime,
    delivered: bool,
) -> None:
    row = replace(
        log, outcome=result.outcome, delivered=delivered, delivery_id=result.delivery_id, ms=round(result.ms, 3)
    )
    write_log(tx, row, matched.candidates, weighting_enabled=weighting, now=now)


def _tell_failure(future: Future[None]) -> None:
    error = None if future.cancelled() else future.exception()
    if error is not None:  # told, and nobody's turn fails for it
        _log.warning("an injection was not logged: %s", type(error).__name__)

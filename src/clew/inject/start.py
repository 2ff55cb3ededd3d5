"""The start of a session: after a worker has claimed it, compute its block, log it, put it on its queue.

In: a claimed session. Out: the block and what became of it. The log row and the inject are one transaction, durable
when it returns; without a push the row is written by itself. Run twice with the same result, the second run writes
nothing. It never raises: a session starts whatever happens here (rensei.md R-064, R-076).
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import field, replace
from datetime import datetime
from functools import partial

from clew.deliver import queue
from clew.deliver.sessions import lock_key
from clew.deliver.states import DeliverPolicy
from clew.guard.render import said_in
from clew.inject.access import Asker, Decider, readers_of
from clew.inject.block import Choice, GraphOptions, Transfer, build_session_memory_block
from clew.inject.candidates import MemoryStore, Uncounted
from clew.inject.gates import OPEN, delivery_gate, first_closed, graph_gate, memory_gate, work_type_gate
from clew.inject.graph_engine import GraphEngine
from clew.inject.log import HasInjection, log_of, write_log
from clew.inject.query import compose_retrieval_query
from clew.inject.switches import Switched, Switches
from clew.model.config import GateDecision, RecallSettings
from clew.model.inject import Block, ContextInjectionLog
from clew.model.scope import Identity, Reach, Scope
from clew.model.session import AgentSession, Enqueued, Inject, InjectDraft
from clew.model.start import Held, InjectReport, SessionSummary
from clew.ports import Store, Tx
from clew.values import dataclass

_log = logging.getLogger(__name__)

GRAPH_SHARE = 0.3  # of a budget that somebody names for both; observations come first


def inject_context_for_claimed_session(
    clew: HasInjection, session_id: str, *, identity: Identity | None = None
) -> InjectReport:
    """Compute, log and enqueue the start block of a claimed session. Never raises; the report says what failed."""
    try:
        report: InjectReport = clew.inject.start_report(session_id, identity=identity)
    except Exception as error:  # the session goes on whatever happens here
        _log.warning("no start block for a session: %s", type(error).__name__)
        return InjectReport(reason="error", error=getattr(error, "code", type(error).__name__))
    return report


@dataclass(frozen=True, slots=True)
class Starter:
    """What a start is made with. `work_type` is that of sessions that name none."""

    store: Store
    switches: Switches
    memories: MemoryStore
    newest: MemoryStore  # asked when there is no question
    pep: Decider
    now: Callable[[], datetime]
    policy: DeliverPolicy
    engine: GraphEngine | None = None
    graph_settings: GateDecision = OPEN
    rollout: Callable[[str, str | None], GateDecision] = lambda _org, _project: OPEN
    choice: Choice = field(default_factory=Choice)
    transfer: Callable[[AgentSession], Transfer | None] | None = None
    summaries: Callable[[AgentSession, str], Sequence[SessionSummary]] | None = None
    work_type: str = "feature"
    failures: Counter[str] = field(default_factory=Counter)
    by: Identity | None = None  # by whose credential

    # -- telling -----------------------------------------------------------------------------------

    def start(
        self,
        session: AgentSession,
        *,
        dry_run: bool = False,
        held: Held | None = None,
        most_tokens: int = 0,
        rules_only: bool = False,
    ) -> InjectReport:
        """`held`: what the agent has before it already. `most_tokens`: of the whole block, where a host takes no
        more; 0 is no limit. `rules_only`: there is no work item yet, and asking for nothing finds anything."""
        began, now = time.perf_counter(), self.now()
        query_text, work_type = query_of(session), session.work_type or self.work_type
        switched = self._switched(session, work_type)
        choice = replace(self._choice(switched), most_bytes=self.policy.max_text_bytes)
        if held is not None:
            choice = replace(choice, held=held.ids, held_lines=held.lines, held_sessions=held.sessions)
            choice = replace(choice, goes_on=held.goes_on)
        if switched is not None and most_tokens:
            switched = replace(switched, recall=_within(switched.recall, most_tokens))
        choice = replace(choice, rules_only=rules_only)
        by = replace(self, memories=Uncounted(self.memories)) if dry_run else self
        by = replace(by, engine=None, summaries=None) if rules_only else by
        block = by._computed(session, switched, choice, query_text=query_text)
        _log.debug("%d candidates of a start block were denied", block.denied)
        if dry_run:
            return InjectReport(block, reason="dry_run")
        ms = (time.perf_counter() - began) * 1000
        log = log_of(session, block, query_text=query_text, work_type=work_type, ms=round(ms, 3))
        save = partial(save_start, weighting_enabled=choice.weighting_enabled, repeats=held is not None, now=now)
        return self._saved(session, block, log, switched, save)

    def look(self, session: AgentSession, query_text: str, *, budget_tokens: int) -> Block:
        """A block about a question, or without one the rules and what is newest, for an agent like that of this
        session. Nothing is counted, logged or queued."""
        switched = self._switched(session, session.work_type or self.work_type)
        if switched is not None:
            graph = min(switched.recall.graph_budget, int(budget_tokens * GRAPH_SHARE))
            recall = replace(switched.recall, observation_budget=budget_tokens - graph, graph_budget=graph)
            switched = replace(switched, recall=recall)
        source = Uncounted(self.memories) if query_text.strip() else self.newest
        by = replace(self, memories=source)
        return by._computed(session, switched, self._choice(switched), query_text=query_text)

    def _switched(self, session: AgentSession, work_type: str) -> Switched | None:
        try:
            return self.switches.of(session.org, session.project, work_type)
        except Exception as error:  # nobody can say what is allowed: nothing is
            self._failed("switches", error)
            return None

    def _choice(self, switched: Switched | None) -> Choice:
        is_off = switched is not None and switched.features.feedback_weighting_disabled
        return replace(self.choice, weighting_enabled=self.choice.weighting_enabled and not is_off)

    def _computed(
        self, session: AgentSession, switched: Switched | None, choice: Choice, *, query_text: str
    ) -> Block:
        try:
            return self._block(session, switched, choice, query_text=query_text)
        except Exception as error:  # an extra to the session, which starts without
            self._failed("block", error)
            return Block(graph_status="error")

    def _block(self, session: AgentSession, switched: Switched | None, choice: Choice, *, query_text: str) -> Block:
        if switched is None:
            return Block(graph_status="error")
        budget, recall = switched.recall.observation_budget, switched.recall
        if not memory_gate(switched.project):
            return Block(budget_tokens=budget, graph_status="memory_off")
        return build_session_memory_block(
            session_id=session.id,
            work_type=session.work_type or self.work_type,
            org_id=session.org,
            project_id=session.project,
            user_id=session.user,
            query_text=query_text,
            store=self.memories,
            cross_project_transfer=self._transfer(session),
            graph=self._graph(session, switched),
            asker=asker_of(session, self.pep, by=self.by),
            budget_tokens=recall.observation_budget,
            summaries=self._summaries(session, query_text),
            choice=choice,
        )

    def _graph(self, session: AgentSession, switched: Switched) -> GraphOptions:
        recall, work_type = switched.recall, session.work_type or self.work_type
        gate = first_closed(
            (
                self.graph_settings,
                self.rollout(session.org, session.project),
                graph_gate(switched.project, switched.features),
                work_type_gate(recall, work_type),
            )
        )
        return GraphOptions(
            self.engine,
            graph_enabled=gate.is_open,
            reason=gate.reason,
            budget_tokens=recall.graph_budget,
            top_k=recall.top_k,
            neighborhood_depth=recall.depth,
        )

    def _transfer(self, session: AgentSession) -> Transfer | None:
        try:
            return self.transfer(session) if self.transfer else None
        except Exception as error:  # an extra to the block
            self._failed("transfer", error)
            return None

    def _summaries(self, session: AgentSession, query_text: str) -> Sequence[SessionSummary]:
        if self.summaries is None:
            return ()
        try:
            return self.summaries(session, query_text)
        except Exception as error:  # an extra to the block
            self._failed("summaries", error)
            return ()

    # -- saving ------------------------------------------------------------------------------------

    def _saved(
        self,
        session: AgentSession,
        block: Block,
        log: ContextInjectionLog,
        switched: Switched | None,
        save: Callable[..., InjectReport],
    ) -> InjectReport:
        reason = why_not_pushed(block, switched)
        save = partial(save, session=session, block=block, log=log, reason=reason, policy=self.policy)
        failed = ""
        if not reason:
            try:
                draft = draft_of(session, block)
                return self.store.write(partial(save, draft=draft), lock=lock_key(session.id))
            except Exception as error:  # the block was computed, and that is logged all the same
                failed = self._failed("enqueue", error)
                save = partial(save, reason="enqueue_failed")
        try:
            saved = self.store.write(save, durable=False, lock=lock_key(session.id))
            return replace(saved, error=failed or None)
        except Exception as error:  # a session is worth more than its log row
            return InjectReport(block, reason=reason or "enqueue_failed", error=self._failed("log", error))

    def _failed(self, what: str, error: Exception) -> str:
        """Counted and told by its kind: the text of an error may quote a memory."""
        self.failures[what] += 1
        _log.warning("%s failed at the start of a session: %s", what, type(error).__name__)
        return str(getattr(error, "code", type(error).__name__))


def save_start(
    tx: Tx,
    *,
    session: AgentSession,
    block: Block,
    log: ContextInjectionLog,
    weighting_enabled: bool,
    reason: str,
    policy: DeliverPolicy,
    now: datetime,
    repeats: bool = False,
    draft: InjectDraft | None = None,
) -> InjectReport:
    """The inject, if there is one, and the log row in one transaction; no row that says what the last one says.
    `now` is when it began: what changes while a block is computed has changed since. `repeats`: somebody looked at
    what the agent holds, which may be less than it was told."""
    reach = Reach.everything(session.org)
    told = _told_before(tx, session, draft, now) if draft and not repeats else None
    put = Enqueued(known=told)
    if draft and not told:
        put = queue.put(tx, draft, reach=reach, policy=policy, now=now, again=not repeats)
    inject = put.inject or put.known
    delivery_id = inject.delivery_id if inject else None
    reason = reason or put.reason or ("known" if put.known else "")
    log = replace(log, delivered=inject is not None, delivery_id=delivery_id, outcome=_outcome(reason))
    last = tx.injections.last(session.org, session.id)
    is_same = last is not None and (last.shown, last.delivered, last.delivery_id) == (
        log.shown, log.delivered, log.delivery_id
    )  # fmt: skip
    written = last if last and is_same else write_log(
        tx, log, block.candidates, weighting_enabled=weighting_enabled, now=now
    )  # fmt: skip
    return InjectReport(
        block, written.id, delivery_id, delivered=log.delivered, deduplicated=is_same, reason=reason
    )


def _told_before(tx: Tx, session: AgentSession, draft: InjectDraft, now: datetime) -> Inject | None:
    """The last of the start blocks, if all this is what they say last: a weight that has moved is nothing new, a
    correction that is taken back is. One that was handed out and then taken back the agent may have or not:
    where it says otherwise, what was said before does not count."""
    blocks = [one for one in tx.injects.of_session(session.org, session.id) if one.phase == "start"]
    told, said = None, dict[str, str]()
    for one in _in_order(blocks):
        lines = _by_subject(one.text)
        if _is_told(tx, one, now):
            told, said = one, said | lines
        elif one.last_delivered_at:
            said = {subject: line for subject, line in said.items() if lines.get(subject, line) == line}
    return told if _by_subject(draft.text).items() <= said.items() else None


def _in_order(told: Sequence[Inject]) -> list[Inject]:
    """As the agent gets them: one that was cancelled and waits again has its old place in the queue."""
    handed = [one for one in told if one.state != "pending"]
    handed.sort(key=lambda one: one.last_delivered_at or one.enqueued_at)
    return [*handed, *(one for one in told if one.state == "pending")]


def _by_subject(text: str) -> dict[str, str]:
    """What a block says of each memory, by its id; what has no id stands for itself."""
    return {line.partition("] ")[0] if line.startswith("- [") else line: line for line in said_in(text)}


def _is_told(tx: Tx, inject: Inject, now: datetime) -> bool:
    """Whether the agent has this start block, or will be handed it."""
    return inject.state not in ("cancelled", "dead") and not queue.is_outdated(tx, inject, now)


def _within(recall: RecallSettings, most_tokens: int) -> RecallSettings:
    """Observations first; the graph gets what they leave."""
    observations = min(recall.observation_budget, most_tokens)
    graph = min(recall.graph_budget, most_tokens - observations)
    return replace(recall, observation_budget=observations, graph_budget=graph)


def query_of(session: AgentSession) -> str:
    return compose_retrieval_query(
        identifier=session.issue,
        title=session.title,
        description=session.description,
        issue_id=session.issue_id,
        session_id=session.id,
    )


def asker_of(session: AgentSession, pep: Decider, *, by: Identity | None) -> Asker:
    """The session's agent, as its row says: nobody names another one."""
    scope = Scope(session.org, session.project, session.user, session=session.id)
    identity = Identity(session.org, session.user, session.agent, ())
    return replace(Asker.of(identity, scope, pep=pep), readers=readers_of(scope, by))


def draft_of(session: AgentSession, block: Block) -> InjectDraft:
    return queue.prepared(
        InjectDraft(
            session.id,
            block.text,
            phase="start",
            agent=session.agent,
            observation_ids=block.memory_ids,
            node_ids=block.graph_node_ids,
            source_ids=(*block.source_ids, *block.session_summary_ids),
            is_rendered=True,
        )
    )


def why_not_pushed(block: Block, switched: Switched | None) -> str:
    """'' when the block is to go on the queue."""
    if switched is None:
        return "error"
    if not switched.project.memory_enabled:
        return "memory_off"
    if not block.text:
        return "empty"
    return "" if delivery_gate(switched.project) else "inject_off"


def _outcome(reason: str) -> str:
    """In the words of the injector; `injected` is on the queue."""
    words = {"": "injected", "known": "injected", "memory_off": "disabled", "inject_off": "suppressed"}
    return words.get(reason, "no-match")

"""The verbs of injection: `clew.inject.start(...)`, `clew.inject.event(...)`, `clew.inject.log(...)`."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from clew.errors import Conflict
from clew.lazy import LazyModule, made_once
from clew.model.host import Limits
from clew.model.inject import VerbEvent
from clew.model.kinds import checked
from clew.model.scope import Identity, Reach

if TYPE_CHECKING:
    from concurrent.futures import Future

    from clew.clew import Clew
    from clew.deliver import rights as granting
    from clew.deliver import sessions as steps
    from clew.inject import access, candidates, gates, graph_engine, summaries, switches
    from clew.inject import block as blocks
    from clew.inject import bus as buses
    from clew.inject import deadline as deadlines
    from clew.inject import injector as injecting
    from clew.inject import log as logs
    from clew.inject import start as starting
    from clew.learn import explore as exploring
    from clew.model.config import GateDecision
    from clew.model.inject import Block, ContextInjectionLog, InjectionResult
    from clew.model.scope import Scope
    from clew.model.session import AgentSession, SessionReport
    from clew.model.start import Held, InjectReport, SessionSummary
    from clew.ports import Tx
    from clew.verbs import inject_making as making
else:
    access, blocks, buses, candidates, gates, graph_engine = (
        LazyModule(f"clew.inject.{name}")
        for name in ("access", "block", "bus", "candidates", "gates", "graph_engine")
    )
    logs, starting, summaries, switches = (
        LazyModule(f"clew.inject.{name}") for name in ("log", "start", "summaries", "switches")
    )
    granting, steps = LazyModule("clew.deliver.rights"), LazyModule("clew.deliver.sessions")
    deadlines, making = LazyModule("clew.inject.deadline"), LazyModule("clew.verbs.inject_making")
    exploring = LazyModule("clew.learn.explore")

_log = logging.getLogger(__name__)

MAX_ASKED = 500  # characters of a question that count


@checked
class Injection:
    """Blocks for a session: at its start and on its tool calls."""

    def __init__(self, clew: Clew) -> None:
        self._clew = clew
        self.failures: Counter[str] = Counter()  # what went wrong without anybody being told

    # -- at the start --------------------------------------------------------------------------------

    def start(self, session_id: str, *, dry_run: bool = False, identity: Identity | None = None) -> Block:
        """The block of a claimed session: computed, logged, and queued where that is switched on."""
        return self.start_report(session_id, dry_run=dry_run, identity=identity).block

    def start_report(
        self,
        session_id: str,
        *,
        dry_run: bool = False,
        held: Held | None = None,
        most_tokens: int = 0,
        rules_only: bool = False,
        identity: Identity | None = None,
    ) -> InjectReport:
        """The same, and what became of it. Refuses only a session that is not there, not claimed, or whose texts
        are not for whoever looks ahead. Who may not read them gets none back: they are for the agent. `held` is
        what the agent has before it already; `most_tokens` of a block, where a host takes no more; `rules_only`:
        nobody knows yet what the work is about."""
        may = self._clew.sessions.rights(identity)
        with self._clew.store.read() as tx:
            session = may.must_read(tx, session_id) if dry_run else may.must_see(tx, session_id)
        if not dry_run:
            _check_claimed(session)
        report = replace(self.starter, by=identity).start(
            session, dry_run=dry_run, held=held, most_tokens=most_tokens, rules_only=rules_only
        )
        if not may.reads(session):
            report = replace(report, block=_without_text(report.block))
        if identity is not None and identity.agent:
            report = replace(report, block=report.block.for_agents())
        if self._clew._in_background and not dry_run:  # its tool calls come next
            self._making.begin()
        return report

    def block(
        self,
        query: str = "",
        *,
        budget_tokens: int = 1_000,
        scope: Scope | None = None,
        identity: Identity | None = None,
    ) -> Block:
        """What may be put before an agent about a question, or without one the rules and what is newest, within a
        budget. Nothing is logged or queued."""
        scope, who = self._clew._scope(scope, identity), self._clew.sessions.active(identity)
        asked = steps.new_session(scope, steps.WorkItem(), agent=who.agent or "agent", now=self._clew.now())
        session = replace(asked, id=scope.session or "asked")  # chance draws by it: same question, same block
        starter = replace(self.starter, by=who)
        return starter.look(session, query[:MAX_ASKED], budget_tokens=budget_tokens).for_agents()

    def log(self, session_id: str, *, identity: Identity | None = None) -> list[ContextInjectionLog]:
        """What was shown in a session, oldest first, and which memories policies kept out: those of them that
        whoever looks may read, and none for an agent."""
        may = self._clew.sessions.rights(identity)
        with self._clew.store.read() as tx:
            session = may.must_see(tx, session_id)
            rows = tx.injections.of_session(session.org, session.id)
            known = self._readable(tx, session.org, identity, {id for row in rows for id in row.denied_ids})
        rows = [replace(row, denied_ids=tuple(id for id in row.denied_ids if id in known)) for row in rows]
        return rows if may.reads(session) else [replace(row, query_text=granting.PRIVATE) for row in rows]

    def _readable(self, tx: Tx, org: str, identity: Identity | None, ids: Collection[str]) -> set[str]:
        if not ids or (identity is not None and identity.agent):
            return set()
        door = self._clew._doors.door(identity, None)
        there = tx.memories.get_many(Reach.everything(org), list(ids)).values()
        return {memory.id for memory in door.readable(there, lambda memory: memory)}

    def record(self, log: ContextInjectionLog) -> str:
        """Write one row of the log; '' when that fails, which is counted and told to nobody else."""
        try:
            write = partial(logs.write_log, log=log, now=self._clew.now())
            return self._clew.store.write(write, durable=False).id or ""
        except Exception as error:  # a session is worth more than its log row
            self.failures["log"] += 1
            _log.warning("an injection could not be logged: %s", type(error).__name__)
            return ""

    # -- on tool calls -------------------------------------------------------------------------------

    def event(self, event: VerbEvent | Mapping[str, Any], *, identity: Identity | None = None) -> InjectionResult:
        """What a tool call makes worth saying: found and put on the session's queue before the time is up, or not
        said at all. Refuses only an event that cannot be read and a session that is not there. The first event of a
        process may find the injector in the making: budget-exceeded, reason `warming`. See `warm`."""
        result = self._event(event, identity or Identity(), Limits())
        return result.for_agents() if identity is not None and identity.agent else result

    def _event(self, event: VerbEvent | Mapping[str, Any], identity: Identity, limits: Limits) -> InjectionResult:
        """The same where the project's file narrows it."""
        ticket = deadlines.Ticket(min(self._clew.settings.inject.latency_ms, limits.latency_ms) / 1_000)
        told = event if isinstance(event, VerbEvent) else VerbEvent.from_json(event)
        return self._making.answer(told, identity=identity, ticket=ticket, limits=limits)

    @made_once
    def bus(self) -> buses.VerbBus:
        """Where hooks tell of tool calls: `clew.inject.bus.emit_hook({...})`. The injector listens to it."""
        bus = buses.VerbBus()
        bus.subscribe(self.event)
        return bus

    def note_shown(self, session_id: str, ids: Collection[str], *, identity: Identity | None = None) -> None:
        """What the agent of a session has before it from elsewhere is not said on its tool calls. Does not wait."""

        def note(made: Future[injecting.InSessionMemoryInjector]) -> None:
            if not made.exception():
                made.result().note_shown(session_id, ids, identity=identity)

        if ids:
            self._making.begin().add_done_callback(note)

    @property
    def injector(self) -> injecting.InSessionMemoryInjector:
        """Made once per process; waits until it is."""
        return self._making.begin().result()

    def warm(self, event: VerbEvent | None = None, *, identity: Identity | None = None) -> None:
        """Have everything imported and made that the first event would wait for, and wait for it; with an event,
        have it read what that one will read, too. Nothing is said, marked or logged."""
        injector = self.injector
        if event is not None:
            injector.rehearse(event, identity=identity or Identity())

    def close(self) -> None:
        if "bus" in self.__dict__:
            self.bus.close()
        if "_making" in self.__dict__:
            self._making.close()

    # -- at the end ----------------------------------------------------------------------------------

    def on_session_end(self, session: AgentSession, report: SessionReport | None = None) -> None:
        """Keep a summary of the session, unless the project's memory is off."""
        if injector := self._making.done:
            injector.forget_session(session.id, identity=Identity(org=session.org))
        if not self.switches.of(session.org, session.project, session.work_type).project.memory_enabled:
            return
        strict, now = self._clew.settings.remember.strict_token_rule, self._clew.now()
        summary = summaries.summarise(session, report, now=now, strict_token_rule=strict)
        if summary is not None:
            kept: SessionSummary = summary
            self._clew.store.write(lambda tx: tx.injections.put_summary(kept, at=now), durable=False)

    # -- parts, made when first needed ---------------------------------------------------------------

    @made_once
    def _making(self) -> making.Making:
        return making.Making(self._clew)

    @made_once
    def switches(self) -> switches.Switches:
        inject = self._clew.settings.inject
        return switches.Switches(self._clew.store, pushes=inject.runtime, budget_of=inject.org_overrides.of)

    @made_once
    def memories(self) -> candidates.RecallStore:
        below = self._clew.settings.learn.retire_below
        return candidates.RecallStore(self._clew._reader, self._clew.now, retired=self._retired, retire_below=below)

    @made_once
    def engine(self) -> graph_engine.GraphSearchEngine:
        floor = self._clew.settings.inject.start_floor
        return graph_engine.GraphSearchEngine(self._clew._reader, self._clew.now, floor=floor)

    @made_once
    def starter(self) -> starting.Starter:
        settings, graph = self._clew.settings.inject, self._clew.settings.graph
        return starting.Starter(
            store=self._clew.store,
            switches=self.switches,
            memories=self.memories,
            newest=candidates.Newest(self._clew.store, self._clew.now, self._retired),
            pep=access.LateDecider(lambda: self._clew._pep),
            now=self._clew.now,
            policy=self._clew.queue.policy,
            engine=self.engine,
            graph_settings=gates.graph_settings_gate(write=graph.write, recall=graph.recall, shadow=graph.shadow),
            rollout=self.rollout_gate,
            choice=self._choice,
            transfer=self._clew.transfer.config_for,
            summaries=self._summaries if settings.summaries else None,
            work_type=settings.work_type,
            failures=self.failures,
        )

    def rollout_gate(self, org: str, project: str | None = None) -> GateDecision:
        """The same of all projects; asked as a recall asks, it is looked up once."""
        return gates.rollout_gate(self._clew._rollout_state.of(org, project=project, now=self._clew.now()))

    @property
    def _choice(self) -> blocks.Choice:
        inject, learn = self._clew.settings.inject, self._clew.settings.learn
        return blocks.Choice(
            limit=inject.start_candidates,
            max_rules=inject.max_rules,
            floor=inject.start_floor,
            weighting_enabled=learn.weighting,
            ranking=learn.ranking,
            explore=learn.explore,
            hardly_tried=self._hardly_tried,
        )

    def _retired(self, org: str, ids: Sequence[str]) -> set[str]:
        learn = self._clew.settings.learn
        with self._clew.store.read() as tx:
            return tx.learning.retired(org, ids, below=learn.retire_below, samples=learn.retire_samples)

    def _hardly_tried(self, org: str, ids: Sequence[str]) -> list[str]:
        with self._clew.store.read() as tx:
            return exploring.hardly_tried(ids, tx.learning.samples(org, ids))

    def _summaries(self, session: AgentSession, query_text: str) -> list[SessionSummary]:
        embedder, limit = self._clew._asked_embedder, blocks.MAX_SUMMARIES
        with self._clew.store.read() as tx:
            past = summaries.past_of(tx, session, limit=limit)
        return summaries.related_summaries(past, query_text, embedder=embedder, limit=limit)


def _without_text(block: Block) -> Block:
    """What it was made of and what it costs."""
    return replace(block, text="", triplets=(), sections=())


def _check_claimed(session: AgentSession) -> None:
    if session.has_ended:
        raise Conflict(
            f"session {session.id} has ended", code="SESSION_ENDED", next="start a new one: clew session start"
        )
    if session.state != "running":
        raise Conflict(
            f"session {session.id} is {session.state}, not claimed by a worker",
            code="SESSION_NOT_CLAIMED",
            next="claim it first: clew session claim ID --worker NAME; or look ahead with --dry-run",
        )

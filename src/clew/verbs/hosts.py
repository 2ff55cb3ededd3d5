"""The verbs about the hosts of agents: `clew.hosts.event(...)`, `clew.hosts.fired()`."""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from clew.errors import ClewError, Denied, InvalidInput, Misconfigured, NotFound, StoreRefused, Unavailable
from clew.lazy import LazyModule, made_once
from clew.model.host import ASKED, NOT_KEPT, STATED, Around, HookAnswer, HookEvent, HookFired, StoredFact
from clew.model.kinds import checked
from clew.model.memory import Draft, Memory, Remembered
from clew.model.scope import Identity, Reach, Scope
from clew.model.session import SessionReport

if TYPE_CHECKING:
    from clew.clew import Clew
    from clew.deliver import report as reporting
    from clew.deliver import sessions as steps
    from clew.hosts import attend as attending
    from clew.hosts import capture, events, reduce, render
    from clew.hosts import capture_run as capturing
    from clew.hosts import place as placing
    from clew.inject import deadline as deadlines
    from clew.model.session import AgentSession
    from clew.model.start import Held
else:
    attending, capture, events, reduce, render, capturing, placing = (
        LazyModule(f"clew.hosts.{name}")
        for name in ("attend", "capture", "events", "reduce", "render", "capture_run", "place")
    )
    deadlines, reporting = LazyModule("clew.inject.deadline"), LazyModule("clew.deliver.report")
    steps = LazyModule("clew.deliver.sessions")

THREADS = 16  # events whose block is made at the same time
KEEP_FACTS = timedelta(days=1)  # of a session that goes on after a night, only its task and what it read are known
KEEP_EVENTS = timedelta(days=30)
KEEP_QUIET = timedelta(days=7)  # looks that found nothing to say
KEEP_LOOKS = timedelta(days=90)  # after the end of their session, and so with the session itself
KEEP_WEIGHTS = timedelta(days=365)  # that and why weights changed: only told, never counted with
PORTION, PORTIONS = 500, 20  # rows of one transaction, and transactions of one sweep
SESSIONS = 100  # of one transaction: each has a queue
IDLE = timedelta(days=3)  # after that a host or a worker is taken to have crashed: a weekend is shorter
TIDY_EVERY = timedelta(hours=1)

_log = logging.getLogger(__name__)


@checked
class Hosts:
    """What the hooks of agents tell, and what they are answered."""

    def __init__(self, clew: Clew) -> None:
        self._clew = clew
        self.failures: Counter[str] = Counter()  # what went wrong without anybody being told
        self._tidied: datetime | None = None

    def event(
        self,
        host: str,
        raw: bytes | Mapping[str, Any],
        *,
        event_id: str,
        around: Around,
        received_at: datetime | None = None,
        replayed: bool = False,
        identity: Identity | None = None,
    ) -> HookAnswer:
        """What a hook of a host is answered. Never raises for what a host sends: what cannot be understood is
        answered with nothing. Raises only that the event could not be kept: tell it again, with its id.
        `replayed`: it is told again because nobody printed an answer to it; nothing is delivered. Whoever prints
        the answer says so by `seen`."""
        try:
            told = self._told(host, raw, event_id=event_id, around=around, received_at=received_at, by=identity)
            if told is None:
                return HookAnswer()
            if replayed:
                told = replace(told, replayed=True)
            return replace(self._attendant.attend(told), kind=told.event.kind)
        except (StoreRefused, Unavailable, Misconfigured):
            self.failures["store"] += 1
            raise
        except (InvalidInput, NotFound, Denied) as error:  # refused, and it would be each time
            self._attendant.failed("event", error)
            return HookAnswer()
        except Exception as error:  # the agent goes on: its hook keeps the event
            self._attendant.failed("event", error)
            raise _not_kept(error) from error

    def seen(self, event_id: str, *, identity: Identity | None = None) -> None:
        """A hook has printed what this event was answered with. Only then does a later event acknowledge it.
        Neither waits nor raises: what is not noted comes again."""
        try:
            self._attendant.seen(self._clew.sessions.active(identity), event_id)
        except ClewError:
            self.failures["seen"] += 1

    def unseen(self, event_id: str) -> None:
        """Whoever asked for an answer is gone without a word that it was printed: it comes again at once."""
        self._attendant.unseen(event_id)

    def fired(self, *, identity: Identity | None = None) -> list[HookFired]:
        """When each hook last fired, by host and event."""
        with self._clew.store.read() as tx:
            return tx.hosts.fired((identity or Identity()).org)

    # -- capture -----------------------------------------------------------------------------------

    def capture_waiting(self, *, limit: int = 200) -> int:
        """Make memories of what hooks told, oldest first; how many events were looked at, 0 when none waits.
        Running it twice adds nothing."""
        looked = capturing.capture_waiting(
            self._clew.store,
            write=self._clew._write,
            whose=self._whose,
            forget=self._take_back,
            forget_about=self._take_back_about,
            ended=self._look_back_at,
            limit=limit,
        )
        if not looked:
            self._tidy()
        return looked

    def _take_back(self, stored: Remembered, identity: Identity) -> None:
        """A guess of ours; what somebody remembered themselves, or made one of the rules, stays."""
        memory = stored.memory
        if "captured" in memory.metadata and memory.layer != "rule" and not stored.quarantined:
            reporting.attempt("forget", partial(self._clew.forget, memory.id, identity=identity))

    def _take_back_about(self, draft: Draft, scope: Scope, identity: Identity) -> None:
        """The one rule, decision or fact that was stated before and has these words."""
        reporting.attempt(
            "forget", partial(self._forget_about, draft, replace(scope, agent=None, session=None), identity)
        )

    def _forget_about(self, draft: Draft, scope: Scope, identity: Identity) -> None:
        """And what was asked for in the same words or changed for it: it would be told in these notes."""
        find = partial(self._captured, scope=scope, identity=identity)
        about = capture.one_about(draft.content, *self._said_before(draft, scope, identity))
        if about is None:
            return
        tasks = [one for one in find(about.content, ("task",)) if about.content in one.content]
        quoted = [capture.changed_for(one.content.removeprefix(ASKED)) for one in (about, *tasks)]
        made = [one for text in quoted for one in find(text, ("edit",)) if one.content.startswith(text)]
        for id in dict.fromkeys(one.id for one in (about, *tasks, *made)):
            self._clew.forget(id, identity=identity)

    def _said_before(self, topic: Draft, scope: Scope, identity: Identity) -> tuple[list[Memory], list[Memory]]:
        """What was stated, and what was asked for, before a topic was named."""
        find = partial(self._captured, topic.content, scope=scope, identity=identity)
        stated, asked = (
            [one for one in find(kinds) if topic.at and one.at < topic.at] for kinds in (STATED, ("task",))
        )
        return stated, asked

    def _tell_kept(self, session: str, told: attending.Told) -> None:
        """To an agent whose user wants something forgotten that stays."""
        facts = json.loads(told.facts) if told.facts else {}
        text = capture.ALL_KEPT if facts.get("back_all") else ""
        if about := facts.get("back_about"):
            who = told.who.identity
            scope = Scope(who.org, told.around.project, who.user)
            stated, asked = self._said_before(Draft(content=about, at=told.received), scope, who)
            if capture.one_about(about, stated, asked) is None and (near := capture.those_about(about, stated)):
                text = capture.nothing_forgotten([one.id for one in near])
        if text:
            self._clew.queue.enqueue(session, text, identity=told.who.identity)

    def _captured(self, text: str, kinds: Sequence[str], *, scope: Scope, identity: Identity) -> list[Memory]:
        """What was captured that is about a text."""
        types = kinds if set(kinds) <= set(STATED) else ("note",)
        found = self._clew.recall(text, scope=scope, identity=identity, limit=20, counted=False, types=types)
        return [one.memory for one in found.results if one.memory.metadata.get("captured") in kinds]

    def _look_back_at(self, row: StoredFact) -> None:
        for id in row.ends:
            reporting.attempt("summary", partial(self._look_back, row, id))

    def _look_back(self, row: StoredFact, id: str) -> None:
        """The summary of a session that an event ended, from what was told in it."""
        with self._clew.store.read() as tx:
            session = tx.sessions.get(Reach.everything(row.org), id)
            told = tx.hosts.facts(row.org, row.host, row.host_session, until=row.at, limit=capturing.WINDOW)
        if session is not None:
            facts = [capturing.fact_of(one) for one in told if one.session == id]
            report = capture.report_of(facts)
            if report == SessionReport():  # nothing happened: what it was called is no news
                session = replace(session, title=None, issue=None)
            self._clew.sessions._look_back(session, report)

    def _tidy(self) -> None:
        """Let go of what hooks, looks and sessions left behind and nothing needs any more; once an hour."""
        now = self._clew.now()
        if self._tidied and timedelta(0) <= now - self._tidied < TIDY_EVERY:
            return
        self._tidied = now
        with self._clew.store.read() as tx:
            orgs = tx.config.orgs()
        for org in orgs:
            self._tidy_org(org, now)

    def _tidy_org(self, org: str, now: datetime) -> None:
        before = {"facts_before": now - KEEP_FACTS, "events_before": now - KEEP_EVENTS}
        self._clew.store.write(lambda tx: tx.hosts.tidy(org, **before), durable=False)
        for portion, sweep in self._sweeps(org, now):
            for _ in range(PORTIONS):
                if self._clew.store.write(partial(sweep, limit=portion), durable=False) < portion:
                    break
        self._end_silent(org, now)

    def _sweeps(self, org: str, now: datetime) -> tuple[tuple[int, Callable[..., int]], ...]:
        """A look at every tool call adds up: what it logged goes in portions, so that nobody waits for it long.
        What may still be acknowledged stays, however long that is."""
        quiet, old, policy = now - KEEP_QUIET, now - KEEP_LOOKS, self._clew.queue.policy
        over = min(old, now - timedelta(seconds=policy.late_ack_s))
        return (
            (PORTION, lambda tx, limit: tx.injections.tidy(org, quiet_before=quiet, before=old, limit=limit)),
            (PORTION, lambda tx, limit: tx.hosts.drop_sessions(org, before=old, limit=limit)),
            (SESSIONS, lambda tx, limit: tx.sessions.drop(org, before=over, limit=limit)),
            (PORTION, lambda tx, limit: tx.learning.tidy(org, before=now - KEEP_WEIGHTS, limit=limit)),
        )

    def _end_silent(self, org: str, now: datetime) -> None:
        """What a host or a worker that crashed has left running."""
        store, policy = self._clew.store, self._clew.queue.policy
        end_idle = partial(placing.end_idle, before=now - IDLE, policy=policy, now=now)
        store.write(partial(end_idle, org=org), durable=False)
        with store.read() as tx:  # all sessions of the org are looked at, which should keep no writer waiting
            is_abandoned = bool(tx.sessions.abandoned(org, silent=IDLE, now=now, limit=1))
        if is_abandoned:
            fail = partial(steps.fail_abandoned, org=org, silent=IDLE, policy=policy, now=now)
            store.write(fail, durable=False)

    # -- parts -------------------------------------------------------------------------------------

    def _told(
        self,
        host: str,
        raw: bytes | Mapping[str, Any],
        *,
        event_id: str,
        around: Around,
        received_at: datetime | None,
        by: Identity | None,
    ) -> attending.Told | None:
        received = received_at or self._clew.now()
        given = events.raw_of(raw)
        event = events.event_of(host, given, event_id=event_id, at=received) if given is not None else None
        if given is None or event is None:
            self.failures["not_understood"] += 1
            return None
        if around.is_off or not events.is_session(event_id):
            return None
        if around.linked and around.root:
            event = events.respelled(event, linked=around.linked, root=around.root)
        event, around = reduce.masked_names(event, around)
        who = self._teller(event, around, by)
        captures = self._clew.settings.hooks.capture and around.capture and self._remembers(who.org, around.project)
        return attending.Told(
            event,
            around,
            who,
            received,
            events.fingerprint(given),
            attending.facts_text(self._facts(event, around)) if captures else "",
            captures,
        )

    def _remembers(self, org: str, project: str | None) -> bool:
        """Whether the project's memory is on."""
        return self._clew.inject.switches.of(org, project, None).project.memory_enabled

    def _whose(self, row: StoredFact) -> tuple[Scope, Identity] | None:
        """Where it belongs, and as whom it is written: with no more rights than whoever told it. It may have been
        switched off since."""
        if row.session is None or not self._remembers(row.org, row.project):
            return None
        scope = Scope(row.org, row.project, row.user, agent=row.teller or row.host, session=row.session)
        return scope, Identity(row.org, row.user, row.teller, row.roles)

    def _facts(self, event: HookEvent, around: Around) -> Mapping[str, Any] | None:
        try:
            return capture.facts_of(event, around)
        except Exception as error:  # what cannot be kept is not; the beat goes on
            self._attendant.failed("facts", error)
            return None

    def _teller(self, event: HookEvent, around: Around, identity: Identity | None) -> placing.Teller:
        """Sessions of a user's credential run as the host's agent, those of an agent's as that agent."""
        sessions = self._clew.sessions
        who = sessions.active(identity)
        scope = Scope(who.org, around.project, who.user)
        may = sessions.rights(identity)
        agent = may.agent or sessions._starts_as(event.host, scope, who)
        return placing.Teller(who, may.reach, agent)

    @made_once
    def _attendant(self) -> attending.Attendant:
        hooks = self._clew.settings.hooks
        return attending.Attendant(
            store=self._clew.store,
            now=self._clew.now,
            policy=self._clew.queue.policy,
            workers=deadlines.Workers(THREADS),
            start=self._start,
            kept=self._tell_kept,
            look=lambda verb, told: self._clew.inject._event(verb, told.who.identity, told.around.limits),
            answer_s=hooks.answer_ms / 1_000,
            injects=hooks.inject,
            failures=self.failures,
        )

    def _start(self, session: AgentSession, held: Held, told: attending.Told) -> None:
        inject, who = self._clew.inject, told.who.identity
        inject.note_shown(session.id, held.ids, identity=who)
        inject.start_report(
            session.id,
            held=held,
            most_tokens=render.budget_tokens(told.event.host),
            rules_only=not (session.title or session.issue),
            identity=who,
        )

    def close(self) -> None:
        if "_attendant" in self.__dict__:
            self._attendant.workers.close()


def _not_kept(error: Exception) -> StoreRefused:
    """By its code the spool knows that it need not try for ever."""
    message = f"the event was not kept ({type(error).__name__})"
    return StoreRefused(message, code=NOT_KEPT, next="tell it again, with its id")

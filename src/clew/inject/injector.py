"""The injector: on every tool call, what earlier sessions know about it; within a hard deadline, or silence.

In: a VerbEvent. Out: one InjectionResult, by the deadline, whatever hangs or fails; nothing is ever raised but that
the session is not there. Everything that reads or decides runs on a thread that is left behind when time is up;
what it finds then is dropped: not pushed, not marked as seen. What was handed over is marked as seen, and is not
said again. The same event twice is answered once.
"""

from __future__ import annotations

import logging
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Protocol

from clew.errors import ClewError, Denied, NotFound
from clew.inject.access import Decider
from clew.inject.bus import Recent, Subscription, VerbBus
from clew.inject.candidates import MemoryStore, Uncounted
from clew.inject.config import InSessionConfig
from clew.inject.deadline import AllBusy, Late, Ticket, Workers
from clew.inject.match import Matched, Matching, Situation, match
from clew.inject.matcher import GraphMatching, seen_key
from clew.inject.pending import Pending, PendingInjection
from clew.inject.seen import Seen
from clew.inject.surroundings import Alone, Asked, Surroundings
from clew.model.host import Limits
from clew.model.inject import InjectionResult, VerbEvent
from clew.model.scope import Identity

HANDLED_EVENTS = 4_096
_LOOKED = ("injected", "queued", "no-match", "suppressed")  # outcomes after which an event has been dealt with

NO_LIMITS = Limits()
_REPEATED = InjectionResult("no-match", reason="seen", deduplicated=True)

_log = logging.getLogger(__name__)


class Capability(Protocol):
    """How an agent can be spoken to while it works."""

    @property
    def supports_message_injection(self) -> bool: ...

    def inject_message(self, session_id: str, text: str) -> object: ...


class InSessionMemoryInjector:
    """Thread-safe. `surroundings` says what is known of sessions and takes what is pushed; without one there is
    nothing but the event, and what the capability cannot say waits for `drain_pending_for_next_turn`."""

    def __init__(
        self,
        store: MemoryStore,
        capability: Capability | None = None,
        config: InSessionConfig | Mapping[str, Any] | None = None,
        graph: GraphMatching | None = None,
        *,
        identity: Identity | None = None,
        pep: Decider | None = None,
        surroundings: Surroundings | None = None,
        workers: Workers | None = None,
        precise: bool = False,
    ) -> None:
        self.config = InSessionConfig.of(config)
        self._capability = capability
        self._identity = identity or (graph.identity if graph else None)
        self._by = Matching(store, self.config, graph, precise)
        self._around = surroundings or Alone(self.config, pep, has_graph=graph is not None)
        self._workers = workers or Workers(self.config.threads)
        self._seen = Seen(self._around.shown)
        self._pending = Pending()
        self._handled = Recent(HANDLED_EVENTS)

    # -- events ------------------------------------------------------------------------------------

    def handle_verb_event(
        self,
        event: VerbEvent,
        *,
        identity: Identity | None = None,
        ticket: Ticket | None = None,
        limits: Limits = NO_LIMITS,
    ) -> InjectionResult:
        """Exactly one outcome. Raised is only that the session is not there, or not for whoever asks. `ticket`: the
        clock runs already. `limits`: what the place of the event leaves of the configuration."""
        ticket = ticket or Ticket(self.config.within(limits).latency_ms / 1_000)
        asked = Asked(event, identity or self._identity, ticket.started, limits)
        refused = self._refused(asked)
        if refused:
            return replace(refused, ms=asked.ms)
        result = replace(self._once(asked, ticket), ms=asked.ms)
        self._note(asked, result)
        may_read = asked.situation is None or asked.situation.may_read
        return result if may_read else replace(result, block=None, triplets=())

    def rehearse(self, event: VerbEvent, *, identity: Identity | None = None) -> Asked | None:
        """Look at what an event looks at, which loads what the next one needs; say, mark and log nothing. None when
        the session is not there."""
        asked = Asked(event, identity or self._identity)
        try:
            asked.situation = self._around.situation(event, asked.identity)
            if not asked.situation.skip:
                by = self._by._replace(store=Uncounted(self._by.store))
                asked.matched = match(event, asked.situation, frozenset(), by, lambda: None)
        except (Denied, NotFound):
            return None
        except Exception as error:
            _log.warning("the injector failed: %s", _named(error))
        return asked

    def catch_up(self, event: VerbEvent, result: InjectionResult, *, identity: Identity | None = None) -> None:
        """For an event that was answered before this injector was made: it is looked at and logged all the same."""
        asked = self.rehearse(event, identity=identity)
        if asked is not None:
            self._note(asked, result)

    def subscribe_to_verb_bus(self, bus: VerbBus) -> Subscription:
        """Until `unsubscribe()` of what is returned."""
        return bus.subscribe(self.handle_verb_event)

    def drain_pending_for_next_turn(
        self, session_id: str, *, identity: Identity | None = None
    ) -> list[PendingInjection]:
        """What waits for the session, which then waits no longer."""
        return self._pending.drain(_session_key(session_id, identity or self._identity))

    def forget_session(self, session_id: str, *, identity: Identity | None = None) -> None:
        key = _session_key(session_id, identity or self._identity)
        self._seen.forget(key)
        self._pending.drain(key)

    def note_shown(self, session_id: str, ids: Iterable[str], *, identity: Identity | None = None) -> None:
        """The agent has these before it from elsewhere, as in a transcript that goes on: they are not said
        again."""
        key = _session_key(session_id, identity or self._identity)
        self._seen.of(key)
        self._seen.add(key, ids)

    def close(self) -> None:
        self._workers.close()

    # -- before the clock runs -----------------------------------------------------------------------

    def _refused(self, asked: Asked) -> InjectionResult | None:
        """The answer that needs no look at anything."""
        event = asked.event
        refused = self.config.refusal(event)
        if refused or not event.event_id:
            return refused
        if event.phase == "post" and _event_key(asked, phase="pre") in self._handled:
            return InjectionResult("skipped", reason="pre_handled")
        if not self._handled.is_new(_event_key(asked)):  # or being looked at
            return InjectionResult("skipped", reason="repeated")
        return None

    def _once(self, asked: Asked, ticket: Ticket) -> InjectionResult:
        """What was not dealt with may be sent again."""
        is_done = False
        try:
            result = self._in_time(asked, ticket)
            is_done = result.outcome in _LOOKED and not result.error
            return result
        finally:
            if not is_done:
                self._handled.drop(_event_key(asked))

    def _in_time(self, asked: Asked, ticket: Ticket) -> InjectionResult:
        try:
            return self._workers.run(partial(self._look, asked), ticket=ticket)
        except AllBusy:
            return InjectionResult("budget-exceeded", reason="all_busy")
        except Late:
            return InjectionResult("budget-exceeded", reason="deadline")
        except (Denied, NotFound):
            raise
        except Exception as error:  # an agent's tool call never fails because of its memory
            _log.warning("the injector failed: %s", _named(error))
            return InjectionResult("no-match", reason="error", error=_named(error))

    # -- while it runs, on a thread of its own -------------------------------------------------------

    def _look(self, asked: Asked, ticket: Ticket) -> InjectionResult:
        key = _session_key(asked.event.session, asked.identity)
        with self._around.at_one_moment():
            situation = self._around.situation(asked.event, asked.identity)
            budget = min(situation.budget_tokens, asked.limits.budget_tokens)
            situation = asked.situation = replace(situation, budget_tokens=budget)
            if self.config.is_off_for(situation.scope.agent):
                return self.config.disabled
            if situation.skip:
                return InjectionResult("skipped", reason=situation.skip)
            seen = self._seen.of(key, version=situation.version)
            by = self._by._replace(config=self.config.within(asked.limits))
            matched = asked.matched = match(asked.event, situation, seen, by, ticket.check)
        if not matched.text:
            repeats = matched.reason == "seen"
            return InjectionResult("no-match", reason=matched.reason, deduplicated=repeats, skipped=matched.skipped)
        if not situation.pushes:
            return _of_matched("suppressed", matched, reason="inject_off")
        with self._seen.saying(key, _ids_of(matched)) as is_free:
            result = self._hand_over(asked, situation, ticket) if is_free else _REPEATED
            stored = result.delivery_id is not None
            add = partial(self._seen.add, key, _ids_of(matched), stored=stored)
            if result.outcome in ("injected", "queued") and not ticket.settle(add):
                raise Late
        if result.reason == "seen":
            self._seen.add(key, [one.id for one in result.skipped], stored=True)
            asked.matched = Matched(questions=matched.questions)  # of which nothing was shown
        return result

    def _hand_over(self, asked: Asked, situation: Situation, ticket: Ticket) -> InjectionResult:
        ticket.check()
        event, matched, error = asked.event, asked.matched, None
        if self._capability is not None and self._capability.supports_message_injection:
            try:
                self._capability.inject_message(event.session, matched.text)
                return _of_matched("injected", matched)
            except Exception as raised:  # a plug-in: what it cannot say now is said at the next turn (C-06)
                error = _named(raised)
                _log.warning("a block could not be handed to the agent: %s", error)
        handed = self._around.push(asked, situation, ticket)
        if handed is not None:
            return replace(handed, error=error)
        ticket.check()
        waiting = PendingInjection(event.session, matched.text, matched.memory_ids, event.event_id)
        self._pending.keep(_session_key(event.session, asked.identity), waiting)
        return _of_matched("queued", matched, error=error)

    def _note(self, asked: Asked, result: InjectionResult) -> None:
        """Log what was looked at, behind the answer. What was pushed is in the log already, with the push."""
        if result.outcome in ("disabled", "skipped"):
            return
        try:
            self._around.note(asked, result)
        except Exception as error:  # the log is for us, and never the agent's trouble
            _log.warning("an injection could not be logged: %s", _named(error))


def create_in_session_memory_injector(
    store: MemoryStore,
    capability: Capability | None = None,
    config: InSessionConfig | Mapping[str, Any] | None = None,
    graph: GraphMatching | None = None,
    **parts: Any,
) -> InSessionMemoryInjector:
    """The documented name of the constructor."""
    return InSessionMemoryInjector(store, capability, config, graph, **parts)


def _of_matched(
    outcome: str, matched: Matched, *, reason: str | None = None, error: str | None = None
) -> InjectionResult:
    return InjectionResult(
        outcome, matched.text, matched.tokens, matched.memory_ids, matched.triplets,
        reason=reason, error=error, skipped=matched.skipped,
    )  # fmt: skip


def _ids_of(matched: Matched) -> tuple[str, ...]:
    return (*matched.memory_ids, *(seen_key(one.key) for one in matched.triplets))


def _session_key(session: str, identity: Identity | None) -> Hashable:
    return (identity.org if identity else "local", session)


def _event_key(asked: Asked, *, phase: str | None = None) -> Hashable:
    event = asked.event
    return (_session_key(event.session, asked.identity), event.event_id, phase or event.phase)


def _named(error: Exception) -> str:
    """What kind of failure it was; its message may hold what nobody should read."""
    return error.code if isinstance(error, ClewError) else type(error).__name__

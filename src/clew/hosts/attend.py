"""One event of a host, from its arrival to its answer.

In: an event, what surrounds it, who tells it. Out: what is printed, which may be nothing. Before it answers, the
event is on the disk, in one transaction with the beat it is: the lock is kept, and what an earlier answer carried
counts as consumed if this event proves it. Then comes what the event makes worth saying, which goes on the
session's queue; and at a place where the host listens, the next of the queue goes into the answer. The same event
twice, under one id or under two, is answered once. Nothing is acknowledged that its hook did not say it has printed
(`seen`), and told again (`replayed`) an event says that its answer never arrived. Nobody waits longer than
`answer_s` for what is worth saying: what comes later stays queued. Whatever fails in here but the first
transaction, the answer is nothing, and the agent goes on.
"""

from __future__ import annotations

import json
import logging
import math
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError, Future
from dataclasses import field, replace
from datetime import datetime, timedelta
from functools import partial
from time import monotonic
from typing import Any

from clew.deliver import queue
from clew.deliver import sessions as steps
from clew.deliver.states import DeliverPolicy
from clew.hosts.looking import Looking
from clew.hosts.place import ENDS, Place, Placing, Teller, lock_of
from clew.hosts.reduce import ELSEWHERE
from clew.hosts.render import fits, rendered
from clew.hosts.rules import TOOL_ENDS, TOOL_EVENTS, is_confirmed, is_point
from clew.hosts.table import HOSTS
from clew.hosts.verb import LOOKED_AT, verb_event_of
from clew.inject.deadline import AllBusy, Late, Ticket, Workers
from clew.model.host import Around, HookAnswer, HookEvent, HostSession
from clew.model.inject import VerbEvent
from clew.model.scope import Identity
from clew.model.session import AgentSession, Beat, Delivery
from clew.model.start import Held
from clew.ports import Store, Tx
from clew.values import dataclass

TWICE_S = 10.0  # two hooks for one event tell it within this time
SEEN_S = 1.5  # until a hook has printed an answer: it lives for 0.8
SPARE_S = 0.05
BATCH_KNOWN = timedelta(days=1)  # since a host last told of all tools of a turn
MAX_TOO_LONG = 50  # texts that no host takes, given up in one beat
TOO_LONG = "longer than the host shows"

_NOTHING = HookAnswer()
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Told:
    """One event with everything that came with it. `facts`: what may be kept of it, as JSON."""

    event: HookEvent
    around: Around
    who: Teller
    received: datetime
    fingerprint: str = ""
    facts: str = ""
    captures: bool = True
    replayed: bool = False


@dataclass(frozen=True, slots=True)
class Attended:
    """Where an event belongs, and whether something may be said in answer to it."""

    place: Place
    is_point: bool = False


class UnderWay:
    """What this process has begun and not finished, by ids, for at most so long. Thread-safe."""

    def __init__(self, most_s: float = math.inf) -> None:
        self._lock = threading.Lock()
        self._most_s = most_s
        self._since: dict[str, float] = {}

    def begin(self, id: str) -> None:
        with self._lock:
            old = [one for one, since in self._since.items() if since + self._most_s <= monotonic()]
            for one in old:
                del self._since[one]
            self._since[id] = monotonic()

    def end(self, id: str) -> None:
        with self._lock:
            self._since.pop(id, None)

    def __contains__(self, id: object) -> bool:
        with self._lock:
            since = self._since.get(id) if isinstance(id, str) else None
            return since is not None and since + self._most_s > monotonic()


@dataclass(frozen=True, slots=True)
class Attendant:
    """What events are attended with. `start` has the start block of a session made and queued; `look` what a tool
    call or a prompt makes worth saying; `kept` what a prompt does not forget though it says so."""

    store: Store
    now: Callable[[], datetime]
    policy: DeliverPolicy
    workers: Workers
    start: Callable[[AgentSession, Held, Told], object]
    look: Callable[[VerbEvent, Told], object]
    kept: Callable[[str, Told], object] = lambda _session, _told: None
    answer_s: float = 0.6
    injects: bool = True
    failures: Counter[str] = field(default_factory=Counter)
    under_way: UnderWay = field(default_factory=partial(UnderWay, SEEN_S))  # answers that may be printed yet
    starting: UnderWay = field(default_factory=UnderWay)  # sessions whose block is being made
    looking: Looking = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "looking", Looking(self.workers))

    # -- telling -----------------------------------------------------------------------------------

    def attend(self, told: Told) -> HookAnswer:
        """Raises only when the event could not be kept: whoever sent it has to send it again."""
        ticket = Ticket(self.answer_s)
        attended = self.store.write(partial(self._keep, told), durable=self._must_be_synced(told))
        if attended is None or attended.place.session is None or not (self.injects and told.around.inject):
            return _NOTHING
        try:
            return self._answered(told, attended, ticket)
        except Exception as error:  # the event is kept, and an agent's turn never fails because of its memory
            self.failed("answer", error)
            return _NOTHING

    def _answered(self, told: Told, attended: Attended, ticket: Ticket) -> HookAnswer:
        is_answered = attended.is_point and not (told.replayed or attended.place.is_lost)
        self._find(told, attended.place, ticket, waits=is_answered)
        return self._answer(told, attended.place, ticket) if is_answered else _NOTHING

    # -- first: on the disk ------------------------------------------------------------------------

    def _must_be_synced(self, told: Told) -> bool:
        """Events of tools come by the dozen. What was written of one outlives us at once, and a power cut from the
        next prompt, answer or end of a turn on; unless it acknowledges something."""
        if told.event.kind not in TOOL_EVENTS:
            return True
        event = told.event
        with self.store.read() as tx:
            row = tx.hosts.session(told.who.org, event.host, event.host_session, event.agent_id)
        return row is None or row.printed is not None

    def _keep(self, told: Told, tx: Tx) -> Attended | None:
        """None for an event that is known."""
        event, org = told.event, told.who.org
        at = self._after_the_last(tx, told) if told.replayed else told.received
        if not tx.hosts.add(told.who.identity, event, fingerprint=told.fingerprint, at=at):
            if told.replayed:
                tx.hosts.unprint(org, event)
            return None
        tx.hosts.note_fired(org, event.host, event.event, at=told.received)
        if self._came_twice(tx, told):
            return None
        placing = Placing(
            tx, event, told.around, told.who, self.policy, self.now(), told.replayed, self.starting.__contains__
        )
        place = self._placed(placing, told)
        keeps = told.captures and not place.is_nowhere
        facts = facts_abroad(told) if is_abroad(told, place) else told.facts
        ends = place.ended if keeps else ()
        served = place.session or (placing.last(place.row) if told.replayed else None)
        tx.hosts.place(org, event.event_id, served, facts=facts if keeps else "", ends=ends)
        return Attended(place, is_point(event, batch_fires=self._batch_fires(tx, told)))

    def _batch_fires(self, tx: Tx, told: Told) -> bool:
        """Whether an event follows all tools of a turn. A host may have been one that does, and be another now."""
        event, batch = told.event, HOSTS[told.event.host].batch
        if event.kind not in TOOL_ENDS or batch is None:
            return False
        return tx.hosts.has_fired(told.who.org, event.host, batch, since=told.received - BATCH_KNOWN)

    def _after_the_last(self, tx: Tx, told: Told) -> datetime:
        """Events that waited for us come one after the other and with one time; what they tell has an order."""
        last = tx.hosts.last_at(told.who.org, told.event)
        return told.received if last is None else max(told.received, last + timedelta(microseconds=1))

    def _came_twice(self, tx: Tx, told: Told) -> bool:
        """By a hook that is installed twice. What comes after the session has ended is no repetition."""
        event, org, since = told.event, told.who.org, told.received - timedelta(seconds=TWICE_S)
        if not told.fingerprint or not tx.hosts.is_repeated(org, event, fingerprint=told.fingerprint, since=since):
            return False
        row = tx.hosts.session(org, event.host, event.host_session, event.agent_id)
        return row is None or row.ended_at is None or event.kind in ENDS

    def _placed(self, placing: Placing, told: Told) -> Place:
        found = placing.found()
        if not told.around.is_known:
            if found.row is None:  # opened now, it would be a session without a project for as long as it lasts
                return found
            known = replace(told.around, project=found.row.project, branch=found.row.branch)
            placing = replace(placing, around=known)
        if found.row and not found.is_lost:
            found = replace(found, row=self._beat(placing.tx, found.row, told, is_over=found.session is None))
        place = placing.placed(found)
        if place.row and place.session:
            placing.tx.hosts.put(told.who.org, replace(place.row, updated_at=placing.now))
        return placing.ended(place) if told.event.kind in ENDS and place.row else place

    def _beat(self, tx: Tx, row: HostSession, told: Told, *, is_over: bool) -> HostSession:
        """Keep the lock, and take in what this event proves, also about a session that somebody has ended. An event
        told late proves nothing."""
        now, lock = self.now(), lock_of(row, told.who)
        is_sure = not told.replayed and is_confirmed(row, told.event, received=told.received, now=now)
        acked = [row.printed] if is_sure and row.printed else []
        if not is_over:
            steps.refresh(tx, lock, acked=acked, take=False, policy=self.policy, now=now)
        for delivery in acked if is_over else ():
            queue.acknowledge(tx, lock, delivery, policy=self.policy, now=now)
        return without_printed(row) if is_sure else row

    # -- then: what is worth saying ----------------------------------------------------------------

    def _find(self, told: Told, place: Place, ticket: Ticket, *, waits: bool) -> None:
        """On the session's queue, if there is anything. An extra: the event is kept, and the queue has more."""
        if place.is_nowhere:  # what somebody says to the session itself arrives
            return
        ticket = Ticket(max(0.0, ticket.remaining_s - SPARE_S))  # the answer itself takes a moment, too
        try:
            if place.starts and place.session:
                self._start(told, place.session, place.held, ticket)
            elif not told.replayed and place.row and not (told.event.tool and is_abroad(told, place)):
                self._look(told, place.row, ticket, waits=waits)
        except (Late, AllBusy):
            self.failures["late"] += 1
        except Exception as error:  # what is worth saying is an extra to the answer
            self.failed("inject", error)

    def _start(self, told: Told, session: AgentSession, held: Held, ticket: Ticket) -> None:
        """Made to the end, whoever waits for it; also when everybody is busy."""

        def make(_ticket: Ticket | None = None) -> None:
            try:
                self.start(session, held, told)
            except Exception as error:  # a session begins without its block, and nobody may wait for this one
                self.failed("start", error)
            finally:
                self.starting.end(session.id)

        self.starting.begin(session.id)
        try:
            self.workers.run(make, ticket=ticket)
        except AllBusy:
            try:
                threading.Thread(target=make, name="clew-host-start", daemon=True).start()
            except RuntimeError:  # no thread to be had: the next event tries again
                self.starting.end(session.id)
            raise

    def _look(self, told: Told, row: HostSession, ticket: Ticket, *, waits: bool) -> None:
        """Where nothing can be said the host does not wait; where something can, what earlier events had looked for
        is waited for, too."""
        if told.event.kind in LOOKED_AT and told.around.looks and told.event.tool not in told.around.skipped:
            look = partial(self._looked, told, row.session_id)
            self.looking.begin(row.session_id, look, limit_s=self.answer_s, waits=waits)
        if waits:
            self.looking.wait(row.session_id, ticket)

    def _looked(self, told: Told, session: str) -> None:
        try:
            if told.event.kind == "prompt":
                self.kept(session, told)
            verb = verb_event_of(told.event, session, told.around)
            if verb is not None:
                self.look(verb, told)
        except Exception as error:  # on a thread behind the answer, where nobody would hear of it
            self.failed("inject", error)

    # -- last: the answer --------------------------------------------------------------------------

    def _answer(self, told: Told, place: Place, ticket: Ticket) -> HookAnswer:
        """The next of the queue, in the words of the host. It is under way until its hook says that it is printed,
        or is gone."""
        id = told.event.event_id
        self.under_way.begin(id)
        try:
            taken = self.store.submit(partial(self._take, told, place), durable=False, org=told.who.org)
            delivery = taken.result(timeout=ticket.remaining_s)
        except (TimeoutError, CancelledError):
            self.failures["late"] += 1
            taken.cancel()
            taken.add_done_callback(lambda _taken: self.under_way.end(id))
            return _NOTHING
        except Exception as error:  # the event is kept, and what waits comes with a later one
            self.under_way.end(id)
            self.failed("deliver", error)
            return _NOTHING
        if delivery is None or place.row is None:
            self.under_way.end(id)
            return _NOTHING
        return HookAnswer(rendered(told.event.host, told.event.event, delivery.text), delivery.delivery_id)

    def _take(self, told: Told, place: Place, tx: Tx) -> Delivery | None:
        event, org = told.event, told.who.org
        row = tx.hosts.session(org, event.host, event.host_session, event.agent_id)
        if row is None or place.row is None or row.session_id != place.row.session_id or row.ended_at is not None:
            return None
        is_waiting = row.printed and (row.printed_at is not None or row.printed_event in self.under_way)
        if is_waiting or tx.hosts.is_unprinted(org, event.event_id):
            return None
        delivery = self._next(tx, row, told)
        printed = delivery.delivery_id if delivery else None
        row = replace(without_printed(row), printed=printed)
        if printed:
            row = replace(row, printed_event=event.event_id, printed_kind=event.kind)
        tx.hosts.put(org, row)
        return delivery

    def _next(self, tx: Tx, row: HostSession, told: Told) -> Delivery | None:
        """A text that the host would not show in full is given up, with its reason."""
        lock, now = lock_of(row, told.who), self.now()
        for _ in range(MAX_TOO_LONG):
            beat: Beat = steps.refresh(tx, lock, policy=self.policy, now=now)
            if beat.inject is None or fits(told.event.host, beat.inject.text):
                return beat.inject
            queue.dead_letter(tx, lock, beat.inject.delivery_id, reason=TOO_LONG, now=now)
        return None

    def seen(self, who: Identity, event_id: str) -> None:
        """The answer to an event is printed. Does not wait: if it is lost, the text comes again. What is told from
        now on finds it noted, because it is written later."""
        at = self.now()

        def note(tx: Tx) -> None:
            tx.hosts.printed(who, event_id, at=at)

        def noted(_future: Future[None]) -> None:
            self.under_way.end(event_id)

        self.store.submit(note, durable=False, org=who.org).add_done_callback(noted)

    def unseen(self, event_id: str) -> None:
        """Nobody will print it any more."""
        self.under_way.end(event_id)

    def failed(self, what: str, error: BaseException) -> None:
        """Counted and told by its kind: the text of an error may quote what nobody should read."""
        self.failures[what] += 1
        _log.warning("a hook was answered with nothing: %s failed: %s", what, type(error).__name__)


def is_abroad(told: Told, place: Place) -> bool:
    """Whether the agent has gone to another project than that of its session. Files and commands of there are not
    of here, though they may have the same names. A project that got a repository meanwhile, or its repository a
    remote, is the same."""
    here = place.session.project if place.session else None
    there = told.around.project or ""
    return here is not None and told.around.is_known and here not in (there, there.rpartition("/")[2])


def facts_abroad(told: Told) -> str:
    """What stays of what an event said there: words, without files. What the agent sees lies outside."""
    if told.captures and told.event.kind in TOOL_ENDS:
        return facts_text({"k": ELSEWHERE})
    facts = json.loads(told.facts) if told.facts else {}
    return facts_text({name: value for name, value in facts.items() if name != "paths"})


def without_printed(row: HostSession) -> HostSession:
    return replace(row, printed=None, printed_event=None, printed_kind=None, printed_at=None)


def facts_text(facts: Mapping[str, Any] | None) -> str:
    return json.dumps(facts, ensure_ascii=False, separators=(",", ":")) if facts else ""

"""Whatever workers and producers do, the queue answers as a model that fits in a few lists.

Invariants: nothing accepted is lost (I1); everything is still reachable, or ended acknowledged, dead or cancelled
with a reason (I2); one row per text (I3); at most one in flight (I4); only the holder acts (I5); first in first out
(I6); what is acknowledged is never delivered again (I7); the backlog drains (I8); attempts are bounded (I9).
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from clew.errors import Conflict
from lease_clock import LeaseClock
from toys import open_toy

WORKERS = ("w1", "w2", "w3")
MAX_ATTEMPTS, MAX_PENDING, LEASE_S = 3, 4, 90.0
texts = st.sampled_from([f"text {number}" for number in range(12)])
workers = st.sampled_from(WORKERS)


@dataclass
class Row:
    id: str
    text: str
    state: str = "pending"
    attempts: int = 0


@dataclass
class Model:
    """The queue of one session and the lock on it."""

    rows: list[Row] = field(default_factory=list)
    holder: str = ""
    token: int = 0
    runs_until: float = 0.0
    now: float = 0.0
    tokens: dict[str, int] = field(default_factory=dict)  # the last that each worker was given

    def holds(self, worker: str) -> bool:
        return self.holder == worker and self.tokens.get(worker) == self.token and self.now < self.runs_until

    def head(self) -> Row | None:
        """The one in flight, else the oldest that waits; what was tried often enough is dead."""
        for row in [*self.of("delivered"), *self.of("pending")]:
            if row.attempts < MAX_ATTEMPTS:
                return row
            row.state = "dead"
        return None

    def of(self, state: str) -> list[Row]:
        return [row for row in self.rows if row.state == state]


class QueueMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        deliver = {"max_attempts": MAX_ATTEMPTS, "max_pending": MAX_PENDING, "lease_s": LEASE_S}
        self.clew = open_toy(Path(self.folder.name) / "clew.db", deliver=deliver)
        self.leases = LeaseClock(self.clew.store, 0.0)  # type: ignore[arg-type]
        self.session = self.clew.sessions.start(project="p").id
        self.model = Model()

    def teardown(self) -> None:
        self.drains()
        self.clew.close()
        self.folder.cleanup()

    @rule(text=texts)
    def enqueue(self, text: str) -> None:
        inject = self.clew.queue.enqueue(self.session, text)
        is_known = text in [row.text for row in self.model.rows]
        is_full = len(self.model.of("pending")) >= MAX_PENDING
        assert (inject is None) == (is_known or is_full)
        if inject:
            self.model.rows.append(Row(inject.delivery_id, text))

    @rule(worker=workers)
    def claim_session(self, worker: str) -> None:
        model = self.model
        is_free = model.holder in ("", worker) or model.now >= model.runs_until
        try:
            token = self.clew.sessions.claim(self.session, worker)
        except Conflict:
            assert not is_free
            return
        assert is_free and token > model.token
        model.holder, model.token, model.runs_until = worker, token, model.now + LEASE_S
        model.tokens[worker] = token

    @rule(worker=workers)
    def claim(self, worker: str) -> None:
        delivery = self.clew.queue.claim(self.session, worker, self.model.tokens.get(worker, 0))
        self.handed_out(worker, delivery)

    @rule(worker=workers, acked=st.booleans(), buried=st.booleans())
    def refresh(self, worker: str, acked: bool, buried: bool) -> None:
        model = self.model
        flying = model.of("delivered")
        dead = {row.id: "poison" for row in flying if buried}
        told = [row.id for row in flying if acked]
        beat = self.clew.sessions.refresh(self.session, worker, model.tokens.get(worker, 0), acked=told, dead=dead)
        assert beat.refreshed == model.holds(worker)
        if beat.refreshed:
            model.runs_until = model.now + LEASE_S
            for row in flying:
                row.state = "acked" if acked else "dead" if buried else row.state
        self.handed_out(worker, beat.inject)

    def handed_out(self, worker: str, delivery: object) -> None:
        head = self.model.head() if self.model.holds(worker) else None
        assert (delivery and delivery.delivery_id) == (head and head.id)  # type: ignore[attr-defined]
        if head:
            head.state, head.attempts = "delivered", head.attempts + 1
            assert delivery.attempts == head.attempts  # type: ignore[attr-defined]

    @rule(worker=workers, number=st.integers(0, 11))
    def ack(self, worker: str, number: int) -> None:
        model = self.model
        row = model.rows[number % len(model.rows)] if model.rows else Row("inj_unknown", "")
        counted = self.clew.queue.ack(self.session, row.id, worker, model.tokens.get(worker, 0))
        assert counted == (model.holds(worker) and row.state in ("delivered", "acked"))
        if counted:
            row.state = "acked"

    @rule(seconds=st.sampled_from([10.0, 60.0, 91.0, -200.0]))
    def time_jumps(self, seconds: float) -> None:
        self.leases.pass_by(seconds)
        self.model.now += seconds

    @invariant()
    def the_rows_are_the_models(self) -> None:
        rows = [(each.delivery_id, each.text, each.state) for each in self.clew.queue.list(self.session)]
        assert rows == [(row.id, row.text, row.state) for row in self.model.rows]
        assert len(self.model.of("delivered")) <= 1
        assert all(row.attempts <= MAX_ATTEMPTS for row in self.model.rows)

    def drains(self) -> None:
        """When the faults are over, one worker gets through everything that is left."""
        self.model.now = max(self.model.now, self.model.runs_until) + 1
        self.leases.set(self.model.now)
        token = self.clew.sessions.claim(self.session, "last")
        left = [row.id for row in [*self.model.of("delivered"), *self.model.of("pending")]]
        given = []
        while delivery := self.clew.queue.claim(self.session, "last", token):
            given.append(delivery.delivery_id)
            assert self.clew.queue.ack(self.session, delivery.delivery_id, "last", token)
        dead = {row.delivery_id for row in self.clew.queue.list(self.session, state="dead")}
        assert given == [id for id in left if id not in dead]


def test_whatever_workers_do_the_queue_answers_as_the_model_does() -> None:
    run_state_machine_as_test(
        QueueMachine, settings=settings(max_examples=40, stateful_step_count=40, deadline=None)
    )

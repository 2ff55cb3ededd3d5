"""Faults under `clew.inject.event`: a model that hangs, a writer that is busy, a commit that comes too late."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from injector_toys import SHOP, Gate, logged, quickest, running, said, wait_for
from numpy.typing import NDArray

from clew.clew import Clew
from clew.inject.deadline import Ticket
from clew.model.inject import InjectionResult, VerbEvent
from clew.model.scope import Identity
from clew.model.session import AgentSession
from clew.verbs import inject_event
from toys import ToyEmbedder

PATH = "src/pay/vat.py"
ANSWER_S = 0.110


@pytest.fixture
def gate() -> Iterator[Gate]:
    gate = Gate()
    yield gate
    gate.open()


@dataclass
class Hanging(ToyEmbedder):
    """A model that hangs from the moment it is told to."""

    gate: Gate | None = field(default=None)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if self.gate:
            self.gate.wait()
        return super().embed(texts)


def opened(clew_at: Callable[..., Clew], home: Path, **inject: Any) -> tuple[Clew, AgentSession, Hanging]:
    model = Hanging()
    clew = clew_at(home, embedder=model, inject={"latency_ms": 100} | inject)
    clew.remember("VAT is rounded per line", scope=SHOP, paths=(PATH,))
    clew.inject.warm()
    return clew, running(clew), model


def test_an_embedder_that_hangs_is_answered_for_in_time(
    clew_at: Callable[..., Clew], tmp_path: Path, gate: Gate
) -> None:
    clew, session, model = opened(clew_at, tmp_path)
    model.gate = gate
    assert said(clew, session, paths=(PATH,)).outcome == "budget-exceeded"
    assert quickest(lambda: said(clew, session, paths=(PATH,))) <= ANSWER_S
    assert clew.queue.list(session.id) == []


def test_a_busy_writer_makes_the_answer_budget_exceeded_and_nothing_is_queued_later(
    clew_at: Callable[..., Clew], tmp_path: Path, gate: Gate
) -> None:
    clew, session, _model = opened(clew_at, tmp_path)
    clew.store.submit(lambda _tx: gate.wait())
    assert said(clew, session, paths=(PATH,)).outcome == "budget-exceeded"
    assert quickest(lambda: said(clew, session, paths=(PATH,))) <= ANSWER_S
    gate.open()
    clew.remember("wait for the writer", scope=SHOP)
    assert clew.queue.list(session.id) == []


def test_an_event_that_was_too_late_is_logged_and_can_be_repeated(
    clew_at: Callable[..., Clew], tmp_path: Path, gate: Gate
) -> None:
    clew, session, _model = opened(clew_at, tmp_path)
    clew.store.submit(lambda _tx: gate.wait())
    assert said(clew, session, event_id="e1", paths=(PATH,)).outcome == "budget-exceeded"
    gate.open()
    clew.remember("wait for the writer", scope=SHOP)
    [row] = logged(clew, session)
    assert (row.outcome, row.delivered, row.event_id) == ("budget-exceeded", False, "e1")
    assert wait_for(lambda: said(clew, session, event_id="e1", paths=(PATH,)).outcome == "queued")


def test_a_commit_that_comes_too_late_is_harmless_because_the_repeat_is_deduplicated(
    clew_at: Callable[..., Clew], tmp_path: Path, gate: Gate
) -> None:
    clew, session, _model = opened(clew_at, tmp_path, latency_ms=10_000)
    first = _too_late(clew, session, gate)
    assert first.outcome == "budget-exceeded"
    gate.open()
    clew.remember("wait for the writer", scope=SHOP)
    again = said(clew, session, paths=(PATH,))
    assert (again.outcome, again.deduplicated) == ("queued", True)
    assert len(clew.queue.list(session.id)) == 1


class Told(Ticket):
    """Its time is up when it is told so, whatever the clock says."""

    def __init__(self) -> None:
        super().__init__(60.0)
        self.is_up = threading.Event()

    @property
    def remaining_s(self) -> float:
        return 0.0 if self.is_up.wait(10) else 60.0


def _too_late(clew: Clew, session: AgentSession, gate: Gate, *, event_id: str | None = None) -> InjectionResult:
    """The enqueue has run in the writer's transaction, which then waits at the gate before it commits."""
    before, ticket, results = Gate(), Told(), list[InjectionResult]()
    event = VerbEvent(session=session.id, tool="Edit", paths=(PATH,), event_id=event_id)
    say = partial(clew.inject.injector.handle_verb_event, event, identity=Identity(), ticket=ticket)
    clew.store.submit(lambda _tx: before.wait())
    assert before.reached.wait(10)
    caller = threading.Thread(target=lambda: results.append(say()))
    caller.start()
    waiting = clew.store.engine._queue  # type: ignore[attr-defined]
    assert wait_for(lambda: waiting.qsize() > 0)
    clew.store.submit(lambda _tx: gate.wait())
    before.open()
    assert gate.reached.wait(10)
    ticket.is_up.set()
    caller.join(10)
    assert wait_for(lambda: not clew.inject.injector._seen._being_said)  # who said it has heard, too
    return results[0]


def test_an_event_has_one_row_in_the_log_however_late_its_commit(
    clew_at: Callable[..., Clew], tmp_path: Path, gate: Gate
) -> None:
    clew, session, _model = opened(clew_at, tmp_path, latency_ms=10_000)
    assert _too_late(clew, session, gate, event_id="e1").outcome == "budget-exceeded"
    gate.open()
    clew.remember("wait for the writer", scope=SHOP)
    [row] = logged(clew, session)
    assert (row.event_id, row.outcome, row.delivered) == ("e1", "queued", True)
    said(clew, session, event_id="e1", paths=(PATH,))
    clew.remember("wait for the writer again", scope=SHOP)
    assert logged(clew, session) == [row]


def test_what_was_queued_already_counts_once_as_delivered(
    clew_at: Callable[..., Clew], tmp_path: Path, gate: Gate
) -> None:
    clew, session, _model = opened(clew_at, tmp_path, latency_ms=10_000)
    _too_late(clew, session, gate, event_id="e1")
    gate.open()
    clew.remember("wait for the writer", scope=SHOP)
    again = said(clew, session, event_id="e2", paths=(PATH,))
    assert [(row.event_id, row.delivered, row.delivery_id) for row in logged(clew, session)] == [
        ("e1", True, again.delivery_id),
        ("e2", False, again.delivery_id),
    ]


def test_r088_the_first_event_of_a_process_does_not_wait_for_the_injector_to_be_made(
    clew_at: Callable[..., Clew], tmp_path: Path, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    clew = clew_at(tmp_path, embedder=ToyEmbedder(), inject={"latency_ms": 100})
    clew.remember("VAT is rounded per line", scope=SHOP, paths=(PATH,))
    session = running(clew)
    making = inject_event.injector_of
    monkeypatch.setattr(inject_event, "injector_of", lambda clew: (gate.wait(), making(clew))[1])
    result = said(clew, session, event_id="e1", paths=(PATH,))
    assert (result.outcome, result.reason) == ("budget-exceeded", "warming")
    assert quickest(lambda: said(clew, session, tool="Read", query="cold")) <= ANSWER_S
    gate.open()
    clew.inject.warm()  # the same that the event began
    assert wait_for(lambda: said(clew, session, event_id="e1", paths=(PATH,)).outcome == "queued")


def test_an_event_that_found_no_injector_is_logged_when_there_is_one(
    clew_at: Callable[..., Clew], tmp_path: Path, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    clew = clew_at(tmp_path, inject={"latency_ms": 20})
    session = running(clew)
    making = inject_event.injector_of
    monkeypatch.setattr(inject_event, "injector_of", lambda clew: (gate.wait(), making(clew))[1])
    assert said(clew, session, event_id="e1", query="zebra").reason == "warming"
    gate.open()
    assert wait_for(lambda: bool(logged(clew, session)))
    assert [(row.event_id, row.outcome, row.delivered) for row in logged(clew, session)] == [
        ("e1", "budget-exceeded", False)
    ]


def test_an_injector_that_cannot_be_made_is_a_silence_and_is_tried_again(
    clew_at: Callable[..., Clew], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clew = clew_at(tmp_path, inject={"latency_ms": 10_000})
    session = running(clew)
    with monkeypatch.context() as broken:
        broken.setattr(inject_event, "injector_of", lambda _clew: 1 / 0)
        result = said(clew, session, query="zebra")
        assert (result.outcome, result.reason, result.error) == ("no-match", "error", "ZeroDivisionError")
    assert said(clew, session, query="zebra").reason != "error"


def test_a_switched_off_injector_is_not_even_made(
    clew_at: Callable[..., Clew], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inject_event, "injector_of", lambda _clew: pytest.fail("made"))
    clew = clew_at(tmp_path, inject={"enabled": False})
    assert said(clew, running(clew), query="zebra").outcome == "disabled"
    assert clew.inject._making.done is None


def test_closing_lets_every_thread_of_the_injector_go(clew_at: Callable[..., Clew], tmp_path: Path) -> None:
    others = set(threading.enumerate())  # some tests leave threads behind that hang on purpose
    clew, session, _model = opened(clew_at, tmp_path)
    clew.inject.bus.post(VerbEvent(session=session.id, tool="Edit", paths=(PATH,)))
    clew.inject.bus.wait()
    mine = set(threading.enumerate()) - others
    assert {"clew-verb-bus", "clew-inject-1"} <= {one.name for one in mine}
    clew.close()
    assert wait_for(lambda: not any(one.is_alive() for one in mine))

"""Faults under `clew.inject.event`: a model that hangs, a writer that is busy, a commit that comes too late."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from injector_toys import SHOP, Gate, logged, quickest, running, said, wait_for
from numpy.typing import NDArray

from clew.clew import Clew
from clew.model.inject import InjectionResult
from clew.model.session import AgentSession
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
    clew = clew_at(home, embedder=model, inject=inject)
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
    clew, session, _model = opened(clew_at, tmp_path, latency_ms=1_500)
    first = _too_late(clew, session, gate)
    assert first.outcome == "budget-exceeded"
    gate.open()
    clew.remember("wait for the writer", scope=SHOP)
    again = said(clew, session, paths=(PATH,))
    assert (again.outcome, again.deduplicated) == ("queued", True)
    assert len(clew.queue.list(session.id)) == 1


def _too_late(clew: Clew, session: AgentSession, gate: Gate) -> InjectionResult:
    """The enqueue has run in the writer's transaction, which then waits at the gate before it commits."""
    before, results = Gate(), list[InjectionResult]()
    clew.store.submit(lambda _tx: before.wait())
    assert before.reached.wait(10)
    caller = threading.Thread(target=lambda: results.append(said(clew, session, paths=(PATH,))))
    caller.start()
    waiting = clew.store.engine._queue  # type: ignore[attr-defined]
    assert wait_for(lambda: waiting.qsize() > 0)
    clew.store.submit(lambda _tx: gate.wait())
    before.open()
    caller.join(10)
    return results[0]

"""Threads that remember at once are saved together, and nobody can tell."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from clew.clew import Clew
from clew.errors import ClewError
from clew.model.memory import Draft, Remembered
from clew.model.scope import Scope
from clew.remember import remember as remembering
from toys import ToldClock, open_toy

TEXTS = [
    "The AuthService depends on Redis",
    "Kafka replaced RabbitMQ in src/queue/worker.py",
    "PaymentGateway calls AuthService",
    "We deploy on Tuesdays",
    "see src/queue/worker.py for the retry logic of AuthService",
    "Redis is backed by a disk",
]
SHOP = Scope(project="shop")


@pytest.fixture
def clew(tmp_path: Path) -> Iterator[Clew]:
    with open_toy(tmp_path / "clew.db", clock=ToldClock()) as opened:
        yield opened


def at_once(clew: Clew, *drafts: Draft) -> list[Remembered | ClewError]:
    """All wait behind one write, and so share the next transaction, in this order."""
    begun, gate = threading.Event(), threading.Event()
    clew.store.submit(lambda _tx: begun.set() or gate.wait(30))
    assert begun.wait(30)
    waiting = clew.store.engine._queue  # type: ignore[attr-defined]

    def write(draft: Draft) -> Remembered | ClewError:
        try:
            return clew.remember(draft, scope=SHOP)
        except ClewError as error:
            return error

    with ThreadPoolExecutor(len(drafts)) as pool:
        answers = []
        for number, draft in enumerate(drafts, 1):
            answers.append(pool.submit(write, draft))
            while waiting.qsize() < number:
                time.sleep(0.001)
        gate.set()
        return [answer.result() for answer in answers]


@pytest.fixture
def joined(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many batches were saved together, each time."""
    seen: list[int] = []
    together = remembering.Saving.together

    def counted(self: Any, tx: Any, actions: Any) -> Any:
        answers = together(self, tx, actions)
        seen.append(len(actions))
        return answers

    monkeypatch.setattr(remembering.Saving, "together", counted)
    return seen


def told(clew: Clew) -> dict[str, list[tuple[Any, ...]]]:
    """What the store holds, apart from ids and times."""
    asked = {
        "memories": "SELECT row, content, content_hash, version FROM memories",
        "terms": "SELECT memory_row, length, terms FROM memory_terms",
        "vectors": "SELECT memory_row, space, vector FROM memory_embeddings",
        "nodes": "SELECT row, node_type, label, memory_row FROM graph_nodes",
        "links": "SELECT memory_row, node_row, role FROM memory_node_links",
        "names": "SELECT name, is_subject, memory_row FROM memory_names",
        "edges": "SELECT from_row, to_row, edge_type, confidence, witnesses, lasting FROM graph_edges",
        "evidence": "SELECT memory_row, origin, sentence, count(*) FROM graph_evidence GROUP BY 1, 2, 3",
        "jobs": "SELECT kind, operation, count(*) FROM jobs GROUP BY 1, 2",
        "changes": "SELECT kind, op, count(*) FROM change GROUP BY 1, 2",
        "audit": "SELECT seq, actor, action, content_hash, detail FROM audit",
        "counters": "SELECT name, value FROM counters WHERE name IN ('audit', 'change')",
    }
    with clew.store.read() as tx:
        run = tx.session.connection.execute  # type: ignore[attr-defined]
        return {name: sorted(run(sql).fetchall()) for name, sql in asked.items()}


def test_writes_that_share_a_commit_leave_what_they_leave_one_by_one(
    clew: Clew, joined: list[int], tmp_path: Path
) -> None:
    drafts = [Draft(content=text) for text in TEXTS]
    answers = at_once(clew, *drafts)
    assert joined == [len(TEXTS)]
    assert [answer.memory.content for answer in answers if isinstance(answer, Remembered)] == TEXTS
    with open_toy(tmp_path / "other.db", clock=ToldClock()) as other:
        for draft in drafts:
            other.remember(draft, scope=SHOP)
        assert told(clew) == told(other)
    assert clew.audit.verify().ok
    with clew.store.read() as tx:
        assert tx.index.damage("local") == {}


def test_the_same_text_said_at_once_is_one_memory(clew: Clew, joined: list[int]) -> None:
    one, other, again = at_once(clew, *[Draft(content=text) for text in ("a note", "another note", "a note")])
    assert isinstance(one, Remembered) and isinstance(other, Remembered) and isinstance(again, Remembered)
    assert (one.deduplicated, other.deduplicated, again.deduplicated) == (False, False, True)
    assert again.id == one.id and joined == []


def test_one_that_is_refused_takes_no_other_along(clew: Clew, joined: list[int]) -> None:
    bad = Draft(content="replaces nothing", supersedes="mem_gone")
    one, refused, other, last = at_once(
        clew, Draft(content="first"), bad, Draft(content="second"), Draft(content="third")
    )
    assert isinstance(refused, ClewError)
    assert [answer.memory.content for answer in (one, other, last) if isinstance(answer, Remembered)] == [
        "first",
        "second",
        "third",
    ]
    assert joined == [2]  # those beside it in the line


@pytest.mark.parametrize(
    "apart",
    [{"layer": "working"}, {"upsert_key": "k"}, {"id": "mem_given"}],
    ids=lambda fields: next(iter(fields)),
)
def test_what_is_more_than_a_new_text_is_saved_by_itself(
    clew: Clew, joined: list[int], apart: dict[str, str]
) -> None:
    answers = at_once(clew, Draft(content="one", **apart), Draft(content="two", **apart))  # type: ignore[arg-type]
    assert joined == [] and sum(isinstance(answer, Remembered) for answer in answers) >= 1


def test_a_graph_that_fails_for_all_fails_no_memory(
    clew: Clew, joined: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clew.remember.graph._put_nodes", _fail)
    answers = at_once(clew, *[Draft(content=text) for text in TEXTS])
    assert all(isinstance(answer, Remembered) for answer in answers)
    assert len(told(clew)["memories"]) == len(TEXTS)


def _fail(*_args: object, **_more: object) -> Callable[[], None]:
    raise ValueError("on purpose")

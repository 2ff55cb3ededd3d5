"""What `clew bench speed` must find on any machine, here in a store of 150 memories and in one ten times as large:
budgets are kept, and work that is counted does not grow with the store. Times are compared only where they are
worlds apart."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import clew
from clew.bench import graph, inject, queue, speed_steps
from clew.bench.speed_cold import ONE_SCOPE, PROJECT, cold, opened
from clew.bench.texts import questions, texts
from clew.compose import compose
from clew.model.memory import Filter
from clew.model.scope import Reach
from clew.recall.walk import MAX_ENTRIES
from clew.settings import load_settings
from clew.store.graph_explore import seen_by
from clew.store.graph_reads import LOOKED_AT
from clew.store.memories import MemoryTable
from clew.store.sqlite_session import Session

SMALL, LARGE = 150, 1_500
ROUNDS = 10
BUDGET = 100  # tokens of a tool call: room for one memory of this length, not for two
ROOM = 1.25  # by chance: one question finds nothing, another something
A_WALK = 40  # rows that a question reads of the graph once it has found something to start from


class Work(NamedTuple):
    """Of one round: named queries, and the rows that they read."""

    queries: float
    rows: float


@pytest.fixture(scope="module")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[int, Path]]:
    """Two stores in which a project sees 150 memories, and another all."""
    found = {size: tmp_path_factory.mktemp(f"of-{size}") for size in (SMALL, LARGE)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(speed_steps, "PROJECT_SIZE", SMALL)
        for size, home in found.items():
            with opened(home) as memory:
                speed_steps.fill(memory, size, home, told=lambda written: None)
                for text in texts(3, chars=250, seed=77):  # more about one file than a budget has room for
                    memory.remember(text, paths=inject.files_of(1), scope=PROJECT)
        yield found


@pytest.fixture
def stores(homes: Mapping[int, Path]) -> Iterator[Mapping[int, clew.Clew]]:
    """Without threads in the background: their queries would be counted along."""
    found = {}
    for size, home in homes.items():
        chosen = {"relate": {"in_process": False}, "inject": {"budget_tokens": BUDGET}}
        settings = load_settings(chosen, home=home)
        found[size] = compose(settings, home / "clew.db", in_background=False)
    yield found
    for memory in found.values():
        memory.close()


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], Work]:
    read: list[int] = []
    asked = Session.all

    def asking(self: Session, query: str, /, **values: Any) -> list[Any]:
        rows = asked(self, query, **values)
        read.append(len(rows))
        return rows

    def count(action: Callable[[], object]) -> Work:
        read.clear()
        action()
        return Work(len(read) / ROUNDS, sum(read) / ROUNDS)

    monkeypatch.setattr(Session, "all", asking)
    return count


def database_steps(memory: clew.Clew, action: Callable[[Any], object]) -> int:
    """Of one snapshot, in tens."""
    ticks = count()
    with memory.store.read() as tx:
        connection = tx.session.connection  # type: ignore[attr-defined]
        connection.set_progress_handler(lambda: bool(next(ticks) < 0), 10)
        action(tx)
        connection.set_progress_handler(None)
    return next(ticks)


def recalls(memory: clew.Clew, scope: clew.Scope) -> None:
    """Without a walk, which is counted by itself."""
    for text in questions(ROUNDS):
        memory.recall(text, scope=scope, graph=False, counted=False)


@pytest.mark.parametrize("scope", [PROJECT, ONE_SCOPE], ids=["in_project", "in_one_scope"])
def test_a_warm_recall_reads_no_more_of_a_larger_store(
    stores: Mapping[int, clew.Clew], counted: Callable[..., Work], scope: clew.Scope
) -> None:
    work = {}
    for size, memory in stores.items():
        recalls(memory, scope)
        work[size] = counted(lambda memory=memory: recalls(memory, scope))
    assert 0 < work[LARGE].queries <= ROOM * work[SMALL].queries
    assert 0 < work[LARGE].rows <= ROOM * work[SMALL].rows


def test_the_list_of_a_small_project_reads_nothing_of_the_rest_of_the_org(stores: Mapping[int, clew.Clew]) -> None:
    """More is wanted than is newer than that."""
    steps = {}
    for size, memory in stores.items():
        find = partial(MemoryTable.find, reach=Reach.of(PROJECT), wanted=Filter(), now=memory.now(), limit=50)
        steps[size] = database_steps(memory, lambda tx, find=find: find(tx.memories))
    assert 0 < steps[LARGE] <= ROOM * steps[SMALL]


def test_a_tag_that_the_whole_org_uses_is_walked_by_those_of_the_project(tmp_path: Path) -> None:
    """More hangs on it than is looked at."""
    with opened(tmp_path) as memory:

        def steps(elsewhere: int) -> int:
            notes = [
                clew.Draft(content=f"Checkout {elsewhere} {number}", tags=("pay",)) for number in range(elsewhere)
            ]
            assert sum(1 for _ in memory.remember_many(notes, scope=clew.Scope(project="other"))) == elsewhere
            with memory.store.read() as tx:
                [tag] = [node for _id, node in tx.graph.nodes_by_memory("local", [own.id])][1:]
            asked = {"now": memory.now(), "moment": memory.now(), "limit": MAX_ENTRIES}
            return database_steps(memory, lambda tx: tx.graph.linked_at_many(Reach.of(PROJECT), [tag], **asked))

        own = memory.remember("Refunds", scope=PROJECT, tags=("pay",))
        few = steps(LOOKED_AT + 100)
        assert 0 < steps(2 * LOOKED_AT) < ROOM * few


def test_the_status_of_the_graph_does_not_ask_for_every_edge_who_states_it(tmp_path: Path) -> None:
    """Where everything hangs on one node, and most edges are between memories."""
    reach = Reach.everything("local")
    with opened(tmp_path) as memory:
        notes = (f"Checkout {number} retries `payments`." for number in range(600))
        assert list(memory.remember_many(clew.Draft(content=text, tags=("payments",)) for text in notes))
        asked = seen_by(reach, memory.now()) | {"everything": True, "limit": 10}

        def steps(query: str) -> int:
            return database_steps(memory, lambda tx: tx.session.all(query, **asked))

        assert steps("count_nodes") < steps("count_edges"), "nodes on which memories hang need no look at edges"
        few = database_steps(memory, lambda tx: tx.explore.connected(reach, now=memory.now(), limit=10))
        assert few < steps("nodes_connected") / 2


def test_a_walk_by_queries_asks_no_more_often_and_reads_little_more_in_a_larger_graph(
    stores: Mapping[int, clew.Clew], counted: Callable[..., Work]
) -> None:
    work = {}
    for size, memory in stores.items():
        asked = graph.questions(ROUNDS + 1, size)
        graph.walked(memory, asked[:1], scope=ONE_SCOPE)
        work[size] = counted(lambda memory=memory, asked=asked: graph.walked(memory, asked[1:], scope=ONE_SCOPE))
    assert 0 < work[LARGE].queries <= ROOM * work[SMALL].queries
    assert work[LARGE].rows <= LARGE / SMALL / 3 * work[SMALL].rows, "a walk follows the store, not its own bounds"


def test_a_tool_call_keeps_its_budget_and_reads_no_more_of_a_larger_store(
    stores: Mapping[int, clew.Clew], counted: Callable[..., Work]
) -> None:
    work, answers = {}, []
    for size, memory in stores.items():
        memory.inject.warm()
        inject.called(memory, 2, files=SMALL, seed=3)
        work[size] = counted(lambda memory=memory: answers.extend(inject.called(memory, ROUNDS, files=SMALL)))
    assert 0 < max(call.tokens for call in answers) <= BUDGET and "queued" in {call.outcome for call in answers}
    assert work[LARGE].queries <= ROOM * work[SMALL].queries
    assert work[LARGE].rows <= ROOM * work[SMALL].rows + A_WALK


def test_a_claim_and_its_acknowledgement_are_the_same_work_in_any_store(
    stores: Mapping[int, clew.Clew], counted: Callable[..., Work]
) -> None:
    work = {}
    for size, memory in stores.items():
        queue.claim_cycles(memory, 1)
        work[size] = counted(lambda memory=memory: queue.claim_cycles(memory, ROUNDS))
    assert work[LARGE] == work[SMALL]


@pytest.mark.parametrize("work_type", ["bug_fix", "feature", "chore"])
def test_a_start_block_keeps_the_budget_of_its_work(stores: Mapping[int, clew.Clew], work_type: str) -> None:
    memory = stores[LARGE]
    title = memory.list(scope=PROJECT)[0].content
    session = memory.sessions.start(project="bench", work_type=work_type, title=title)
    memory.sessions.claim(session.id, "bench")
    block = memory.inject.start(session.id)
    assert 0 < block.tokens <= block.budget_tokens


def test_a_process_that_stays_answers_faster_than_one_that_starts(homes: Mapping[int, Path]) -> None:
    home = homes[SMALL]
    first, _openings = cold(home, "recall in_project", [{}])
    with opened(home) as memory:
        warm = speed_steps.recall(memory, PROJECT, SMALL, ROUNDS)
    assert warm["ms"]["p50"] < first["ms"]["p50"] and warm["cpu_ms"]["p50"] < first["cpu_ms"]["p50"]

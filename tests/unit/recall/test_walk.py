"""Two ways through the graph, by queries and by arrays, see the same; and neither sees what it may not."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.clew import Clew
from clew.model.graph import Node
from clew.model.memory import Draft
from clew.model.scope import Identity, Reach, Scope
from clew.ports import Tx
from clew.recall.arrays import ArrayWalk, Numbering
from clew.recall.graphs import Graphs
from clew.recall.walk import QueryWalk, Walk
from toys import ToldClock, open_toy

SHOP = Scope(project="shop")
REACHES = [Reach.of(SHOP), Reach.of(Scope(project="shop", user="ann")), Reach.everything("local")]
BEYOND = 5_000  # no graph here has as many nodes
WORDS = ("AuthService", "PostgresDB", "src/auth/mw.py", "PROJ-7", "BillingWorker", "Redis", "psycopg")
VERBS = ("depends on", "calls", "replaces", "uses")


def nodes_of(tx: Tx) -> dict[int, Node]:
    return tx.graph.described("local", range(BEYOND))


@pytest.fixture
def clock() -> ToldClock:
    return ToldClock()


@pytest.fixture
def clew(tmp_path: Path, clock: ToldClock) -> Iterator[Clew]:
    with open_toy(tmp_path / "clew.db", clock=clock) as clew:
        yield clew


def draft(rng: random.Random) -> Draft:
    one, other = rng.sample(WORDS, 2)
    return Draft(
        content=f"{one} {rng.choice(VERBS)} {other}, said {rng.random()}",
        title=rng.choice((None, "Auth Design", "Rollout Plan")),
        tags=tuple(rng.sample(("auth", "db", "ops"), rng.randint(0, 2))),
        category=rng.choice((None, "Architecture")),
        thread=rng.choice((None, "t1", "t2")),
        layer=rng.choice(("long_term", "long_term", "working")),
    )


def fill(clew: Clew, rng: random.Random, count: int) -> list[str]:
    ids = []
    for _ in range(count):
        scope = Scope(
            project=rng.choice(("shop", "shop", "blog", None)), user=rng.choice((None, None, "ann", "bob"))
        )
        ids.append(clew.remember(draft(rng), scope=scope).id)
    return ids


def change(clew: Clew, rng: random.Random, ids: list[str], clock: ToldClock) -> None:
    """Something of everything that can happen to a memory."""
    id = rng.choice(ids)
    match rng.randrange(6):
        case 0:
            ids += fill(clew, rng, 2)
        case 1:
            clew.edit(id, content=draft(rng).content)
        case 2:
            clew.edit(id, tags=("auth", "new"))
        case 3:
            clew.forget(id, hard=rng.random() < 0.3)
            ids.remove(id)
        case 4:
            old = clew.show(id)
            scope = Scope(project=old.project, user=old.user)
            ids.append(clew.remember(draft(rng), scope=scope, type=old.type, supersedes=id).id)
            ids.remove(id)
        case 5:
            clock.pass_by(hours=rng.choice((1, 30)))
            ids[:] = [memory.id for memory in clew.list(limit=1000, all_projects=True)] or fill(clew, rng, 3)


def seen(walk: Walk, nodes: list[int], fan_out: int | None) -> dict[int, list[tuple[int, float, float, str]]]:
    """Every entry of every node, in order."""
    found: dict[int, list[tuple[int, float, float, str]]] = {}
    for node in nodes:
        near = walk.out(np.array([node], np.int64), fan_out=fan_out)
        columns = (near.target.tolist(), near.weight.tolist(), near.confidence.tolist(), near.kind.tolist())
        found[node] = [
            (to, weight, sure, walk.types[kind]) for to, weight, sure, kind in zip(*columns, strict=True)
        ]
    return found


def assert_the_same(clew: Clew, arrays: ArrayWalk, reach: Reach) -> None:
    now = clew.now()
    arrays.now = now
    with clew.store.read() as tx:
        nodes = [*nodes_of(tx), BEYOND]
    by_arrays = {fan_out: seen(arrays, nodes, fan_out) for fan_out in (None, 2)}
    with clew.store.read() as tx:
        queries = QueryWalk(tx, reach, now=now, moment=now)
        for fan_out in (None, 2):
            assert by_arrays[fan_out] == seen(queries, nodes, fan_out)
        reached = [to for entries in by_arrays[None].values() for to, *_rest in entries]
        assert arrays.memories_of(reached) == queries.memories_of(reached)


@given(st.sets(st.integers(1, 3_000) | st.integers(1, 2**40), max_size=40), st.lists(st.integers(0, 2**41)))
def test_a_numbering_tells_where_each_number_stands_near_or_far_apart(known: set[int], others: list[int]) -> None:
    rising = sorted(known)
    asked = [*rising, *others]
    found = Numbering(np.array(rising, np.int64)).of(np.array(asked, np.int64)).tolist()
    assert found == [rising.index(number) if number in known else len(rising) for number in asked]


@pytest.mark.parametrize("reach", REACHES, ids=["shared", "user", "org"])
@pytest.mark.parametrize("seed", range(4))
def test_arrays_and_queries_give_the_same_entries(clew: Clew, reach: Reach, seed: int) -> None:
    fill(clew, random.Random(seed), 30)
    arrays = Graphs(clew.store, max_bytes=1 << 30, in_background=False).load(reach, clew.now())
    assert_the_same(clew, arrays, reach)


@pytest.mark.parametrize("reach", REACHES, ids=["shared", "user", "org"])
@pytest.mark.parametrize("seed", range(4))
def test_arrays_follow_every_change_without_being_made_anew(
    clew: Clew, clock: ToldClock, reach: Reach, seed: int
) -> None:
    rng = random.Random(seed)
    ids = fill(clew, rng, 20)
    graphs = Graphs(clew.store, max_bytes=1 << 30, in_background=False)
    base = graphs.load(reach, clew.now()).base
    for _ in range(12):
        change(clew, rng, ids, clock)
        with graphs.walk(reach, now=clew.now()) as walk:
            assert isinstance(walk, ArrayWalk)
            assert walk.base is base
            assert_the_same(clew, walk, reach)


def test_what_a_memory_states_anew_is_followed_although_its_text_is_the_same(tmp_path: Path) -> None:
    """It leans on the newest that name what it names: where that one went, an unlink finds it another."""
    with open_toy(tmp_path / "few.db", graph={"max_entity_edges": 1}) as clew:
        _first, second, third = (
            clew.remember(f"AuthService is {said}", scope=SHOP).id for said in ("old", "slow", "down")
        )
        clew.link(third, "relates_to", "service:redis")
        clew.forget(second)
        graphs, reach = Graphs(clew.store, max_bytes=1 << 30, in_background=False), Reach.of(SHOP)
        graphs.load(reach, clew.now())
        clew.unlink(third, "relates_to", "service:redis")
        with graphs.walk(reach, now=clew.now()) as walk:
            assert isinstance(walk, ArrayWalk)
        assert_the_same(clew, walk, reach)


def test_arrays_of_which_much_has_changed_are_made_anew_beside_those_who_walk(
    clew: Clew, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What has changed is carried on by every change: a process became slower with all it had seen."""
    monkeypatch.setattr("clew.recall.graphs.WORN", 8)
    fill(clew, random.Random(1), 20)
    reach, graphs = Reach.of(SHOP), Graphs(clew.store, max_bytes=1 << 30, in_background=True)
    base = graphs.load(reach, clew.now()).base
    for number in range(30):
        clew.remember(f"AuthService calls Gateway{number}", scope=SHOP)
        with graphs.walk(reach, now=clew.now()) as walk:
            assert isinstance(walk, ArrayWalk)
            assert_the_same(clew, walk, reach)
        for loading in (one for one in threading.enumerate() if one.name == "clew-graph"):
            loading.join()
    with graphs.walk(reach, now=clew.now()) as walk:
        assert isinstance(walk, ArrayWalk) and walk.base is not base and len(walk.changed) < 30


def test_a_memory_written_after_the_question_was_asked_is_seen_by_the_next(clew: Clew, clock: ToldClock) -> None:
    """The refresh may find a commit that is younger than the moment the question asks about."""
    clew.remember("AuthService is slow", scope=SHOP)
    reach, graphs = Reach.of(SHOP), Graphs(clew.store, max_bytes=1 << 30, in_background=False)
    graphs.load(reach, clew.now())
    asked_at = clew.now()
    clew.remember("AuthService was replaced by Keycloak", scope=SHOP)
    with graphs.walk(reach, now=asked_at) as walk:
        seen(walk, list(range(1, 12)), None)
    with graphs.walk(reach, now=clew.now()) as walk:
        assert isinstance(walk, ArrayWalk)
        assert_the_same(clew, walk, reach)


def test_a_memory_joins_the_graph_when_it_begins_to_hold(clew: Clew, clock: ToldClock) -> None:
    clew.remember("AuthService is slow", scope=SHOP)
    later = clew.now() + timedelta(days=1)
    clew.remember("AuthService calls Keycloak", valid_at=later, scope=SHOP)
    reach, graphs = Reach.of(SHOP), Graphs(clew.store, max_bytes=1 << 30, in_background=False)
    assert_the_same(clew, graphs.load(reach, clew.now()), reach)
    clock.pass_by(days=2)
    with graphs.walk(reach, now=clew.now()) as walk:
        assert isinstance(walk, ArrayWalk)
        assert_the_same(clew, walk, reach)


def test_an_edge_is_less_sure_once_a_memory_that_stated_it_too_has_ended(clew: Clew, clock: ToldClock) -> None:
    clew.remember("AuthService calls Keycloak", scope=SHOP)
    clew.remember("As said, AuthService calls Keycloak", layer="working", scope=SHOP)
    reach, graphs = Reach.of(SHOP), Graphs(clew.store, max_bytes=1 << 30, in_background=False)
    assert_the_same(clew, graphs.load(reach, clew.now()), reach)
    clock.pass_by(days=2)
    with graphs.walk(reach, now=clew.now()) as walk:
        assert isinstance(walk, ArrayWalk)
        assert_the_same(clew, walk, reach)


def test_arrays_larger_than_the_limit_are_not_kept(clew: Clew) -> None:
    clew.remember("AuthService is slow", scope=SHOP)
    graphs = Graphs(clew.store, max_bytes=1, in_background=False)
    graphs.load(Reach.of(SHOP), clew.now())
    with graphs.walk(Reach.of(SHOP), now=clew.now()) as walk:
        assert isinstance(walk, QueryWalk)


def test_what_is_known_of_reaches_does_not_grow_with_the_names_of_projects(
    clew: Clew, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clew.recall.graphs.MAX_KEPT", 3)
    monkeypatch.setattr("clew.recall.graphs.MAX_ASKED", 4)
    graphs = Graphs(clew.store, max_bytes=1 << 30, in_background=True)
    for number in range(12):
        reach = Reach.of(Scope(project=f"p{number}"))
        graphs.load(reach, clew.now())
        for asked in (reach, Reach.of(Scope(project=f"q{number}"))):
            with graphs.walk(asked, now=clew.now()):
                pass
    assert [len(known) for known in (graphs._kept, graphs._turns, graphs._asked)] == [3, 3, 4]


def test_threads_that_come_and_go_leave_nothing_behind_on_a_graph(
    clew: Clew, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clew.recall.graphs.MAX_KEPT", 3)
    reach, graphs = Reach.of(SHOP), Graphs(clew.store, max_bytes=1 << 30, in_background=False)
    graphs.load(reach, clew.now())
    for _ in range(12):
        thread = threading.Thread(target=lambda: graphs.walk(reach, now=clew.now()).__enter__())
        thread.start()
        thread.join()
    assert 0 < len(graphs._kept[reach].checked) <= 4


def test_what_others_witness_does_not_show_in_how_sure_an_edge_is(clew: Clew) -> None:
    clew.remember("UserController calls BillingApi.", scope=SHOP)
    reach = Reach.of(SHOP)

    def sure() -> set[float]:
        now = clew.now()
        with clew.store.read() as tx:
            walk = QueryWalk(tx, reach, now=now, moment=now)
            entries = [e for found in seen(walk, list(nodes_of(tx)), None).values() for e in found]
        return {confidence for _to, _weight, confidence, type_ in entries if type_ == "calls"}

    before = sure()
    clew.remember("Yes: UserController calls BillingApi.", scope=Scope(project="shop", user="bob"))
    assert sure() == before
    assert_the_same(clew, Graphs(clew.store, max_bytes=1 << 30, in_background=False).load(reach, clew.now()), reach)


def test_a_walk_never_enters_another_users_memory(clew: Clew) -> None:
    clew.remember("AuthService depends on SecretVault", scope=Scope(project="shop", user="bob"), title="Bobs plan")
    clew.remember("AuthService calls Redis and knows Bobs Plan", scope=SHOP)
    now = clew.now()
    with clew.store.read() as tx:
        walk = QueryWalk(tx, Reach.of(Scope(project="shop", user="ann")), now=now, moment=now)
        nodes = list(nodes_of(tx))
        reached = {to for entries in seen(walk, nodes, None).values() for to, *_rest in entries}
        names = {node.key for node in tx.graph.described("local", reached).values()}
    bobs = [memory.id for memory in clew.list(scope=Scope(project="shop", user="bob"), identity=Identity())]
    assert "secretvault" not in names
    assert not names & {id for id in bobs if clew.show(id).user == "bob"}


def test_an_edge_ends_with_the_working_memory_that_states_it(clew: Clew, clock: ToldClock) -> None:
    clew.remember("AuthService depends on Redis", scope=SHOP, layer="working")
    graphs = Graphs(clew.store, max_bytes=1 << 30, in_background=False)
    graphs.load(Reach.of(SHOP), clew.now())
    with graphs.walk(Reach.of(SHOP), now=clew.now()) as walk:
        before = seen(walk, list(range(1, 10)), None)
    clock.pass_by(hours=25)
    with graphs.walk(Reach.of(SHOP), now=clew.now()) as walk:
        after = seen(walk, list(range(1, 10)), None)
    assert any(before.values())
    assert not any(after.values())


def test_the_graph_of_the_past_is_walked_by_queries(clew: Clew, clock: ToldClock) -> None:
    old = clew.remember("AuthService depends on MySQL", scope=SHOP)
    then = clew.now()
    clock.pass_by(days=1)
    clew.remember("AuthService depends on Redis", scope=SHOP, supersedes=old.id)
    graphs = Graphs(clew.store, max_bytes=1 << 30, in_background=False)

    def targets(as_of: datetime | None) -> set[str]:
        with clew.store.read() as tx:
            nodes = list(nodes_of(tx))
            names = {row: node.key for row, node in tx.graph.described("local", nodes).items()}
        with graphs.walk(Reach.of(SHOP), now=clew.now(), as_of=as_of) as walk:
            entries = [entry for found in seen(walk, nodes, None).values() for entry in found]
        return {names[to] for to, _weight, _sure, type_ in entries if type_ == "depends_on"}

    assert "mysql" in targets(then)
    assert "mysql" not in targets(None)


def test_a_store_that_is_closed_while_the_graph_is_loaded_is_not_worth_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with open_toy(tmp_path / "c.db") as memory:
        memory.remember("AuthService calls PostgresDB")
        memory.recall("AuthService")
        graphs, now = memory._reader.graphs, memory.now()
    graphs._load_quietly(Reach.of(Scope()), now)
    assert not caplog.records

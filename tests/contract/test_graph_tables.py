"""The graph's tables: what is written is walked as it is seen, and every engine gives the same ways."""

from __future__ import annotations

import io
import json
import random
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from engines import ENGINES, opened
from memories import NOW, a_memory

from clew.clew import Clew
from clew.graph.activation import spread
from clew.graph.settings import Activation
from clew.model.graph import Node, NodeDraft, NodeRef, Statement
from clew.model.ids import stable_id
from clew.model.memory import Draft
from clew.model.scope import Reach, Scope
from clew.model.times import to_micros
from clew.ports import Store, Tx
from clew.recall.walk import QueryWalk
from clew.store import graph_reads
from toys import START, open_toy

if TYPE_CHECKING:
    from clew.bench.postgres_server import PostgresServer

EVERYTHING, SHOP = Reach.everything("local"), Reach.of(Scope(project="shop"))
BEYOND = 5_000  # no graph here has as many nodes
THINGS = ("AuthService", "Redis", "Kafka")
TIMES: dict[str, Any] = {"now": NOW, "moment": NOW}


def draft_of(type_: str, key: str) -> tuple[tuple[str, NodeRef], NodeDraft]:
    ref = NodeRef(type_, key)
    return ("shop", ref), NodeDraft(ref, key.title())


def filled(store: Store) -> tuple[list[int], list[int]]:
    """Two memories of a project and one that is private, three things; rows of their nodes. All three hang on the
    first thing, and each states that it depends on one of the others."""
    users = (None, None, "ann")
    memories = [a_memory(f"text {at}", id=f"mem_{at}", project="shop", user=user) for at, user in enumerate(users)]

    def fill(tx: Tx) -> tuple[list[int], list[int]]:
        rows = tx.memories.insert(memories)
        wanted = dict(
            [draft_of("memory", one.id) for one in memories] + [draft_of("entity", key) for key in THINGS]
        )
        by_id = dict(zip([one.id for one in memories], rows, strict=True))
        nodes = list(tx.graph.nodes("local", wanted, by_id, NOW).values())
        own, things = nodes[:3], nodes[3:]
        tx.graph.link("local", [(row, node, "self") for row, node in zip(rows, own, strict=True)])
        tx.graph.link("local", [(row, things[0], "mention") for row in rows])
        said = zip(rows, (things[1], things[1], things[2]), (0.9, 0.9, 0.5), strict=True)
        tx.graph.state(
            "local",
            [Statement("shop", things[0], to, "uses", row, "stated", 0.5, weight) for row, to, weight in said],
            NOW,
        )
        return own, things

    return store.write(fill)


def nodes_of(tx: Tx) -> dict[int, Node]:
    return tx.graph.described("local", range(BEYOND))


def rows_of(tx: Tx) -> dict[str, int]:
    return {memory.id: row for row in range(1, 4) if (memory := tx.graph.memory_at("local", row))}


@pytest.mark.parametrize(
    ("users", "seen"), [(None, ["", "a", "b", "d"]), (("",), ["", "b", "d"]), (("", "ann"), ["", "a", "b", "d"])]
)
def test_a_reach_over_all_projects_sees_every_place_with_live_memories(
    store: Store, users: tuple[str, ...] | None, seen: list[str]
) -> None:
    places = [(None, None), ("a", "ann"), ("b", "ann"), ("b", None), ("d", None), ("d", "bob"), ("d", "bob")]
    wanted = [a_memory(str(n), id=f"mem_{n}", project=p, user=u) for n, (p, u) in enumerate(places)]
    gone = [a_memory("gone", project="c", deleted_at=NOW), a_memory("gone", project="0", org="other")]
    rows = store.write(lambda tx: tx.memories.insert([*wanted, *gone]))
    drafts = dict(draft_of("memory", one.id) for one in wanted)
    by_id = dict(zip([one.id for one in wanted], rows, strict=False))
    store.write(lambda tx: hang(tx, rows, tx.graph.nodes("local", drafts, by_id, NOW).values()))
    reach = replace(EVERYTHING, users=users)
    with store.read() as tx:
        assert list(tx.explore.projects_seen(reach)) == seen
        found = tx.graph.scope(reach, NOW)[0]
    assert {id for id, *_rest in found} == {one.id for one in wanted if users is None or (one.user or "") in users}


def hang(tx: Tx, rows: Iterable[int], nodes: Iterable[int]) -> None:
    tx.graph.link("local", [(row, node, "self") for row, node in zip(rows, nodes, strict=False)])


def test_a_node_is_the_same_the_second_time(store: Store) -> None:
    own, things = filled(store)
    wanted = dict([draft_of("entity", key) for key in THINGS])
    again = store.write(lambda tx: tx.graph.nodes("local", wanted, {}, NOW))
    assert list(again.values()) == things
    with store.read() as tx:
        assert sorted(nodes_of(tx)) == sorted(own + things)
        assert tx.graph.described("local", things)[things[1]].key == "Redis"


def test_edges_come_strongest_first_from_both_ends(store: Store) -> None:
    _own, [auth, redis, kafka] = filled(store)
    with store.read() as tx:
        found = tx.graph.edges_at_many(EVERYTHING, [auth, redis, 999], limit=9, **TIMES)
    starting, ending = found[auth]
    assert [(to, type_, weight, sure) for to, type_, weight, sure, _row in starting] == [
        (redis, "uses", 0.9, 0.55),  # two memories say so
        (kafka, "uses", 0.5, 0.5),
    ]
    assert (ending, [edge[0] for edge in found[redis][1]], found[999]) == ([], [auth], ([], []))


def test_a_cap_holds_for_each_node_of_a_hop(store: Store) -> None:
    own, [auth, redis, kafka] = filled(store)
    with store.read() as tx:
        edges = tx.graph.edges_at_many(EVERYTHING, [auth, redis, kafka], limit=1, **TIMES)
        linked = tx.graph.linked_at_many(EVERYTHING, [auth, *own], limit=2, **TIMES)
        newest = tx.graph.memories_at_many(EVERYTHING, [auth, redis], limit=1, **TIMES)
    assert [(len(starting), len(ending)) for starting, ending in edges.values()] == [(1, 0), (0, 1), (0, 1)]
    assert linked == {auth: [own[2], own[1]], **{node: [auth] for node in own}}
    assert newest == {auth: ["mem_2"], redis: []}


@pytest.mark.parametrize("looked_at", [1, 2])
def test_a_hub_of_the_org_is_asked_about_by_the_memories_of_a_place(
    store: Store, monkeypatch: pytest.MonkeyPatch, looked_at: int
) -> None:
    """The newest memory on it is another user's."""
    own, [auth, *_] = filled(store)
    monkeypatch.setattr(graph_reads, "LOOKED_AT", looked_at)
    with store.read() as tx:
        linked = [tx.graph.linked_at_many(SHOP, [auth], limit=limit, **TIMES)[auth] for limit in (1, 2, 9)]
        newest = [tx.graph.memories_at_many(SHOP, [auth], limit=limit, **TIMES)[auth] for limit in (1, 2, 9)]
    assert linked == [[own[1]], [own[1], own[0]], [own[1], own[0]]]
    assert newest == [["mem_1"], ["mem_1", "mem_0"], ["mem_1", "mem_0"]]


def test_what_a_private_memory_states_is_not_walked_by_others(store: Store) -> None:
    own, [auth, redis, kafka] = filled(store)
    with store.read() as tx:
        found = tx.graph.edges_at_many(SHOP, [auth, kafka, own[2]], limit=9, **TIMES)
        linked = tx.graph.linked_at_many(SHOP, [auth, own[2]], limit=9, **TIMES)
    assert [edge[0] for edge in found[auth][0]] == [redis]
    assert (found[kafka], found[own[2]]) == (([], []), ([], []))
    assert linked == {auth: [own[1], own[0]], own[2]: []}


def test_an_edge_is_as_sure_as_the_witnesses_that_are_left(store: Store) -> None:
    _own, [auth, redis, _kafka] = filled(store)
    key = (auth, redis, "uses", "shop")

    def retract(tx: Tx) -> None:
        found = tx.edges.find("local", key)
        assert found
        tx.graph.retract("local", rows_of(tx)["mem_0"], [found[0]])

    store.write(retract)
    with store.read() as tx:
        [edge, _other] = tx.graph.edges_at_many(EVERYTHING, [auth], limit=9, **TIMES)[auth][0]
        assert edge[3] == pytest.approx(0.5)
        assert tx.edges.find("local", key) == (edge[4], False)


def test_a_person_may_state_an_edge_and_take_it_back(store: Store) -> None:
    _own, [auth, _redis, kafka] = filled(store)
    said = Statement("shop", kafka, auth, "calls", 0, "user")
    row = store.write(lambda tx: tx.graph.state_by_user("local", said, NOW))
    with store.read() as tx:
        [calls] = tx.graph.edges_at_many(EVERYTHING, [kafka], limit=9, **TIMES)[kafka][0]
        by_users = tx.graph.scope(EVERYTHING, NOW)[3]
    assert (calls, [edge[0] for edge in by_users]) == ((auth, "calls", 1.0, 1.0, row), [row])
    store.write(lambda tx: tx.graph.unstate_by_user("local", row))
    with store.read() as tx:
        assert tx.edges.find("local", said.key) is None


VECTORS = json.loads((Path(__file__).parents[1] / "unit/graph/graph_activation.json").read_text(encoding="utf-8"))
SURE = {
    row["confidence"]: row["reinforced"]["confidence"]
    for case in VECTORS["confidence"]
    for row in case["rows"]
    if row["confidence"] is not None
}


def test_engram_30_each_further_witness_adds_and_one_is_the_most(store: Store) -> None:
    _own, [_auth, redis, kafka] = filled(store)

    def state_by(tx: Tx, *memories: str) -> list[float]:
        """How sure edges are that began as sure as each of these and were stated by all of the memories."""
        for row in (rows_of(tx)[memory] for memory in memories):
            edges = enumerate([*SURE, 0.95])
            said = [Statement("shop", redis, kafka, str(at), row, "stated", sure, 1.0) for at, sure in edges]
            tx.graph.state("local", said, NOW)
        found = tx.graph.edges_at_many(EVERYTHING, [redis], limit=99, **TIMES)[redis][0]
        return [sure for _type, sure in sorted((int(edge[1]), edge[3]) for edge in found)]

    assert store.write(lambda tx: state_by(tx, "mem_0", "mem_1")) == pytest.approx([*SURE.values(), 1.0], abs=1e-6)
    assert store.write(lambda tx: state_by(tx, "mem_2"))[-1] == 1.0


def test_what_expires_ends_with_its_last_witness(store: Store) -> None:
    _own, [auth, redis, _kafka] = filled(store)
    until = to_micros(NOW + timedelta(days=1))

    def expire(tx: Tx) -> None:
        for row in list(rows_of(tx).values())[:2]:
            tx.graph.renew_expiry("local", row, until)

    store.write(expire)
    later: dict[str, Any] = {"now": NOW + timedelta(days=2), "moment": NOW + timedelta(days=2)}
    with store.read() as tx:
        before, after = (tx.graph.edges_at_many(EVERYTHING, [auth], limit=9, **t)[auth][0] for t in (TIMES, later))
    assert (redis in [edge[0] for edge in before], redis in [edge[0] for edge in after]) == (True, False)


def test_who_begins_or_ceases_to_hold_later_is_told_with_the_next_such_moment(store: Store) -> None:
    ago, soon, late = (NOW + timedelta(hours=hours) for hours in (-1, 1, 2))
    times = {
        "always": {},
        "over": {"invalid_at": ago},
        "ends": {"expires_at": late, "invalid_at": soon},
        "begins": {"valid_at": soon, "invalid_at": late},
    }
    memories = [a_memory(id, id=f"mem_{id}", project="shop", **given) for id, given in times.items()]
    store.write(lambda tx: tx.memories.insert(memories))
    turns = [("mem_begins", to_micros(soon)), ("mem_ends", to_micros(soon))]
    with store.read() as tx:
        assert sorted(tx.graph.turning(SHOP, None, NOW)) == turns
        assert tx.graph.turning(SHOP, ["mem_ends", "mem_over"], NOW) == turns[1:]
        assert tx.graph.turning(SHOP, ["mem_begins"], soon) == [("mem_begins", to_micros(late))]


def test_the_newest_that_name_a_thing_come_first(store: Store) -> None:
    filled(store)

    def name(tx: Tx) -> dict[int, list[int]]:
        rows = rows_of(tx)
        tx.graph.put_names("local", [(-7, False, row) for row in rows.values()])
        tx.graph.put_names("local", [(-7, False, rows["mem_0"])])  # once more
        held = tx.graph.holders("local", [-7, 8], "", subject=False, limit=9)
        assert held == {-7: [rows["mem_1"], rows["mem_0"]]}
        return tx.graph.holders("local", [-7], "ann", subject=False, limit=1)

    assert [len(rows) for rows in store.write(name).values()] == [1]


def test_what_waits_for_the_graph_is_found_org_by_org(store: Store) -> None:
    def wait(tx: Tx) -> None:
        for org, attempts in (("local", 0), ("local", 3), ("other", 9)):
            tx.graph.put_pending(org, 5 + attempts, "failed", NOW, attempts=attempts)

    store.write(lambda tx: wait(tx))
    with store.read() as tx:
        asked: dict[str, Any] = {"max_attempts": 5, "patient": NOW - timedelta(hours=1)}
        assert tx.edges.pending_orgs(**asked) == ["local"]
        assert tx.graph.pending("local", limit=9, **asked) == [5]
        assert tx.graph.pending("local", limit=9, max_attempts=5, patient=NOW) == [5, 8]


def drafts(count: int) -> Iterator[tuple[Draft, Scope]]:
    rng = random.Random(7)
    names = [f"{head}{tail}" for head in ("Auth", "Mail", "Order", "Bill") for tail in ("Service", "Worker", "Db")]
    for number in range(count):
        one, other = rng.sample(names, 2)
        verb = rng.choice(("depends on", "calls", "uses", "replaces"))
        draft = Draft(
            content=f"{one} {verb} {other}, said {number}",
            id=stable_id("mem", at_ms=int(START.timestamp() * 1000) + number, digest=number.to_bytes(10, "big")),
            title=rng.choice((None, "Auth Design", f"Plan {number % 9}")),
            tags=tuple(rng.sample(("auth", "db", "ops"), rng.randint(0, 2))),
            category=rng.choice((None, "Architecture")),
            thread=rng.choice((None, "t1", "t2")),
            layer=rng.choice(("long_term", "long_term", "working")),
        )
        yield draft, Scope(project=rng.choice(("shop", "blog", None)), user=rng.choice((None, None, "ann")))


def written(place: Path | str, count: int) -> dict[str, Any]:
    """What the ways through the graph are, after all were written."""
    by_scope: dict[Scope, list[Draft]] = {}
    for draft, scope in drafts(count):
        by_scope.setdefault(scope, []).append(draft)
    with open_toy(place) as clew:
        for scope, of_scope in by_scope.items():
            list(clew.remember_many(of_scope, scope=scope))
        return {str(reach): _seen(clew, reach) for reach in (EVERYTHING, SHOP)}


def _seen(clew: Clew, reach: Reach) -> dict[str, Any]:
    now = clew.now()
    with clew.store.read() as tx:
        walk = QueryWalk(tx, reach, now=now, moment=now)
        nodes = np.array([*sorted(nodes_of(tx)), BEYOND])
        near = walk.out(nodes, fan_out=None)
        ways = (near.starts, near.target, near.weight, near.confidence, near.kind)
        active = [spread(walk, nodes[at : at + 3].tolist(), Activation()) for at in range(0, 60, 3)]
        scope = [sorted(rows) for rows in tx.graph.scope(reach, now)]
        return {"types": list(walk.types), "ways": ways, "active": active, "scope": scope, "near": near.target.size}


@pytest.mark.parametrize("count", [60, pytest.param(300, marks=pytest.mark.torture)])
def test_the_same_memories_give_the_same_ways(postgres: PostgresServer, tmp_path: Path, count: int) -> None:
    with postgres.fresh_database(user="clew_app") as url:
        one, other = written(tmp_path / "clew.db", count), written(url, count)
    assert list(one) == list(other)
    for mine, its in zip(one.values(), other.values(), strict=True):
        assert mine["near"] > count
        assert (mine["types"], mine["scope"]) == (its["types"], its["scope"])
        for column, its_column in zip(mine["ways"], its["ways"], strict=True):
            assert np.allclose(column, its_column, rtol=0, atol=1e-9)
        for reached, its_reached in zip(mine["active"], its["active"], strict=True):
            assert [way.path for way in reached] == [way.path for way in its_reached]
            assert [way.score for way in reached] == pytest.approx([way.score for way in its_reached], abs=1e-9)


def test_an_org_does_not_walk_into_another(place: Path | str) -> None:
    with closing(opened(place)) as store:
        own, things = filled(store)
        with store.read() as tx:
            found = tx.graph.edges_at_many(Reach.everything("other"), [*own, *things], limit=9, **TIMES)
            assert set(map(str, found.values())) == {"([], [])"}
            assert tx.graph.described("other", own + things) == {}


def test_a_memory_knows_who_stands_before_and_behind_it_in_its_thread(store: Store) -> None:
    days = {"a": 0, "b": 1, "b2": 1, "c": 3, "of ann": 2}
    memories = [
        a_memory(f"text {id}", id=id, project="shop", thread="t", at=NOW + timedelta(days=day),
                 user="ann" if id == "of ann" else None)
        for id, day in days.items()
    ]  # fmt: skip
    rows = dict(zip(days, store.write(lambda tx: tx.memories.insert(memories)), strict=True))
    names = {row: id for id, row in rows.items()} | {None: None}
    with store.read() as tx:
        found = {one.id: tx.graph.in_thread(one, rows[one.id]) for one in memories}
    assert {id: (names[before], names[after]) for id, (before, after) in found.items()} == {
        "a": (None, "b"), "b": ("a", "b2"), "b2": ("b", "c"), "of ann": ("b2", None), "c": ("b2", None)
    }  # fmt: skip


@pytest.mark.parametrize("engine", ENGINES)
def test_what_hung_on_a_forgotten_memory_comes_back_with_it(
    engine: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    scope = Scope(project="shop")
    with open_toy(ENGINES[engine](request, tmp_path)) as clew:
        parent, other = (clew.remember(text, scope=scope).id for text in ("Deploys are slow", "The cache is cold"))
        child = clew.remember("so we deploy less", parents=(parent,), scope=scope).id
        clew.link(parent, "caused_by", other, scope=scope)
        clew.link("service:turbine", "blocks", parent, scope=scope)
        before = _edges(clew)
        for id in (parent, other):
            clew.forget(id)
        for id in (parent, other):
            clew.revert(id, 1)
        clew.remember("something else", scope=Scope(project="blog"))  # the next pass
        assert _edges(clew) == before >= {
            (parent, "caused_by", other), ("turbine", "blocks", parent), (child, "derived_from", parent)
        }  # fmt: skip


def _edges(clew: Clew) -> set[tuple[str, ...]]:
    file = io.StringIO()
    clew.graph.export(file, scope=Scope(project="shop"))
    lines = [json.loads(line) for line in file.getvalue().splitlines()[1:]]
    return {(line["from"].partition(":")[2], line["type"], line["to"].partition(":")[2]) for line in lines}

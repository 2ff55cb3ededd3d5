"""What a person links: between memories and things, for those who see both, until they take it back."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import apsw
import numpy as np
import pytest

from clew.clew import Clew
from clew.errors import InvalidInput, Misconfigured, NotFound
from clew.model.scope import Identity, Reach, Scope
from clew.recall.graphs import Graphs
from clew.recall.walk import entries_of
from toys import ToldClock, open_toy

SHOP, BLOG = Scope(project="shop"), Scope(project="blog")
ADA, BOB = Identity(user="ada", roles=()), Identity(user="bob", roles=())


@pytest.fixture
def clew(tmp_path: Path) -> Iterator[Clew]:
    with open_toy(tmp_path / "clew.db", clock=ToldClock()) as opened:
        yield opened


def run(clew: Clew, sql: str) -> list[tuple[Any, ...]]:
    connection = apsw.Connection(str(clew.store.path))  # type: ignore[attr-defined]
    try:
        return connection.execute(sql).fetchall()
    finally:
        connection.close()


def by_users(clew: Clew) -> set[tuple[str, str, str]]:
    rows = run(
        clew,
        "SELECT a.node_key, e.edge_type, b.node_key FROM graph_edges e JOIN graph_nodes a ON a.row = e.from_row"
        " JOIN graph_nodes b ON b.row = e.to_row WHERE e.is_users",
    )
    return {(source, type_, target) for source, type_, target in rows}


def exported(clew: Clew, **who: Any) -> list[dict[str, Any]]:
    """The edges that someone sees, as they are exported."""
    file = io.StringIO()
    clew.graph.export(file, **who)
    return [json.loads(line) for line in file.getvalue().splitlines()[1:]]


def walked(clew: Clew, id: str, reach: Reach) -> set[tuple[str, str]]:
    """(type, name) of what a recall walks to from a memory."""
    now = clew.now()
    with clew.store.read() as tx:
        node = tx.graph.own_nodes(reach.org, [id])[id]
        found = entries_of(tx, reach, [node], now=now, moment=now)[node]
        named = tx.graph.described(reach.org, [entry[0] for entry in found])
    return {(entry[3], named[entry[0]].key) for entry in found}


def test_two_memories_are_linked_surely_and_for_good(clew: Clew) -> None:
    one, other = clew.remember("first").id, clew.remember("second").id
    linked = clew.link(one, "depends_on", other)
    assert linked.as_json() == {
        "from": f"memory:{one}", "to": f"memory:{other}", "type": "depends_on", "both_ways": False, "changed": True,
    }  # fmt: skip
    assert run(clew, "SELECT weight, confidence, is_users, expires_at FROM graph_edges") == [(1.0, 1.0, 1, None)]
    assert run(clew, "SELECT origin, memory_row FROM graph_evidence") == [("user", 1)]


def test_linking_twice_is_harmless(clew: Clew) -> None:
    one, other = clew.remember("first").id, clew.remember("second").id
    clew.link(one, "depends_on", other)
    before = clew.stats().last_change
    assert not clew.link(one[:20], "depends_on", other).changed
    assert len(run(clew, "SELECT 1 FROM graph_edges")) == len(run(clew, "SELECT 1 FROM graph_evidence")) == 1
    assert clew.stats().last_change == before


def test_a_thing_need_not_be_known_if_a_memory_is_linked_to_it(clew: Clew) -> None:
    one = clew.remember("sessions", scope=SHOP).id
    assert clew.link(one, "depends_on", "Redis").as_json()["to"] == "service:redis"
    assert run(clew, "SELECT project_id, label FROM graph_nodes WHERE node_key = 'redis'") == [("shop", "Redis")]
    assert run(clew, "SELECT role FROM memory_node_links WHERE role = 'mention'") == []
    assert ("depends_on", "redis") in walked(clew, one, Reach.of(SHOP))


def test_from_a_thing_to_a_memory_the_memory_is_the_witness(clew: Clew) -> None:
    one = clew.remember("sessions").id
    clew.link("src/app.py", "implements", one)
    assert by_users(clew) == {("src/app.py", "implements", one)}
    assert run(clew, "SELECT memory_row, origin FROM graph_evidence") == [(1, "user")]


def test_two_things_must_be_known_and_need_no_witness(clew: Clew) -> None:
    clew.remember("AuthService is slow", scope=SHOP)
    with pytest.raises(NotFound) as refused:
        clew.link("AuthService", "uses", "Redis", scope=SHOP)
    assert refused.value.code == "NODE_NOT_FOUND"
    clew.remember("Redis is fast", scope=SHOP)
    assert clew.link("AuthService", "uses", "service:redis", scope=SHOP).project == "shop"
    assert run(clew, "SELECT 1 FROM graph_evidence v JOIN graph_edges e ON e.row = v.edge_row WHERE is_users") == []
    assert [line["user"] for line in exported(clew, scope=SHOP) if line["type"] == "uses"] == [True]
    assert not [line for line in exported(clew, scope=BLOG) if line["type"] == "uses"]


@pytest.mark.parametrize("relation", ["contradicts", "similar_to"])
def test_what_is_mutual_is_written_both_ways_and_taken_back_both_ways(clew: Clew, relation: str) -> None:
    one, other = clew.remember("first").id, clew.remember("second").id
    assert clew.link(one, relation, other).both_ways
    assert by_users(clew) == {(one, relation, other), (other, relation, one)}
    clew.unlink(other, relation, one)
    assert by_users(clew) == set()


@pytest.mark.parametrize("relation", ["", "Depends", "depends on", "1st", "a" * 41, "a-b", "é", "a\n"])
def test_a_relation_is_one_plain_word(clew: Clew, relation: str) -> None:
    one, other = clew.remember("first").id, clew.remember("second").id
    for verb in (clew.link, clew.unlink):
        with pytest.raises(InvalidInput) as refused:
            verb(one, relation, other)
        assert refused.value.code == "RELATION_INVALID"


def test_nothing_is_linked_to_itself(clew: Clew) -> None:
    one = clew.remember("AuthService is slow").id
    for name in (one, "AuthService"):
        with pytest.raises(InvalidInput) as refused:
            clew.link(name, "uses", name)
        assert refused.value.code == "LINK_TO_ITSELF"


@pytest.mark.parametrize(
    "name", ["mem_00000000", "memory:nothing", "topic:none", "and", "\udc80", "file:" + "x" * 300]
)
def test_what_is_not_there_is_not_found(clew: Clew, name: str) -> None:
    one = clew.remember("first").id
    with pytest.raises(NotFound):
        clew.link(one, "uses", name)
    assert by_users(clew) == set()


def test_of_two_things_that_nobody_knows_it_is_told_what_makes_one_known(clew: Clew) -> None:
    with pytest.raises(NotFound) as refused:
        clew.link("service:nginx", "depends_on", "service:mysql")
    assert "once a memory names it" in refused.value.next


@pytest.mark.parametrize("frame", ["{}", "src/{}.py", "symbol:{}", "file:src/{}.py"])
def test_a_thing_whose_name_holds_a_secret_is_refused_and_leaves_no_trace(clew: Clew, frame: str) -> None:
    one, key = clew.remember("first").id, "ghp_" + "0001aB3dE6gH9jK2mN5pQ8rS1tU4vW7xY0zA"
    for ends in ((one, frame.format(key)), (frame.format(key), one)):
        with pytest.raises(InvalidInput) as refused:
            clew.link(ends[0], "about", ends[1])
        assert refused.value.code == "NODE_NAME_SECRET" and key not in refused.value.message
    assert by_users(clew) == set()
    assert run(clew, "SELECT 1 FROM graph_nodes WHERE node_key LIKE '%ghp%' OR label LIKE '%ghp%'") == []


def test_a_topic_must_be_there_and_is_shared_by_the_projects(clew: Clew) -> None:
    clew.remember("tagged", tags=("auth",), scope=BLOG)
    one = clew.remember("first", scope=SHOP).id
    assert clew.link(one, "about", "topic:auth").as_json()["to"] == "topic:auth"


def test_a_thing_of_several_projects_needs_one_to_be_named(clew: Clew) -> None:
    for scope in (SHOP, BLOG):
        clew.remember("AuthService and Redis", scope=scope)
    with pytest.raises(InvalidInput) as refused:
        clew.link("AuthService", "uses", "Redis")
    assert refused.value.code == "NODE_AMBIGUOUS"
    assert clew.link("AuthService", "uses", "Redis", scope=BLOG).project == "blog"


# -- rights ----------------------------------------------------------------------------------------


def test_what_one_may_not_see_cannot_be_linked(clew: Clew) -> None:
    secret = clew.remember("SecretService of ada", scope=Scope(user="ada")).id
    shared = clew.remember("for all").id
    for names in ((secret, shared), (shared, secret)):
        with pytest.raises(NotFound) as refused:
            clew.link(names[0], "uses", names[1], identity=BOB)
        assert refused.value.code == "MEMORY_NOT_FOUND"
    with pytest.raises(NotFound):
        clew.link("SecretService", "uses", "SecretService2", identity=BOB)
    with pytest.raises(NotFound):
        clew.link(shared, "uses", shared, identity=Identity(org="acme"))


def test_a_link_of_a_private_memory_is_seen_by_its_user_alone(clew: Clew) -> None:
    secret = clew.remember("ada thinks", scope=Scope(user="ada")).id
    shared = clew.remember("Redis for all").id
    clew.link(secret, "contradicts", shared, identity=ADA)
    clew.link(secret, "uses", "Redis", identity=ADA)
    assert {kind for kind, _name in walked(clew, shared, Reach.of(Scope(user="ada")))} >= {"contradicts"}
    assert "contradicts" not in {kind for kind, _name in walked(clew, shared, Reach.of(Scope(user="bob")))}
    assert {line["type"] for line in exported(clew, identity=BOB)} == set()
    assert {line["type"] for line in exported(clew, identity=ADA)} == {"contradicts", "uses"}


def test_whether_others_know_a_thing_is_not_told(clew: Clew) -> None:
    clew.remember("SecretService of ada", scope=Scope(user="ada"))
    one = clew.remember("of bob", scope=Scope(user="bob")).id
    known = clew.link(one, "uses", "SecretService", identity=BOB).as_json()
    new = clew.link(one, "uses", "OtherService", identity=BOB).as_json()
    assert {**known, "to": "", "new": []} == {**new, "to": "", "new": []}
    assert known["new"] == ["service:secretservice"]  # as new to him as one that nobody knows


# -- what happens to them --------------------------------------------------------------------------


def test_a_link_outlives_edits_of_its_memory(clew: Clew) -> None:
    one = clew.remember("AuthService depends on Redis", tags=("auth",)).id
    other = clew.remember("second").id
    clew.link(one, "supports", other)
    clew.link(one, "uses", "Kafka")
    clew.edit(one, content="nothing of the kind", tags=())
    assert by_users(clew) == {(one, "supports", other), (one, "uses", "kafka")}
    assert {("supports", other), ("uses", "kafka")} <= walked(clew, one, Reach.of(Scope()))


def test_a_relation_that_a_text_states_too_outlives_the_text(clew: Clew) -> None:
    one = clew.remember("AuthService depends on Redis").id
    clew.link("AuthService", "depends_on", "Redis")
    clew.edit(one, content="AuthService and Redis are fine")
    assert by_users(clew) == {("authservice", "depends_on", "redis")}
    assert run(clew, "SELECT confidence FROM graph_edges WHERE is_users") == [(1.0,)]


def test_forgetting_the_memory_takes_its_links_along(clew: Clew) -> None:
    one, other = clew.remember("first").id, clew.remember("second").id
    clew.link(one, "supports", other)
    clew.link(one, "uses", "Kafka")
    clew.forget(one)
    assert by_users(clew) == set()
    assert run(clew, "SELECT node_key FROM graph_nodes WHERE node_type <> 'memory_type'") == [(other,)]


def test_unlink_removes_the_edge_and_the_thing_that_nothing_else_names(clew: Clew) -> None:
    one = clew.remember("first").id
    clew.link(one, "uses", "Kafka")
    assert clew.unlink(one, "uses", "Kafka").changed
    assert by_users(clew) == set() and not run(clew, "SELECT 1 FROM graph_nodes WHERE node_key = 'kafka'")
    with pytest.raises(NotFound) as refused:
        clew.unlink(one, "uses", "Kafka")
    assert refused.value.code == "LINK_NOT_FOUND"


def test_unlink_leaves_what_memories_state(clew: Clew) -> None:
    clew.remember("AuthService depends on Redis")
    with pytest.raises(NotFound):
        clew.unlink("AuthService", "depends_on", "Redis")
    clew.link("AuthService", "depends_on", "Redis")
    clew.unlink("AuthService", "depends_on", "Redis")
    query = "SELECT confidence, is_users FROM graph_edges WHERE edge_type = 'depends_on'"
    assert run(clew, query) == [(0.95, 0)]


def test_what_a_memory_came_to_state_later_stays_after_unlink(clew: Clew) -> None:
    one = clew.remember("plain", title="One").id
    other = clew.remember("another", parents=(one,)).id
    clew.link(other, "derived_from", one)
    clew.unlink(other, "derived_from", one)
    assert run(clew, "SELECT edge_type, is_users FROM graph_edges") == [("derived_from", 0)]
    assert run(clew, "SELECT origin FROM graph_evidence") == [("derived",)]


def test_arrays_in_memory_learn_of_a_link_and_of_its_end(clew: Clew) -> None:
    one, other = clew.remember("first").id, clew.remember("second").id
    reach, graphs = Reach.of(Scope()), Graphs(clew.store, max_bytes=1 << 20, in_background=False)
    graphs.load(reach, clew.now())

    def targets() -> list[str]:
        with graphs.walk(reach, now=clew.now()) as walk:
            found = walk.out(np.array([walk.nodes_of([one])[one]]), fan_out=None)
            return list(walk.memories_of(found.target.tolist()).values())

    assert targets() == []
    clew.link(one, "supports", other)
    assert targets() == [other]
    clew.unlink(one, "supports", other)
    assert targets() == []


def test_a_memory_whose_mapping_failed_can_be_linked(clew: Clew) -> None:
    run(clew, "CREATE TRIGGER no BEFORE INSERT ON graph_nodes BEGIN SELECT raise(ABORT, 'no'); END")
    one, other = clew.remember("first").id, clew.remember("second").id
    run(clew, "DROP TRIGGER no")
    clew.link(one, "supports", other)
    clew.reindex()
    assert by_users(clew) == {(one, "supports", other)}
    assert len(run(clew, "SELECT 1 FROM memory_node_links WHERE role = 'self'")) == 2


def test_with_the_graph_switched_off_nothing_is_linked(tmp_path: Path) -> None:
    with open_toy(tmp_path / "clew.db", graph={"write": False}) as clew:
        one, other = clew.remember("first").id, clew.remember("second").id
        for verb in (clew.link, clew.unlink):
            with pytest.raises(Misconfigured) as refused:
                verb(one, "uses", other)
            assert refused.value.code == "GRAPH_WRITE_OFF"


# -- for oneself, for all --------------------------------------------------------------------------

ADAS, BOBS = Scope(project="shop", user="ada"), Scope(project="shop", user="bob")


def neighbors(clew: Clew, node: str, **who: Any) -> set[tuple[str, str]]:
    return {(one.edge_type, one.node.key) for one in clew.graph.neighbors(node, **who).neighbors}


def test_what_someone_links_for_themselves_is_theirs_alone(clew: Clew) -> None:
    clew.remember("OrderApi and MailServer are red", scope=SHOP)
    assert clew.link("OrderApi", "replaces", "MailServer", scope=ADAS, identity=ADA).changed
    assert ("replaces", "mailserver") in neighbors(clew, "OrderApi", scope=ADAS, identity=ADA)
    for who in ({"scope": BOBS, "identity": BOB}, {"scope": SHOP, "identity": BOB}):
        assert ("replaces", "mailserver") not in neighbors(clew, "OrderApi", **who)
        assert not [line for line in exported(clew, **who) if line["type"] == "replaces"]
        assert "replaces" not in clew.graph.status(**who).counted.edges
        assert not [fact for fact in clew.graph.triplets(**who).facts if fact.relation == "replaces"]
        with pytest.raises(NotFound) as refused:
            clew.unlink("OrderApi", "replaces", "MailServer", **who)
        assert refused.value.code == "LINK_NOT_FOUND"


def test_what_someone_linked_for_themselves_is_linked_for_all_by_whoever_says_so(clew: Clew) -> None:
    clew.remember("OrderApi and MailServer are red", scope=SHOP)
    clew.link("OrderApi", "replaces", "MailServer", scope=ADAS, identity=ADA)
    assert clew.link("OrderApi", "replaces", "MailServer", scope=SHOP, identity=BOB).changed
    for who in ({"scope": BOBS, "identity": BOB}, {"scope": ADAS, "identity": ADA}):
        assert ("replaces", "mailserver") in neighbors(clew, "OrderApi", **who)
        assert not clew.link("OrderApi", "replaces", "MailServer", **who).changed


def test_a_private_link_makes_nobody_elses_edge_surer(clew: Clew) -> None:
    clew.remember("OrderApi relies on MailServer", scope=SHOP)
    before = exported(clew, scope=BOBS, identity=BOB)
    clew.link("OrderApi", "depends_on", "MailServer", scope=ADAS, identity=ADA)
    found = clew.graph.neighbors("OrderApi", scope=BOBS, identity=BOB).neighbors
    [line] = [line for line in before if line["type"] == "depends_on"]
    assert [one.confidence for one in found if one.edge_type == "depends_on"] == [line["confidence"]]
    assert line in exported(clew, scope=BOBS, identity=BOB)


def test_things_that_only_expired_or_superseded_memories_name_cannot_be_linked(tmp_path: Path) -> None:
    clock = ToldClock()
    with open_toy(tmp_path / "clew.db", clock=clock) as clew:
        soon = clock.now() + timedelta(hours=1)
        clew.remember("OrderApi calls MailServer", scope=SHOP, layer="working", expires_at=soon)
        old = clew.remember("BlueApi calls RedApi", scope=SHOP).id
        clew.remember("nothing at all", supersedes=old, scope=SHOP)
        clock.pass_by(hours=2)
        for pair in (("OrderApi", "MailServer"), ("BlueApi", "RedApi")):
            with pytest.raises(NotFound) as refused:
                clew.link(pair[0], "uses", pair[1], scope=SHOP)
            assert refused.value.code == "NODE_NOT_FOUND"


def test_a_name_that_is_nearly_right_is_answered_with_the_right_one(clew: Clew) -> None:
    clew.remember("AuthService and MailServer are red", scope=SHOP)
    with pytest.raises(NotFound) as refused:
        clew.link("AuthServise", "uses", "MailServer", scope=SHOP)
    assert "'AuthService'" in refused.value.next


def test_a_name_that_others_keep_private_is_not_offered(clew: Clew) -> None:
    clew.remember("AuthService is secret", scope=ADAS)
    clew.remember("MailServer is red", scope=SHOP)
    with pytest.raises(NotFound) as refused:
        clew.link("AuthServise", "uses", "MailServer", scope=BOBS, identity=BOB)
    assert "AuthService" not in refused.value.next


def test_an_edge_is_as_sure_after_unlink_whichever_came_first(tmp_path: Path) -> None:
    sure = []
    for at, link_first in enumerate((True, False)):
        with open_toy(tmp_path / str(at) / "clew.db", clock=ToldClock()) as clew:
            clew.remember("OrderApi and MailServer are red", scope=SHOP)
            if link_first:
                clew.link("OrderApi", "depends_on", "MailServer", scope=SHOP)
            clew.remember("OrderApi relies on MailServer", scope=SHOP)
            if not link_first:
                clew.link("OrderApi", "depends_on", "MailServer", scope=SHOP)
            clew.unlink("OrderApi", "depends_on", "MailServer", scope=SHOP)
            sql = "SELECT confidence, base_confidence FROM graph_edges WHERE edge_type = 'depends_on'"
            sure.append(run(clew, sql))
    assert sure[0] == sure[1] and sure[0][0][0] < 1.0


# -- when the last memory goes ---------------------------------------------------------------------


def stranded(clew: Clew) -> set[int]:
    """What is dropped when every thing is asked about."""
    rows = run(clew, "SELECT row FROM graph_nodes WHERE node_type <> 'memory'")
    return clew.store.write(lambda tx: tx.edges.drop_stranded("local", [row for (row,) in rows]))


def test_a_persons_edge_between_things_goes_when_no_memory_names_one_of_them(clew: Clew) -> None:
    clew.remember("OrderApi is red", scope=SHOP)
    clew.remember("MailServer is red", scope=SHOP)
    clew.link("OrderApi", "uses", "MailServer", scope=SHOP)
    assert stranded(clew) == set() and by_users(clew) == {("orderapi", "uses", "mailserver")}
    changed(clew, "DELETE FROM memory_node_links WHERE node_row = (SELECT row FROM graph_nodes"
                  " WHERE node_key = 'mailserver')")  # fmt: skip
    ends = {row for (row,) in run(clew, "SELECT row FROM graph_nodes WHERE node_key IN ('orderapi', 'mailserver')")}
    assert stranded(clew) == ends and by_users(clew) == set()


def test_a_persons_edge_that_a_memory_states_too_is_not_stranded(clew: Clew) -> None:
    clew.remember("OrderApi uses MailServer", scope=SHOP)
    clew.link("OrderApi", "uses", "MailServer", scope=SHOP)
    changed(clew, "DELETE FROM memory_node_links WHERE role = 'mention'")
    assert stranded(clew) == set() and by_users(clew) == {("orderapi", "uses", "mailserver")}


def test_the_doctor_finds_a_stranded_edge_and_reindex_sweeps_it(clew: Clew) -> None:
    clew.remember("OrderApi and MailServer are red", scope=SHOP)
    clew.link("OrderApi", "uses", "MailServer", scope=SHOP)
    changed(clew, "DELETE FROM memory_node_links WHERE role = 'mention'")
    with clew.store.read() as tx:
        assert tx.edges.dangling("local") == {"edges": 1}
    clew.store.write(lambda tx: tx.edges.sweep("local"))
    assert by_users(clew) == set()


def changed(clew: Clew, sql: str) -> None:
    clew.store.write(lambda tx: tx.session.connection.execute(sql))  # type: ignore[attr-defined]


# -- what comes back with a memory ---------------------------------------------------------------------


def lasting(clew: Clew, **who: Any) -> list[list[tuple[str, Any]]]:
    """The edges that someone sees, without their times."""
    lines = [
        {key: value for key, value in line.items() if not key.endswith("_at")} for line in exported(clew, **who)
    ]
    return sorted([list(line.items()) for line in lines], key=str)


def test_what_people_linked_comes_back_with_a_memory_that_was_softly_forgotten(clew: Clew) -> None:
    one, two = (clew.remember(text, scope=SHOP).id for text in ("Deploys are slow", "The cache is cold"))
    clew.link(one, "caused_by", two, scope=SHOP)
    clew.link(one, "depends_on", "service:turbine", scope=SHOP)
    clew.link("service:turbine", "blocks", one, scope=SHOP)
    before = by_users(clew), lasting(clew)
    clew.forget(one)
    assert by_users(clew) == set()
    clew.revert(one, 1)
    assert (by_users(clew), lasting(clew)) == before
    assert clew.unlink(one, "depends_on", "service:turbine", scope=SHOP).changed


@pytest.mark.parametrize("first_back", [0, 1])
@pytest.mark.parametrize("first_gone", [0, 1])
def test_a_link_between_two_forgotten_memories_comes_back_with_the_last_of_them(
    clew: Clew, first_gone: int, first_back: int
) -> None:
    ids = [clew.remember(text, scope=SHOP).id for text in ("Deploys are slow", "The cache is cold")]
    clew.link(ids[0], "contradicts", ids[1], scope=SHOP)
    before = by_users(clew)
    for at in (first_gone, 1 - first_gone):
        clew.forget(ids[at])
    for at in (first_back, 1 - first_back):
        assert by_users(clew) == set()
        clew.revert(ids[at], 1)
    assert by_users(clew) == before


def test_what_was_taken_back_or_forgotten_for_good_does_not_come_back(clew: Clew) -> None:
    one, two = (clew.remember(text, scope=SHOP).id for text in ("Deploys are slow", "The cache is cold"))
    clew.link(one, "caused_by", two, scope=SHOP)
    clew.link(one, "depends_on", "service:turbine", scope=SHOP)
    clew.forget(one)
    clew.revert(one, 1)
    clew.unlink(one, "depends_on", "service:turbine", scope=SHOP)
    clew.forget(one)
    clew.forget(two, hard=True)
    clew.revert(one, 3)
    assert by_users(clew) == set()


def test_a_link_comes_back_with_an_import_of_what_was_forgotten(clew: Clew, tmp_path: Path) -> None:
    one = clew.remember("Deploys are slow", scope=SHOP).id
    with (tmp_path / "x.jsonl").open("w") as file:
        clew.export(file)
    clew.link(one, "depends_on", "service:turbine", scope=SHOP)
    clew.forget(one)
    clew.import_file(tmp_path / "x.jsonl")
    assert by_users(clew) == {(one, "depends_on", "turbine")}


@pytest.mark.parametrize("first_back", ["parent", "child"])
def test_what_was_derived_from_a_memory_hangs_on_it_again(clew: Clew, first_back: str) -> None:
    parent = clew.remember("we use PostgreSQL", scope=SHOP).id
    child = clew.remember("so backups are pg_dump", parents=(parent,), scope=SHOP).id
    clew.forget(child)
    clew.forget(parent)
    for id in (parent, child) if first_back == "parent" else (child, parent):
        clew.revert(id, 1)
    clew.remember("something else", scope=SHOP)  # the next pass
    derived = run(clew, "SELECT n.node_key FROM graph_edges e JOIN graph_nodes n ON n.row = e.to_row"
                        " WHERE e.edge_type = 'derived_from'")  # fmt: skip
    assert derived == [(parent,)]


def test_children_and_those_that_share_a_thing_hang_on_a_memory_again(clew: Clew) -> None:
    parent = clew.remember("AuthService is slow", scope=SHOP).id
    clew.remember("so AuthService gets a cache", parents=(parent,), scope=SHOP)
    before = lasting(clew)
    clew.forget(parent)
    clew.revert(parent, 1)
    clew.remember("something else", scope=BLOG)  # the next pass
    assert lasting(clew, scope=SHOP) == before


def test_history_tells_the_states_of_a_memory_that_was_linked(clew: Clew) -> None:
    one = clew.remember("Deploys are slow", scope=SHOP)
    clew.link(one.id, "depends_on", "service:turbine", scope=SHOP)
    clew.forget(one.id)
    assert clew.history(one.id)[0].memory == one.memory

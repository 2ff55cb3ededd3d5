"""What a write leaves in the graph, what an edit replaces, and what a forget takes away."""

from __future__ import annotations

import io
from collections.abc import Iterator
from datetime import timedelta
from itertools import permutations
from pathlib import Path
from typing import Any

import apsw
import pytest

from clew.clew import Clew
from clew.model.memory import Draft, Filter, Memory, Past
from clew.model.scope import Scope
from clew.remember.lifecycle import soft_delete
from toys import ToldClock, open_toy
from traces import raw_bytes, traces

SHOP = Scope(project="shop")


@pytest.fixture
def clock() -> ToldClock:
    return ToldClock()


@pytest.fixture
def clew(tmp_path: Path, clock: ToldClock) -> Iterator[Clew]:
    with open_toy(tmp_path / "clew.db", clock=clock) as clew:
        yield clew


def query(clew: Clew, sql: str) -> list[tuple[Any, ...]]:
    """Straight from the file, past everything that filters."""
    connection = apsw.Connection(str(clew.store.path))  # type: ignore[attr-defined]
    try:
        return connection.execute(sql).fetchall()
    finally:
        connection.close()


def run(clew: Clew, sql: str) -> None:
    query(clew, sql)


def counts(clew: Clew) -> dict[str, int]:
    tables = ("graph_nodes", "graph_edges", "graph_evidence", "memory_node_links", "memory_names", "graph_pending")
    return {table: query(clew, f"SELECT count(*) FROM {table}")[0][0] for table in tables}


def everything(clew: Clew) -> list[list[tuple[Any, ...]]]:
    """The whole graph by names, without rows and times."""
    return [
        query(clew, "SELECT node_type, node_key, label, project_id FROM graph_nodes ORDER BY 1, 2"),
        query(clew, f"{EDGES} ORDER BY 1, 2, 3"),
        query(clew, "SELECT l.role, n.node_type, n.node_key, m.id FROM memory_node_links l JOIN graph_nodes n"
                    " ON n.row = l.node_row JOIN memories m ON m.row = l.memory_row ORDER BY 1, 2, 3, 4"),
        query(clew, "SELECT name, is_subject, memory_row FROM memory_names ORDER BY 1, 2, 3"),
        query(clew, "SELECT edge_row, memory_row, sentence, origin FROM graph_evidence ORDER BY 1, 2"),
    ]  # fmt: skip


EDGES = (
    "SELECT f.node_type || ':' || f.node_key, e.edge_type, t.node_type || ':' || t.node_key, e.weight,"
    " e.confidence, e.label, e.expires_at FROM graph_edges e JOIN graph_nodes f ON f.row = e.from_row"
    " JOIN graph_nodes t ON t.row = e.to_row"
)


def edges(clew: Clew, type_: str) -> list[tuple[str, str]]:
    rows = query(clew, f"{EDGES} WHERE e.edge_type = '{type_}' ORDER BY e.row")
    return [(row[0], row[2]) for row in rows]


def confidence(clew: Clew, type_: str) -> float:
    [(value,)] = query(clew, f"SELECT confidence FROM graph_edges WHERE edge_type = '{type_}'")
    return float(value)


def tags_of(clew: Clew, id: str) -> set[str]:
    rows = query(clew, "SELECT n.node_key FROM memory_node_links l JOIN graph_nodes n ON n.row = l.node_row"
                       " JOIN memories m ON m.row = l.memory_row"
                       f" WHERE l.role = 'tag' AND m.id = '{id}'")  # fmt: skip
    return {key for (key,) in rows}


# -- writing -------------------------------------------------------------------------------------------


def test_t1_nodes_roles_and_edges_of_a_memory(clew: Clew) -> None:
    scope = Scope(project="github.com/webrenew/memories", user="user-123")
    id = clew.remember(
        "We chose tokens", type="decision", tags=("Auth", "auth", "MCP"), category="Architecture", scope=scope
    ).id
    nodes = {f"{type_}:{key}" for type_, key in query(clew, "SELECT node_type, node_key FROM graph_nodes")}
    roles = sorted(role for (role,) in query(clew, "SELECT role FROM memory_node_links"))
    types = {type_ for (type_,) in query(clew, "SELECT edge_type FROM graph_edges")}
    assert nodes == {"category:architecture", f"memory:{id}", "memory_type:decision",
                     "repo:github.com/webrenew/memories", "topic:auth", "topic:mcp", "user:user-123"}  # fmt: skip
    assert roles == ["category", "scope", "self", "subject", "tag", "tag", "type"]
    assert types >= {"authored_by", "about", "mentions", "contains_type", "related_to"}


def test_t2_every_edge_of_a_working_memory_ends_with_it(clew: Clew) -> None:
    memory = clew.remember("a note", layer="working", tags=("auth",), scope=Scope(project="p", user="ann")).memory
    ends = {end for (end,) in query(clew, "SELECT expires_at FROM graph_edges")}
    assert memory.expires_at is not None
    assert ends == {int(memory.expires_at.timestamp() * 1_000_000)}


def test_t4_mapping_the_same_memory_twice_changes_nothing(clew: Clew) -> None:
    id = clew.remember("AuthService depends on Redis", tags=("auth",), title="Auth", thread="t", scope=SHOP).id
    before = everything(clew)
    clew.edit(id, confidence=0.9)
    clew.edit(id, confidence=1.0)
    assert everything(clew) == before


def test_t5_an_edit_of_tags_replaces_exactly_these_and_a_forget_leaves_nothing(clew: Clew) -> None:
    id = clew.remember("limits", tags=("billing", "limits"), scope=SHOP).id
    clew.edit(id, tags=("migrations",))
    assert tags_of(clew, id) == {"migrations"}
    assert not query(clew, "SELECT 1 FROM graph_nodes WHERE node_key = 'billing'")
    clew.forget(id)
    assert set(counts(clew).values()) == {0}


def test_t6_a_working_memory_that_stays_keeps_its_edges_for_good(clew: Clew) -> None:
    id = clew.remember("a note", layer="working", tags=("auth",), scope=SHOP).id
    clew.edit(id, layer="long_term")
    assert {end for (end,) in query(clew, "SELECT expires_at FROM graph_edges")} == {None}


def test_t7_a_failing_sync_leaves_the_graph_as_it_was_and_the_edit_done(clew: Clew) -> None:
    id = clew.remember("limits", tags=("billing",), scope=SHOP).id
    run(clew, "CREATE TRIGGER broken BEFORE INSERT ON graph_edges BEGIN SELECT raise(ABORT, 'no'); END")
    assert clew.edit(id, tags=("migrations",)).tags == ("migrations",)
    assert tags_of(clew, id) == {"billing"}
    assert query(clew, "SELECT reason, attempts FROM graph_pending") == [("GRAPH_MAPPING_SYNC_FAILED", 1)]


def test_t8_a_failing_replacement_leaves_the_old_relation(clew: Clew) -> None:
    id = clew.remember("AuthService depends on Redis", scope=SHOP).id
    run(clew, "CREATE TRIGGER broken BEFORE INSERT ON graph_edges BEGIN SELECT raise(ABORT, 'no'); END")
    clew.edit(id, content="AuthService calls UserController")
    assert edges(clew, "depends_on") == [("service:authservice", "service:redis")]
    assert edges(clew, "calls") == []


def test_t9_a_shared_topic_stays_while_another_memory_has_it(clew: Clew) -> None:
    one = clew.remember("first", tags=("auth",), scope=SHOP).id
    other = clew.remember("second", tags=("auth",), scope=SHOP).id
    clew.forget(one)
    assert tags_of(clew, other) == {"auth"}
    assert len(query(clew, "SELECT 1 FROM graph_nodes WHERE node_type = 'memory'")) == 1


def test_t27_with_writing_off_there_are_no_graph_rows_and_later_nothing_is_lost(tmp_path: Path) -> None:
    with open_toy(tmp_path / "clew.db", graph={"write": False}) as clew:
        clew.remember("AuthService depends on Redis", scope=SHOP)
        assert {name for name, count in counts(clew).items() if count} == {"graph_pending"}
    with open_toy(tmp_path / "clew.db") as clew:
        clew.remember("something else", scope=SHOP)
        assert edges(clew, "depends_on") == [("service:authservice", "service:redis")]
        assert counts(clew)["graph_pending"] == 0


def test_an_edit_while_writing_is_off_leaves_nothing_stale(tmp_path: Path) -> None:
    with open_toy(tmp_path / "clew.db") as clew:
        id = clew.remember("AuthService depends on Redis", scope=SHOP).id
    with open_toy(tmp_path / "clew.db", graph={"write": False}) as clew:
        clew.edit(id, content="nothing of the kind")
        assert counts(clew)["graph_edges"] == 0


def test_t28_a_memory_is_kept_edited_and_forgotten_although_the_graph_fails(clew: Clew) -> None:
    for table in ("graph_nodes", "graph_edges", "memory_node_links"):
        run(clew, f"CREATE TRIGGER no_{table} BEFORE INSERT ON {table} BEGIN SELECT raise(ABORT, 'no'); END")
    id = clew.remember("AuthService depends on Redis", scope=SHOP).id
    clew.edit(id, tags=("auth",))
    assert clew.recall("Redis", scope=SHOP).results[0].memory.id == id
    assert clew.forget(id).ids == (id,)
    assert set(counts(clew).values()) == {0}


def test_what_fails_in_the_graph_is_logged_by_its_kind_and_without_its_text(
    clew: Clew, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    id = clew.remember("AuthService depends on Redis", scope=SHOP).id
    run(clew, "CREATE TRIGGER no_edges BEFORE INSERT ON graph_edges BEGIN SELECT raise(ABORT, 'secret'); END")
    clew.remember("PayService depends on Redis", scope=SHOP)
    run(clew, "ALTER TABLE graph_edges RENAME COLUMN edge_type TO another")
    clew.forget(id)

    def stumbles(_memory: Memory) -> None:
        raise KeyError("secret")

    monkeypatch.setattr("clew.remember.graph.graph_draft", stumbles)
    clew.remember("a note", scope=SHOP)
    told = {record.getMessage().partition(":")[0] for record in caplog.records}
    assert {f"the graph was not {what}" for what in ("written", "read", "read from a text")} <= told
    assert "KeyError" in caplog.text and "secret" not in caplog.text


def test_a_memory_is_forgotten_and_comes_back_although_the_graph_cannot_be_read(clew: Clew) -> None:
    id = clew.remember("AuthService depends on Redis", scope=SHOP).id
    run(clew, "ALTER TABLE graph_edges RENAME COLUMN edge_type TO another")
    assert clew.forget(id).ids == (id,)
    assert clew.revert(id, 1).deleted_at is None


def test_one_bad_memory_does_not_take_the_rest_of_a_batch_along(clew: Clew) -> None:
    run(clew, "CREATE TRIGGER picky BEFORE INSERT ON graph_nodes WHEN new.node_key = 'bad'"
              " BEGIN SELECT raise(ABORT, 'no'); END")  # fmt: skip
    drafts = [Draft(content=f"memory {n}", tags=("bad",) if n == 2 else ("good",)) for n in range(5)]
    list(clew.remember_many(drafts, scope=SHOP))
    assert len(query(clew, "SELECT 1 FROM memory_node_links WHERE role = 'tag'")) == 4
    assert counts(clew)["graph_pending"] == 1


def test_t31_forgetting_the_working_layer_leaves_the_rest_and_its_graph(clew: Clew) -> None:
    clew.remember("passing", layer="working", tags=("auth",), scope=SHOP)
    kept = clew.remember("lasting", tags=("auth",), scope=SHOP).id
    clew.forget_many(Filter(layer="working"), hard=True, scope=SHOP)
    assert [id for (id,) in query(clew, "SELECT node_key FROM graph_nodes WHERE node_type = 'memory'")] == [kept]
    assert tags_of(clew, kept) == {"auth"}


def test_aliases_are_one_node_in_a_project_and_another_elsewhere(clew: Clew) -> None:
    for text in ("AuthService is slow", "auth_service was restarted", "the auth-service again"):
        clew.remember(text, scope=SHOP)
    clew.remember("AuthService here", scope=Scope(project="blog"))
    rows = query(clew, "SELECT project_id, count(*) FROM graph_nodes WHERE node_key = 'authservice' GROUP BY 1")
    assert rows == [("blog", 1), ("shop", 1)]


# -- witnesses -----------------------------------------------------------------------------------------


def test_every_witness_keeps_its_sentence(clew: Clew) -> None:
    clew.remember("A long story. AuthService depends on Redis. The end.", scope=SHOP)
    clew.remember("As we know, AuthService depends on Redis for sessions.", scope=SHOP)
    rows = query(clew, "SELECT v.sentence FROM graph_evidence v JOIN graph_edges e ON e.row = v.edge_row"
                       " WHERE e.edge_type = 'depends_on' ORDER BY v.memory_row")  # fmt: skip
    assert [sentence.rstrip(".") for (sentence,) in rows] == [
        "AuthService depends on Redis",
        "As we know, AuthService depends on Redis for sessions",
    ]


def test_another_witness_reinforces_and_the_same_one_twice_does_not(clew: Clew) -> None:
    id = clew.remember("AuthService depends on Redis.", scope=SHOP).id
    base = confidence(clew, "depends_on")
    clew.edit(id, content="AuthService depends on Redis. Yes, AuthService depends on Redis.")
    assert confidence(clew, "depends_on") == base
    clew.remember("Again: AuthService depends on Redis.", scope=SHOP)
    assert confidence(clew, "depends_on") == pytest.approx(min(1.0, base + 0.05))


def test_a_lost_witness_takes_its_share_back_and_the_last_one_the_edge(clew: Clew) -> None:
    one = clew.remember("AuthService depends on Redis.", scope=SHOP).id
    base = confidence(clew, "depends_on")
    two = clew.remember("Again: AuthService depends on Redis.", scope=SHOP).id
    clew.forget(one)
    assert confidence(clew, "depends_on") == pytest.approx(base)
    clew.edit(two, content="Nothing about that.")
    assert edges(clew, "depends_on") == []


def test_no_lost_witness_takes_an_edge_below_what_it_began_with(clew: Clew) -> None:
    clew.remember("AuthService depends on Redis.", scope=SHOP)
    base = confidence(clew, "depends_on")
    others = [clew.remember(f"Note {at}: AuthService depends on Redis.", scope=SHOP).id for at in range(4)]
    for id in others:
        clew.forget(id)
    assert confidence(clew, "depends_on") == pytest.approx(base)


def test_witnesses_that_come_and_go_leave_a_faded_edge_as_it_was(clew: Clew, clock: ToldClock) -> None:
    clew.remember("AuthService depends on Redis.", scope=SHOP)
    clock.pass_by(days=900)
    clew.graph.decay()
    faded = confidence(clew, "depends_on")
    for number in range(12):
        clew.forget(clew.remember(f"Note {number}: AuthService depends on Redis.", scope=SHOP).id)
    assert confidence(clew, "depends_on") == pytest.approx(faded)


def test_an_edit_keeps_what_others_state_and_replaces_its_own(clew: Clew) -> None:
    one = clew.remember("AuthService depends on Redis.", scope=SHOP).id
    clew.remember("Still, AuthService depends on Redis.", scope=SHOP)
    clew.edit(one, content="AuthService calls UserController.")
    assert edges(clew, "depends_on") == [("service:authservice", "service:redis")]
    assert len(edges(clew, "calls")) == 1


# -- how memories relate -------------------------------------------------------------------------------


def test_engram_2_a_thing_a_thread_and_a_cause_make_one_edge_each(clew: Clew) -> None:
    first = clew.remember("AuthService is slow", thread="t1", scope=SHOP).id
    second = clew.remember("We pivoted because AuthService was slow", thread="t1", scope=SHOP).id
    assert edges(clew, "entity") == [(f"memory:{second}", f"memory:{first}")]
    assert edges(clew, "time") == edges(clew, "causal") == [(f"memory:{first}", f"memory:{second}")]
    labels = dict(query(clew, "SELECT edge_type, label FROM graph_edges WHERE label <> ''"))
    assert labels == {"entity": "service:authservice", "time": "t1", "causal": "because"}


def test_engram_5_a_session_gives_a_cause_its_predecessor_and_a_setting_takes_it(tmp_path: Path) -> None:
    for number, adjacency in enumerate((True, False)):
        scope = Scope(project="shop", session="s1")
        with open_toy(tmp_path / f"{number}.db", graph={"session_adjacency": adjacency}) as clew:
            clew.remember("The disk was full", scope=scope)
            clew.remember("The build failed because of that", scope=scope)
            assert len(edges(clew, "causal")) == adjacency
            assert edges(clew, "time") == []


def test_a_thread_is_followed_in_the_order_of_time(clew: Clew, clock: ToldClock) -> None:
    first = clew.remember("first", thread="t", scope=SHOP)
    clock.pass_by(hours=2)
    third = clew.remember("third", thread="t", scope=SHOP).id
    late = clew.remember("second, written late", thread="t", at=first.memory.at.replace(minute=59), scope=SHOP).id
    assert edges(clew, "time") == [(f"memory:{first.id}", f"memory:{late}"), (f"memory:{late}", f"memory:{third}")]


@pytest.mark.parametrize("order", list(permutations(range(4))))
def test_a_thread_that_arrives_in_any_order_is_the_same_thread(
    clew: Clew, clock: ToldClock, order: tuple[int, ...]
) -> None:
    for number in order:
        at = clock.now() + timedelta(days=number - 9)
        clew.remember(Draft(content=f"step {number}", id=f"m{number}", thread="t", at=at), scope=SHOP)
    for number in range(4):
        clew.remember(f"something else {number}", scope=SHOP)  # the next passes
    assert sorted(edges(clew, "time")) == [(f"memory:m{n}", f"memory:m{n + 1}") for n in range(3)]
    assert counts(clew)["graph_pending"] == 0


def test_a_memory_that_moves_within_its_thread_leaves_no_gap(clew: Clew, clock: ToldClock) -> None:
    ids = [
        clew.remember(f"step {number}", thread="t", scope=SHOP).id for number in range(3) if clock.pass_by(hours=1)
    ]
    clew.edit(ids[0], at=clock.now() + timedelta(hours=9))
    for number in range(3):
        clew.remember(f"something else {number}", scope=SHOP)  # the next passes
    assert sorted(edges(clew, "time")) == sorted(
        [(f"memory:{ids[1]}", f"memory:{ids[2]}"), (f"memory:{ids[2]}", f"memory:{ids[0]}")]
    )


def test_a_late_memory_of_one_user_is_between_that_users_own(clew: Clew, clock: ToldClock) -> None:
    ann, bob = (Scope(project="shop", user=name) for name in ("ann", "bob"))
    first = clew.remember("shared", thread="t", scope=SHOP).id
    clock.pass_by(hours=2)
    of_ann, of_bob = (clew.remember("later", thread="t", scope=scope).id for scope in (ann, bob))
    late = clew.remember("between", thread="t", at=clock.now() - timedelta(hours=1), scope=ann).id
    clew.remember("something else", scope=SHOP)  # the next pass
    pairs = ((first, late), (late, of_ann), (first, of_bob))
    assert set(edges(clew, "time")) == {(f"memory:{one}", f"memory:{other}") for one, other in pairs}


def test_a_thread_that_is_appended_to_leaves_nothing_to_look_at_again(clew: Clew) -> None:
    list(clew.remember_many([Draft(content=f"step {number}", thread="t") for number in range(3)], scope=SHOP))
    clew.remember("step 3", thread="t", scope=SHOP)
    assert counts(clew)["graph_pending"] == 0


def test_at_most_so_many_entity_edges_and_those_of_rare_things_first(tmp_path: Path) -> None:
    with open_toy(tmp_path / "clew.db", graph={"max_entity_edges": 3}) as clew:
        rare = clew.remember("PaymentGateway is new", scope=SHOP).id
        for n in range(8):
            clew.remember(f"AuthService note {n}", scope=SHOP)
        last = clew.remember("AuthService talks of PaymentGateway", scope=SHOP).id
        found = [to for source, to in edges(clew, "entity") if source == f"memory:{last}"]
    assert len(found) == 3
    assert f"memory:{rare}" in found


@pytest.mark.parametrize("titled_first", [True, False])
def test_a_memory_that_names_anothers_title_mentions_it_whichever_came_first(
    clew: Clew, titled_first: bool
) -> None:
    drafts = [Draft(content="How we log in.", title="Login Design"),
              Draft(content="As the Login Design says, tokens last an hour.")]  # fmt: skip
    for draft in drafts if titled_first else drafts[::-1]:
        clew.remember(draft, scope=SHOP)
    titled, naming = (next(m.id for m in clew.list(scope=SHOP) if m.content == d.content) for d in drafts)
    assert edges(clew, "mention") == [(f"memory:{naming}", f"memory:{titled}")]


def test_a_file_in_the_paths_of_a_memory_is_named_by_another(clew: Clew) -> None:
    about = clew.remember("the middleware checks tokens", paths=("src/auth/mw.py",), scope=SHOP).id
    naming = clew.remember("see src/auth/mw.py:42 for the bug", scope=SHOP).id
    assert (f"memory:{naming}", f"memory:{about}") in edges(clew, "mention")


def test_a_new_title_ends_what_named_the_old_one(clew: Clew) -> None:
    titled = clew.remember("How we log in.", title="Login Design", scope=SHOP).id
    clew.remember("As the Login Design says.", scope=SHOP)
    clew.edit(titled, title="Something Else")
    assert edges(clew, "mention") == []


def test_who_shared_a_thing_with_a_memory_that_no_longer_names_it_hangs_on_it_no_more(clew: Clew) -> None:
    older = clew.remember("SessionStore is slow on cold starts, and so is CartStore.", scope=SHOP).id
    newer = clew.remember("SessionStore and CartStore were written by the platform group.", scope=SHOP).id
    shared = [(f"memory:{newer}", f"memory:{older}")]
    assert edges(clew, "entity") == shared
    for text in ("CartStore is slow on cold starts.", "SessionStore is slow on cold starts."):
        clew.edit(older, content=text)
        clew.remember(f"something else: {len(text)}", scope=SHOP)  # the next pass
        assert edges(clew, "entity") == shared  # by the other thing
    clew.edit(older, content="The cafeteria serves bananas.")
    assert edges(clew, "entity") == []


def test_who_followed_a_memory_in_a_thread_that_it_left_follows_another(clew: Clew) -> None:
    first, middle, last = (clew.remember(text, thread="t", scope=SHOP).id for text in ("one", "two", "three"))
    clew.edit(middle, thread="another")
    assert edges(clew, "time") == []
    clew.remember("something else", scope=SHOP)  # the next pass
    assert edges(clew, "time") == [(f"memory:{first}", f"memory:{last}")]


def test_two_users_private_memories_never_meet(clew: Clew) -> None:
    clew.remember("private", title="Login Design", scope=Scope(project="shop", user="ann"))
    clew.remember("the Login Design of AuthService", scope=Scope(project="shop", user="bob"))
    clew.remember("AuthService is mine", scope=Scope(project="shop", user="ann"))
    assert edges(clew, "mention") == edges(clew, "entity") == []


def test_a_replacement_and_a_derivation_are_edges(clew: Clew) -> None:
    old = clew.remember("we use MySQL", scope=SHOP).id
    new = clew.remember("we use PostgreSQL", supersedes=old, scope=SHOP).id
    child = clew.remember("so backups are pg_dump", parents=(new,), scope=SHOP).id
    assert edges(clew, "supersedes") == [(f"memory:{new}", f"memory:{old}")]
    assert edges(clew, "derived_from") == [(f"memory:{child}", f"memory:{new}")]


def test_a_batch_and_single_writes_give_the_same_graph(tmp_path: Path) -> None:
    texts = ["AuthService depends on Redis.", "Redis is slow because of AuthService.", "See AuthService in PROJ-7."]
    drafts = [Draft(content=text, title=f"Note Number {n}", thread="t", id=f"m{n}") for n, text in enumerate(texts)]
    found = []
    for name in ("batch", "single"):
        with open_toy(tmp_path / f"{name}.db") as clew:
            if name == "batch":
                list(clew.remember_many(drafts, scope=SHOP))
            else:
                for draft in drafts:
                    clew.remember(draft, scope=SHOP)
            found.append([sorted(rows) for rows in everything(clew)[:3]])
    assert found[0] == found[1]


def test_an_older_store_gets_its_graph_by_and_by(tmp_path: Path) -> None:
    with open_toy(tmp_path / "clew.db") as clew:
        clew.remember("AuthService depends on Redis", scope=SHOP)
        for table in ("graph_nodes", "graph_edges", "graph_evidence", "memory_node_links", "memory_names"):
            run(clew, f"DELETE FROM {table}")
        run(clew, "INSERT INTO graph_pending SELECT org_id, row, 'NOT_YET_MAPPED', 0, updated_at FROM memories")
    with open_toy(tmp_path / "clew.db") as clew:
        clew.remember("anything", scope=SHOP)
        assert edges(clew, "depends_on") == [("service:authservice", "service:redis")]


def test_a_hard_forget_leaves_no_trace_of_names_sentences_or_labels(clew: Clew, tmp_path: Path) -> None:
    kept = clew.remember("AuthService is slow", tags=("auth",), scope=SHOP).id
    id = clew.remember(
        "AuthService depends on QuokkaVault. See src/wombat/okapi.py for PLATYPUS-7.",
        title="Wallaby Plan", tags=("auth", "numbat"), category="Dingo", scope=SHOP,
    ).id  # fmt: skip
    clew.remember("the Wallaby Plan is old", scope=SHOP)
    clew.forget(id, hard=True)
    assert traces(tmp_path, ["quokkavault", "wombat", "okapi", "platypus", "numbat", "dingo"]) == []
    assert tags_of(clew, kept) == {"auth"}
    assert edges(clew, "depends_on") == edges(clew, "mention") == []


# -- what was once wrong -------------------------------------------------------------------------------


def test_an_edit_while_writing_is_off_keeps_what_a_person_linked(tmp_path: Path) -> None:
    with open_toy(tmp_path / "clew.db") as clew:
        one, other = (clew.remember(text, scope=SHOP).id for text in ("Alpha note.", "Beta note."))
        clew.link(one, "caused_by", other, scope=SHOP)
    with open_toy(tmp_path / "clew.db", graph={"write": False}) as clew:
        clew.edit(one, tags=("x",))
        assert edges(clew, "caused_by") == [(f"memory:{one}", f"memory:{other}")]


def test_a_hard_forget_takes_its_spelling_of_shared_names_along(clew: Clew, tmp_path: Path) -> None:
    id = clew.remember("The Zx_Quux_Service is slow", scope=SHOP).id
    kept = clew.remember("The ZxQuuxService is fine", scope=SHOP).id
    clew.forget(id, hard=True)
    assert b"Zx_Quux_Service" not in raw_bytes(tmp_path)
    clew.remember("anything", scope=SHOP)
    labels = query(clew, "SELECT label FROM graph_nodes WHERE node_key = 'zxquuxservice'")
    assert labels == [("ZxQuuxService",)]
    assert clew.show(kept)


def test_a_thread_closes_over_a_memory_that_is_forgotten(clew: Clew) -> None:
    first, middle, last = (clew.remember(text, thread="t", scope=SHOP).id for text in ("one", "two", "three"))
    clew.forget(middle)
    clew.remember("something else", scope=SHOP)  # the next pass
    assert edges(clew, "time") == [(f"memory:{first}", f"memory:{last}")]


def test_known_text_that_replaces_another_supersedes_it_in_the_graph_too(clew: Clew) -> None:
    old = clew.remember("we use MySQL", scope=SHOP).id
    known = clew.remember("we use PostgreSQL", scope=SHOP).id
    clew.remember("we use PostgreSQL", supersedes=old, scope=SHOP)
    assert edges(clew, "supersedes") == [(f"memory:{known}", f"memory:{old}")]
    clew.revert(old, 1)
    assert edges(clew, "supersedes") == []


def test_what_was_replaced_is_so_again_in_the_graph_when_it_comes_back(clew: Clew, tmp_path: Path) -> None:
    old = clew.remember("we use MySQL", upsert_key="db", scope=SHOP).id
    new = clew.remember("we use PostgreSQL", upsert_key="db", scope=SHOP).id
    (tmp_path / "x.jsonl").write_text(lines_of(clew))
    clew.forget(old)
    clew.revert(old, 2)
    assert edges(clew, "supersedes") == [(f"memory:{new}", f"memory:{old}")]
    clew.forget(old)
    clew.import_file(tmp_path / "x.jsonl")
    assert edges(clew, "supersedes") == [(f"memory:{new}", f"memory:{old}")]


@pytest.mark.parametrize("older_first", [True, False])
def test_an_import_brings_supersession_into_the_graph(clew: Clew, older_first: bool) -> None:
    past = Past(created_at=clew.now(), updated_at=clew.now(), superseded_by="new")
    drafts = [Draft(content="we use MySQL", id="old", past=past, invalid_at=clew.now() + timedelta(days=1)),
              Draft(content="we use PostgreSQL", id="new")]  # fmt: skip
    for draft in drafts if older_first else drafts[::-1]:
        clew.remember(draft, scope=SHOP)
    assert edges(clew, "supersedes") == [("memory:new", "memory:old")]


def lines_of(clew: Clew) -> str:
    file = io.StringIO()
    clew.export(file)
    return file.getvalue()


def test_an_import_brings_what_replaced_each_other_by_a_key_into_the_graph(clew: Clew, tmp_path: Path) -> None:
    for text, session in (("we use MySQL", "s2"), ("we use SQLite", "s1"), ("we use PostgreSQL", "s1")):
        clew.remember(text, upsert_key="db", scope=Scope(project="shop", session=session))
    (tmp_path / "x.jsonl").write_text(lines_of(clew))
    with open_toy(tmp_path / "other.db") as other:
        other.import_file(tmp_path / "x.jsonl")
        assert set(edges(other, "supersedes")) == set(edges(clew, "supersedes"))


@pytest.mark.parametrize("key", [None, "plan"])
@pytest.mark.parametrize("session", ["s1", "s2"])
def test_a_thread_comes_back_in_its_order(clew: Clew, tmp_path: Path, key: str | None, session: str) -> None:
    """Whoever holds a key, and however the sessions are called that it runs through."""
    clew.remember("we plan it", thread="t", upsert_key=key, scope=Scope(project="shop", session="s2"))
    clew.remember("we do it", thread="t", scope=Scope(project="shop", session=session))
    (tmp_path / "x.jsonl").write_text(lines_of(clew))
    with open_toy(tmp_path / "other.db") as other:
        other.import_file(tmp_path / "x.jsonl")
        assert edges(other, "time") == edges(clew, "time") != []


@pytest.mark.parametrize("key", [None, "plan"])
def test_an_import_hangs_what_was_derived_on_its_parents(clew: Clew, tmp_path: Path, key: str | None) -> None:
    later, earlier = (Scope(project="shop", session=name) for name in ("s2", "s1"))
    parent = clew.remember("we plan to use PostgreSQL", upsert_key=key, scope=later).id
    child = clew.remember("a plan for a database", parents=(parent,), scope=earlier).id
    clew.remember("a database", parents=(child,), scope=later)
    (tmp_path / "x.jsonl").write_text(lines_of(clew))
    with open_toy(tmp_path / "other.db") as other:
        other.import_file(tmp_path / "x.jsonl")
        assert set(edges(other, "derived_from")) == set(edges(clew, "derived_from"))


def test_private_memories_of_others_do_not_crowd_out_ones_own(clew: Clew) -> None:
    ann, bob = (Scope(project="shop", user=user) for user in ("ann", "bob"))
    mine = clew.remember("how we pay", title="Payment Plan", scope=bob).id
    for number in range(20):
        clew.remember(f"mine {number}", title="Payment Plan", scope=ann)
    naming = clew.remember("The Payment Plan broke.", scope=bob).id
    assert edges(clew, "mention") == [(f"memory:{naming}", f"memory:{mine}")]


def test_counts_of_witnesses_are_those_of_the_rows(clew: Clew) -> None:
    ids = [clew.remember(f"AuthService depends on Redis, {n}", layer=layer, scope=SHOP).id
           for n, layer in enumerate(("working", "long_term", "long_term"))]  # fmt: skip
    clew.edit(ids[1], layer="working")
    clew.forget(ids[2])
    rows = query(clew, "SELECT e.witnesses, count(v.edge_row), e.lasting, sum(v.expires_at IS NULL),"
                       " e.expires_at IS NULL"
                       " FROM graph_edges e JOIN graph_evidence v ON v.edge_row = e.row"
                       " GROUP BY e.row")  # fmt: skip
    assert rows
    assert all(row[0] == row[1] and row[2] == row[3] and bool(row[2]) == bool(row[4]) for row in rows)


def test_the_cost_of_a_forget_does_not_grow_with_what_shares_its_topic(clew: Clew) -> None:
    """By steps of the database, not by time."""

    def steps(count: int) -> int:
        drafts = [Draft(content=f"note {count} {n}", tags=("shared",)) for n in range(count)]
        ids = [item.id for item in clew.remember_many(drafts, scope=SHOP)]
        clew.forget(ids[0])

        def measure(tx: Any) -> int:
            ops = 0

            def tick() -> bool:
                nonlocal ops
                ops += 1
                return False

            tx.session.connection.set_progress_handler(tick, 100)
            memory = clew.show(ids[1])
            soft_delete(tx, memory, clew.now())
            tx.session.connection.set_progress_handler(None)
            return ops

        return int(clew.store.write(measure))

    assert steps(800) < 3 * steps(50)

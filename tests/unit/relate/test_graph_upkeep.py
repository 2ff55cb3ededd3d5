"""After a write: what failed is made up for, edges decay, and the write itself never suffers from it."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import apsw
import pytest

from clew.clew import Clew
from clew.model.memory import Draft
from clew.model.scope import Identity, Scope
from clew.model.upkeep import Check
from clew.relate import background, upkeep
from clew.relate.decay import DecayPolicy, decay_some
from clew.remember import graph as mapping
from toys import ToldClock, open_toy

BROKEN = "CREATE TRIGGER broken BEFORE INSERT ON graph_edges BEGIN SELECT raise(ABORT, 'no'); END"
MENDED = "DROP TRIGGER broken"
TEXT = "The AuthService depends on Redis"


@pytest.fixture
def clock() -> ToldClock:
    return ToldClock()


@pytest.fixture
def clew(tmp_path: Path, clock: ToldClock) -> Iterator[Clew]:
    with open_toy(tmp_path / "clew.db", clock=clock) as opened:
        yield opened


def run(clew: Clew, sql: str) -> list[tuple[Any, ...]]:
    """Straight on the file."""
    connection = apsw.Connection(str(clew.store.path))  # type: ignore[attr-defined]
    try:
        return connection.execute(sql).fetchall()
    finally:
        connection.close()


def pending(clew: Clew) -> list[tuple[Any, ...]]:
    return run(clew, "SELECT memory_row, attempts FROM graph_pending ORDER BY 1")


def edge_types(clew: Clew) -> set[str]:
    return {type_ for (type_,) in run(clew, "SELECT edge_type FROM graph_edges")}


# -- when to look -----------------------------------------------------------------------------------


def test_writes_of_one_second_look_once_unless_they_leave_something_behind(clew: Clew, clock: ToldClock) -> None:
    looks, seen = upkeep.Looks(clew.store), list[str]()

    def write(name: str, *, more: bool = False) -> None:
        looks.after_write(lambda: bool(seen.append(name)) or more, clock.now())

    write("first")
    write("at once")
    clock.pass_by(seconds=2)
    write("later", more=True)
    write("goes on")
    write("again at once")
    run(clew, BROKEN)
    clew.remember(TEXT)  # leaves its part of the graph for later
    write("something is left")
    assert seen == ["first", "later", "goes on", "something is left"]


def test_what_one_store_left_behind_is_no_reason_to_look_at_another(clew: Clew, tmp_path: Path) -> None:
    run(clew, BROKEN)
    with open_toy(tmp_path / "other.db") as other:
        clew.remember(TEXT)
        assert (clew.store.left_behind > 0, other.store.left_behind) == (True, 0)


def test_a_look_that_failed_is_tried_again_by_the_next_write(clew: Clew, clock: ToldClock) -> None:
    looks, tried = upkeep.Looks(clew.store), list[int]()

    def fail() -> bool:
        tried.append(1)
        raise ValueError

    assert not looks.after_write(fail, clock.now()) and not looks.after_write(fail, clock.now())
    assert len(tried) == 2


# -- what failed -----------------------------------------------------------------------------------


def test_a_memory_is_kept_when_the_graph_fails_and_the_next_write_mends_it(clew: Clew) -> None:
    run(clew, BROKEN)
    stored = clew.remember(TEXT)
    assert clew.show(stored.id).content == TEXT and "depends_on" not in edge_types(clew)
    run(clew, MENDED)
    clew.remember("We deploy on Tuesdays")
    assert "depends_on" in edge_types(clew) and pending(clew) == []


def test_a_failure_that_lasts_is_tried_again_with_patience(clew: Clew, clock: ToldClock) -> None:
    run(clew, BROKEN)
    clew.remember(TEXT)
    for number in range(4):
        clew.remember(f"plain note {number}")
    assert pending(clew) == [(1, 3)]  # the write, and two tries at once
    run(clew, MENDED)
    clew.remember("too early")
    assert pending(clew) == [(1, 3)]
    clock.pass_by(minutes=11)
    clew.remember("late enough")
    assert pending(clew) == [] and "depends_on" in edge_types(clew)


def test_after_five_attempts_only_reindex_tries_again(clew: Clew, clock: ToldClock) -> None:
    run(clew, BROKEN)
    clew.remember(TEXT)
    for number in range(6):
        clock.pass_by(minutes=11)
        clew.remember(f"plain note {number}")
    assert pending(clew) == [(1, mapping.MAX_ATTEMPTS)]
    run(clew, MENDED)
    clock.pass_by(days=1)
    clew.remember("no more")
    assert "depends_on" not in edge_types(clew)
    assert clew.reindex().graph == 1
    assert pending(clew) == [] and "depends_on" in edge_types(clew)


def test_a_store_without_a_graph_gets_one_by_and_by(clew: Clew) -> None:
    empty_graph(clew, [f"note {number} of AuthService" for number in range(150)])
    for left in (86, 22, 0):
        clew.remember(f"one more, then {left} are left")
        assert len(pending(clew)) == left


def empty_graph(clew: Clew, texts: list[str]) -> None:
    """As a migration leaves a store that is older than the graph."""
    list(clew.remember_many([Draft(content=text) for text in texts]))
    for table in ("graph_nodes", "graph_edges", "graph_evidence", "memory_node_links", "memory_names"):
        run(clew, f"DELETE FROM {table}")
    run(clew, "INSERT INTO graph_pending (org_id, memory_row, reason, at) SELECT org_id, row, 'NOT_YET_MAPPED', 0"
              " FROM memories")  # fmt: skip
    clew.__dict__.pop("_looks", None)  # a process that was opened after it


def test_a_process_that_stays_finishes_in_the_background(tmp_path: Path) -> None:
    with open_toy(tmp_path / "clew.db", in_background=True, relate={"in_process": False}) as clew:
        empty_graph(clew, [f"note {number} of AuthService" for number in range(200)])
        clew.remember("one more")
        clew.background_upkeep.wait()
        assert pending(clew) == []
        assert len(run(clew, "SELECT 1 FROM memory_node_links WHERE role = 'self'")) == 201


def test_the_background_ends_when_nothing_can_be_mended() -> None:
    portions = iter((True, True, False, True))
    work = background.BackgroundUpkeep(lambda: next(portions))
    work.start()
    work.wait()
    assert next(portions) and not work.failed


def test_while_writing_is_off_nothing_is_tried(tmp_path: Path) -> None:
    with open_toy(tmp_path / "clew.db", graph={"write": False}) as clew:
        clew.remember(TEXT)
        clew.remember("another")
        assert pending(clew) == [(1, 0), (2, 0)]
        assert clew.reindex().graph == 0


# -- never at the cost of a write ------------------------------------------------------------------


def test_a_failure_is_logged_without_content_and_the_write_stands(
    clew: Clew, caplog: pytest.LogCaptureFixture
) -> None:
    clew.remember("the audit log begins")
    clew.clock.pass_by(days=8)  # type: ignore[attr-defined]
    run(clew, "CREATE TRIGGER full BEFORE INSERT ON meta BEGIN SELECT raise(ABORT, 'my dear secret'); END")
    with caplog.at_level(logging.WARNING):
        stored = clew.remember("my dear secret")
    assert clew.show(stored.id).content == "my dear secret"
    assert "the graph was not looked after" in caplog.text and "secret" not in caplog.text


def test_a_call_is_followed_by_one_portion_and_one_that_is_given_up_by_none(clew: Clew) -> None:
    empty_graph(clew, [f"note {number} of AuthService" for number in range(100)])
    many = [Draft(content=f"plain note {number}") for number in range(600)]
    next(iter(clew.remember_many(many)))
    assert len(pending(clew)) == 100
    assert len(list(clew.remember_many(many))) == 600
    assert len(pending(clew)) == 100 - mapping.REPAIRED_AT_ONCE


# -- decay -----------------------------------------------------------------------------------------


def confidences(clew: Clew) -> set[float]:
    return {round(value, 9) for (value,) in run(clew, "SELECT confidence FROM graph_edges")}


def test_a_write_lets_edges_decay_once_a_week(clew: Clew, clock: ToldClock) -> None:
    clew.remember(TEXT)
    assert confidences(clew) == {0.95}
    clock.pass_by(days=100)
    clew.remember("a plain note")
    assert confidences(clew) == {0.85}
    clock.pass_by(days=80)
    run(clew, "UPDATE graph_edges SET last_reinforced_at = 0")
    clew.remember("another plain note")
    assert confidences(clew) == {0.1}


def test_switched_off_nothing_decays(tmp_path: Path, clock: ToldClock) -> None:
    with open_toy(tmp_path / "clew.db", clock=clock, graph={"edge_decay": False}) as clew:
        clew.remember(TEXT)
        clock.pass_by(days=400)
        clew.remember("a plain note")
        assert confidences(clew) == {0.95}


def test_a_large_graph_decays_over_several_writes(
    clew: Clew, clock: ToldClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(6):
        clew.remember(f"The Svc{number}Service depends on Redis", tags=(f"t{number}",))
    total = len(run(clew, "SELECT 1 FROM graph_edges"))
    monkeypatch.setattr(upkeep, "decay_some", partial(decay_some, limit=total // 2))
    clock.pass_by(days=100)
    clew.remember("a plain note")
    aged = "SELECT count(*) FROM graph_edges WHERE last_reinforced_at > created_at"
    assert run(clew, aged) == [(total // 2,)]
    for number in range(3):
        clew.remember(f"plain note {number}")
    assert run(clew, aged) == [(total,)]


# -- reindex and the doctor ------------------------------------------------------------------------


def check(clew: Clew, name: str) -> Check:
    return next(check for check in clew.doctor() if check.name == name)


def everything(clew: Clew) -> list[list[tuple[Any, ...]]]:
    queries = (
        "SELECT node_type, node_key, project_id FROM graph_nodes ORDER BY 1, 2, 3",
        "SELECT a.node_key, b.node_key, e.edge_type, e.label, e.confidence FROM graph_edges e"
        " JOIN graph_nodes a ON a.row = e.from_row JOIN graph_nodes b ON b.row = e.to_row ORDER BY 1, 2, 3",
        "SELECT l.memory_row, n.node_key, l.role FROM memory_node_links l JOIN graph_nodes n ON n.row = l.node_row"
        " ORDER BY 1, 2, 3",
        "SELECT v.memory_row, v.origin, v.sentence FROM graph_evidence v ORDER BY 1, 2, 3",
        "SELECT name, is_subject, memory_row FROM memory_names ORDER BY 1, 2, 3",
    )
    return [run(clew, query) for query in queries]


def busy(clew: Clew) -> None:
    """Memories of all kinds of relations."""
    old = clew.remember("AuthService stores sessions in memory", title="Sessions", thread="t").id
    clew.remember(TEXT, tags=("auth", "db"), thread="t")
    clew.remember("It was slow because of Redis, see Sessions", thread="t", category="incident")
    derived = clew.remember("AuthService needs Redis", parents=(old,), supersedes=old).id
    clew.link(derived, "contradicts", old)
    clew.link(derived, "uses", "service:redis")
    clew.remember("passing", layer="working", tags=("auth",))


def test_reindex_finds_nothing_to_do_in_a_graph_that_is_as_it_should_be(clew: Clew) -> None:
    busy(clew)
    before, changes = everything(clew), clew.stats().last_change
    assert clew.reindex().graph == 0
    assert (everything(clew), clew.stats().last_change) == (before, changes)


@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM memory_node_links WHERE memory_row = 2 AND role = 'tag'",
        "DELETE FROM memory_names WHERE memory_row = 1",
        "DELETE FROM graph_evidence WHERE memory_row = 2 AND origin = 'stated'",
        "UPDATE graph_evidence SET sentence = 'stale' WHERE memory_row = 2 AND origin = 'stated'",
        "DELETE FROM graph_edges WHERE edge_type = 'depends_on'",
        "INSERT INTO graph_pending (org_id, memory_row, reason, attempts, at) VALUES ('local', 2, 'x', 9, 0)",
        "INSERT INTO graph_pending (org_id, memory_row, reason, attempts, at) VALUES ('local', 99, 'x', 9, 0)",
        "INSERT INTO memory_node_links (org_id, memory_row, node_row, role) VALUES ('local', 99, 1, 'tag')",
        "UPDATE memories SET deleted_at = 1 WHERE row = 4",
    ],
)
def test_reindex_mends_a_damaged_graph_and_then_finds_nothing(clew: Clew, damage: str) -> None:
    busy(clew)
    run(clew, damage)
    clew.reindex()
    assert check(clew, "graph").ok and pending(clew) == []
    assert clew.reindex().graph == 0
    if "memories" not in damage:
        intact = everything(clew)
        clew.reindex()
        assert everything(clew) == intact


def test_reindex_builds_the_whole_graph_again(clew: Clew) -> None:
    texts = [TEXT, "AuthService calls UserController", "Redis was restarted", "auth_service is slow"]
    list(clew.remember_many([Draft(content=text, tags=("auth",)) for text in texts]))
    before = everything(clew)
    for table in ("graph_nodes", "graph_edges", "graph_evidence", "memory_node_links", "memory_names"):
        run(clew, f"DELETE FROM {table}")
    assert clew.reindex().graph == 4
    assert everything(clew) == before


def test_a_reindexed_graph_keeps_what_a_person_linked(clew: Clew) -> None:
    one = clew.remember("plain note").id
    clew.link(one, "depends_on", "Redis")
    run(clew, "INSERT INTO graph_pending (org_id, memory_row, reason, at) VALUES ('local', 1, 'x', 0)")
    assert clew.reindex().graph == 1
    assert edge_types(clew) == {"depends_on"}


def test_the_doctor_names_failures_and_how_to_mend_them(clew: Clew) -> None:
    assert check(clew, "graph").ok
    run(clew, BROKEN)
    clew.remember(TEXT)
    found = check(clew, "graph")
    assert (
        not found.ok and found.detail.startswith("1 memories could not be mapped") and "clew reindex" in found.next
    )


def test_the_doctor_finds_what_dangles(clew: Clew) -> None:
    clew.remember(TEXT)
    run(clew, "DELETE FROM graph_nodes WHERE node_key = 'redis'")
    found = check(clew, "graph")
    assert not found.ok and "1 links" in found.detail and "edges" in found.detail
    clew.reindex()
    assert check(clew, "graph").ok and "depends_on" in edge_types(clew)


def test_the_doctor_tells_when_edges_were_looked_through(clew: Clew, clock: ToldClock) -> None:
    assert check(clew, "decay").detail == "edges were not looked through yet"
    clew.remember(TEXT)
    clock.pass_by(days=100)
    clew.graph.decay()
    assert check(clew, "decay").detail.endswith("1 of 1 edges lost confidence")


def test_reindex_comes_to_rest_also_where_more_name_a_title_than_are_kept(clew: Clew) -> None:
    """Which mentions are kept beyond the cap depends on who came first; that must not go back and forth."""
    for number in range(25):
        clew.remember(f"Report {number}: see Session Runbook about it")
        clew.remember(f"Chapter {number}", title="Session Runbook")
    clew.forget(clew.list()[5].id)
    clew.reindex()
    before = everything(clew)
    assert (clew.reindex().graph, everything(clew)) == (0, before)


def test_an_edit_keeps_who_names_the_title_also_beyond_the_cap(clew: Clew) -> None:
    first = clew.remember("See Session Runbook about it").id
    runbook = clew.remember("how to", title="Session Runbook").id
    list(clew.remember_many([Draft(content=f"Report {number}: see Session Runbook") for number in range(20)]))
    clew.edit(runbook, content="how to do it")
    named = "SELECT v.memory_row FROM graph_evidence v JOIN graph_edges e ON e.row = v.edge_row"
    named += " WHERE e.edge_type = 'mention' AND v.memory_row = 1"
    assert run(clew, named) == [(1,)]
    clew.edit(runbook, title="Something Else")
    assert run(clew, named) == [] and clew.show(first)


# -- many orgs -------------------------------------------------------------------------------------


def in_orgs(clew: Clew, text: str, *orgs: str) -> None:
    for org in orgs:
        clew.remember(text, scope=Scope(org=org), identity=Identity(org=org))


def test_the_next_write_mends_what_failed_in_every_org(clew: Clew) -> None:
    run(clew, BROKEN)
    in_orgs(clew, TEXT, "local", "acme")
    found = check(clew, "graph")
    assert not found.ok and found.detail.startswith("2 memories could not be mapped")
    run(clew, MENDED)
    run(clew, "UPDATE graph_pending SET attempts = 1")  # the write of the second was a try for the first
    clew.remember("We deploy on Tuesdays")
    assert pending(clew) == [] and check(clew, "graph").ok
    assert run(clew, "SELECT DISTINCT org_id FROM graph_edges WHERE edge_type = 'depends_on' ORDER BY 1") == [
        ("acme",), ("local",),
    ]  # fmt: skip


def test_a_portion_mends_a_few_orgs_and_says_that_more_is_left(
    clew: Clew, clock: ToldClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upkeep, "MENDED_AT_ONCE", 2)
    run(clew, BROKEN)
    in_orgs(clew, TEXT, "a", "b", "c")
    run(clew, MENDED)
    run(clew, "UPDATE graph_pending SET attempts = 0")
    portion = partial(upkeep.upkeep, clew.store, mapping.GraphPolicy(), DecayPolicy(edge_decay=False), clock.now())
    assert [(portion(), len(pending(clew))) for _ in range(3)] == [(True, 1), (False, 0), (False, 0)]


def test_reindex_mends_the_graph_and_the_index_of_every_org(clew: Clew) -> None:
    in_orgs(clew, TEXT, "local", "acme")
    run(clew, "DELETE FROM graph_nodes WHERE node_key = 'redis'")
    run(clew, "INSERT INTO memory_fts (memory_fts) VALUES ('delete-all')")
    assert "differ in 2 memories" in check(clew, "index").detail
    assert not check(clew, "graph").ok
    report = clew.reindex()
    assert (report.memories, report.rebuilt, report.graph, report.jobs) == (2, True, 2, 2)
    assert check(clew, "graph").ok and check(clew, "index").ok
    assert clew.reindex().graph == 0

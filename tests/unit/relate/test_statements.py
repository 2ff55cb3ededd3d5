"""What was found is written with its witness, replaced as a whole, and gone with the memory."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

from clew.clew import Clew
from clew.model.relation import LLM, RULE, SIMILAR, Finding
from clew.model.scope import Reach, Scope
from clew.relate.statements import condition_label, condition_ref
from told_relations import SHOP, OpenAt, both_ways, edges, open_told, remember, replace, rows
from toys import ToldClock

TEXTS = ("one", "two", "three")


@pytest.fixture
def clew(clew_at: OpenAt, tmp_path: Path) -> Clew:
    return clew_at(tmp_path / "home")


def said(kind: str, target: str, **more: Any) -> Finding:
    return Finding(kind, target, **{"confidence": 0.8, "origin": LLM} | more)


def found(clew: Clew) -> list[tuple[Any, ...]]:
    query = "SELECT * FROM graph_edges ORDER BY row", "SELECT * FROM graph_evidence ORDER BY 1, 2, 3"
    return [row for one in (*query, "SELECT * FROM graph_nodes ORDER BY row") for row in rows(clew, one)]


def five(target: str) -> list[Finding]:
    kinds = ("caused_by", "prefers_over", "depends_on", "specializes")
    return [said(kind, target) for kind in kinds] + [said("conditional_on", " Time:Morning ")]


def test_t21_five_relations_written_twice_are_there_once(clew: Clew) -> None:
    [one, two] = remember(clew, "one", "two")
    replace(clew, two, *five(one))
    before = found(clew)
    replace(clew, two, *five(one))
    assert found(clew) == before
    assert len(edges(clew)) == 5
    assert rows(clew, "SELECT node_key, label FROM graph_nodes WHERE node_type = 'condition'") == [
        ("time:morning", "morning")
    ]


def test_i9_a_condition_is_one_node_for_all_projects(clew: Clew) -> None:
    [one] = remember(clew, "one")
    [two] = remember(clew, "two", scope=Scope())
    replace(clew, one, said("conditional_on", "time:morning"))
    replace(clew, two, said("conditional_on", "TIME:Morning"))
    assert edges(clew) == {("one", "conditional_on", "time:morning"), ("two", "conditional_on", "time:morning")}
    assert rows(clew, "SELECT count(*) FROM graph_nodes WHERE node_type = 'condition'") == [(1,)]


def test_w22_the_label_of_a_condition_keeps_all_after_its_kind() -> None:
    assert condition_ref("  Time:08:00  CET ").key == "time:08:00_cet"
    assert condition_label("time:08:00_cet") == "08:00 cet"
    assert condition_label("weekend") == "weekend"


def test_i8_supersedes_leads_from_the_new_to_the_old_and_contradicts_both_ways(clew: Clew) -> None:
    [one, two] = remember(clew, "one", "two")
    replace(clew, two, said("supersedes", one), said("contradicts", one), said("caused_by", one, reversed=True))
    assert edges(clew) == {("two", "supersedes", "one"), ("one", "caused_by", "two")} | both_ways(
        "contradicts", "one", "two"
    )


def test_d3_the_witness_keeps_the_quote_and_the_explanation(clew: Clew) -> None:
    [one, two] = remember(clew, "one", "two")
    replace(clew, two, said("depends_on", one, sentence="two", explanation="it says so"))
    assert rows(clew, "SELECT sentence, explanation, origin FROM graph_evidence WHERE origin = 'llm'") == [
        ("two", "it says so", "llm")
    ]
    replace(clew, two, said("depends_on", one, sentence="two", explanation="for another reason"))
    assert rows(clew, "SELECT explanation FROM graph_evidence WHERE origin = 'llm'") == [("for another reason",)]


def test_i2_t8_a_failing_insert_leaves_everything_as_it_was(clew: Clew) -> None:
    [one, two] = remember(clew, "one", "two")
    replace(clew, two, said("depends_on", one))
    rows(clew, """CREATE TRIGGER fails BEFORE INSERT ON graph_edges WHEN new.edge_type = 'caused_by'
                  BEGIN SELECT RAISE(ABORT, 'told to'); END""")  # fmt: skip
    before = found(clew)
    with pytest.raises(Exception, match="excludes"):
        replace(clew, two, said("conditional_on", "time:noon"), said("caused_by", one))
    assert found(clew) == before


def test_w8_what_another_memory_established_stays(clew: Clew) -> None:
    [one, two] = remember(clew, "one", "two")
    replace(clew, one, said("supersedes", two, origin=RULE), said("contradicts", two))
    replace(clew, two, said("depends_on", one))
    replace(clew, two)
    assert edges(clew) == {("one", "supersedes", "two")} | both_ways("contradicts", "one", "two")


def test_what_was_not_looked_for_is_not_taken_back(clew: Clew) -> None:
    [one, two] = remember(clew, "one", "two")
    replace(clew, two, said("depends_on", one), said("supersedes", one, origin=RULE))
    replace(clew, two, looked_at={RULE})
    assert edges(clew) == {("two", "depends_on", "one")}


def test_w8_an_edit_of_the_tags_leaves_what_was_found_and_one_of_the_text_does_not(
    clew_at: OpenAt, tmp_path: Path
) -> None:
    clew = open_told(clew_at, tmp_path, {"one": [1.0, 0.0], "two": [1.0, 0.0]})
    [one, two] = remember(clew, "one", "two")
    clew.jobs.run()
    replace(clew, one, said("contradicts", two), looked_at={LLM})
    replace(clew, two, said("caused_by", one), looked_at={LLM})
    clew.edit(two, tags=("billing",))
    assert len(edges(clew)) == 5
    clew.edit(two, content="something else")
    assert edges(clew) == both_ways("contradicts", "one", "something else")


def test_w20_i14_a_relation_ends_with_the_first_of_its_memories(clew: Clew, clock: ToldClock) -> None:
    [one] = remember(clew, "one", layer="working")
    [two] = remember(clew, "two")
    replace(clew, two, said("similar_to", one, origin=SIMILAR, confidence=1.0), said("depends_on", one))
    [(end,)] = rows(clew, "SELECT expires_at FROM memories WHERE content = 'one'")
    ends = "SELECT DISTINCT expires_at FROM graph_edges WHERE edge_type IN ('similar_to', 'depends_on')"
    assert rows(clew, ends) == [(end,)]
    clew.edit(two, tags=("new",))
    assert rows(clew, ends) == [(end,)]
    clew.edit(one, layer="long_term")
    assert rows(clew, ends) == [(None,)]
    clock.pass_by(days=30)
    assert "two" in {target for _source, _kind, target in edges(clew)}


@pytest.mark.parametrize("hard", [False, True])
def test_i10_forgetting_a_memory_leaves_nothing_of_what_was_found(clew: Clew, hard: bool) -> None:
    [one, two, three] = remember(clew, *TEXTS)
    finding = said("similar_to", one, origin=SIMILAR, confidence=1.0)
    replace(clew, two, *five(one), finding, said("contradicts", one, sentence="a quote of two"))
    replace(clew, three, said("conditional_on", "time:morning"), said("supersedes", two, origin=RULE))
    clew.forget(two, hard=hard)
    assert edges(clew) == {("three", "conditional_on", "time:morning")}
    assert rows(clew, "SELECT count(*) FROM graph_evidence WHERE origin IN ('llm', 'rule', 'similar')") == [(1,)]
    clew.forget(three, hard=hard)
    assert rows(clew, "SELECT count(*) FROM graph_nodes WHERE node_type = 'condition'") == [(0,)]


def test_a_recall_in_the_same_process_walks_new_edges_at_once(clew: Clew) -> None:
    [login, quiet] = remember(clew, "login page", "moonlight sonata")
    reach, now = Reach.of(SHOP), clew.clock.now()
    clew._reader.graphs.load(reach, now)  # the arrays a process that stays walks on
    assert quiet not in {result.memory.id for result in clew.recall("login", scope=SHOP).results}
    replace(clew, login, said("depends_on", quiet))
    recalled = clew.recall("login", scope=SHOP)
    assert quiet in {result.memory.id for result in recalled.results}
    replace(clew, login)
    assert quiet not in {result.memory.id for result in clew.recall("login", scope=SHOP).results}


def test_likeness_survives_a_move_to_another_store_and_is_replaced_there(clew_at: OpenAt, tmp_path: Path) -> None:
    told = {"one": [1.0, 0.0], "two": [1.0, 0.0], "apart": [0.0, 1.0]}
    clew, other = open_told(clew_at, tmp_path, told), open_told(clew_at, tmp_path / "other", told)
    [one, _two] = remember(clew, "one", "two")
    clew.jobs.run()
    memories, lines = io.StringIO(), io.StringIO()
    clew.export(memories)
    clew.graph.export(lines)
    for name, text in (("memories.jsonl", memories), ("edges.jsonl", lines)):
        (tmp_path / name).write_text(text.getvalue(), encoding="utf-8")
    other.import_file(tmp_path / "memories.jsonl")
    other.graph.import_file(tmp_path / "edges.jsonl")
    assert edges(other) == both_ways("similar_to", "one", "two")
    other.edit(one, content="apart")
    assert not edges(other)


def test_what_was_found_fades_like_all_that_nothing_reinforces(clew: Clew, clock: ToldClock) -> None:
    [one, two] = remember(clew, "one", "two")
    replace(clew, two, said("similar_to", one, origin=SIMILAR, confidence=1.0))
    clock.pass_by(days=91)
    clew.graph.decay()
    sure = "SELECT DISTINCT round(confidence, 6) FROM graph_edges WHERE edge_type = 'similar_to'"
    assert rows(clew, sure) == [(0.9,)]
    replace(clew, two, said("similar_to", one, origin=SIMILAR, confidence=1.0))
    assert rows(clew, sure) == [(0.9,)]


def test_a_memory_that_was_forgotten_meanwhile_is_not_connected(clew: Clew) -> None:
    [one, two] = remember(clew, "one", "two")
    clew.forget(one)
    replace(clew, two, said("depends_on", one))
    assert not edges(clew)


def test_a_shared_memory_is_never_connected_to_a_private_one(clew: Clew) -> None:
    [one] = remember(clew, "one", scope=Scope(project="shop", user="ada"))
    [two] = remember(clew, "two")
    replace(clew, two, said("contradicts", one))
    assert not edges(clew)


def test_reindexing_leaves_what_was_found_and_finds_it_mapped(clew: Clew) -> None:
    [one, two] = remember(clew, "one", "two")
    replace(clew, two, *five(one))
    before = edges(clew)
    assert clew.reindex().graph == 0
    assert edges(clew) == before

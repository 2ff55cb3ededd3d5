"""A recall laid open: what served each result, what its score is made of, what every filter let pass."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from clew import InvalidInput, Unavailable
from clew.model.recalled import GraphWay
from clew.recall.xray import (
    SERVED_BY,
    ScoreDecomposition,
    Xray,
    XrayResult,
    aligned_confidences,
    served_by,
    xray_of,
)
from toys import START, ToyEmbedder

CHECKOUT, AUTH = "The checkout depends on AuthService", "AuthService depends on Redis"


def remember_chain(memory: Any) -> tuple[str, str]:
    """Two memories; only the graph leads from a question about the first to the second."""
    return memory.remember(CHECKOUT).id, memory.remember(AUTH).id


@pytest.fixture
def chained(clew_at: Callable[..., Any], tmp_path: Path) -> Any:
    memory = clew_at(tmp_path / "home")
    remember_chain(memory)
    return memory


# -- the confidences of a way --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "given", "kept"),
    [
        (("a", "b"), (0.87,), (0.87,)),
        (("a", "b", "c"), (-0.5, 1.5), (0.0, 1.0)),
        (("a", "b", "c", "d"), (0.5, math.nan, 0.7), ()),
        (("a", "b"), (math.inf,), ()),
        (("a", "b", "c"), (0.5,), ()),
        (("a", "b"), (0.5, 0.6), ()),
        (("a",), (), ()),
        ((), (0.5,), ()),
    ],
)
def test_confidences_are_kept_aligned_and_within_bounds_or_not_at_all(
    path: tuple[str, ...], given: tuple[float, ...], kept: tuple[float, ...]
) -> None:
    assert aligned_confidences(path, given) == kept


def test_a_result_without_confidences_has_no_path_confidence(chained: Any) -> None:
    [_first, reached] = chained.recall("checkout", plan="graph_mode").results
    broken = replace(reached, way=GraphWay("mem_a", ("a", "b"), (math.nan,), "entity", 1, 0.5, 1.0))
    recalled = replace(chained.recall("checkout"), results=[broken])
    [result] = xray_of(recalled, query="checkout", at=START).as_json()["results"]
    assert result["graphPath"] == ["a", "b"]
    assert "graphEdgeConfidences" not in result and "pathConfidence" not in result


# -- results -------------------------------------------------------------------------------------------


def test_what_only_the_graph_found_is_served_by_the_graph_with_its_way(chained: Any) -> None:
    [found, reached] = chained.xray("checkout", plan="graph_mode").as_json()["results"]
    assert found["servedBy"] == "hybrid" and "graphPath" not in found
    assert reached["servedBy"] == "graph"
    assert reached["graphPath"] == [f"memory:{found['memoryId']}", f"memory:{reached['memoryId']}"]
    assert reached["graphEdgeConfidences"] == [1.0] and reached["pathConfidence"] == 1.0
    assert reached["admittedBy"] == [f"graph via {found['memoryId']}"]


def test_what_words_found_as_well_is_served_by_them_though_the_graph_lifts_it(chained: Any) -> None:
    results = chained.xray("checkout redis", plan="graph_mode").results
    assert {result.served_by for result in results} == {"hybrid"}
    assert any(result.graph_path for result in results)


def test_rules_and_recent_memories_say_so(memory: Any) -> None:
    memory.remember("never deploy on fridays", type="rule")
    memory.remember("lunch is at noon")
    assert [served_by(result) for result in memory.recall("").results] == ["rule", "recent-scan"]


def test_the_score_is_taken_apart(memory: Any) -> None:
    memory.remember("the gateway is slow", weight=2.0)
    [result] = memory.recall("gateway").results
    [opened] = memory.xray("gateway").as_json()["results"]
    raw = {why.source: why.raw for why in result.why}
    assert opened["scoreDecomposition"] == {
        "vector": raw["semantic"], "bm25": raw["lexical"], "importance": 2.0, "final": result.rank_score
    }  # fmt: skip
    assert opened["admittedBy"] == ["lexical #1", "semantic #1", "boost by weight"]


def test_parts_of_a_score_that_are_no_numbers_are_dropped() -> None:
    scores = ScoreDecomposition(math.nan, vector=math.inf, bm25=1.5)
    assert scores.as_json() == {"bm25": 1.5, "final": 0.0}


@pytest.mark.parametrize(("text", "tokens"), [("abcd", 1), ("abcde", 2), ("ab", 1)])
def test_tokens_are_a_quarter_of_the_characters_rounded_up(memory: Any, text: str, tokens: int) -> None:
    memory.remember(text)
    assert memory.xray(text).results[0].estimated_tokens == tokens


def test_an_unknown_server_is_refused() -> None:
    with pytest.raises(InvalidInput) as refused:
        XrayResult("mem_a", "magic", ScoreDecomposition(1.0), chars=3)
    assert refused.value.code == "SERVED_BY_UNKNOWN" and all(name in refused.value.next for name in SERVED_BY)


# -- filters -------------------------------------------------------------------------------------------


def filters(opened: Xray) -> list[tuple[Any, ...]]:
    return [(entry.name, entry.considered, entry.admitted, entry.reason) for entry in opened.filters]


def test_every_removal_is_a_filter_of_its_own(memory: Any) -> None:
    old = memory.remember("the gateway is slow")
    memory.remember("the gateway is fast", supersedes=old.id)
    memory.remember("gateway step", layer="working")
    told = filters(memory.xray("gateway", types=("note",), mode="long_term", retrieval="lexical"))
    assert ("filter", 3, 2, "superseded") in told
    assert ("rank", 2, 1, "layer") in told
    assert told[-1] == ("read", 1, 1, None)


def test_the_graph_is_a_filter_even_when_it_did_not_run(chained: Any) -> None:
    [skipped] = [entry for entry in filters(chained.xray("checkout", plan="full")) if entry[0] == "graph"]
    [walked] = [entry for entry in filters(chained.xray("checkout", plan="graph_mode")) if entry[0] == "graph"]
    assert skipped[1:3] == (0, 0) and "1 of 3" in skipped[3]
    assert walked == ("graph", 1, 1, "graph expansion merged into recall ranking")


def test_what_the_graph_reached_and_a_filter_hid_is_counted(chained: Any) -> None:
    chained.remember("AuthService needs a new owner", type="decision")
    told = filters(chained.xray("checkout", plan="graph_mode", types=("note",)))
    assert next(entry for entry in told if entry[0] == "graph")[1:3] == (2, 1)


def test_a_recall_that_was_planned_away_still_has_an_xray(chained: Any) -> None:
    opened = chained.xray("thanks!", plan="auto")
    assert filters(opened) == [("planner-mode", 0, 0, "no_recall")]
    assert opened.results == () and opened.as_json()["snapshotFound"] is True


# -- budget --------------------------------------------------------------------------------------------


def test_what_does_not_fit_is_marked_and_the_rest_is_used(chained: Any) -> None:
    opened = chained.xray("checkout", plan="graph_mode", budget=len(CHECKOUT) + 5)
    assert [result.rejected_by for result in opened.results] == [None, "budget"]
    assert opened.as_json()["budget"] == {"chars": len(CHECKOUT) + 5, "used": len(CHECKOUT)}
    assert opened.filters[-1].as_json() == {
        "name": "budget", "considered": 2, "admitted": 1, "reason": f"beyond {len(CHECKOUT) + 5} characters"
    }  # fmt: skip


def test_without_a_budget_everything_is_used(chained: Any) -> None:
    opened = chained.xray("checkout", plan="graph_mode")
    assert opened.as_json()["budget"] == {"chars": 0, "used": len(CHECKOUT) + len(AUTH)}
    assert "budget" not in {entry.name for entry in opened.filters}


@pytest.mark.parametrize("budget", [0, -5, 1.5, True, "40"])
def test_a_budget_must_be_a_positive_whole_number(memory: Any, budget: Any) -> None:
    with pytest.raises(InvalidInput) as refused:
        memory.xray("gateway", budget=budget)
    assert refused.value.code == "XRAY_BUDGET_INVALID"


@pytest.mark.parametrize("query", ["", "  \n"])
def test_an_empty_query_is_refused(memory: Any, query: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        memory.xray(query)
    assert refused.value.code == "XRAY_QUERY_EMPTY"


# -- the value and its renderings ----------------------------------------------------------------------


def test_the_envelope_names_version_query_and_moment(chained: Any) -> None:
    document = chained.xray("checkout").as_json()
    assert (document["schemaVersion"], document["query"]) == ("1", "checkout")
    assert document["capturedAt"] // 60_000 == int(START.timestamp() // 60)
    assert document["snapshotId"] != chained.xray("checkout").as_json()["snapshotId"]


def test_changing_what_was_returned_changes_no_xray(chained: Any) -> None:
    opened = chained.xray("checkout", plan="graph_mode")
    before, document = json.dumps(opened.as_json()), opened.as_json()
    for entry in document["results"]:
        entry["admittedBy"].append("hacked")
        entry["scoreDecomposition"]["final"] = -1
    document["filters"].clear()
    assert json.dumps(opened.as_json()) == before
    with pytest.raises((AttributeError, TypeError)):
        opened.results[0].scores.final = 1.0


def test_text_shows_four_decimals_the_path_and_its_confidences(memory: Any) -> None:
    memory.remember("lunch")
    way = GraphWay("mem_a", ("a", "b"), (0.871,), "entity", 1, 0.5, 0.871)
    recalled = memory.recall("lunch")
    reached = replace(recalled.results[0], way=way, rank_score=0.5)
    text = xray_of(replace(recalled, results=[reached]), query="lunch", at=START).render()
    assert "final=0.5000" in text and "graph-path: a -> b\n" in text
    assert "edge-confidences: 0.87\n" in text and "conf=0.87" in text


def test_markdown_and_json_show_the_same(chained: Any) -> None:
    opened = chained.xray("check`out` \n# not a heading", plan="graph_mode")
    markdown = opened.render("markdown")
    assert "`check'out' # not a heading`" in markdown and "\n# not" not in markdown
    assert all(result.memory_id in markdown for result in opened.results)
    assert json.loads(opened.render("json")) == opened.as_json()


def test_an_unknown_format_is_refused_with_the_options(chained: Any) -> None:
    with pytest.raises(InvalidInput) as refused:
        chained.xray("checkout").render("yaml")
    assert "text, markdown, json" in refused.value.next


# -- planned away --------------------------------------------------------------------------------------


def test_no_recall_answers_nothing_and_does_not_touch_the_store(clew_at: Any, tmp_path: Path) -> None:
    """A store that was closed refuses every look; only what does not look gets an answer."""
    memory = clew_at(tmp_path / "closed", embedder=ToyEmbedder())
    memory.remember("the gateway is slow")
    memory.store.close()
    for plan in ("auto", "no_recall"):
        assert memory.recall("ok", plan=plan).results == []
    with pytest.raises(Unavailable):
        memory.recall("gateway")

"""A case written down: what is filled in, what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from graph_cases import RAW, edges, run

from clew.errors import InvalidInput
from clew.graph.case import activate_case

GOOD: dict[str, Any] = {"edges": edges("A-B"), "seeds": ["A"], "settings": {}}


def test_a_missing_weight_or_confidence_is_one_and_null_too() -> None:
    bare = {"from": "A", "to": "B", "type": "entity"}
    full = bare | {"weight": 1, "confidence": 1}
    for edge in (bare, full, bare | {"confidence": None, "weight": None}):
        (row,) = activate_case({"edges": [edge], "seeds": ["A"]})
        assert (row["score"], row["edge_confidence"]) == (pytest.approx(0.7), 1)


def test_edges_are_read_by_type_as_engram_reads_its_files() -> None:
    mixed = edges("A-O", "about") + edges("A-C", "causal") + edges("A-T", "time") + edges("A-E, A-F")
    assert [row["node"] for row in run(mixed, "A", max_steps=1)] == ["E", "F", "T", "C", "O"]


def test_a_row_names_everything() -> None:
    assert run(edges("A-B .5", "time"), "A", **RAW) == [
        {"node": "B", "score": 0.35, "seed": "A", "hop": 1, "decayed_weight": 0.35, "type": "time",
         "edge_confidence": 0.5, "path": ["A", "B"], "edge_confidences": [0.5]}
    ]  # fmt: skip


def test_a_seed_outside_the_graph_reaches_nothing() -> None:
    assert run(edges("A-B"), "Z") == []
    assert activate_case({"edges": [], "seeds": ["A"]}) == []


@pytest.mark.parametrize(
    "broken",
    [
        {"edges": None}, {"edges": "A-B"}, {"edges": ["A-B"]}, {"edges": [{"from": "A", "to": "B"}]},
        {"edges": [{"from": "A", "to": 3, "type": "entity"}]}, {"edges": [GOOD["edges"][0] | {"weight": "much"}]},
        {"edges": [GOOD["edges"][0] | {"confidence": float("nan")}]}, {"seeds": "A"}, {"seeds": [1]},
        {"settings": []}, {"settings": {"decay": "fast"}}, {"settings": {"max_steps": True}},
        {"settings": {"refinement": "other"}}, {"settings": {"refinement": []}},
        {"settings": {"lateral_inhibition": 3}}, {"settings": {"fan_out": -1}}, {"settings": {"max_expanded": 1.5}},
    ],
)  # fmt: skip
def test_a_malformed_case_is_refused_with_an_example(broken: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput) as refused:
        activate_case(GOOD | broken)
    assert refused.value.code == "GRAPH_CASE_INVALID" and "edges" in refused.value.next


def test_a_case_that_is_no_object_is_refused() -> None:
    with pytest.raises(InvalidInput) as refused:
        activate_case([])  # type: ignore[arg-type]
    assert refused.value.message.endswith("object")  # like all others, without a full stop

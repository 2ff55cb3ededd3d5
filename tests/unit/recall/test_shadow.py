"""In the shadow the graph is walked and compared, and the answer is what it would be without it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from toys import ToyEmbedder

LINE = re.compile(r"on b=\d+ g=\d+ ov=\d+ \(\d\.\d\d\) avgDelta=-?\d\.\d{3}")
QUERIES = [f"checkout question {number}" for number in range(200)]


def opened(clew_at: Callable[..., Any], home: Path, read_model_mb: int = 64, **graph: Any) -> Any:
    """The memories are written once; any number of Clews with other settings may look at them."""
    is_new = not home.exists()
    memory = clew_at(home, embedder=ToyEmbedder(), graph=graph, recall={"read_model_mb": read_model_mb})
    if is_new:
        memory.remember("The checkout depends on AuthService")
        memory.remember("checkout and cart share a page")
        memory.remember("checkout has a slow button")
        for number in range(20):
            memory.remember(f"AuthService depends on Redis, node {number}")
    return memory


def answer(memory: Any, query: str, **options: Any) -> bytes:
    return json.dumps([result.as_json() for result in memory.recall(query, **options).results]).encode()


@pytest.mark.parametrize("read_model_mb", [0, 64])
@pytest.mark.parametrize("plan", [None, "graph_mode"])
def test_the_answer_is_the_baselines_to_the_byte(
    clew_at: Any, tmp_path: Path, plan: str | None, read_model_mb: int
) -> None:
    shadow = opened(clew_at, tmp_path / "home", read_model_mb, shadow=True, shadow_sample=1.0)
    plain = opened(clew_at, tmp_path / "home", read_model_mb)
    for query in ("checkout", "checkout button", "slow cart page"):
        assert answer(shadow, query, plan=plan) == answer(plain, query, plan=plan, graph=False)
    assert answer(plain, "checkout", plan="graph_mode") != answer(shadow, "checkout", plan="graph_mode")


def test_the_trace_compares_both_answers(clew_at: Any, tmp_path: Path) -> None:
    memory = opened(clew_at, tmp_path / "home", shadow=True, shadow_sample=1.0)
    notes = memory.recall("checkout", plan="graph_mode", retrieval="lexical").trace.notes
    assert notes["graph"]["shadow"] and notes["graph"]["reason"].endswith("without altering the answer")
    assert (notes["graph_shadow"]["baseline_count"], notes["graph_shadow"]["overlap_count"]) == (3, 3)
    assert notes["graph_shadow"]["graph_count"] > 3
    assert LINE.fullmatch(notes["graph_shadow"]["line"])


def test_the_snapshot_has_the_comparison_and_the_baseline(clew_at: Any, tmp_path: Path) -> None:
    memory = opened(clew_at, tmp_path / "home", shadow=True, shadow_sample=1.0, snapshot=True)
    found = memory.recall("checkout", retrieval="lexical")
    told = memory.last_graph_recall().as_json()
    assert (told["mode"], told["shadowMode"]) == ("graph_mode", True)
    assert told["seedCount"] == 3 and told["expandedCount"] > 0
    assert [entry["id"] for entry in told["finalResults"]] == [result.memory.id for result in found.results]
    assert {label for entry in told["finalResults"] for label in entry["sourceLabels"]} == {"baseline"}
    assert told["shadowComparison"]["baselineCount"] == 3


def test_a_query_is_always_or_never_in_the_sample(clew_at: Any, tmp_path: Path) -> None:
    memory = opened(clew_at, tmp_path / "home", shadow=True, shadow_sample=0.3)
    runs = [[compared(memory, query) for query in QUERIES] for _run in range(2)]
    assert runs[0] == runs[1]
    assert 0.2 < sum(runs[0]) / len(QUERIES) < 0.4


@pytest.mark.parametrize(("share", "expected"), [(0.0, False), (1.0, True)])
def test_the_sample_can_be_nothing_or_everything(
    clew_at: Any, tmp_path: Path, share: float, expected: bool
) -> None:
    memory = opened(clew_at, tmp_path / "home", shadow=True, shadow_sample=share)
    assert {compared(memory, query) for query in QUERIES[:20]} == {expected}


def test_outside_the_sample_the_graph_is_not_walked_and_the_answer_is_the_baselines(
    clew_at: Any, tmp_path: Path
) -> None:
    shadow = opened(clew_at, tmp_path / "home", shadow=True, shadow_sample=0.0)
    plain = opened(clew_at, tmp_path / "home")
    recalled = shadow.recall("checkout", plan="graph_mode")
    assert recalled.trace.notes["graph"]["status"] == "skipped"
    assert "graph" not in {stage.name for stage in recalled.trace.stages}
    assert answer(shadow, "checkout", plan="graph_mode") == answer(plain, "checkout", graph=False)


def compared(memory: Any, query: str) -> bool:
    return "graph_shadow" in memory.recall(query, plan="graph_mode").trace.notes

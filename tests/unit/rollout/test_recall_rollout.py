"""Recall by activation behind the rollout: the same switches, the same reasons, and what is counted of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest
from rolled import SHOP, block, break_graph, counted

from clew import VerbEvent
from clew.clew import Clew
from clew.inject.candidates import RetrievalQuery


@pytest.fixture
def clew(clew_at: Callable[..., Clew], tmp_path: Path) -> Clew:
    clew = clew_at(tmp_path)
    clew.remember("The checkout depends on AuthService", scope=SHOP)
    clew.remember("AuthService depends on Redis", scope=SHOP)
    clew.remember("Redis evicts at night", scope=SHOP)
    return clew


def asked(clew: Clew, **options: Any) -> dict[str, Any]:
    """What the trace says of the graph."""
    note: dict[str, Any] = clew.recall("checkout", scope=SHOP, **options).trace.notes["graph"]
    return note


def results(clew: Clew, **options: Any) -> str:
    found = clew.recall("checkout", scope=SHOP, **options).results
    return json.dumps([result.as_json() for result in found])


def test_a_canary_applies_what_activation_finds(clew: Clew) -> None:
    assert asked(clew)["status"] == "completed" and "fallback_reason" not in asked(clew)
    assert results(clew) != results(clew, graph=False)
    row = counted(clew)[0]
    assert (row["path"], row["applied_strategy"], row["eligible"]) == ("activate", "hybrid_graph", 1)
    assert row["graph_expanded_count"] == row["total_candidates"] - row["baseline_candidates"] > 0


def test_off_skips_the_graph_and_says_so(clew: Clew) -> None:
    clew.rollout.set("off")
    assert asked(clew) == {
        "status": "skipped",
        "reason": "the rollout mode of this org is off",
        "fallback_reason": "rollout_off",
    }
    assert results(clew) == results(clew, graph=False)


def test_i6_a_shadow_compares_every_recall_and_answers_the_baseline_to_the_byte(clew: Clew) -> None:
    plain = results(clew, graph=False)
    clew.rollout.set("shadow")
    note = asked(clew)
    assert (note["shadow"], note["fallback_reason"]) == (True, "shadow_mode")
    assert results(clew) == plain
    assert "graph_shadow" in clew.recall("checkout", scope=SHOP).trace.notes
    row = counted(clew)[-1]
    assert (row["shadow_executed"], row["eligible"], row["graph_expanded_count"]) == (1, 0, 0)
    assert row["would_expand_count"] > 0


def test_i7_a_blocked_canary_is_compared_and_not_applied(clew: Clew) -> None:
    block(clew)
    note = asked(clew)
    assert (note["shadow"], note["fallback_reason"]) == (True, "quality_gate_blocked")
    assert results(clew) == results(clew, graph=False)
    row = counted(clew)[-3]
    assert (row["eligible"], row["shadow_executed"], row["fallback_reason"]) == (1, 1, "quality_gate_blocked")


@pytest.mark.parametrize("mode", ["shadow", "canary"])
def test_a_walk_that_fails_is_counted_by_its_code(clew: Clew, mode: str) -> None:
    plain = results(clew, graph=False)
    clew.rollout.set(mode)
    break_graph(clew)
    assert asked(clew)["status"] == "aborted"
    assert results(clew) == plain
    assert counted(clew)[-1]["graph_error"] == "STORE_CORRUPT"
    assert asked(clew)["fallback_reason"] == ("shadow_mode" if mode == "shadow" else "graph_expansion_error")


def test_the_switches_are_looked_at_in_their_order(clew_at: Callable[..., Clew], tmp_path: Path) -> None:
    clew = clew_at(tmp_path, graph={"write": False, "recall": False})
    clew.rollout.set("off")
    clew.projects.set("shop", "memory", False)
    reasons = [asked(clew)["reason"]]
    clew.projects.set("shop", "memory", True)
    reasons.append(asked(clew)["reason"])
    reasons += [asked(clew_at(tmp_path, graph=graph))["reason"] for graph in ({"recall": False}, {})]
    assert reasons == [
        "memory is off for this project",
        "multi-graph memory disabled by config",
        "graph recall disabled by config",
        "the rollout mode of this org is off",
    ]


def test_one_that_asks_for_no_graph_is_counted_as_such(clew: Clew) -> None:
    clew.recall("checkout", scope=SHOP, graph=False)
    [row] = counted(clew)
    assert (row["requested_strategy"], row["fallback_triggered"], row["eligible"]) == ("baseline", 0, 0)


def test_without_a_seed_the_gate_is_not_asked(clew: Clew) -> None:
    clew.recall("nothing that is known", scope=SHOP)
    [row] = counted(clew)
    assert (row["fallback_reason"], row["eligible"]) == ("rollout_guardrail", 0)


def test_what_is_looked_for_to_be_injected_is_counted_too(clew: Clew) -> None:
    clew.inject.memories.retrieve(SHOP, RetrievalQuery(text="checkout"))
    [row] = counted(clew)
    assert (row["path"], row["project_id"]) == ("activate", "shop")


def test_numbers_are_stored_as_numbers(clew: Clew) -> None:
    clew.recall("checkout", scope=SHOP)
    clew.rollout.flush()
    types = "SELECT typeof(baseline_candidates), typeof(total_candidates), typeof(could_expand)"
    connection = apsw.Connection(str(clew.store.path))  # type: ignore[attr-defined]
    assert set(*connection.execute(f"{types} FROM graph_rollout_metrics").fetchall()) == {"integer"}


# -- start blocks and tool calls ---------------------------------------------------------------------


@pytest.mark.parametrize(("mode", "reason"), [("off", "rollout_off"), ("shadow", "shadow_mode")])
def test_a_start_block_has_facts_of_the_graph_only_in_canary(clew: Clew, mode: str, reason: str) -> None:
    session = clew.sessions.start(project="shop", title="checkout AuthService")
    assert clew.inject.start(session.id, dry_run=True).graph_status == "ok"
    clew.rollout.set(mode)
    block = clew.inject.start(session.id, dry_run=True)
    assert (block.graph_status, block.graph_node_ids) == (reason, ())


def test_a_blocked_gate_closes_the_graph_of_a_project(clew: Clew) -> None:
    block(clew)
    [gate] = [gate for name, gate in clew.projects.show("shop").gates if name == "rollout"]
    assert (gate.is_open, gate.reason) == (False, "quality_gate_blocked")
    assert "FALLBACK_RATE_ABOVE_LIMIT" in gate.words


def test_i5_a_graph_that_fails_when_its_ways_are_told_leaves_the_baseline(
    clew: Clew, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As with a walk over arrays in memory, which needs no table until then."""
    plain = results(clew, graph=False)

    def failing(*_: Any) -> Any:
        raise RuntimeError

    monkeypatch.setattr("clew.recall.recall._ways", failing)
    assert results(clew) == plain
    assert asked(clew)["fallback_reason"] == "graph_expansion_error"
    row = counted(clew)[-1]
    assert (row["eligible"], row["graph_error"], row["applied_strategy"]) == (1, "RuntimeError", "baseline")


def test_i5_a_graph_that_fails_while_it_is_blended_leaves_the_baseline(
    clew: Clew, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = results(clew, graph=False)

    def failing(*_: Any) -> Any:
        raise RuntimeError

    monkeypatch.setattr("clew.recall.recall.apply_activation", failing)
    assert results(clew) == plain
    assert counted(clew)[-1]["graph_error"] == "RuntimeError"


def test_dry_runs_and_rehearsals_are_not_counted(clew: Clew) -> None:
    session = clew.sessions.start(project="shop", title="checkout")
    clew.inject.start(session.id, dry_run=True)
    clew.sessions.claim(session.id, "w1")
    clew.inject.warm(VerbEvent(session=session.id, tool="Edit", query="checkout"))
    assert counted(clew) == []
    clew.inject.start(session.id)
    assert len(counted(clew)) == 1

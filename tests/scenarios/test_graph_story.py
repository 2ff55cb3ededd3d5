"""What the graph is for: the right memory shares no word with the question."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from clew.clew import Clew
from clew.model.scope import Scope
from toys import open_toy

SCOPE = Scope(project="github.com/acme/platform")


@pytest.fixture
def clew(tmp_path: Path) -> Iterator[Clew]:
    with open_toy(tmp_path / "clew.db") as clew:
        yield clew


def fill_with_others(clew: Clew) -> None:
    for text in ("the office moves in spring", "invoices are sent on Mondays", "lunch is at noon", "Kim likes tea"):
        clew.remember(text, scope=SCOPE)


def test_rollout_alarms_are_reached_through_the_topic_dashboard(clew: Clew) -> None:
    fill_with_others(clew)
    seed = clew.remember("rollout alarms page the person on call", tags=("dashboard", "alarms"), scope=SCOPE).id
    supporting = clew.remember("Grafana panels turn red above 2 % errors", tags=("dashboard",), scope=SCOPE).id
    found = clew.context("rollout alarms", scope=SCOPE)
    added = {entry.memory.id: entry for entry in found.added}
    assert (added[supporting].linked_via_node, added[supporting].seed_memory_id) == ("topic:dashboard", seed)
    result = next(r for r in clew.recall("rollout alarms", scope=SCOPE, plan="graph_mode").results
                  if r.memory.id == supporting)  # fmt: skip
    assert result.way is not None
    assert result.way.path == (f"memory:{seed}", "topic:dashboard", f"memory:{supporting}")
    assert result.relevance == 0  # of its own text nothing was asked


def test_hybrid_strategy_reaches_decisions_and_rules(clew: Clew) -> None:
    fill_with_others(clew)
    clew.remember("hybrid strategy is behind a flag", tags=("retrieval",), category="Search", scope=SCOPE)
    decision = clew.remember(
        "we merge word and vector lists by score", type="decision", tags=("retrieval",), scope=SCOPE
    ).id
    rule = clew.remember("never ship ranking changes on a Friday", type="rule", tags=("retrieval",), scope=SCOPE).id
    found = clew.context("hybrid strategy", scope=SCOPE)
    assert decision in [entry.memory.id for entry in found.added]
    assert [result.memory.id for result in found.rules] == [rule]


def test_a_stated_relation_leads_two_memories_further(clew: Clew) -> None:
    fill_with_others(clew)
    clew.remember("Checkout times out when AuthService is slow", scope=SCOPE)
    clew.remember("AuthService depends on PostgresDB", scope=SCOPE)
    cause = clew.remember("PostgresDB vacuums every night at two", scope=SCOPE).id
    results = clew.recall("why does checkout time out", scope=SCOPE, plan="graph_mode").results
    way = next(result.way for result in results if result.memory.id == cause)
    assert way is not None
    assert way.hop_count >= 2
    assert len(way.edge_confidences) == len(way.path) - 1


def test_a_relation_in_a_private_memory_is_nobody_elses(clew: Clew) -> None:
    fill_with_others(clew)
    bob = Scope(project=SCOPE.project, user="bob")
    clew.remember("Checkout is slow", tags=("shop",), scope=SCOPE)
    clew.remember("Checkout depends on SecretVault, do not tell", tags=("shop",), scope=bob)
    clew.remember("SecretVault is down", scope=bob)
    ann = Scope(project=SCOPE.project, user="ann")
    for scope, is_told in ((SCOPE, False), (ann, False), (bob, True)):
        recalled = clew.recall("Checkout", scope=scope, plan="graph_mode").results
        context = clew.context("Checkout", scope=scope, depth=2)
        seen = [str([result.as_json() for result in recalled]), str(context.as_json())]
        assert ["secretvault" in text.lower() for text in seen] == [is_told] * 2

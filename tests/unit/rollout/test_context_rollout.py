"""A context behind the rollout: what the mode, the gate and a fault do to the answer, to the trace and to what is
counted."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rolled import SHOP, block, break_graph, counted, fill

from clew.clew import Clew
from clew.model.relation import Finding
from clew.model.rollout import Policy
from clew.model.scope import Scope
from told_relations import replace
from toys import ToldClock, ToyEmbedder, open_toy


@pytest.fixture
def clew(clew_at: Callable[..., Clew], tmp_path: Path) -> Clew:
    return clew_at(tmp_path)


def asked(clew: Clew, **options: Any) -> Any:
    return clew.context("login", scope=SHOP, limit=2, **options)


# -- what the mode does ------------------------------------------------------------------------------


def test_t33_a_canary_appends_what_the_graph_finds_with_its_provenance(clew: Clew) -> None:
    ids = fill(clew)
    found = asked(clew, depth=1, strategy="hybrid_graph")
    assert found.ids == [ids["w1"], ids["l-base"], ids["l-graph"]]
    graph = found.added[0].as_json()["graph"]
    assert (graph["seed_memory_id"], graph["linked_via_node"]) == (ids["w1"], "topic:billing")
    assert (graph["edge_type"], graph["hop_count"]) == ("mentions", 1)
    assert (found.trace["rollout_mode"], found.trace["quality_gate_status"]) == ("canary", "insufficient_data")
    assert found.trace["total_candidates"] == 3


def test_t33_two_answered_memories_that_contradict_each_other_are_told_as_one_pair(clew: Clew) -> None:
    ids = fill(clew)
    replace(clew, ids["l-base"], Finding("contradicts", ids["l-graph"], 0.92, "llm"))
    found = asked(clew, strategy="hybrid_graph")
    [conflict] = found.conflicts
    assert {conflict.memory_a_id, conflict.memory_b_id} == {ids["l-base"], ids["l-graph"]}
    assert (conflict.confidence, found.trace["conflict_count"]) == (0.92, 1)


def test_t34_with_the_switch_off_the_baseline_is_answered_and_the_mode_is_off(tmp_path: Path) -> None:
    with open_toy(tmp_path / "clew.db", graph={"recall": False}) as clew:
        ids = fill(clew)
        found = asked(clew)
        assert found.ids == [ids["w1"], ids["l-base"]]
        assert (found.trace["rollout_mode"], found.trace["fallback_reason"]) == ("off", "feature_flag_disabled")
        assert found.conflicts == ()


def test_t35_a_shadow_looks_and_changes_nothing(clew: Clew) -> None:
    ids = fill(clew)
    clew.rollout.set("shadow")
    found = asked(clew)
    assert found.ids == [ids["w1"], ids["l-base"]]
    trace = found.trace
    assert (trace["shadow_executed"], trace["fallback_reason"]) == (True, "shadow_mode")
    assert trace["graph_candidates"] >= 1 and trace["graph_expanded_count"] == 0
    assert (trace["graph_depth"], trace["graph_limit"]) == (1, 8)


def test_t36_a_canary_with_failing_requests_is_blocked_and_goes_on_in_the_shadow(clew: Clew) -> None:
    ids = fill(clew)
    block(clew)
    trace = asked(clew, strategy="hybrid_graph").trace
    assert (trace["quality_gate_status"], trace["quality_gate_blocked"]) == ("fail", True)
    assert "FALLBACK_RATE_ABOVE_LIMIT" in trace["quality_gate_reason_codes"]
    assert (trace["fallback_reason"], trace["shadow_executed"]) == ("quality_gate_blocked", True)
    assert asked(clew).ids == [ids["w1"], ids["l-base"]]


def test_off_does_not_walk_the_graph(clew: Clew) -> None:
    fill(clew)
    clew.rollout.set("off")
    trace = asked(clew).trace
    assert (trace["fallback_reason"], trace["shadow_executed"], trace["graph_depth"]) == ("rollout_off", False, 0)


def test_a_project_without_memory_has_no_graph_either(clew: Clew) -> None:
    fill(clew)
    clew.projects.set("shop", "memory", False)
    trace = asked(clew).trace
    assert (trace["rollout_mode"], trace["fallback_reason"]) == ("off", "feature_flag_disabled")


def test_a_canary_that_finds_nothing_counts_as_applied(clew: Clew) -> None:
    clew.remember("login uses tokens", scope=SHOP)
    trace = asked(clew).trace
    assert (trace["strategy"], trace["graph_expanded_count"]) == ("hybrid_graph", 0)
    assert (trace["fallback_triggered"], trace["fallback_reason"]) == (False, None)


@pytest.mark.parametrize("mode", ["off", "shadow"])
def test_the_mode_of_one_org_is_not_that_of_another(clew: Clew, mode: str) -> None:
    clew.store.write(lambda tx: tx.rollout.set_mode("other", mode, by="eve", at=clew.now()))
    fill(clew)
    assert asked(clew).trace["rollout_mode"] == "canary"


# -- the strategy ------------------------------------------------------------------------------------


def test_i12_what_was_asked_for_beats_the_default_and_the_trace_says_which(clew: Clew) -> None:
    fill(clew)
    policy = Policy("baseline", updated_at=clew.now(), updated_by="test")
    clew.store.write(lambda tx: tx.rollout.put_policy("local", policy))
    by_default, by_request = asked(clew).trace, asked(clew, strategy="hybrid_graph").trace
    assert [trace["retrieval_policy_selection"] for trace in (by_default, by_request)] == [
        "policy_default",
        "request",
    ]
    assert [trace["retrieval_policy_default_strategy"] for trace in (by_default, by_request)] == ["baseline"] * 2
    assert (by_default["strategy"], by_request["strategy"]) == ("baseline", "hybrid_graph")
    assert by_default["fallback_reason"] is None


def test_a_default_that_fell_back_is_still_watched(clew: Clew) -> None:
    fill(clew)
    policy = Policy("baseline", updated_at=clew.now(), updated_by="test")
    clew.store.write(lambda tx: tx.rollout.put_policy("local", policy))
    asked(clew)
    [row] = counted(clew)
    assert (row["eligible"], row["shadow_executed"], row["would_expand_count"]) == (1, 1, 1)
    assert (row["requested_strategy"], row["fallback_triggered"]) == ("baseline", 0)


def test_the_other_axis_of_the_strategy_is_told_as_well(clew_at: Callable[..., Clew], tmp_path: Path) -> None:
    clew = clew_at(tmp_path, embedder=ToyEmbedder())
    clew.remember("login uses tokens", scope=SHOP)
    words, both = (asked(clew, retrieval=retrieval).trace for retrieval in ("lexical", "hybrid"))
    assert (words["semantic_strategy_applied"], words["semantic_candidates"]) == ("lexical", 0)
    assert (both["semantic_strategy_applied"], both["semantic_candidates"]) == ("hybrid", 1)
    nothing = clew.context("", scope=SHOP).trace
    assert (nothing["semantic_fallback_reason"], nothing["semantic_strategy_applied"]) == (
        "query_missing",
        "lexical",
    )


# -- faults ------------------------------------------------------------------------------------------


def test_i5_a_failing_graph_leaves_the_baseline_and_its_code(clew: Clew) -> None:
    ids = fill(clew)
    break_graph(clew)
    found = asked(clew)
    assert found.ids == [ids["w1"], ids["l-base"]]
    assert (found.trace["fallback_reason"], found.trace["graph_error"]) == (
        "graph_expansion_error",
        "STORE_CORRUPT",
    )
    [row] = counted(clew)
    assert (row["eligible"], row["graph_error"], row["fallback_reason"]) == (
        1,
        "STORE_CORRUPT",
        "graph_expansion_error",
    )


@pytest.mark.parametrize("strategy", ["baseline", "hybrid_graph"])
def test_w2_a_shadow_that_fails_is_counted_as_failing(clew: Clew, strategy: str) -> None:
    fill(clew)
    clew.rollout.set("shadow")
    break_graph(clew)
    assert asked(clew, strategy=strategy).trace["graph_error"] == "STORE_CORRUPT"
    [row] = counted(clew)
    assert (row["shadow_executed"], row["eligible"], row["graph_error"]) == (1, 0, "STORE_CORRUPT")
    assert clew.rollout.metrics().as_json()["shadowGraphErrors"] == 1


def test_where_the_rollout_cannot_be_read_the_graph_is_applied_and_nothing_blocks(
    clew: Clew, caplog: pytest.LogCaptureFixture
) -> None:
    ids = fill(clew)
    clew.rollout.set("off")
    connection = apsw.Connection(str(clew.store.path))  # type: ignore[attr-defined]
    connection.execute("ALTER TABLE graph_rollout_config RENAME TO gone")
    found = asked(clew)
    assert found.ids[-1] == ids["l-graph"]
    assert (found.trace["quality_gate_status"], found.trace["quality_gate_blocked"]) == ("unavailable", False)
    assert "STORE_CORRUPT" in caplog.text and "login" not in caplog.text


# -- what never happens ------------------------------------------------------------------------------

WORDS = st.sampled_from(["login", "tokens", "invoices", "mondays", "coffee", "redis", "checkout"])
MEMORIES = st.lists(
    st.tuples(st.lists(WORDS, min_size=1, max_size=4), st.sampled_from(["", "auth", "billing"]), st.booleans()),
    min_size=1, max_size=8,
)  # fmt: skip


def answer(found: Any) -> bytes:
    """Everything but how it came about."""
    return json.dumps({name: value for name, value in found.as_json().items() if name != "trace"}).encode()


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(memories=MEMORIES, query=WORDS, strategy=st.sampled_from(["baseline", "hybrid_graph", None]))
def test_i6_a_shadow_answers_the_baseline_to_the_byte(
    tmp_path_factory: pytest.TempPathFactory, memories: Any, query: str, strategy: str | None
) -> None:
    with open_toy(tmp_path_factory.mktemp("toy") / "clew.db") as clew:
        for words, tag, is_working in memories:
            layer = "working" if is_working else "long_term"
            clew.remember(" ".join(words), tags=(tag,) if tag else (), layer=layer, scope=SHOP)
        plain = answer(clew.context(query, scope=SHOP, limit=2, strategy="baseline"))
        clew.rollout.set("shadow")
        assert answer(clew.context(query, scope=SHOP, limit=2, strategy=strategy)) == plain


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(memories=MEMORIES, query=WORDS)
def test_i4_a_canary_only_appends_and_says_why(
    tmp_path_factory: pytest.TempPathFactory, memories: Any, query: str
) -> None:
    with open_toy(tmp_path_factory.mktemp("toy") / "clew.db") as clew:
        for words, tag, _is_working in memories:
            clew.remember(" ".join(words), tags=(tag,) if tag else (), scope=SHOP)
        plain, with_graph = (
            clew.context(query, scope=SHOP, limit=2, strategy=strategy) for strategy in ("baseline", "hybrid_graph")
        )
        assert with_graph.ids[: len(plain.ids)] == plain.ids
        assert all(entry.linked_via_node and entry.seed_memory_id in plain.ids for entry in with_graph.added)


@pytest.mark.parametrize("mode", ["shadow", "canary"])
def test_i3_the_graph_never_leads_out_of_the_scope(clew: Clew, clock: ToldClock, mode: str) -> None:
    clew.remember("login uses tokens", tags=("auth",), scope=SHOP)
    clew.remember("of another project", tags=("auth",), scope=Scope(project="blog"))
    clew.remember("of another user", tags=("auth",), scope=Scope(project="shop", user="bob"))
    clew.remember("for an hour", tags=("auth",), layer="working", scope=SHOP)
    clew.forget(clew.remember("forgotten", tags=("auth",), scope=SHOP).id)
    clock.pass_by(hours=25)
    clew.rollout.set(mode)
    trace = asked(clew).trace
    assert (trace["graph_candidates"], trace["graph_expanded_count"]) == (0, 0)


def test_w4_what_is_out_of_scope_does_not_crowd_out_what_is_in_it(clew: Clew) -> None:
    clew.remember("login uses tokens", tags=("auth",), scope=SHOP)
    for number in range(12):
        clew.remember(f"elsewhere {number}", tags=("auth",), scope=Scope(project="shop", user="bob"))
    own = clew.remember("invoices are sent on Mondays", tags=("auth",), scope=SHOP).id
    for number in range(12):
        clew.remember(f"elsewhere too {number}", tags=("auth",), scope=Scope(project="blog"))
    found = asked(clew, graph_limit=1)
    assert [entry.memory.id for entry in found.added] == [own]
    assert found.trace["graph_candidates"] == 1


# -- what is counted ---------------------------------------------------------------------------------


def test_a_context_is_counted_once_with_its_numbers(clew: Clew) -> None:
    fill(clew)
    asked(clew)
    [row] = counted(clew)
    assert (row["path"], row["mode"], row["project_id"]) == ("expand", "canary", "shop")
    assert (row["baseline_candidates"], row["graph_expanded_count"], row["total_candidates"]) == (2, 1, 3)
    assert row["duration_ms"] > 0 and row["could_expand"] == 0


@pytest.mark.parametrize(("memories", "could"), [(8, 0), (9, 1)])
def test_an_answer_could_have_grown_where_a_whole_expansion_was_left(clew: Clew, memories: int, could: int) -> None:
    for number in range(memories):
        clew.remember(f"note {number}", tags=("shared",), scope=SHOP)
    clew.remember("always be kind", type="rule", scope=SHOP)
    clew.context("note 1", scope=SHOP, limit=1, retrieval="lexical")
    assert counted(clew)[0]["could_expand"] == could


def test_why_xray_the_graphs_verbs_and_the_doctor_are_not_counted(clew: Clew) -> None:
    ids = fill(clew)
    clew.xray("login", scope=SHOP)
    clew.why("login", ids["w1"], scope=SHOP)
    clew.graph.triplets("login", scope=SHOP)
    clew.doctor()
    assert counted(clew) == []


def test_what_is_asked_not_to_be_counted_is_not(clew: Clew) -> None:
    fill(clew)
    clew.recall("login", scope=SHOP, counted=False)
    asked(clew, counted=False)
    assert counted(clew) == []


def test_the_words_of_a_request_are_nowhere_in_what_is_counted(clew: Clew) -> None:
    fill(clew)
    asked(clew)
    clew.recall("login", scope=SHOP)
    assert "login" not in json.dumps(counted(clew))


def test_d8_where_nothing_leads_on_an_answer_could_not_have_grown(clew: Clew) -> None:
    for number in range(20):
        clew.remember(f"note {number}", scope=SHOP)
    clew.context("note 1", scope=SHOP, limit=1, retrieval="lexical")
    assert counted(clew)[0]["could_expand"] == 0

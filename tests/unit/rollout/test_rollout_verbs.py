"""The verbs of the rollout: what they show, who may change what, and that looking writes nothing."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import apsw
import pytest
from measured import add
from rolled import SHOP, block, break_graph, counted, fill, mend_graph

from clew.clew import Clew
from clew.errors import Conflict, Denied, InvalidInput
from clew.model.rollout import MODES
from clew.model.scope import Identity, Scope
from counted import applied, failed, shadowed
from toys import ToldClock


@pytest.fixture
def clew(clew_at: Callable[..., Clew], tmp_path: Path) -> Clew:
    return clew_at(tmp_path)


def mode(clew: Clew) -> str:
    answer: str = clew.rollout.show().as_json()["rollout"]["mode"]
    return answer


# -- show, plan, metrics -----------------------------------------------------------------------------


def test_show_is_the_documented_payload(clew: Clew) -> None:
    told = clew.rollout.show().as_json()
    documented = {"rollout", "shadowMetrics", "qualityGate", "rolloutPlan", "retrievalPolicy", "scope"}
    assert set(told) == documented | {"flags"}
    assert told["rollout"] == {"mode": "canary", "updatedAt": None, "updatedBy": None}
    assert told["retrievalPolicy"]["defaultStrategy"] == "hybrid_graph"
    assert told["scope"] == {"tenantId": "local", "userId": None, "projectId": None}


def test_t39_ten_runs_in_the_shadow_are_too_few_for_a_canary(clew: Clew) -> None:
    clew.rollout.set("shadow")
    now = clew.now()
    add(clew.store, [shadowed(now) for _ in range(10)])
    plan = clew.rollout.plan().as_json()
    assert (plan["defaultBehaviorDecision"], plan["recommendedMode"]) == ("hold_lexical_default", "shadow")
    [canary] = [stage for stage in plan["stages"] if stage["stage"] == "canary"]
    assert not canary["ready"] and canary["currentSamples"] == 10
    assert "MIN_HYBRID_SAMPLES_NOT_MET" in plan["blockerCodes"]


def test_metrics_of_a_time_to_come_are_refused(clew: Clew, clock: ToldClock) -> None:
    add(clew.store, [applied(clock.now())])
    with pytest.raises(InvalidInput) as refused:
        clew.rollout.metrics(clock.now() + timedelta(days=1))
    assert refused.value.code == "WINDOW_INVALID"


def test_metrics_tell_of_the_time_that_was_asked_for(clew: Clew, clock: ToldClock) -> None:
    add(clew.store, [applied(clock.now())])
    clock.pass_by(days=2)
    add(clew.store, [applied(clock.now()) for _ in range(3)])
    assert clew.rollout.metrics().as_json()["totalRequests"] == 3
    since = clock.now() - timedelta(days=3)
    told = clew.rollout.metrics(since).as_json()
    assert (told["totalRequests"], told["windowHours"]) == (4, pytest.approx(72, abs=0.01))


def test_metrics_do_not_tell_how_much_another_org_asks(clew: Clew) -> None:
    clew.recall("where is the cache?", scope=SHOP)
    gus = Identity("globex", "gus", roles=("owner",))
    assert (clew.rollout.metrics().waiting, clew.rollout.metrics(identity=gus).waiting) == (1, 0)


# -- set ---------------------------------------------------------------------------------------------


def test_a_mode_that_is_set_is_audited_with_who_and_what(clew: Clew) -> None:
    clew.rollout.set("shadow", identity=Identity(user="ada"))
    entry = clew.audit.list(limit=1)[0].as_json()
    assert (entry["actor"], entry["action"], entry["kind"]) == ("user:ada", "configure", "rollout")
    assert entry["detail"] == {"before": {"mode": "canary"}, "after": {"mode": "shadow"}}
    assert clew.rollout.show().as_json()["rollout"]["updatedBy"] == "ada"


@pytest.mark.parametrize(
    ("who", "named"),
    [
        (Identity(user="autopilot"), "user:autopilot"),
        (Identity(agent="autopilot"), "owner via agent:autopilot"),
        (Identity(user="autopilot", agent="autopilot"), "user:autopilot via agent:autopilot"),
    ],
)
def test_nobody_of_that_name_passes_for_the_autopilot(clew: Clew, who: Identity, named: str) -> None:
    clew.rollout.set("shadow", identity=who)
    assert clew.rollout.plan().as_json()["autopilot"]["applied"] is False
    assert clew.rollout.show().as_json()["rollout"]["updatedBy"] == named
    clew.rollout.set_default("baseline", identity=who)
    with clew.store.read() as tx:
        policy = tx.rollout.policy("local")
    assert policy and policy.updated_by == named


def test_setting_the_same_mode_again_writes_nothing(clew: Clew) -> None:
    clew.rollout.set("shadow")
    before = len(clew.audit.list(limit=50))
    clew.rollout.set("shadow")
    assert len(clew.audit.list(limit=50)) == before


@pytest.mark.parametrize("roles", [("owner",), ("admin",), ("operator",)])
def test_those_who_look_after_an_org_may_set_its_mode(clew: Clew, roles: tuple[str, ...]) -> None:
    clew.rollout.set("off", identity=Identity(user="ada", roles=roles))
    assert mode(clew) == "off"


@pytest.mark.parametrize("who", [Identity(user="eve", roles=("member",)), Identity(agent="bob", roles=())])
def test_nobody_else_may(clew: Clew, who: Identity) -> None:
    with pytest.raises(Denied):
        clew.rollout.set("off", identity=who)
    assert mode(clew) == "canary"


def test_the_mode_that_is_set_is_that_of_the_own_org(clew: Clew) -> None:
    clew.rollout.set("off", identity=Identity(org="acme"))
    assert (mode(clew), clew.rollout.show(identity=Identity(org="acme")).measured.rollout.mode) == ("canary", "off")


def test_there_are_three_modes(clew: Clew) -> None:
    with pytest.raises(InvalidInput, match="rollout mode"):
        clew.rollout.set("on")


def test_i7_a_canary_that_would_be_blocked_at_once_is_refused_and_nothing_is_written(clew: Clew) -> None:
    clew.rollout.set("shadow")
    block(clew)
    entries = len(clew.audit.list(limit=50))
    with pytest.raises(Conflict) as refused:
        clew.rollout.set("canary")
    assert refused.value.code == "CANARY_ROLLOUT_BLOCKED"
    assert refused.value.details == {
        "reasonCodes": ["FALLBACK_RATE_ABOVE_LIMIT", "GRAPH_ERROR_RATE_ABOVE_LIMIT"],
        "qualityStatus": "fail",
        "windowHours": 24.0,
    }
    assert (mode(clew), len(clew.audit.list(limit=50))) == ("shadow", entries)


# -- status ------------------------------------------------------------------------------------------


def test_t42_a_store_that_lost_a_table_of_the_graph_says_so(clew: Clew) -> None:
    """Migrations make them before anything else can open the store; only from outside can they be taken away."""
    fill(clew)
    break_graph(clew)
    told = clew.rollout.status().as_json()
    assert (told["health"], set(told["counts"].values())) == ("schema_missing", {0})
    assert told["tables"] == {"graphNodes": True, "graphEdges": False, "memoryNodeLinks": True}
    assert [error["code"] for error in told["recentErrors"]] == ["GRAPH_SCHEMA_MISSING"]


def test_t43_an_expired_edge_is_counted_as_such_and_gives_no_degree(clew: Clew) -> None:
    for text, tag in (("one", "auth"), ("two", "auth"), ("three", "auth"), ("four", "billing"), ("five", "old")):
        clew.remember(text, tags=(tag,))
    clew.link("topic:auth", "mentions", "topic:billing")
    clew.link("topic:auth", "related_to", "topic:old")
    connection = apsw.Connection(str(clew.store.path))  # type: ignore[attr-defined]
    connection.execute("UPDATE graph_edges SET expires_at = 1 WHERE edge_type = 'related_to'")
    told = clew.rollout.status().as_json()
    assert (told["counts"]["expiredEdges"], told["counts"]["activeEdges"]) == (1, told["counts"]["edges"] - 1)
    [auth] = [node for node in told["topConnectedNodes"] if node["nodeKey"] == "auth"]
    assert (auth["memoryLinks"], auth["outboundEdges"] + auth["inboundEdges"], auth["degree"]) == (3, 1, 4)
    assert "EXPIRED_EDGES_PRESENT" in [error["code"] for error in told["recentErrors"]]


def test_t45_a_fifth_of_failing_requests_raises_three_alarms(clew: Clew) -> None:
    block(clew)
    told = clew.rollout.status().as_json()
    assert told["shadowMetrics"]["fallbackRate"] == 0.2
    codes = {"HIGH_FALLBACK_RATE", "CANARY_QUALITY_GATE_BLOCKED", "GRAPH_EXPANSION_ERRORS"}
    assert {alarm["code"] for alarm in told["alarms"]} == codes
    assert {error["code"] for error in told["recentErrors"] if error["source"] == "alarm"} == codes


def test_status_is_the_documented_payload(clew_at: Callable[..., Clew], tmp_path: Path) -> None:
    clew = clew_at(tmp_path, llm={"enabled": True})
    told = clew.rollout.status(scope=SHOP).as_json()
    assert list(told) == [
        "enabled", "flags", "health", "tables", "counts", "rollout", "shadowMetrics", "qualityGate", "rolloutPlan",
        "alarms", "topConnectedNodes", "recentErrors", "sampledAt", "scope",
    ]  # fmt: skip
    assert told["flags"] == {"mappingEnabled": True, "retrievalEnabled": True, "llmExtractionEnabled": True}
    assert (told["health"], told["scope"]["projectId"]) == ("ok", "shop")


def test_status_tells_of_a_rollout_that_cannot_be_read(clew: Clew) -> None:
    connection = apsw.Connection(str(clew.store.path))  # type: ignore[attr-defined]
    connection.execute("ALTER TABLE graph_rollout_metrics RENAME TO gone")
    told = clew.rollout.status().as_json()
    assert (told["health"], told["rollout"]) == ("degraded", None)
    assert [error["code"] for error in told["recentErrors"]] == ["GRAPH_ROLLOUT_STATE_UNAVAILABLE"]


# -- trace -------------------------------------------------------------------------------------------


def test_a_trace_is_the_documented_payload(clew: Clew) -> None:
    ids = fill(clew)
    rule = clew.remember("always be kind", type="rule", scope=SHOP).id
    told = clew.rollout.trace("login", scope=SHOP, limit=2).as_json()
    assert list(told) == [
        "mode",
        "includeRules",
        "query",
        "strategy",
        "trace",
        "tiers",
        "recall",
        "rules",
        "memories",
    ]
    assert told["strategy"] == {"requested": "hybrid_graph", "applied": "hybrid_graph"}
    assert told["tiers"] == {
        "ruleIds": [rule], "workingIds": [ids["w1"]], "longTermIds": [ids["l-base"], ids["l-graph"]],
    }  # fmt: skip
    last = told["recall"][-1]
    assert (last["rank"], last["memoryId"], last["source"]) == (3, ids["l-graph"], "graph_expansion")
    assert last["graph"] == told["memories"][-1]["graph"]
    assert last["graph"]["linkedViaNode"] == "topic:billing"


def test_the_trace_of_a_trace_has_every_documented_field(clew: Clew) -> None:
    fill(clew)
    trace = clew.rollout.trace("login", scope=SHOP).as_json()["trace"]
    assert set(trace) - {"graphError"} == {
        "requestedStrategy", "strategy", "semanticStrategyRequested", "semanticStrategyApplied",
        "lexicalCandidates", "semanticCandidates", "semanticFallbackTriggered",
        "semanticFallbackReason", "graphDepth", "graphLimit",
        "rolloutMode", "shadowExecuted", "qualityGateStatus", "qualityGateBlocked", "qualityGateReasonCodes",
        "baselineCandidates", "graphCandidates", "graphExpandedCount", "conflictCount", "fallbackTriggered",
        "fallbackReason", "totalCandidates", "retrievalPolicyDefaultStrategy", "retrievalPolicyAppliedStrategy",
        "retrievalPolicySelection", "retrievalPolicyReadyForDefaultOn", "retrievalPolicyBlockerCodes",
    }  # fmt: skip


def test_a_trace_asks_for_the_graph_whatever_the_default_and_is_counted(clew: Clew) -> None:
    fill(clew)
    trace = clew.rollout.trace("login", scope=SHOP).trace
    assert trace["retrievalPolicySelection"] == "request"
    assert counted(clew)[0]["requested_strategy"] == "hybrid_graph"
    assert clew.rollout.trace("login", scope=SHOP, strategy="baseline").trace["strategy"] == "baseline"


@pytest.mark.parametrize("wrong", [{"query": " "}, {"query": "x" * 501}, {"query": "x", "limit": 51}])
def test_a_trace_is_bounded(clew: Clew, wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        clew.rollout.trace(**wrong)


# -- looking writes nothing --------------------------------------------------------------------------


def test_w3_looking_at_the_rollout_writes_nothing(clew: Clew) -> None:
    fill(clew)
    block(clew)
    before = clew.store.data_version()
    clew.rollout.show()
    clew.rollout.plan()
    clew.rollout.metrics()
    clew.rollout.status()
    clew.rollout.trace("login", scope=SHOP)  # counted, but not written yet
    clew.graph.explore()
    assert clew.store.data_version() == before


# -- autopilots, end to end --------------------------------------------------------------------------


def test_t40_the_autopilot_moves_from_off_to_shadow_and_is_audited(
    clew_at: Callable[..., Clew], tmp_path: Path
) -> None:
    clew = clew_at(tmp_path, rollout={"autopilot": True})
    clew.rollout.set("off")
    clew.recall("anything")
    clew.rollout.flush()
    assert mode(clew) == "shadow"
    assert clew.rollout.plan().as_json()["autopilot"] == {"enabled": True, "applied": True}
    assert clew.audit.list(limit=1)[0].as_json()["actor"] == "autopilot"


def ready_window(clew: Clew, clock: ToldClock, *, fallbacks: int = 0) -> str:
    """A day with 24 good requests and so many bad ones, then one more request, which has the day judged."""
    clock.pass_by(hours=24)
    now = clock.now()
    add(clew.store, [applied(now) for _ in range(24)] + [failed(now) for _ in range(fallbacks)])
    clew.recall("anything")
    clew.rollout.flush()
    with clew.store.read() as tx:
        policy = tx.rollout.policy("local")
    assert policy
    return f"{policy.default_strategy} {policy.ready_window_streak}"


def test_t41_two_ready_windows_make_the_graph_the_default_and_a_bad_one_takes_it_back(
    clew: Clew, clock: ToldClock
) -> None:
    fill(clew)
    days = [ready_window(clew, clock, fallbacks=bad) for bad in (20, 0, 0, 20)]
    assert days == ["baseline 0", "baseline 1", "hybrid_graph 2", "baseline 0"]
    assert clew.context("login", scope=SHOP).trace["retrieval_policy_default_strategy"] == "baseline"


def test_t41_more_requests_within_a_window_are_no_further_verdict(clew: Clew, clock: ToldClock) -> None:
    assert ready_window(clew, clock) == "hybrid_graph 1"
    for _ in range(5):
        clew.recall("anything")
        clew.rollout.flush()
    with clew.store.read() as tx:
        policy = tx.rollout.policy("local")
    assert policy and policy.ready_window_streak == 1


# -- stories -----------------------------------------------------------------------------------------


def ask(clew: Clew, clock: ToldClock, times: int) -> list[str | None]:
    """One question every two minutes, each counted before the next; why each did without the graph."""
    reasons = []
    for _ in range(times):
        clock.pass_by(minutes=2)
        reasons.append(clew.context("login", scope=SHOP, strategy="hybrid_graph").trace["fallback_reason"])
        clew.rollout.flush()
    return reasons


@pytest.mark.parametrize("tags", [(), ("auth",)])
def test_d8_a_new_workspace_of_three_memories_is_never_blocked(
    clew: Clew, clock: ToldClock, tags: tuple[str, ...]
) -> None:
    for text in ("login uses tokens", "the coffee machine is broken", "invoices are sent on Mondays"):
        clew.remember(text, tags=tags, scope=SHOP)
    assert set(ask(clew, clock, 40)) == {None}
    gate = clew.rollout.show().measured.gate
    assert (gate.canary_blocked, gate.status) == (False, "pass")


def test_w1_a_fault_blocks_the_graph_and_the_block_heals_although_everybody_goes_on_asking(
    clew: Clew, clock: ToldClock
) -> None:
    fill(clew)
    assert set(ask(clew, clock, 30)) == {None}
    break_graph(clew)
    during = ask(clew, clock, 20)
    assert during[0] == "graph_expansion_error" and during[-1] == "quality_gate_blocked"
    mend_graph(clew)
    assert ask(clew, clock, 1) == ["quality_gate_blocked"]  # as long as the window remembers
    clock.pass_by(hours=12)
    assert ask(clew, clock, 30)[-1] == "quality_gate_blocked"
    clock.pass_by(hours=12)
    assert set(ask(clew, clock, 30)[1:]) == {None}


def test_w1_requests_in_off_and_shadow_do_not_stand_in_the_way_of_a_canary(clew: Clew, clock: ToldClock) -> None:
    fill(clew)
    for before in ("off", "shadow"):
        clew.rollout.set(before)
        ask(clew, clock, 25)
    clew.rollout.set("canary")
    assert ask(clew, clock, 1) == [None]


def test_retention_takes_old_requests_away(clew: Clew, clock: ToldClock) -> None:
    clew.recall("anything")
    clew.rollout.flush()
    clock.pass_by(days=8)
    clew.recall("anything")
    assert len(counted(clew)) == 1


@pytest.mark.parametrize("mode", MODES)
def test_every_mode_can_be_set_and_shown(clew: Clew, mode: str) -> None:
    assert clew.rollout.set(mode, identity=Identity()).as_json()["rollout"]["mode"] == mode
    assert clew.rollout.status(scope=Scope(project="shop")).as_json()["rollout"]["mode"] == mode


def test_the_default_can_be_set_by_hand_and_is_audited(memory: Clew) -> None:
    memory.rollout.set_default("baseline")
    assert memory.rollout.show().as_json()["retrievalPolicy"]["defaultStrategy"] == "baseline"
    assert memory.context("anything", strategy=None).trace["requested_strategy"] == "baseline"
    [entry] = memory.audit.list(limit=1)
    assert entry.as_json()["detail"]["after"] == {"default_strategy": "baseline"}


def test_a_default_that_is_no_strategy_or_not_yours_to_set_is_refused(memory: Clew) -> None:
    with pytest.raises(InvalidInput):
        memory.rollout.set_default("best")
    with pytest.raises(Denied):
        memory.rollout.set_default("baseline", identity=Identity(user="ann", roles=("member",)))


def test_while_recall_through_the_graph_is_off_so_is_an_org_without_a_mode(
    clew_at: Callable[..., Clew], tmp_path: Path
) -> None:
    assert clew_at(tmp_path, graph={"recall": False}).rollout.show().as_json()["rollout"]["mode"] == "off"


def test_d8_a_workspace_whose_memories_nothing_connects_is_never_blocked(clew: Clew) -> None:
    for number in range(40):
        clew.remember(f"Sentence {number} about nothing in particular", scope=SHOP)
    for number in range(30):
        clew.context(f"sentence {number}", scope=SHOP, limit=2, retrieval="lexical")
    clew.rollout.flush()
    assert not clew.rollout.show().measured.gate.canary_blocked


def test_a_trace_is_answered_although_the_rollout_cannot_be_read(clew: Clew) -> None:
    fill(clew)
    apsw.Connection(str(clew.store.path)).execute("ALTER TABLE graph_rollout_config RENAME TO gone")  # type: ignore[attr-defined]
    told = clew.rollout.trace("login", scope=SHOP).as_json()
    assert told["recall"] and told["trace"]["retrievalPolicyBlockerCodes"] == ["GRAPH_ROLLOUT_STATE_UNAVAILABLE"]


def test_whoever_may_not_read_everything_gets_the_trace_of_what_they_may_read(clew: Clew) -> None:
    clew.remember("login uses tokens", scope=SHOP)
    clew.remember("login has a back door", scope=SHOP, classification="restricted")
    told = clew.rollout.trace("login", scope=SHOP, identity=Identity(agent="bot", roles=())).as_json()
    assert (told["strategy"]["requested"], told["trace"]["rolloutMode"]) == ("hybrid_graph", "canary")
    assert told["trace"]["baselineCandidates"] == len(told["memories"]) == 1


def test_to_whom_everything_is_hidden_a_trace_is_as_if_nothing_were_there(clew: Clew) -> None:
    bot = Identity(agent="bot", roles=())
    empty = clew.rollout.trace("login", scope=SHOP, identity=bot).as_json()
    clew.remember("login has a back door", scope=SHOP, classification="restricted")
    hidden = clew.rollout.trace("login", scope=SHOP, identity=bot).as_json()
    differing = {name for name, value in hidden["trace"].items() if value not in (None, empty["trace"][name])}
    assert not hidden["memories"] and not differing

"""Who gets the graph, and which one reason is told to those who do not."""

from __future__ import annotations

from itertools import product

from clew.model.rollout import FALLBACK_REASONS, MODES, STRATEGIES
from clew.rollout.decide import Decision, Request, Stage, decide

REQUESTS = [Request(*each) for each in product(STRATEGIES, (0, 1, 2), (0, 8), (False, True))]
STAGES = [Stage(*each) for each in product((False, True), MODES, (False, True))]
CASES = [(asked, stage, error) for asked, stage, error in product(REQUESTS, STAGES, ("", "STORE_IO"))]


def outcome(asked: Request, stage: Stage, error: str) -> Decision:
    return decide(asked, stage).after(error)


def by_the_book(asked: Request, stage: Stage, error: str) -> tuple[bool, bool, str | None]:
    """memories_sh.md 6.4 and 6.7, as they are written: run, apply, fallback reason."""
    eligible = stage.is_on and asked.depth > 0 and asked.limit > 0 and asked.has_baseline and stage.mode != "off"
    hybrid = asked.strategy == "hybrid_graph"
    run = eligible and (hybrid or stage.mode == "shadow")
    apply = run and stage.mode == "canary" and hybrid and not stage.is_blocked
    holds = {
        "feature_flag_disabled": not stage.is_on,
        "rollout_off": stage.mode == "off",
        "quality_gate_blocked": stage.mode == "canary" and stage.is_blocked,
        "shadow_mode": stage.mode == "shadow",
        "graph_expansion_error": apply and bool(error),
        "rollout_guardrail": not apply,
    }
    reasons = [reason for reason in FALLBACK_REASONS if holds[reason]]
    return run, apply, reasons[0] if hybrid and reasons else None


def test_every_combination_is_decided_by_the_book() -> None:
    for asked, stage, error in CASES:
        decision = outcome(asked, stage, error)
        expected = by_the_book(asked, stage, error)
        assert (decision.run, decision.apply, decision.reason) == expected, (asked, stage, error)


def test_all_six_reasons_occur() -> None:
    assert {outcome(*case).reason for case in CASES} == {None, *FALLBACK_REASONS}


def test_a_reason_is_given_exactly_when_the_graph_was_asked_for_and_not_applied() -> None:
    for asked, stage, error in CASES:
        decision = outcome(asked, stage, error)
        assert (decision.reason is not None) == (asked.strategy != decision.applied), (asked, stage, error)


def test_i6_a_shadow_runs_for_every_request_and_is_never_applied() -> None:
    decisions = [decide(Request(strategy, 1, 8, True), Stage(mode="shadow")) for strategy in STRATEGIES]
    assert all(decision.shadow and not decision.apply for decision in decisions)
    assert [decision.reason for decision in decisions] == [None, "shadow_mode"]


def test_i7_a_blocked_canary_is_never_applied_but_runs_as_a_shadow() -> None:
    decision = decide(Request("hybrid_graph", 1, 8, True), Stage(is_blocked=True))
    assert (decision.apply, decision.shadow, decision.reason) == (False, True, "quality_gate_blocked")


def test_w1_the_gate_is_only_about_requests_that_it_alone_can_keep_from_the_graph() -> None:
    for asked, stage in product(REQUESTS, STAGES):
        unblocked = decide(asked, stage._replace(is_blocked=False))
        assert decide(asked, stage).eligible == unblocked.apply, (asked, stage)


def test_a_default_that_fell_back_is_watched_in_the_shadow_so_that_it_can_come_back() -> None:
    decision = decide(Request("baseline", 1, 8, True, fell_back=True), Stage())
    assert (decision.shadow, decision.eligible) == (True, True)
    assert (decision.applied, decision.reason) == ("baseline", None)

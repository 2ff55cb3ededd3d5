"""What a context tells about itself: the trace of memories_sh.md 6.10, and the row the rollout is judged by. Pure.

Keys are ours, in snake_case; `documented` gives them the names that the routes have.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from clew.model.ids import new_id
from clew.model.rollout import BASELINE, EXPAND, HYBRID_GRAPH, Metric
from clew.recall.counted import has_room, project_of, user_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from clew.model.scope import Reach
    from clew.ports import Embedder
    from clew.recall.run import Run
    from clew.rollout.decide import Decision
    from clew.rollout.standing import Standing

# Of the query's vector, in the notes of a recall: what leaves words alone to answer.
WITHOUT_MEANING = ("query_missing", "query_embedding_unavailable", "vectors_unavailable")


class Walked(NamedTuple):
    """What the graph had to say: candidates, how many of them fit, or the code of what went wrong."""

    candidates: int = 0
    added: int = 0
    error: str = ""
    led_on: bool = False  # what was found hangs on something that leads further


class Answered(NamedTuple):
    """A request and what became of it. `named`: the strategy that the caller asked for, if any."""

    named: str | None
    strategy: str
    depth: int
    limit: int
    mode: str
    decision: Decision
    walked: Walked
    baseline: int
    added: int


def trace_of(answered: Answered, run: Run | None, standing: Standing) -> dict[str, Any]:
    decision, gate = answered.decision, standing.gate
    return {
        "requested_strategy": answered.strategy,
        "strategy": decision.applied,
        **_semantic(run),
        "graph_depth": answered.depth if decision.run else 0,
        "graph_limit": answered.limit if decision.run else 0,
        "rollout_mode": answered.mode,
        "shadow_executed": decision.shadow,
        "quality_gate_status": gate.status,
        "quality_gate_blocked": gate.is_blocked,
        "quality_gate_reason_codes": list(gate.reason_codes),
        "baseline_candidates": answered.baseline,
        "graph_candidates": answered.walked.candidates,
        "graph_expanded_count": answered.added,
        "graph_error": answered.walked.error or None,
        "total_candidates": answered.baseline + answered.added,
        "fallback_triggered": decision.reason is not None,
        "fallback_reason": decision.reason,
        "retrieval_policy_default_strategy": standing.default_strategy,
        "retrieval_policy_applied_strategy": answered.strategy,
        "retrieval_policy_selection": "request" if answered.named else "policy_default",
    }


_TOLD = frozenset(  # what says nothing of the memories that were found
    ("requested_strategy", "semantic_strategy_requested", "rollout_mode", "quality_gate_status",
     "quality_gate_blocked", "quality_gate_reason_codes", "retrieval_policy_default_strategy",
     "retrieval_policy_applied_strategy", "retrieval_policy_selection", "fallback_reason", "strategy",
     "semantic_strategy_applied", "graph_depth", "graph_limit", "shadow_executed")
)  # fmt: skip


def as_if_found(trace: Mapping[str, Any], found: int, *, added: int, conflicts: int) -> dict[str, Any]:
    """The trace for someone who may not read all of it: as if there were no more than what they are shown. Where
    nothing is left, not even that something was there to start from."""
    told = {name: value if name in _TOLD else None for name, value in trace.items() if name != "recall"}
    if not found:
        wanted = trace["requested_strategy"] == HYBRID_GRAPH
        told |= {"strategy": BASELINE, "graph_depth": 0, "graph_limit": 0, "shadow_executed": False}
        told["fallback_reason"] = (trace["fallback_reason"] or "rollout_guardrail") if wanted else None
        if told["fallback_reason"] == "graph_expansion_error":
            told["fallback_reason"] = "rollout_guardrail"
    return told | {
        "baseline_candidates": found,
        "graph_expanded_count": added,
        "total_candidates": found + added,
        "conflict_count": conflicts,
        "fallback_triggered": told["fallback_reason"] is not None,
    }


def documented(trace: Mapping[str, Any]) -> dict[str, Any]:
    """With the names of the routes; the stages of the recall behind it are ours and left out."""
    return {_camel(name): value for name, value in trace.items() if name != "recall"}


def metric_of(
    answered: Answered, run: Run | None, reach: Reach, embedder: Embedder | None, *, now: datetime, ms: float
) -> Metric:
    decision, walked = answered.decision, answered.walked
    by_meaning = run is not None and _semantic(run)["semantic_strategy_applied"] != "lexical"
    return Metric(
        org=reach.org,
        created_at=now,
        id=new_id("req"),
        path=EXPAND,
        mode=answered.mode,
        requested_strategy=answered.strategy,
        applied_strategy=decision.applied,
        eligible=decision.eligible,
        shadow_executed=decision.shadow,
        baseline_candidates=answered.baseline,
        graph_candidates=walked.candidates,
        graph_expanded_count=answered.added,
        would_expand_count=walked.added,
        total_candidates=answered.baseline + answered.added,
        could_expand=run is not None and walked.led_on and has_room(run, answered.baseline),
        fallback_reason=decision.reason or "",
        graph_error=walked.error,
        project=project_of(reach),
        user=user_of(reach),
        semantic_model=embedder.space.key if embedder and by_meaning else "",
        duration_ms=round(ms, 3),
    )


def _semantic(run: Run | None) -> dict[str, Any]:
    """The other axis of a strategy: by words, by meaning or by both (memories_sh.md 6.3)."""
    asked = run.options.retrieval if run else "hybrid"
    reason = _why_without_meaning(run) if run and asked != "lexical" else None
    applied = "lexical" if reason in WITHOUT_MEANING else asked
    return {
        "semantic_strategy_requested": asked,
        "semantic_strategy_applied": applied,
        "lexical_candidates": int(((run.evidence.lexical > 0) & run.allowed).sum()) if run else 0,
        "semantic_candidates": int(((run.meaning > 0) & run.allowed).sum()) if run and applied != "lexical" else 0,
        "semantic_fallback_triggered": reason is not None,
        "semantic_fallback_reason": reason,
    }


def _why_without_meaning(run: Run) -> str | None:
    if not run.query.strip():
        return "query_missing"
    noted = run.notes.get("semantic")
    return str(noted) if noted else None


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)

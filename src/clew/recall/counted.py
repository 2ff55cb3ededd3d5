"""One request as the rollout of the graph is judged by it: numbers and codes of a recall, no text. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clew.model.ids import new_id
from clew.model.rollout import ACTIVATE, BASELINE, HYBRID_GRAPH, Metric
from clew.recall.run import RULE, Run

if TYPE_CHECKING:
    from clew.model.scope import Reach

# As many as one expansion adds by default. Where less than that is left, nothing can be said against a graph that
# adds nothing: a new workspace is not blamed for being small (memories_sh.md D8).
ROOM = 8


def metric_of(run: Run, ms: float, *, model: str = "") -> Metric:
    """Of a recall by activation, which may have been asked to do without."""
    decision = run.decision
    has_rules = RULE in run.corpus.by_layer
    rules = run.corpus.layer[run.chosen].tolist().count(RULE) if has_rules else 0
    answered = len(run.chosen) - rules
    by_graph = len(run.reached.keys() & run.chosen)
    wants = decision is not None and (decision.reason is not None or decision.apply)
    return Metric(
        org=run.reach.org,
        created_at=run.now,
        id=new_id("req"),
        path=ACTIVATE,
        mode=run.stage,
        requested_strategy=HYBRID_GRAPH if wants else BASELINE,
        applied_strategy=decision.applied if decision else BASELINE,
        eligible=decision is not None and decision.eligible,
        shadow_executed=decision is not None and decision.shadow,
        baseline_candidates=answered - by_graph,
        graph_candidates=len(run.expanded),
        graph_expanded_count=by_graph,
        would_expand_count=by_graph or _in_shadow(run),
        total_candidates=answered,
        could_expand=False,  # asked only where memories are appended
        fallback_reason=(decision.reason if decision else None) or "",
        graph_error=run.graph_error,
        project=project_of(run.reach),
        user=user_of(run.reach),
        semantic_model=model,
        duration_ms=round(ms, 3),
    )


def has_room(run: Run, answered: int) -> bool:
    """Whether the scope holds enough beside what was answered; rules are nobody's neighbours."""
    return int((run.allowed & (run.corpus.layer != RULE)).sum()) - answered >= ROOM


def project_of(reach: Reach) -> str | None:
    return (reach.projects[-1] or None) if reach.projects else None


def user_of(reach: Reach) -> str | None:
    return (reach.users[-1] or None) if reach.users else None


def _in_shadow(run: Run) -> int:
    """How many results would have been others."""
    compared = run.notes.get("graph_shadow")
    return compared["graph_count"] - compared["overlap_count"] if isinstance(compared, dict) else 0

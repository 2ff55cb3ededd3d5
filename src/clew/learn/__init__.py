"""What outcomes teach: weights that outcomes move, an order that follows them, and analytics over both.

The documented names are here; each is imported when it is first asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from clew.learn.rank import apply_feedback_ranking as apply_feedback_ranking

_AT = {
    "apply_feedback_ranking": "rank",
    "apply_feedback": "feedback",
    "GraphFeedbackService": "feedback",
    "classify_failure": "diagnostics",
    "feedback_impact": "analytics",
    "context_budget_pareto": "pareto",
    "fingerprint_project": "fingerprint",
    "jaccard": "fingerprint",
    "CrossProjectTransferStore": "transfer",
    "create_cross_project_transfer_store": "transfer",
}
__all__ = sorted(_AT)


def __getattr__(name: str) -> Any:
    if name not in _AT:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_AT[name]}"), name)

"""Who may see what, and how it is rendered.

The documented names are here; each is imported when it is first asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_MODULES = {
    "access": (
        "allowed_memories", "allowed_triplets", "enforce_cross_project_transfer", "enforce_graph_access",
        "enforce_graph_access_many",
    ),
    "names": ("classify_observation",),
    "pep": ("Pep",),
    "render": (
        "OBSERVATIONS_HEADING", "SUMMARIES_HEADING", "TRIPLETS_HEADING", "excerpt", "join_sections",
        "observation_line", "pack", "summary_line", "tokens", "triplet_line",
    ),
    "trust": ("is_observed", "why_not_injected"),
}  # fmt: skip
_AT = {name: module for module, names in _MODULES.items() for name in names}
__all__ = sorted(_AT)


def __getattr__(name: str) -> Any:
    if name not in _AT:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_AT[name]}"), name)

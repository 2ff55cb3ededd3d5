"""Deliver: sessions and their locks, the durable queue of injects, receipts, and the loop of a worker."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from clew.deliver.beats import AgentHandle, BeatsReport, run_beats
    from clew.deliver.names import ack_memory_inject, claim_pending_inject_for_session, enqueue_memory_inject
    from clew.deliver.pulse import NotReady

__all__ = [
    "AgentHandle",
    "BeatsReport",
    "NotReady",
    "ack_memory_inject",
    "claim_pending_inject_for_session",
    "enqueue_memory_inject",
    "run_beats",
]

_WHERE = {
    **dict.fromkeys(("AgentHandle", "BeatsReport", "run_beats"), "beats"),
    **dict.fromkeys(("ack_memory_inject", "claim_pending_inject_for_session", "enqueue_memory_inject"), "names"),
    "NotReady": "pulse",
}


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"clew.deliver.{_WHERE[name]}"), name)

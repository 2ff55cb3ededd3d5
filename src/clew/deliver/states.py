"""Pure: which way a session may go, what becomes of an inject that is next, which receipt says more."""

from __future__ import annotations

from clew.errors import Conflict
from clew.model.session import RECEIPTS, STATES, AgentSession, Head
from clew.values import dataclass

# CONTRACTS: queued -> running -> finalizing -> completed; failed from running or finalizing; stopped from queued
# or running. A session that is completed right from running passes through finalizing on its way.
_LEGAL = {
    "queued": ("running", "stopped"),
    "running": ("running", "finalizing", "completed", "failed", "stopped"),
    "finalizing": ("completed", "failed"),
}
_NEXT = {
    "queued": "claim it first: clew session claim ID --worker NAME",
    "running": f"end it as one of {', '.join(STATES[3:])}",
    "finalizing": "end it as completed or failed",
}


@dataclass(frozen=True, slots=True)
class DeliverPolicy:
    """The settings of section `deliver` that the steps need."""

    lease_s: float
    max_attempts: int
    max_pending: int
    max_text_bytes: int
    late_ack_s: float
    redeliver_on_new_epoch: bool


def check_move(session: AgentSession, state: str) -> None:
    """Refuse every way but the legal ones."""
    if session.has_ended:
        raise Conflict(
            f"session {session.id} has ended: it is {session.state}",
            code="SESSION_ENDED",
            next=f"start a new one: clew session start; what came of it: clew feedback {session.id} OUTCOME",
        )
    if state not in _LEGAL[session.state]:
        raise Conflict(
            f"session {session.id} is {session.state} and cannot become {state}",
            code="SESSION_TRANSITION_ILLEGAL",
            next=_NEXT[session.state],
        )


def is_new_epoch(session: AgentSession, provider: str | None) -> bool:
    """Whether a claim brings another agent process, which has seen nothing of what the last one saw (C-09)."""
    return bool(session.provider_session and provider) and session.provider_session != provider


def why_dead(head: Head, policy: DeliverPolicy) -> str | None:
    """The reason to give an inject up instead of handing it out once more."""
    return f"not acknowledged after {head.attempts} deliveries" if head.attempts >= policy.max_attempts else None


def raised(receipt: str, to: str) -> str | None:
    """The receipt that says more than the present one; None when the new one adds nothing."""
    before = RECEIPTS.index(receipt) if receipt else -1
    return to if RECEIPTS.index(to) > before else None

"""Where something may be said, and what a later event proves. Pure."""

from __future__ import annotations

from datetime import datetime

from clew.hosts.table import HOSTS, POINTS
from clew.model.host import HookEvent, HostSession

TOOL_ENDS = frozenset({"tool_end", "tool_failure"})
TOOL_EVENTS = TOOL_ENDS | {"tool_start", "tool_batch"}


def is_point(event: HookEvent, *, batch_fires: bool) -> bool:
    """Whether the host shows its agent what is printed now. Tools of one turn end at the same time, so where an
    event follows them all, that is the place."""
    host = HOSTS[event.host]
    if event.kind not in POINTS or event.event not in host.shows:
        return False
    return not (event.kind in TOOL_ENDS and host.batch is not None and batch_fires)


def is_confirmed(row: HostSession, event: HookEvent, *, received: datetime, now: datetime) -> bool:
    """Whether this event proves that what the last answer carried has reached the agent: it came after the hook
    said that it had printed it, and the host would not have sent it otherwise. The end of one tool proves nothing
    about what was said at the end of another, which may have run beside it; nor does an event that we do not
    know."""
    if not row.printed or row.printed_at is None or row.printed_event == event.event_id or event.kind == "other":
        return False
    if event.kind in TOOL_ENDS and row.printed_kind in TOOL_ENDS:
        return False
    went_back = row.printed_at > now  # the clock; otherwise nothing would be confirmed until it is there again
    return received > row.printed_at or went_back

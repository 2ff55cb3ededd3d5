"""A call of a tool on this machine, as whoever saw it tells it."""

from __future__ import annotations

from datetime import datetime

from clew.values import dataclass


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call of a local tool: what ran, how it ended, which file it was about, and what made it work later."""

    tool: str
    command: str | None = None
    exit_status: int | None = None
    error_line: str | None = None
    file: str | None = None
    fixed_by: str | None = None
    id: str | None = None  # the host's own name for the call
    at: datetime | None = None

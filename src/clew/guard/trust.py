"""What may reach a prompt without being asked for: decided by where it came from, never by what it says.

Text from the web, from foreign MCP servers or quoted from a tool is there to be recalled, with its origin; it is
never put before an agent as a fact. What a user or an agent stated may be, and so may what Clew's own rules wrote
about a local tool call, which is marked. A summary is no better than what it summarises: trust is the lowest of all
parents (`remember/trust.py`), so this needs to look at one level only.
"""

from __future__ import annotations

from clew.model.memory import CLASSIFICATIONS, Memory

MAY_BE_INJECTED = frozenset({"agent", "user"})
TOLD_LABELS, TOLD_TRUSTS = CLASSIFICATIONS[:-1], tuple(sorted(MAY_BE_INJECTED))  # of what may be told unasked
OBSERVED = "observed"


def why_not_injected(memory: Memory) -> str | None:
    """None: it may. A level this version does not know may not."""
    return None if memory.trust in MAY_BE_INJECTED else "untrusted_origin"


def is_told_unasked(memory: Memory) -> bool:
    """Whether it may be put before any agent at all: by its trust, and not against the shipped policies, which no
    other can lift. The read model marks the others so ($segment_columns)."""
    return why_not_injected(memory) is None and memory.classification != CLASSIFICATIONS[-1]


def is_observed(memory: Memory) -> bool:
    """Whether our own rules recorded it; its line is marked so."""
    return is_reserved(memory.origin)


def is_reserved(origin: str) -> bool:
    """The origin, or a branch of it, that only our own rules may give."""
    return origin.strip().partition(":")[0].strip().lower() == OBSERVED

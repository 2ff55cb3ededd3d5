"""How many of a list are asked for."""

from __future__ import annotations

from operator import index
from typing import Any

from clew.errors import InvalidInput

MOST = 2**63 - 1  # what a store can count to


def as_whole(value: Any) -> int | None:
    """The whole number that it is, whoever made it; None: it is none."""
    try:
        return index(value)
    except TypeError:
        return None


def check_limit(limit: int) -> None:
    if not isinstance(limit, int) or isinstance(limit, bool):
        raise InvalidInput(
            f"limit is a whole number, not {type(limit).__name__}",
            code="ARGUMENT_INVALID",
            next="give limit as a whole number",
        )
    if not 1 <= limit <= MOST:
        raise InvalidInput(
            f"limit {str(limit)[:20]} is out of range", code="LIMIT_INVALID", next="ask for 1 or more"
        )

"""How many of a list are asked for."""

from __future__ import annotations

from clew.errors import InvalidInput

MOST = 2**63 - 1  # what a store can count to


def check_limit(limit: int) -> None:
    if not isinstance(limit, int) or isinstance(limit, bool) or not 1 <= limit <= MOST:
        raise InvalidInput(
            f"limit {str(limit)[:20]} is out of range", code="LIMIT_INVALID", next="ask for 1 or more"
        )

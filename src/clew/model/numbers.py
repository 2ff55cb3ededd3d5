"""Numbers that a memory carries, refused by their name where they are none or lie outside of their range."""

from __future__ import annotations

from clew.errors import InvalidInput

MAX_WEIGHT = 1_000_000


def confidence(value: float) -> float:
    if not (isinstance(value, (int, float)) and 0 <= value <= 1):
        raise _refused("confidence must lie between 0 and 1", "confidence")
    return float(value)


def weight(value: float) -> float:
    if not (isinstance(value, (int, float)) and 0 <= value <= MAX_WEIGHT):  # not-a-number fails both
        raise _refused(f"weight must be a number between 0 and {MAX_WEIGHT:,}", "weight")
    return float(value)


def _refused(why: str, name: str) -> InvalidInput:
    return InvalidInput(why, code="MEMORY_NUMBER_INVALID", next=f"correct {name}")

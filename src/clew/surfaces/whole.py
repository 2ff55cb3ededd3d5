"""Whole numbers as JSON Schema counts them: 5.0 is an integer, and some clients write it so. Pure."""

from __future__ import annotations

from typing import Any


def with_whole_numbers(given: Any) -> Any:
    """The members of an object; what lies deeper is left as it was said."""
    if not isinstance(given, dict):
        return given
    return {name: _whole(value) for name, value in given.items()}


def _whole(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value

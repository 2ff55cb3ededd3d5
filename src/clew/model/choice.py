"""A word of a closed list."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from clew.errors import InvalidInput


def one_of(name: str, value: str, allowed: Collection[str]) -> str:
    """The value itself; anything else is refused with the nearest word and the whole list."""
    if value in allowed:
        return value
    from difflib import get_close_matches  # only mistakes need it

    near = get_close_matches(str(value), list(allowed), n=1)
    raise InvalidInput(
        f"'{str(value)[:40]}' is not a {name}" + (f"; did you mean '{near[0]}'?" if near else ""),
        code=f"MEMORY_{name.upper()}_INVALID",
        next=f"choose one of: {', '.join(allowed)}",
    )


def is_many(value: Any) -> bool:
    """Whether it counts as a list, whatever made it."""
    return hasattr(value, "__iter__") and not isinstance(value, (str, bytes)) and not hasattr(value, "keys")


def name_one_as_many(value: object, *fields: str) -> None:
    """In a value that cannot be changed any more: its lists are tuples, which can be gone through twice. A lone
    text among them is one entry, not its letters."""
    for name in fields:
        given = getattr(value, name)
        if isinstance(given, str):
            object.__setattr__(value, name, (given,) if given else ())
        elif type(given) is not tuple and is_many(given):
            object.__setattr__(value, name, tuple(given))

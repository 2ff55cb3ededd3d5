"""Identifiers that sort by time: a prefix and 26 lowercase base32 characters."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from clew import native
from clew.errors import InvalidInput

# Crockford's alphabet keeps the order of the bits in the order of the characters.
_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_PAIRS = [a + b for a in _ALPHABET for b in _ALPHABET]


def new_id(prefix: str, *, at_ms: int | None = None) -> str:
    """48 bits of milliseconds, then 80 random bits; 130 bits of room, the top two always zero."""
    millis = time.time_ns() // 1_000_000 if at_ms is None else at_ms
    return _spelled(prefix, millis, _random_bytes())


def new_ids(prefix: str, count: int, *, at_ms: int) -> list[str]:
    """So many of one millisecond, rising: what is said together sorts in the order in which it was said."""
    return sorted([new_id(prefix, at_ms=at_ms) for _number in range(count)])


def stable_id(prefix: str, *, at_ms: int, digest: bytes) -> str:
    """The same id for the same thing every time: ten bytes of a digest take the place of the random ones."""
    return _spelled(prefix, at_ms, digest[:10])


def is_made_here(id: str, *prefixes: str) -> bool:
    prefix, _, rest = id.partition("_")
    return prefix in prefixes and len(rest) == 26 and set(rest) <= set(_ALPHABET)


def check_cursor(cursor: str, *prefixes: str, is_known: Callable[[str], object] = lambda _id: False) -> None:
    """Refuse what no page can have named: neither an id of ours, whose row may be gone by now, nor a known one."""
    if not is_made_here(cursor, *prefixes) and not is_known(cursor):
        raise InvalidInput(
            f"'{cursor[:60]}' is no cursor",
            code="CURSOR_INVALID",
            next="take the one that the page before named, or leave it out to begin anew",
        )


def _in_letters(prefix: str, millis: int, ten: bytes) -> str:
    bits = (millis & 0xFFFF_FFFF_FFFF) << 80 | int.from_bytes(ten, "big")
    return prefix + "_" + "".join([_PAIRS[(bits >> shift) & 0x3FF] for shift in range(120, -1, -10)])


_spelled: Callable[[str, int, bytes], str] = native.compiled.spell if native.compiled else _in_letters


_pool: list[bytes] = []


def _random_bytes() -> bytes:
    """Ten. Asked from the system 256 ids at a time: a call costs more than all the rest of an id."""
    try:
        return _pool.pop()  # which is atomic: no two threads get the same bytes
    except IndexError:
        block = os.urandom(2560)
        _pool.extend(block[at : at + 10] for at in range(10, 2560, 10))
        return block[:10]


if hasattr(os, "register_at_fork"):  # a child must not hand out its parent's numbers
    os.register_at_fork(after_in_child=_pool.clear)

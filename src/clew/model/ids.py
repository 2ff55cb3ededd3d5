"""Identifiers that sort by time: a prefix and 26 lowercase base32 characters."""

from __future__ import annotations

import os
import re
import time

# Crockford's alphabet keeps the order of the bits in the order of the characters.
_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_PAIRS = [a + b for a in _ALPHABET for b in _ALPHABET]
_SHAPE = re.compile(r"(?:mem|ses|inj|job|run)_[0-9a-hjkmnp-tv-z]{26}")

PREFIXES = ("mem", "ses", "inj", "job", "run")


def new_id(prefix: str, *, at_ms: int | None = None) -> str:
    """48 bits of milliseconds, then 80 random bits; 130 bits of room, the top two always zero."""
    millis = time.time_ns() // 1_000_000 if at_ms is None else at_ms
    bits = (millis & 0xFFFF_FFFF_FFFF) << 80 | int.from_bytes(os.urandom(10), "big")
    return prefix + "_" + "".join([_PAIRS[(bits >> shift) & 0x3FF] for shift in range(120, -1, -10)])


def is_id(text: str, prefix: str | None = None) -> bool:
    return bool(_SHAPE.fullmatch(text)) and (prefix is None or text.startswith(prefix + "_"))

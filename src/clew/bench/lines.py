"""Tables as lines, which the names in them do not break."""

from __future__ import annotations

import re
from collections.abc import Iterable

_BREAK = re.compile(r"[\t\n\v\f\r\x1c-\x1e\x85\u2028\u2029]")


def in_lines(lines: Iterable[str]) -> str:
    """Each stays one: what would end it, or leave its column, becomes its escape."""
    return "\n".join(_BREAK.sub(_escape, line) for line in lines)


def _escape(match: re.Match[str]) -> str:
    return match.group().encode("unicode_escape").decode("ascii")

"""What reaches the terminal: safe text, colours where they are wanted, documents for machines.

Memory content is data from anywhere. A control character in it could move the cursor, recolour the screen or
write to the clipboard, so none is ever printed raw: it is shown as its escape.
"""

from __future__ import annotations

import json
import os
import re
import sys
from argparse import Namespace
from collections.abc import Callable, Iterable, Mapping
from typing import Any

# C0 without tab and newline, DEL, C1, line and paragraph separators, marks that reorder or hide text,
# lone surrogates, and the invisible tag characters.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff\U000e0000-\U000e007f]"
)
_CODES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}
PIPED_WIDTH = 160


class Style:
    """Colours text, or leaves it alone."""

    def __init__(self, *, colours: bool, width: int) -> None:
        self.colours = colours
        self.width = width

    def __call__(self, name: str, text: str) -> str:
        return f"\x1b[{_CODES[name]}m{text}\x1b[0m" if self.colours and text else text


def style() -> Style:
    """For stdout as it is now. NO_COLOR counts when it is not empty, as its authors ask."""
    is_terminal = bool(sys.stdout) and sys.stdout.isatty()
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return Style(colours=is_terminal and not plain, width=_columns() if is_terminal else PIPED_WIDTH)


def answer(args: Namespace, document: Mapping[str, Any], text: Callable[[Style], Iterable[str]]) -> None:
    """One JSON document, or lines for people."""
    if args.json:
        print_json(document)
        return
    for line in text(style()):
        print(line)


def flush() -> None:
    if sys.stdout:  # not closed by the caller
        sys.stdout.flush()


def print_json(document: Any) -> None:
    if not sys.stdout:  # closed by the caller
        return
    utf8 = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    indent = 2 if sys.stdout.isatty() else None
    text = json.dumps(document, ensure_ascii=not utf8, indent=indent, allow_nan=False)
    print(_UNSAFE.sub(_json_escape, text))


def safe(text: str) -> str:
    """The text with every unsafe character shown as its escape; newlines and tabs stay."""
    return _UNSAFE.sub(_escape, text)


def one_line(text: str) -> str:
    return safe(" ".join(text.split()))


def cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: max(1, width - 1)].rstrip() + "…"


def columns(rows: Iterable[tuple[str, ...]]) -> list[str]:
    """Rows as aligned lines; the last column is free."""
    table = list(rows)
    if not table:
        return []
    widths = [max(len(row[at]) for row in table) for at in range(len(table[0]) - 1)]
    return [
        "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[-1]]).rstrip()
        for row in table
    ]


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _json_escape(found: re.Match[str]) -> str:
    """Unsafe characters only occur inside JSON strings; beyond the first plane they need two escapes."""
    return json.dumps(found[0])[1:-1] if found[0] != "\x7f" else "\\u007f"


def _columns() -> int:
    try:
        return max(40, os.get_terminal_size(sys.stdout.fileno()).columns)
    except (OSError, ValueError):
        return 80

"""Edits of JSON as text: what is not touched stays byte for byte, with its own spacing and order.

A path is a tuple of keys and indices from the root. Only what lies on the path is taken apart; everything else is
skipped over by the decoder of the standard library.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

Path = tuple[str | int, ...]
_SPACE = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()


class Item(NamedTuple):
    """A member of an object or an element of an array: where it starts, where its value is."""

    key: str | int
    start: int
    value: int
    end: int


def add(text: str, path: Path, key: str | None, value: Any) -> str:
    """Put a member (or, without a key, an element) last into the container at the path."""
    start, end = _find(text, path)
    items = _items(text, start)
    unit = _unit(text)
    where = items[-1].start if items else -1
    if unit is None or (items and "\n" not in text[start:where]):
        return _add_inline(text, start, items, key, value)
    newline = "\r\n" if "\r\n" in text else "\n"
    indent = _indent(text, where) if items else _indent(text, start) + unit
    fresh = newline + indent + _rendered(key, value, unit=unit, indent=indent, newline=newline)
    if items:
        return text[: items[-1].end] + "," + fresh + text[items[-1].end :]
    return text[: start + 1] + fresh + newline + _indent(text, start) + text[end - 1 :]


def _add_inline(text: str, start: int, items: list[Item], key: str | None, value: Any) -> str:
    fresh = _rendered(key, value, unit=None, indent="", newline="")
    if items:
        return text[: items[-1].end] + ", " + fresh + text[items[-1].end :]
    return text[: start + 1] + fresh + text[start + 1 :]


def remove(text: str, path: Path) -> str:
    """Take out what is at the path, with the comma that goes with it."""
    start, end = _find(text, path[:-1])
    items = _items(text, start)
    at = max(number for number, item in enumerate(items) if item.key == path[-1])
    if len(items) == 1:
        return text[: start + 1] + text[end - 1 :]
    if at == len(items) - 1:
        return text[: items[at - 1].end] + text[items[at].end :]
    return text[: items[at].start] + text[items[at + 1].start :]


def _find(text: str, path: Path) -> tuple[int, int]:
    start = _skip(text, 1 if text.startswith("\ufeff") else 0)
    for key in path:
        start = max((item for item in _items(text, start) if item.key == key), key=lambda item: item.start).value
    return start, _end(text, start)


def _items(text: str, start: int) -> list[Item]:
    """What the container that opens at `start` holds."""
    is_object = text[start] == "{"
    items: list[Item] = []
    place = _skip(text, start + 1)
    while text[place] not in "}]":
        begun, key = place, len(items)
        if is_object:
            key, place = _DECODER.raw_decode(text, place)
            place = _skip(text, _skip(text, place) + 1)  # the colon
        end = _end(text, place)
        items.append(Item(key, begun, place, end))
        place = _skip(text, end)
        if text[place] == ",":
            place = _skip(text, place + 1)
    return items


def _end(text: str, start: int) -> int:
    return _DECODER.raw_decode(text, start)[1]


def _skip(text: str, place: int) -> int:
    found = _SPACE.match(text, place)
    return found.end() if found else place


def _unit(text: str) -> str | None:
    """One step of indentation as this text has it; None: it stands on one line."""
    if "\n" not in text.strip():
        return None if len(text.strip("\ufeff \t\r\n")) > 2 else "  "
    found = re.search(r"\n([ \t]+)\S", text)
    return found[1] if found else "  "


def _indent(text: str, place: int) -> str:
    """What the line begins with on which this place is."""
    line = text[text.rfind("\n", 0, place) + 1 : place]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _rendered(key: str | None, value: Any, *, unit: str | None, indent: str, newline: str) -> str:
    shown = json.dumps(value, ensure_ascii=False, indent=unit)
    if unit is not None:
        shown = shown.replace("\n", newline + indent)
    return shown if key is None else f"{json.dumps(key, ensure_ascii=False)}: {shown}"

"""Answers within a size: entries are cut, then left out from the end, and the answer says so and what to ask next.

The size is that of the answer as JSON text, in tokens of four characters (rensei.md C-13).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

Document = dict[str, Any]
_SHORTEST = 200  # characters of a text that is cut; what is shorter than that says nothing
_FEW = 5  # tags and paths of an entry that is cut


def encoded(document: Document) -> str:
    return msgspec.json.encode(document).decode()


def tokens(text: str) -> int:
    return -(-len(text) // 4)


def fit(document: Document, listed: str, max_tokens: int, *, spare: Sequence[str] = (), ask: str) -> Document:
    """`listed` is the list of entries to cut or leave out, `spare` what goes before them, `ask` the next move."""
    limit = 4 * max_tokens
    if _size(document) <= limit:
        return document
    document = document | {"truncated": True, "next": ask}
    for name in spare:
        document.pop(name, None)
        if _size(document) <= limit:
            return document
    whole, chars = document[listed], limit
    while chars > _SHORTEST:
        chars = chars * 3 // 4
        document = document | {listed: [_cut(entry, chars) for entry in whole]}
        if _size(document) <= limit:
            return document
    return _shortened(document, listed, limit)


def fit_text(document: Document, max_tokens: int, *, ask: str) -> Document:
    """The same for an answer that is a single text, which is cut between lines."""
    limit = 4 * max_tokens
    if _size(document) <= limit:
        return document
    document = document | {"truncated": True, "next": ask}
    lines: list[str] = document["text"].split("\n")
    while len(lines) > 1 and _size(document | {"text": "\n".join(lines)}) > limit:
        lines.pop()
    text = "\n".join(lines)
    while text and _size(document | {"text": text}) > limit:
        text = text[: len(text) * 3 // 4]
    return document | {"text": text}


def _shortened(document: Document, listed: str, limit: int) -> Document:
    entries = document[listed]
    document = document | {"left_out": len(entries), listed: []}
    room, kept = limit - _size(document), 0
    for entry in entries:
        room -= _size(entry) + 1
        if room < 0:
            break
        kept += 1
    return document | {listed: entries[:kept], "left_out": len(entries) - kept}


def _cut(entry: Document, chars: int) -> Document:
    """Cut, an entry says where its text goes on."""
    few = {name: entry[name][:_FEW] for name in ("tags", "paths") if name in entry}
    text = entry.get("content")
    if not isinstance(text, str) or len(text) <= chars:
        return entry | few
    return entry | few | {"content": text[:chars], "cut_at": entry.get("offset", 0) + chars}


def _size(document: Document) -> int:
    return len(encoded(document))

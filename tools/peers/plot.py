"""The results as small bars: one row per peer, one column per file (recall at 10) and per size (milliseconds)."""

from __future__ import annotations

import math
from typing import Any

from clew.bench.plot import LEFT, document, label

COLUMNS, COLUMNS_END, TOP, ROW_HEIGHT = 262, 950, 96, 24
FIGURE = 46  # room for the number right of a bar
FASTEST_MS, SLOWEST_MS = 0.3, 3000.0
Row = dict[str, Any]


def draw(peers: dict[str, Row]) -> str:
    files = list(dict.fromkeys(name for row in peers.values() for name in row.get("quality", {})))
    sizes = sorted({size for row in peers.values() for size in row.get("speed", {})}, key=int)
    columns = [(name, "R@10", "quality") for name in files]
    columns += [(f"{int(size):,}", "p50 ms, log scale", "speed") for size in sizes]
    wide = (COLUMNS_END - COLUMNS) / max(1, len(columns))
    parts = [label(LEFT, 48, "Longer is better for recall, shorter is better for milliseconds.", "s")]
    for number, (title, unit, _kind) in enumerate(columns):
        parts += [
            label(COLUMNS + wide * number, TOP - 26, title),
            label(COLUMNS + wide * number, TOP - 10, unit, "s"),
        ]
    for line, (name, row) in enumerate(peers.items()):
        top = TOP + ROW_HEIGHT * line
        parts.append(label(LEFT, top + 13, row["title"]))
        for number, (title, _unit, kind) in enumerate(columns):
            left = COLUMNS + wide * number
            share, text = _recall(row, title) if kind == "quality" else _speed(row, title.replace(",", ""))
            parts.append(_bar(left, top, share * (wide - FIGURE), text, ours=name.startswith("clew")))
    return document(
        "Clew and its peers on the same data and the same machine",
        "Recall at 10 for each benchmark file; median search time with the question's embedding at each size.",
        parts,
        height=TOP + ROW_HEIGHT * len(peers) + 16,
    )


def word_for(reason: str) -> str:
    """What stands where a figure is missing."""
    if not reason:
        return "-"
    return "not run" if reason.startswith("not run") else "failed"


def _recall(row: Row, file: str) -> tuple[float, str]:
    found = row.get("quality", {}).get(file, {"error": ""})
    if "error" in found:
        return 0.0, word_for(found["error"])
    part = "*" if found.get("max_units") else ""  # of the file only
    return found["recall@10"], f"{found['recall@10']:.2f}{part}".removeprefix("0")


def _speed(row: Row, size: str) -> tuple[float, str]:
    found = row.get("speed", {}).get(size, {})
    if "ms_p50" not in found:
        return 0.0, word_for(found.get("error", ""))
    ms = found["ms_p50"]
    share = math.log(max(ms, FASTEST_MS) / FASTEST_MS) / math.log(SLOWEST_MS / FASTEST_MS)
    return min(1.0, share), f"{ms:.1f}" if ms < 100 else f"{ms:,.0f}"


def _bar(left: float, top: float, length: float, text: str, *, ours: bool) -> str:
    kind = "pass" if ours else "bar"
    drawn = f'<rect class="{kind}" x="{left:.1f}" y="{top}" width="{max(0.0, length):.1f}" height="16" rx="2"/>'
    return drawn + label(round(left + length + 5, 1), top + 13, text, "s")

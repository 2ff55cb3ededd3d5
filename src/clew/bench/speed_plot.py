"""How the steps of `clew bench speed` grow with the store, as a picture: both axes by powers of ten.

A line that stays level costs the same in a store ten times as large.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

from clew.bench.plot import LEFT, document, label
from clew.bench.speed_figures import figures
from clew.values import dataclass

LIGHT = ("#0072b2", "#c24e00", "#007a58", "#a8487f", "#8a6d00", "#4b5bd1", "#57606a")
DARK = ("#58b4f0", "#ff9a5c", "#3ddbb0", "#f0a6d2", "#e3c04a", "#a5b0ff", "#b1bac4")
TOP, HEIGHT, GAP, BOTTOM = 96, 250, 92, 56  # of the first row, of a panel, between two, under the last
SIDES = ((LEFT, 240), (546, 240))  # left edge and width of the panels of a row; the rest is for the names of lines
LINE = 14  # least distance of two names

# (title, unit, {name: step}) by panels, two in a row.
PANELS: tuple[tuple[str, str, Mapping[str, str]], ...] = (
    (
        "warm: done before in the same process", "ms",
        {
            "import, each": "ingest warm", "recall, project": "recall in_project warm",
            "recall, one scope": "recall in_one_scope warm", "graph expansion": "graph warm",
            "in-session event": "event warm", "claim and ack": "cycle warm", "recall, daemon": "daemon recall",
        },
    ),
    (
        "cold: the first of a process, store opened", "ms",
        {
            "write": "ingest cold", "recall, project": "recall in_project cold",
            "recall, one scope": "recall in_one_scope cold", "graph expansion": "graph cold",
            "in-session event": "event cold", "claim and ack": "cycle cold",
        },
    ),
    (
        "processes and start-up", "ms",
        {
            "clew recall": "startup recall", "clew --help": "startup help", "open a store": "startup open",
            "hook, daemon": "hook warm", "hook, no daemon": "hook without_daemon",
            "import numpy": "startup import_numpy", "bare python": "startup bare_python",
        },
    ),
    (
        "resident memory of one process", "MB",
        {
            "peak": "peak_mb", "after the fill": "after_fill_mb", "recall, project": "after_first_recall_mb",
            "recall, one scope": "after_first_recall_in_one_scope_mb", "cold recall": "cold",
        },
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Scale:
    """Numbers to places on one axis, by powers of ten."""

    least: float
    most: float
    start: float
    length: float

    def at(self, value: float) -> float:
        share = math.log10(value / self.least) / math.log10(self.most / self.least)
        return round(self.start + self.length * share, 1)

    @property
    def ticks(self) -> list[float]:
        """Powers of ten; between them too where there are few."""
        powers = range(math.floor(math.log10(self.least)), math.ceil(math.log10(self.most)) + 1)
        for steps in ((1,), (1, 2, 5)):
            found = [step * 10.0**power for power in powers for step in steps]
            found = [tick for tick in found if self.least <= tick <= self.most]
            if len(found) > 2:
                break
        return found


Line = tuple[str, list[tuple[float, float]], list[tuple[float, float]]]  # name, by the wall, by the processor


def growth_svg(report: Mapping[str, Any]) -> str:
    stores: Mapping[str, Mapping[str, Any]] = report["stores"]
    parts = [f"<style>{_style()}</style>", label(LEFT, 48, _subtitle(report), "s"), *_legend()]
    for place, (title, unit, named) in enumerate(PANELS):
        lines = list(_memory(stores, named) if unit == "MB" else _times(stores, named))
        top = TOP + (place // 2) * (HEIGHT + GAP)
        parts += _panel(title, unit, lines, [int(size) for size in stores], place % 2, top)
    return document(
        "What each step costs as the store grows",
        "Median milliseconds of each step, warm and cold, and resident memory, over the memories in the store.",
        parts,
        height=TOP + 2 * HEIGHT + GAP + BOTTOM,
    )


def _subtitle(report: Mapping[str, Any]) -> str:
    machine = report["machine"]
    return (
        f"medians; clew {machine['clew']}, Python {machine['python']}, SQLite {machine['sqlite']}, "
        f"{machine['cores']} cores; compare slopes, not milliseconds"
    )


def _legend() -> Iterator[str]:
    yield '<path class="l0" d="M680 44h22"/>' + label(708, 48, "time that passed", "s")
    yield '<path class="l0 cpu" d="M836 44h22"/>' + label(864, 48, "processor", "s")


def _style() -> str:
    """A line, its points and its name are of one colour; another set of colours for dark screens."""
    both = "path[class^=l]{fill:none;stroke-width:2}path.cpu{stroke-width:1.2;stroke-dasharray:3 3;opacity:.75}"
    return f"{both}{_colours(LIGHT)}@media(prefers-color-scheme:dark){{{_colours(DARK)}}}"


def _colours(colours: Sequence[str]) -> str:
    return "".join(
        f"path.l{n}{{stroke:{colour}}}circle.l{n},text.l{n}{{fill:{colour}}}" for n, colour in enumerate(colours)
    )


def _times(stores: Mapping[str, Mapping[str, Any]], named: Mapping[str, str]) -> Iterator[Line]:
    found = {int(size): {" ".join(path): told for path, told in figures(row)} for size, row in stores.items()}
    for name, step in named.items():
        wall, cpu = (
            [
                (float(size), rows[step][kind]["p50"])
                for size, rows in found.items()
                if rows.get(step, {}).get(kind, {}).get("p50")
            ]
            for kind in ("ms", "cpu_ms")
        )
        yield name, wall, cpu


def _memory(stores: Mapping[str, Mapping[str, Any]], named: Mapping[str, str]) -> Iterator[Line]:
    for name, key in named.items():
        told = {
            float(size): row["recall"]["in_project"]["cold"]["peak_mb"] if key == "cold" else row["memory"].get(key)
            for size, row in stores.items()
        }
        yield name, [(size, megabytes) for size, megabytes in told.items() if megabytes], []


def _panel(
    title: str, unit: str, lines: Sequence[Line], sizes: Sequence[int], side: int, top: int
) -> Iterator[str]:
    """Nothing is drawn of what was not measured."""
    left, wide = SIDES[side]
    values = [value for _name, wall, cpu in lines for _size, value in (*wall, *cpu)]
    yield label(left, top - 14, f"{title}, {unit}")
    if not values:
        return
    x = Scale(min(sizes) / 1.3, max(sizes) * 1.3, left, wide)
    y = Scale(min(values) / 1.3, max(values) * 1.3, top + HEIGHT, -HEIGHT)
    yield _grid(x, y, sizes, left, top, wide)
    for number, (_name, wall, cpu) in enumerate(lines):
        yield _line(cpu, x, y, f"l{number} cpu")
        yield _line(wall, x, y, f"l{number}") + _points(wall, x, y, f"l{number}")
    yield from _names(lines, y, left + wide + 8)


def _grid(x: Scale, y: Scale, sizes: Sequence[int], left: int, top: int, wide: int) -> str:
    bottom = top + HEIGHT
    across = "".join(f"M{left} {y.at(tick)}h{wide}" for tick in y.ticks)
    down = "".join(f"M{x.at(size)} {top}V{bottom}" for size in sizes)
    frame = f"M{left} {top}v{HEIGHT}h{wide}"
    drawn = [f'<path class="grid" d="{across}{down}{frame}"/>']
    drawn += [label(left - 8, y.at(tick) + 4, f"{tick:,g}", "s", end=True) for tick in y.ticks]
    drawn += [_centred(x.at(size), bottom + 18, f"{size:,}") for size in sizes]
    return "\n".join([*drawn, _centred(left + wide / 2, bottom + 36, "memories in the store")])


def _centred(x: float, y: float, text: str) -> str:
    return f'<text class="s" x="{x}" y="{y}" text-anchor="middle">{escape(text)}</text>'


def _line(points: Sequence[tuple[float, float]], x: Scale, y: Scale, kind: str) -> str:
    steps = "L".join(f"{x.at(size)} {y.at(value)}" for size, value in points)
    return f'<path class="{kind}" d="M{steps}"/>' if points else ""


def _points(points: Sequence[tuple[float, float]], x: Scale, y: Scale, kind: str) -> str:
    return "".join(f'<circle class="{kind}" cx="{x.at(size)}" cy="{y.at(value)}" r="3"/>' for size, value in points)


def _names(lines: Sequence[Line], y: Scale, left: float) -> Iterator[str]:
    """At the end of each line with its last value, moved apart where they would lie on each other."""
    ends = [
        (y.at(wall[-1][1]), number, f"{name} {_short(wall[-1][1])}")
        for number, (name, wall, _cpu) in enumerate(lines)
        if wall
    ]
    ends.sort()
    bottom = y.start
    for place, (_at, number, text) in zip(_apart([end[0] for end in ends], bottom), ends, strict=True):
        yield f'<text class="l{number}" x="{left}" y="{round(place + 4, 1)}">{escape(text)}</text>'


def _apart(places: Sequence[float], bottom: float) -> list[float]:
    """The same places in the same order, none closer to the next than a line; from the bottom up where they would
    run out of the panel."""
    moved: list[float] = []
    for place in places:
        moved.append(max(place, moved[-1] + LINE) if moved else place)
    limit = bottom
    for number in range(len(moved) - 1, -1, -1):
        moved[number] = min(moved[number], limit)
        limit = moved[number] - LINE
    return moved


def _short(value: float) -> str:
    return f"{value:.2g}" if value < 10 else f"{value:,.0f}"

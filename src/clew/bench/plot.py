"""A plot of a week by the hour as SVG: stacked panels over one axis of days. No dependency, a few kilobytes.

Colours are classes with a second set for dark screens, so that the same file is legible on both.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from clew.values import dataclass

WIDTH, LEFT, RIGHT, TOP = 960, 74, 24, 64
GAP = 46  # between two panels, room for a title
BOTTOM = 64  # under the last one: days and the legend

STYLE = """
text{font:12px system-ui,sans-serif;fill:#1f2328}.h{font-size:15px;font-weight:600}.s{fill:#59636e}
.bg{fill:#fff}.grid{stroke:#d1d9e0;fill:none}.bar{fill:#9fb8d3}.line{stroke:#0969da;fill:none;stroke-width:2}
.err{fill:#e5534b;fill-opacity:.45}.rate{stroke:#b3202c;fill:none;stroke-width:2}
.limit{stroke:#9a6700;fill:none;stroke-dasharray:5 4}.fault{fill:#cf222e;fill-opacity:.12}
.pass{fill:#2da44e}.fail{fill:#cf222e}.wait{fill:#6e7781}.in{fill:#fff}
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.s{fill:#9198a1}.bg{fill:#0d1117}.grid{stroke:#3d444d}
.bar{fill:#3d5a80}.line{stroke:#6cb6ff}.rate{stroke:#ff7b72}.limit{stroke:#d29922}.fault{fill-opacity:.25}
.pass{fill:#238636}.fail{fill:#da3633}.wait{fill:#57606a}}
""".strip().replace("\n", "")


@dataclass(frozen=True, slots=True)
class Panel:
    """A rectangle of the plot with its own scale, from 0 to `most`; `unit` follows the numbers at its side."""

    title: str
    top: int
    height: int
    most: float = 1.0
    ticks: tuple[float, ...] = ()
    unit: str = ""

    @property
    def bottom(self) -> int:
        return self.top + self.height

    def y(self, value: float) -> float:
        return round(self.bottom - self.height * min(1.0, value / self.most), 1)


@dataclass(frozen=True, slots=True)
class Axis:
    """Hours from left to right."""

    hours: int
    days: tuple[str, ...]

    def x(self, hour: float) -> float:
        return round(LEFT + (WIDTH - LEFT - RIGHT) * hour / self.hours, 1)


def document(title: str, description: str, parts: Iterable[str], *, height: int) -> str:
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
        f'aria-labelledby="t d"><title id="t">{escape(title)}</title><desc id="d">{escape(description)}</desc>'
        f'<style>{STYLE}</style><rect class="bg" width="{WIDTH}" height="{height}"/>'
    )
    return "\n".join([head, label(LEFT, 26, title, "h"), *parts, "</svg>\n"])


def frame(panel: Panel, axis: Axis) -> str:
    """Title, lines at its ticks with their numbers, and lines between the days."""
    left, right = axis.x(0), axis.x(axis.hours)
    days = "".join(f"M{axis.x(24 * day)} {panel.top}V{panel.bottom}" for day in range(len(axis.days) + 1))
    ticks = "".join(f"M{left} {panel.y(tick)}H{right}" for tick in panel.ticks)
    numbers = [label(left - 8, panel.y(tick) + 4, f"{tick:g}{panel.unit}", "s", end=True) for tick in panel.ticks]
    return "\n".join([label(left, panel.top - 10, panel.title), _path(days + ticks, "grid"), *numbers])


def day_names(panel: Panel, axis: Axis) -> str:
    middle = [axis.x(24 * day + 12) for day in range(len(axis.days))]
    return "\n".join(
        f'<text class="s" x="{x}" y="{panel.bottom + 18}" text-anchor="middle">{escape(name)}</text>'
        for x, name in zip(middle, axis.days, strict=True)
    )


def bars(values: Sequence[float], panel: Panel, axis: Axis, kind: str) -> str:
    wide = round(axis.x(1) - axis.x(0) - 0.8, 1)
    drawn = (
        f"M{axis.x(hour)} {panel.bottom}V{panel.y(value)}h{wide}V{panel.bottom}z"
        for hour, value in enumerate(values)
        if value
    )
    return _path("".join(drawn), kind)


def line(values: Sequence[float | None], panel: Panel, axis: Axis, kind: str) -> str:
    """Through the middle of each hour; broken where there is nothing to tell."""
    steps, is_open = [], False
    for hour, value in enumerate(values):
        if value is not None:
            steps.append(f"{'L' if is_open else 'M'}{axis.x(hour + 0.5)} {panel.y(value)}")
        is_open = value is not None
    return _path("".join(steps), kind)


def limit(value: float, text: str, panel: Panel, axis: Axis) -> str:
    """A dashed line with its name at the right end."""
    drawn = _path(f"M{axis.x(0)} {panel.y(value)}H{axis.x(axis.hours)}", "limit")
    return drawn + label(axis.x(axis.hours) - 4, panel.y(value) - 5, text, "s", end=True)


def band(spans: Iterable[tuple[float, float, str, str]], panel: Panel, axis: Axis) -> str:
    """(from, until, kind, text) in hours; a text that has no room is left out."""
    drawn = []
    for start, end, kind, text in spans:
        left, wide = axis.x(start), round(axis.x(end) - axis.x(start), 1)
        drawn.append(f'<rect class="{kind}" x="{left}" y="{panel.top}" width="{wide}" height="{panel.height}"/>')
        if wide > 7 * len(text):
            drawn.append(label(left + 6, panel.top + panel.height / 2 + 4, text, "in"))
    return "\n".join(drawn)


def shade(start: float, end: float, panel: Panel, axis: Axis) -> str:
    """What happened from outside, behind everything else of a panel."""
    left, wide = axis.x(start), round(axis.x(end) - axis.x(start), 1)
    return f'<rect class="fault" x="{left}" y="{panel.top}" width="{wide}" height="{panel.height}"/>'


def legend(entries: Iterable[tuple[str, str]], y: float) -> str:
    """(kind, text) from left to right; a kind is drawn as it is in the panels."""
    drawn, x = [], float(LEFT)
    for kind, text in entries:
        is_line = kind in ("line", "rate", "limit")
        drawn.append(
            _path(f"M{x} {y - 4}h16", kind) if is_line
            else f'<rect class="{kind}" x="{x}" y="{y - 10}" width="16" height="12"/>'
        )  # fmt: skip
        drawn.append(label(x + 22, y, text, "s"))
        x += 40 + 6.4 * len(text)
    return "\n".join(drawn)


def label(x: float, y: float, text: str, kind: str = "", *, end: bool = False) -> str:
    classed = f' class="{kind}"' if kind else ""
    anchor = ' text-anchor="end"' if end else ""
    return f'<text{classed} x="{round(x, 1)}" y="{round(y, 1)}"{anchor}>{escape(text)}</text>'


def _path(steps: str, kind: str) -> str:
    return f'<path class="{kind}" d="{steps}"/>'

"""A replay, as lines for people."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import wrap
from typing import TYPE_CHECKING

from clew.model.replay import BIAS
from clew.surfaces.cli.render import memories
from clew.surfaces.cli.terminal import Style, cut, one_line

if TYPE_CHECKING:
    from clew.model.replay import Paired, Replay, Replayed

SHOWN = 10  # of the most changed questions
MOVES = 3  # of each, in either direction
_VERDICTS = {
    "better": ("green", "the graph helped"),
    "worse": ("red", "the graph did harm"),
    "unclear": ("yellow", "no clear difference: the interval holds 0"),
}


def replayed(found: Replay, style: Style) -> Iterator[str]:
    """What changed, whether it helped, and the questions that changed most."""
    if not found.questions:
        yield _nothing(found)
        return
    yield from _changes(found, style)
    yield from _helped(found, style)
    most = sorted((one for one in found.questions if one.is_changed), key=_by_change)[:SHOWN]
    if most:
        yield ""
        yield style("bold", "most changed" if len(most) < found.changed else "changed")
    for one in most:
        yield from _question(one, style)


def _nothing(found: Replay) -> str:
    if found.left_out:
        return f"{found.left_out:,} recorded queries, all of sessions whose words you may not read"
    since = f"{found.since:%Y-%m-%d}"
    return f"no query was recorded since {since}; sessions record them: clew inject start SESSION"


def _changes(found: Replay, style: Style) -> Iterator[str]:
    count = len(found.questions)
    queries = "query" if count == 1 else "queries"
    head = f"{count:,} {queries} since {found.since:%Y-%m-%d}, asked {found.recorded:,} times"
    notes = [f"{found.left_out:,} left out: sessions whose words you may not read"] if found.left_out else []
    notes += ["older ones are beyond the limit: --limit N"] if found.more else []
    yield f"{style('bold', head)}" + (f" ({'; '.join(notes)})" if notes else "")
    came, fell = (sum(len(getattr(one, name)) for one in found.questions) for name in ("came_in", "fell_out"))
    yield (
        f"with the graph {found.changed:,} of {count:,} answers change: {memories(came)} came in, {fell:,} fell "
        f"out, the answers overlap by {100 * found.overlap:.0f} %"
    )
    yield f"a query takes {found.ms['baseline']:.1f} ms without the graph, {found.ms['hybrid']:.1f} ms with it"


def _helped(found: Replay, style: Style) -> Iterator[str]:
    paired = found.paired
    undecided = f"; {found.undecided:,} more without an outcome" if found.undecided else ""
    if not paired.pairs:
        yield f"whether it helped is not known: no delivered memory has an outcome or a verdict{undecided}"
        yield "  say one: clew feedback SESSION accepted, or clew feedback --memory ID up"
        return
    sessions = f"{paired.groups:,} {'session' if paired.groups == 1 else 'sessions'}"
    yield f"whether it helped, by {paired.pairs:,} answers of {sessions} with an outcome or a verdict{undecided}:"
    yield f"  {_verdict(paired, style)}"
    yield f"  better in {paired.better:,}, worse in {paired.worse:,}, the same in {paired.same:,}"
    for line in wrap(BIAS, max(40, min(style.width, 110) - 2)):
        yield f"  {style('dim', line)}"


def _verdict(paired: Paired, style: Style) -> str:
    mean = f"{paired.mean:+.3f}"
    if paired.low is None or paired.high is None:
        return f"{style('yellow', 'too few for an interval')}: {mean} of a score from -1 to 1, from one session"
    colour, words = _VERDICTS[paired.verdict]
    return f"{style(colour, words)}: {mean} of a score from -1 to 1 (95 % {paired.low:+.3f} to {paired.high:+.3f})"


def _by_change(one: Replayed) -> tuple[float, int, str]:
    return one.overlap, -len(one.moved), one.query


def _question(one: Replayed, style: Style) -> Iterator[str]:
    place = f"  {one_line(one.project)}" if one.project else ""
    about = f"overlap {100 * one.overlap:.0f} % of the first {one.top}{place}"
    room = max(20, style.width - len(about) - 4)
    yield f"{style('cyan', cut(one_line(one.query), room))}  {style('dim', about)}"
    for sign, moves in (("+", one.came_in), ("-", one.fell_out)):
        for id, rank in moves[:MOVES]:
            yield f"  {sign} {rank:>3}  {id}  {_text(one, id, style)}"
        if len(moves) > MOVES:
            yield f"  {sign}      and {len(moves) - MOVES:,} more"
    for id, before, after in [] if one.came_in or one.fell_out else one.moved[:MOVES]:
        yield f"    {before:>3} -> {after:<3}  {id}  {_text(one, id, style)}"


def _text(one: Replayed, id: str, style: Style) -> str:
    return cut(one_line(one.text_of(id)), max(20, style.width - len(id) - 18))

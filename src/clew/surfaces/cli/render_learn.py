"""What was learnt, as lines for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from clew.surfaces.cli.render import memories
from clew.surfaces.cli.terminal import Style, columns, cut, one_line

if TYPE_CHECKING:
    from clew.model.learning import Diagnostics, FeedbackReport, Learnt, WeightChange
    from clew.model.reports import FeedbackImpact, Pareto, Point, TopMemory

SHOWN = 10
_REASONS = {"no_log": "nothing was injected into it", "no_target": "what it was shown is gone, or does not count"}
_VERDICTS = {"up": "praised", "outdated": "called outdated", "wrong": "called wrong"}


def told(report: FeedbackReport, style: Style) -> Iterator[str]:
    """What moved, or why nothing did."""
    kinds = {"nodes": report.nodes, "edges": report.edges, "summaries": report.summaries}
    parts = [memories(report.memories)] if report.memories else []
    parts += [f"{count:,} {name}" for name, count in kinds.items() if count]
    line = f"{style('green', report.outcome)}: "
    if parts:
        line += f"moved the weight of {', '.join(parts)}"
    else:
        why = _REASONS.get(report.reason, report.reason)
        line += f"nothing moved; {why or 'all of it had been counted before'}"
    yield line + (f" ({report.unchanged:,} counted before)" if parts and report.unchanged else "")


def judged(learnt: Learnt, counted: bool, style: Style) -> Iterator[str]:
    done = style("green", "noted") if counted else style("yellow", "you said so before")
    yield f"{done}: {learnt.id} weighs {learnt.weight:.3f} now"


def learnt(found: Learnt, style: Style) -> Iterator[str]:
    """The history of a weight in words."""
    retired = style("yellow", "  no longer injected") if found.retired else ""
    outcomes = f"{found.samples} {'outcome' if found.samples == 1 else 'outcomes'}"
    yield f"{style('bold', found.id)} weighs {found.weight:.3f} after {outcomes}{retired}"
    yield from columns(_step(change) for change in found.history)


def diagnosed(found: Diagnostics, style: Style) -> Iterator[str]:
    yield f"{style('bold', found.session_id)} {found.outcome or 'without an outcome'}"
    if found.failure_category:
        context = cut(one_line(found.failure_context), max(20, style.width - 30))
        yield f"  failed by {found.failure_category}" + (f": {context}" if context else "")
    shown = len(found.observation_ids), len(found.graph_edge_keys)
    yield f"  shown {memories(shown[0])} and {shown[1]:,} facts; changed {len(found.files_modified):,} files"
    for name, ids in (("helped", found.helpful_ids), ("misled", found.misleading_ids)):
        if ids:
            yield f"  {name}: {', '.join(map(one_line, ids))}"


def impact(found: FeedbackImpact, texts: Mapping[str, str], style: Style) -> Iterator[str]:
    ranks = found.ranks
    rate = f"{found.injected:,} of {memories(found.memories)} reached an agent"
    yield f"{style('bold', f'{found.injection_rate:.1f} %')} injected ({found.band}): {rate}"
    yield (
        f"{found.retrievals:,} retrievals: weights moved what was injected by {ranks.rank_delta:+.2f} ranks "
        f"({ranks.promoted:,} up, {ranks.demoted:,} down, {ranks.unchanged:,} as before)"
    )
    if ranks.rows:
        before, after = 100 * ranks.likelihood_before, 100 * ranks.likelihood_after
        yield f"within the cut by relevance alone {before:.0f} %, with weights {after:.0f} %"
    if found.top:
        rows: list[tuple[str, ...]] = [("memory", "sessions", "accepted", "failed", "weight", "")]
        rows += [(*_numbers(top), texts[top.id]) for top in found.top[:SHOWN]]
        yield from (cut(line, style.width) for line in columns(rows))


def _numbers(top: TopMemory) -> tuple[str, ...]:
    return one_line(top.id), f"{top.sessions:,}", f"{top.accepted:,}", f"{top.failed:,}", f"{top.weight:.3f}"


def pareto(found: Pareto, style: Style) -> Iterator[str]:
    if not found.points:
        yield "no session of this time has an outcome yet; say one: clew feedback SESSION accepted"
        return
    head = ("work type", "sessions", "tokens", "accepted", "95 %", "zone", "advice")
    first, *rest = columns([head, *(_point(point) for point in found.points)])
    yield style("bold", first)
    yield from rest


def _step(change: WeightChange) -> tuple[str, ...]:
    user, _, verdict = change.session.removeprefix("user:").rpartition(":")
    is_verdict = change.session.startswith("user:") and verdict in _VERDICTS
    why = f"{_VERDICTS[verdict]} by {one_line(user)}" if is_verdict else f"{change.outcome} in {change.session}"
    moved = f"{change.previous:.3f} -> {change.weight:.3f}"
    return f"  {change.at:%Y-%m-%d %H:%M}", moved, f"{one_line(why)} (alpha {change.alpha:g})"


def _point(point: Point) -> tuple[str, ...]:
    advice = f"up to {point.advised_tokens:,} tokens" if point.advised_tokens else "-"
    return (
        one_line(point.work_type) or "-",
        f"{point.sessions:,}",
        f"{point.tokens:,.0f}",
        f"{100 * point.success:.0f} %",
        f"{100 * point.low:.0f}-{100 * point.high:.0f} %",
        point.zone or "too few",
        advice,
    )

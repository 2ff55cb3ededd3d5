"""Answers as lines for people: short, aligned, safe to print."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from clew.model.times import to_rfc3339
from clew.surfaces.cli.terminal import Style, columns, cut, one_line, safe

if TYPE_CHECKING:
    from clew.model.memory import Memory, Remembered, Version
    from clew.model.recalled import GraphWay, InConflict, Recalled, Result, Stage

Document = dict[str, Any]
CONTENT_LINES = 3
SHOWN = 20
APART = 0.25  # of relevance, from which a reader would miss the order
BY_MORE = "; best first by all that speaks for each, the number is for its text alone"
_DEFAULT_LABEL = "internal"
_AGES = ((31_536_000, "y"), (86_400, "d"), (3_600, "h"), (60, "min"))


def age(moment: datetime, now: datetime) -> str:
    seconds = int((now - moment).total_seconds())
    if seconds < 0:
        return moment.strftime("%Y-%m-%d")
    for size, unit in _AGES:
        if seconds >= size:
            return f"{seconds // size}{unit} ago"
    return "just now"


def memories(count: int) -> str:
    return f"{count:,} {'memory' if count == 1 else 'memories'}"


def known(count: int) -> str:
    return f"{count:,} {'was' if count == 1 else 'were'} known"


def place(project: str | None) -> str:
    return f"project {one_line(project)}" if project else "no project"


def remembered(answer: Remembered, style: Style, *, is_elsewhere: bool = False) -> Iterator[str]:
    """Elsewhere others have keys, so it is told who can read it."""
    memory = answer.memory
    if answer.quarantined:
        why = ", ".join(answer.quarantined)
        yield f"{style('yellow', 'kept in quarantine')} {style('bold', memory.id)} ({why}), not remembered"
        yield f"look at it: clew quarantine show {memory.id}"
        return
    done = "already known" if answer.deduplicated else "remembered"
    label = "" if memory.classification == _DEFAULT_LABEL else f"{memory.classification}, "
    line = f"{style('green', done)} {style('bold', memory.id)} ({memory.type}, {label}{place(memory.project)}"
    line += f", {_readers(memory)})" if is_elsewhere else ")"
    if answer.superseded:
        line += f", replaces {answer.superseded}"
    if answer.masked:
        line += style("yellow", f", masked: {', '.join(answer.masked)}, so it is not injected")
    yield line


def _readers(memory: Memory) -> str:
    if memory.user:
        return f"private to {one_line(memory.user)}"
    return "shared by all who share the project" if memory.project else "shared by all of the org"


def recalled(answer: Recalled, *, project: str | None, now: datetime, explain: bool, style: Style) -> Iterator[str]:
    heading = f"{memories(len(answer.results))} ({place(project)})"
    yield style("dim", f"{heading}{BY_MORE}" if _is_out_of_order(answer.results) else heading)
    for result in answer.results:
        yield _result_line(result, now, style)
        yield from _excerpt(result.memory, style)
        if result.way:
            yield style("dim", f"      {_way(result.way)}")
        if explain:
            why = reasons([entry.as_json() for entry in result.why])
            yield style("dim", f"      why: {why}; rank score {result.rank_score:.4g}")
    for conflict in answer.conflicts:
        yield from _conflict(conflict, style)
    if explain:
        yield from _trace(answer, style)
    elif all(not one.relevance and (one.memory.layer == "rule" or one.is_guess) for one in answer.results):
        yield f"{_unknown(answer)}; see what there is: clew list --all-projects"


def _is_out_of_order(results: Sequence[Result]) -> bool:
    """Whether somebody who reads the numbers alone would think so. Rules come first whatever they say."""
    told = [result.relevance for result in results if result.memory.layer != "rule"]
    return any(max(told[at:]) - told[at] > APART for at in range(len(told)))


def _unknown(answer: Recalled) -> str:
    if any(result.memory.layer != "rule" for result in answer.results):
        return "nothing is known about that for sure: these are merely the nearest"
    if answer.results:
        return "nothing else is known about that, rules come along"
    is_empty = any(stage.name == "gather" and not stage.into for stage in answer.trace.stages)
    return "nothing is remembered here yet: clew remember TEXT" if is_empty else "nothing is known about that"


def _conflict(conflict: InConflict, style: Style) -> Iterator[str]:
    pair = f"{conflict.memory_a_id} and {conflict.memory_b_id} are in conflict ({conflict.confidence:.2f})"
    yield f"{style('yellow', pair)}: {cut(one_line(conflict.explanation), max(20, style.width - len(pair) - 2))}"
    yield f"      decide: {conflict.next}"


def _result_line(result: Result, now: datetime, style: Style) -> str:
    memory = result.memory
    return (
        f"{result.rank:3}. {style('green', f'{result.relevance:.2f}')}  {style('cyan', f'{memory.type:<8}')}  "
        f"{age(memory.at, now):<10}  {style('dim', memory.id)}{_marks(memory, now, style)}"
    )


def _way(way: GraphWay) -> str:
    between = " -> ".join(one_line(name) for name in way.path[1:-1])
    hops = f"{way.hop_count} hop{'s' if way.hop_count > 1 else ''}"
    parts = [between, way.edge_type, hops, f"conf={way.path_confidence:.2f}", f"from {way.seed}"]
    return "via " + " · ".join(part for part in parts if part)


def _marks(memory: Memory, now: datetime, style: Style) -> str:
    marks = []
    if memory.deleted_at:
        marks.append("forgotten")
    if memory.superseded_by:
        marks.append(f"superseded by {memory.superseded_by}")
    elif memory.invalid_at:
        marks.append(f"{'ended' if memory.invalid_at <= now else 'until'} {memory.invalid_at:%Y-%m-%d}")
    if memory.valid_at > now:
        marks.append(f"from {memory.valid_at:%Y-%m-%d}")
    if memory.layer == "working":
        marks.append("working")
    return style("yellow", f"  [{', '.join(marks)}]") if marks else ""


def _excerpt(memory: Memory, style: Style) -> Iterator[str]:
    if memory.title:
        yield "      " + style("bold", cut(one_line(memory.title), style.width - 6))
    lines = [line for line in safe(memory.content).splitlines() if line.strip()]
    for line in lines[:CONTENT_LINES]:
        yield "      " + cut(line.expandtabs(4), style.width - 6)
    if len(lines) > CONTENT_LINES:
        yield style("dim", f"      … {len(lines) - CONTENT_LINES} more lines: clew show {memory.id}")


def reasons(why: Sequence[Document]) -> str:
    return ", ".join(_reason(**entry) for entry in why) or "no evidence"


def _reason(
    source: str,
    rank: int | None = None,
    raw: float | None = None,
    relevance: float | None = None,
    via: str | None = None,
) -> str:
    parts = [source]
    if rank is not None:
        parts.append(f"#{rank}")
    if relevance is not None:
        parts.append(f"{relevance:.2f}")
    if raw is not None:
        parts.append(f"(raw {raw:.4g})")
    if via:
        parts.append(f"via {one_line(via)}")
    return " ".join(parts)


def _trace(answer: Recalled, style: Style) -> Iterator[str]:
    yield style("bold", "stages")
    rows = [(f"  {stage.name}", f"{stage.into} -> {stage.out}", f"{stage.ms:.1f} ms", _left_out(stage))
            for stage in answer.trace.stages]  # fmt: skip
    yield from columns(rows)
    for name, value in answer.trace.notes.items():
        yield style("dim", f"  {name.replace('_', ' ')}: {one_line(_note(name, value))}")


def _note(name: str, value: Any) -> str:
    """What a stage noted; the graph's and the planner's notes are documents."""
    if name == "graph_shadow":
        return str(value["line"])
    if name == "plan":
        changed = "" if value["planned"] == value["effective"] else f", planned as {value['planned']}"
        return f"{value['effective']}{changed}" + (f": {value['reason']}" if "reason" in value else "")
    if name == "graph":
        walked = f" from {value['seeds']} to {memories(value['reached'])}" if "seeds" in value else ""
        return f"{value['status']}{walked}: {value['reason']}"
    return str(value)


def _left_out(stage: Stage) -> str:
    removed = [
        f"{entry.count} {entry.reason}"
        + (f" ({', '.join(entry.ids[:3])}{'…' if entry.count > 3 else ''})" if entry.ids else "")
        for entry in stage.removed
    ]
    return f"left out {'; '.join(removed)}" if removed else ""


def explanation(document: Document, style: Style) -> Iterator[str]:
    reason = one_line(document["reason"])
    if document["found"]:
        yield f"{style('green', 'found')} {document['id']}: {reason}, relevance {document['score']:.2f}"
    else:
        yield f"{style('yellow', 'lost at ' + document['lost_at'])} {document['id']}: {reason}"
    if document["why"]:
        yield f"why: {reasons(document['why'])}"
    if document["next"]:
        yield f"next: {one_line(document['next'])}"


def listing(
    page: Sequence[Memory], style: Style, *, now: datetime, cursor: str | None, everywhere: bool
) -> Iterator[str]:
    if not page:
        yield "no memories" if everywhere else "no memories here; those of every project: clew list --all-projects"
    for memory in page:
        head = f"{style('dim', memory.id)}  {style('cyan', f'{memory.type:<8}')}  {age(memory.at, now):<10}  "
        text = one_line(f"{memory.title}: {memory.content}" if memory.title else memory.content)
        yield head + cut(text, max(20, style.width - 54)) + _marks(memory, now, style)
    if cursor:
        yield style("dim", f"more: add --cursor {cursor}")


def memory_in_full(memory: Memory, style: Style, *, corroborated_by: int = 0) -> Iterator[str]:
    """`corroborated_by` counts further sources that say the same."""
    known = {name: value for name, value in memory.as_json().items() if name not in ("content", "content_hash")}
    known |= {"corroborated_by": f"{corroborated_by} more independent of it"} if corroborated_by else {}
    rows = [(name, one_line(_plain(value))) for name, value in known.items() if value not in ([], {})]
    for line, (name, _value) in zip(columns(rows), rows, strict=True):
        yield style("dim", line[: len(name)]) + line[len(name) :]
    yield ""
    yield safe(memory.content)


def _plain(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def versions(entries: Iterable[Version], style: Style) -> Iterator[str]:
    for entry in entries:
        head = f"{entry.version:3}  {style('cyan', f'{entry.change:<11}')}  {to_rfc3339(entry.changed_at)}  "
        yield head + cut(one_line(entry.memory.content), max(20, style.width - 46))


def receipt(document: Document, style: Style) -> Iterator[str]:
    how = "for good" if document["hard"] else "softly; clew revert ID N brings one back, clew history ID tells N"
    yield f"{style('green', 'forgotten')} {memories(document['forgotten'])} {how}"
    yield from _first([f"  {id}" for id in document["ids"]])
    if changed := document.get("changed"):
        yield f"not forgotten, as changed meanwhile: {memories(len(changed))}; look again, then repeat this"
        yield from _first([f"  {id}" for id in changed])
    if document["hard"]:
        yield f"erased: {', '.join(document['erased'])}; log: {document['log']}"
        if copies := document.get("copies"):
            yield f"erased as well in what a restore put aside: {', '.join(copies)}"
        yield str(document["not_erased"])


def preview(document: Document, style: Style) -> Iterator[str]:
    yield f"would forget {memories(document['would_forget'])}; nothing was changed"
    yield from _first(
        [f"  {entry['id']}  {entry['type']:<8}  {cut(one_line(entry['preview']), max(20, style.width - 44))}"
         for entry in document["memories"]]
    )  # fmt: skip


def _first(lines: list[str]) -> Iterator[str]:
    yield from lines[:SHOWN]
    if len(lines) > SHOWN:
        yield f"  … and {len(lines) - SHOWN:,} more"


def fields(values: Document, style: Style) -> Iterator[str]:
    """A report without a layout of its own: names and values, nested ones indented."""
    width = max((len(name) for name in values), default=0)
    for name, value in values.items():
        label = style("dim", f"{name.replace('_', ' '):<{width}}")
        if isinstance(value, dict):
            yield from ([label.rstrip()] if value else [])
            yield from columns(
                (f"  {one_line(str(key)) or '(none)'}", one_line(str(item))) for key, item in value.items()
            )
        else:
            yield f"{label}  {one_line(_plain(value))}".rstrip()

"""Conflicts between memories, and near-duplicates made one."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from clew.surfaces.cli.context import opened, scope_of_id, settings_of
from clew.surfaces.cli.parser import usage
from clew.surfaces.cli.render import age
from clew.surfaces.cli.terminal import Style, answer, columns, cut, one_line, safe

if TYPE_CHECKING:
    from datetime import datetime

    from clew.model.conflict import Dispute
    from clew.model.memory import Memory

Document = dict[str, Any]
_FOUND_BY = {"user": "linked by a person", "llm": "found by a language model", "import": "imported"}


# -- conflicts -----------------------------------------------------------------------------------------


def conflicts(args: Namespace) -> None:
    with opened(settings_of(args)) as memory:
        found = memory.conflicts.list(scope=scope_of_id(args), everything=args.all, limit=args.limit + 1)
        now = memory.now()
    page, more = found[: args.limit], len(found) > args.limit
    document = {"conflicts": [one.as_json() for one in page], "more": more}
    answer(args, document, lambda style: _listing(page, now, style, everything=args.all, more=more))


def _listing(
    page: Sequence[Dispute], now: datetime, style: Style, *, everything: bool, more: bool
) -> Iterator[str]:
    if not page:
        yield "no conflicts" if everything else "no open conflicts; those that are settled: clew conflicts --all"
    for one in page:
        yield from _lines(one, now, style)
    if more:
        yield style("dim", "there are more: --limit N")


def conflict(args: Namespace) -> None:
    with opened(settings_of(args)) as memory:
        found, now = memory.conflicts.show(args.id, scope=scope_of_id(args)), memory.now()
    answer(args, found.as_json(), lambda style: _lines(found, now, style, in_full=True))


def _lines(one: Dispute, now: datetime, style: Style, *, in_full: bool = False) -> Iterator[str]:
    found = one.conflict
    by = _FOUND_BY.get(found.origin) or f"found by rule{f' {one_line(found.rule)}' if found.rule else ''}"
    state = "" if found.state == "open" else style("green", f"  [{found.state}{_decision(one)}]")
    yield f"{style('bold', found.id)}  {found.confidence:.2f}  {style('cyan', found.kind)}, {by}{state}"
    for name, memory in (("A", one.a), ("B", one.b)):
        head = f"  {style('bold', name)} {style('dim', memory.id)}  {age(memory.at, now):<10}"
        yield head.rstrip() if in_full else f"{head}  {_text(memory, style)}"
        if in_full:
            yield from (f"      {line}" for line in safe(memory.content).splitlines())
    why = [one_line(part) for part in (found.explanation, f'"{found.sentence}"' if found.sentence else "") if part]
    if why:
        yield "  why: " + (" ".join(why) if in_full else cut(" ".join(why), max(20, style.width - 7)))
    if found.is_open:
        yield f"  decide: clew conflicts resolve {found.id} --keep A|B|both|neither"


def _text(memory: Memory, style: Style) -> str:
    return cut(one_line(memory.title or memory.content), max(20, style.width - 48))


def _decision(one: Dispute) -> str:
    found = one.conflict
    return (
        f": {found.keep.upper() if len(found.keep) == 1 else found.keep}, by {one_line(found.resolved_by)}"
        if found.keep
        else ""
    )


def resolve(args: Namespace) -> None:
    with opened(settings_of(args)) as memory:
        document = memory.conflicts.resolve(args.id, args.keep, scope=scope_of_id(args)).as_json()
    answer(args, document, partial(_resolved_lines, document))


def _resolved_lines(document: Document, style: Style) -> Iterator[str]:
    done = "resolved" if document["changed"] else "already resolved"
    yield f"{style('green', done)} {document['id']}: {_outcome(document)}"
    yield from (f"  undo: {command}" for command in document["undo"])


def _outcome(document: Document) -> str:
    ended = " and ".join(document["ended"])
    if document["keep"] == "both":
        return "both hold, as long as neither text changes"
    if document["keep"] == "neither":
        return f"{ended} have ended"
    return f"{document['kept'][0]} holds, {ended} is replaced by it"


# -- merges --------------------------------------------------------------------------------------------


def merge(args: Namespace) -> None:
    asked = [name for name in ("suggest", "list", "undo") if getattr(args, name)]
    if len(asked) > 1 or (asked and args.keep):
        raise usage("--suggest, --list, --undo and memories to merge exclude each other", "give one of them")
    if not asked and not args.others:
        raise usage("two memories are needed to merge", "clew merge KEEP OTHER, or look: clew merge --suggest")
    {"suggest": _suggest, "list": _list, "undo": _undo}.get("".join(asked), _merge)(args)


def _merge(args: Namespace) -> None:
    with opened(settings_of(args)) as memory:
        made = memory.merges.merge(args.keep, args.others, scope=scope_of_id(args), dry_run=args.dry_run)
    document = made.as_json()
    answer(args, document, partial(_merged_lines, document))


def _merged_lines(document: Document, style: Style) -> Iterator[str]:
    if not document["changed"]:
        yield f"nothing to merge: {document['kept']} stands for all of them already"
        return
    done = "would merge" if document["dry_run"] else "merged"
    yield f"{style('green', done)} {', '.join(document['merged'])} into {document['kept']}"
    for what in ("tags", "paths"):
        if document[f"added_{what}"]:
            yield f"  {what} taken over: {one_line(', '.join(document[f'added_{what}']))}"
    if "undo" in document:
        yield f"  undo: {document['undo']}"


def _suggest(args: Namespace) -> None:
    with opened(settings_of(args)) as memory:
        found = [one.as_json() for one in memory.merges.suggest(scope_of_id(args), limit=args.limit)]
    answer(args, {"suggestions": found}, lambda style: _suggestion_lines(found, style))


def _suggestion_lines(found: Sequence[Document], style: Style) -> Iterator[str]:
    if not found:
        yield "no near-duplicates"
    for one in found:
        width = max(20, style.width - 42)
        yield f"keep {style('bold', one['keep']['id'])}  {cut(one_line(one['keep']['content']), width)}"
        for other in one["others"]:
            yield f"     {style('dim', other['id'])}  {cut(one_line(other['content']), width)}  ({other['why']})"
        yield f"  {one['command']}"


def _list(args: Namespace) -> None:
    with opened(settings_of(args)) as memory:
        found = [run.as_json() for run in memory.merges.list(limit=args.limit)]
    nothing = ["nothing was merged; near-duplicates: clew merge --suggest"]
    answer(args, {"merges": found}, lambda _style: columns(_run_row(one) for one in found) or nothing)


def _run_row(run: Document) -> tuple[str, ...]:
    state = f"undone {run['undone_at']}" if "undone_at" in run else ""
    return run["id"], run["at"], one_line(run["by"]), f"{', '.join(run['merged'])} -> {run['kept']}", state


def _undo(args: Namespace) -> None:
    with opened(settings_of(args)) as memory:
        document = memory.merges.undo(args.undo).as_json()
    answer(args, document, partial(_undone_lines, document))


def _undone_lines(document: Document, style: Style) -> Iterator[str]:
    if not document["changed"]:
        yield f"merge {document['run']} was undone already"
        return
    yield f"{style('green', 'undone')} {document['run']}: {', '.join(document['restored']) or 'nothing'} is back"
    if document["left"]:
        yield style("yellow", f"left as they are, changed or forgotten since: {', '.join(document['left'])}")

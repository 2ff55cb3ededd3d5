"""Say how it went, and look at what was learnt: feedback, learn show, learn session, report."""

from __future__ import annotations

import csv
import io
from argparse import Namespace
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from clew.lazy import LazyModule
from clew.surfaces.cli.context import moment, opened, scope_of_id, settings_of, texts_of
from clew.surfaces.cli.parser import usage
from clew.surfaces.cli.terminal import Style, answer, print_json, safe, style

if TYPE_CHECKING:
    from clew import Clew
    from clew.surfaces.cli import render_learn as render
    from clew.surfaces.cli import render_report
else:
    render = LazyModule("clew.surfaces.cli.render_learn")  # --json does without
    render_report = LazyModule("clew.surfaces.cli.render_report")


def feedback(args: Namespace) -> None:
    if args.memory is not None:
        _judge(args)
        return
    if args.project or args.no_project or args.user or args.corrected_by:
        raise usage("--project, --no-project, --user and --corrected-by go with --memory", "leave them out here")
    if len(args.words) != 2:
        raise usage("feedback needs a session and its outcome", "as in: clew feedback ses_01h8x accepted")
    session, outcome = args.words
    with opened(settings_of(args)) as memory:
        report = memory.learn.feedback(session, outcome)
    answer(args, report.as_json(), partial(render.told, report))


def _judge(args: Namespace) -> None:
    if len(args.words) != 1:
        raise usage("feedback on a memory is one word", "as in: clew feedback --memory mem_01h8x up")
    with opened(settings_of(args)) as memory:
        judge = partial(memory.learn.judge, args.memory, args.words[0], corrected_by=args.corrected_by)
        learnt, counted = judge(scope=scope_of_id(args))
    document = {"id": learnt.id, "weight": learnt.weight, "samples": learnt.samples, "counted": counted}
    answer(args, document, partial(render.judged, learnt, counted))


def show(args: Namespace) -> None:
    with opened(settings_of(args)) as memory:
        learnt = memory.learn.show(args.id, scope=scope_of_id(args))
    answer(args, learnt.as_json(), partial(render.learnt, learnt))


def session(args: Namespace) -> None:
    with opened(settings_of(args)) as memory:
        found = memory.learn.diagnostics(args.id)
    answer(args, found.as_json(), partial(render.diagnosed, found))


def report(args: Namespace) -> None:
    form = "json" if args.json else args.format
    with opened(settings_of(args)) as memory:
        asks = {"work": memory.report, "impact": memory.learn.impact, "pareto": memory.learn.pareto}
        found: Any = asks[args.kind](since=moment(args.since), until=moment(args.until), project=args.project)
        lines = list(_lines(args.kind, found, memory)) if form == "text" else []
    if form == "json":
        print_json(found.as_json())
    elif form == "csv":
        print(safe(_csv(found.header, found.as_rows())), end="")
    for line in lines:
        print(line)


def _lines(kind: str, found: Any, memory: Clew) -> Iterator[str]:
    if kind == "impact":
        return render.impact(found, texts_of(memory, [top.id for top in found.top[: render.SHOWN]]), style())
    told: dict[str, Callable[[Any, Style], Iterator[str]]] = {"work": render_report.work, "pareto": render.pareto}
    return told[kind](found, style())


def _csv(header: tuple[str, ...], rows: list[dict[str, Any]]) -> str:
    written = io.StringIO()
    writer = csv.DictWriter(written, header, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return written.getvalue()

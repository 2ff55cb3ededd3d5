"""Change the graph and look after it: link, unlink, decay, and edges in files."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from clew.surfaces.cli.commands.files import SHOWN, check_one_document, incomplete, to_stdout, written_whole
from clew.surfaces.cli.context import file_of, opened, opened_as_it_is, scope_of_id, settings_of
from clew.surfaces.cli.progress import progress_bar
from clew.surfaces.cli.render import known
from clew.surfaces.cli.terminal import Style, answer, columns, one_line

Document = dict[str, Any]


def link(args: Namespace) -> None:
    if args.unlink:
        unlink(args)
        return
    with opened(settings_of(args)) as memory:
        document = memory.link(args.source, args.relation, args.target, scope=scope_of_id(args)).as_json()
    done = "linked" if document["changed"] else "already linked"
    answer(args, document, lambda style: [f"{style('green', done)} {_edge(document)}", *_new_things(document)])


def _new_things(document: Document) -> Iterator[str]:
    """A slip of the pen makes a thing as well."""
    for name in document.get("new", ()):
        yield f"new: {one_line(name)} was not known before; if that is not what you meant: clew unlink"


def unlink(args: Namespace) -> None:
    with opened(settings_of(args)) as memory:
        document = memory.unlink(args.source, args.relation, args.target, scope=scope_of_id(args)).as_json()
    answer(args, document, lambda style: [f"{style('green', 'unlinked')} {_edge(document)}"])


def _edge(document: Document) -> str:
    arrow = "<->" if document["both_ways"] else "->"
    return f"{one_line(document['from'])} -{document['type']}{arrow} {one_line(document['to'])}"


def decay(args: Namespace) -> None:
    with opened(settings_of(args)) as memory:
        document = memory.graph.decay(dry_run=args.dry_run).as_json()
    answer(args, document, partial(_decay_lines, document))


def _decay_lines(document: Document, style: Style) -> Iterator[str]:
    done = "would lose" if document["dry_run"] else "lost"
    faded = document["edges_decayed"]
    yield f"{style('green', f'{faded:,}')} of {_edges(document['edges_total'])} {done} confidence"
    below = document["edges_below_visibility_threshold"]
    yield f"{below:,} {'is' if below == 1 else 'are'} below {document['visibility_threshold']:g} and hardly counted"
    yield from columns(
        (f"  {one_line(entry['label'])}", f"-{entry['total_drop']:.2f}", _edges(entry["edge_count"]))
        for entry in document["top_decayed_entities"]
    )


def _edges(count: int) -> str:
    return f"{count:,} {'edge' if count == 1 else 'edges'}"


def export_edges(args: Namespace) -> None:
    check_one_document(args)
    with opened_as_it_is(settings_of(args)) as memory, progress_bar("export") as progress:
        write = partial(memory.graph.export, scope=scope_of_id(args), progress=progress)
        if args.file == "-":
            report = to_stdout(write)
            print(f"exported {_edges(report.count)}", file=sys.stderr)
            return
        with written_whole(Path(args.file), over="clew-edges", store=Path(memory.store.location)) as file:
            report = write(file)
    document = {"file": args.file, **report.as_json()}
    answer(args, document, lambda style: [f"exported {_edges(report.count)} to {one_line(args.file)}"])


def import_edges(args: Namespace) -> int:
    """Exit 1 when not every line came in; the report says which, and stderr what to do."""
    settings = settings_of(args)
    with (
        opened(settings, directly=True) as memory,
        file_of(args.file, settings.home) as file,
        progress_bar("import") as progress,
    ):
        report = memory.graph.import_file(file, scope=scope_of_id(args), dry_run=args.dry_run, progress=progress)
    document = report.as_json()
    answer(args, document, partial(_import_lines, document))
    return 0 if report.is_whole else incomplete(args.file, report.next)


def _import_lines(document: Document, style: Style) -> Iterator[str]:
    done = "would add" if document["dry_run"] else "added"
    yield f"{style('green', done)} {_edges(document['added'])}, {known(document['known'])}"
    if document["truncated"] or document["checksum"] == "mismatch":
        yield style("yellow", "the file is not as it was written: it was cut off or changed")
    for reason, count in document["reasons"].items():
        yield style("yellow", f"left out {_edges(count)}: {reason}")
    lines = [str(entry["line"]) for entry in document["skipped"]]
    if lines:
        more = f" and {len(lines) - SHOWN:,} more; all of them: --json" if len(lines) > SHOWN else ""
        yield f"in line {', '.join(lines[:SHOWN])}{more}"

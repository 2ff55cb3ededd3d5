"""A whole store into another one."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Iterator

from clew.model.copying import CopyReport
from clew.surfaces.cli.context import settings_of
from clew.surfaces.cli.progress import progress_bar
from clew.surfaces.cli.terminal import Style, answer, one_line


def copy(args: Namespace) -> None:
    """Here, also where CLEW_URL names a Clew elsewhere: both stores are named."""
    from clew import compose

    try:
        with progress_bar("copy") as progress:
            report = compose.copy_store(settings_of(args), args.source, args.target, progress=progress)
    except KeyboardInterrupt:
        print("clew: what was copied stays; the same command goes on from there", file=sys.stderr)
        raise
    answer(args, report.as_json(), lambda style: _lines(report, style))


def _lines(report: CopyReport, style: Style) -> Iterator[str]:
    tables = sum(1 for table in report.tables if table.rows)
    yield (
        f"{style('green', 'copied')} {report.rows:,} rows of {tables} tables to {one_line(report.target)} "
        f"in {report.seconds:.1f} s"
    )
    if report.again:
        yield f"copied anew, since they had changed: {', '.join(report.again)}"
    yield "counts and checksums of every table and org are equal"
    yield f"use it: set store.url, or CLEW_URL, to {one_line(report.target)}"

"""What language models cost."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from typing import Any

from clew.surfaces.cli.context import moment, opened, settings_of
from clew.surfaces.cli.terminal import Style, answer, columns, one_line

Document = dict[str, Any]


def spend(args: Namespace) -> None:
    with opened(settings_of(args)) as memory:
        document = memory.jobs.spend(since=moment(args.since)).as_json()
    answer(args, document, lambda style: _lines(document, style))


def _lines(document: Document, style: Style) -> Iterator[str]:
    today, total = document["today"], document["total"]
    if not document["enabled"]:
        yield style("yellow", "no language model is asked: llm.enabled is off")
    yield f"today: {today['used']:,} of {today['limit']:,} tokens, {today['left']:,} left"
    yield from columns(_row(row) for row in document["rows"])
    for row in document["rows"]:
        if "last_failure" in row:
            yield style("yellow", f"last failure on {row['day']}, {row['task']}: {one_line(row['last_failure'])}")
    if not document["rows"]:
        yield f"nothing was asked since {document['since']}"
        return
    tokens = total["input_tokens"] + total["output_tokens"]
    cost = f", {total['cost']:,.4f} at the configured prices" if total["cost"] else ""
    yield f"since {document['since']}: {_calls(total)}, {tokens:,} tokens{cost}"


def _row(row: Document) -> tuple[str, ...]:
    withheld = f"{row['withheld']:,} withheld by their label" if row["withheld"] else ""
    tokens = f"{row['input_tokens']:,} in, {row['output_tokens']:,} out"
    return row["day"], one_line(row["model"]), row["task"], _calls(row), tokens, withheld


def _calls(counted: Document) -> str:
    failed = f", {counted['failures']:,} failed" if counted["failures"] else ""
    return f"{counted['calls']:,} {'call' if counted['calls'] == 1 else 'calls'}{failed}"

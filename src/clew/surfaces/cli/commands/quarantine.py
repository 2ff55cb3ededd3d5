"""Look at what is in quarantine, let it in, drop it."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

from clew.model.times import to_rfc3339
from clew.surfaces.cli import render
from clew.surfaces.cli.context import opened, settings_of
from clew.surfaces.cli.terminal import Style, answer, cut, one_line

if TYPE_CHECKING:
    from clew.model.quarantine import Quarantined


def list_held(args: Namespace) -> None:
    with opened(settings_of(args)) as memory:
        page = memory.quarantine.list(project=args.project, limit=args.limit, cursor=args.cursor)
    cursor = page[-1].id if len(page) == args.limit else None
    document = {"quarantined": [held.as_json() for held in page]} | ({"cursor": cursor} if cursor else {})
    answer(args, document, partial(_lines, page, cursor))


def show(args: Namespace) -> None:
    with opened(settings_of(args)) as memory:
        held = memory.quarantine.show(args.id)
    answer(args, held.as_json(), partial(_in_full, held))


def release(args: Namespace) -> None:
    with opened(settings_of(args)) as memory:
        stored = memory.quarantine.release(args.id)
    answer(args, stored.as_json(), partial(render.remembered, stored))


def drop(args: Namespace) -> None:
    with opened(settings_of(args)) as memory:
        held = memory.quarantine.drop(args.id)
    answer(args, {"id": held.id, "dropped": True}, lambda style: [f"{style('green', 'dropped')} {held.id}"])


def _lines(page: Sequence[Quarantined], cursor: str | None, style: Style) -> Iterator[str]:
    if not page:
        yield "nothing is in quarantine"
    now = datetime.now(UTC)
    for held in page:
        why = style("yellow", ", ".join(held.reasons))
        text = cut(one_line(held.memory.content), max(20, style.width - 70))
        yield f"{style('dim', held.id)}  {render.age(held.at, now):<10}  {why}  {text}"
    if cursor:
        yield style("dim", f"more: add --cursor {cursor}")


def _in_full(held: Quarantined, style: Style) -> Iterator[str]:
    yield f"{style('yellow', 'in quarantine')}: {', '.join(held.reasons)}; until {to_rfc3339(held.expires_at)}"
    yield from render.memory_in_full(held.memory, style)

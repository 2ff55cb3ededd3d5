"""Read: recall, why, list, show."""

from __future__ import annotations

from argparse import Namespace
from functools import partial
from typing import TYPE_CHECKING, Any

from clew.lazy import LazyModule
from clew.surfaces.cli.commands.filters import filter_of
from clew.surfaces.cli.context import moment, opened, scope_of, scope_of_id, settings_of, text_of
from clew.surfaces.cli.parser import usage
from clew.surfaces.cli.terminal import answer

if TYPE_CHECKING:
    from clew.surfaces.cli import render
else:
    render = LazyModule("clew.surfaces.cli.render")  # --json does without


def recall(args: Namespace) -> None:
    settings = settings_of(args)
    scope, query = scope_of(args, settings), text_of(args.query, settings)
    if not query.strip():
        raise usage("nothing was asked", "ask something, or look at what is newest: clew list")
    with opened(settings) as memory:
        found = memory.recall(query, scope=scope, **_options(args))
        now = memory.now()
    answer(
        args,
        found.as_json(),
        lambda style: render.recalled(found, project=scope.project, now=now, explain=args.explain, style=style),
    )


def why(args: Namespace) -> None:
    settings = settings_of(args)
    scope, query = scope_of(args, settings), text_of(args.query, settings)
    with opened(settings) as memory:
        explanation = memory.why(query, args.expect, scope=scope, **_options(args))
    document = explanation.as_json()
    answer(args, document, partial(render.explanation, document))


def list_memories(args: Namespace) -> None:
    settings = settings_of(args)
    with opened(settings) as memory:
        found = memory.list(
            filter_of(args, deleted=args.deleted, superseded=args.superseded),
            scope=scope_of(args, settings),
            all_projects=args.all_projects,
            limit=args.limit + 1,  # one more tells whether there is more
            cursor=args.cursor,
        )
        now = memory.now()
    page = found[: args.limit]
    cursor = page[-1].id if len(found) > args.limit else None
    document = {"memories": [entry.as_json() for entry in page]} | ({"cursor": cursor} if cursor else {})
    everywhere = args.all_projects
    answer(args, document, partial(render.listing, page, now=now, cursor=cursor, everywhere=everywhere))


def show(args: Namespace) -> None:
    with opened(settings_of(args)) as memory:
        found = memory.show(args.id, scope=scope_of_id(args))
        sources = memory.merges.corroboration(found.id, scope=scope_of_id(args)).corroborated_by
    document = found.as_json() | {"corroborated_by": sources}
    answer(args, document, partial(render.memory_in_full, found, corroborated_by=sources))


def _options(args: Namespace) -> dict[str, Any]:
    """Only what was asked for: the rest is the settings' business."""
    names = ("limit", "mode", "retrieval", "floor", "agent", "session", "namespace", "plan")
    options: dict[str, Any] = {name: getattr(args, name) for name in names if getattr(args, name) is not None}
    return options | {
        "types": tuple(args.type or ()),
        "tags": tuple(args.tag or ()),
        "as_of": moment(args.as_of),
        "include_superseded": args.include_superseded,
        "include_invalid": args.include_invalid,
        "rules": not args.no_rules,
        "graph": False if args.no_graph else None,
        "include_low_confidence": args.include_low_confidence,
    }

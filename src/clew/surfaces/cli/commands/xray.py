"""Look inside: xray, and graph explain."""

from __future__ import annotations

from argparse import Namespace

from clew.model.recalled import NO_SNAPSHOT
from clew.surfaces.cli.context import opened, scope_of, settings_of, text_of
from clew.surfaces.cli.terminal import answer, print_json, safe

_SNAPSHOTS_ARE = {
    False: "The setting graph.snapshot keeps one of each recall that walks the graph, and is off; "
    "where to switch it on: clew config show graph.snapshot",
    True: "The setting graph.snapshot is on: the next recall that walks the graph keeps one.",
}


def xray(args: Namespace) -> None:
    settings = settings_of(args)
    scope, query = scope_of(args, settings), text_of(args.query, settings)
    asked = {name: getattr(args, name) for name in ("limit", "plan") if getattr(args, name) is not None}
    with opened(settings) as memory:
        found = memory.xray(query, budget=args.budget, scope=scope, **asked)
    if args.json or args.format == "json":
        print_json(found.as_json())
    else:
        print(safe(found.render(args.format)))


def explain(args: Namespace) -> None:
    settings = settings_of(args)
    with opened(settings) as memory:
        found = memory.last_graph_recall()
    document = {"snapshotFound": True, **found.as_json()} if found else {"snapshotFound": False}
    lines = found.explain(limit=args.limit) if found else [NO_SNAPSHOT, _SNAPSHOTS_ARE[settings.graph.snapshot]]
    answer(args, document, lambda _style: map(safe, lines))

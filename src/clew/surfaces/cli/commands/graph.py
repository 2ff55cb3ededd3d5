"""Look at the graph: status, neighbors, path, explore, triplets; and activate, which needs no store."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clew.errors import InvalidInput
from clew.lazy import LazyModule
from clew.surfaces.cli.context import opened, scope_of, scope_of_id, settings_of, text_of
from clew.surfaces.cli.terminal import answer, print_json, style

if TYPE_CHECKING:
    from clew.settings import Settings
    from clew.surfaces.cli import render_graph as render
else:
    render = LazyModule("clew.surfaces.cli.render_graph")  # --json does without

# Of the documented payload, beside our own words for the graph.
_ROLLED_OUT = ("health", "rollout", "shadowMetrics", "qualityGate", "rolloutPlan", "alarms")


def status(args: Namespace) -> None:
    with opened(settings_of(args)) as memory:
        found = memory.rollout.status(scope=scope_of_id(args), top=args.limit)
    told = found.as_json()
    document = found.graph.as_json() | {name: told[name] for name in _ROLLED_OUT}
    answer(args, document, partial(render.status, found.graph, told))


def neighbors(args: Namespace) -> None:
    settings = settings_of(args)
    with opened(settings) as memory:
        found = memory.graph.neighbors(
            args.node, **_place(args, settings), limit=args.limit, edge_type=args.type, depth=args.depth
        )
    answer(args, found.as_json(), partial(render.neighborhood, found, edge_type=args.type))


def path(args: Namespace) -> None:
    settings = settings_of(args)
    with opened(settings) as memory:
        found = memory.graph.path(args.start, args.goal, **_place(args, settings), max_hops=args.max_hops)
    answer(args, found.as_json(), partial(render.path, found))


def explore(args: Namespace) -> None:
    settings = settings_of(args)
    with opened(settings) as memory:
        found = memory.graph.explore(args.node, **_place(args, settings), limit=args.limit)
    answer(args, found.as_json(), partial(render.explored, found))


def triplets(args: Namespace) -> None:
    settings = settings_of(args)
    query = None if args.query is None else text_of(args.query, settings)
    with opened(settings) as memory:
        found = memory.graph.triplets(query, **_place(args, settings), limit=args.limit)
    answer(args, found.as_json(), partial(render.facts, found))


def activate(args: Namespace) -> None:
    """One case prints its result; a file of many prints a list of them."""
    from clew.verbs.graph import GraphVerbs

    cases = _read_json(args.file)
    if isinstance(cases, dict) and "activation" in cases:
        cases = cases["activation"]
    if not isinstance(cases, list):
        result = GraphVerbs.activate(cases)
        answered: list[dict[str, Any]] = [{"case": "", "result": result}]
        document = result
    else:
        answered = [{"case": _name(case, at), "result": GraphVerbs.activate(case)} for at, case in enumerate(cases)]
        document = answered
    if args.json:
        print_json(document)
        return
    for line in render.activated(answered, style()):
        print(line)


def _place(args: Namespace, settings: Settings) -> dict[str, Any]:
    """The project that recall would use; without one, all of them."""
    scope = scope_of(args, settings)
    everywhere = args.all_projects or (scope.project is None and not args.no_project)
    return {"scope": scope, "all_projects": everywhere}


def _name(case: Any, at: int) -> Any:
    return case.get("case", at) if isinstance(case, dict) else at


def _read_json(name: str) -> Any:
    data = (sys.stdin.buffer.read() if sys.stdin else b"") if name == "-" else Path(name).expanduser().read_bytes()
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        where = "stdin" if name == "-" else name
        raise InvalidInput(
            f"{where} is not valid JSON", code="INVALID_JSON", next="write one case, or a list of cases"
        ) from None

"""How far recall through the graph is rolled out: rollout show, plan, set, metrics; and trace."""

from __future__ import annotations

from argparse import Namespace
from functools import partial
from typing import TYPE_CHECKING

from clew.lazy import LazyModule
from clew.surfaces.cli.context import moment, opened, scope_of, settings_of, text_of
from clew.surfaces.cli.terminal import answer

if TYPE_CHECKING:
    from clew.surfaces.cli import render_rollout as render
else:
    render = LazyModule("clew.surfaces.cli.render_rollout")  # --json does without


def show(args: Namespace) -> None:
    with opened(settings_of(args)) as memory:
        found = memory.rollout.show().as_json()
    answer(args, found, partial(render.shown, found))


def plan(args: Namespace) -> None:
    with opened(settings_of(args)) as memory:
        found = memory.rollout.plan().as_json()
    answer(args, found, partial(render.plan, found))


def set_mode(args: Namespace) -> None:
    with opened(settings_of(args)) as memory:
        found = memory.rollout.set(args.mode).as_json()
    answer(args, found, partial(render.was_set, found))


def set_default(args: Namespace) -> None:
    with opened(settings_of(args)) as memory:
        found = memory.rollout.set_default(args.strategy).as_json()
    answer(args, found, partial(render.default_set, found))


def metrics(args: Namespace) -> None:
    with opened(settings_of(args)) as memory:
        found = memory.rollout.metrics(moment(args.since)).as_json()
    answer(args, found, partial(render.metrics, found))


def trace(args: Namespace) -> None:
    settings = settings_of(args)
    query = text_of(args.query, settings)
    with opened(settings) as memory:
        found = memory.rollout.trace(
            query,
            scope=scope_of(args, settings),
            strategy=args.strategy,
            depth=args.depth,
            graph_limit=args.graph_limit,
            limit=args.limit,
            mode=args.mode,
            include_rules=not args.no_rules,
        ).as_json()
    answer(args, found, partial(render.traced, found))

"""Recorded queries once more, in both modes: rollout replay."""

from __future__ import annotations

from argparse import Namespace
from functools import partial

from clew.surfaces.cli import render_replay as render
from clew.surfaces.cli.context import moment, opened, settings_of
from clew.surfaces.cli.terminal import answer


def replay(args: Namespace) -> None:
    with opened(settings_of(args)) as memory:
        found = memory.rollout.replay(
            since=moment(args.since), project=args.project, limit=args.limit, top=args.top
        )
    answer(args, found.as_json(), partial(render.replayed, found))

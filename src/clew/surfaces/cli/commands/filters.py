"""The filter options of list and forget as one value."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterable
from typing import Any

from clew.model.choice import one_of
from clew.model.memory import LAYERS, TYPES, Filter
from clew.surfaces.cli.context import moment
from clew.surfaces.cli.parser import usage


def check_not_blank(name: str, given: Iterable[str] | None) -> None:
    """One that says nothing is a variable that is not set, say, and would be dropped without a word."""
    if any(not one.strip() for one in given or ()):
        raise usage(f"--{name} is blank", f"leave it out or give a {name}")


def filter_of(args: Namespace, **more: Any) -> Filter:
    """A word outside the closed lists is refused: it would match nothing, silently."""
    check_not_blank("tag", args.tag)
    return Filter(
        types=tuple(one_of("type", name, TYPES) for name in args.type or ()),
        tags=tuple(args.tag or ()),
        layer=one_of("layer", args.layer, LAYERS) if args.layer is not None else None,
        namespace=args.namespace,
        agent=args.agent,
        session=args.session,
        pattern=args.pattern,
        before=moment(args.before),
        **more,
    )

"""The filter options of list and forget as one value."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from clew.errors import InvalidInput
from clew.model.memory import LAYERS, TYPES, Filter
from clew.surfaces.cli.context import moment


def filter_of(args: Namespace, **more: Any) -> Filter:
    """A word outside the closed lists is refused: it would match nothing, silently."""
    return Filter(
        types=tuple(_known("type", name, TYPES) for name in args.type or ()),
        tags=tuple(args.tag or ()),
        layer=_known("layer", args.layer, LAYERS) if args.layer is not None else None,
        namespace=args.namespace,
        agent=args.agent,
        session=args.session,
        pattern=args.pattern,
        before=moment(args.before),
        **more,
    )


def _known(name: str, value: str, known: tuple[str, ...]) -> str:
    if value in known:
        return value
    raise InvalidInput(
        f"'{value[:40]}' is not a {name}", code=f"MEMORY_{name.upper()}_INVALID", next=f"choose: {', '.join(known)}"
    )

"""Names like one that was not found: of nodes that the reach may see, and of no others."""

from __future__ import annotations

from datetime import datetime
from difflib import get_close_matches

from clew.model.graph import parse_ref
from clew.model.scope import Reach
from clew.ports import Tx
from clew.remember.word import fold_name

MAX_GUESSED = 2_000  # nodes that are looked at for names like the one asked for
MAX_OFFERED = 3


def did_you_mean(tx: Tx, reach: Reach, text: str, *, now: datetime) -> str:
    """A question for whoever mistyped a name; empty when nothing is like it."""
    near = near_names(tx, reach, text, now=now)
    return f"did you mean {' or '.join(near)}?" if near else ""


def near_names(tx: Tx, reach: Reach, text: str, *, now: datetime) -> list[str]:
    """In quotes, the likest first."""
    known = tx.explore.keys_seen(reach, now=now, limit=MAX_GUESSED)
    ref = parse_ref(text)
    asked = fold_name(ref.key if ref else text)
    folded: dict[str, int] = {}
    for row, key in known.items():
        folded.setdefault(fold_name(key), row)
    close = get_close_matches(asked, folded, n=MAX_OFFERED)
    close += [key for key in folded if len(asked) > 2 and asked in key]
    rows = list(dict.fromkeys(folded[key] for key in close))[:MAX_OFFERED]
    nodes = tx.explore.shown(reach, rows, now=now)
    return [f"'{nodes[row].label}'" for row in rows if row in nodes]

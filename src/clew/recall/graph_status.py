"""How the graph is doing: how much there is, what is still to be made, what went wrong.

In: a view and the switches that are set. Out: one value. It looks and mends nothing: what is pending is made up for
by the next write.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from clew.model.explored import Counted, GraphStatus, Trouble
from clew.recall.explore import check
from clew.remember.graph import FAILED

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from clew.recall.named import View

MAX_TOP = 50


def graph_status(view: View, flags: Mapping[str, bool], *, top: int = 10) -> GraphStatus:
    top = check("top", top, MAX_TOP)
    counted = view.tx.explore.counted(view.reach, now=view.now)
    return GraphStatus(
        health="degraded" if FAILED in counted.pending else "ok",
        flags=flags,
        counted=counted,
        top=tuple(view.tx.explore.connected(view.reach, now=view.now, limit=top)),
        errors=tuple(_troubles(view, counted)),
        sampled_at=view.now,
    )


def _troubles(view: View, counted: Counted) -> Iterator[Trouble]:
    """With the codes of memories.sh, as far as they can occur here."""
    if FAILED in counted.pending:
        number, last = counted.pending[FAILED]
        yield Trouble(FAILED, f"{number} memories could not be added to the graph", "mapping", last)
    if counted.orphan_nodes:
        message = f"{counted.orphan_nodes} nodes have neither a memory nor an active edge"
        yield Trouble("ORPHAN_NODES_DETECTED", message, "consistency", view.now)
    if counted.expired_edges:
        message = f"{counted.expired_edges} edges have expired and no longer count"
        yield Trouble("EXPIRED_EDGES_PRESENT", message, "ttl", view.now)

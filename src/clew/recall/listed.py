"""The graph as a list of edges, and what changed in it.

In: a view, which is what one reach may see. Out: values without rows. Nothing is written, and nothing is read but
the store: what a node is called may look like a path, and is never followed (engram.md 16, 33).
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

from clew.errors import InvalidInput
from clew.model.graph import NODE_TYPES
from clew.model.listed import GraphChange, GraphChanges, GraphListed, ListedEdge, ListedNode
from clew.model.memory import TYPES
from clew.recall.named import View, nodes_named

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from datetime import datetime

    from clew.model.change import Change
    from clew.model.listed import DatedEdge
    from clew.model.memory import Memory
    from clew.ports import Tx

LIMIT, MAX_LIMIT = 500, 5_000  # engram.md 4.7
KINDS = (*NODE_TYPES[1:], *TYPES)  # what a memory is says its type


def edges_listed(
    view: View,
    *,
    limit: int = LIMIT,
    focus: str | None = None,
    categories: Sequence[str] | None = None,
    since: datetime | None = None,
) -> GraphListed:
    """Edges that may be seen, newest first, at most `limit`: those that touch a node, between nodes of some kinds,
    stated since a moment. Filters come before the limit."""
    rows = None if focus is None else list(nodes_named(view, focus))
    found = view.tx.explore.edges_listed(
        view.reach,
        now=view.now,
        limit=_checked_limit(limit),
        rows=rows,
        kinds=_checked_kinds(categories),
        since=since,
    )
    nodes = view.nodes({row for one in found for row in (one.edge.source, one.edge.target)})
    found = [one for one in found if {one.edge.source, one.edge.target} <= nodes.keys()]
    edges = tuple(
        ListedEdge(
            one.edge.id,
            nodes[one.edge.source].id,
            nodes[one.edge.target].id,
            one.edge.type,
            one.edge.confidence,
            one.at,
        )
        for one in found
    )
    listed = [ListedNode(nodes[row], *about) for row, about in _about(found).items()]
    listed.sort(key=lambda one: (-one.score, one.node.id))
    return GraphListed(tuple(listed), edges, view.now)


def _about(found: Iterable[DatedEdge]) -> dict[int, tuple[str, float, datetime]]:
    """By node: its kind, the sum of the confidences of its edges here, and when the newest was stated."""
    kinds: dict[int, str] = {}
    scores: dict[int, float] = defaultdict(float)
    newest: dict[int, datetime] = {}
    for one in found:
        for row, kind in ((one.edge.source, one.source_kind), (one.edge.target, one.target_kind)):
            kinds[row] = kind
            scores[row] += one.edge.confidence
            newest[row] = max(newest.get(row, one.at), one.at)
    return {row: (kind, round(scores[row], 4), newest[row]) for row, kind in kinds.items()}


def _checked_limit(limit: object) -> int:
    if not isinstance(limit, int) or isinstance(limit, bool) or limit < 1:
        raise InvalidInput(
            f"limit {str(limit)[:20]} is no number of edges",
            code="GRAPH_LIMIT_INVALID",
            next=f"ask for 1 to {MAX_LIMIT}",
        )
    return min(limit, MAX_LIMIT)


def _checked_kinds(categories: Sequence[str] | None) -> list[str] | None:
    if categories is None:
        return None
    unknown = [name for name in categories if name not in KINDS]
    if unknown or not categories:
        told = f"'{str(unknown[0])[:40]}' is no kind of node" if unknown else "no kind of node is named"
        raise InvalidInput(told, code="GRAPH_CATEGORY_INVALID", next=f"choose of: {', '.join(KINDS)}")
    return sorted(set(categories))


# -- changes -----------------------------------------------------------------------------------------


def nothing_new(tx: Tx, org: str, after: int | None) -> GraphChanges | None:
    """The usual answer to who asks often. It needs no rights, and so takes next to no time."""
    return GraphChanges((), after) if after is not None and tx.changes.last(org) == after else None


def changes_since(
    view: View, after: int | None, *, limit: int, may_read: Callable[[Sequence[Memory]], list[bool]], is_owner: bool
) -> GraphChanges:
    """What changed after a number of the change log, as ids; without one, nothing yet, and where to begin.

    A memory shows when it may be read, a node when it may be seen, and that a memory was forgotten when it could be
    read before. Of one that was erased nobody can say who could, so only the owner, who could read all, is told."""
    org, last = view.reach.org, view.tx.changes.last(view.reach.org)
    if after is None or after == last:
        return GraphChanges((), last)
    page = view.tx.changes.page(org, after, limit=limit)
    if page is None:
        return GraphChanges((GraphChange(last, "reset", "reset"),), last)
    upto = page[-1].seq
    newest = {(change.kind, change.id): change for change in page}
    shown = [*_memories(view, newest.values(), may_read, is_owner), *_nodes(view, newest.values())]
    return GraphChanges(tuple(sorted(shown, key=lambda one: one.seq)), upto, more=upto < last)


def _memories(
    view: View,
    changes: Iterable[Change],
    may_read: Callable[[Sequence[Memory]], list[bool]],
    is_owner: bool,
) -> list[GraphChange]:
    mine = [change for change in changes if change.kind == "memory"]
    found = {change.id: view.tx.memories.get(view.reach, change.id, deleted=True) for change in mine}
    known = [memory for memory in found.values() if memory is not None]
    as_it_was = [replace(memory, deleted_at=None) for memory in known]
    readable = {memory.id for memory, allowed in zip(known, may_read(as_it_was), strict=True) if allowed}
    erased = {id for id, memory in found.items() if memory is None} if is_owner else set()
    gone = {memory.id for memory in known if memory.deleted_at is not None} | erased
    return [
        GraphChange(change.seq, "memory", "drop" if change.id in gone else "put", change.id)
        for change in mine
        if change.id in readable | erased
    ]


def _nodes(view: View, changes: Iterable[Change]) -> list[GraphChange]:
    rows = {int(change.id): change.seq for change in changes if change.kind == "node"}
    return [GraphChange(rows[row], "node", "put", node.id) for row, node in view.nodes(rows).items()]

"""The graph's tables as they are shown to people. Every call takes a reach, and nothing leaves that this reach may
not see: an edge comes through a memory that states it, a node through a memory that hangs on it or states its edge,
a label through one that spells it so."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from clew.model.explored import Connected, Counted, LinkedMemory, SeenEdge, SeenNode, Witness, preview
from clew.model.graph import edge_id, uuid_text
from clew.model.listed import DatedEdge
from clew.model.scope import Reach
from clew.model.times import from_micros, to_micros
from clew.store.memories import reach_values, seen_by
from clew.store.session import Row, Session, listed

AHEAD = 4  # times as many nodes are counted as are asked for: some of what is tied to a node has expired


class GraphExplore:
    """Bound to one transaction."""

    __slots__ = ("_session",)

    def __init__(self, session: Session) -> None:
        self._session = session

    def tables(self) -> set[str]:
        """The tables of the graph that are there: all three, unless somebody else changed the file."""
        return {name for (name,) in self._session.all("graph_tables")}

    def shown(self, reach: Reach, rows: Iterable[int], *, now: datetime) -> dict[int, SeenNode]:
        """Those of these nodes that may be seen, as they may be shown."""
        asked = seen_by(reach, now) | {"rows": _listed(rows)}
        return {row: _node(*rest) for row, *rest in self._session.all("nodes_shown", **asked)}

    def edges_seen(
        self,
        reach: Reach,
        rows: Iterable[int],
        *,
        now: datetime,
        limit: int,
        edge_type: str = "",
        only: str = "",
        newest: bool = False,
    ) -> list[SeenEdge]:
        """Edges that start or end at these nodes, the strongest or the newest first. `only`: facts or stated."""
        asked = seen_by(reach, now) | {"rows": _listed(rows), "limit": limit}
        options = {"edge_type": edge_type, "only": only, "newest": newest}
        return [_edge(reach.org, row) for row in self._session.all("edges_seen", **asked, **options)]

    def facts_seen(self, reach: Reach, *, now: datetime, limit: int) -> list[SeenEdge]:
        rows = self._session.all("facts_seen", **seen_by(reach, now), limit=limit)
        return [_edge(reach.org, row) for row in rows]

    def witnesses_seen(self, reach: Reach, edge_row: int, *, now: datetime, limit: int) -> tuple[Witness, ...]:
        asked = seen_by(reach, now) | {"edge_row": edge_row, "limit": limit}
        return tuple(Witness(id, sentence) for id, sentence in self._session.all("witnesses_seen", **asked))

    def memories_linked(
        self, reach: Reach, rows: Iterable[int], *, now: datetime, limit: int
    ) -> tuple[LinkedMemory, ...]:
        asked = seen_by(reach, now) | {"rows": _listed(rows), "limit": limit}
        found = self._session.all("memories_linked", **asked)
        return tuple(
            LinkedMemory(id, role, type_, title, content, from_micros(updated_at))
            for id, role, type_, title, content, updated_at in found
        )

    def named_by(self, reach: Reach, ids: Sequence[str], *, now: datetime) -> list[tuple[str, int, str]]:
        """(memory, node, role) of what these memories hang on, their own nodes included."""
        asked = seen_by(reach, now) | {"ids": listed(ids)}
        found: list[tuple[str, int, str]] = self._session.all("nodes_named_by", **asked)
        return found

    def beside(self, reach: Reach, rows: Iterable[int], *, now: datetime, limit: int) -> list[tuple[int, int]]:
        """From these nodes to the memories that hang on them, and from memories to what they hang on."""
        asked = seen_by(reach, now) | {"rows": _listed(rows), "limit": limit}
        found: list[tuple[int, int]] = self._session.all("nodes_beside", **asked)
        return found

    def projects_seen(self, reach: Reach) -> tuple[str, ...]:
        if reach.projects is not None:
            return reach.projects
        values = {name: value for name, value in reach_values(reach).items() if name != "projects"}
        return tuple(sorted(project for (project,) in self._session.all("projects_seen", **values)))

    def keys_seen(self, reach: Reach, *, now: datetime, limit: int) -> dict[int, str]:
        """Of the newest nodes, for guessing which one was meant."""
        return dict(self._session.all("keys_seen", **seen_by(reach, now), limit=limit))

    def connected(self, reach: Reach, *, now: datetime, limit: int) -> list[Connected]:
        """The nodes on which most hangs."""
        found = self._among_the_most_tied(reach, now, limit) if reach == Reach.everything(reach.org) else None
        if found is None:
            found = self._session.all("nodes_connected", **seen_by(reach, now), limit=limit)
        nodes = self.shown(reach, [row for row, *_counts in found], now=now)
        return [Connected(nodes[row], *counts) for row, *counts in found if row in nodes]

    def _among_the_most_tied(self, reach: Reach, now: datetime, limit: int) -> list[Row] | None:
        """The same for the owner, who sees nearly all that is tied to a node: of a few, counted one by one, instead
        of asking for every edge of the graph who states it. None where one that was left out could come before."""
        tied: dict[int, int] = dict(self._session.all("nodes_tied", org_id=reach.org, limit=AHEAD * limit))
        asked = seen_by(reach, now) | {"rows": _listed(tied), "limit": limit}
        found = self._session.all("nodes_connected_of", **asked)
        if len(tied) < AHEAD * limit:
            return found  # these are all there are
        if len(found) < limit:
            return None
        (row, *counts), most = found[-1], min(tied.values())  # of what was left out
        is_before = sum(counts) > most or sum(counts) == most == tied[row]  # as many: then their order decides
        return found if is_before else None

    def edges_listed(
        self,
        reach: Reach,
        *,
        now: datetime,
        limit: int,
        rows: Sequence[int] | None = None,
        kinds: Sequence[str] | None = None,
        since: datetime | None = None,
    ) -> list[DatedEdge]:
        """Edges of the whole reach, or of some nodes, the newest first."""
        asked = seen_by(reach, now) | {
            "rows": None if rows is None else _listed(rows),
            "kinds": None if kinds is None else listed(kinds),
            "since": None if since is None else to_micros(since),
            "limit": limit,
        }
        found = self._session.all("edges_listed", **asked)
        return [DatedEdge(_edge(reach.org, row[:-3]), from_micros(row[-3]), *row[-2:]) for row in found]

    def counted(self, reach: Reach, *, now: datetime) -> Counted:
        """Everything within the reach, also what has expired; for the owner also what hangs on nothing."""
        places = reach_values(reach)
        asked = seen_by(reach, now) | {"everything": reach == Reach.everything(reach.org)}
        edges = self._session.all("count_edges", **asked)
        nodes = self._session.all("count_nodes", **asked)
        pending = self._session.all("count_pending", **places)
        return Counted(
            nodes={type_: number for type_, number, _orphans in nodes},
            edges={type_: number for type_, number, _expired in edges},
            memory_links=int(self._session.value("count_links", **places)),
            expired_edges=sum(expired for _type, _number, expired in edges),
            orphan_nodes=sum(orphans for _type, _number, orphans in nodes),
            pending={reason: (number, from_micros(at)) for reason, number, at in pending},
        )


def _listed(rows: Iterable[int]) -> str:
    return listed(sorted(set(rows)))


def _node(id: bytes, type_: str, key: str, label: str, project: str, importance: float) -> SeenNode:
    return SeenNode(uuid_text(id), type_, key, preview(label) if type_ == "memory" else label, project, importance)


def _edge(org: str, found: Row) -> SeenEdge:
    row, project, source_id, target_id, source, target, type_, weight, confidence, feedback, expires_at = found
    return SeenEdge(
        row=row,
        id=uuid_text(edge_id(org, project, source_id, target_id, type_)),
        source=source,
        target=target,
        type=type_,
        weight=weight,
        confidence=confidence,
        feedback_weight=feedback,
        expires_at=None if expires_at is None else from_micros(expires_at),
    )

"""The graph's tables, read side. Nothing is returned that the asking reach may not see: an edge is seen through
a memory that states it, a node through a memory that hangs on it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from operator import itemgetter
from typing import Any

from clew.model.graph import Node
from clew.model.scope import Reach
from clew.store.memories import reach_values, seen_by
from clew.store.session import Row, Session, listed

LOOKED_AT = 1_024  # links of one node, newest first, whosever memories they are


class GraphReads:
    """Bound to one transaction."""

    __slots__ = ("_session",)

    def __init__(self, session: Session) -> None:
        self._session = session

    # -- walking, hop by hop: each asks once for all nodes, and caps what it reads of each ---------

    def edges_at_many(
        self,
        reach: Reach,
        nodes: Iterable[int],
        *,
        now: datetime,
        moment: datetime,
        limit: int,
        structural: bool = False,
    ) -> dict[int, tuple[list[Row], list[Row]]]:
        """(other node, type, weight, confidence, edge row) of the edges that start and that end at each node, the
        strongest first. `structural`: also those that say no more than where memories are filed."""
        found: dict[int, tuple[list[Row], list[Row]]] = {node: ([], []) for node in nodes}
        asked = seen_by(reach, now, moment) | {"limit": limit, "structural": structural}
        for node, ends, *edge, _strength in self._asked("walk_edges", found, asked):
            found[node][ends].append(tuple(edge))
        return found

    def linked_at_many(
        self, reach: Reach, nodes: Iterable[int], *, now: datetime, moment: datetime, limit: int
    ) -> dict[int, list[int]]:
        """From a memory's node to what it hangs on; from such a node to the newest memories that hang on it."""
        found: dict[int, list[int]] = {node: [] for node in nodes}
        asked = seen_by(reach, now, moment) | {"limit": limit}
        for node, other in self._asked("walk_nodes", found, asked):
            found[node].append(other)
        others = [node for node in found if not found[node]]
        return found | self._newest_at(others, reach, asked, "walk_memories", "walk_memories_of")

    def _newest_at(
        self, nodes: Iterable[int], reach: Reach, asked: dict[str, Any], query: str, of_place: str
    ) -> dict[int, list[Any]]:
        """What the newest memories at each node are told by. A hub, such as a tag, has those of the whole org: if
        its newest are mostly of other places, the memories of the reach's own tell which of them hang on it."""
        found: dict[int, list[Any]] = {node: [] for node in nodes}
        places, limit = reach.places(), asked["limit"]
        look = max(limit, LOOKED_AT) if places else 0
        for node, told in self._asked(query, found, asked | {"look": look}):
            found[node].append(told)
        few = [node for node, of_node in found.items() if len(of_node) < limit] if look else []
        hubs = [node for (node,) in self._asked("hubs_among", few, {"org_id": reach.org, "look": look})]
        return found | self._newest_in(places or (), hubs, asked, of_place) if hubs else found

    def _newest_in(
        self, places: Iterable[tuple[str, str]], nodes: Sequence[int], asked: dict[str, Any], query: str
    ) -> dict[int, list[Any]]:
        rows: list[Row] = []
        here = {name: value for name, value in asked.items() if name != "limit"} | {"rows": listed(sorted(nodes))}
        for project, user in places:
            rows += self._session.all(query, **here, project_id=project, user_id=user)
        found: dict[int, list[Any]] = {node: [] for node in nodes}
        for node, _row, told in sorted(rows, key=itemgetter(1), reverse=True):
            found[node].append(told)
        return {node: of_node[: asked["limit"]] for node, of_node in found.items()}

    def _asked(self, query: str, nodes: Iterable[int], asked: dict[str, Any]) -> list[Row]:
        rows = sorted(nodes)
        return self._session.all(query, **asked, rows=listed(rows)) if rows else []

    def ends(
        self, reach: Reach, nodes: Iterable[int], edges: Iterable[int], *, now: datetime
    ) -> tuple[dict[int, int], dict[int, int]]:
        """Until when nodes of memories and edges count, in microseconds. Other nodes do not end by themselves."""
        rows = listed(sorted(set(nodes)))
        stated = listed(sorted(set(edges)))
        return (
            dict(self._session.all("nodes_end", org_id=reach.org, rows=rows)),
            dict(self._session.all("edges_end", **seen_by(reach, now), rows=stated)),
        )

    def nodes_by_memory(self, org: str, ids: Sequence[str]) -> list[tuple[str, int]]:
        """(memory id, node): what each hangs on, in the order given, its own node first."""
        found: list[tuple[str, int]] = self._session.all("nodes_by_memory", org_id=org, ids=listed(ids))
        return found

    def memories_at_many(
        self, reach: Reach, nodes: Iterable[int], *, now: datetime, moment: datetime, limit: int
    ) -> dict[int, list[str]]:
        """The newest memories that hang on each node, rules excepted."""
        asked = seen_by(reach, now, moment) | {"limit": limit}
        return self._newest_at(nodes, reach, asked, "memories_at", "memories_at_of")

    def contradictions(self, reach: Reach, ids: Sequence[str], now: datetime) -> list[tuple[str, str, float]]:
        """(one of these memories, another one, how sure), as far as may be seen; a pair may come twice."""
        found: list[tuple[str, str, float]] = self._session.all("contradictions", **_among(reach, ids, now))
        return found

    def expect_contradictions(self, reach: Reach, ids: Sequence[str], now: datetime) -> None:
        """They will be asked for."""
        self._session.expect("contradictions", **_among(reach, ids, now))

    def disputed(self, org: str, *, limit: int) -> set[str] | None:
        """Every memory that contradicts another, or did; None when they are too many to be told."""
        rows = self._session.all("disputed", org_id=org, limit=limit)
        return {id for (id,) in rows} if len(rows) < limit else None

    def linked_nodes(self, reach: Reach, nodes: Iterable[int], now: datetime) -> set[int]:
        """Those on which a memory hangs that may be seen."""
        asked = seen_by(reach, now) | {"rows": listed(sorted(set(nodes)))}
        return {row for (row,) in self._session.all("nodes_linked", **asked)}

    def turning(self, reach: Reach, ids: Sequence[str] | None, now: datetime) -> list[tuple[str, int]]:
        """(id, when) of memories in reach that begin or cease to hold later."""
        asked, query = seen_by(reach, now), "turning"
        if ids is not None:
            asked, query = asked | {"ids": listed(ids)}, "turning_of"
        found: list[tuple[str, int]] = self._session.all(query, **asked)
        return found

    def own_nodes(self, org: str, ids: Sequence[str]) -> dict[str, int]:
        return dict(self._session.all("own_nodes", org_id=org, ids=listed(ids)))

    def described(self, org: str, rows: Iterable[int]) -> dict[int, Node]:
        found = self._session.all("nodes_described", org_id=org, rows=listed(sorted(set(rows))))
        return {row: Node(row, *rest) for row, *rest in found}

    def touched_by(self, org: str, ids: Sequence[str]) -> list[int]:
        """The nodes that these memories hang on, state something about, or are joined to by what others state."""
        touched = [row for (row,) in self._session.all("nodes_touched", org_id=org, ids=listed(ids))]
        own = listed(sorted(self.own_nodes(org, ids).values()))
        return touched + [row for (row,) in self._session.all("nodes_joined", org_id=org, rows=own)]

    # -- everything a reach sees, for the read model -----------------------------------------------

    def scope(self, reach: Reach, now: datetime) -> tuple[list[Row], list[Row], list[Row], list[Row]]:
        """Memories (id, node, until, row), links (memory row, node), statements (memory row, edge row, from, to,
        type, weight, confidence), and edges that people made (edge row, from, to, type, weight, confidence)."""
        seen = seen_by(reach, now)
        found: list[list[Row]] = [[], [], []]
        for project, user in self._places(reach):
            for rows, query in zip(found, ("scope_nodes", "scope_links", "scope_edges"), strict=True):
                rows += self._session.all(query, **seen, project_id=project, user_id=user)
        by_users = self._session.all("scope_user_edges", **seen)
        return found[0], found[1], found[2], by_users

    def _places(self, reach: Reach) -> Sequence[Row]:
        places = reach.places()
        return self._session.all("scope_places", **reach_values(reach)) if places is None else list(places)


def _among(reach: Reach, ids: Sequence[str], now: datetime) -> dict[str, Any]:
    return seen_by(reach, now) | {"ids": listed(ids), "structural": False}

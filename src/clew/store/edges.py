"""The edges of a store as a whole: looked through for decay, written to files, counted, swept if they dangle."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from datetime import datetime

from clew.model.graph import EdgeKey
from clew.model.scope import Reach
from clew.model.times import to_micros
from clew.store.memories import reach_values
from clew.store.sqlite import Row, Session


class EdgeTable:
    """Bound to one transaction. Pages go by row, so what is added meanwhile comes last."""

    __slots__ = ("_session",)

    def __init__(self, session: Session) -> None:
        self._session = session

    # -- decay -------------------------------------------------------------------------------------

    def page_end(self, after: int, *, limit: int) -> int | None:
        """The last row of the next `limit` edges; None when there is none."""
        row = self._session.value("edges_upto", after=after, limit=limit)
        return None if row is None else int(row)

    def tally(self, after: int, upto: int, *, threshold: float) -> list[tuple[str, int, int]]:
        """(type, how many, how many below the threshold)"""
        return [
            (str(kind), int(total), int(below))
            for kind, total, below in self._session.all("edges_tally", after=after, upto=upto, threshold=threshold)
        ]

    def aged(self, after: int, upto: int, *, before: int) -> list[Row]:
        """(row, org, project, from, to, type, label, confidence, anchor) of those not reinforced since."""
        return self._session.all("edges_aged", after=after, upto=upto, before=before)

    def fade(self, row: int, confidence: float, anchor: int, *, old: tuple[float, int]) -> bool:
        """False when the edge is no longer as it was read."""
        changed = self._session.run(
            "edge_fade", row=row, confidence=confidence, anchor=anchor, old_confidence=old[0], old_anchor=old[1]
        )
        return changed == 1

    # -- single edges ------------------------------------------------------------------------------

    def find(self, org: str, key: EdgeKey) -> tuple[int, bool] | None:
        """(row, whether a person made it)"""
        source, target, kind, project = key
        row = self._session.one(
            "edge_by_key", org_id=org, from_row=source, to_row=target, edge_type=kind, project_id=project
        )
        return (int(row[0]), bool(row[1])) if row else None

    def restore(
        self, org: str, row: int, *, confidence: float, base: float, anchor: datetime, created_at: datetime
    ) -> None:
        self._session.run(
            "edge_restore", row=row, org_id=org, confidence=confidence, base=base, anchor=to_micros(anchor),
            created_at=to_micros(created_at),
        )  # fmt: skip

    def seen_nodes(self, reach: Reach, rows: Iterable[int]) -> set[int]:
        """Those that a memory within the reach hangs on or states something about."""
        asked = reach_values(reach) | {"rows": json.dumps(sorted(set(rows)))}
        return {row for (row,) in self._session.all("nodes_seen", **asked)}

    def projects(self, org: str) -> list[str]:
        return [project for (project,) in self._session.all("projects_of", org_id=org)]

    def names_of(self, org: str, memory_row: int) -> set[tuple[int, bool]]:
        rows = self._session.all("names_of_memory", org_id=org, memory_row=memory_row)
        return {(name, bool(is_subject)) for name, is_subject in rows}

    def naming(self, org: str, names: Iterable[int], rows: Iterable[int]) -> set[int]:
        """Those of these memories that name one of these."""
        asked = {"names": json.dumps(sorted(set(names))), "rows": json.dumps(sorted(set(rows)))}
        return {row for (row,) in self._session.all("names_by", org_id=org, **asked)}

    # -- all that a reach sees ---------------------------------------------------------------------

    def within(self, reach: Reach, *, page: int) -> Iterator[Row]:
        """Each edge with its ends and witnesses, as `edges_within` selects them, without its row."""
        row = 0
        while found := self._session.all("edges_within", **reach_values(reach), after=row, limit=page):
            row = found[-1][0]
            yield from (edge[1:] for edge in found)

    def counts(self, org: str) -> dict[str, int]:
        [counted] = self._session.all("graph_counts", org_id=org)
        return dict(zip(("nodes", "edges", "links"), counted, strict=True))

    # -- health ------------------------------------------------------------------------------------

    def has_pending(self, *, max_attempts: int, patient: datetime) -> bool:
        """Whether a memory's part of the graph is still to be made; see `GraphTable.pending`."""
        asked = {"max_attempts": max_attempts, "patient": to_micros(patient)}
        return self._session.one("pending_any", **asked) is not None

    def failures(self, *, max_attempts: int) -> tuple[int, int]:
        """(memories that could not be mapped, those that are no longer tried)"""
        row = self._session.one("pending_failures", max_attempts=max_attempts)
        return (int(row[0]), int(row[1])) if row else (0, 0)

    def dangling(self) -> dict[str, int]:
        """How much of what refers to something that is not there; only what there is any of."""
        [counted] = self._session.all("dangling")
        found = dict(zip(("witnesses", "links", "edges", "nodes"), counted, strict=True))
        return {name: int(count) for name, count in found.items() if count}

    def sweep(self) -> set[tuple[str, str, int]]:
        """Drop what dangles; returns (org, project, row) of the nodes whose edges went."""
        self._session.run("sweep_pending")
        self._session.run("sweep_names")
        self._session.run("sweep_links")
        self._session.run("sweep_nodes")
        self._session.run("sweep_evidence")
        dropped = self._session.all("sweep_edges")
        self._session.run("sweep_evidence")  # of the edges that just went
        return {(org, project, row) for org, project, *ends in dropped for row in ends}

"""The edges of a store as a whole: looked through for decay, written to files, counted, swept if they dangle."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime

from clew.model.graph import EdgeKey
from clew.model.scope import Reach
from clew.model.times import Micros, to_micros
from clew.store.memories import seen_by
from clew.store.session import Row, Session, listed


class EdgeTable:
    """Bound to one transaction. Pages go by row, so what is added meanwhile comes last."""

    __slots__ = ("_session",)

    def __init__(self, session: Session) -> None:
        self._session = session

    # -- decay -------------------------------------------------------------------------------------

    def page_end(self, org: str, after: int, *, limit: int) -> int | None:
        """The last row of the next `limit` edges of an org; None when there is none."""
        row = self._session.value("edges_upto", org_id=org, after=after, limit=limit)
        return None if row is None else int(row)

    def tally(self, org: str, after: int, upto: int, *, threshold: float) -> list[tuple[str, int, int]]:
        """(type, how many, how many below the threshold)"""
        found = self._session.all("edges_tally", org_id=org, after=after, upto=upto, threshold=threshold)
        return [(str(kind), int(total), int(below)) for kind, total, below in found]

    def aged(self, org: str, after: int, upto: int, *, before: int) -> list[Row]:
        """(row, project, from, to, type, label, confidence, anchor) of those not reinforced since."""
        return self._session.all("edges_aged", org_id=org, after=after, upto=upto, before=Micros(before))

    def fade(self, org: str, row: int, *, old: tuple[float, int], new: tuple[float, int]) -> bool:
        """Confidence and anchor each; False when the edge is no longer as it was read."""
        was = {"old_confidence": old[0], "old_anchor": Micros(old[1])}
        becomes = {"confidence": new[0], "anchor": Micros(new[1])}
        return self._session.run("edge_fade", org_id=org, row=row, **was, **becomes) == 1

    # -- single edges ------------------------------------------------------------------------------

    def find(self, org: str, key: EdgeKey) -> tuple[int, bool] | None:
        """(row, whether a person made it)"""
        source, target, kind, project = key
        row = self._session.one(
            "edge_by_key", org_id=org, from_row=source, to_row=target, edge_type=kind, project_id=project
        )
        return (int(row[0]), bool(row[1])) if row else None

    def seen(self, reach: Reach, key: EdgeKey, *, now: datetime) -> tuple[int, bool, bool] | None:
        """(row, whether a person made it for this reach, whether the reach sees it). The row of one that is not
        seen is for writing: whoever asks must not learn that it is there."""
        source, target, kind, project = key
        asked = seen_by(reach, now) | {"from_row": source, "to_row": target, "edge_type": kind}
        row = self._session.one("edge_seen", **asked, project_id=project)
        return (int(row[0]), bool(row[1]), bool(row[2])) if row else None

    def claim(self, org: str, row: int, user: str) -> None:
        """Whose alone an edge is that a person made; '' for all who see its ends."""
        self._session.run("edge_claim", row=row, org_id=org, user_id=user)

    def is_stated_by(self, org: str, row: int, memory_rows: Iterable[int]) -> bool:
        """Whether all of these memories state an edge."""
        wanted = set(memory_rows)
        rows = listed(sorted(wanted))
        return len(self._session.all("edge_witnesses", org_id=org, edge_row=row, memory_rows=rows)) == len(wanted)

    def first_witness(self, org: str, row: int) -> tuple[int, int, int, str] | None:
        """(memory row, from, to, type): who was the first to state an edge in its text, and what it says."""
        found = self._session.one("edge_first_witness", org_id=org, row=row)
        return (int(found[0]), int(found[1]), int(found[2]), str(found[3])) if found else None

    def rebase(self, org: str, row: int, base: float, *, step: float) -> None:
        """As if the edge had begun with this confidence; `step` is what each further witness adds."""
        self._session.run("edge_rebase", org_id=org, row=row, base=base, step=step)

    def drop_stranded(self, org: str, node_rows: Iterable[int]) -> set[int]:
        """Delete the edges of these nodes that only a person states and nobody can see any more, because no memory
        is left at one end; returns the nodes at both ends, which may be pruned now."""
        dropped = self._session.all("drop_stranded", org_id=org, rows=listed(sorted(set(node_rows))))
        return {row for ends in dropped for row in ends}

    def restore(
        self, org: str, row: int, *, confidence: float, base: float, anchor: datetime, created_at: datetime
    ) -> None:
        self._session.run(
            "edge_restore", row=row, org_id=org, confidence=confidence, base=base, anchor=to_micros(anchor),
            created_at=to_micros(created_at),
        )  # fmt: skip

    def seen_nodes(self, reach: Reach, rows: Iterable[int], *, now: datetime) -> set[int]:
        """Those that a memory within the reach hangs on or states something about."""
        asked = seen_by(reach, now) | {"rows": listed(sorted(set(rows)))}
        return {row for (row,) in self._session.all("nodes_seen", **asked)}

    def projects(self, org: str) -> list[str]:
        return [project for (project,) in self._session.all("projects_of", org_id=org)]

    def names_of(self, org: str, memory_row: int) -> set[tuple[int, bool]]:
        rows = self._session.all("names_of_memory", org_id=org, memory_row=memory_row)
        return {(name, bool(is_subject)) for name, is_subject in rows}

    def naming(self, org: str, names: Iterable[int], rows: Iterable[int]) -> set[int]:
        """Those of these memories that name one of these."""
        asked = {"names": listed(sorted(set(names))), "rows": listed(sorted(set(rows)))}
        return {row for (row,) in self._session.all("names_by", org_id=org, **asked)}

    # -- what was found between memories -----------------------------------------------------------

    def similar_at(self, org: str, node_rows: Iterable[int], now: datetime) -> list[Row]:
        """As `similar_at` selects them: what the memories with these nodes are similar to."""
        asked = {"rows": listed(sorted(set(node_rows))), "now": to_micros(now)}
        return self._session.all("similar_at", org_id=org, **asked)

    def unlike(self, org: str, edge_rows: Iterable[int]) -> None:
        """These no longer connect what is similar; one that somebody else states stays."""
        for row in edge_rows:
            self._session.run("similar_drop", org_id=org, edge_row=row)
            self._session.run("edge_delete_unwitnessed", row=row, org_id=org)

    def reweigh(self, org: str, row: int, weight: float) -> None:
        self._session.run("edge_reweigh", row=row, org_id=org, weight=weight)

    def resay(self, org: str, row: int, memory_row: int, *, sentence: str, explanation: str, sure: float) -> bool:
        """The same memory states the same edge in other words; how sure it is then counts if no other does. False
        when nothing changed."""
        said = {"sentence": sentence, "explanation": explanation}
        asked = {"org_id": org, "edge_row": row, "memory_row": memory_row}
        return bool(self._session.run("evidence_resay", **asked, **said)) | bool(
            self._session.run("edge_resure", row=row, org_id=org, confidence=sure)
        )

    def renew_relations(self, org: str, node_row: int) -> None:
        """What was found between a memory and others ends with the first of the two."""
        for (row,) in self._session.all("relations_at", org_id=org, node_row=node_row):
            if self._session.run("relation_renew", org_id=org, edge_row=row):
                self._session.run("edge_expiry", row=row, org_id=org)

    def found_by_others(self, org: str, node_row: int, memory_row: int, *, before: datetime) -> list[str]:
        """Ids of other memories that said something of the one with this node before a moment."""
        asked = {"node_row": node_row, "memory_row": memory_row, "before": to_micros(before)}
        return [id for (id,) in self._session.all("found_by_others", org_id=org, **asked)]

    # -- all that a reach sees ---------------------------------------------------------------------

    def within(self, reach: Reach, *, now: datetime, page: int) -> Iterator[Row]:
        """Each edge with its ends and witnesses, as `edges_within` selects them, without its row."""
        row, seen = 0, seen_by(reach, now)
        while found := self._session.all("edges_within", **seen, after=row, limit=page):
            row = found[-1][0]
            yield from (edge[1:] for edge in found)

    def counts(self, org: str) -> dict[str, int]:
        [counted] = self._session.all("graph_counts", org_id=org)
        return dict(zip(("nodes", "edges", "links"), counted, strict=True))

    # -- health ------------------------------------------------------------------------------------

    def pending_orgs(self, *, max_attempts: int, patient: datetime) -> list[str]:
        """Where a memory's part of the graph is still to be made; see `GraphTable.pending`."""
        asked = {"max_attempts": max_attempts, "patient": to_micros(patient)}
        return [org for (org,) in self._session.all("pending_orgs", **asked)]

    def failures(self, org: str, *, max_attempts: int) -> tuple[int, int]:
        """(memories that could not be mapped, those that are no longer tried)"""
        row = self._session.one("pending_failures", org_id=org, max_attempts=max_attempts)
        return (int(row[0]), int(row[1])) if row else (0, 0)

    def dangling(self, org: str) -> dict[str, int]:
        """How much of what refers to something that is not there; only what there is any of."""
        [counted] = self._session.all("dangling", org_id=org)
        found = dict(zip(("witnesses", "links", "edges", "nodes"), counted, strict=True))
        return {name: int(count) for name, count in found.items() if count}

    def sweep(self, org: str) -> set[tuple[str, int]]:
        """Drop what dangles; returns (project, row) of the nodes whose edges went."""
        for query in ("sweep_pending", "sweep_names", "sweep_links", "sweep_nodes", "sweep_evidence"):
            self._session.run(query, org_id=org)
        dropped = self._session.all("sweep_edges", org_id=org)
        self._session.run("sweep_evidence", org_id=org)  # of the edges that just went
        touched = {(project, row) for project, *ends in dropped for row in ends}
        self._session.run("nodes_prune", org_id=org, rows=listed(sorted({row for _project, row in touched})))
        return touched

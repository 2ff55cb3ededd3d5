"""The graph's tables, written side: nodes, links, edges and their witnesses. No decisions are made here.

Deleting happens here and nowhere else: an edge goes with its last witness, a node with its last link and edge.
What damage left dangling is swept by store/edges.py.
"""

from __future__ import annotations

import json
from collections.abc import Container, Iterable, Mapping, Sequence
from datetime import datetime

from clew.model.graph import (
    ORG_WIDE,
    REINFORCEMENT,
    EdgeKey,
    Link,
    NodeDraft,
    NodeRef,
    Statement,
    Witnessed,
    node_id,
)
from clew.model.memory import Memory
from clew.model.times import to_micros
from clew.store.graph_reads import GraphReads
from clew.store.memories import from_row
from clew.store.session import Session, listed

FADED = 0.1  # no edge fades below it by default

FEW = 6  # asking for a list costs as much as asking so many times for one

Place = tuple[str, NodeRef]  # the project and what makes a node the same within it


class GraphTable(GraphReads):
    """Bound to one transaction and, in each call, to one org."""

    __slots__ = ("left",)

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.left = 0  # for later, by this transaction

    # -- nodes and links ---------------------------------------------------------------------------

    def nodes(
        self,
        org: str,
        wanted: Mapping[Place, NodeDraft],
        memory_rows: Mapping[str, int],
        now: datetime,
        *,
        fresh: bool = False,
    ) -> dict[Place, int]:
        """The row of each, made if it is not there yet. `memory_rows` gives rows of memories by id; with `fresh`
        these are new, and nobody needs to look for their nodes."""
        ids = {place: node_id(org, *place) for place in wanted}
        asked = [id for (_, ref), id in ids.items() if not (fresh and ref.type == "memory")]
        self._session.expect_rows(org, "graph_nodes", len(wanted) - len(asked))
        found = self._nodes_known(org, asked)
        rows = {id: row for id, (row, _plain) in found.items()}
        self._spell(org, {ids[place]: draft for place, draft in wanted.items()}, found)
        missing = [place for place in wanted if ids[place] not in rows]
        fresh_rows = self._session.next_rows("graph_nodes", len(missing))
        created = to_micros(now)
        inserted = []
        for row, place in zip(fresh_rows, missing, strict=True):
            project, (type_, key) = place
            label = "" if type_ == "memory" else wanted[place].label
            rows[ids[place]] = row
            home = "" if type_ in ORG_WIDE else project
            of_memory = memory_rows[key] if type_ == "memory" else None
            inserted.append((row, org, ids[place], home, type_, key, label, of_memory, created))
        self._session.many("node_insert", inserted)
        return {place: rows[id] for place, id in ids.items()}

    def node_rows(self, org: str, ids: Iterable[bytes]) -> dict[bytes, int]:
        return {id: row for id, (row, _plain) in self._nodes_known(org, ids).items()}

    def _nodes_known(self, org: str, ids: Iterable[bytes]) -> dict[bytes, tuple[int, bool]]:
        """The row of each, and whether its label is no more than its key."""
        wanted = list(ids)
        if len(wanted) <= FEW:
            asked = self._session.together([("node_row", {"org_id": org, "id": id}) for id in wanted])
            return {id: (row, bool(plain)) for id, rows in zip(wanted, asked, strict=True) for row, plain in rows}
        found = self._session.all("node_rows", org_id=org, ids=listed([id.hex() for id in wanted]))
        return {bytes.fromhex(id): (row, bool(plain)) for id, row, plain in found}

    def _spell(self, org: str, drafts: Mapping[bytes, NodeDraft], known: Mapping[bytes, tuple[int, bool]]) -> None:
        """Nodes that lost their spelling with a memory get that of another."""
        for id, (row, plain) in known.items():
            draft = drafts[id]
            if plain and draft.ref.type != "memory" and draft.label != draft.ref.key:
                self._session.put("node_relabel", row=row, org_id=org, label=draft.label)

    def respell(self, org: str, nodes: Iterable[int], edges: Iterable[int]) -> list[int]:
        """Drop the spelling of nodes and edges that stay; returns a memory for each node that can spell it."""
        rows = listed(sorted(set(nodes)))
        self._session.run("edges_respell", org_id=org, rows=listed(sorted(set(edges))))
        if not self._session.run("nodes_respell", org_id=org, rows=rows):
            return []
        return sorted({row for (row,) in self._session.all("spellers", org_id=org, rows=rows) if row is not None})

    def followers(self, org: str, node_row: int) -> list[int]:
        """Memories that follow the one with this node in a thread, by what they state."""
        return [row for (row,) in self._session.all("followers", org_id=org, node_row=node_row)]

    def links_at(self, org: str, node_row: int) -> tuple[Link, ...]:
        """What people linked to a node."""
        found = self._session.all("links_at", org_id=org, node_row=node_row)
        return tuple(Link(bool(leads_away), *rest) for leads_away, *rest in found)

    def leaning_at(self, org: str, node_row: int) -> tuple[str, ...]:
        """Ids of memories that come from the one with this node, or hang on it by a thing."""
        return tuple(id for (id,) in self._session.all("leaning_at", org_id=org, node_row=node_row))

    def replaced_by(self, org: str, ids: Sequence[str]) -> list[tuple[str, int]]:
        """(id, node of a memory that it replaced)"""
        found: list[tuple[str, int]] = self._session.all("replaced_by", org_id=org, ids=listed(ids))
        return found

    def prune(self, org: str, rows: Iterable[int]) -> None:
        """Drop those that nothing refers to any more."""
        self._session.run("nodes_prune", org_id=org, rows=listed(sorted(set(rows))))

    def link(self, org: str, links: Iterable[tuple[int, int, str]]) -> None:
        """(memory row, node row, role) each."""
        self._session.many("link_insert", [(org, *link) for link in links])

    def links_of(self, org: str, memory_row: int) -> list[tuple[int, str]]:
        found: list[tuple[int, str]] = self._session.all("links_of_memory", org_id=org, memory_row=memory_row)
        return found

    def unlink(self, org: str, memory_row: int, *, keep_self: bool = False) -> None:
        query = "links_delete_except_self" if keep_self else "links_delete"
        self._session.put(query, org_id=org, memory_row=memory_row)

    def self_nodes(self, org: str, memory_rows: Iterable[int]) -> dict[int, int]:
        rows = listed(sorted(set(memory_rows)))
        return dict(self._session.all("self_nodes", org_id=org, memory_rows=rows))

    def nodes_of_memories(self, org: str, ids: Sequence[str]) -> list[int]:
        rows = self._session.all("nodes_of_memories", org_id=org, ids=listed(ids))
        return [row for (row,) in rows]

    # -- who names whom ----------------------------------------------------------------------------

    def put_names(self, org: str, entries: Iterable[tuple[int, bool, int]]) -> None:
        """(name, whether it is what the memory is about, memory row) each."""
        self._session.many("name_insert", [(org, *entry) for entry in entries])

    def drop_names(self, org: str, memory_row: int) -> None:
        self._session.put("names_delete", org_id=org, memory_row=memory_row)

    def holders(
        self, org: str, names: Iterable[int], user: str, *, subject: bool, limit: int
    ) -> dict[int, list[int]]:
        """Memory rows by name, the newest first: those that all may see, and the user's own."""
        wanted = sorted(set(names))
        if not wanted:
            return {}
        asked = listed(wanted)
        rows = self._session.all(
            "names_held", org_id=org, names=asked, user_id=user, is_subject=subject, limit=limit
        )
        return {name: [int(row) for row in str(held).split(",")] for name, held in rows if held is not None}

    def expect_siblings(self, memory: Memory, memory_row: int, node_row: int, limit: int) -> None:
        """They will be asked for, before anything else is written."""
        self._session.expect("siblings", **_beside(memory, memory_row, node_row, limit))

    def siblings(self, memory: Memory, memory_row: int, node_row: int, limit: int) -> list[int]:
        """The newest memories at a node beside this one."""
        return [row for (row,) in self._session.all("siblings", **_beside(memory, memory_row, node_row, limit))]

    def in_thread(self, memory: Memory, memory_row: int) -> tuple[int | None, int | None]:
        """The memory that came last before this one in its thread, and the next of the same user."""
        found = self._session.one("thread_neighbours", **_moment(memory, memory_row), thread=memory.thread or "")
        before, after = found or (None, None)
        return before, after

    def in_session(self, memory: Memory, memory_row: int) -> int | None:
        """The memory that came last before this one in its session."""
        row = self._session.value(
            "session_predecessor", **_moment(memory, memory_row), session_id=memory.session or ""
        )
        return None if row is None else int(row)

    def places_of(self, org: str, memory_rows: Iterable[int]) -> dict[int, tuple[str, str, int | None]]:
        """(project, user, when it expires) of those that live."""
        rows = self._session.all("places_of", org_id=org, memory_rows=listed(sorted(set(memory_rows))))
        return {row: (project, user, expires_at) for row, project, user, expires_at in rows}

    # -- edges and witnesses -----------------------------------------------------------------------

    def state(
        self,
        org: str,
        statements: Sequence[Statement],
        now: datetime,
        *,
        new_from: int = 0,
        new_memories: Container[int] = (),
    ) -> None:
        """Add witnesses, and the edges they are the first of. Nodes from row `new_from` on are new, and so are
        the edges that start at them. `new_memories` are rows of memories that have witnessed nothing so far."""
        at = to_micros(now)
        keys = [said.key for said in statements]
        rows = self.edge_rows(org, {key for key in keys if not 0 < new_from <= key[0]})
        known = set(rows.values())
        unknown = set(keys).difference(rows)
        fresh = iter(self._session.next_rows("graph_edges", len(unknown)) if unknown else ())
        inserted: list[tuple[object, ...]] = []
        again: dict[tuple[int, int], Statement] = {}
        for key, said in zip(keys, statements, strict=True):
            row = rows.get(key)
            if row is None:
                row = rows[key] = next(fresh)
                inserted.append(
                    (row, org, said.project, said.source, said.target, said.type, said.label, said.weight,
                     said.confidence, said.confidence, 0, at, said.expires_at, at)
                )  # fmt: skip
            elif (row, said.memory_row) not in again:
                again[row, said.memory_row] = said
        self._session.many("edge_insert", inserted)
        could_be = [place for place in again if place[0] in known and place[1] not in new_memories]
        self._reinforce(org, again, at, witnesses=self._witnesses(org, could_be))
        self._session.many(
            "evidence_insert",
            [(org, rows[key], said.memory_row, said.sentence, said.explanation, said.origin, said.expires_at,
              at) for key, said in zip(keys, statements, strict=True) if said.memory_row],
        )  # fmt: skip

    def _reinforce(
        self,
        org: str,
        again: Mapping[tuple[int, int], Statement],
        at: int,
        *,
        witnesses: Container[tuple[int, int]],
    ) -> None:
        """One update per edge, however many memories state it at once."""
        counts: dict[int, list[Statement]] = {}
        for key, said in again.items():
            if key not in witnesses:
                counts.setdefault(key[0], []).append(said)
        for row, said_by in counts.items():
            expiries = [said.expires_at for said in said_by]
            self._session.put(
                "edge_reinforce", row=row, org_id=org, step=REINFORCEMENT, count=len(said_by), at=at,
                expires_at=None if None in expiries else max(filter(None, expiries)),
            )  # fmt: skip

    def _witnesses(self, org: str, wanted: Sequence[tuple[int, int]]) -> set[tuple[int, int]]:
        """Those of these (edge row, memory row) of which the memory states the edge."""
        asked = [("evidence_is", {"org_id": org, "edge_row": edge, "memory_row": row}) for edge, row in wanted]
        return {key for key, rows in zip(wanted, self._session.together(asked), strict=True) if rows}

    def edge_rows(self, org: str, keys: Iterable[EdgeKey]) -> dict[EdgeKey, int]:
        wanted = sorted(keys)
        if len(wanted) <= FEW:
            asked = self._session.together([("edge_row", {"org_id": org, **_ends(key)}) for key in wanted])
            return {key: row for key, rows in zip(wanted, asked, strict=True) for (row,) in rows}
        found = self._session.all("edge_rows", org_id=org, keys=json.dumps(wanted))
        return {key: row for row, *rest in found if (key := tuple(rest))}

    def witnessed_by(self, org: str, memory_row: int) -> list[Witnessed]:
        rows = self._session.all("evidence_of_memory", org_id=org, memory_row=memory_row)
        return [Witnessed(*row) for row in rows]

    def mentions_of(self, org: str, node_row: int) -> list[tuple[int, int]]:
        """(edge row, memory row): who names the memory that has this node."""
        found: list[tuple[int, int]] = self._session.all("mentions_of", org_id=org, node_row=node_row)
        return found

    def leaning_on(self, org: str, node_row: int) -> list[tuple[int, int, str, str]]:
        """(edge row, memory row, type, label): who hangs on the memory with this node, because both name a thing
        (`entity`) or because it follows in its thread (`time`)."""
        found: list[tuple[int, int, str, str]] = self._session.all("leaning_on", org_id=org, node_row=node_row)
        return found

    def reword(self, org: str, edge_row: int, memory_row: int, sentence: str) -> None:
        self._session.run(
            "evidence_reword", org_id=org, edge_row=edge_row, memory_row=memory_row, sentence=sentence
        )

    def retract(self, org: str, memory_row: int, edge_rows: Iterable[int]) -> None:
        """A memory no longer states these edges; one without a witness goes, unless a person made it."""
        for row in edge_rows:
            self._session.put("evidence_delete", org_id=org, edge_row=row, memory_row=memory_row)
            if not self._session.run("edge_delete_unwitnessed", row=row, org_id=org):
                self._session.put("edge_weaken", row=row, org_id=org, step=REINFORCEMENT, floor=FADED)

    def renew_expiry(self, org: str, memory_row: int, expires_at: int | None) -> None:
        """What a memory states ends when it does."""
        if self._session.run("evidence_renew", org_id=org, memory_row=memory_row, expires_at=expires_at):
            for edge in self.witnessed_by(org, memory_row):
                self._session.run("edge_expiry", row=edge.edge_row, org_id=org)

    def drop_node(self, org: str, node_row: int) -> set[int]:
        """Delete every edge that touches a node; returns the nodes at their other ends."""
        others: set[int] = set()
        for row, source, target in self._session.all("edges_of_node", org_id=org, node_row=node_row):
            self._session.run("evidence_delete_edge", org_id=org, edge_row=row)
            self._session.run("edge_delete", row=row, org_id=org)
            others |= {source, target}
        return others - {node_row}

    def state_by_user(self, org: str, statement: Statement, now: datetime) -> int:
        """A person's edge: there for good, witnessed by the memory it touches; row 0 stands for none."""
        key = statement.key
        rows = self.edge_rows(org, [key])
        if key not in rows:
            self.state(org, [statement], now)
            rows = self.edge_rows(org, [key])
        elif statement.memory_row:
            self.state(org, [statement], now)
        self._session.run("evidence_by_user", org_id=org, edge_row=rows[key], memory_row=statement.memory_row)
        self._session.run("edge_by_user", row=rows[key], org_id=org, at=to_micros(now))
        return rows[key]

    def unstate_by_user(self, org: str, edge_row: int) -> None:
        """A person takes an edge back. What memories state beside it stays."""
        self._session.run("evidence_not_by_user", org_id=org, edge_row=edge_row)
        self._session.run("edge_not_by_user", row=edge_row, org_id=org, step=REINFORCEMENT)
        if not self._session.run("edge_delete_unwitnessed", row=edge_row, org_id=org):
            self._session.run("edge_expiry", row=edge_row, org_id=org)

    # -- what is still to be made ------------------------------------------------------------------

    def put_pending(self, org: str, memory_row: int, reason: str, now: datetime, *, attempts: int = 0) -> None:
        self.left += 1
        self._session.run(
            "pending_put", org_id=org, memory_row=memory_row, reason=reason, attempts=attempts, at=to_micros(now)
        )

    def put_all_pending(self, org: str, memory_rows: Iterable[int], reason: str, now: datetime) -> None:
        why = {"org_id": org, "reason": reason, "attempts": 0, "at": to_micros(now)}
        self._session.for_each("pending_put", "memory_row", list(memory_rows), **why)

    def drop_pending(self, org: str, memory_row: int) -> None:
        self._session.put("pending_delete", org_id=org, memory_row=memory_row)

    def pending(self, org: str, *, max_attempts: int, patient: datetime, limit: int) -> list[int]:
        """Rows of memories. One that failed more than twice is left out until `patient` has passed its last
        failure."""
        asked = {"max_attempts": max_attempts, "patient": to_micros(patient), "limit": limit}
        return [row for (row,) in self._session.all("pending_next", org_id=org, **asked)]

    def memory_at(self, org: str, memory_row: int) -> Memory | None:
        row = self._session.one("memory_at_row", org_id=org, row=memory_row)
        return from_row(row) if row else None


def _moment(memory: Memory, memory_row: int) -> dict[str, object]:
    return {
        "org_id": memory.org, "project_id": memory.project or "", "user_id": memory.user or "",
        "at": to_micros(memory.at), "row": memory_row,
    }  # fmt: skip


def _beside(memory: Memory, memory_row: int, node_row: int, limit: int) -> dict[str, object]:
    return {
        "org_id": memory.org, "node_row": node_row, "memory_row": memory_row, "user_id": memory.user or "",
        "limit": limit,
    }  # fmt: skip


def _ends(key: EdgeKey) -> dict[str, object]:
    return dict(zip(("from_row", "to_row", "edge_type", "project_id"), key, strict=True))

"""Edges that a person makes, and takes back: one thing, a relation, another thing.

In: two names and a relation. A name is the id of a memory (or its unique beginning), `type:key`, or what a thing is
called. Out: what is linked now. Both ends must be visible to whoever asks. Such an edge is sure (weight and
confidence 1), does not decay, outlives edits of the memory, goes when the memory is forgotten, and comes back with
it (ties.py). Run twice, the second run changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

from clew.errors import InvalidInput, NotFound
from clew.model.graph import (
    ORG_WIDE,
    REINFORCEMENT,
    THINGS,
    NodeDraft,
    NodeRef,
    Statement,
    edge_id,
    node_id,
    parse_ref,
    uuid_text,
)
from clew.model.memory import Memory
from clew.model.relation import SYMMETRIC
from clew.model.scope import Reach, is_encodable
from clew.ports import Tx
from clew.relate import conflicts
from clew.remember.edit import must_get
from clew.remember.extract import cut_label
from clew.remember.graph import GraphPolicy, draft_of, remap
from clew.remember.key_names import refuse_secret
from clew.remember.lifecycle import May, is_expired, may_read, not_found
from clew.remember.near import did_you_mean
from clew.remember.things import thing_named
from clew.remember.word import MAX_KEY
from clew.values import dataclass

MEMORY = "memory:"
_RELATION = re.compile(r"[a-z][a-z0-9_]{0,39}")


@dataclass(frozen=True, slots=True)
class Linked:
    """`changed` is false when it was so before; `new` are ends that whoever asks saw nowhere until now."""

    source: str
    target: str
    type: str
    project: str | None
    both_ways: bool
    changed: bool
    new: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        answer: dict[str, Any] = {"from": self.source, "to": self.target, "type": self.type}
        if self.project:
            answer["project"] = self.project
        answer |= {"both_ways": self.both_ways, "changed": self.changed}
        return answer | ({"new": list(self.new)} if self.new else {})


class End(NamedTuple):
    """One end of an edge. `row` is 0 while the node is still to be made; only what is new has a label."""

    ref: NodeRef
    row: int
    project: str
    memory: Memory | None = None
    label: str = ""

    @property
    def name(self) -> str:
        return f"{self.ref.type}:{self.ref.key}"


def checked_relation(text: str) -> str:
    if not _RELATION.fullmatch(text):
        raise InvalidInput(
            f"'{text[:60]}' is no relation",
            code="RELATION_INVALID",
            next="write one word of at most 40 small letters, digits and underscores, such as depends_on",
        )
    return text


@dataclass(frozen=True, slots=True)
class _Asked:
    """The relation between two ends that somebody makes or takes back."""

    reach: Reach
    ends: list[End]
    type: str
    project: str
    now: datetime
    actor: str

    def directions(self, rows: Sequence[int]) -> list[tuple[int, int]]:
        one, other = rows
        return [(one, other), (other, one)] if self.type in SYMMETRIC else [(one, other)]

    def disputed(self, tx: Tx) -> list[tuple[int, Memory]]:
        """Two memories with their rows, if that is what the relation says of them."""
        memories = [end.memory for end in self.ends if end.memory]
        is_dispute = self.type == "contradicts" and len(memories) == len(self.ends)
        return [(tx.memories.row_of(memory), memory) for memory in memories] if is_dispute else []

    def node_ids(self) -> list[bytes]:
        return [node_id(self.reach.org, end.project, end.ref) for end in self.ends]

    def linked(self, *, changed: bool) -> Linked:
        one, other = self.ends
        new = tuple(end.name for end in self.ends if end.label)
        return Linked(one.name, other.name, self.type, self.project or None, self.type in SYMMETRIC, changed, new)


def _asked(
    tx: Tx, reach: Reach, names: tuple[str, str], relation: str, *, now: datetime, actor: str, may: May | None
) -> _Asked:
    type_ = checked_relation(relation)
    ends = _ends(tx, reach, names, now, may)
    return _Asked(reach, ends, type_, project_of(ends), now, actor)


def link(
    tx: Tx,
    reach: Reach,
    source: str,
    relation: str,
    target: str,
    *,
    now: datetime,
    actor: str = "owner",
    may: May | None = None,
) -> Linked:
    asked = _asked(tx, reach, (source, target), relation, now=now, actor=actor, may=may)
    rows = [make_node(tx, reach.org, end, now) for end in asked.ends]
    changed = False
    for one, other in asked.directions(rows):
        witness = witness_of(tx, asked.ends)
        said = Statement(asked.project, one, other, asked.type, memory_row=witness, origin="user")
        changed |= state_by_user(tx, reach, said, is_private=not witness, now=now)
    if disputed := asked.disputed(tx):
        conflicts.note_link(tx, reach.org, disputed, now=now)
    if changed:
        _note(tx, reach.org, asked.project, rows)
        _note_who(tx, asked, action="link")
    return asked.linked(changed=changed)


def unlink(
    tx: Tx,
    reach: Reach,
    source: str,
    relation: str,
    target: str,
    *,
    policy: GraphPolicy,
    now: datetime,
    actor: str = "owner",
    may: May | None = None,
) -> Linked:
    asked = _asked(tx, reach, (source, target), relation, now=now, actor=actor, may=may)
    rows = [end.row for end in asked.ends]
    _unstate(tx, asked, rows, policy)
    _note(tx, reach.org, asked.project, rows)
    for memory in (end.memory for end in asked.ends if end.memory):  # its text may state it all the same
        remap(tx, tx.memories.row_of(memory), memory, policy, now)
    if disputed := asked.disputed(tx):
        conflicts.unnote_link(tx, reach.org, [row for row, _memory in disputed], now=now)
    told = [memory.id for _row, memory in disputed] or [uuid_text(id) for id in asked.node_ids()]
    tx.injects.take_back(reach.org, *told, now=now)
    _note_who(tx, asked, action="unlink")
    return asked.linked(changed=True)


def _unstate(tx: Tx, asked: _Asked, rows: Sequence[int], policy: GraphPolicy) -> None:
    """The person's own statement, and what it alone kept there."""
    org = asked.reach.org
    keys = [(one, other, asked.type, asked.project) for one, other in asked.directions(rows)]
    found = [tx.edges.seen(asked.reach, key, now=asked.now) for key in keys]
    by_user = [edge[0] for edge in found if edge and edge[1]]
    if not by_user:
        raise NotFound(
            f"nobody linked {asked.ends[0].name} to {asked.ends[1].name} by {asked.type}",
            code="LINK_NOT_FOUND",
            next="what a memory states goes when you edit or forget the memory",
        )
    for row in by_user:
        tx.graph.unstate_by_user(org, row)
        tx.edges.claim(org, row, "")
        _rebase(tx, org, row, policy)
    tx.graph.prune(org, {*rows, *tx.edges.drop_stranded(org, rows)})


def state_by_user(tx: Tx, reach: Reach, said: Statement, *, is_private: bool, now: datetime) -> bool:
    """A person's edge; False when it was theirs before. What others keep for themselves counts as not there.
    Private is what no memory at an end speaks for: within a user's scope it is that user's alone. It can be one
    user's alone only: if two say the same for themselves, it is with the last of them."""
    seen = tx.edges.seen(reach, said.key, now=now)
    row = tx.graph.state_by_user(reach.org, said, now)
    if seen and seen[1]:
        return False
    tx.edges.claim(reach.org, row, _user_of(reach) if is_private else "")
    return True


def _user_of(reach: Reach) -> str:
    return next((user for user in reach.users or () if user), "")


def _rebase(tx: Tx, org: str, row: int, policy: GraphPolicy) -> None:
    """A person's edge begins with 1.0, and keeps no note of how sure a memory was that came later. So the first of
    those that still state it is read once more: the edge is then as sure as if the person had said nothing."""
    found = tx.edges.first_witness(org, row)
    memory = tx.graph.memory_at(org, found[0]) if found else None
    draft = draft_of(memory, policy) if memory else None
    if found is None or draft is None:
        return
    nodes = tx.graph.described(org, found[1:3])
    refs = [(nodes[end].type, nodes[end].key) for end in found[1:3]]
    for edge in draft.edges:
        if edge.type == found[3] and [tuple(edge.source), tuple(edge.target)] == refs:
            tx.edges.rebase(org, row, edge.confidence, step=REINFORCEMENT)
            return


def _note(tx: Tx, org: str, project: str, nodes: Sequence[int]) -> None:
    for node in nodes:
        tx.changes.note(org, project, "node", str(node), "put")


def _note_who(tx: Tx, asked: _Asked, *, action: str) -> None:
    """Under the edge's id: what a thing is called may come from the text of a memory, and the log keeps none."""
    org = asked.reach.org
    one, other = asked.node_ids()
    tx.audit.note(
        org,
        at=asked.now,
        actor=asked.actor,
        action=action,
        kind="edge",
        id=uuid_text(edge_id(org, asked.project, one, other, asked.type)),
        detail={"memories": [end.memory.id for end in asked.ends if end.memory]},
    )


# -- the ends --------------------------------------------------------------------------------------


def _ends(tx: Tx, reach: Reach, names: tuple[str, str], now: datetime, may: May | None) -> list[End]:
    """Both ends, or not found. A thing that a memory is linked to need not be known yet."""
    memories = [_memory_named(tx, reach, name, now, may) for name in names]
    known = next((memory for memory in memories if memory), None)
    places = _places(tx, reach, known)
    one, other = (
        [memory_end(tx, memory)]
        if memory
        else _things(tx, reach, name, places, may_be_new=known is not None, now=now)
        for name, memory in zip(names, memories, strict=True)
    )
    ends = _chosen(one, other, is_clear=known is not None or reach.projects is not None)
    if ends[0].ref == ends[1].ref:
        raise InvalidInput(
            f"{ends[0].name} cannot be linked to itself", code="LINK_TO_ITSELF", next="name two different things"
        )
    return ends


def _memory_named(tx: Tx, reach: Reach, name: str, now: datetime, may: May | None) -> Memory | None:
    """The memory that a name means; None when it means a thing."""
    if not is_encodable(name):
        raise _no_node(name)
    id = name.strip().removeprefix(MEMORY)
    is_id = id.startswith("mem_") or name.strip().startswith(MEMORY)
    memory = must_get(tx, reach, id, now=now, may=may) if is_id else tx.memories.get(reach, id)
    if memory and (is_expired(memory, now) or not may_read(may, memory)):
        raise not_found(id)  # as it was asked for: a beginning does not become a whole id
    return memory


def memory_end(tx: Tx, memory: Memory) -> End:
    row = tx.memories.row_of(memory)
    own = tx.graph.self_nodes(memory.org, [row]).get(row, 0)
    return End(NodeRef("memory", memory.id), own, memory.project or "", memory)


def _places(tx: Tx, reach: Reach, memory: Memory | None) -> list[str]:
    """The projects a thing may be of, the nearest first."""
    if memory:
        return list(dict.fromkeys((memory.project or "", "")))
    return sorted(tx.edges.projects(reach.org) if reach.projects is None else reach.projects, reverse=True)


def _things(
    tx: Tx, reach: Reach, name: str, places: Sequence[str], *, may_be_new: bool, now: datetime
) -> list[End]:
    """The nodes a name may mean, as far as they are visible; one that is yet to be made if there is none."""
    ref = thing_named(name)
    if ref is None or len(ref.key) > MAX_KEY or not ref.key.isprintable():
        raise _no_node(name)
    found = seen_things(tx, reach, ref, places, now=now)
    if not found and may_be_new and ref.type in THINGS:
        # Whether others know it is not told: it is the same node, and they see no more of it than before.
        row = tx.graph.node_rows(reach.org, [node_id(reach.org, places[0], ref)])
        found = [new_thing(name, ref, places[0], row=next(iter(row.values()), 0))]
    if not found:
        offered = did_you_mean(tx, reach, name.strip(), now=now)
        raise _no_node(name, offered or ("" if may_be_new else _FIRST))
    return found


def new_thing(name: str, ref: NodeRef, project: str, *, row: int = 0) -> End:
    """Labelled as it was written; of a ref the part after the colon."""
    refuse_secret(name, "thing", code="NODE_NAME_SECRET")
    return End(ref, row, project, label=ref.key if parse_ref(name.strip()) else name.strip())


def seen_things(tx: Tx, reach: Reach, ref: NodeRef, places: Sequence[str], *, now: datetime) -> list[End]:
    homes = [""] if ref.type in ORG_WIDE else places
    ids = {node_id(reach.org, home, ref): home for home in homes}
    rows = tx.graph.node_rows(reach.org, ids)
    seen = tx.edges.seen_nodes(reach, rows.values(), now=now)
    return [End(ref, rows[id], home) for id, home in ids.items() if id in rows and rows[id] in seen]


def _chosen(one: Sequence[End], other: Sequence[End], *, is_clear: bool) -> list[End]:
    """The pair that is meant: of one project if there is one, else one end of what all projects share."""
    pairs = [(a, b) for a in one for b in other if a.project == b.project or not (a.project and b.project)]
    alike = [pair for pair in pairs if pair[0].project == pair[1].project] or pairs
    if not alike:
        raise _no_node(other[0].name)
    if len(alike) > 1 and not is_clear:
        raise InvalidInput(
            f"{one[0].name} and {other[0].name} are known in several projects",
            code="NODE_AMBIGUOUS",
            next="name the project: --project P",
        )
    return list(alike[0])


def project_of(ends: Sequence[End]) -> str:
    """An edge belongs where its memory does, else where its things do."""
    memory = next((end.memory for end in ends if end.memory), None)
    return (memory.project or "") if memory else ends[0].project or ends[1].project


def witness_of(tx: Tx, ends: Sequence[End]) -> int:
    """The memory at an end, the first one's before the second's; 0 between things."""
    return next((tx.memories.row_of(end.memory) for end in ends if end.memory), 0)


def make_node(tx: Tx, org: str, end: End, now: datetime) -> int:
    """Its row; a memory that is not in the graph yet gets its own node."""
    if end.row:
        return end.row
    place = (end.project, end.ref)
    memory_rows = {end.memory.id: tx.memories.row_of(end.memory)} if end.memory else {}
    draft = NodeDraft(end.ref, cut_label(end.label or end.ref.key))
    row = tx.graph.nodes(org, {place: draft}, memory_rows, now)[place]
    if end.memory:
        tx.graph.link(org, [(memory_rows[end.memory.id], row, "self")])
        tx.changes.note(org, end.project, "memory", end.memory.id, "put")
    return row


_FIRST = "a thing is known once a memory names it: remember one that does, or link the id of a memory to it"


def _no_node(name: str, offered: str = "") -> NotFound:
    shown = name.encode("utf-8", "replace").decode()[:60]
    return NotFound(
        f"nothing called '{shown}' was found",
        code="NODE_NOT_FOUND",
        next=offered or "give the id of a memory, or a thing such as service:redis",
    )

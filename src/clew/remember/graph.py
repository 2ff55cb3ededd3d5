"""Write a memory's part of the graph: its nodes, what it hangs on, what it states, and how it relates to others.

In: memories that were just stored, with what was found in their text. Out: rows, in the same transaction.
Run twice: the same rows, and nothing is reinforced a second time. A failure here never fails the memory's own
write: its part is undone, noted as pending, and made up for on the next pass.
"""

from __future__ import annotations

import sys
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

from clew.errors import Misconfigured
from clew.lazy import LazyModule
from clew.model.graph import GraphDraft, NodeDraft, NodeRef, Statement, node_id
from clew.model.memory import Memory
from clew.model.relation import ORIGINS, SIMILAR
from clew.model.scope import Reach
from clew.model.times import to_micros
from clew.ports import Tx
from clew.remember.extract import graph_draft
from clew.remember.relations import causal_cue
from clew.values import dataclass

if TYPE_CHECKING:
    import logging
else:
    logging = LazyModule("logging")  # where nothing fails, nobody needs it

# Found by this step, and replaced when the memory changes; what a person or a model stated is left alone.
OWN = frozenset(("metadata", "stated", "entity", "time", "causal", "mention", "derived", "lifecycle"))
MAX_MENTIONS = 16  # edges by which one memory names others, and by which others name it
FAILED, SWITCHED_OFF = "GRAPH_MAPPING_SYNC_FAILED", "GRAPH_WRITE_OFF"
CLEANUP_FAILED, UNSETTLED = "GRAPH_MAPPING_CLEANUP_FAILED", "GRAPH_UNSETTLED"  # what it relates to has changed
MAX_ATTEMPTS = 5  # after that only `clew reindex` tries again
REPAIRED_AT_ONCE = 64
PATIENCE = timedelta(minutes=10)  # between two attempts, from the third on: a full disk or a lock takes its time


@dataclass(frozen=True, slots=True)
class GraphPolicy:
    """What the settings say about writing the graph."""

    write: bool = True
    entity_edges: bool = True
    time_edges: bool = True
    causal_edges: bool = True
    mention_edges: bool = True
    max_entity_edges: int = 10
    session_adjacency: bool = True

    def check_write(self) -> None:
        """Refuse what only makes sense while the graph is written."""
        if not self.write:
            raise Misconfigured(
                "writing the graph is switched off", code="GRAPH_WRITE_OFF", next="set graph.write to true"
            )


def tell_failure(what: str, error: Exception) -> None:
    """By its kind: its text may quote a memory."""
    logging.getLogger(__name__).warning("the graph was not %s: %s", what, type(error).__name__)


class Entry(NamedTuple):
    row: int
    memory: Memory
    draft: GraphDraft | None = None
    may_replace: bool = True  # False for one that is plainly new


def look_again(tx: Tx, memory: Memory, now: datetime) -> None:
    """What it relates to has changed: the next pass finds what it relates to now."""
    tx.graph.put_pending(memory.org, tx.memories.row_of(memory), UNSETTLED, now)


def draft_of(memory: Memory, policy: GraphPolicy) -> GraphDraft | None:
    """What the text and the fields give; None when that failed or is switched off."""
    if not policy.write:
        return None
    try:
        return graph_draft(memory)
    except Exception as error:  # the graph is an extra: whatever its rules stumble over, the memory is kept
        tell_failure("read from a text", error)
        return None


def map_memories(tx: Tx, entries: Sequence[Entry], policy: GraphPolicy, now: datetime) -> None:
    """Add new memories of one org to the graph; never fails because of it."""
    if not policy.write:
        org = entries[0].memory.org
        tx.graph.put_all_pending(org, [entry.row for entry in entries], SWITCHED_OFF, now)
        return
    drafted = [entry for entry in entries if entry.draft is not None]
    for entry in entries:
        if entry.draft is None:
            tx.graph.put_pending(entry.memory.org, entry.row, FAILED, now, attempts=1)
    if drafted and not _attempt(tx, drafted, policy, now) and len(drafted) > 1:
        for entry in drafted:  # one bad memory must not take the others along
            if _attempt(tx, [entry], policy, now):
                tx.graph.drop_pending(entry.memory.org, entry.row)


def _attempt(tx: Tx, entries: Sequence[Entry], policy: GraphPolicy, now: datetime) -> bool:
    try:
        with tx.savepoint():
            _add(tx, entries, policy, now)
    except Exception as error:
        if not tx.is_open:
            raise  # a full disk made the engine undo everything: that is not the graph's failure
        tell_failure("written", error)
        for entry in entries:
            tx.graph.put_pending(entry.memory.org, entry.row, FAILED, now, attempts=1)
        return False
    return True


def remap(tx: Tx, row: int, memory: Memory, policy: GraphPolicy, now: datetime) -> bool:
    """Replace exactly what this memory gave to the graph. False when that failed; it is pending then."""
    draft = draft_of(memory, policy)
    if draft is None:
        with tx.savepoint():
            _clear(tx, row, memory)
        reason = FAILED if policy.write else SWITCHED_OFF
        tx.graph.put_pending(memory.org, row, reason, now, attempts=int(policy.write))
        return False
    try:
        with tx.savepoint():
            _replace(tx, Entry(row, memory, draft), policy, now)
    except Exception as error:
        if not tx.is_open:
            raise
        tell_failure("written", error)
        tx.graph.put_pending(memory.org, row, FAILED, now, attempts=1)
        return False
    tx.graph.drop_pending(memory.org, row)
    return True


def retract_found(tx: Tx, row: int, memory: Memory, now: datetime) -> None:
    """The text changed: what was found in it by likeness, rules or a model quotes what is gone. Only its job finds
    anew what still holds; what others found of it stays until theirs look again. Never fails the edit."""
    try:
        with tx.savepoint():
            _retract_found(tx, row, memory, now)
    except Exception as error:
        if not tx.is_open:
            raise
        tell_failure("written", error)
        tx.graph.put_pending(memory.org, row, FAILED, now, attempts=1)


def _retract_found(tx: Tx, row: int, memory: Memory, now: datetime) -> None:
    org, graph = memory.org, tx.graph
    own = graph.self_nodes(org, [row]).get(row)
    if own is None:
        return
    found = [edge for edge in graph.witnessed_by(org, row) if edge.origin in ORIGINS and edge.origin != SIMILAR]
    graph.retract(org, row, [edge.edge_row for edge in found])
    touched = {(edge.project, node) for edge in found for node in (edge.source, edge.target)}
    alike = tx.edges.similar_at(org, [own], now)
    alike += [edge for edge in tx.edges.similar_at(org, [edge[1] for edge in alike], now) if edge[1] == own]
    tx.edges.unlike(org, [edge[3] for edge in alike])
    touched |= {(edge[5], node) for edge in alike for node in edge[:2]}
    for project in {project for project, _node in touched}:
        prune(tx, org, project, {node for place, node in touched if place == project})


def remap_id(tx: Tx, org: str, id: str | None, policy: GraphPolicy, now: datetime) -> None:
    """The same by id, if there is such a memory."""
    memory = tx.memories.get(Reach.everything(org), id) if id else None
    if memory:
        remap(tx, tx.memories.row_of(memory), memory, policy, now)


def _clear(tx: Tx, row: int, memory: Memory) -> None:
    """Take back what this memory gave; its node and what others say of it stay, and so does what people linked."""
    org, graph = memory.org, tx.graph
    own = [edge for edge in graph.witnessed_by(org, row) if edge.origin in OWN]
    touched = {node for edge in own for node in (edge.source, edge.target)}
    touched |= {node for node, _role in graph.links_of(org, row)}
    graph.retract(org, row, [edge.edge_row for edge in own])
    graph.unlink(org, row, keep_self=True)
    graph.drop_names(org, row)
    prune(tx, memory.org, memory.project, touched)


def unmap_quietly(tx: Tx, row: int, memory: Memory, now: datetime) -> None:
    """A forgotten memory leaves the graph; if that fails, the next pass does it. Erasing may not fail so."""
    try:
        with tx.savepoint():
            unmap(tx, row, memory.org, memory.project, now)
    except Exception as error:
        if not tx.is_open:
            raise
        tell_failure("written", error)
        tx.graph.put_pending(memory.org, row, CLEANUP_FAILED, now, attempts=1)


def unmap(tx: Tx, row: int, org: str, project: str | None, now: datetime, *, erase: bool = False) -> None:
    """Leave no edge, link or node of this memory; nodes that others share stay. Who followed it in a thread looks
    for another predecessor. `erase`: shared nodes and edges also lose the spelling it may have given them."""
    graph = tx.graph
    links = graph.links_of(org, row)
    touched = {node for node, _role in links}
    witnessed = graph.witnessed_by(org, row)
    touched |= {node for edge in witnessed for node in (edge.source, edge.target)}
    graph.retract(org, row, [edge.edge_row for edge in witnessed])
    for node in [node for node, role in links if role == "self"]:
        for follower in graph.followers(org, node):
            if follower != row:
                tx.graph.put_pending(org, follower, UNSETTLED, now)
        touched |= graph.drop_node(org, node)
    graph.unlink(org, row)
    graph.drop_names(org, row)
    graph.drop_pending(org, row)
    prune(tx, org, project, touched)
    if erase:
        for spelling in graph.respell(org, touched, [edge.edge_row for edge in witnessed]):
            tx.graph.put_pending(org, spelling, UNSETTLED, now)


def repair(tx: Tx, org: str, policy: GraphPolicy, now: datetime, *, limit: int = REPAIRED_AT_ONCE) -> int:
    """Make up for what is pending in an org; returns how many were mended. Nothing to do while writing is off."""
    if not policy.write:
        return 0
    mended = 0
    for row in tx.graph.pending(org, max_attempts=MAX_ATTEMPTS, patient=now - PATIENCE, limit=limit):
        memory = tx.graph.memory_at(org, row)
        if memory is None:
            unmap(tx, row, org, None, now)
        else:
            mended += remap(tx, row, memory, policy, now)
            tx.changes.note(org, memory.project, "memory", memory.id, "put")
    return mended


def is_mapped(tx: Tx, row: int, memory: Memory, policy: GraphPolicy) -> bool:
    """Whether the graph holds what this memory gives to it now. Reads only."""
    draft = draft_of(memory, policy)
    if draft is None:
        return False
    entry, org, place = Entry(row, memory, draft), memory.org, memory.project or ""
    ids = {(place, node.ref): node_id(org, place, node.ref) for node in draft.nodes}
    known = tx.graph.node_rows(org, ids.values())
    if not known.keys() >= set(ids.values()):
        return False
    rows = {at: known[id] for at, id in ids.items()}
    links = {(rows[place, ref], role) for ref, role in draft.links}
    names = {(_hash(place, name), False) for name in draft.names}
    names |= {(_hash(place, name), True) for name in draft.subjects}
    if links != set(tx.graph.links_of(org, row)) or names != tx.edges.names_of(org, row):
        return False
    return _states_exactly(tx, entry, _statements(tx, [entry], rows, policy))


def _states_exactly(tx: Tx, entry: Entry, said: Sequence[Statement]) -> bool:
    """Which of many mentions are kept depends on who came first, and they are found from both sides: there may be
    others than now, if there are as many as there may be, and more."""
    held = tx.graph.witnessed_by(entry.memory.org, entry.row)
    by_others = {edge.key for edge in held if edge.origin not in OWN}  # what a person said stays as they said it
    own = {(edge.key, edge.sentence) for edge in held if edge.origin in OWN}
    wanted = {
        (statement.key, statement.sentence)
        for statement in said
        if statement.memory_row == entry.row and statement.key not in by_others
    }
    missing, others = wanted - own, own - wanted
    is_full = sum(key[2] == "mention" for key, _sentence in own) >= MAX_MENTIONS
    is_open = all(key[2] == "mention" for key, _sentence in others)
    return is_open and (not missing or (is_full and all(key[2] == "mention" for key, _sentence in missing)))


def _add(tx: Tx, entries: Sequence[Entry], policy: GraphPolicy, now: datetime) -> None:
    org, first = entries[0].memory.org, entries[0].memory
    rows = _put_nodes(tx, entries, now, fresh=True)
    new_from = rows[_place(first, _self_ref(first))]  # the first node that was made is that of the first memory
    next_in_thread: dict[int, int] = {}
    said = _statements(tx, entries, rows, policy, _Fresh(entries, rows, new_from), next_in_thread)
    new = frozenset(entry.row for entry in entries)
    tx.graph.state(org, said, now, new_from=new_from, new_memories=new)
    for follower in set(next_in_thread.values()) - new:  # these came late, and it stood there before them
        tx.graph.put_pending(org, follower, UNSETTLED, now)


def _replace(tx: Tx, entry: Entry, policy: GraphPolicy, now: datetime) -> None:
    org, graph, row = entry.memory.org, tx.graph, entry.row
    links = graph.links_of(org, row)
    before = {edge.key: edge for edge in graph.witnessed_by(org, row) if edge.origin in OWN}
    graph.unlink(org, row, keep_self=True)
    graph.drop_names(org, row)
    rows = _put_nodes(tx, [entry], now)
    next_in_thread: dict[int, int] = {}
    said = _statements(tx, [entry], rows, policy, next_in_thread=next_in_thread)
    mine = {statement.key: statement for statement in said if statement.memory_row == row}
    gone = [edge for key, edge in before.items() if key not in mine]
    graph.retract(org, row, [edge.edge_row for edge in gone])
    touched = {node for edge in gone for node in (edge.source, edge.target)} | {node for node, _role in links}
    touched |= _retract_mentions(tx, entry, {statement.memory_row for statement in said}, rows)
    touched |= _retract_leaning(tx, entry, rows, set(next_in_thread.values()), now)
    new = [statement for statement in said if statement.key not in before]
    graph.state(org, new, now)
    touched |= {node for statement in new for node in (statement.source, statement.target)}
    for key, edge in before.items():
        if key in mine and mine[key].sentence != edge.sentence:
            graph.reword(org, edge.edge_row, row, mine[key].sentence)
    graph.renew_expiry(org, row, _expiry(entry.memory))
    tx.edges.renew_relations(org, rows[_place(entry.memory, _self_ref(entry.memory))])
    prune(tx, entry.memory.org, entry.memory.project, touched)


def _retract_mentions(tx: Tx, entry: Entry, naming: set[int], rows: dict[tuple[str, NodeRef], int]) -> set[int]:
    """Who named this memory by a title it no longer has does so no more; returns their nodes."""
    org, own = entry.memory.org, rows[_place(entry.memory, _self_ref(entry.memory))]
    others = [(edge, by) for edge, by in tx.graph.mentions_of(org, own) if by not in naming and by != entry.row]
    naming = _naming(tx, entry, [by for _edge, by in others]) if others else naming
    stale = [(edge, by) for edge, by in others if by not in naming]
    for edge, by in stale:
        tx.graph.retract(org, by, [edge])
    return set(tx.graph.self_nodes(org, [by for _edge, by in stale]).values())


def _retract_leaning(
    tx: Tx, entry: Entry, rows: dict[tuple[str, NodeRef], int], followers: set[int], now: datetime
) -> set[int]:
    """Who hung on this memory by a thing that it no longer names, or followed it in a thread that it left, does so
    no more, and looks for others; returns their nodes. Who should follow it and does not, or the other way round,
    looks again."""
    org, own = entry.memory.org, rows[_place(entry.memory, _self_ref(entry.memory))]
    named = {("entity", f"{ref.type}:{ref.key}") for ref in _named(entry)} | {("time", entry.memory.thread or "")}
    leaning = tx.graph.leaning_on(org, own)
    stale = [(edge, by) for edge, by, *why in leaning if tuple(why) not in named]
    for edge, by in stale:
        tx.graph.retract(org, by, [edge])
        tx.graph.put_pending(org, by, UNSETTLED, now)
    for by in {by for _edge, by, type_, _label in leaning if type_ == "time"} ^ followers:
        tx.graph.put_pending(org, by, UNSETTLED, now)
    return set(tx.graph.self_nodes(org, [by for _edge, by in stale]).values())


def _naming(tx: Tx, entry: Entry, rows: Sequence[int]) -> set[int]:
    """Those of these memories that name what this one is about, also beyond what the cap looked for."""
    org, subjects = entry.memory.org, entry.draft.subjects if entry.draft else ()
    by_project: dict[str, list[int]] = {}
    for row, (project, _user, _expires_at) in tx.graph.places_of(org, rows).items():
        by_project.setdefault(project, []).append(row)
    return _union({
        at: tx.edges.naming(org, [_hash(project, name) for name in subjects], among)
        for at, (project, among) in enumerate(by_project.items())
    })  # fmt: skip


def _put_nodes(
    tx: Tx, entries: Sequence[Entry], now: datetime, *, fresh: bool = False
) -> dict[tuple[str, NodeRef], int]:
    """Nodes, links and names of these memories."""
    org = entries[0].memory.org
    wanted: dict[tuple[str, NodeRef], NodeDraft] = {}
    for _row, memory, draft, _may in entries:
        project = memory.project or ""
        for node in draft.nodes if draft else ():
            wanted.setdefault((project, node.ref), node)
    rows = tx.graph.nodes(org, wanted, {entry.memory.id: entry.row for entry in entries}, now, fresh=fresh)
    links, names = [], []
    for row, memory, draft, _may in entries:
        if draft is not None:
            project = memory.project or ""
            links += [(row, rows[project, ref], role) for ref, role in draft.links]
            names += [(_hash(project, name), False, row) for name in draft.names]
            names += [(_hash(project, name), True, row) for name in draft.subjects]
    tx.graph.link(org, links)
    tx.graph.put_names(org, names)
    return rows


# -- statements: what a memory states by itself, then how it relates to others ------------------------


class _Fresh:
    """Who names the things that were first named by these new memories, all of one place: nobody else does, so that
    nobody needs to be asked. In an import most files are such things."""

    def __init__(self, entries: Sequence[Entry], rows: dict[tuple[str, NodeRef], int], new_from: int) -> None:
        self._new_from = new_from
        self._naming: dict[int, list[int]] = {}
        for row, memory, draft, _may in entries:
            for ref, role in draft.links if draft else ():
                node = rows[memory.project or "", ref]
                if role == "mention" and node >= new_from:
                    self._naming.setdefault(node, []).append(row)

    def expect(self, tx: Tx, entry: Entry, node: int, limit: int) -> None:
        """`siblings` will be asked the same."""
        if node < self._new_from:
            tx.graph.expect_siblings(entry.memory, entry.row, node, limit)

    def siblings(self, tx: Tx, entry: Entry, node: int, limit: int) -> list[int]:
        """The newest earlier memories that name the thing with this node."""
        if node < self._new_from:
            return tx.graph.siblings(entry.memory, entry.row, node, limit)
        naming = self._naming[node]  # in the order of their rows
        at = bisect_left(naming, entry.row)
        return naming[max(0, at - limit) : at][::-1]


def _statements(
    tx: Tx,
    entries: Sequence[Entry],
    rows: dict[tuple[str, NodeRef], int],
    policy: GraphPolicy,
    fresh: _Fresh | None = None,
    next_in_thread: dict[int, int] | None = None,
) -> list[Statement]:
    """`next_in_thread` is filled: by memory, the one that should follow it."""
    said: dict[tuple[object, ...], Statement] = {}
    fresh, after = fresh or _Fresh((), rows, sys.maxsize), {} if next_in_thread is None else next_in_thread
    for statement in _all_statements(tx, entries, rows, policy, fresh, after):
        if statement.source != statement.target:
            said.setdefault((*statement.key, statement.memory_row), statement)
    return list(said.values())


def _all_statements(
    tx: Tx,
    entries: Sequence[Entry],
    rows: dict[tuple[str, NodeRef], int],
    policy: GraphPolicy,
    fresh: _Fresh,
    next_in_thread: dict[int, int],
) -> Iterable[Statement]:
    related = _siblings(tx, entries, rows, policy.max_entity_edges, fresh) if policy.entity_edges else {}
    named = {sibling for labels in related.values() for sibling in labels}
    nodes = tx.graph.self_nodes(entries[0].memory.org, named) if named else {}
    for entry in entries:
        yield from _stated(entry, rows)
        memory, siblings = entry.memory, related.get(entry.row)
        if not (siblings or memory.thread or memory.session or memory.parents):
            continue
        own = rows[_place(memory, _self_ref(memory))]
        if memory.thread or memory.session:
            yield from _in_time(tx, entry, own, policy, next_in_thread)
        if siblings:
            yield from _entities(entry, own, siblings, nodes)
        if memory.parents:
            yield from _derived(tx, entry, own)
    yield from _replacements(tx, entries, rows)
    if policy.mention_edges:
        yield from _mentions(tx, entries)


def _stated(entry: Entry, rows: dict[tuple[str, NodeRef], int]) -> Iterable[Statement]:
    row, memory, draft, _may = entry
    project, expires_at = memory.project or "", _expiry(memory)
    return [
        Statement(
            project, rows[project, source], rows[project, target], type_, row, "stated" if sentence else "metadata",
            confidence, label=label, sentence=sentence, expires_at=expires_at,
        )
        for source, target, type_, confidence, label, sentence in (draft.edges if draft else ())
    ]  # fmt: skip


def _in_time(
    tx: Tx, entry: Entry, own: int, policy: GraphPolicy, next_in_thread: dict[int, int]
) -> Iterable[Statement]:
    """Engram's time and causal edges: from the memory before it in its thread; for causes also in its session."""
    memory, before, after = entry.memory, None, None
    cue = causal_cue(memory.content) if policy.causal_edges else None
    if memory.thread and (policy.time_edges or cue):
        before, after = tx.graph.in_thread(memory, entry.row)
    if after is not None and policy.time_edges:
        next_in_thread[entry.row] = after
    from_thread = before
    if before is None and cue and memory.session and policy.session_adjacency:
        before = tx.graph.in_session(memory, entry.row)
    source = tx.graph.self_nodes(memory.org, [before]).get(before) if before is not None else None
    if source is None:
        return
    if policy.time_edges and from_thread is not None:
        yield _statement(entry, source, own, "time", "time", label=memory.thread or "")
    if cue:
        yield _statement(entry, source, own, "causal", "causal", label=cue)


def _siblings(
    tx: Tx, entries: Sequence[Entry], rows: dict[tuple[str, NodeRef], int], limit: int, fresh: _Fresh
) -> dict[int, dict[int, str]]:
    """By memory: the newest memories that name the same thing, and what that is; what few name comes first."""
    asked = [
        (entry, ref, rows[entry.memory.project or "", ref])
        for entry in entries
        for ref in (_named(entry) if limit else ())
    ]
    for entry, _ref, node in asked:
        fresh.expect(tx, entry, node, limit)
    found: dict[int, list[tuple[NodeRef, Sequence[int]]]] = {}
    for entry, ref, node in asked:
        found.setdefault(entry.row, []).append((ref, fresh.siblings(tx, entry, node, limit)))
    return {row: _labels(siblings, limit) for row, siblings in found.items()}


def _named(entry: Entry) -> list[NodeRef]:
    draft = entry.draft
    if draft is None or draft.links[-1][1] != "mention":  # these come last
        return []
    return [ref for ref, role in draft.links if role == "mention"]


def _labels(found: Sequence[tuple[NodeRef, Sequence[int]]], limit: int) -> dict[int, str]:
    labels: dict[int, str] = {}
    for ref, siblings in sorted(found, key=lambda pair: len(pair[1])):
        for sibling in siblings:
            if len(labels) < limit:
                labels.setdefault(sibling, f"{ref.type}:{ref.key}")
    return labels


def _entities(entry: Entry, own: int, labels: Mapping[int, str], nodes: Mapping[int, int]) -> Iterable[Statement]:
    for sibling, label in labels.items():
        if sibling in nodes:
            yield _statement(entry, own, nodes[sibling], "entity", "entity", label=label)


def _derived(tx: Tx, entry: Entry, own: int) -> Iterable[Statement]:
    for parent in tx.graph.nodes_of_memories(entry.memory.org, entry.memory.parents):
        yield _statement(entry, own, parent, "derived_from", "derived")


def _replacements(tx: Tx, entries: Sequence[Entry], rows: dict[tuple[str, NodeRef], int]) -> Iterable[Statement]:
    """What a memory was told to replace."""
    by_id = {entry.memory.id: entry for entry in entries if entry.may_replace}
    if not by_id:
        return
    for id, node in tx.graph.replaced_by(entries[0].memory.org, list(by_id)):
        memory = by_id[id].memory
        yield _statement(by_id[id], rows[_place(memory, _self_ref(memory))], node, "supersedes", "lifecycle")


def _mentions(tx: Tx, entries: Sequence[Entry]) -> Iterable[Statement]:
    """A memory names what another is about: its title, file, symbol or ticket. Whichever came first."""
    org = entries[0].memory.org
    named = {entry.row: _hashes(entry, subject=False) for entry in entries if entry.draft and entry.draft.names}
    about = {entry.row: _hashes(entry, subject=True) for entry in entries if entry.draft and entry.draft.subjects}
    user = entries[0].memory.user or ""  # of all of them: a batch is one place
    subjects = tx.graph.holders(org, _union(named), user, subject=True, limit=MAX_MENTIONS)
    namers = tx.graph.holders(org, _union(about), user, subject=False, limit=MAX_MENTIONS)
    pairs = _pairs(named, subjects) | {(by, of) for of, by in _pairs(about, namers)}
    if not pairs:
        return
    places = tx.graph.places_of(org, {row for pair in pairs for row in pair})
    nodes = tx.graph.self_nodes(org, places)
    for by, of in sorted(pairs):
        if by in nodes and of in nodes:
            yield Statement(
                project=places[by][0], source=nodes[by], target=nodes[of], type="mention", memory_row=by,
                origin="mention", expires_at=places[by][2],
            )  # fmt: skip


def _pairs(wanted: dict[int, set[int]], holders: dict[int, list[int]]) -> set[tuple[int, int]]:
    """(row, holder) for each memory, at most so many of them."""
    found = set()
    for row, names in wanted.items():
        held = dict.fromkeys(holder for name in names for holder in holders.get(name, ()) if holder != row)
        found |= {(row, holder) for holder in list(held)[:MAX_MENTIONS]}
    return found


def _hashes(entry: Entry, *, subject: bool) -> set[int]:
    """A project's memories also know the subjects of what all projects share."""
    draft, project = entry.draft, entry.memory.project or ""
    if draft is None:
        return set()
    if subject:
        return {_hash(project, name) for name in draft.subjects}
    return {_hash(place, name) for name in draft.names for place in {project, ""}}


@lru_cache(maxsize=4096)  # a name is written and looked for, and comes again
def _hash(project: str, name: str) -> int:
    """63 bits: a name that two projects use is two names."""
    digest = blake2b(f"{project}\x00{name}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1


def _union(sets: dict[int, set[int]]) -> set[int]:
    return set().union(*sets.values())


def _statement(entry: Entry, source: int, target: int, type_: str, origin: str, **more: object) -> Statement:
    return Statement(
        project=entry.memory.project or "", source=source, target=target, type=type_, memory_row=entry.row,
        origin=origin, expires_at=_expiry(entry.memory), **more,  # type: ignore[arg-type]
    )  # fmt: skip


def _expiry(memory: Memory) -> int | None:
    return to_micros(memory.expires_at) if memory.expires_at else None


def _self_ref(memory: Memory) -> NodeRef:
    return NodeRef("memory", memory.id)


def _place(memory: Memory, ref: NodeRef) -> tuple[str, NodeRef]:
    return memory.project or "", ref


def prune(tx: Tx, org: str, project: str | None, touched: set[int]) -> None:
    """Drop what nothing holds any more, also what a person linked between things that no memory names; read models
    that know the nodes look at them again."""
    touched = touched | tx.edges.drop_stranded(org, touched)
    tx.graph.prune(org, touched)
    for node in touched:
        tx.changes.note(org, project, "node", str(node), "put")

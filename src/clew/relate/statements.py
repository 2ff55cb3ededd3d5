"""Write what was found between a memory and others: by likeness, by rules, by a language model.

In: a memory and all that was found of it now. Out: edges with their witnesses, in the transaction of the caller, or
nothing at all. What this memory said before and does not say now is taken back; what other memories said stays
(W8). Only likeness belongs to the pair: it is replaced whoever found it. Run twice, the second run changes nothing.
What is found between two memories ends when the first of them does.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import NamedTuple

from clew.errors import Unavailable
from clew.model.graph import NodeDraft, NodeRef, Statement
from clew.model.memory import Memory
from clew.model.relation import LLM, ORIGINS, SIMILAR, SYMMETRIC, Finding
from clew.model.scope import Reach
from clew.model.times import to_micros
from clew.ports import Tx
from clew.relate import conflicts
from clew.relate.nearest import is_current
from clew.relate.similar import Held, privacy, settle
from clew.remember.extract import cut_label
from clew.remember.graph import prune

MAX_SIMILAR = 5  # memories_sh.md 4
CONFLICTING = frozenset(("contradicts", "supersedes"))
Touched = set[tuple[str, int]]  # (project, node)


class End(NamedTuple):
    """A memory or a condition, as the graph has it."""

    node: int
    row: int = 0
    memory: Memory | None = None

    @property
    def place(self) -> tuple[str, str]:
        return (self.memory.project or "", self.memory.user or "") if self.memory else ("", "")


class Alike(NamedTuple):
    """An edge `similar_to` as the store has it."""

    node: int
    other_node: int
    other: int  # the memory's row
    edge: int
    weight: float
    project: str
    place: tuple[str, str]
    other_place: tuple[str, str]
    is_over: bool

    @property
    def held(self) -> Held:
        return Held(self.other, self.weight, privacy(self.other_place, self.place), self.is_over)


def replace_relations(
    tx: Tx,
    memory: Memory,
    row: int,
    findings: Sequence[Finding],
    *,
    now: datetime,
    looked_at: Collection[str] = ORIGINS,
    max_similar: int = MAX_SIMILAR,
) -> None:
    """`looked_at`: the origins that were asked; what the others found before is left alone."""
    with tx.savepoint():
        own = _own_end(tx, memory, row)
        ends = _ends(tx, memory, findings, now)
        touched: Touched = set()
        if SIMILAR in looked_at:
            near = [
                (ends[one.target], one.weight) for one in findings if one.origin == SIMILAR and one.target in ends
            ]
            touched |= _replace_similar(tx, own, near, max_similar, now)
        stated = [one for one in findings if one.origin != SIMILAR and one.target in ends]
        touched |= _replace_stated(tx, own, stated, ends, frozenset(looked_at) - {SIMILAR}, now)
        _note_conflicts(tx, own, stated, ends, now)
        _look_again(tx, memory.org, touched)


# -- ends ------------------------------------------------------------------------------------------


def _own_end(tx: Tx, memory: Memory, row: int) -> End:
    node = tx.graph.self_nodes(memory.org, [row]).get(row)
    if node is None:
        raise Unavailable(
            f"memory {memory.id} is not in the graph yet", code="GRAPH_NODE_MISSING", next="run clew reindex"
        )
    return End(node, row, memory)


def _ends(tx: Tx, memory: Memory, findings: Iterable[Finding], now: datetime) -> dict[str, End]:
    """By target. Who is gone or no longer holds, or was never in the graph, is left out."""
    conditions = {one.target for one in findings if one.type == "conditional_on"}
    ids = sorted({one.target for one in findings} - conditions - {memory.id})
    found = tx.memories.get_many(Reach.of(memory.scope), ids) if ids else {}
    rows = {id: tx.memories.row_of(other) for id, other in found.items() if is_current(other, now)}
    nodes = tx.graph.self_nodes(memory.org, rows.values()) if rows else {}
    ends = {id: End(nodes[row], row, found[id]) for id, row in rows.items() if row in nodes}
    return ends | _conditions(tx, memory, conditions, now)


def _conditions(tx: Tx, memory: Memory, keys: Iterable[str], now: datetime) -> dict[str, End]:
    """Shared by the whole org, made once."""
    drafts = {key: NodeDraft(ref, condition_label(ref.key)) for key in keys if (ref := condition_ref(key)).key}
    place = memory.project or ""
    wanted = {(place, draft.ref): draft for draft in drafts.values()}
    rows = tx.graph.nodes(memory.org, wanted, {}, now) if wanted else {}
    return {key: End(rows[place, draft.ref]) for key, draft in drafts.items()}


def condition_ref(key: str) -> NodeRef:
    """`Time: Early Morning` and `time:_early_morning` are one."""
    return NodeRef("condition", "_".join(key.lower().split()))


def condition_label(key: str) -> str:
    """What stands after the kind of condition, whole: `time:08:00` is 08:00 (W22)."""
    kind, _colon, value = key.partition(":")
    return cut_label((value or kind).strip("_").replace("_", " ") or key)


# -- likeness --------------------------------------------------------------------------------------


def _replace_similar(tx: Tx, own: End, near: Sequence[tuple[End, float]], limit: int, now: datetime) -> Touched:
    org = _of(own).org
    before = _alike(tx, org, [own.node], now)
    around = _alike(tx, org, [*(end.node for end, _ in near), *(edge.other_node for edge in before)], now)
    held: dict[int, list[Held]] = {end.row: [] for end, _weight in near}
    rows = {end.node: end.row for end, _weight in near}
    for edge in around:
        if edge.node in rows:
            held[rows[edge.node]].append(edge.held)
    candidates = [Held(end.row, weight, privacy(own.place, end.place)) for end, weight in near]
    settled = settle(own.row, candidates, held, limit=limit)
    kept = {end.node: (end, weight) for end, weight in near if end.row in settled.kept}
    gone = [edge for edge in before if edge.other_node not in kept]
    gone += [edge for edge in around if edge.other_node == own.node and edge.node not in kept]
    gone += _between(
        tx, org, [edge for edge in around if (rows.get(edge.node), edge.other) in settled.dropped], now
    )
    tx.edges.unlike(org, {edge.edge for edge in gone})
    there = {(edge.node, edge.other_node): edge for edge in (*before, *around)}
    touched = _connect(tx, own, kept.values(), there, now)
    return touched | {(edge.project, node) for edge in gone for node in (edge.node, edge.other_node)}


def _alike(tx: Tx, org: str, nodes: Iterable[int], now: datetime) -> list[Alike]:
    found = []
    for node, other_node, other, edge, weight, project, *places, is_over in tx.edges.similar_at(org, nodes, now):
        here, there = (places[0], places[1]), (places[2], places[3])
        found.append(Alike(node, other_node, other, edge, weight, project, here, there, bool(is_over)))
    return found


def _between(tx: Tx, org: str, edges: Sequence[Alike], now: datetime) -> list[Alike]:
    """These and the ways back."""
    pairs = {(edge.other_node, edge.node) for edge in edges}
    back = _alike(tx, org, [node for node, _other in pairs], now) if pairs else []
    return [*edges, *(edge for edge in back if (edge.node, edge.other_node) in pairs)]


def _connect(
    tx: Tx, own: End, kept: Iterable[tuple[End, float]], there: dict[tuple[int, int], Alike], now: datetime
) -> Touched:
    touched: Touched = set()
    new: list[Statement] = []
    for end, weight in kept:
        for source, target in ((own.node, end.node), (end.node, own.node)):
            edge = there.get((source, target))
            if edge is None:
                new.append(_statement(own, end, source, target, Finding("similar_to", "", 1.0, SIMILAR, weight)))
            elif edge.weight != weight:
                tx.edges.reweigh(_of(own).org, edge.edge, weight)
                touched |= {(edge.project, source), (edge.project, target)}
    tx.graph.state(_of(own).org, new, now)
    return touched | {(one.project, node) for one in new for node in (one.source, one.target)}


# -- what rules and models say ---------------------------------------------------------------------


def _replace_stated(
    tx: Tx, own: End, findings: Sequence[Finding], ends: dict[str, End], looked_at: Collection[str], now: datetime
) -> Touched:
    org = _of(own).org
    held = tx.graph.witnessed_by(org, own.row)
    before = {edge.key: edge for edge in held if edge.origin in looked_at}
    by_others = {edge.key for edge in held if edge.origin not in looked_at}  # what a person said stays as it is
    mine = {said.key: said for said in _statements(own, findings, ends) if said.key not in by_others}
    gone = [edge for key, edge in before.items() if key not in mine]
    tx.graph.retract(org, own.row, [edge.edge_row for edge in gone])
    tx.graph.state(org, [said for key, said in mine.items() if key not in before], now)
    moved = {key for key in mine if key not in before}
    for key in mine.keys() & before.keys():
        said, row = mine[key], before[key].edge_row
        if tx.edges.resay(
            org, row, own.row, sentence=said.sentence, explanation=said.explanation, sure=said.confidence
        ):
            moved.add(key)
    moved |= {edge.key for edge in gone}
    return {(project, node) for source, target, _type, project in moved for node in (source, target)}


def _statements(own: End, findings: Iterable[Finding], ends: dict[str, End]) -> list[Statement]:
    """The surest last, so that it is the one that counts where two say the same."""
    said = []
    for one in sorted(findings, key=lambda one: one.confidence):
        end = ends[one.target]
        pairs = [(end.node, own.node) if one.reversed else (own.node, end.node)]
        if one.type in SYMMETRIC:
            pairs = [(own.node, end.node), (end.node, own.node)]
        said += [_statement(own, end, source, target, one) for source, target in pairs if source != target]
    return said


def _statement(own: End, end: End, source: int, target: int, finding: Finding) -> Statement:
    memory = _of(own)
    return Statement(
        project=memory.project or "", source=source, target=target, type=finding.type, memory_row=own.row,
        origin=finding.origin, confidence=finding.confidence, weight=finding.weight, sentence=finding.sentence,
        explanation=finding.explanation, expires_at=_first_end(memory, end.memory),
    )  # fmt: skip


def _first_end(*memories: Memory | None) -> int | None:
    return min((to_micros(one.expires_at) for one in memories if one and one.expires_at), default=None)


def _note_conflicts(tx: Tx, own: End, findings: Iterable[Finding], ends: dict[str, End], now: datetime) -> None:
    """A contradiction is found from both sides; it is noted with the words of whoever spoke last."""
    memory = _of(own)
    for one in findings:
        end = ends[one.target]
        if one.type not in CONFLICTING or end.memory is None:
            continue
        is_newer = not one.reversed if one.type == "supersedes" else _spoke(memory) >= _spoke(end.memory)
        if is_newer or one.type == "supersedes" or one.origin == LLM:
            mine, theirs = (own.row, memory), (end.row, end.memory)
            older, newer = (theirs, mine) if is_newer else (mine, theirs)
            conflicts.note(tx, org=memory.org, older=older, newer=newer, finding=one, now=now)


def _spoke(memory: Memory) -> tuple[datetime, datetime, str]:
    return memory.updated_at, memory.at, memory.id


def _look_again(tx: Tx, org: str, touched: Touched) -> None:
    """Nodes that nothing holds any more go; read models look at the others again."""
    for project in {project for project, _node in touched}:
        prune(tx, org, project, {node for place, node in touched if place == project})


def _of(end: End) -> Memory:
    assert end.memory is not None
    return end.memory

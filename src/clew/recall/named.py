"""Which nodes a person means by what they type: a thing's name, `type:key`, or a memory's id.

Only nodes that the reach may see are found, and only those are offered when nothing is: whoever guesses the name of
something that others keep private learns nothing from the answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from clew.errors import InvalidInput, NotFound
from clew.model.graph import NODE_TYPES, NodeRef, node_id, parse_ref
from clew.model.scope import Reach, is_encodable
from clew.remember.edit import must_get
from clew.remember.near import did_you_mean
from clew.remember.things import thing_named
from clew.remember.word import fold_name
from clew.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import datetime

    from clew.model.explored import SeenNode, Witness
    from clew.model.memory import Memory
    from clew.ports import Tx
    from clew.remember.lifecycle import May

MAX_WITNESSES = 3  # shown of one edge
MAX_NAME = 300


@dataclass(frozen=True, slots=True)
class View:
    """The graph as one reach sees it, in one transaction, at one moment."""

    tx: Tx
    reach: Reach
    now: datetime
    max_witnesses: int = MAX_WITNESSES

    def nodes(self, rows: Iterable[int]) -> dict[int, SeenNode]:
        return self.tx.explore.shown(self.reach, rows, now=self.now)

    def witnesses(self, edge_row: int) -> tuple[Witness, ...]:
        return self.tx.explore.witnesses_seen(self.reach, edge_row, now=self.now, limit=self.max_witnesses)


def nodes_named(view: View, text: str) -> dict[int, SeenNode]:
    """By row; several when several projects have a thing of that name. NotFound when there is none."""
    text = _checked(text)
    if (memory := _memory_node(view, text)) is not None:
        return memory
    for refs in _readings(text):
        if found := nodes_of(view, refs):
            return found
    raise _not_found(view, text)


def nodes_of(view: View, refs: Iterable[NodeRef]) -> dict[int, SeenNode]:
    """The nodes of these refs in every project of the reach, as far as they may be seen."""
    projects = dict.fromkeys(("", *view.tx.explore.projects_seen(view.reach)))
    ids = {node_id(view.reach.org, project, ref): None for ref in refs for project in projects}
    rows = view.tx.graph.node_rows(view.reach.org, ids)
    found = view.nodes(rows.values())
    return {row: found[row] for id in ids if (row := rows.get(id)) in found}


def _checked(text: str) -> str:
    text = text.strip()
    if not text or len(text) > MAX_NAME or not is_encodable(text):
        raise InvalidInput(
            f"a node is named by 1 to {MAX_NAME} characters",
            code="GRAPH_NODE_INVALID",
            next="name a thing (AuthService), a type and a key (topic:dashboard), or a memory's id",
        )
    return text


def _memory_node(view: View, text: str) -> dict[int, SeenNode] | None:
    """The node of a memory by its id; None when the text is no id."""
    id = text.removeprefix("memory:")
    if not (text != id or id.startswith("mem_") or view.tx.memories.get(view.reach, id)):
        return None
    try:
        id = must_get(view.tx, view.reach, id, now=view.now, may=_may_in(view)).id
    except NotFound:
        raise _unknown(text, "check the id and the project: clew list") from None
    found = view.nodes(view.tx.graph.own_nodes(view.reach.org, [id]).values())
    if not found:
        raise _unknown(text, "it no longer holds, or is not in the graph yet: clew graph status")
    return found


def _may_in(view: View) -> May | None:
    """What a narrowed reach shows: memories of its labels, without those that it hides."""
    labels, trusts, hidden = view.reach.labels, view.reach.trusts, view.reach.hidden
    if labels is None and trusts is None and hidden is None:
        return None

    def may(_action: str, memories: Sequence[Memory]) -> list[bool]:
        shown = [
            (labels is None or memory.classification in labels) and (trusts is None or memory.trust in trusts)
            for memory in memories
        ]
        rows = [view.tx.memories.row_of(memory) for memory in memories] if hidden else [0] * len(memories)
        return [is_shown and row not in (hidden or ()) for is_shown, row in zip(shown, rows, strict=True)]

    return may


def _readings(text: str) -> Iterator[list[NodeRef]]:
    """What the text may mean, the likeliest first."""
    if ref := parse_ref(text):
        yield _spellings(ref.type, ref.key)
    if ref := thing_named(text):
        yield [ref]
    yield [ref for type_ in NODE_TYPES if type_ != "memory" for ref in _spellings(type_, text)]


def _spellings(type_: str, key: str) -> list[NodeRef]:
    return [NodeRef(type_, spelled) for spelled in dict.fromkeys((key, key.lower(), fold_name(key))) if spelled]


def _not_found(view: View, text: str) -> NotFound:
    offered = did_you_mean(view.tx, view.reach, text, now=view.now)
    return _unknown(text, offered or "see what there is: clew graph explore")


def _unknown(text: str, next_move: str) -> NotFound:
    return NotFound(f"nothing in the graph is called '{text[:60]}'", code="GRAPH_NODE_NOT_FOUND", next=next_move)

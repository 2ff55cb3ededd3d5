"""What hangs on a memory beside what it gives to the graph itself: links of people, and memories that lean on it.

A soft forget takes all of it out of the graph, and the state that the history keeps says what it was, by names:
rows come and go. Who brings the memory back brings this back, too; what was forgotten for good stays away. Of two
memories that are both forgotten, whichever comes back last brings back what was between them.
"""

from __future__ import annotations

from datetime import datetime

from clew.model.graph import Link, NodeDraft, NodeRef, Statement, Ties
from clew.model.memory import Memory
from clew.model.scope import Reach
from clew.ports import Tx
from clew.remember.graph import look_again, tell_failure

NONE = Ties()


def ties_of(tx: Tx, memory: Memory, row: int) -> Ties:
    """None where the graph cannot be read: a memory is forgotten all the same."""
    try:
        with tx.savepoint():
            return _ties_of(tx, memory, row)
    except Exception as error:
        if not tx.is_open:
            raise
        tell_failure("read", error)
        return NONE


def _ties_of(tx: Tx, memory: Memory, row: int) -> Ties:
    own = tx.graph.self_nodes(memory.org, [row]).get(row)
    return Ties(tx.graph.links_at(memory.org, own), tx.graph.leaning_at(memory.org, own)) if own else NONE


def retie(tx: Tx, forgotten: Memory, now: datetime) -> None:
    """The memory with this forgotten state is back. The graph is an extra: if this fails, the memory is back."""
    try:
        with tx.savepoint():
            _retie(tx, forgotten, tx.memories.ties_kept(forgotten), now)
    except Exception as error:
        if not tx.is_open:
            raise
        tell_failure("tied again", error)


def _retie(tx: Tx, memory: Memory, ties: Ties, now: datetime) -> None:
    for link in ties.links:
        _relink(tx, memory, link, now)
    live = tx.memories.get_many(Reach.everything(memory.org), ties.leaning) if ties.leaning else {}
    for one in live.values():
        look_again(tx, one, now)
    for parent in (_known(tx, memory.org, id) for id in memory.parents):
        if parent and parent.deleted_at:
            tx.memories.keep_ties(parent, Ties(leaning=(memory.id,)))


def _relink(tx: Tx, memory: Memory, link: Link, now: datetime) -> None:
    org = memory.org
    other = _known(tx, org, link.key) if link.node_type == "memory" else None
    if link.node_type == "memory" and (other is None or other.deleted_at):
        if other:
            seen_from_there = link._replace(
                leads_away=not link.leads_away, key=memory.id, node_project=memory.project or ""
            )
            tx.memories.keep_ties(other, Ties(links=(seen_from_there,)))
        return
    place = (link.node_project, NodeRef(link.node_type, link.key))
    there = _own_node(tx, other, now) if other else tx.graph.nodes(org, {place: _draft(place[1])}, {}, now)[place]
    here = _own_node(tx, memory, now)
    source, target = (here, there) if link.leads_away else (there, here)
    said = Statement(
        link.project, source, target, link.type, tx.memories.row_of(memory), "user", weight=link.weight
    )
    tx.graph.state_by_user(org, said, now)
    for node in (source, target):
        tx.changes.note(org, link.project, "node", str(node), "put")


def _known(tx: Tx, org: str, id: str) -> Memory | None:
    return tx.memories.get(Reach.everything(org), id, deleted=True)


def _own_node(tx: Tx, memory: Memory, now: datetime) -> int:
    """Made if it is not there: a person may link what was written while the graph was off."""
    row, ref = tx.memories.row_of(memory), NodeRef("memory", memory.id)
    place = (memory.project or "", ref)
    node = tx.graph.nodes(memory.org, {place: _draft(ref)}, {memory.id: row}, now)[place]
    tx.graph.link(memory.org, [(row, node, "self")])
    return node


def _draft(ref: NodeRef) -> NodeDraft:
    """Labelled by its key: whoever names it next spells it."""
    return NodeDraft(ref, ref.key)

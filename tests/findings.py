"""What the background finds between two memories, said at once."""

from __future__ import annotations

from clew.clew import Clew
from clew.model.relation import Finding
from clew.ports import Tx
from clew.relate.statements import replace_relations


def found(
    clew: Clew,
    newer: str,
    older: str,
    type_: str = "contradicts",
    *,
    confidence: float = 0.6,
    origin: str = "rule",
    sentence: str = "",
    explanation: str = "",
    rule: str = "other_value",
) -> None:
    """`newer` is the memory whose job it was; its other findings are gone after that."""
    said = Finding(type_, older, confidence, origin, sentence=sentence, explanation=explanation, rule=rule)
    relate(clew, newer, said)


def relate(clew: Clew, id: str, *findings: Finding) -> None:
    """All that the job of a memory finds."""
    memory = clew.show(id)

    def save(tx: Tx) -> None:
        replace_relations(tx, memory, tx.memories.row_of(memory), findings, now=clew.clock.now())

    clew.store.write(save)


def alike(clew: Clew, id: str, *others: str, similarity: float = 0.97) -> None:
    relate(clew, id, *(Finding("similar_to", other, 1.0, "similar", similarity) for other in others))


def stated(clew: Clew, id: str, origin: str) -> list[str]:
    """The types of the edges that a memory witnesses with this origin."""
    memory = clew.show(id)
    with clew.store.read() as tx:
        edges = tx.graph.witnessed_by(memory.org, tx.memories.row_of(memory))
    return sorted(edge.type for edge in edges if edge.origin == origin)

"""Facts of the graph that concern a tool call: few, near, and not what the memories beside them say anyway.

The floor: a neutral fact between a thing that the call names and its neighbour has an importance of 0.57, one a hop
farther away 0.48 (graph/triplets.py). 0.5 lets the first through and not the second.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

from clew.guard.render import NO_LIMIT, TRIPLETS_HEADING, pack, tokens, triplet_line
from clew.inject.access import Asker
from clew.inject.asking import Question
from clew.inject.graph_block import authorised, in_order, sources_of
from clew.model.graph_fact import GraphContextBlock, GraphFact
from clew.model.inject import EdgeKey
from clew.model.scope import Identity, Scope
from clew.values import dataclass

FLOOR = 0.5
MAX_TRIPLETS = 3
DEPTH = 1
CONSIDERED = 10  # facts read for one call
LOOKED_AT = 4  # memories read per node and edge of these: reading them is what takes the time

Seeds = Sequence[tuple[str, float]]  # ids of memories with their relevance


class Matcher(Protocol):
    """Finds facts for a tool call, from what it asks and the memories found for it. Whoever shows them asks first
    who may see them."""

    def match(self, questions: Sequence[Question], scope: Scope, seeds: Seeds, /) -> Sequence[GraphFact]: ...


class SeededEngine(Protocol):
    """A graph that can be entered from memories."""

    def facts_from(
        self, query: str, scope: Scope, seeds: Seeds, *, depth: int, floor: float
    ) -> Sequence[GraphFact]: ...


@dataclass(frozen=True, slots=True)
class GraphMatching:
    """The graph's part in the injector. `alone`: facts may be pushed although no memory is."""

    matcher: Matcher
    identity: Identity | None = None
    alone: bool = True


class GraphMatcher:
    """Facts at most one hop from what the call names."""

    def __init__(self, engine: SeededEngine, *, floor: float = FLOOR) -> None:
        self._engine, self._floor = engine, floor

    def match(self, questions: Sequence[Question], scope: Scope, seeds: Seeds, /) -> list[GraphFact]:
        text = "\n".join(question.text for question in questions)
        found = self._engine.facts_from(text, scope, seeds, depth=DEPTH, floor=self._floor)
        return [fact for fact in found if fact.importance >= self._floor]


def matched_triplets(
    facts: Sequence[GraphFact],
    asker: Asker,
    *,
    budget_tokens: int,
    most_bytes: int = NO_LIMIT,
    beside: Collection[str] = (),
    seen: Collection[str] = (),
) -> GraphContextBlock:
    """What of these facts may be shown, is new and fits. `beside` are the memories that are shown with them."""
    if not facts:
        return GraphContextBlock(status="no_match")
    allowed = authorised(facts, asker)
    if not allowed:
        return GraphContextBlock(status="all_denied")
    new = [fact for fact in allowed if not _is_told(fact, beside)]
    triplets = [one for one in in_order(fact.triplet for fact in new) if seen_key(one.key) not in seen]
    if not triplets:
        return GraphContextBlock(status="no_match")
    by_key = {one.key: one for one in triplets[:MAX_TRIPLETS]}
    lines = [
        (key, triplet_line(one.source_entity, one.relationship, one.target_entity)) for key, one in by_key.items()
    ]
    packed = pack(TRIPLETS_HEADING, lines, budget_tokens, most_bytes=most_bytes)
    taken = tuple(by_key[key] for key in packed.taken)
    return GraphContextBlock(
        packed.text,
        taken,
        tokens(packed.text),
        "ok" if taken else "over_budget",
        source_ids=sources_of(new, packed.taken),
    )


def seen_key(key: EdgeKey) -> str:
    """How a fact is named among what a session has seen: no memory's id has a space in it."""
    return f"{key.source_id} {key.relationship_name} {key.target_id}"


def _is_told(fact: GraphFact, beside: Collection[str]) -> bool:
    """Whether a memory that is shown anyway states it."""
    return any(memory.id in beside for memory in fact.witnesses)

"""Search the graph for facts that a prompt may need, each with the memories through which it may be seen.

In: a query and a scope. Out: facts, the most important first; `facts` as found, `search` after Cedar. The seeds are
what the query names and what the memories that recall finds for it name; `top_k` bounds those memories, `depth` how
far the walk goes from there. Without an embedder recall finds its seeds by words. That two memories are alike, or
how else they hang together, is nothing for a prompt: it would quote their texts once more for every such pair.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Protocol

from clew.errors import InvalidInput, Misconfigured
from clew.guard.trust import TOLD_LABELS, TOLD_TRUSTS
from clew.inject.access import Asker, Decider
from clew.model.explored import Fact, Facts, SeenNode
from clew.model.graph_fact import FactEnd, GraphFact
from clew.model.inject import Triplet
from clew.model.memory import Memory
from clew.model.recalled import RecallOptions
from clew.model.scope import Identity, Reach, Scope
from clew.recall.named import View, nodes_named
from clew.recall.path import MAX_HOPS, path
from clew.recall.recall import Reader, recall
from clew.recall.triplets import DEPTH, SEED_MEMORIES, recalled_seeds, triplets, triplets_around

MODES = ("GRAPH_COMPLETION", "NEIGHBORS", "PATH", "NATURAL_LANGUAGE", "SUMMARY")
NEED_A_MODEL = ("NATURAL_LANGUAGE", "SUMMARY")
LIMIT = 50  # facts considered for one block: more than its default budget holds
MEMORIES = 16
_ARROW = re.compile(r"\s*(?:→|->)\s*")


class GraphEngine(Protocol):
    """What the graph's part of a block is made from."""

    def facts(
        self, query: str, scope: Scope, *, mode: str = MODES[0], top_k: int = SEED_MEMORIES, depth: int = DEPTH
    ) -> Sequence[GraphFact]: ...


class GraphSearchEngine:
    """Reads what recall reads. `all_projects` widens a scope's project to its whole org; `memories` are looked at
    per node and per edge, the newest: a fact without one among them that may be shown is not shown. A memory below
    `floor` leads nowhere: what is known about something else is no context."""

    def __init__(
        self,
        reader: Reader,
        now: Callable[[], datetime],
        *,
        all_projects: bool = False,
        limit: int = LIMIT,
        memories: int = MEMORIES,
        floor: float = 0.0,
    ) -> None:
        self._reader, self._now, self._floor = reader, now, floor
        self._all_projects, self._limit, self._memories = all_projects, limit, memories

    def facts(
        self, query: str, scope: Scope, *, mode: str = MODES[0], top_k: int = SEED_MEMORIES, depth: int = DEPTH
    ) -> list[GraphFact]:
        """As they were found: whoever shows them must ask first who may see them. What only web pages say, and else
        is never told unasked, takes no place; where nobody else says anything it is found, for whoever tells why it
        is left out."""
        _check_mode(mode)
        reach = Reach.across_projects(scope) if self._all_projects else Reach.of(scope)
        seeds = self._seeds(query, reach, top_k) if mode == MODES[0] else []
        told = self._facts(_told_unasked(reach), query, seeds, mode, depth) if mode == MODES[0] else []
        return told or self._facts(reach, query, seeds, mode, depth)

    def facts_from(
        self,
        query: str,
        scope: Scope,
        seeds: Sequence[tuple[str, float]],
        *,
        depth: int = DEPTH,
        floor: float = 0.0,
    ) -> list[GraphFact]:
        """Those that may be told unasked, entered from memories that were found already, each with its relevance;
        only facts of at least this importance, since reading the memories behind them is what takes the time."""
        reach = Reach.across_projects(scope) if self._all_projects else Reach.of(scope)
        return self._facts(_told_unasked(reach), query, seeds, MODES[0], depth, floor=floor)

    def search(
        self,
        query: str,
        *,
        identity: Identity,
        scope: Scope,
        mode: str = MODES[0],
        top_k: int = SEED_MEMORIES,
        depth: int = DEPTH,
        pep: Decider | None = None,
    ) -> list[Triplet]:
        """What of them this identity may have in its prompt, the most important first."""
        from clew.inject.graph_block import authorised, in_order

        facts = self.facts(query, scope, mode=mode, top_k=top_k, depth=depth)
        return in_order(fact.triplet for fact in authorised(facts, Asker.of(identity, scope, pep=pep)))

    def _facts(
        self,
        reach: Reach,
        query: str,
        seeds: Sequence[tuple[str, float]],
        mode: str,
        depth: int,
        *,
        floor: float = 0.0,
    ) -> list[GraphFact]:
        with self._reader.store.read() as tx:
            view = View(tx, reach, self._now(), max_witnesses=self._memories)
            found = self._found(view, query, seeds, mode, depth)
            near = [fact for fact in found if fact.importance >= floor]
            return _with_memories(view, near, per_node=self._memories)

    def _found(
        self, view: View, query: str, seeds: Sequence[tuple[str, float]], mode: str, depth: int
    ) -> Iterable[Fact]:
        if mode == "PATH":
            return _along_path(view, query, depth)
        if mode == "NEIGHBORS":
            nodes = nodes_named(view, query)
            return triplets_around(view, nodes, limit=self._limit, depth=depth).facts
        found: Facts = triplets(view, query, seeds, limit=self._limit, depth=depth, of_things=True)
        return found.facts

    def _seeds(self, query: str, reach: Reach, top_k: int) -> list[tuple[str, float]]:
        options = RecallOptions(limit=max(1, top_k), graph=False, floor=self._floor, counted=False)
        found = recall(query, reach, options, reader=self._reader, now=self._now())
        return recalled_seeds(found.results, top_k=top_k)


def _told_unasked(reach: Reach) -> Reach:
    return replace(reach, labels=TOLD_LABELS, trusts=TOLD_TRUSTS)


def _along_path(view: View, query: str, depth: int) -> list[Fact]:
    """The facts between two things, named as `A -> B`; a step that no memory states is none."""
    ends = _ARROW.split(query.strip())
    if len(ends) != 2 or not all(ends):
        raise InvalidInput(
            "a path needs two ends",
            code="GRAPH_QUERY_INVALID",
            next="name them as in 'BillingService -> PostgresDB'",
        )
    way = path(view, *ends, max_hops=min(max(1, depth), MAX_HOPS))
    facts = []
    for step, here, there in zip(way.steps, way.nodes, way.nodes[1:], strict=False):
        source, target = (here, there) if step.direction == "outbound" else (there, here)
        if step.evidence:
            facts.append(Fact(source, step.edge_type, target, step.confidence, step.confidence, step.evidence))
    return facts


def _with_memories(view: View, facts: Iterable[Fact], *, per_node: int) -> list[GraphFact]:
    found = list(facts)
    nodes = {node.id for fact in found for node in (fact.source, fact.target)}
    at = view.tx.injections.memories_at_nodes(view.reach, sorted(nodes), now=view.now, per_node=per_node)
    stating = (witness.memory_id for fact in found for witness in fact.evidence)
    wanted = dict.fromkeys((*stating, *(id for ids in at.values() for id in ids)))
    memories = view.tx.memories.get_many(view.reach, list(wanted))

    def known(ids: Iterable[str]) -> tuple[Memory, ...]:
        return tuple(memories[id] for id in ids if id in memories)

    def end(node: SeenNode) -> FactEnd:
        project = node.project or None
        return FactEnd(node.id, view.reach.org, project, node.type, node.key, node.label, known(at[node.id]))

    return [
        GraphFact(
            end(fact.source),
            fact.relation,
            end(fact.target),
            fact.importance,
            fact.confidence,
            witnesses=known(witness.memory_id for witness in fact.evidence),
            by_user=not fact.evidence,
        )
        for fact in found
    ]


def _check_mode(mode: str) -> None:
    if mode in NEED_A_MODEL:
        raise Misconfigured(
            f"{mode} needs a language model, and none is configured",
            code="GRAPH_MODE_UNAVAILABLE",
            next=f"choose one of {', '.join(MODES[:3])}",
        )
    if mode not in MODES:
        raise InvalidInput(
            f"'{mode[:40]}' is no mode of graph search",
            code="GRAPH_MODE_INVALID",
            next=f"choose one of {', '.join(MODES[:3])}",
        )

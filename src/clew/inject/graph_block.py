"""The graph's part of a block: facts, of these what may be shown, of that what fits. Never raises.

A triplet is shown when both of its ends may be injected and a memory that states it may be, by trust and by Cedar;
its names are spelled as such memories spell them. Nodes have no rights of their own: policies see the lowest label
among the memories through which a node is shown.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from clew.guard.render import NO_LIMIT, TRIPLETS_HEADING, pack, tokens, triplet_line, without_held
from clew.inject.access import Asker, Decider
from clew.inject.graph_engine import GraphEngine
from clew.model.graph_fact import FactEnd, GraphContextBlock, GraphFact
from clew.model.inject import EdgeKey, Skipped, Triplet
from clew.model.memory import Memory
from clew.model.scope import Identity, Scope

_log = logging.getLogger(__name__)


def build_graph_context_block(
    *,
    identity: Identity,
    scope: Scope,
    engine: GraphEngine,
    query_text: str,
    budget_tokens: int = 500,
    top_k: int = 10,
    neighborhood_depth: int = 2,
    pep: Decider | None = None,
    asker: Asker | None = None,
    held: Collection[str] = (),
    most_bytes: int = NO_LIMIT,
) -> GraphContextBlock:
    """`asker` says more of who asks than `identity` can; without one, the shipped policies decide. `held` are lines
    that the agent has before it already: they keep their places and are not said again."""
    try:
        asker = asker or Asker.of(identity, scope, pep=pep)
        facts = engine.facts(query_text, scope, top_k=top_k, depth=neighborhood_depth)
        return graph_block_of(facts, asker, budget_tokens=budget_tokens, held=held, most_bytes=most_bytes)
    except Exception as error:  # the graph is an extra: whatever goes wrong in it, the block does without
        _log.warning("the graph's part of a block could not be built: %s", type(error).__name__)
        return GraphContextBlock(status="error")


def graph_block_of(
    facts: Sequence[GraphFact],
    asker: Asker,
    *,
    budget_tokens: int,
    held: Collection[str] = (),
    most_bytes: int = NO_LIMIT,
) -> GraphContextBlock:
    """What of these facts may be shown and fits, most important first."""
    if not facts:
        return GraphContextBlock(status="no_match")
    allowed = authorised(facts, asker)
    by_key = {one.key: one for one in in_order(fact.triplet for fact in allowed)}
    denied = _skipped((key for key in map(key_of, facts) if key not in by_key), "denied")
    if not by_key:
        return GraphContextBlock(status="all_denied", skipped=denied)
    lines = [
        (key, triplet_line(one.source_entity, one.relationship, one.target_entity)) for key, one in by_key.items()
    ]
    known = [key for key, line in lines if line in held]
    packed = without_held(pack(TRIPLETS_HEADING, lines, budget_tokens, most_bytes=most_bytes), known)
    left_out = [key for key in packed.left_out if key not in known]
    return GraphContextBlock(
        block=packed.text,
        triplets=tuple(by_key[key] for key in packed.taken),
        actual_tokens=tokens(packed.text),
        status="ok" if packed.taken else "over_budget" if left_out else "no_match",
        skipped=(*_skipped(left_out, "over_budget"), *_skipped(known, "held"), *denied),
        source_ids=sources_of(allowed, packed.taken),
    )


def authorised(facts: Sequence[GraphFact], asker: Asker) -> list[GraphFact]:
    """Those that may be shown, as they may be: each through the memories that may be injected, and no others."""
    own = [fact for fact in facts if {fact.source.org, fact.target.org} == {asker.org}]
    refused = asker.refused(memory for fact in own for memory in fact.memories)
    through = (fact.through(lambda memory: memory.id not in refused) for fact in own)
    stated = [fact for fact in through if fact.witnesses or fact.by_user]
    ends = _ends_shown(stated)
    may = asker.may([end.resource for end in ends.values()])
    shown = {end.id: end for end, allowed in zip(ends.values(), may, strict=True) if allowed}
    return [
        replace(fact, source=shown[fact.source.id], target=shown[fact.target.id])
        for fact in stated
        if fact.source.id in shown and fact.target.id in shown
    ]


def in_order(triplets: Iterable[Triplet]) -> list[Triplet]:
    """Most important first, then the surer, then by the alphabet: rensei.md R-051."""
    return sorted(
        triplets,
        key=lambda one: (
            -one.importance, -one.confidence, one.source_entity, one.relationship, one.target_entity,
            one.source_node_id, one.target_node_id,
        ),
    )  # fmt: skip


def sources_of(facts: Iterable[GraphFact], keys: Collection[EdgeKey]) -> tuple[str, ...]:
    """The memories on which those of these facts rest that are shown."""
    return tuple(dict.fromkeys(id for fact in facts if key_of(fact) in keys for id in fact.source_ids))


def key_of(fact: GraphFact) -> EdgeKey:
    return EdgeKey(fact.source.id, fact.target.id, fact.relation)


def _ends_shown(facts: Iterable[GraphFact]) -> dict[str, FactEnd]:
    """Each node once, seen through what hangs on it and what states its facts; not one that nothing shows."""
    nodes: dict[str, FactEnd] = {}
    memories: dict[str, dict[str, Memory]] = {}
    for fact in facts:
        for end in (fact.source, fact.target):
            nodes.setdefault(end.id, end)
            memories.setdefault(end.id, {}).update((one.id, one) for one in (*end.memories, *fact.witnesses))
    seen = (end.through(memories[id].values()) for id, end in nodes.items())
    return {end.id: end for end in seen if end.memories}


def _skipped(keys: Iterable[EdgeKey], reason: str) -> tuple[Skipped, ...]:
    return tuple(Skipped(f"{key.source_id} {key.relationship_name} {key.target_id}", reason) for key in keys)

"""The context of a question: rules and memories as recall orders them, then what the graph adds, with provenance.

In: a query, a strategy, how far and how much to expand. Out: the baseline untouched and in its order; additions
come after it, each saying why it is there. Nothing is written. An extra: if expansion fails, the baseline is the
answer and the trace names the reason. How far the graph is rolled out decides whether what it finds is used; in the
shadow it is looked for and counted, and the answer is the baseline.
"""

from __future__ import annotations

import time
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from clew.errors import InvalidInput
from clew.graph.adjacency import Adjacency
from clew.graph.expand import MAX_DEPTH, MAX_LIMIT, Expansion, expand
from clew.model.rollout import BASELINE, HYBRID_GRAPH, STRATEGIES
from clew.recall import disputes
from clew.recall.context_trace import Answered, Walked, metric_of, trace_of
from clew.recall.recall import Reader, recall_and_run
from clew.rollout.decide import Request, decide
from clew.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from clew.model.memory import Memory
    from clew.model.recalled import InConflict, RecallOptions, Result
    from clew.model.scope import Reach
    from clew.ports import Tx
    from clew.recall.recall import Refused
    from clew.rollout.standing import Standing

FILING = frozenset(("authored_by", "contains_type", "about", "mentions", "related_to"))  # where memories are filed
MAX_PER_NODE = 64  # memories that one node may add, the newest; what hundreds share says little of each


@dataclass(frozen=True, slots=True)
class Expanding:
    """What was asked of the graph. Depth 0 to 2, limit 1 to 50. Without a strategy, the org's default is taken."""

    strategy: str | None = None
    depth: int = 1
    limit: int = 8
    is_on: bool = True

    def __post_init__(self) -> None:
        if self.strategy is not None and self.strategy not in STRATEGIES:
            raise InvalidInput(
                f"'{self.strategy[:40]}' is not a strategy",
                code="STRATEGY_INVALID",
                next=f"choose: {', '.join(STRATEGIES)}",
            )
        object.__setattr__(self, "depth", min(max(self.depth, 0), MAX_DEPTH))
        object.__setattr__(self, "limit", min(max(self.limit, 1), MAX_LIMIT))


@dataclass(frozen=True, slots=True)
class Added:
    """A memory that the graph appended, and why."""

    memory: Memory
    linked_via_node: str
    edge_type: str
    hop_count: int
    confidence: float
    score: float
    seed_memory_id: str

    def as_json(self) -> dict[str, Any]:
        provenance = {name: getattr(self, name) for name in self.__slots__ if name not in ("memory", "score")}
        return self.memory.as_json() | {"graph": {"why_included": "graph_expansion"} | provenance}


@dataclass(frozen=True, slots=True)
class Context:
    rules: Sequence[Result]
    working: Sequence[Result]
    long_term: Sequence[Result]
    added: Sequence[Added]
    conflicts: Sequence[InConflict]
    trace: Mapping[str, Any] = field(default_factory=dict)

    @property
    def ids(self) -> list[str]:
        """Of the memories in order, rules excepted."""
        baseline = [result.memory.id for result in (*self.working, *self.long_term)]
        return baseline + [entry.memory.id for entry in self.added]

    def as_json(self) -> dict[str, Any]:
        lists = {name: [entry.as_json() for entry in getattr(self, name)]
                 for name in ("rules", "working", "long_term", "added", "conflicts")}  # fmt: skip
        return lists | {"trace": dict(self.trace)}


def context(
    query: str,
    reach: Reach,
    options: RecallOptions,
    asked: Expanding,
    *,
    reader: Reader,
    now: datetime,
    refused: Refused | None = None,
) -> Context:
    began = time.perf_counter()
    plain = replace(options, graph=False, counted=False)
    baseline, run = recall_and_run(query, reach, plain, reader=reader, now=now, refused=lambda: refused)
    # A guess is no ground to lead on from, and what nobody is sure of costs an agent as much as what helps.
    found = [result for result in baseline.results if result.memory.layer != "rule" and not result.is_guess]
    standing = reader.standing(reach, now)
    answered, added = _answered(found, reach, options, asked, reader, standing, now)
    ids = [result.memory.id for result in found] + [entry.memory.id for entry in added]
    conflicts = _conflicts(ids, reach, reader, now)
    if options.counted and reader.count:
        ms = (time.perf_counter() - began) * 1000
        reader.count(metric_of(answered, run, reach, reader.embedder, now=now, ms=ms))
    trace = trace_of(answered, run, standing) | {"conflict_count": len(conflicts)}
    return Context(
        rules=[result for result in baseline.results if result.memory.layer == "rule"],
        working=[result for result in found if result.memory.layer == "working"],
        long_term=[result for result in found if result.memory.layer == "long_term"],
        added=added,
        conflicts=conflicts,
        trace=trace | {"recall": baseline.trace.as_json()},
    )


def _answered(
    found: Sequence[Result],
    reach: Reach,
    options: RecallOptions,
    asked: Expanding,
    reader: Reader,
    standing: Standing,
    now: datetime,
) -> tuple[Answered, list[Added]]:
    """What becomes of the request, and what of the graph's findings is in its answer."""
    strategy = asked.strategy or standing.default_strategy
    fell_back = asked.strategy is None and strategy == BASELINE
    stage = standing.stage(is_on=asked.is_on, in_shadow=reader.graph.shadow)
    decision = decide(Request(strategy, asked.depth, asked.limit, bool(found), fell_back), stage)
    walked, additions = _expanded(found, reach, options, asked, reader, now) if decision.run else (Walked(), [])
    decision = decision.after(walked.error)
    added = additions if decision.applied == HYBRID_GRAPH else []
    answered = Answered(
        named=asked.strategy,
        strategy=strategy,
        depth=asked.depth,
        limit=asked.limit,
        mode=stage.mode,
        decision=decision,
        walked=walked,
        baseline=len(found),
        added=len(added),
    )
    return answered, added


def _expanded(
    found: Sequence[Result],
    reach: Reach,
    options: RecallOptions,
    asked: Expanding,
    reader: Reader,
    now: datetime,
) -> tuple[Walked, list[Added]]:
    """What the graph has to add, whether or not it is used; a failure by its code."""
    try:
        with reader.store.read() as tx:
            walk = FiledWalk(tx, reach, now=now, moment=options.as_of or now)
            expansion = expand(
                walk, walk.links([result.memory.id for result in found]), walk.memories_of,
                depth=asked.depth, limit=asked.limit,
            )  # fmt: skip
            added = _added(tx, reach, expansion.expansions, options)
            led_on = walk.led_on or expansion.total_candidates > 0
            return Walked(expansion.total_candidates, len(added), led_on=led_on), added
    except Exception as error:  # the graph is an extra: whatever goes wrong in it, the baseline is the answer
        return Walked(error=str(getattr(error, "code", type(error).__name__))), []


def _added(tx: Tx, reach: Reach, expansions: Sequence[Expansion[str]], options: RecallOptions) -> list[Added]:
    found = tx.memories.get_many(reach, [one.memory for one in expansions])
    memories = {id: memory for id, memory in found.items() if _is_asked_for(memory, options)}
    nodes = tx.graph.described(reach.org, [one.via_node for one in expansions])
    return [
        Added(
            memory=memories[one.memory],
            linked_via_node=nodes[one.via_node].name,
            edge_type=one.edge_type,
            hop_count=one.hop_count,
            confidence=one.confidence,
            score=one.score,
            seed_memory_id=one.seed,
        )
        for one in expansions
        if one.memory in memories
    ]


def _is_asked_for(memory: Memory, options: RecallOptions) -> bool:
    """What restricts the answer restricts what is added to it."""
    kinds = (options.mode in ("all", memory.layer), not options.types or memory.type in options.types)
    tagged = not options.tags or not set(options.tags).isdisjoint(memory.tags)
    places = (
        (options.agent, memory.agent),
        (options.session, memory.session),
        (options.namespace, memory.namespace),
    )
    return all(kinds) and tagged and all(not asked or asked == own for asked, own in places)


class FiledWalk:
    """The graph with every edge, also those that only say where memories are filed; read by both directions."""

    def __init__(self, tx: Tx, reach: Reach, *, now: datetime, moment: datetime) -> None:
        self._tx, self._reach, self._times = tx, reach, {"now": now, "moment": moment}
        self._kinds: dict[str, int] = {}
        self.led_on = False  # an edge was there to follow

    @property
    def types(self) -> Sequence[str]:
        return list(self._kinds)

    def links(self, ids: Sequence[str]) -> dict[str, list[int]]:
        links: dict[str, list[int]] = {id: [] for id in ids}
        for id, node in self._tx.graph.nodes_by_memory(self._reach.org, ids):
            links[id].append(node)
        return links

    def memories_of(self, nodes: np.typing.NDArray[np.int64]) -> list[list[str]]:
        asked = nodes.tolist()
        found = self._tx.graph.memories_at_many(self._reach, asked, limit=MAX_PER_NODE, **self._times)
        return [found[node] for node in asked]

    def out(self, nodes: np.typing.NDArray[np.int64], *, fan_out: int | None) -> Adjacency:
        rows, counts = [], []
        asked, limit = nodes.tolist(), fan_out or MAX_PER_NODE
        found = self._tx.graph.edges_at_many(self._reach, asked, limit=limit, structural=True, **self._times)
        for node in asked:
            starting, ending = found[node]
            both = sorted(starting + ending, key=lambda row: -row[2] * row[3])[:fan_out]
            rows += both
            counts.append(len(both))
        kind = [self._kinds.setdefault(row[1], len(self._kinds)) for row in rows]
        self.led_on = self.led_on or any(row[1] not in FILING for row in rows)
        return Adjacency(
            np.append(0, np.cumsum(counts)).astype(np.int64),
            np.array([row[0] for row in rows], np.int64),
            np.array([row[2] for row in rows], np.float64),
            np.array([row[3] for row in rows], np.float64),
            np.array(kind, np.int16),
        )


def _conflicts(ids: Sequence[str], reach: Reach, reader: Reader, now: datetime) -> Sequence[InConflict]:
    """One per unordered pair, the surest first; looked for also when the graph adds nothing."""
    if len(ids) < 2:
        return ()
    version = reader.store.data_version()
    with reader.store.read() as tx:
        is_disputed = reader.disputed.any_of(tx, reach.org, ids, version)
        return disputes.among(tx, reach, ids, now) if is_disputed else ()

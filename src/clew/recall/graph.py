"""Recall through the graph: from the best results along edges to memories that share no word with the query.

In: one recall whose memories are filtered and scored. Out: the same with the order moved by activation. What it
finds is blended into `rank_score` before the cut; `relevance` stays what the text itself earned. An extra: if it
fails, the order without it is answered and the trace says why. How far it is rolled out decides whether what it
finds is used: off, it is not walked; in the shadow, or while the gate blocks, it is walked and compared.
"""

from __future__ import annotations

import time
from dataclasses import asdict, replace
from functools import cache
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

import numpy as np

from clew import native
from clew.graph.activation import Activated, Activation, Spread
from clew.lazy import LazyModule
from clew.model.recalled import Removed, Stage
from clew.recall.fuse import of_allowed
from clew.recall.run import RULE, Run
from clew.recall.settle import best
from clew.rollout.decide import Decision, Request, decide
from clew.rollout.standing import Standing
from clew.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from numpy.typing import NDArray

    from clew.graph import blend
    from clew.model.scope import Reach
    from clew.recall.graphs import Graphs
    from clew.recall.plan import Plan
    from clew.recall.walk import Walk
else:
    blend = LazyModule("clew.graph.blend")  # for comparisons, and the blend of another system

WALKED_BY = ("graph_mode", "full")  # the plans that use the graph
NO_SEEDS = "baseline retrieval produced no seed results"
COMPLETED = "graph expansion merged into recall ranking"
NOT_SAMPLED = "the graph is in the shadow, and this query is not in its sample"
SHADOWED = "graph shadow evaluation completed without altering the answer"
BLOCKED = "the quality gate blocks the graph: it was only compared, without altering the answer"
MODE_OFF = "the rollout mode of this org is off"
MEMORY_OFF = "memory is off for this project"


@dataclass(frozen=True, slots=True)
class GraphOptions:
    """What the settings say about recalling through the graph; every bound of Engram's, and ours."""

    write: bool = True
    recall: bool = True
    assist: bool = True
    assist_min_seeds: int = 3
    max_steps: int = 3
    max_seeds: int = 10
    max_expanded: int = 30
    min_seed_score: float = 0.3
    confidence_floor: float = 0.2
    iterations: int = 8
    decay: float = 0.7
    inhibition: bool = True
    inhibition_beta: float = 0.15
    inhibition_top_m: int = 7
    activation_weight: float = 0.65
    blend_min: float = 0.05
    blend_max: float = 0.95
    refinement: str = "personalised"
    fan_out: int = 64
    shadow: bool = False
    shadow_sample: float = 0.1


@cache
def activation_of(options: GraphOptions, *, include_low_confidence: bool) -> Activation:
    """The same as the settings of a spread."""
    return Activation(
        max_steps=options.max_steps,
        decay=options.decay,
        confidence_floor=0.0 if include_low_confidence else options.confidence_floor,
        iterations=options.iterations,
        beta=options.inhibition_beta if options.inhibition else None,
        top_m=options.inhibition_top_m,
        refinement="compat" if options.refinement == "compat" else "personalised",
        fan_out=options.fan_out,
        max_expanded=options.max_expanded,
    )


class Reached(NamedTuple):
    """A memory that the graph led to. How it did is worked out when somebody asks."""

    memory: str
    activation: float
    found: Spread
    at: int  # among what was found
    seeds: Mapping[int, str]  # memories by node

    @property
    def by(self) -> Activated:
        return self.found.activated(self.at)

    @property
    def seed(self) -> str:
        return self.seeds[self.by.seed]


def reach_through(run: Run, plan: Plan, graphs: Graphs, options: GraphOptions, standing: Standing) -> list[Reached]:
    """The memories that activation reaches from the best results; empty with a reason in the notes otherwise."""
    why_not = _why_off(run, plan, options, standing)
    seeds = [] if why_not else seeds_of(run, options)
    why_not = why_not or _why_too_few(len(seeds), plan, options)
    decision = _decided(run, plan, options, standing, has_seeds=not why_not)
    if why_not:
        run.notes["graph"] = {"status": "skipped" if plan.effective in WALKED_BY else "not_requested",
                              "reason": why_not, **_fallback(decision)}  # fmt: skip
        return []
    started = time.perf_counter()
    run.seeds = [(run.corpus.ids[at], float(run.rank_score[at])) for at in seeds]
    try:
        found, walked = _activated(run, seeds, graphs, options)
    except Exception as error:  # an extra: whatever goes wrong in it, the baseline is the answer
        note_failure(run, error)
        return []
    run.stages.append(Stage("graph", len(seeds), len(found), (), _ms_since(started)))
    run.notes["graph"] = {"status": "completed", "reason": _completed(decision),
                          "mode": plan.effective, "walk": walked, "seeds": len(seeds), "reached": len(found),
                          **({"shadow": True} if decision.shadow else {}), **_fallback(decision)}  # fmt: skip
    return found


def note_failure(run: Run, error: Exception) -> None:
    """The graph failed, whether it was to be applied or only compared: told by its code, never by its words."""
    run.graph_error = str(getattr(error, "code", type(error).__name__))
    reason = f"graph expansion failed: {run.graph_error}"
    run.decision = run.decision.after(run.graph_error) if run.decision else None
    fallback = _fallback(run.decision) if run.decision else {}
    run.notes["graph"] = {"status": "aborted", "reason": reason, **fallback}
    run.notes.pop("graph_shadow", None)


def _decided(run: Run, plan: Plan, options: GraphOptions, standing: Standing, *, has_seeds: bool) -> Decision:
    """Whether the walk is applied, noted in the run. How far and how much is no part of this request."""
    is_on = options.write and options.recall and (plan.effective != "full" or options.assist)
    stage = standing.stage(is_on=is_on, in_shadow=options.shadow)
    strategy = "hybrid_graph" if _wants(run, plan) else "baseline"
    asked = Request(strategy, 1, 1, has_seeds)
    run.stage, run.decision = stage.mode, decide(asked, stage)
    return run.decision


def _wants(run: Run, plan: Plan) -> bool:
    return run.options.graph is not False and plan.effective in WALKED_BY and bool(run.query.strip())


def _fallback(decision: Decision) -> dict[str, str]:
    return {"fallback_reason": decision.reason} if decision.reason else {}


def _completed(decision: Decision) -> str:
    if not decision.shadow:
        return COMPLETED
    return BLOCKED if decision.eligible else SHADOWED


def _why_off(run: Run, plan: Plan, options: GraphOptions, standing: Standing) -> str:
    """Switches in the order of their rank. '' when the graph may be walked."""
    if run.options.graph is False:
        return "switched off by the caller"
    if not standing.memory_on:
        return MEMORY_OFF
    if not options.write:
        return "multi-graph memory disabled by config"
    if not options.recall:
        return "graph recall disabled by config"
    if not _wants(run, plan):
        return "not asked for"
    if plan.effective == "full" and not options.assist:
        return "graph assist disabled by config"
    if standing.mode == "off":
        return MODE_OFF
    if options.shadow and standing.mode != "shadow" and not _is_sampled(run.query, options.shadow_sample):
        return NOT_SAMPLED
    return ""


def _why_too_few(seeds: int, plan: Plan, options: GraphOptions) -> str:
    if not seeds:
        return NO_SEEDS
    if plan.effective == "full" and seeds < options.assist_min_seeds:
        return f"too few seeds: {seeds} of {options.assist_min_seeds} that assisting needs"
    return ""


def seeds_of(run: Run, options: GraphOptions) -> list[int]:
    """The best results that may be answered and are relevant enough, best first. Rules are nobody's seeds."""
    found = best(run, options.max_seeds, above=-1.0, floor=options.min_seed_score, without=RULE)
    scores = run.rank_score[found]
    rows = zip((-scores).tolist(), [run.corpus.ids[at] for at in found.tolist()], found.tolist(), strict=True)
    return [at for _score, _id, at in sorted(rows)]


def _activated(run: Run, seeds: list[int], graphs: Graphs, options: GraphOptions) -> tuple[list[Reached], str]:
    strength = (run.rank_score[seeds] / np.float32(max(1e-9, _best_score(run)))).tolist()
    weights = {run.corpus.ids[at]: share**2 for at, share in zip(seeds, strength, strict=True)}
    settings = activation_of(options, include_low_confidence=run.options.include_low_confidence)
    return expand(graphs, run.reach, weights, settings, now=run.now, as_of=run.options.as_of)


def expand(
    graphs: Graphs,
    reach: Reach,
    seeds: Mapping[str, float],
    settings: Activation,
    *,
    now: datetime,
    as_of: datetime | None = None,
) -> tuple[list[Reached], str]:
    """What is reached from memories with these weights, and which way of walking led there."""
    with graphs.walk(reach, now=now, as_of=as_of) as walk:
        nodes = walk.nodes_of(list(seeds))
        known = {nodes[id]: weight for id, weight in seeds.items() if id in nodes}
        found = walk.spread(known, settings)
        return _memories(walk, found, {node: id for id, node in nodes.items()}) if found else [], walk.kind


def _memories(walk: Walk, found: Spread, seeds: Mapping[int, str]) -> list[Reached]:
    ids = walk.memories_of(found.nodes)
    return [
        Reached(ids[node], score, found, at, seeds)
        for at, (node, score) in enumerate(zip(found.nodes, found.scores, strict=True))
        if score > 0 and node in ids
    ]


def apply_activation(run: Run, found: list[Reached], options: GraphOptions) -> None:
    """Blend activation into the order. In the shadow, only tell what would have changed."""
    if not found:
        return
    places = run.corpus.places_of([reached.memory for reached in found])
    visible = {
        at: reached
        for reached in found
        if (at := places.get(reached.memory)) is not None and run.allowed[at] and run.corpus.layer[at] != RULE
    }
    hidden = len(found) - len(visible)
    if hidden:
        stage = run.stages[-1]
        run.stages[-1] = replace(stage, out=len(visible), removed=(Removed("filter", hidden),))
    blended = _blended(run, visible, options)
    run.expanded = [(reached, float(blended[at])) for at, reached in visible.items()]
    if run.decision and run.decision.shadow:
        run.notes["graph_shadow"] = _shadow(run, blended)
        return
    run.rank_score = blended
    run.reached = visible


def _blended(run: Run, found: dict[int, Reached], options: GraphOptions) -> NDArray[np.float32]:
    """Scores are brought to 0..1 by the best one for this, and back.

    Compat: Engram's blend of activation and the best seed's score; the higher of that and the own score counts.
    Personalised: activation, relative to what a neighbour of the best seed can have, comes on top of the own score.
    """
    best = max(1e-9, _best_score(run))
    at = np.array(list(found), np.int64)
    own = run.rank_score[at].astype(np.float64) / best
    activation = np.array([reached.activation for reached in found.values()])
    low, high = sorted((options.blend_min, options.blend_max))
    if options.refinement == "compat":
        mixed = blend.blend(activation, 1.0, options.activation_weight, low, high)
    else:
        share = np.minimum(1.0, activation / max(options.decay, 1e-9))
        mixed = np.clip(own + options.activation_weight * share, low, high)
    blended = run.rank_score.copy()
    blended[at] = np.maximum(own, mixed) * best
    return blended


def _best_score(run: Run) -> float:
    if native.compiled is not None:
        found: float = native.compiled.most(run.rank_score, run.allowed)
        return found
    return float(of_allowed(run.rank_score, run.allowed).max(initial=0.0))  # `where=` takes ten times as long


def _shadow(run: Run, blended: NDArray[np.float32]) -> dict[str, object]:
    """How the first results would have differed."""
    best = max(1e-9, _best_score(run))
    lists = []
    for scores in (run.rank_score, blended):
        order = np.argsort(-np.where(run.allowed, scores, 0), kind="stable")[: run.options.limit]
        lists.append([blend.Scored(run.corpus.ids[at], float(scores[at]) / best) for at in order
                      if run.allowed[at] and scores[at] > 0])  # fmt: skip
    comparison = blend.compare_shadow(*lists)
    return asdict(comparison) | {"line": comparison.line}


def _is_sampled(query: str, share: float) -> bool:
    """The same question is always or never compared, so that a repeated one does not count as many."""
    return crc32(query.encode("utf-8", "replace")) < share * 2**32


def _ms_since(started: float) -> float:
    return (time.perf_counter() - started) * 1000

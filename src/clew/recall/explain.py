"""Why is a memory in the answer? The evidence for each chosen one, as reasons. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from clew.model.recalled import Why
from clew.recall.fuse import of_allowed
from clew.recall.run import RULE, WORKING, Run

if TYPE_CHECKING:
    from collections.abc import Sequence

Floats = NDArray[np.float32]


def reasons(run: Run, chosen: Sequence[int]) -> list[tuple[Why, ...]]:
    """One tuple per chosen memory: its layer if that put it there, its age if nothing was asked, its words, its
    meaning, its weight."""
    lexical = _ranks(run.evidence.lexical, chosen, run.allowed)
    semantic = _ranks(run.evidence.cosine, chosen, run.allowed)
    return [
        (
            *_by_layer(int(run.corpus.layer[at])),
            *_by_recency(run),
            *_by_evidence("lexical", float(run.evidence.lexical[at]), words, float(run.words[at])),
            *_by_evidence("semantic", float(run.evidence.cosine[at]), meaning, float(run.meaning[at])),
            *_by_graph(run, at),
            *_by_weight(float(run.corpus.weight[at])),
        )
        for at, words, meaning in zip(chosen, lexical, semantic, strict=True)
    ]


def _ranks(scores: Floats, chosen: Sequence[int], allowed: NDArray[np.bool_]) -> list[int]:
    """The place of each chosen memory by one kind of evidence alone, 1 for the best. What lies below all of them
    need not be sorted, and a score of zero is no evidence."""
    among, mine = of_allowed(scores, allowed), scores[np.array(chosen, np.int64)]
    found = np.sort(among[among >= mine.min(where=mine > 0, initial=np.inf)])
    ranks: list[int] = (len(found) - np.searchsorted(found, mine, side="right") + 1).tolist()
    return ranks


def _by_layer(layer: int) -> tuple[Why, ...]:
    names = {RULE: "rule", WORKING: "working"}
    return (Why(names[layer]),) if layer in names else ()


def _by_recency(run: Run) -> tuple[Why, ...]:
    """Nothing was asked: the newest are the answer."""
    return () if run.query.strip() else (Why("boost", via="recency"),)


def _by_evidence(source: str, raw: float, rank: int, relevance: float) -> tuple[Why, ...]:
    if raw <= 0:
        return ()
    return (Why(source, rank=rank, raw=round(raw, 6), relevance=round(relevance, 6)),)


def _by_graph(run: Run, at: int) -> tuple[Why, ...]:
    reached = run.reached.get(at)
    return (Why("graph", raw=round(reached.activation, 6), via=reached.seed),) if reached else ()


def _by_weight(weight: float) -> tuple[Why, ...]:
    return () if weight == 1.0 else (Why("boost", raw=round(weight, 6)),)

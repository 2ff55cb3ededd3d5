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

FEW = 16  # chosen memories


def reasons(run: Run, chosen: Sequence[int]) -> list[tuple[Why, ...]]:
    """One tuple per chosen memory: its layer if that put it there, its age if nothing was asked, its words, its
    meaning, its weight."""
    at, evidence = np.array(chosen, np.intp), run.evidence
    by_words, by_meaning = evidence.lexical[at], evidence.cosine[at]
    rows = zip(
        chosen,
        run.corpus.layer[at].tolist(),
        zip(by_words.tolist(), _ranks(evidence.lexical[evidence.hits], by_words, run.allowed[evidence.hits]),
            run.words[at].tolist(), strict=True),
        zip(by_meaning.tolist(), _ranks(evidence.cosine, by_meaning, run.allowed), run.meaning[at].tolist(),
            strict=True),
        run.corpus.weight[at].tolist(),
        strict=True,
    )  # fmt: skip
    return [
        (
            *_by_layer(layer),
            *_by_recency(run),
            *_by_evidence("lexical", *words),
            *_by_evidence("semantic", *meaning),
            *_by_graph(run, place),
            *_by_neighbours(run, place),
            *_by_weight(weight),
        )
        for place, layer, words, meaning, weight in rows
    ]


def _ranks(scores: Floats, mine: Floats, allowed: NDArray[np.bool_]) -> list[int]:
    """The place of each chosen memory by one kind of evidence alone, 1 for the best; a score of zero is no
    evidence. To count what is better is cheaper than to sort, as long as few ask."""
    among = of_allowed(scores, allowed)
    if len(mine) <= FEW:
        return [1 + int(np.count_nonzero(among > score)) if score > 0 else 0 for score in mine]
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


def _by_neighbours(run: Run, at: int) -> tuple[Why, ...]:
    """Nothing of its own was found: what was said around it brought it in."""
    has_own = run.evidence.lexical[at] > 0 or run.relevance[at] > 0 or at in run.reached
    return (Why("boost", via="neighbours"),) if at in run.beside and not has_own else ()


def _by_weight(weight: float) -> tuple[Why, ...]:
    return () if weight == 1.0 else (Why("boost", raw=round(weight, 6)),)

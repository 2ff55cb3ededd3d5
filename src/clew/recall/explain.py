"""Why is a memory in the answer? The evidence for each chosen one, as reasons. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from clew import native
from clew.model.recalled import Why
from clew.recall.fuse import of_allowed
from clew.recall.run import LONG_TERM, RULE, Run

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Floats = NDArray[np.float32]

FEW = 16  # chosen memories
BROUGHT = ("neighbours", "context")  # what brings a memory into an answer without evidence of its own


def reasons(run: Run, chosen: Sequence[int]) -> list[tuple[Why, ...]]:
    """One tuple per chosen memory: its layer if that put it there, its age if nothing was asked, its words, its
    meaning, its weight."""
    at, evidence = np.array(chosen, np.intp), run.evidence
    by_words, by_meaning = evidence.lexical[at], evidence.cosine[at]
    rows = zip(
        chosen,
        run.corpus.layer[at].tolist(),
        zip(by_words.tolist(), _ranks(evidence.lexical, by_words, run.allowed), run.words[at].tolist(),
            strict=True),
        zip(by_meaning.tolist(), _ranks(evidence.cosine, by_meaning, run.allowed), run.meaning[at].tolist(),
            strict=True),
        run.corpus.weight[at].tolist(),
        strict=True,
    )  # fmt: skip
    asks, beside = bool(run.query.strip()), set(run.beside)
    return [
        tuple(_of_one(run, place, layer, words, meaning, weight, asks=asks, is_beside=place in beside))
        for place, layer, words, meaning, weight in rows
    ]


_Found = tuple[float, int, float]  # by one kind of evidence: how much, which place it has by that, its relevance


def _of_one(
    run: Run, place: int, layer: int, words: _Found, meaning: _Found, weight: float, *, asks: bool, is_beside: bool
) -> Iterator[Why]:
    if layer != LONG_TERM:
        yield Why("rule" if layer == RULE else "working")
    if not asks:  # the newest are the answer
        yield Why("boost", via="recency")
    for source, (raw, rank, relevance) in (("lexical", words), ("semantic", meaning)):
        if raw > 0:
            yield Why(source, rank, round(raw, 6), round(relevance, 6))
    reached = run.reached.get(place)
    if reached:
        yield Why("graph", raw=round(reached.activation, 6), via=reached.seed)
    elif layer != RULE and asks and words[0] <= 0 and run.relevance[place] <= 0:  # no evidence of its own
        yield Why("boost", via=BROUGHT[0] if is_beside else BROUGHT[1])
    if weight != 1.0:
        yield Why("boost", raw=round(weight, 6))


def _ranks(scores: Floats, mine: Floats, allowed: NDArray[np.bool_]) -> list[int]:
    """The place of each chosen memory by one kind of evidence alone, 1 for the best; a score of zero is no
    evidence. To count what is better is cheaper than to sort, as long as few ask."""
    if native.compiled is not None:
        found: list[int] = native.compiled.ranks(scores, allowed, mine)
        return found
    among = of_allowed(scores, allowed)
    if len(mine) <= FEW:
        return [1 + int(np.count_nonzero(among > score)) if score > 0 else 0 for score in mine]
    better = np.sort(among[among >= mine.min(where=mine > 0, initial=np.inf)])
    ranks: list[int] = (len(better) - np.searchsorted(better, mine, side="right") + 1).tolist()
    return ranks

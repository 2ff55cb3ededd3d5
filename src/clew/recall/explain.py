"""Why is a memory in the answer? The evidence for each chosen one, as reasons. Pure."""

from __future__ import annotations

from math import floor
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from clew import native
from clew.model.recalled import NEAREST, Why
from clew.recall.fuse import of_allowed
from clew.recall.run import LONG_TERM, RULE, Run

if TYPE_CHECKING:
    from collections.abc import Sequence

Floats = NDArray[np.float32]

FEW = 16  # chosen memories
# What brings a memory into an answer without evidence of its own: what it stands next to, that the question names
# its author or its day, all that the last look saw, or that little else is there and it is the nearest.
NEIGHBOURS, AUTHOR, DAY, CONTEXT, _NEAREST = BROUGHT = ("neighbours", "author", "day", "context", NEAREST)


def reasons(run: Run, chosen: Sequence[int]) -> list[tuple[Why, ...]]:
    """One tuple per chosen memory: its layer if that put it there, its age if nothing was asked, its words, its
    meaning, its weight."""
    at, evidence = np.array(chosen, np.intp), run.evidence
    by_words, by_meaning = evidence.lexical[at], evidence.cosine[at]
    rows = zip(
        chosen,
        run.corpus.layer[at].tolist(),
        zip(shown(by_words.tolist()), _ranks(evidence.lexical, by_words, run.allowed),
            shown(run.words[at].tolist()), strict=True),
        zip(shown(by_meaning.tolist()), _ranks(evidence.cosine, by_meaning, run.allowed),
            shown(run.meaning[at].tolist()), strict=True),
        run.corpus.weight[at].tolist(),
        strict=True,
    )  # fmt: skip
    asks = bool(run.query.strip())
    return [
        _of_one(run, place, layer, words, meaning, weight, asks=asks)
        for place, layer, words, meaning, weight in rows
    ]


def shown(numbers: list[float], parts: float = 1e6) -> list[float]:
    """As they are told, in whole parts of 1. `round` takes ten times as long."""
    return [floor(number * parts + 0.5) / parts for number in numbers]


_Found = tuple[float, int, float]  # by one kind of evidence: how much, which place it has by that, its relevance


def _of_one(
    run: Run, place: int, layer: int, words: _Found, meaning: _Found, weight: float, *, asks: bool
) -> tuple[Why, ...]:
    found = []
    if layer != LONG_TERM:
        found.append(Why("rule" if layer == RULE else "working"))
    if not asks:  # the newest are the answer
        found.append(Why("boost", via="recency"))
    if words[1]:  # places begin with 1
        found.append(Why("lexical", words[1], words[0], words[2]))
    if meaning[1]:
        found.append(Why("semantic", meaning[1], meaning[0], meaning[2]))
    reached = run.reached.get(place)
    if reached:
        found.append(Why("graph", raw=round(reached.activation, 6), via=reached.seed))
    elif layer != RULE and asks and not words[1] and run.relevance[place] <= 0:  # no evidence of its own
        found.append(Why("boost", via=run.brought.get(place, CONTEXT)))
    if weight != 1.0:
        found.append(Why("boost", raw=round(weight, 6)))
    return tuple(found)


def _ranks(scores: Floats, mine: Floats, allowed: NDArray[np.bool_]) -> list[int]:
    """The place of each chosen memory by one kind of evidence alone, 1 for the best; 0 for a score of zero, which
    is no evidence. To count what is better is cheaper than to sort, as long as few ask."""
    if native.compiled is not None:
        found: list[int] = native.compiled.ranks(scores, allowed, mine)
        return found
    among = of_allowed(scores, allowed)
    if len(mine) <= FEW:
        return [1 + int(np.count_nonzero(among > score)) if score > 0 else 0 for score in mine]
    better = np.sort(among[among >= mine.min(where=mine > 0, initial=np.inf)])
    places = len(better) - np.searchsorted(better, mine, side="right") + 1
    ranks: list[int] = np.where(mine > 0, places, 0).tolist()
    return ranks

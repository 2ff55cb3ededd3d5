"""Two kinds of evidence, two numbers: `relevance` is absolute, `rank_score` orders one list. Pure.

For the order, each kind of evidence is measured in its own standard deviations: a rare word that few memories
have stands far out and decides, words that all have say nothing, and the same holds for meaning. So the weight
of the two follows from what they found. A constant weight on min-max scores lets weak vectors spoil good words.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew import native
from clew.values import dataclass

if TYPE_CHECKING:
    from clew.model.space import VectorSpace
    from clew.recall.corpus import Corpus

Floats = NDArray[np.float32]

# Set by hand, then checked on the labelled pairs of tools/embedder/pairs.jsonl with clew-static: 87 % of the same
# and 4 % of the unrelated pairs reach the floor of 0.4. The best of 672 combinations, on the same pairs: 88 %.
COVERAGE_UNRELATED = 0.25
COVERAGE_SAME = 0.9
# Equal texts may score some 1e-7 apart, depending on where in a matrix they lie; that must not become a rank.
NOISE = 1e-5


@dataclass(frozen=True, eq=False)
class Evidence:
    """What was found, per memory of the corpus. A missing kind of evidence is all zero."""

    lexical: Floats  # BM25
    covered: Floats
    cosine: Floats

    @property
    def any(self) -> NDArray[np.bool_]:
        return (self.lexical > 0) | (self.cosine > 0)

    @cached_property
    def hits(self) -> NDArray[np.intp]:
        """Where a word of the query is. By a comparison: numpy takes ten times as long to find what is not 0."""
        return np.flatnonzero(self.lexical > 0)


class Scale(NamedTuple):
    """What one kind of evidence is measured by; a spread of 0 when nothing stands out."""

    least: float
    spread: float

    def of(self, scores: Floats) -> Floats:
        """How many standard deviations above the least."""
        if not self.spread:
            return np.zeros_like(scores)
        above = scores - np.float32(self.least)
        above /= np.float32(self.spread)
        if above.size and above.min() < 0:  # of what is not allowed
            np.maximum(above, 0, out=above)
        return above


Scales = tuple[Scale, Scale]  # of words, of meaning


class Fused(NamedTuple):
    """What becomes of the evidence, per memory of the corpus."""

    words: Floats  # relevance by words alone
    meaning: Floats  # and by meaning alone
    relevance: Floats
    rank_score: Floats
    scales: Scales  # what the rank score is measured by
    found: int  # living memories that have any evidence
    allowed: int


def fuse(
    evidence: Evidence, allowed: NDArray[np.bool_], corpus: Corpus, space: VectorSpace | None, spread: float | None
) -> Fused:
    """`spread`: that of meaning, if it is known."""
    alive = None if corpus.all_alive else corpus.alive
    if native.compiled is None:
        return _by_arrays(evidence, allowed, alive, corpus.weights, space, spread)
    words, meaning, both, rank_score = np.empty((4, len(allowed)), np.float32)
    unrelated, same = (space.unrelated, space.same) if space else (1.0, 0.0)
    numbers = (COVERAGE_UNRELATED, COVERAGE_SAME, unrelated, same, NOISE, -1.0 if spread is None else spread)
    found, count, *scales = native.compiled.fuse(
        evidence.lexical, evidence.covered, evidence.cosine, allowed, alive, corpus.weights, words, meaning, both,
        rank_score, numbers,
    )  # fmt: skip
    return Fused(words, meaning, both, rank_score, (Scale(*scales[:2]), Scale(*scales[2:])), found, count)


def _by_arrays(
    evidence: Evidence,
    allowed: NDArray[np.bool_],
    alive: NDArray[np.bool_] | None,
    weights: Floats | None,
    space: VectorSpace | None,
    spread: float | None,
) -> Fused:
    found = int(np.count_nonzero(evidence.any if alive is None else evidence.any & alive))
    words, meaning = np.zeros(len(allowed), np.float32), semantic_relevance(evidence.cosine, space)
    both, hits = meaning.copy(), evidence.hits  # only where a word was found do they differ
    words[hits] = lexical_relevance(evidence.covered[hits])
    both[hits] = relevance(words[hits], meaning[hits])
    scales = scales_of(evidence, allowed, spread)
    scores = rank_scores(evidence, allowed, scales)
    scores = scores if weights is None else scores * weights
    return Fused(words, meaning, both, scores, scales, found, int(np.count_nonzero(allowed)))


def lexical_relevance(covered: Floats) -> Floats:
    return _on_scale(covered, COVERAGE_UNRELATED, COVERAGE_SAME)


def semantic_relevance(cosine: Floats, space: VectorSpace | None) -> Floats:
    if space is None:
        return np.zeros_like(cosine)
    return _on_scale(cosine, space.unrelated, space.same)


def _on_scale(evidence: Floats, unrelated: float, same: float) -> Floats:
    """The absolute scale: 0 for unrelated or worse, 1 for the same or better."""
    scaled = evidence - np.float32(unrelated)
    scaled /= np.float32(same - unrelated)
    return np.clip(scaled, 0, 1, out=scaled)


def relevance(words: Floats, meaning: Floats) -> Floats:
    """Either kind of evidence is enough, both together are more: 1 - (1 - a)(1 - b)."""
    left = 1 - words
    left *= 1 - meaning
    return np.subtract(1, left, out=left)


def rank_scores(
    evidence: Evidence, allowed: NDArray[np.bool_], scales: tuple[Scale, Scale] | None = None
) -> Floats:
    """Higher is better and never negative; only the order among `allowed` means anything."""
    words, meaning = scales or scales_of(evidence, allowed)
    scores = meaning.of(evidence.cosine)
    if words.least <= 0:  # most memories have none of the words
        scores[evidence.hits] += words.of(evidence.lexical[evidence.hits])
    else:
        scores += words.of(evidence.lexical)
    scores /= 2
    return scores


def scales_of(evidence: Evidence, allowed: NDArray[np.bool_], spread: float | None = None) -> Scales:
    """Of words and of meaning, among what is allowed. `spread`: that of meaning, if it is known."""
    among = evidence.hits if allowed.all() else evidence.hits[allowed[evidence.hits]]
    words = _scale_of_few(evidence.lexical[among], int(np.count_nonzero(allowed)))
    return words, _scale(evidence.cosine, allowed, spread)


def of_allowed(scores: Floats, allowed: NDArray[np.bool_]) -> Floats:
    """Usually nothing is filtered out, and then there is nothing to copy."""
    return scores if allowed.all() else scores[allowed]


def _scale(scores: Floats, allowed: NDArray[np.bool_], spread: float | None = None) -> Scale:
    among = of_allowed(scores, allowed)
    if not among.size:
        return Scale(0.0, 0.0)
    spread = float(among.std(dtype=np.float64)) if spread is None else spread
    return Scale(float(among.min()), spread if spread >= NOISE else 0.0)


def _scale_of_few(scores: Floats, count: int) -> Scale:
    """Of these scores and as many zeros as are missing to `count`."""
    if not count:
        return Scale(0.0, 0.0)
    mean, squares = float(scores.sum(dtype=np.float64)) / count, np.square(scores, dtype=np.float64).sum() / count
    spread = math.sqrt(max(0.0, float(squares) - mean * mean))
    return Scale(float(scores.min()) if len(scores) == count else 0.0, spread if spread >= NOISE else 0.0)

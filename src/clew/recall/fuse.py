"""Two kinds of evidence, two numbers: `relevance` is absolute, `rank_score` orders one list. Pure.

The weight of the words depends on what they can say: when the best memory covers most of the query's IDF
mass, words decide; when the query shares little with any memory, meaning does. A constant half-and-half
makes weak vectors worse than words alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clew.model.space import VectorSpace

Floats = NDArray[np.float32]

# Calibrated on the labelled pairs of tools/embedder/pairs.jsonl: a lone shared word of an ordinary question
# stays below the floor of 0.4, a matched identifier passes it.
COVERAGE_UNRELATED = 0.25
COVERAGE_SAME = 0.9

WORDS_AT_LEAST = 0.35
WORDS_AT_MOST = 0.75


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """What was found, per memory of the corpus. A missing kind of evidence is all zero."""

    lexical: Floats  # BM25
    covered: Floats
    cosine: Floats

    @property
    def any(self) -> NDArray[np.bool_]:
        return (self.lexical > 0) | (self.cosine > 0)


def lexical_relevance(covered: Floats) -> Floats:
    return np.asarray(
        np.clip((covered - COVERAGE_UNRELATED) / (COVERAGE_SAME - COVERAGE_UNRELATED), 0, 1), np.float32
    )


def semantic_relevance(cosine: Floats, space: VectorSpace | None) -> Floats:
    if space is None:
        return np.zeros_like(cosine)
    return np.asarray(np.clip((cosine - space.unrelated) / (space.same - space.unrelated), 0, 1), np.float32)


def relevance(evidence: Evidence, space: VectorSpace | None) -> Floats:
    """Either kind of evidence is enough, both together are more: 1 - (1 - a)(1 - b)."""
    words = lexical_relevance(evidence.covered)
    meaning = semantic_relevance(evidence.cosine, space)
    return 1 - (1 - words) * (1 - meaning)


def rank_scores(evidence: Evidence, allowed: NDArray[np.bool_], space: VectorSpace | None) -> Floats:
    """Higher is better; only among `allowed`."""
    words = _share_of_best(evidence.lexical, allowed)
    if space is None or not evidence.cosine.any():
        return words
    meaning = _share_of_best(np.maximum(evidence.cosine - space.unrelated, 0), allowed)
    weight = words_weight(evidence.covered, allowed)
    return weight * words + (1 - weight) * meaning


def words_weight(covered: Floats, allowed: NDArray[np.bool_]) -> float:
    """How far to trust the words, by the best coverage any allowed memory reaches."""
    best = float(covered[allowed].max(initial=0.0))
    return WORDS_AT_LEAST + (WORDS_AT_MOST - WORDS_AT_LEAST) * best if best else 0.0


def _share_of_best(scores: Floats, allowed: NDArray[np.bool_]) -> Floats:
    best = float(scores[allowed].max(initial=0.0))
    return scores / np.float32(best) if best > 0 else np.zeros_like(scores)

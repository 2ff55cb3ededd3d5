"""After a first look at the vectors: the best by estimate get their exact cosine, and with it their exact scores.

Where the words of the question put the best well ahead, a rough estimate of their meaning is enough to find them.
Where they do not, meaning decides: then the estimates are made closer first, and more of the best are exact. What
lies further down keeps its estimate. How many that takes is measured by tools/first_look.py.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from clew import native
from clew.recall.fuse import Evidence, rank_scores, relevance, semantic_relevance
from clew.values import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clew.recall.corpus import Corpus
    from clew.recall.outline import Estimate, Outline
    from clew.recall.run import Run

    Floats = NDArray[np.float32]
    Places = NDArray[np.intp]

SURE = 512  # of the best by estimate are exact in any case
CLOSER = 2_048  # of them, where meaning decides
AHEAD = 4.0  # standard deviations by which words decide
FEW = 1_024  # where no more may be answered, all are exact
STRIDE = 32  # every so many scores tell where about the best begin
LOWEST = 11  # of those
NO_LAYER = -1


@dataclass(frozen=True, slots=True, eq=False)
class Rough:
    """Cosines of which most are estimates, and what is needed to make them exact."""

    vector: Floats
    outline: Outline
    estimate: Estimate
    cosine: Floats  # of the whole corpus; the evidence of the run has the same array
    is_exact: NDArray[np.bool_]


def estimated(corpus: Corpus, outline: Outline, vector: Floats) -> Rough:
    """Only the first segment is estimated, and of it not the lowest: everything is measured from the least."""
    base, *others = corpus.segments
    estimate = outline.cosines(vector)
    cosine = estimate.cosine
    low = np.flatnonzero(cosine <= np.partition(cosine[::STRIDE], LOWEST)[LOWEST])
    cosine[low] = base.vectors.cosines(vector, low)
    is_exact = np.zeros(len(corpus.ids), np.bool_)
    is_exact[low] = is_exact[len(base) :] = True
    if others:
        cosine = np.concatenate([cosine, *(segment.vectors.cosines(vector) for segment in others)])
    return Rough(vector, outline, estimate, cosine, is_exact)


def spread_of(rough: Rough, corpus: Corpus, allowed: NDArray[np.bool_]) -> float:
    """The standard deviation that the exact cosines of all that is allowed have. Of few, these are looked up;
    of some, the lowest. They replace estimates and are no more: the scores do not follow before `settle`."""
    size = len(corpus.segments[0])
    if np.count_nonzero(allowed) <= FEW:
        among = np.flatnonzero(allowed)
        return float(_compared(rough, corpus, among).std(dtype=np.float64)) if len(among) else 0.0
    away = np.flatnonzero(~allowed[:size])
    if len(away) > FEW:
        _compared(rough, corpus, top(-rough.cosine, allowed, LOWEST * STRIDE))  # the least is one of them
        return math.sqrt(float(rough.cosine[allowed].var()) + rough.estimate.error**2)
    lost = corpus.segments[0].vectors.cosines(rough.vector, away)
    more = rough.cosine[size:][allowed[size:]]
    count = size - len(lost) + len(more)
    mean = (rough.estimate.total - float(lost.sum()) + float(more.sum())) / count
    squares = (rough.estimate.squares - float(np.square(lost).sum()) + float(np.square(more).sum())) / count
    return math.sqrt(max(0.0, squares - mean * mean))


def settle(run: Run, *, limit: int, sure: int = SURE, closer: int = CLOSER) -> None:
    """Make exact the best of each layer, and all of a layer of which only few may be answered."""
    is_closer = False
    for layer, places in run.corpus.by_layer.items():
        among = run.allowed if places is None else run.allowed & (run.corpus.layer == layer)
        if np.count_nonzero(among) <= FEW:
            make_exact(run, np.flatnonzero(among))
            continue
        best = top(run.rank_score, among, sure + limit)
        if not is_closer and closer and not _decided_by_words(run, best, limit):
            look_closer(run)
            is_closer = True
        make_exact(run, top(run.rank_score, among, closer + limit) if is_closer else best)
        make_exact(run, top(run.evidence.cosine, among, sure // 2 + limit))


def _decided_by_words(run: Run, best: Places, limit: int) -> bool:
    """Whether the words alone put each of the first so far ahead that estimates of their meaning do not matter."""
    first = best[np.argpartition(run.rank_score[best], -min(limit, len(best)))[-limit:]]
    return bool(run.scales[0].of(run.evidence.lexical[first]).min() >= AHEAD)


def look_closer(run: Run) -> None:
    """Better estimates for all that is not exact, by the components that follow the leading ones."""
    rough = _rough(run)
    rest = rough.outline.rest(rough.estimate)
    rest[rough.is_exact[: len(rest)]] = 0
    rough.cosine[: len(rest)] += rest
    _score(run, slice(None))


def make_exact(run: Run, places: Places) -> None:
    """Cosine and scores of these memories as if all of them had been compared."""
    rough = _rough(run)
    places = places[~rough.is_exact[places]]
    if len(places):
        _compared(rough, run.corpus, places)
        _score(run, places)
        rough.is_exact[places] = True


def show_exactly(run: Run, places: Places) -> None:
    """The exact relevance of what is answered; its rank is decided."""
    _compared(_rough(run), run.corpus, places)
    _relate(run, places)


def _relate(run: Run, places: Places | slice) -> None:
    run.meaning[places] = semantic_relevance(run.evidence.cosine[places], run.space)
    run.relevance[places] = relevance(run.words[places], run.meaning[places])


def _score(run: Run, places: Places | slice) -> None:
    """All that follows from a cosine."""
    _relate(run, places)
    cosine = run.evidence.cosine[places]
    evidence = Evidence(run.evidence.lexical[places], run.evidence.covered[places], cosine)
    scores = rank_scores(evidence, run.allowed[places], run.scales)
    run.rank_score[places] = scores if run.corpus.weights is None else scores * run.corpus.weights[places]


def _compared(rough: Rough, corpus: Corpus, places: Places) -> Floats:
    """The exact cosines of these, which from now on stand for the estimates: the scores still have to follow."""
    base = corpus.segments[0]
    estimates = places[~rough.is_exact[places]]  # none of them is beyond the first segment
    rough.cosine[estimates] = base.vectors.cosines(rough.vector, estimates)
    return rough.cosine[places]


def lowest_of_best(scores: NDArray[Any], count: int) -> float:
    """The lowest of so many of the best, of which there are more. A sample tells where to look for it."""
    sample, last = scores[::STRIDE], count // STRIDE + 3
    if len(sample) > last:
        found = scores[scores >= np.partition(sample, -last)[-last]]
        if len(found) >= count:
            scores = found
    return float(np.partition(scores, -count)[-count])


def top(scores: Floats, among: NDArray[np.bool_], count: int) -> Places:
    """About as many as asked for, or more, of the best. A sample tells where they begin."""
    scores = scores if among.all() else np.where(among, scores, np.float32(-np.inf))
    sample = scores[::STRIDE]
    last = count // STRIDE + 3
    if len(sample) > last:
        found = np.flatnonzero(scores >= np.partition(sample, -last)[-last])
        if len(found) <= 4 * count:
            return found
    return np.argpartition(scores, -min(count, len(scores)))[-count:]


def best(
    run: Run, count: int, *, above: float = 0.0, floor: float = 0.0, without: int = NO_LAYER
) -> NDArray[np.int64]:
    """So many of the best that may be answered and whose rank is above a score, in no order; of those that are
    relevant enough and not in one of the layers."""
    if native.compiled is not None:
        found = native.compiled.best(
            run.rank_score, run.allowed, count, above, run.relevance, floor, run.corpus.layer, without,
            run.corpus.row,
        )  # fmt: skip
        return np.frombuffer(found, np.int64)
    among = run.allowed
    if floor or without != NO_LAYER:
        among = among & (run.relevance >= floor) & (run.corpus.layer != without)
    places = np.flatnonzero(among & (run.rank_score > above))
    scores = run.rank_score[places]
    if count and len(places) > count:
        can_win = scores >= lowest_of_best(scores, count)
        places, scores = places[can_win], scores[can_win]
    return places[np.lexsort((run.corpus.row[places], -scores))[:count]]  # of equals the first, wherever they lie


def _rough(run: Run) -> Rough:
    assert run.rough is not None
    return run.rough

"""Which memories are the answer: the best of each layer that have enough evidence. What is cut is counted.

In: a run with both numbers of every memory. Out: the same run with the places that were chosen, best first.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from clew import native
from clew.model.recalled import NEAREST, RecallOptions, Removed, Stage
from clew.recall.explain import shown
from clew.recall.run import LONG_TERM, RULE, WORKING, Run
from clew.recall.settle import lowest_of_best, show_exactly

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

MAX_WORKING = 3
DIGITS = 5  # to which scores are rounded when they are compared
ROUNDED = 10**-DIGITS
SHOWN = 1e-6  # what relevance is told to: a floor that was read from an answer holds that answer
# Candidates with a word or some likeness: from so many on it is known what is asked about, and what the last look
# puts before the last of so many is answered, too. LoCoMo R@10 .849 with 10, .845 with 24: docs/performance.md.
ENOUGH, AMONG = 10, 24
# Up to so many, what is at least so near, as a share of the likeness of unrelated texts, fills the answer. It comes
# after all whose relevance is at least so much. Figures: docs/performance.md.
FILLED, FAINT, SURE = 10, 0.5, 0.4
NOWHERE = np.empty(0, np.intp)


class _Layer(NamedTuple):
    """What of one layer may be answered."""

    places: NDArray[np.intp] | None  # of all its memories; None: it has all there are
    is_enough: NDArray[np.bool_]  # of each of these, whether it may be answered and has enough evidence
    open: int  # may be answered
    found: int  # and have enough evidence


_NOTHING = _Layer(NOWHERE, np.empty(0, np.bool_), 0, 0)


def choose(run: Run, rules_limit: int, started: float, *, times: int = 1) -> None:
    """Rules first, then working, then long-term; what is cut is counted. `times` as many of each, for whoever
    leaves some of them out."""
    limit = run.options.limit * times
    hits = _hits(run) if run.query.strip() else None
    asked = {layer: _enough(run, layer, hits) for layer in asked_layers(run.options)}
    rules = _best(run, asked.get(RULE), rules_limit * times)
    working = _best(run, asked.get(WORKING), min(MAX_WORKING * times, limit))
    long_term = _best(run, asked.get(LONG_TERM), max(1, limit - len(working)), hits)
    run.chosen = rules + working + long_term
    if run.rough is not None:
        show_exactly(run, np.array(run.chosen, np.intp))
    counts = [
        int(np.count_nonzero(run.allowed)),
        sum(layer.open for layer in asked.values()),
        sum(layer.found for layer in asked.values()),
    ]
    too_little = "below the floor" if run.options.floor else "no evidence"
    cuts = zip(("layer", too_little, "beyond the limit"), counts, [*counts[1:], len(run.chosen)], strict=True)
    removed = [Removed(reason, into - out) for reason, into, out in cuts if into > out]
    run.stages.append(stage("rank", counts[0], len(run.chosen), removed, started))


def _hits(run: Run) -> NDArray[np.bool_]:
    """A shared word or some likeness, and the floor if one is asked for. Before enough that have that, the
    last look may put others; where few have it, and no floor is asked for, the nearest fill the answer."""
    hits = np.empty(len(run.relevance), np.bool_)
    if native.compiled is None:
        np.greater(run.evidence.lexical + run.relevance, 0, out=hits)  # neither is ever below 0
    else:
        native.compiled.hits(run.evidence.lexical, run.relevance, hits)
    if run.reached:
        hits[list(run.reached)] = True
    if run.brought:
        hits[list(run.brought)] = True
    known = 0
    if run.refined is not None:
        scores = run.rank_score.take(run.refined)
        own = scores[hits.take(run.refined)]
        known = len(own)
        if known >= ENOUGH:
            last = min(known, AMONG)
            before = run.refined[scores >= np.partition(own, -last)[-last]]
            is_long_term = run.corpus.layer.take(before) == LONG_TERM  # working ones would come first for nothing
            hits[before[is_long_term]] = True
    if run.options.floor > 0:
        hits &= run.relevance >= run.options.floor - SHOWN / 2
    elif run.space is not None and known < FILLED:
        nearest = _nearest(run, hits, least=max(ROUNDED, FAINT * run.space.unrelated))
        hits[nearest] = True
        run.brought |= dict.fromkeys(nearest, NEAREST)
    return hits


def _nearest(run: Run, hits: NDArray[np.bool_], *, least: float) -> list[int]:
    """The best without evidence, as many as are missing: who asks in other words than were written is answered
    by what is nearest, with a relevance of 0. In a large scope there is always enough else."""
    places = np.flatnonzero(run.allowed) if run.refined is None else run.refined[run.allowed.take(run.refined)]
    places = places[run.corpus.layer.take(places) == LONG_TERM]
    missing = FILLED - int(np.count_nonzero(hits.take(places)))
    if missing <= 0:
        return []
    near = places[(run.evidence.cosine.take(places) >= least) & ~hits.take(places)]
    best = np.lexsort((run.corpus.row.take(near), -run.rank_score.take(near)))
    found: list[int] = near[best[:missing]].tolist()
    if found:
        is_sure = hits.take(places) & (run.relevance.take(places) >= SURE)
        below = run.rank_score.take(places[is_sure]).min(initial=np.inf) - 2 * ROUNDED
        run.rank_score[found] -= max(0.0, float(run.rank_score[found[0]] - below))  # all alike: their order stays
    return found


def _enough(run: Run, layer: int, hits: NDArray[np.bool_] | None) -> _Layer:
    """Rules always have enough evidence."""
    places = run.corpus.by_layer.get(layer, NOWHERE)
    if places is not None and not len(places):
        return _NOTHING
    is_open = run.allowed if places is None else run.allowed[places]
    count = found = int(np.count_nonzero(is_open))
    if hits is not None and layer != RULE:
        is_open = is_open & (hits if places is None else hits[places])
        found = int(np.count_nonzero(is_open))
    return _Layer(places, is_open, count, found)


def asked_layers(options: RecallOptions) -> list[int]:
    layers = {"all": [WORKING, LONG_TERM], "working": [WORKING], "long_term": [LONG_TERM], "rules_only": []}
    with_rules = options.rules and options.mode in ("all", "rules_only")
    return layers[options.mode] + ([RULE] if with_rules else [])


def _best(run: Run, layer: _Layer | None, limit: int, hits: NDArray[np.bool_] | None = None) -> list[int]:
    """By rank score, then relevance, then the newest. Compared rounded, so that equal texts are equal whatever
    their last bit says; the scores themselves stay as they are. `hits`: of long-term ones, see `_refined`."""
    if not limit or layer is None or not layer.found:
        return []
    has_query, ids = bool(run.query.strip()), run.corpus.ids
    found = None if hits is None else _refined(run, hits, limit)
    if found is None:
        found = np.flatnonzero(layer.is_enough) if layer.places is None else layer.places[layer.is_enough]
    key = (run.rank_score if has_query else run.corpus.updated_at).take(found)
    if len(found) > limit:  # sort only what can win, ties included
        can_win = key >= lowest_of_best(key, limit) - (2 * ROUNDED if has_query else 0)
        found, key = found[can_win], key[can_win]
    first = rounded(key.tolist()) if has_query else key.tolist()
    relevance, updated = rounded(run.relevance.take(found).tolist()), run.corpus.updated_at.take(found).tolist()
    rows = zip(first, relevance, updated, found.tolist(), strict=True)
    best = sorted([(-score, -relevant, -at, ids[place], place) for score, relevant, at, place in rows])
    return [row[-1] for row in best[:limit]]


def rounded(scores: list[float]) -> list[float]:
    """As they are compared, and shown."""
    return shown(scores, 10.0**DIGITS)


def _refined(run: Run, hits: NDArray[np.bool_], limit: int) -> NDArray[np.int64] | None:
    """The long-term candidates of the last look that may be answered, where nothing else can be among the best: a
    look at a hundred memories instead of all."""
    if run.refined is None:
        return None
    places = run.refined
    found = places[hits.take(places) & run.allowed.take(places) & (run.corpus.layer.take(places) == LONG_TERM)]
    others = run.least_refined + 2 * ROUNDED  # what equals it when rounded would have to be compared
    return found if np.count_nonzero(run.rank_score.take(found) > others) >= limit else None


def stage(name: str, into: int, out: int, removed: Iterable[Removed] = (), started: float | None = None) -> Stage:
    ms = (time.perf_counter() - started) * 1000 if started is not None else 0.0
    return Stage(name, into, out, tuple(removed), ms)

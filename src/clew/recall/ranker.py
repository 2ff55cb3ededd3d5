"""The last look at the best candidates: what stands around them, who said them, when, and what leads to them.

In: a run whose memories are scored and whose graph was walked. Out: the same with the best candidates in another
order. Each number of `features.py` has a weight, and small trees say what a sum cannot (`trees.py`); both were
learnt by `clew bench learn` from files of questions with known answers, and stand in ranker.json. `relevance` stays
what it is. Nothing is admitted by its score here; what stands next to the words that were asked for may come in
without a word of its own.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from clew import native
from clew.recall.among import are_among
from clew.recall.analyse import hash_term
from clew.recall.explain import AUTHOR, DAY, NEIGHBOURS
from clew.recall.features import NAMES, PLACE, features
from clew.recall.keys import keys_in
from clew.recall.question import span_of
from clew.recall.run import LONG_TERM
from clew.recall.settle import best, lowest_of_best, make_exact
from clew.recall.tools import kind_terms
from clew.recall.trees import Trees
from clew.values import dataclass

if TYPE_CHECKING:
    from clew.recall.question import Asked
    from clew.recall.run import Run

CANDIDATES = 96
NAMED = 16  # of whom the question names, and of its day
LEAST = 24  # memories: in a scope of fewer there is nothing to measure anything by
# A weight of 2 that feedback gave a memory counts as much as this many units of the model's score.
PER_DOUBLING = 2.0
BESIDE = 0.1  # of what the words of a question can give: said around a memory, it brings that into the answer
AROUND = 5  # of the best that have evidence of their own: what was said just before and after them comes in, too
_APART = 1e-3
_BRINGS = [PLACE[name] for name in ("window", "author", "day")]
_PER_HALF = math.log(2) / PER_DOUBLING
_NAMES_ONE = re.compile(r"\d|\w[_./:#@\\]\w|[a-z][A-Z]")
WHOLE = 0.999  # of the weight of a question's words
AHEAD = 0.85  # what the next may have of the words' score of an exact match


@dataclass(frozen=True, slots=True)
class RankOptions:
    """Which refinements are on: what the settings say."""

    refine: bool = True
    neighbours: bool = True
    threads: bool = True
    authors: bool = True
    times: bool = True
    titles: bool = True
    hops: bool = True


# What each refinement looks at; every other feature is of the memory itself.
REFINEMENTS: Mapping[str, tuple[str, ...]] = {
    "neighbours": ("window", "words_before", "words_after", "meaning_before", "meaning_after", "asks",
                   "ends_asking", "answers", "answers_words", "answers_meaning", "manner_before"),
    "threads": ("thread_best", "thread_mass"),
    "authors": ("author", "other_author", "assistant", "assistant_words", "assistant_meaning", "assistant_replies",
                "assistant_asked", "manner_assistant"),
    "times": ("tells_time", "month", "day"),
    "titles": ("title", "title_whole"),
    "hops": ("title_said", "says_title",
             *(f"{name}{kind}" for kind in ("", "_in_thread")
               for name in ("bridge", "complement", "hop", "hop_root", "activation_complementing"))),
}  # fmt: skip

# Of the weight of a question's words the best candidate has at least so much, or it leads nowhere: what is next to
# the nearest of what was not found is next to anything.
LEADS = 0.3
_HOPS = [PLACE[name] for name in REFINEMENTS["hops"]]


@dataclass(frozen=True, slots=True)
class Ranked:
    """The candidates as places, and their features: a row for each of `features.NAMES`."""

    places: NDArray[np.int64]
    features: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Model:
    """What ranker.json holds: a weight per feature, in the order of `features.NAMES`, and trees over the same."""

    weights: NDArray[np.float64]
    trees: Trees

    def scores(self, features: NDArray[np.float32]) -> NDArray[np.float64]:
        """(features, candidates) -> one number per candidate."""
        if native.compiled is None:
            found: NDArray[np.float64] = self.weights @ features.astype(np.float64) + self.trees.scores(features.T)
            return found
        scores, trees = np.empty(features.shape[1]), self.trees
        native.compiled.model(
            features, self.weights, trees.columns, trees.thresholds, trees.gives, trees.depth, scores
        )
        return scores


@cache
def model() -> Model:
    told = json.loads(Path(__file__).with_name("ranker.json").read_text(encoding="utf-8"))
    return Model(np.array([told["weights"][name] for name in NAMES]), Trees.read(told["trees"], NAMES))


@cache
def switched_off(options: RankOptions) -> list[int]:
    """Which features count as 0, by their place in the model."""
    off = {name for group, names in REFINEMENTS.items() if not getattr(options, group) for name in names}
    return [at for at, name in enumerate(NAMES) if name in off]


def is_refined(run: Run) -> bool:
    """By meaning, of a scope that is not tiny; where that is missing, words decide, unless the question says whose
    words or which day it is after."""
    is_known = run.asked is not None and bool(run.asked.authors or run.asked.dates)
    has_meaning = run.scales[1].spread > 0 or is_known
    is_asked = run.options.retrieval == "hybrid" and bool(run.query.strip())
    return is_asked and has_meaning and run.corpus.living >= LEAST


def look_at(run: Run, asked: Asked) -> Ranked:
    """The best candidates and everything that speaks for or against them."""
    places = _candidates(run)
    if run.rough is not None:
        before, after = run.corpus.neighbours
        near = np.concatenate((places, before[places], after[places]))
        make_exact(run, near[near >= 0])
    places = best_first(run, places)
    found = features(run, asked, places, run.matches)
    if run.evidence.covered.take(places).max(initial=0) < LEADS:
        found[_HOPS] = 0
    return Ranked(places, found)


def best_first(run: Run, places: NDArray[np.int64]) -> NDArray[np.int64]:
    """By words and meaning; equals as they were written down, wherever they lie."""
    if native.compiled is not None:
        ordered, (words, meaning) = places.astype(np.int64), run.scales
        native.compiled.order(
            ordered, run.evidence.lexical, run.evidence.cosine, run.corpus.row, (*words, *meaning)
        )
        return ordered
    base = run.scales[0].of(run.evidence.lexical[places]) + run.scales[1].of(run.evidence.cosine[places])
    return places[np.lexsort((run.corpus.row[places], np.round(-base, 4)))]


def refine(run: Run, asked: Asked, options: RankOptions) -> None:
    """Put the best candidates into the order that the model gives them; what is no candidate comes after them."""
    looked = look_at(run, asked)
    if not len(looked.places):
        return
    window, author, day = looked.features[_BRINGS]
    if off := switched_off(options):
        looked.features[off] = 0
    score = model().scores(looked.features)
    if (named := _of_kind(run, looked.places)) is not None:
        score[named] += np.ptp(score) + 1
    if (exact := _exact(run, looked.places)) is not None:
        score[exact] = score.max() + 1
    if run.corpus.weights is not None:
        score += PER_DOUBLING * np.log2(np.maximum(run.corpus.weights[looked.places], 1e-6))
    _put(run, looked.places, score)
    if options.neighbours:
        near = [*looked.places[window >= BESIDE].tolist(), *_around_the_best(run, looked.places, score)]
        run.brought |= dict.fromkeys(near, NEIGHBOURS)
    if options.times and asked.dates:
        run.brought |= dict.fromkeys(_long_term(run, looked.places[day > 0]), DAY)
    if options.authors and asked.authors:
        run.brought |= dict.fromkeys(_long_term(run, looked.places[author > 0]), AUTHOR)


def _around_the_best(run: Run, places: NDArray[np.int64], score: NDArray[np.float64]) -> list[int]:
    """What stands next to the best of those that have a word or some likeness."""
    if not run.corpus.is_threaded:
        return []
    has_own = run.evidence.lexical.take(places) + run.relevance.take(places) > 0
    best = places[has_own][score[has_own].argsort(kind="stable")[::-1][:AROUND]]
    before, after = run.corpus.neighbours
    return [at for at in (*before.take(best).tolist(), *after.take(best).tolist()) if at >= 0]


def _long_term(run: Run, places: NDArray[np.int64]) -> list[int]:
    """Working ones would come first for little."""
    found: list[int] = places[run.corpus.layer.take(places) == LONG_TERM].tolist()
    return found


def _exact(run: Run, places: NDArray[np.int64]) -> int | None:
    """The one candidate that has every word of a question that names a ticket, a version or an identifier, or alone
    has the key of the ticket, well ahead of all others by words: that is the one, however alike the others are."""
    if not _NAMES_ONE.search(run.query):
        return None
    words, covered = run.evidence.lexical[places], run.evidence.covered[places]
    first = int(words.argmax())
    others = np.delete(words, first)
    is_ahead = words[first] * AHEAD >= others.max(initial=0)
    is_meant = is_ahead and (covered[first] >= WHOLE or _alone_has_key(run, int(places[first])))
    return first if is_meant else None


def _alone_has_key(run: Run, place: int) -> bool:
    """Of what may be answered: "why did OPS-42 happen to the customers" is about OPS-42, whatever else is said of
    customers."""
    keys = np.array([hash_term(key) for key in keys_in(run.query)], np.uint32)
    having = run.matches.docs[are_among(run.matches.terms, keys)[run.matches.owner]]
    found: bool = having[run.allowed[having]].tolist() == [place]
    return found


def _of_kind(run: Run, places: NDArray[np.int64]) -> NDArray[np.bool_] | None:
    """Where a question asks for a kind of tool: what names one, or says everything else that is asked."""
    terms, weights, owner, docs, _given = run.matches
    if kind_terms().isdisjoint(terms.tolist()):
        return None
    is_kind = are_among(terms, np.array([*kind_terms()], np.uint32))
    names_one = are_among(places, docs[is_kind[owner]])
    said = run.evidence.covered[places] >= WHOLE - weights[is_kind].sum() / weights.sum()
    found: NDArray[np.bool_] = names_one | said
    return found


def _put(run: Run, places: NDArray[np.int64], score: NDArray[np.float64]) -> None:
    """Between the best score that there was and that of the best that is no candidate, whose order stays."""
    if native.compiled is None:
        _spread(run, places, score)
    else:
        native.compiled.put(run.rank_score, places, score, run.least_refined, _PER_HALF, _APART)
    run.refined = places


def _spread(run: Run, places: NDArray[np.int64], score: NDArray[np.float64]) -> None:
    """The same without what is compiled."""
    least = run.least_refined
    best = max(float(run.rank_score.take(places).max()), least * (1 + _APART), _APART)
    spread = np.exp((score - score.max()) * _PER_HALF)
    run.rank_score[places] = spread * (best - least) + least


def _candidates(run: Run) -> NDArray[np.int64]:
    """The best by words, meaning and the graph, and whatever the graph led to: as many however many are asked for,
    so that the first of many are the first of few. Notes what the others are below."""
    found = best(run, CANDIDATES)
    run.least_refined = float(run.rank_score[found].min(initial=np.inf)) if len(found) >= CANDIDATES else 0.0
    named = _named(run, found) if run.asked and (run.asked.authors or run.asked.dates) else []
    if not run.reached and not named:
        return found
    known = set(found.tolist())
    more = dict.fromkeys(at for at in (*run.reached, *named) if at not in known)
    return np.append(found, [*more]).astype(np.int64, copy=False)


def _named(run: Run, found: NDArray[np.int64]) -> list[int]:
    """The best of those whom the question names, and of the day that it is about, whatever they say: where few of
    them are among what was found."""
    corpus, asked = run.corpus, run.asked
    assert asked is not None
    authors, spans = [*asked.authors], [*filter(None, map(span_of, asked.dates))]
    if np.count_nonzero(_is_named(corpus.author.take(found), corpus.valid_at.take(found), authors, spans)) >= NAMED:
        return []
    places = np.flatnonzero(_is_named(corpus.author, corpus.valid_at, authors, spans) & run.allowed)
    scores = run.rank_score[places]
    if len(places) > NAMED:
        can_win = scores >= lowest_of_best(scores, NAMED)
        places, scores = places[can_win], scores[can_win]
    ordered: list[int] = places[np.lexsort((corpus.row[places], -scores))[:NAMED]].tolist()
    return ordered


def _is_named(
    author: NDArray[np.uint32], at: NDArray[np.int64], authors: list[int], spans: list[tuple[int, int]]
) -> NDArray[np.bool_]:
    is_named = np.zeros(len(author), np.bool_)
    for one in authors:
        is_named |= author == one
    for first, last in spans:
        is_named |= (at >= first) & (at < last)
    return is_named

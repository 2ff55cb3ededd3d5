"""What speaks for a candidate besides its own words and meaning, as numbers: one row per candidate. Pure.

In: a run that is scored, its best candidates, what the question says, the terms of the first few of them.
Everything here looks at the candidates and at what stands next to them in their threads, never at a whole scope.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from clew.recall.analyse import query_terms
from clew.recall.common import weight_of
from clew.recall.lexical import K1, frequency, postings
from clew.recall.marks import ASKS, ENDS_ASKING, MARKS, TELLS_TIME
from clew.recall.question import ASSISTANTS

if TYPE_CHECKING:
    from clew.recall.corpus import Corpus
    from clew.recall.question import Asked, Date
    from clew.recall.run import Run

Floats = NDArray[np.float32]
Places = NDArray[np.int64]

HOPS_FROM = 5  # candidates whose other words lead on
RARE_TERMS = 16  # of each of them
RARE = 0.02  # share of the scope, at most, that has a rare term; or so many memories
RARE_COUNT = 20
BRIDGE = 16.0  # the weight of about two rare words
_ASSISTANTS = frozenset(
    crc32(spelled.encode()) for name in ASSISTANTS for spelled in (name, name.capitalize(), name.upper())
)


class Looked(NamedTuple):
    """Candidates and what stands next to them, as places of small arrays whose last entry stands for nothing."""

    places: Places  # in the corpus, of everything looked at, rising
    own: Places  # where each candidate stands among these
    before: Places
    after: Places
    further: tuple[Places, Places]
    slots: NDArray[np.int32]  # from places of the corpus to these, -1 for others


def look_around(corpus: Corpus, allowed: NDArray[np.bool_], candidates: Places) -> Looked:
    """Next to a candidate stands what may be answered, too: nothing that is forgotten, over or filtered out."""
    before, after = corpus.neighbours
    first, last = _open(before[candidates], allowed), _open(after[candidates], allowed)
    around = (first, last, _open(before[first], allowed), _open(after[last], allowed))
    places = np.unique(np.concatenate((candidates, *around)))
    places = places[places >= 0]
    slots = np.full(len(corpus.ids) + 1, -1, np.int32)
    slots[places] = np.arange(len(places), dtype=np.int32)
    own, *near = (slots[where].astype(np.int64) for where in (candidates, *around))
    return Looked(places, own, near[0], near[1], (near[2], near[3]), slots)


def _open(places: Places, allowed: NDArray[np.bool_]) -> Places:
    return np.where((places >= 0) & allowed[places], places, -1)


class Words(NamedTuple):
    """What each term of the question gives to each memory that is looked at."""

    weights: Floats  # per term
    given: Floats  # (terms, looked at + 1), weighted


def words_of(corpus: Corpus, terms: NDArray[np.uint32], looked: Looked) -> Words:
    often = [frequency(corpus, term) for term in terms.tolist()]
    weights = _weights(corpus, terms, often)
    given = np.zeros((len(terms), len(looked.places) + 1), np.float32)
    for row, place, count in _entries(corpus, terms, looked):
        part = np.float32(K1 + 1) * count / (count + corpus.length_norm[looked.places[place]])
        given[row, place] = weights[row] * part
    return Words(weights, given)


def _weights(corpus: Corpus, terms: NDArray[np.uint32], often: Sequence[int]) -> Floats:
    found = zip(terms.tolist(), often, strict=True)
    return np.array([weight_of(term, corpus.count, count) for term, count in found], np.float32)


def _often(corpus: Corpus, terms: NDArray[np.uint32]) -> NDArray[np.int64]:
    """In how many memories each term is."""
    counts = [segment.postings.where(terms)[1] for segment in corpus.segments]
    return np.asarray(np.sum(counts, axis=0), np.int64)


def _entries(
    corpus: Corpus, terms: NDArray[np.uint32], looked: Looked
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int32], Floats]]:
    """By segment: which of the terms is in which of the memories that are looked at, and how often."""
    start = 0
    for segment in corpus.segments:
        postings = segment.postings
        owner, at = postings.at(*postings.where(terms))
        slots = looked.slots[postings.docs[at] + start]
        here = np.flatnonzero(slots >= 0)
        yield owner[here], slots[here], postings.counts[at[here]]
        start += len(segment)


def features(
    run: Run, asked: Asked, candidates: Places, terms: Sequence[int], seed_terms: Sequence[NDArray[np.uint32]]
) -> dict[str, Floats]:
    """By name, each aligned with the candidates, which come by words and meaning, best first. `seed_terms`: the
    terms of the first of them."""
    corpus = run.corpus
    looked, asked_for = look_around(corpus, run.allowed, candidates), np.array(terms, np.uint32)
    words = words_of(corpus, asked_for, looked)
    by_words = _padded(run.scales[0].of(words.given[:, :-1].sum(0)))
    by_meaning = _padded(run.scales[1].of(run.evidence.cosine[looked.places]))
    activation = np.array([run.reached[at].activation if at in run.reached else 0 for at in candidates.tolist()],
                          np.float32)  # fmt: skip
    found = _own(run, candidates, looked, words, by_words, by_meaning)
    found |= _around(corpus, looked, words, by_words, by_meaning)
    base = by_words[looked.own] + by_meaning[looked.own]
    found |= _thread(corpus, candidates, base)
    found |= _said_by(corpus, asked, candidates, found)
    found |= _time(corpus, asked, candidates)
    found |= _title(corpus, candidates, frozenset(query_terms(run.query)))
    hops = _hops(corpus, looked, words, base, asked_for, seed_terms)
    found |= _leads(activation, found, hops)
    return found | _in_threads(corpus, candidates, found)


def _leads(activation: Floats, found: dict[str, Floats], hops: dict[str, Floats]) -> dict[str, Floats]:
    """What leads to a candidate: the graph, and words that it shares with others."""
    best = max(1e-6, float(activation.max(initial=0)))
    return hops | {
        "activation": activation,
        "activation_relative": activation / np.float32(best),
        "activation_covering": activation * found["covered"],
        "activation_complementing": activation * hops["complement"],
    }


# What means something else of a turn of a conversation, which shares words with its neighbours, than of a memory
# that stands by itself.
OF_BOTH_KINDS = ("words", "words_share", "words_relative", "covered", "meaning", "meaning_relative", "length",
                 "bridge", "complement", "hop", "hop_root", "activation", "activation_relative",
                 "activation_covering", "activation_complementing")  # fmt: skip


def _in_threads(corpus: Corpus, candidates: Places, found: dict[str, Floats]) -> dict[str, Floats]:
    in_thread = (corpus.thread[candidates] != 0).astype(np.float32)
    return {f"{name}_in_thread": found[name] * in_thread for name in OF_BOTH_KINDS}


def _padded(scores: Floats) -> Floats:
    """With an entry for nothing at the end, where -1 points to."""
    return np.append(scores, np.float32(0))


def _own(
    run: Run, candidates: Places, looked: Looked, words: Words, by_words: Floats, by_meaning: Floats
) -> dict[str, Floats]:
    own, total = looked.own, np.float32(max(1e-6, float(words.weights.sum())))
    lexical = words.given[:, own].sum(0)
    covered = ((words.given[:, own] > 0) * words.weights[:, None]).sum(0) / total
    most_words, most_meaning = (max(1e-6, float(scores[own].max(initial=0))) for scores in (by_words, by_meaning))
    return {
        "words": by_words[own],
        "words_share": lexical / (total * np.float32(K1 + 1)),
        "words_relative": by_words[own] / np.float32(most_words),
        "covered": covered.astype(np.float32),
        "meaning": by_meaning[own],
        "meaning_relative": by_meaning[own] / np.float32(most_meaning),
        "meaning_absolute": run.meaning[candidates],
        "length": np.log1p(run.corpus.length[candidates]) - np.float32(np.log1p(run.corpus.mean_length)),
    }


def _around(
    corpus: Corpus, looked: Looked, words: Words, by_words: Floats, by_meaning: Floats
) -> dict[str, Floats]:
    """Neighbouring turns: what was said just before and after belongs to what was said."""
    near = (looked.own, looked.before, looked.after, *looked.further)
    window = np.maximum.reduce([words.given[:, at] for at in near]).sum(0)
    total = max(1e-6, float(words.weights.sum()) * (K1 + 1))
    asks, ends_asking = (_marked(corpus, mark, looked) for mark in (ASKS, ENDS_ASKING))
    answers = asks[looked.before]
    return {
        "window": window / np.float32(total),
        "words_before": by_words[looked.before],
        "words_after": by_words[looked.after],
        "meaning_before": by_meaning[looked.before],
        "meaning_after": by_meaning[looked.after],
        "asks": asks[looked.own],
        "ends_asking": ends_asking[looked.own],
        "answers": answers,
        "answers_words": answers * by_words[looked.before],
        "answers_meaning": answers * by_meaning[looked.before],
    }


def _marked(corpus: Corpus, mark: int, looked: Looked) -> Floats:
    slots = looked.slots[postings(corpus, mark)[0]]
    marked = np.zeros(len(looked.places) + 1, np.float32)
    marked[slots[slots >= 0]] = 1
    return marked


def _thread(corpus: Corpus, candidates: Places, base: Floats) -> dict[str, Floats]:
    """A thread in which much was found is more likely the one that is asked about."""
    thread = corpus.thread[candidates]
    if not thread.any():
        return {"thread_best": np.zeros_like(base), "thread_mass": np.zeros_like(base)}
    _names, at = np.unique(thread, return_inverse=True)
    best, mass = np.zeros(len(_names), np.float32), np.zeros(len(_names), np.float32)
    np.maximum.at(best, at, base)
    np.add.at(mass, at, np.square(base - base.min(initial=np.inf)))
    has_thread = (thread != 0).astype(np.float32)
    return {"thread_best": has_thread * best[at], "thread_mass": has_thread * np.sqrt(mass[at])}


def _said_by(corpus: Corpus, asked: Asked, candidates: Places, found: dict[str, Floats]) -> dict[str, Floats]:
    author = corpus.author[candidates].tolist()
    by_named = np.array([name in asked.authors for name in author], np.float32)
    by_other = 1 - by_named if asked.authors else np.zeros_like(by_named)
    assistant = np.array([name in _ASSISTANTS for name in author], np.float32)
    before = found["words_before"] + found["meaning_before"]
    return {
        "author": by_named,
        "other_author": by_other,
        "assistant": assistant,
        "assistant_words": assistant * found["words"],
        "assistant_meaning": assistant * found["meaning"],
        "assistant_replies": assistant * before,
        "assistant_asked": assistant * np.float32(asked.of_agent),
    }


def _time(corpus: Corpus, asked: Asked, candidates: Places) -> dict[str, Floats]:
    zero = np.zeros(len(candidates), np.float32)
    tells = zero
    if asked.about_time:
        tells = np.isin(candidates, postings(corpus, TELLS_TIME)[0]).astype(np.float32)
    month, day = (zero, zero) if not asked.dates else _near_dates(corpus.valid_at[candidates], asked.dates)
    return {"tells_time": tells, "month": month, "day": day}


def _near_dates(at: NDArray[np.int64], dates: Sequence[Date]) -> tuple[Floats, Floats]:
    """Whether each moment lies in a month that is asked about, and within a day of a day that is."""
    days = at.astype("datetime64[us]").astype("datetime64[D]")
    near = [_calendar(days + off) for off in (0, -1, 1)]
    in_month, in_day = np.zeros((2, len(at)), np.bool_)
    for date in dates:
        hits = [(month == date.month) & (date.year is None or year == date.year) for year, month, _day in near]
        in_month |= hits[0]
        for hit, (_year, _month, day) in zip(hits, near, strict=True):
            in_day |= hit & (day == date.day)
    return in_month.astype(np.float32), in_day.astype(np.float32)


def _calendar(days: NDArray[np.datetime64]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Year, month and day."""
    months = days.astype("datetime64[M]")
    number = months.astype(np.int64)
    return number // 12 + 1970, number % 12 + 1, (days - months.astype("datetime64[D]")).astype(np.int64) + 1


def _title(corpus: Corpus, candidates: Places, asked: frozenset[int]) -> dict[str, Floats]:
    """How much of a memory's title the question names: all of it is as good as a name."""
    titles = corpus.titles
    if titles is None:
        return {
            "title": np.zeros(len(candidates), np.float32),
            "title_whole": np.zeros(len(candidates), np.float32),
        }
    share = np.array([_share_named(titles[at], asked) for at in candidates.tolist()], np.float32)
    return {"title": share, "title_whole": (share > 0.999).astype(np.float32)}


def _share_named(title: str, asked: frozenset[int]) -> float:
    if not title:
        return 0.0
    terms = _title_terms(title)
    return len(terms & asked) / len(terms) if terms else 0.0


@lru_cache(8_192)
def _title_terms(title: str) -> frozenset[int]:
    return frozenset(query_terms(title))


def _hops(
    corpus: Corpus,
    looked: Looked,
    words: Words,
    base: Floats,
    terms: NDArray[np.uint32],
    seed_terms: Sequence[NDArray[np.uint32]],
) -> dict[str, Floats]:
    """From one of the best by rare words that both have, to what says the rest of what is asked."""
    own, has = looked.own, words.given > 0
    total = max(1e-6, float(words.weights.sum()))
    best = max(1e-6, float(base.max(initial=0)))
    seeds = np.arange(len(seed_terms))  # candidates are in the order of their base
    share = (base[seeds] / np.float32(best))[:, None]
    shared = np.minimum(_shared(corpus, seed_terms, terms, looked)[:, own] / np.float32(BRIDGE), np.float32(2))
    shared[seeds, seeds] = 0
    missing = ~has[:, own[seeds]] * words.weights[:, None]  # (terms, seeds)
    rest = (missing.T @ has[:, own].astype(np.float32)) / np.float32(total)
    both = shared * rest
    found = {"bridge": shared, "complement": rest, "hop": both, "hop_root": np.sqrt(both)}
    return {name: (share * of).max(axis=0, initial=0) for name, of in found.items()}


def _shared(
    corpus: Corpus, seed_terms: Sequence[NDArray[np.uint32]], terms: NDArray[np.uint32], looked: Looked
) -> Floats:
    """(seeds, looked at + 1): the weight of the rare terms that each memory has in common with each seed."""
    size = len(looked.places) + 1
    found = np.concatenate([*seed_terms, np.empty(0, np.uint32)])
    seed = np.arange(len(seed_terms)).repeat([len(of) for of in seed_terms])
    count = _often(corpus, found)
    rare = np.flatnonzero((count >= 2) & (count <= max(RARE_COUNT, RARE * corpus.count)))
    known = MARKS.union(terms.tolist())
    chosen: list[int] = []
    for at in range(len(seed_terms)):
        own = rare[seed[rare] == at]
        by_count = own[count[own].argsort(kind="stable")][: RARE_TERMS + len(known)]
        wanted = [place for place, term in zip(by_count.tolist(), found[by_count].tolist(), strict=True)
                  if term not in known]  # fmt: skip
        chosen += wanted[:RARE_TERMS]
    weights = _weights(corpus, found[chosen], count[chosen].tolist())
    given = np.zeros(len(seed_terms) * size, np.float64)
    for row, slot, _count in _entries(corpus, found[chosen], looked):
        given += np.bincount(seed[chosen][row] * size + slot, weights[row], len(given))
    return given.reshape(len(seed_terms), size).astype(np.float32)

"""What speaks for a candidate besides its own words and meaning, as numbers: one row per candidate. Pure.

In: a run that is scored, its best candidates, what the question says. Everything here looks at the candidates and
at what stands next to them in their threads, never at a whole scope.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from clew import native
from clew.recall.analyse import query_terms
from clew.recall.clauses import by_clause, parts_of
from clew.recall.common import BACKGROUND, common_arrays, weights_of
from clew.recall.lexical import K1, Matches
from clew.recall.marks import ASKS, ENDS_ASKING, MARKS, TELLS_TIME
from clew.recall.question import ASSISTANTS

if TYPE_CHECKING:
    from clew.recall.corpus import Corpus
    from clew.recall.question import Asked, Date
    from clew.recall.run import Run
    from clew.recall.segment import Postings

Floats = NDArray[np.float32]
Places = NDArray[np.int64]

# Standard deviations: a word that one of many thousands has lies a hundred of them above the others, where nothing
# was learnt. native/look.c has the same.
MOST_WORDS = 24.0
TYPICAL = 64  # candidates that say what is typical
HOPS_FROM = 5  # candidates whose other words lead on
RARE_TERMS = 16  # of each of them
RARE = 0.02  # share of the scope, at most, that has a rare term; or so many memories
RARE_COUNT = 20
BRIDGE = 16.0  # the weight of about two rare words
_ASSISTANTS = np.array(
    [crc32(spelled.encode()) for name in ASSISTANTS for spelled in (name, name.capitalize(), name.upper())],
    np.uint32,
)
_MARKS = np.array(sorted(MARKS), np.uint32)
_NO_TERMS = np.empty(0, np.uint32)


class Looked(NamedTuple):
    """Candidates and what stands next to them, as places of small arrays whose last entry stands for nothing."""

    places: Places  # in the corpus, of everything looked at; some stand here twice, and -1 for nothing
    own: NDArray[np.int32]  # where each candidate stands among these
    before: NDArray[np.int32]
    after: NDArray[np.int32]
    further: tuple[NDArray[np.int32], NDArray[np.int32]]
    slots: NDArray[np.int32]  # from places of the corpus to these, -1 for others


def look_around(corpus: Corpus, allowed: NDArray[np.bool_], candidates: Places) -> Looked:
    """Next to a candidate stands what may be answered, too: nothing that is forgotten, over or filtered out."""
    if not corpus.is_threaded:
        return _by_themselves(corpus, candidates)
    before, after = corpus.neighbours
    first, last = _open(before[candidates], allowed), _open(after[candidates], allowed)
    further = _open(before[first], allowed), _open(after[last], allowed)
    places = np.concatenate((candidates, first, last, *further))
    slots = np.full(len(corpus.ids) + 1, -1, np.int32)
    slots[places] = np.arange(len(places), dtype=np.int32)
    slots[-1] = -1
    own, *near = slots[places].reshape(5, -1)
    return Looked(places, own, near[0], near[1], (near[2], near[3]), slots)


def _by_themselves(corpus: Corpus, candidates: Places) -> Looked:
    """Where nothing stands next to anything."""
    own, none = np.arange(len(candidates), dtype=np.int32), np.full(len(candidates), -1, np.int32)
    slots = np.full(len(corpus.ids) + 1, -1, np.int32)
    slots[candidates] = own
    return Looked(candidates, own, none, none, (none, none), slots)


def _open(places: Places, allowed: NDArray[np.bool_]) -> Places:
    return np.where((places >= 0) & allowed[places], places, -1)


def given_by(matches: Matches, looked: Looked) -> Floats:
    """(terms, looked at + 1): what each term of the question gives to each memory that is looked at."""
    slots = looked.slots[matches.docs]
    here = np.flatnonzero(slots >= 0)
    given = np.zeros((len(matches.terms), len(looked.places) + 1), np.float32)
    given[matches.owner[here], slots[here]] = matches.given[here]
    return given


# What means something else of a turn of a conversation, which shares words with its neighbours, than of a memory
# that stands by itself.
OF_BOTH_KINDS = ("words", "words_share", "words_relative", "covered", "meaning", "meaning_relative", "length",
                 "bridge", "complement", "hop", "hop_root", "activation", "activation_relative",
                 "activation_covering", "activation_complementing")  # fmt: skip
_IN_THREAD = tuple(f"{name}_in_thread" for name in OF_BOTH_KINDS)
# All of them, in the order of the rows of a table; native/look.c has the same.
NAMES = (
    "words", "words_share", "words_relative", "covered", "meaning", "meaning_relative", "meaning_absolute",
    "length", "clause_best", "clauses", "typical", "window", "words_before", "words_after", "meaning_before",
    "meaning_after", "asks", "ends_asking", "answers", "answers_words", "answers_meaning", "thread_best",
    "thread_mass", "author", "other_author", "assistant", "assistant_words", "assistant_meaning",
    "assistant_replies", "assistant_asked", "manner_assistant", "manner_before", "tells_time", "month", "day",
    "title", "title_whole", "title_said", "says_title", "bridge", "complement", "hop", "hop_root", "activation",
    "activation_relative", "activation_covering", "activation_complementing", *_IN_THREAD,
)  # fmt: skip
PLACE = {name: at for at, name in enumerate(NAMES)}


def features(run: Run, asked: Asked, candidates: Places, matches: Matches, *, hops_from: int = HOPS_FROM) -> Floats:
    """A row for each of NAMES, aligned with the candidates, which come by words and meaning, best first. `matches`:
    of the terms of the question."""
    if native.compiled is not None:
        return _compiled(run, asked, candidates, matches, hops_from)
    found = by_name(run, asked, candidates, matches, hops_from)
    return np.array([found[name] for name in NAMES], np.float32)


def _compiled(run: Run, asked: Asked, candidates: Places, matches: Matches, hops_from: int) -> Floats:
    """The same as `by_name`, in one call. Dates, and titles that the question names, are left to Python: few
    questions are about them."""
    assert native.compiled is not None
    corpus, evidence, (words, meaning) = run.corpus, run.evidence, run.scales
    segments = tuple(
        (segment.said, segment.said_from, of.terms, of.starts, of.docs)
        for segment in corpus.segments
        for of in (segment.sorted_postings or segment.postings_of(_said_in(corpus, candidates[:hops_from])),)
    )
    of_corpus = (corpus.length, corpus.thread, corpus.author, *corpus.neighbours,
                 *map(corpus.marked, (ASKS, ENDS_ASKING, TELLS_TIME)))  # fmt: skip
    reached = (np.array([*run.reached], np.int64),
               np.array([reached.activation for reached in run.reached.values()], np.float32))  # fmt: skip
    question = (np.array(sorted(asked.authors), np.uint32), _assistants(asked), parts_of(asked.text, matches.terms),
                *reached, np.concatenate((matches.terms, _MARKS)),
               *_in_a_row(_unasked_titles(corpus, candidates, matches.terms)))  # fmt: skip
    numbers = (corpus.count, BACKGROUND, corpus.mean_length, *words, *meaning, K1 + 1, BRIDGE,
               _most(corpus), TYPICAL, hops_from, RARE_TERMS, corpus.is_threaded,
               asked.of_agent, asked.of_manner, asked.about_time)  # fmt: skip
    found = np.empty((len(NAMES), len(candidates)), np.float32)
    of_run = (run.allowed, evidence.lexical, evidence.covered, evidence.cosine, run.meaning)
    native.compiled.look(
        candidates, corpus.vectors_of(candidates), found, segments, of_corpus, of_run, tuple(matches), question,
        common_arrays(), numbers, None if corpus.all_alive else corpus.alive,
    )  # fmt: skip
    if asked.dates:
        month, day = _near_dates(corpus.valid_at[candidates], asked.dates)
        found[PLACE["month"]], found[PLACE["day"]] = month, day
    if corpus.titles is not None:
        for name, row in _title(corpus, candidates, run.query).items():
            found[PLACE[name]] = row
    return found


def _said_in(corpus: Corpus, places: Places) -> NDArray[np.uint32]:
    return np.concatenate([_NO_TERMS, *map(corpus.terms_at, places.tolist())])


def by_name(
    run: Run, asked: Asked, candidates: Places, matches: Matches, hops_from: int = HOPS_FROM
) -> dict[str, Floats]:
    """The features by their names, without what is compiled."""
    corpus = run.corpus
    looked = look_around(corpus, run.allowed, candidates)
    given = given_by(matches, looked)
    total = np.float32(max(1e-6, float(matches.weights.sum())))
    by_words = _padded(np.minimum(run.scales[0].of(run.evidence.lexical[looked.places]), np.float32(MOST_WORDS)))
    by_meaning = _padded(run.scales[1].of(run.evidence.cosine[looked.places]))
    found = _own(run, candidates, total, by_words[looked.own], by_meaning[looked.own])
    found |= by_clause(parts_of(asked.text, matches.terms), given[:, looked.own])
    found["typical"] = _typical(corpus, candidates)
    found |= _around(corpus, looked, given, by_words, by_meaning)
    found["window"] /= total * np.float32(K1 + 1)
    base = found["words"] + found["meaning"]
    found |= _thread(corpus, candidates, base)
    found |= _said_by(corpus, asked, candidates, found)
    found |= _explains(corpus, asked, candidates, found)
    found |= _time(corpus, asked, candidates)
    found |= _title(corpus, candidates, run.query)
    seeds = candidates[:hops_from].tolist()
    hops = _hops(corpus, looked, given > 0, matches, base, seeds)
    found |= _leads(_activation(run, looked), found, hops)
    found |= _by_title(corpus, _unasked_titles(corpus, candidates, matches.terms), base, candidates, seeds)
    return found | _in_threads(corpus, candidates, found)


def _activation(run: Run, looked: Looked) -> Floats:
    found = np.zeros(len(looked.places) + 1, np.float32)
    found[looked.slots[list(run.reached)]] = [reached.activation for reached in run.reached.values()]
    found[-1] = 0
    return found[looked.own]


def _leads(activation: Floats, found: dict[str, Floats], hops: dict[str, Floats]) -> dict[str, Floats]:
    """What leads to a candidate: the graph, and words that it shares with others."""
    best = max(1e-6, float(activation.max(initial=0)))
    return hops | {
        "activation": activation,
        "activation_relative": activation / np.float32(best),
        "activation_covering": activation * found["covered"],
        "activation_complementing": activation * hops["complement"],
    }


def _in_threads(corpus: Corpus, candidates: Places, found: dict[str, Floats]) -> dict[str, Floats]:
    if not corpus.is_threaded:
        return dict.fromkeys(_IN_THREAD, np.zeros(len(candidates), np.float32))
    in_thread = (corpus.thread[candidates] != 0).astype(np.float32)
    return {name: found[own] * in_thread for name, own in zip(_IN_THREAD, OF_BOTH_KINDS, strict=True)}


def _padded(scores: Floats) -> Floats:
    """With an entry for nothing at the end, where -1 points to."""
    return np.append(scores, np.float32(0))


def _own(run: Run, candidates: Places, total: np.float32, words: Floats, meaning: Floats) -> dict[str, Floats]:
    most_words, most_meaning = (max(1e-6, float(scores.max(initial=0))) for scores in (words, meaning))
    return {
        "words": words,
        "words_share": run.evidence.lexical[candidates] / (total * np.float32(K1 + 1)),
        "words_relative": words / np.float32(most_words),
        "covered": run.evidence.covered[candidates],
        "meaning": meaning,
        "meaning_relative": meaning / np.float32(most_meaning),
        "meaning_absolute": run.meaning[candidates],
        "length": np.log1p(run.corpus.length[candidates]) - np.float32(np.log1p(run.corpus.mean_length)),
    }


def _typical(corpus: Corpus, candidates: Places) -> Floats:
    """How near a candidate is to the best ones together: what is like everything answers nothing in particular.
    To so many of them as there always are: who asks for more results has the same order."""
    vectors = corpus.vectors_at(candidates)
    first = vectors[:TYPICAL]
    return np.asarray(np.vecdot(vectors, first.sum(axis=0) / np.float32(max(1, len(first)))), np.float32)


def _around(
    corpus: Corpus, looked: Looked, given: Floats, by_words: Floats, by_meaning: Floats
) -> dict[str, Floats]:
    """Neighbouring turns: what was said just before and after belongs to what was said."""
    own, before, after = looked.places[looked.own], looked.before, looked.after
    asks, ends_asking = (corpus.marked(mark)[own].astype(np.float32) for mark in (ASKS, ENDS_ASKING))
    if not corpus.is_threaded:
        none = np.zeros(len(own), np.float32)
        window, near, answers = given[:, :-1].sum(axis=0), (none, none, none, none), none
    else:
        window = given[:, np.array((looked.own, before, after, *looked.further))].max(axis=1).sum(axis=0)
        near = by_words[before], by_words[after], by_meaning[before], by_meaning[after]
        answers = (corpus.marked(ASKS)[looked.places[before]] & (before >= 0)).astype(np.float32)
    return {
        "window": window,
        "words_before": near[0],
        "words_after": near[1],
        "meaning_before": near[2],
        "meaning_after": near[3],
        "asks": asks,
        "ends_asking": ends_asking,
        "answers": answers,
        "answers_words": answers * near[0],
        "answers_meaning": answers * near[2],
    }


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
    author = corpus.author[candidates]
    by_named = _among(author, np.array(sorted(asked.authors), np.uint32))
    by_other = 1 - by_named if asked.authors else np.zeros_like(by_named)
    assistant = _among(author, _assistants(asked))
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


def _assistants(asked: Asked) -> NDArray[np.uint32]:
    """Authors that count as assistants: for a question about whoever asks, or about what the agent said. Any other
    may be answered by either side."""
    return _ASSISTANTS if asked.of_self or asked.of_agent else _NO_TERMS


def _explains(corpus: Corpus, asked: Asked, candidates: Places, found: dict[str, Floats]) -> dict[str, Floats]:
    """Who asks how or why looks for what explains: a reply, and what it replies to counts."""
    wanted = np.float32(asked.of_manner) * (corpus.thread[candidates] != 0)
    return {
        "manner_assistant": wanted * found["assistant"],
        "manner_before": wanted * found["meaning_before"],
    }


def _among(values: NDArray[np.uint32], few: NDArray[np.uint32]) -> Floats:
    return np.asarray((values[:, None] == few).any(axis=1), np.float32)


def _time(corpus: Corpus, asked: Asked, candidates: Places) -> dict[str, Floats]:
    zero = np.zeros(len(candidates), np.float32)
    tells = corpus.marked(TELLS_TIME)[candidates].astype(np.float32) if asked.about_time else zero
    month, day = (zero, zero) if not asked.dates else _near_dates(corpus.valid_at[candidates], asked.dates)
    return {"tells_time": tells, "month": month, "day": day}


def _near_dates(at: NDArray[np.int64], dates: Sequence[Date]) -> tuple[Floats, Floats]:
    """Whether each moment lies in a month that is asked about, and within a day of a day that is."""
    days = at.astype("datetime64[us]").astype("datetime64[D]")
    near = [_calendar((days.astype(np.int64) + off).astype("datetime64[D]")) for off in (0, -1, 1)]
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


def _title(corpus: Corpus, candidates: Places, query: str) -> dict[str, Floats]:
    """How much of a memory's title the question names: all of it is as good as a name."""
    titles = corpus.titles
    share = np.zeros(len(candidates), np.float32)
    if titles is not None:
        asked = frozenset(query_terms(query))
        share[:] = [_share_named(titles[at], asked) for at in candidates.tolist()]
    return {"title": share, "title_whole": (share > 0.999).astype(np.float32)}


def _share_named(title: str, asked: frozenset[int]) -> float:
    if not title:
        return 0.0
    terms = _title_terms(title)
    return len(terms & asked) / len(terms) if terms else 0.0


def _unasked_titles(corpus: Corpus, candidates: Places, asked: NDArray[np.uint32]) -> list[frozenset[int]]:
    """What the title of each candidate says that the question does not. Nothing where no memory has a title."""
    titles = corpus.titles
    if titles is None:
        return []
    known = frozenset(asked.tolist())
    return [_title_terms(titles[at]) - known for at in candidates.tolist()]


def _in_a_row(titles: list[frozenset[int]]) -> tuple[NDArray[np.uint32], Places]:
    """One after the other, and where each begins."""
    ends = np.array([*map(len, titles)], np.int64).cumsum()
    return np.fromiter(chain.from_iterable(titles), np.uint32), np.append(0, ends) if titles else ends


def _by_title(
    corpus: Corpus, titles: list[frozenset[int]], base: Floats, candidates: Places, seeds: Sequence[int]
) -> dict[str, Floats]:
    """How much of a candidate's title one of the best says, and how much it says of the title of one of them:
    articles name one another. What both titles say leads nowhere."""
    told, telling = np.zeros((2, len(candidates)), np.float32)
    found = zip(titles, candidates.tolist(), strict=False)
    said = [frozenset(corpus.terms_at(at).tolist()) - title for title, at in found]
    best = max(np.float32(1e-6), base.max(initial=0))
    for seed, share in enumerate(base[: len(seeds)] / best if titles else ()):
        for at in range(len(candidates)):
            if at != seed:
                told[at] = max(told[at], share * _share_said(titles[at], said[seed]))
                telling[at] = max(telling[at], share * _share_said(titles[seed], said[at]))
    return {"title_said": told, "says_title": telling}


def _share_said(title: frozenset[int], said: frozenset[int]) -> np.float32:
    return np.float32(len(title & said)) / np.float32(max(1, len(title)))


@lru_cache(8_192)
def _title_terms(title: str) -> frozenset[int]:
    return frozenset(query_terms(title))


def _hops(
    corpus: Corpus, looked: Looked, has: NDArray[np.bool_], matches: Matches, base: Floats, seeds: Sequence[int]
) -> dict[str, Floats]:
    """From one of the best by rare words that both have, to what says the rest of what is asked."""
    own, weights, first = looked.own, matches.weights, np.arange(len(seeds))  # candidates come by their base
    best = max(1e-6, float(base.max(initial=0)))
    share = (base[first] / np.float32(best))[:, None]
    shared = np.minimum(_shared(corpus, seeds, matches.terms, looked)[:, own] / np.float32(BRIDGE), np.float32(2))
    shared[first, first] = 0
    missing = ~has[:, own[first]] * weights[:, None]  # (terms, seeds)
    rest = np.einsum("ts,tc->sc", missing, has[:, own].astype(np.float32))
    rest /= np.float32(max(1e-6, float(weights.sum())))
    both = shared * rest
    found = {"bridge": shared, "complement": rest, "hop": both, "hop_root": np.sqrt(both)}
    return {name: (share * of).max(axis=0, initial=0) for name, of in found.items()}


def _shared(corpus: Corpus, seeds: Sequence[int], terms: NDArray[np.uint32], looked: Looked) -> Floats:
    """(seeds, looked at + 1): the weight of the rare terms that each memory has in common with each seed."""
    said = [corpus.terms_at(at) for at in seeds]
    seed = np.arange(len(seeds)).repeat([len(of) for of in said])
    found = np.concatenate([*said, np.empty(0, np.uint32)])
    postings = [segment.postings_of(found) for segment in corpus.segments]
    where = [of.where(found) for of in postings]
    count = np.sum([often for _begin, often in where], axis=0)
    if not corpus.all_alive:
        count -= _gone(corpus, postings, where, count)
    chosen = _rarest(corpus, found, seed, count, np.concatenate((terms, _MARKS)))
    seed, weights = seed[chosen], weights_of(found[chosen], corpus.count, count[chosen])
    width, start = len(looked.places) + 1, 0
    given = np.zeros(len(seeds) * width)
    for segment, of, (begin, often) in zip(corpus.segments, postings, where, strict=True):
        owner, at = of.at(begin[chosen], often[chosen])
        slots = looked.slots[of.docs[at] + start]
        here = np.flatnonzero(slots >= 0)
        owner = owner[here]
        given += np.bincount(seed[owner] * width + slots[here], weights[owner], len(given))
        start += len(segment)
    return given.reshape(len(seeds), width).astype(np.float32)


def _gone(
    corpus: Corpus, postings: Sequence[Postings], where: Sequence[tuple[Places, Places]], count: Places
) -> Places:
    """How many of those that have each term are no longer there. Not looked for where a term is common anyway."""
    may_be_rare = np.flatnonzero(count - (len(corpus.ids) - corpus.living) <= _most(corpus))
    found, start = np.zeros(len(count), np.int64), 0
    for segment, of, (begin, often) in zip(corpus.segments, postings, where, strict=True):
        owner, at = of.at(begin[may_be_rare], often[may_be_rare])
        is_gone = ~corpus.alive[of.docs[at] + start]
        found[may_be_rare] += np.bincount(owner[is_gone], minlength=len(may_be_rare))
        start += len(segment)
    return found


def _most(corpus: Corpus) -> float:
    """More memories have a term that is not rare."""
    return max(RARE_COUNT, RARE * corpus.count)


def _rarest(
    corpus: Corpus, found: NDArray[np.uint32], seed: Places, count: Places, known: NDArray[np.uint32]
) -> Places:
    """Which of the terms found in each seed lead on: the rarest that somebody else has, too."""
    leads = (count >= 2) & (count <= _most(corpus))
    at = np.flatnonzero(leads & ~(found[:, None] == known).any(axis=1))
    at = at[np.lexsort((count[at], seed[at]))]
    of = seed[at]
    return at[np.arange(len(at)) - of.searchsorted(of) < RARE_TERMS]

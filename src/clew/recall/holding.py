"""Which memories of a corpus hold at a moment: not expired, begun, not replaced, not ended.

The answer changes only when some memory begins or ends, so the last one is kept with the corpus until then:
between two such moments a question costs no look at any time of any memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew.model.recalled import Removed
from clew.model.times import to_micros
from clew.recall.segment import NEVER

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from clew.model.recalled import RecallOptions
    from clew.recall.corpus import Corpus

Condition = tuple[str, NDArray[np.bool_]]  # a reason, and what it leaves

MAX_TRACED_IDS = 20


class Held(NamedTuple):
    """What holds, what does not and why, and between which moments (in microseconds) that stays so."""

    allowed: NDArray[np.bool_]  # shared by all who ask: not to be written to
    removed: tuple[Removed, ...]
    since: int
    until: int


def held(corpus: Corpus, options: RecallOptions, now: datetime) -> Held:
    """Of the living memories. For a moment in the past nothing is kept: nobody asks for the same one again."""
    moment = to_micros(now)
    if options.as_of is not None:
        return _found(corpus, options, to_micros(options.as_of), moment)
    key = (options.include_superseded, options.include_invalid)
    kept = corpus.held.get(key)
    if kept is None or not kept.since <= moment < kept.until:
        kept = corpus.held[key] = _found(corpus, options, moment, moment)
    return kept


def _found(corpus: Corpus, options: RecallOptions, moment: int, now: int) -> Held:
    allowed, removed = without(corpus, corpus.alive.copy(), _times(corpus, options, moment, now))
    allowed.flags.writeable = False
    turns = np.concatenate([corpus.expires_at, corpus.valid_at, corpus.invalid_at])
    since = int(turns.max(where=turns <= now, initial=np.iinfo(np.int64).min))
    until = int(turns.min(where=turns > now, initial=NEVER))
    return Held(allowed, tuple(removed), since, until)


def times(corpus: Corpus, options: RecallOptions, now: datetime) -> Iterable[Condition]:
    """The conditions that a memory holds by."""
    return _times(corpus, options, to_micros(options.as_of or now), to_micros(now))


def _times(corpus: Corpus, options: RecallOptions, moment: int, now: int) -> Iterable[Condition]:
    yield "expired", corpus.expires_at > now
    yield "not valid yet", corpus.valid_at <= moment
    if not options.include_superseded:
        yield "superseded", ~(corpus.superseded & (corpus.invalid_at <= moment))
    if not options.include_invalid:
        ended_by_another = corpus.superseded if options.include_superseded else np.False_
        yield "no longer valid", (corpus.invalid_at > moment) | ended_by_another


def without(
    corpus: Corpus, allowed: NDArray[np.bool_], conditions: Iterable[Condition]
) -> tuple[NDArray[np.bool_], list[Removed]]:
    """What each condition leaves, and what it takes out, one after the other. Writes to `allowed`."""
    removed: list[Removed] = []
    for reason, keep in conditions:
        lost = allowed & ~keep
        count = int(np.count_nonzero(lost))
        if count:
            ids = tuple(corpus.ids[at] for at in np.flatnonzero(lost)[:MAX_TRACED_IDS])
            removed.append(Removed(reason, count, ids))
            allowed &= keep
    return allowed, removed

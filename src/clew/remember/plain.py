"""Whether a text holds nothing that masking or classification would look closer at. Pure.

In: a text. Out: yes, if each of its words is known to be harmless by itself, so that no rule of either can match
anywhere. Both begin with a search for hints over the whole text; words repeat, and looking them up costs a tenth of
it. A word is kept only from a text that is harmless as a whole.

INVARIANT: of a plain text `redact` changes nothing, and by its words `classify` calls it neither restricted nor
confidential. A new rule there needs its hint here: test_plain.py compares both.
"""

from __future__ import annotations

import re
from itertools import groupby
from operator import itemgetter

from clew import native
from clew.remember import assigned, classify, redact

_CACHE_SIZE = 100_000
_CARD_BEGINS = re.compile(r"[0-9]{4}")
# A rule that waits for two words is told by the first of them. `<` begins a private passage; `[masked:` tells that
# something was masked before.
_TOLD_BY = (*redact.HINTS, *classify.HINTS, "<", "[masked:")
_ALONE = frozenset(
    hint.strip() for hint in _TOLD_BY if hint[0] == " "
)  # these only by themselves: a path has slashes
_HINTS = frozenset(hint.split()[0] for hint in _TOLD_BY) - _ALONE
# In a word of letters alone the others say something only as its end or as the whole of it: neither `author` nor
# `capital` does.
_ANYWHERE = tuple(_HINTS.difference(assigned.NAME_WORDS, classify.HINTS) | {"private"})
# By their first letters: so they are found in half the time.
_HINTED = re.compile(
    "|".join(
        f"{re.escape(first)}(?:{'|'.join(re.escape(hint[1:]) for hint in hints)})"
        for first, hints in groupby(sorted(_HINTS), itemgetter(0))
    )
)
_AFTER = ".,;!?"

_PLAIN = native.words(lambda _word: b"", most=_CACHE_SIZE, longest=redact.SHORTEST_PREFIXED)


def is_plain(text: str) -> bool:
    new = _PLAIN.unknown(text)
    if not all(map(_is_harmless, new)):
        return False
    if new:
        _PLAIN.join(" ".join(new))
    return True


def _is_harmless(word: str) -> bool:
    if len(word) >= redact.SHORTEST_PREFIXED or not word.isascii() or word in _ALONE:
        return False
    if not word.isalpha() and _CARD_BEGINS.search(word):
        return False
    lowered = word.lower()
    if not _HINTED.search(lowered):
        return True
    bare = lowered.rstrip(_AFTER)
    if not bare.isalpha() or any(hint in bare for hint in _ANYWHERE):
        return False
    return not assigned.ends_with_a_name(bare) and bare not in classify.SPOKEN_OF

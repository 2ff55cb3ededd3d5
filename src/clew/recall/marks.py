"""What a text is besides its words: whether it asks something, and whether it tells a time.

Kept as three more terms of a memory, which no word of a query can be: they cost a few bytes in the index that is
there anyway, and nobody has to read a text again to know.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from clew.recall.analyse import hash_term, term_hashes

ENDS_ASKING = hash_term("\x01ends asking")
ASKS = hash_term("\x01asks")
TELLS_TIME = hash_term("\x01tells time")
MARKS = frozenset((ENDS_ASKING, ASKS, TELLS_TIME))

_TIMES = (
    "yesterday today tonight tomorrow last next ago week weekend month year day morning evening since soon "
    "recently January February March April May June July August September October November December "
    "Monday Tuesday Wednesday Thursday Friday Saturday Sunday "
)
_YEARS = range(1900, 2101)


@cache  # not for those who only ask
def _times() -> frozenset[int]:
    return frozenset(term_hashes(_TIMES + " ".join(map(str, _YEARS))))


def marks_of(content: str, terms: Iterable[int]) -> list[int]:
    """The marks of a text with these terms."""
    found = []
    if "?" in content:
        found.append(ASKS)
        if content.rstrip("\"')]} \n").endswith("?"):
            found.append(ENDS_ASKING)
    if not _times().isdisjoint(terms):
        found.append(TELLS_TIME)
    return found

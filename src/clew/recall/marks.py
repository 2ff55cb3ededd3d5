"""What a text is besides its words: whether it asks something, and whether it tells a time.

Kept as three more terms of a memory, which no word of a query can be: they cost a few bytes in the index that is
there anyway, and nobody has to read a text again to know.
"""

from __future__ import annotations

from collections.abc import Iterable

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
_YEARS = " ".join(str(year) for year in range(1900, 2101))
TIMES = frozenset(term_hashes(_TIMES + _YEARS))


def marks_of(content: str, terms: Iterable[int]) -> list[int]:
    """The marks of a text with these terms."""
    found = []
    if "?" in content:
        found.append(ASKS)
        if content.rstrip("\"')]} \n").endswith("?"):
            found.append(ENDS_ASKING)
    if not TIMES.isdisjoint(terms):
        found.append(TELLS_TIME)
    return found

"""What a text is besides its words: whether it asks something, and whether it tells a time.

Kept as three more terms of a memory, which no word of a query can be: they cost a few bytes in the index that is
there anyway, and nobody has to read a text again to know.
"""

from __future__ import annotations

from array import array
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
def times() -> frozenset[int]:
    return frozenset(term_hashes(_TIMES + " ".join(map(str, _YEARS))))


@cache
def times_in_order() -> array[int]:
    return array("I", sorted(times()))


def asking(content: str) -> list[int]:
    """The marks of a text that asks something."""
    if "?" not in content:
        return []
    return [ASKS, ENDS_ASKING] if content.rstrip("\"')]} \n").endswith("?") else [ASKS]

"""What was said later about the same: the news of a memory. Nothing is decided here, and nothing written."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from clew.guard.trust import is_told_unasked
from clew.model.memory import Memory
from clew.model.scope import Reach
from clew.recall import disputes
from clew.recall.analyse import hash_term, terms
from clew.recall.common import informativeness
from clew.relate.wording import EMPTY, RIVALS, VAGUE, stem, words_of
from clew.remember.trust import trust_of_origin

if TYPE_CHECKING:
    from clew.ports import Tx

_SHORTENED = re.compile(r"\b\w+['\u2019]\w{1,2}\b")  # says nothing: i'll, we'd
_CHATTING = "nope yep yeah pls please thx thanks lol cool perfect stuff thing things directly everywhere".split()
_SAYS_NOTHING = frozenset(stem(word) for word in (*VAGUE, *EMPTY, *_CHATTING))


def overtaking(tx: Tx, reach: Reach, memories: Sequence[Memory], now: datetime) -> dict[str, list[Memory]]:
    """By the ids of those that are overtaken: what the user said later, and what ends it. Whether that may be told,
    the caller has to ask."""
    pairs = disputes.touching(tx, reach, [one.id for one in memories], now)
    ends = [(one.memory_a_id, one.memory_b_id) for one in pairs if one.edge_type == "supersedes"]
    known = tx.memories.get_many(reach, sorted({id for pair in ends for id in pair})) if ends else {}
    asked = {one.id for one in memories}
    found: dict[str, list[Memory]] = {}
    for pair in ends:
        if known.keys() >= set(pair):
            old, new = sorted((known[id] for id in pair), key=_said)
            if (
                old.id in asked
                and _said(old) < _said(new)
                and trust_of_origin(new.origin) == "user"
                and is_told_unasked(new)
            ):
                found.setdefault(old.id, []).append(new)
    return found


def is_news_of_any(memory: Memory, told: Sequence[Memory]) -> bool:
    """Said later, with a word in common that only few things are called by, or one that is used in the place of
    another: "we use pnpm", "we are back on npm"."""
    names = _names(memory)
    instead = {rival for name in names for rival in RIVALS.get(name, ())}
    return any(memory.at > one.at and not (names | instead).isdisjoint(_names(one)) for one in told)


def _names(memory: Memory) -> set[str]:
    """Rare words, but for numbers and what says nothing, and what has rivals, however common."""
    words = words_of(memory.content)
    found = terms(_SHORTENED.sub(" ", " ".join(words)))
    rare = {term for term in found if informativeness(hash_term(term)) == 1 and not term[:1].isdigit()}
    return (rare - _SAYS_NOTHING) | RIVALS.keys() & set(words)


def _said(memory: Memory) -> tuple[datetime, datetime]:
    return memory.at, memory.created_at

"""When two memories say the same, and which of them would be kept. Pure.

Likeness alone is not enough: `the time-out is 30 s` is as near to `the time-out is 60 s` as a duplicate is, and so
is a sentence to its denial, `enable the cache` to `disable the cache`, and `A calls B` to `B calls A`. So both must
also name the same numbers, deny and restrict as often, relate the same things, and use the same words, of which no
two changed places; one may say more.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from clew.model.graph import NodeRef
from clew.model.memory import Memory
from clew.recall.analyse import terms
from clew.relate.wording import EMPTY, USAGE
from clew.remember.relations import relations_in
from clew.remember.things import things_in
from clew.remember.trust import TRUSTS
from clew.values import dataclass

NEARLY = 0.95  # of a similar_to edge: from here on two memories say the same
SAME_WORDS, NEAR = "same words", "nearly the same"
_BUCKET = 50  # of one wording; more are no duplicates but a form
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
# What denies, nearly denies or restricts, in the languages that people write most; of a script without spaces, its
# signs. One too many costs a suggestion, one too few a denial.
_DENIAL = re.compile(
    r"\b(?:not|no|never|none|neither|nor|without|cannot|nothing|nobody|hardly|barely|rarely|seldom|except|unless"
    r"|only|if|when|until|nur|wenn|falls|bis|solo|si|cuando|hasta|seulement|quand|lorsque"
    r"|nicht|nichts|nie|niemals|kein(?:e[mnrs]?)?|ohne|weder|kaum|selten|außer"
    r"|ne|pas|jamais|aucune?|sans|rien|nunca|jamás|ning[uú]n[ao]?|sin|nada|não|sem|nenhuma?|non|mai|senza|nessun[ao]?"
    r"|niet|nooit|geen|zonder|nigdy|bez|inte|aldrig|utan|ingen|не|нет|никогда|без|ни)\b"
    r"|n['’]t\b|\bn['’](?=\w)|[不没沒无無勿未非别別否]|ない|ません|[않못없]",
    re.IGNORECASE,
)
_OPENING, _CLOSING = "\"'([{“‘«`*", "\"')]}”’»`*.,;:!?…"
_LAYERS = ("rule", "long_term", "working")


@dataclass(frozen=True, slots=True)
class Alike:
    """A memory that says what another says."""

    memory: Memory
    similarity: float
    why: str

    def as_json(self) -> dict[str, Any]:
        return {
            "id": self.memory.id,
            "content": self.memory.content,
            "similarity": self.similarity,
            "why": self.why,
        }


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A group of near-duplicates, and what would be kept of it."""

    keep: Memory
    others: tuple[Alike, ...]

    @property
    def command(self) -> str:
        return " ".join(("clew merge", self.keep.id, *(other.memory.id for other in self.others)))

    def as_json(self) -> dict[str, Any]:
        kept = {"id": self.keep.id, "content": self.keep.content}
        return {"keep": kept, "others": [one.as_json() for one in self.others], "command": self.command}


Neighbours = dict[str, dict[str, tuple[float, str]]]


def plain(text: str) -> tuple[str, ...]:
    """The words of a text without case, and without the signs that begin or end a word in a sentence. Signs that
    mean something (`C++`, `x > 5`, `.env`) stay."""
    words = unicodedata.normalize("NFKC", text).casefold().split()
    stripped = (word.lstrip(_OPENING).rstrip(_CLOSING) for word in words)
    return tuple(word for word in stripped if word)


def same_claim(one: str, other: str) -> bool:
    """Whether two texts that are alike may also mean the same: no other number, no denial more, no other words, no
    two of them exchanged, nothing else restricted, no other relation."""
    denies = len(_DENIAL.findall(one)) == len(_DENIAL.findall(other)) and _before_only(one) == _before_only(other)
    return (
        denies and _numbers(one) == _numbers(other) and _same_words(one, other) and _stated(one) == _stated(other)
    )


def _before_only(text: str) -> frozenset[str]:
    """`only admins can delete` and `admins can only delete`: who stands before it is not restricted. A verb may."""
    words = plain(text)
    return frozenset(words[: words.index("only")]) - _DOES if "only" in words else frozenset()


def _same_words(one: str, other: str) -> bool:
    """Whether one says all that the other does. Where each has a word of its own, they are two claims."""
    mine, theirs = set(terms(one)), set(terms(other))
    return (mine <= theirs or theirs <= mine) and not _is_exchanged(_ordered(one), _ordered(other))


def _ordered(text: str) -> list[str]:
    words = (word.removesuffix("'s").removesuffix("’s") for word in plain(text))
    return [word for word in words if word not in ("the", "an")]


def _is_exchanged(one: list[str], other: list[str]) -> bool:
    """`merge main into develop` and `merge develop into main`: two change places around something that stays. Of
    what is joined by `and` the order says nothing, nor does what is said first: `for the web app, use pnpm`."""
    shared = set(one) & set(other)
    mine, theirs = ([word for word in words if word in shared] for words in (one, other))
    differ = [at for at, (a, b) in enumerate(zip(mine, theirs, strict=False)) if a != b]
    if len(mine) != len(theirs) or not differ:
        return False
    first, last = differ[0], differ[-1] + 1
    before, mine, theirs = mine[:first][-1:], mine[first:last], theirs[first:last]
    return any(
        not _JOINS.union(before).issuperset(mine[left:-right])
        and mine[:left] + mine[left:-right] + mine[-right:] == theirs[-left:] + theirs[right:-left] + theirs[:right]
        for left in range(1, min(len(mine) - 1, _LONGEST))
        for right in range(1, min(len(mine) - left, _LONGEST))
    ) or _trade_places(mine, theirs)


def _trade_places(mine: list[str], theirs: list[str]) -> bool:
    """Wherever one has the first word, the other has the second, and several times."""
    pairs = [(a, b) for a, b in zip(mine, theirs, strict=True) if a != b]
    return len(pairs) > 2 and set(pairs) == {pairs[0], pairs[0][::-1]}


_DOES = EMPTY | USAGE
_LONGEST = 5  # words that change places together
_JOINS = frozenset("and or plus & und oder y o et ou".split())


def _stated(text: str) -> set[tuple[NodeRef, str, NodeRef]]:
    return {(edge.source, edge.type, edge.target) for edge in relations_in(text, things_in(text))}


def _numbers(text: str) -> Counter[str]:
    return Counter(_NUMBER.findall(unicodedata.normalize("NFKC", text)))


def text_of(memory: Memory) -> str:
    return f"{memory.title} {memory.content}" if memory.title else memory.content


def neighbours(memories: Mapping[str, Memory], pairs: Iterable[tuple[str, str, float]]) -> Neighbours:
    """Who says the same as whom: by edges between them, and by the same words."""
    found: Neighbours = {}
    for one, other, similarity in pairs:
        if one in memories and other in memories:
            _join(found, memories[one], memories[other], similarity, NEAR)
    by_words: dict[tuple[str, ...], list[Memory]] = {}
    for memory in memories.values():
        by_words.setdefault(plain(text_of(memory)), []).append(memory)
    for alike in by_words.values():
        for at, one_memory in enumerate(alike[:_BUCKET]):
            for other_memory in alike[at + 1 : _BUCKET]:
                _join(found, one_memory, other_memory, 1.0, SAME_WORDS)
    return found


def _join(found: Neighbours, one: Memory, other: Memory, similarity: float, why: str) -> None:
    if one.id == other.id or not same_claim(text_of(one), text_of(other)):
        return
    for a, b in ((one.id, other.id), (other.id, one.id)):
        known = found.setdefault(a, {}).get(b)
        if known is None or known[0] < similarity:
            found[a][b] = (similarity, why)


def suggestions(
    memories: Mapping[str, Memory], near: Neighbours, *, may_merge: Callable[[Memory, Memory], bool]
) -> list[Suggestion]:
    """Groups in which all say the same as the one that is kept, not just as one another: a chain of small
    differences has two ends that are far apart. Each memory is in one group at most."""
    found: list[Suggestion] = []
    taken: set[str] = set()
    for keep in sorted((memories[id] for id in near), key=preference):
        if keep.id in taken:
            continue
        others = [
            Alike(memories[id], *how)
            for id, how in sorted(near[keep.id].items(), key=lambda item: (-item[1][0], item[0]))
            if id not in taken and may_merge(keep, memories[id])
        ]
        if others:
            found.append(Suggestion(keep, tuple(others)))
            taken |= {keep.id, *(one.memory.id for one in others)}
    return found


def preference(memory: Memory) -> tuple[Any, ...]:
    """Which of several is kept: a rule before a note, what more people see, who is trusted more, what weighs more,
    what was there first."""
    return (
        _LAYERS.index(memory.layer),
        memory.user is not None,
        memory.project is not None,
        -TRUSTS.index(memory.trust) if memory.trust in TRUSTS else 1,
        -memory.weight,
        -memory.confidence,
        memory.created_at,
        memory.id,
    )


def united(own: Sequence[str], others: Iterable[Sequence[str]]) -> tuple[str, ...]:
    """Labels of one memory, then those that others add, each once."""
    return tuple(dict.fromkeys((*own, *(label for labels in others for label in labels))))

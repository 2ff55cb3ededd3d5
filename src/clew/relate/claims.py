"""What a text states, sentence by sentence, as far as rules can tell. Pure.

In: a memory. Out: its sentences that state something: their words, whether they deny it, and the value they give to
what has one value at a time. Questions, quotes, plans and hearsay state nothing. Precision comes before recall: a
sentence that is not understood is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice, pairwise
from typing import NamedTuple

from clew.model.memory import Memory
from clew.recall import analyse
from clew.relate.wording import (
    ADDING,
    ADDITIVE,
    ALIASES,
    DOUBT,
    EMPTY,
    EXCLUSIVE,
    INEXACT,
    KIND_OF,
    NEGATIONS,
    PAST,
    PLACES,
    REASONS,
    SINGLE,
    UNITS,
    USAGE,
    VAGUE,
)

MAX_CHARS = 4_000
MAX_SENTENCES = 40
MAX_WORDS = 40  # a longer sentence says several things
MAX_SHOWN = 300

_CODE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_END = re.compile(r"(?<=[.!?])[\"')\]]*\s+|\n+|;\s+")
_QUOTED = re.compile(r"[\"“][^\"”]*\s[^\"”]*\s[^\"”]*[\"”]")
_WORD = re.compile(r"[a-z0-9_~%+#.][a-z0-9_.+#/:%@'-]*|=")
_CONTRACTED = re.compile(r"\b(is|are|was|were|do|does|did|has|have|had|must|should|could|would|need)n't\b")
_NUMBER = re.compile(r"(\d[\d,]*(?:\.\d+)?)([a-z%]*)$")
_CLOCK = re.compile(r"\d{1,2}:\d{2}$")
_REGION = re.compile(r"[a-z]{2}-[a-z]+-\d$")
_YEAR = re.compile(r"(?:19|20)\d\d$")
_DENIES = re.compile(r"n['’]t\b|\bcannot\b|\b(?:" + "|".join(NEGATIONS) + r")\b", re.IGNORECASE)
_OVER = re.compile(r" (?:no longer|any more|no more|stopped using) ")
_ALIAS = re.compile(r"\b(" + "|".join(re.escape(name) for name in ALIASES) + r")\b")


stem = lru_cache(1 << 14)(analyse.stem)


class Claim(NamedTuple):
    """A value, and the words that say of what."""

    kind: str  # what values it can be compared with
    value: str
    about: frozenset[str]


@dataclass(frozen=True, slots=True)
class Said:
    """One sentence that states something."""

    text: str
    words: tuple[str, ...]  # in order, lower case
    about: frozenset[str]  # stems of those that mean something, without how it is used
    is_denied: bool
    is_past: bool
    is_usage: bool
    is_over: bool  # says that something is no longer so
    flat: str  # the words, each between two spaces
    claims: tuple[Claim, ...] = ()

    @property
    def is_stated(self) -> bool:
        """It is so now."""
        return not self.is_denied and not self.is_past and not self.is_over


@dataclass(frozen=True, slots=True)
class Reading:
    """What one memory states, and what all of it is about: where, when, under which title."""

    said: tuple[Said, ...]
    places: frozenset[str]
    title: frozenset[str]


def read(memory: Memory) -> Reading:
    text = _CODE.sub(" ", memory.content[:MAX_CHARS])
    title = words_of(memory.title or "")
    said, places = [], _places(title)
    for sentence in islice(_sentences(text), MAX_SENTENCES):
        words = words_of(sentence)
        places |= _places(words)
        if not _is_open(sentence, words):
            shown = " ".join(sentence.split())[:MAX_SHOWN]
            parts = [words_of(part) for part in sentence.split(": ")] if ": " in sentence else [words]
            said += [one for part in parts if (one := _said(shown, part, memory.author or ""))]
    return Reading(tuple(said), frozenset(places), _meaning(title))


def _places(words: Iterable[str]) -> set[str]:
    return {word for word in words if word in PLACES or _YEAR.match(word)}


def could_deny(memory: Memory) -> bool:
    """Whether it is worth reading for who looks for denials only."""
    return bool(_DENIES.search(memory.content[:MAX_CHARS]))


def _sentences(text: str) -> Iterator[str]:
    for line in text.split("\n"):
        if not line.lstrip().startswith(">"):
            yield from (part.strip() for part in _END.split(line) if part.strip())


def _is_open(sentence: str, words: Sequence[str]) -> bool:
    """Whether it asks, quotes or doubts."""
    is_question = sentence.rstrip("\"')] ").endswith("?")
    return is_question or bool(_QUOTED.search(sentence)) or not DOUBT.isdisjoint(words)


def _said(shown: str, words: tuple[str, ...], author: str) -> Said | None:
    words = words[: next((at for at, word in enumerate(words) if word in REASONS), None)]
    known = frozenset(words)
    if not 2 <= len(words) <= MAX_WORDS:
        return None
    negations = sum(word in NEGATIONS for word in words)
    is_partial = any(pair in (("not", "always"), ("not", "only"), ("no", "doubt")) for pair in _pairs(words))
    if negations > 1 or is_partial:
        return None
    is_past, flat = not known.isdisjoint(PAST), f" {' '.join(words)} "
    about = _meaning(words) | ({f"@{author.lower()}"} if author and not known.isdisjoint(_FIRST) else set())
    plain = not negations and not is_past and known.isdisjoint(ADDING) and "should" not in known
    return Said(
        text=shown,
        words=words,
        about=about,
        is_denied=bool(negations),
        is_past=is_past,
        is_usage=not known.isdisjoint(USAGE) or words[0] in USAGE or not known.isdisjoint(("is", "are")),
        is_over=bool(_OVER.search(flat)),
        flat=flat,
        claims=tuple(_claims(words, author)) if plain else (),
    )


_FIRST = frozenset(("i", "my", "me", "we", "our"))


def words_of(text: str) -> tuple[str, ...]:
    flat = text.lower().replace("’", "'").replace("`", " ").replace("*", " ")
    if "n't" in flat:
        flat = _CONTRACTED.sub(r"\1 not", flat).replace("can't", "can not").replace("won't", "will not")
    flat = _ALIAS.sub(lambda match: ALIASES[match[0]], flat.replace("cannot", "can not"))
    found = [word.rstrip(".:'/-,").removesuffix("'s") for word in _WORD.findall(flat)]
    return tuple(word for word in found if word)


def _meaning(words: tuple[str, ...]) -> frozenset[str]:
    kept = (word for word in words if word not in EMPTY and word not in USAGE and word not in NEGATIONS)
    return frozenset(stem(word) for word in kept)


def _pairs(words: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    return pairwise(words)


# -- values ----------------------------------------------------------------------------------------


def _claims(words: tuple[str, ...], author: str) -> Iterator[Claim]:
    mine = frozenset((f"@{author.lower()}",)) if author and not _FIRST.isdisjoint(words) else frozenset()
    for claim in (_number(words), _kind(words), _single(words), _owner(words)):
        if claim and claim.about:
            yield claim._replace(about=claim.about | mine)


_VALUED = frozenset(
    "is are = equals defaults set expire expires lasts limited runs run starts start retains keeps allows listens "
    "takes costs timeout exposes serves".split()
)


def _number(words: tuple[str, ...]) -> Claim | None:
    """The only number of the sentence, after a word that gives it to something."""
    numbers = [at for at, word in enumerate(words) if _NUMBER.match(word) or _CLOCK.match(word)]
    cue = next((at for at, word in enumerate(words) if word in _VALUED), None)
    if len(numbers) != 1 or cue is None or not cue < numbers[0] or not INEXACT.isdisjoint(words):
        return None
    [at] = numbers
    kind, value, used = _measured(words, at)
    rest = words[:at] + words[at + used :]
    if _YEAR.match(words[at]) or "ports" in words or len(words) - at - used > 6:
        return None
    return Claim(kind, value, _meaning(rest))


def _measured(words: tuple[str, ...], at: int) -> tuple[str, str, int]:
    """(kind, value, how many words it took)"""
    match = _NUMBER.match(words[at])
    if not match:
        return "clock", words[at], 1
    unit, used = match[2], 1
    if not unit and at + 1 < len(words):
        following = words[at + 1]
        name = following if following in UNITS else stem(following)
        unit, used = (name, 2) if name in UNITS else ("", 1)
    dimension, factor = UNITS.get(unit, (unit, 1))
    return f"number {dimension}", f"{float(match[1].replace(',', '')) * factor:.9g}", used


def _kind(words: tuple[str, ...]) -> Claim | None:
    """The only one of its kind in the sentence, with what it is for."""
    named = [at for at, word in enumerate(words) if word in KIND_OF or _REGION.match(word)]
    if len(named) != 1 or not ADDITIVE.isdisjoint(words):
        return None
    [at] = named
    kind = KIND_OF.get(words[at], "region")
    has_purpose = not frozenset(("for", "as", "in", "on", "to", "with")).isdisjoint(words)
    if not has_purpose and kind not in EXCLUSIVE:
        return None
    if frozenset(words).isdisjoint(USAGE | {"is", "are"}):
        return None
    return Claim(kind, words[at], _meaning(words[:at] + words[at + 1 :]) | {f"<{kind}>"})


def _single(words: tuple[str, ...]) -> Claim | None:
    """`the default branch is main`: one word after the verb, for something of which there is one."""
    verb = next((at for at, word in enumerate(words) if word in ("is", "=", "are")), None)
    if verb is None or not verb or not SINGLE.intersection(words[:verb]) or verb + 1 >= len(words):
        return None
    rest = tuple(
        word for word in words[verb + 1 :] if word not in ("now", "currently", "set", "to", "the", "a", "an")
    )
    value, more = rest[:1], rest[1:]
    if (
        not value
        or value[0] in VAGUE | EMPTY | INEXACT
        or _NUMBER.match(value[0])
        or value[0].endswith(("ed", "ing", "ly"))
    ):
        return None
    if more and more[0] not in ("in", "on", "for", "at", "of"):
        return None
    return Claim("single", value[0], _meaning(words[:verb] + more))


def _owner(words: tuple[str, ...]) -> Claim | None:
    for at, pair in enumerate(_pairs(words)):
        if pair == ("owned", "by"):
            value = tuple(word for word in words[at + 2 :] if word not in EMPTY)
            if 1 <= len(value) <= 3 and "and" not in words[at + 2 :]:
                return Claim("owner", " ".join(value), _meaning(words[:at]) | {"<owner>"})
    return None

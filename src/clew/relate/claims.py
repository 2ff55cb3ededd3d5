"""What a text states, sentence by sentence, as far as rules can tell. Pure.

In: a memory. Out: its sentences that state something: their words, whether they deny it, the value they give to
what has one value at a time, and what stands around them and says of what: a label, the heading, the line that
opens a list, what the text opens with. Questions, quotes, plans, hearsay, and what was seen once state nothing.
Precision comes before recall: a sentence that is not understood is left out.

Of a text the first MAX_CHARS characters and MAX_SENTENCES sentences are read, and of a sentence of more than
MAX_SENTENCE characters only where and when it holds. Every pattern takes time linear in what it is given.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import replace
from itertools import islice, pairwise
from typing import NamedTuple

from clew.model.host import ASKED
from clew.model.memory import Memory
from clew.relate.frames import OVER, in_other_words, plainly
from clew.relate.valued import FIRST, IS, YEAR, Claim, claims_in
from clew.relate.wording import (
    ADDING,
    BARE,
    DOUBT,
    EMPTY,
    NEGATIONS,
    NO_LONGER_SO,
    OCCASIONS,
    OFTEN,
    PAST,
    PLACES,
    POINTING,
    PREDICATES,
    REASONS,
    SEEN_ONCE,
    UNNAMED,
    USAGE,
    VALUED,
    VERBS,
    meaning,
    naming,
    stem,
    words_of,
)
from clew.remember.retract import without_taken_back
from clew.values import dataclass

MAX_CHARS = 4_000
MAX_SENTENCES = 40
MAX_SENTENCE = 400  # characters
MAX_WORDS = 40  # a longer sentence says several things
MAX_LABELS = 3  # in one sentence
MAX_TITLE = 7  # words of a line or sentence that only names what follows
MAX_SHOWN = 300

_END = re.compile(r"(?<=[.!?])[\"')\]]{0,3}\s+|;\s+")
_START = re.compile(r"([ \t]{0,40})(#{1,6} |[-*+•] |\d{1,3}[.)] )?")
_DENIES = re.compile(r"n['’]t\b|\bcannot\b|\b(?:" + "|".join(NEGATIONS) + r")\b", re.IGNORECASE)


class Around(NamedTuple):
    """What stands around a sentence and says what it is about."""

    near: frozenset[str]  # labels, headings, the line that opens a list
    lead: frozenset[str] = frozenset()  # the text opens with a line that only names something
    opening: frozenset[str] = frozenset()  # or with a whole sentence


@dataclass(frozen=True, slots=True)
class Said:
    """One sentence that states something."""

    text: str
    words: tuple[str, ...]  # in order, lower case
    about: frozenset[str]  # stems of those that mean something, without how it is used
    around: Around
    is_denied: bool
    is_past: bool
    is_usage: bool
    is_over: bool  # says that something is no longer so
    is_bare: bool  # what it is about is said around it
    flat: str  # the words, each between two spaces
    at_times: frozenset[str] = frozenset()  # what it is about but for how often; none where it does not say
    claims: tuple[Claim, ...] = ()
    part: str = ""  # of the text, as it is spelled; none where it says something in other words

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
    title = words_of((memory.title or "")[:MAX_SENTENCE])
    places, named = _places(title), naming(title)
    content = without_taken_back(_told(memory.content[:MAX_CHARS]))
    said: list[Said] = []
    for sentence, words, around in islice(_sentences(content), MAX_SENTENCES):
        places |= _places(words)
        if len(sentence) <= MAX_SENTENCE and SEEN_ONCE.isdisjoint(named):
            said += _parts(sentence, words, around, memory.author or "")
    return Reading(tuple(_settled(said)), frozenset(places), named)


def _told(content: str) -> str:
    """What the user asked for was done once; but to use something is to go on with it, if it is said for what."""
    asked = content.removeprefix(ASKED)
    return asked if asked != content and _STANDING.match(asked) else content


_STANDING = re.compile(
    r"(?:please |always |never |do not |don['’]t )?use (?![^.\n]{0,200}\b(?:this|that|these|those|it|here|them)\b)",
    re.IGNORECASE,
)


def _places(words: Sequence[str]) -> set[str]:
    found = {word for word in words if word[0] in "12" and YEAR.match(word)}.union(PLACES.intersection(words))
    return found - {"nightly"} if "nightly" in found and _is_done_nightly(words) else found


def _is_done_nightly(words: Sequence[str]) -> bool:
    """`it is wiped nightly` says how often; `on nightly` and `the nightly build` say where."""
    at = words.index("nightly")
    behind = words[at + 1 : at + 2]
    return at > 1 and not IS.isdisjoint(words[: at - 1]) and words[at - 1] not in IS | EMPTY and not behind


def could_deny(memory: Memory) -> bool:
    """Whether it is worth reading for who looks for denials only."""
    return bool(_DENIES.search(memory.content[:MAX_CHARS]))


def _settled(said: Sequence[Said]) -> Iterable[Said]:
    """A text that gives two values to one thing tells of a change: it claims neither."""
    values: dict[tuple[str, frozenset[str], frozenset[str]], set[str]] = {}
    for one in said:
        for claim in one.claims:
            values.setdefault((claim.kind, claim.about, one.around.near), set()).add(claim.value)
    changed = {key for key, given in values.items() if len(given) > 1}
    return (_without(one, changed) for one in said) if changed else said


def _without(said: Said, changed: Set[tuple[str, frozenset[str], frozenset[str]]]) -> Said:
    near = said.around.near
    return replace(
        said, claims=tuple(claim for claim in said.claims if (claim.kind, claim.about, near) not in changed)
    )


# -- sentences and what stands around them ---------------------------------------------------------

_Sentence = tuple[str, tuple[str, ...], Around]
_PARAGRAPH = 10  # deeper than any heading
_NOTHING: frozenset[str] = frozenset()


def _sentences(content: str) -> Iterator[_Sentence]:
    """Each with its words and what it stands under."""
    under: list[tuple[int, frozenset[str]]] = []
    first: Around | None = None
    before: tuple[str, ...] = ()
    for level, is_within, body in _lines(content):
        _close(under, level + is_within)
        for sentence in (part.strip() for part in _END.split(body)):
            words = words_of(sentence)
            if not words:
                continue
            above = frozenset().union(*(named for _level, named in under)) if under else _NOTHING
            near = above | naming(before) if words[0] in POINTING else above
            yield sentence, words, Around(near, *first[1:]) if first else Around(near)
            if (first or level < _PARAGRAPH or body[-1] == ":") and _is_title(sentence, words, body):
                _close(under, level)
                under.append((level, naming(words)))
            first, before = first or _first(words), words


def _close(under: list[tuple[int, frozenset[str]]], level: int) -> None:
    while under and under[-1][0] >= level:
        under.pop()


def _lines(content: str) -> Iterator[tuple[int, bool, str]]:
    """(how deep it stands, whether it goes on from the line above, its text): headings above paragraphs above
    lists. No code, no quotes."""
    is_within = False
    for line in "".join(content.split("```")[::2]).split("\n"):
        start = _START.match(line)
        body = line[start.end() :].strip() if start else ""
        if start and body and not body.startswith(">"):
            mark = start[2] or ""
            level = len(mark) - 1 if mark[:1] == "#" else _PARAGRAPH + len(start[1]) + bool(mark)
            yield level, is_within and not mark, body
        is_within = bool(body)


def _is_title(sentence: str, words: Sequence[str], body: str) -> bool:
    """Whether it only names what follows, for the lines below it."""
    return sentence.endswith(":") or (sentence == body and body[-1] not in ".!?" and _names(words))


def _names(words: Sequence[str]) -> bool:
    return len(words) <= MAX_TITLE and VERBS.isdisjoint(words)


def _first(words: Sequence[str]) -> Around:
    named = naming(words)
    return Around(_NOTHING, lead=named) if _names(words) else Around(_NOTHING, opening=named)


def _is_open(sentence: str, parts: Iterable[Sequence[str]]) -> bool:
    """Whether it asks, quotes or doubts."""
    is_question = sentence.rstrip("\"')] ").endswith("?")
    return is_question or not all(map(DOUBT.isdisjoint, parts)) or _is_quoting(sentence)


def _is_quoting(sentence: str) -> bool:
    """Three words or more between two quotation marks: one or two are a name."""
    between = sentence.replace("“", '"').replace("”", '"').split('"')[1:-1]
    return any(len(part.split()) >= 3 for part in between)


def _parts(sentence: str, words: tuple[str, ...], around: Around, author: str) -> Iterator[Said]:
    """What stands before a colon is a label of what comes after it."""
    cut = sentence.split(": ", MAX_LABELS + 1)
    parts = [plainly(part) for part in ([words] if len(cut) == 1 else map(words_of, cut))]
    if len(parts) > MAX_LABELS + 1 or not SEEN_ONCE.isdisjoint(around.lead) or _is_open(sentence, parts):
        return
    shown = " ".join(sentence.split())[:MAX_SHOWN]
    for text, part in zip(cut, parts, strict=True):
        if NO_LONGER_SO.isdisjoint(around.near):
            told = (_said(shown, one, around, author) for one in in_other_words(text, part))
            yield from filter(None, (_said(shown, part, around, author, text), *told))
        if part is not parts[-1] and not _CHANGING.issubset(part):
            around = Around(around.near | naming(part), around.lead, around.opening)


_CHANGING = frozenset(("changed", "mind"))  # `finance changed their mind:` does not say of what


# -- one sentence ----------------------------------------------------------------------------------


def _said(shown: str, words: tuple[str, ...], around: Around, author: str, part: str = "") -> Said | None:
    if not REASONS.isdisjoint(words):
        words = words[: next(at for at, word in enumerate(words) if word in REASONS)]
    if not 2 <= len(words) <= MAX_WORDS:
        return None
    known = frozenset(words)
    negations = sum(word in NEGATIONS for word in words) if not known.isdisjoint(NEGATIONS) else 0
    if negations > 1 or (negations and any(pair in _PARTIAL for pair in pairwise(words))):
        return None
    is_told, flat = not known.isdisjoint(PAST) or _is_report(words), f" {' '.join(words)} "
    mine = frozenset((f"@{author.lower()}",)) if author and not known.isdisjoint(FIRST) else frozenset()
    is_plain = not is_told and known.isdisjoint(ADDING) and known.isdisjoint(_OPEN)
    always = mine | _usage_of(words)
    claims = tuple(claims_in(words, always, negations, shown)) if is_plain else ()
    if words[0] in POINTING and not around.near:
        claims = tuple(claim for claim in claims if not claim.about <= _GIVING)
    about = meaning(words) | always
    return Said(
        text=shown,
        words=words,
        about=about,
        around=around,
        is_denied=bool(negations),
        is_past=is_told and not _is_settled(words),
        is_usage=not known.isdisjoint(USAGE) or not known.isdisjoint(("is", "are")),
        is_over=bool(OVER.search(flat)),
        is_bare=any(claim.about <= BARE for claim in claims) if claims else about <= BARE,
        flat=flat,
        at_times=_but_for_how_often(words, about),
        claims=claims,
        part=part,
    )


_OPEN = frozenset(("should", "can"))  # what one may do is not all that one may
_GIVING = frozenset(stem(word) for word in VALUED)  # `it takes` does not say what


def _but_for_how_often(words: tuple[str, ...], about: frozenset[str]) -> frozenset[str]:
    """`the cache is flushed every 2 hours`: what `never` denies, however often."""
    if OFTEN.isdisjoint(words) and _EVERY.isdisjoint(words):
        return _NOTHING
    how = {word for word in words if word in OFTEN}
    for at, word in enumerate(words):
        if word in _EVERY:
            counted = words[at + 1 : at + 2] if words[at + 1 : at + 2] and words[at + 1].isdigit() else ()
            occasion = words[at + 1 + len(counted) : at + 2 + len(counted)]
            how.update((*counted, *occasion) if OCCASIONS.issuperset(occasion) else ())
    return about - {stem(word) for word in how} if how else _NOTHING


_EVERY = frozenset(("every", "each"))


def _is_report(words: tuple[str, ...]) -> bool:
    """`we used Redis for the queue`; but `Redis is used for the queue`."""
    at = words.index("used") if "used" in words else 0
    return at > 0 and _BEING.isdisjoint(words[:at])


_BEING = frozenset("is are be being gets".split())


def _is_settled(words: tuple[str, ...]) -> bool:
    """`the login bug is not fixed`: of the past is only how it came about. Which bug must be said."""
    at = words.index("fixed") if "fixed" in words else 0
    verb = next((back for back in range(at - 1, 0, -1) if words[back] not in _BEFORE_FIXED), 0)
    is_only = sum(word in PAST for word in words) == 1 and words[verb] in ("is", "are", "has", "have")
    return is_only and not meaning(words[:verb]) <= UNNAMED | SEEN_ONCE


_BEFORE_FIXED = frozenset("been now currently still already not finally yet".split())


def _usage_of(words: tuple[str, ...]) -> frozenset[str]:
    """`the read timeout is`, `deploy takes`, `CI runs builds in`, `3 for slow reads`: before the verb, right behind
    it and anywhere behind `for` it is a part of the name."""
    if USAGE.isdisjoint(words):
        return frozenset()
    verb = next((at for at, pair in enumerate(pairwise(words)) if at and _is_verb(*pair)), 0)
    is_doing = words[verb] not in IS and words[verb + 2 : verb + 3] in _THEN
    done = words[verb + 1 : verb + 2] if verb and is_doing else ()
    pairs = pairwise(word for word in words if word not in _ARTICLES)
    behind = (two for one, two in pairs if one in ("per", "on", "during"))
    purpose = words[words.index("for") + 1 :] if "for" in words else ()
    return frozenset(stem(word) for word in (*words[:verb], *done, *behind, *purpose) if word in USAGE)


def _is_verb(word: str, following: str) -> bool:
    return word in PREDICATES or (word == "timeout" and following == "after")


_ARTICLES = frozenset(("the", "a", "an", "our"))
_THEN = frozenset((word,) for word in ("in", "within", "after", "every", "for"))


_PARTIAL = frozenset((
    ("not", "always"), ("not", "all"), ("not", "every"), ("not", "each"), ("not", "only"), ("not", "just"),
    ("no", "doubt"),
))  # fmt: skip

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
from itertools import islice, pairwise, takewhile
from typing import NamedTuple

from clew.model.host import ASKED
from clew.model.memory import Memory
from clew.relate.frames import OVER, in_other_words, plainly
from clew.relate.wording import (
    ADDING,
    ADDITIVE,
    BARE,
    CLAUSES,
    DOUBT,
    DRIFTING,
    EMPTY,
    EXAMPLES,
    EXCLUSIVE,
    INEXACT,
    KIND_OF,
    NATIONS,
    NEGATIONS,
    NO_LONGER_SO,
    NOBODY,
    NOT_PINNED,
    OCCASIONS,
    OFTEN,
    PAST,
    PLACES,
    POINTING,
    PREDICATES,
    REASONS,
    RELATIONS,
    ROLES,
    SEEN_ONCE,
    SERVING,
    SINGLE,
    STATES,
    STORES,
    TEAMS,
    TITLES,
    TURNS,
    UNITS,
    UNNAMED,
    USAGE,
    VAGUE,
    VALUED,
    VERBS,
    VERSIONED,
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
_NUMBER = re.compile(r"(\d[\d,]{0,30}(?:\.\d{1,30})?)([a-z%]{0,20})$")
_COUNTED = re.compile(r"\d[\d,]{0,30}(?:\.\d{1,30})?[a-z%]{0,20}$|\d{1,2}:\d{2}$|\d{4}-\d{2}-\d{2}$")
_REGION = re.compile(r"[a-z]{2}-[a-z]{1,20}-\d$")
VERSION = r"v?(\d{1,9}(?:\.\d{1,9}){0,4})"
_VERSION = re.compile(VERSION + "$")
_YEAR = re.compile(r"(?:19|20)\d\d$")
_DENIES = re.compile(r"n['’]t\b|\bcannot\b|\b(?:" + "|".join(NEGATIONS) + r")\b", re.IGNORECASE)


class Claim(NamedTuple):
    """A value, and the words that say of what."""

    kind: str  # what values it can be compared with
    value: str
    about: frozenset[str]


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
    found = {word for word in words if word[0] in "12" and _YEAR.match(word)}.union(PLACES.intersection(words))
    return found - {"nightly"} if "nightly" in found and _is_done_nightly(words) else found


def _is_done_nightly(words: Sequence[str]) -> bool:
    """`it is wiped nightly` says how often; `on nightly` and `the nightly build` say where."""
    at = words.index("nightly")
    behind = words[at + 1 : at + 2]
    return at > 1 and not _IS.isdisjoint(words[: at - 1]) and words[at - 1] not in _IS | EMPTY and not behind


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
    mine = frozenset((f"@{author.lower()}",)) if author and not known.isdisjoint(_FIRST) else frozenset()
    is_plain = not is_told and known.isdisjoint(ADDING) and known.isdisjoint(_OPEN)
    always = mine | _usage_of(words)
    claims = tuple(_claims(words, always, negations, shown)) if is_plain else ()
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
    is_doing = words[verb] not in _IS and words[verb + 2 : verb + 3] in _THEN
    done = words[verb + 1 : verb + 2] if verb and is_doing else ()
    pairs = pairwise(word for word in words if word not in _ARTICLES)
    behind = (two for one, two in pairs if one in ("per", "on", "during"))
    purpose = words[words.index("for") + 1 :] if "for" in words else ()
    return frozenset(stem(word) for word in (*words[:verb], *done, *behind, *purpose) if word in USAGE)


def _is_verb(word: str, following: str) -> bool:
    return word in PREDICATES or (word == "timeout" and following == "after")


_ARTICLES = frozenset(("the", "a", "an", "our"))
_THEN = frozenset((word,) for word in ("in", "within", "after", "every", "for"))


_FIRST = frozenset(("i", "my", "me", "we", "our"))
_PARTIAL = frozenset((
    ("not", "always"), ("not", "all"), ("not", "every"), ("not", "each"), ("not", "only"), ("not", "just"),
    ("no", "doubt"),
))  # fmt: skip


# -- values ----------------------------------------------------------------------------------------


def _claims(words: tuple[str, ...], always: frozenset[str], negations: int, shown: str) -> Iterator[Claim]:
    found: tuple[Claim | None, ...]
    if not negations:
        found = (
            _counted(words), _kind(words), _serving(words), _store(words), _single(words), _owner(words),
            _state(words), _held(words, shown),
        )  # fmt: skip
    else:  # `it is forbidden` gives a state as well as it denies
        found = (None if _SAYS_NOT.isdisjoint(words) else _state(words),)
    for claim in found:
        if claim and claim.about:
            yield Claim(claim.kind, claim.value, claim.about | always) if always else claim


def _counted(words: tuple[str, ...]) -> Claim | None:
    if VERSIONED.isdisjoint(words):
        return _number(words)
    versioned = (at for at, (one, two) in enumerate(pairwise(words)) if one in VERSIONED and _VERSION.match(two))
    at = next(versioned, None)
    return _number(words) if at is None else _version(words, at) or _needed(words, at)


def _number(words: tuple[str, ...]) -> Claim | None:
    """The only number of the sentence, after a word that gives it to something, or the time after which it is."""
    numbers = [at for at, word in enumerate(words) if word[0].isdigit() and _COUNTED.match(word)]
    if len(numbers) != 1 or not INEXACT.isdisjoint(words):
        return None
    [at] = numbers
    kind, value, used = _measured(words, at)
    cue = next((before for before in range(at) if words[before] in VALUED), None)
    is_repeated = words[at + 1 : at + 2] == ("times",) and not _RETRYING.isdisjoint(words[:at])
    if cue is None and not is_repeated and not (kind == "number s" and _is_timed(words[:at])):
        return None
    if kind == "date" and words[at - 1] not in _ON_DATE:
        return None
    cue = cue or 0
    about = meaning(words[:at] + words[at + used :])
    if words[cue] in _HAVING and not (len(about) > 1 and _FIRST.isdisjoint(words) and _lasts(words[at + used :])):
        return None
    is_of_many = "ports" in words or (kind == "clock" and words[cue] in ("run", "start", "are"))
    if _YEAR.match(words[at]) or is_of_many or len(words) - at - used > 6:
        return None
    return Claim(f"{kind} {RELATIONS.get(words[at - 1], '')}", value, about)


_RETRYING = frozenset(("retry", "retries"))
_HAVING = frozenset("has have gets includes include".split())


def _lasts(counted: tuple[str, ...]) -> bool:
    """`3 seats` are given; of `3 warnings` there are more tomorrow."""
    return DRIFTING.isdisjoint(counted)


def _is_timed(before: tuple[str, ...]) -> bool:
    """`the worker polls every`; but `the build crashed after` was once, and `retry after` does not say what."""
    return (
        len(meaning(before[:-1])) > 1 and before[-1] in _TIMED and not any(word.endswith("ed") for word in before)
    )


_TIMED = frozenset(("after", "every", "within"))
_ON_DATE = frozenset(("on", "is", "="))  # `as of`, `since`: when it was looked at


def _version(words: tuple[str, ...], at: int) -> Claim | None:
    """`the shop uses React 18`: of the name at this place, which a verb leads to, with nothing else counted."""
    verb = max((before for before, word in enumerate(words[:at]) if word in _RUNS), default=at)
    if not _BEFORE_VERSION.issuperset(words[verb + 1 : at]) or words[0] in ("a", "an") or verb == at:
        return None
    is_one = words[verb - 1] not in _OF_SEVERAL or not verb
    is_this = is_one and CLAUSES.isdisjoint(words[:verb]) and _AT.issuperset(words[at + 2 : at + 3])
    if not is_this or not _is_exact(words):
        return None
    return Claim("version", words[at + 1].removeprefix("v"), meaning(words[: at + 1] + words[at + 2 :]))


def _needed(words: tuple[str, ...], at: int) -> Claim | None:
    """`Python 3.12 is required`, `the CLI requires Python 3.12`: what it runs with may be newer."""
    before, after = words[:at], words[at + 2 :]
    if before and before[-1] in _NEEDING:
        before = before[:-1]
    elif not before and after[:1] == ("is",) and _NEEDED.issuperset(after[1:2]):
        after = after[2:]
    else:
        return None
    is_plain = CLAUSES.isdisjoint(before) and _OF_SEVERAL.isdisjoint(before[-1:])
    if not is_plain or not _NEEDED_AT.issuperset(after[:1]) or not _is_exact(words):
        return None
    about = meaning(before + after) | {stem(words[at])}  # `go` may be a verb, and is none here
    return Claim("version needed", words[at + 1].removeprefix("v"), about)


def _is_exact(words: tuple[str, ...]) -> bool:
    """One version, and no range."""
    is_only = sum(word[0].isdigit() or bool(_VERSION.match(word)) for word in words) == 1
    return is_only and INEXACT.isdisjoint(words) and NOT_PINNED.isdisjoint(words)


_RUNS = frozenset("use uses run runs pin pins target targets is are".split())
_NEEDING = frozenset("require requires need needs".split())
_NEEDED = frozenset("required needed mandatory".split())
_OF_SEVERAL = frozenset("ci test tests matrix".split())  # they run with several
_BEFORE_VERSION = frozenset("on to the with at still now currently version".split())


def _measured(words: tuple[str, ...], at: int) -> tuple[str, str, int]:
    """(kind, value, how many words it took)"""
    match = _NUMBER.match(words[at])
    if not match:
        return "clock" if ":" in words[at] else "date", words[at], 1
    unit, used = match[2], 1
    if not unit and at + 1 < len(words):
        following = words[at + 1]
        name = following if following in UNITS else following.removesuffix("s")
        unit, used = (name, 2) if name in UNITS else ("", 1)
    dimension, factor = UNITS.get(unit, (unit, 1))
    return f"number {dimension}", f"{float(match[1].replace(',', '')) * factor:.9g}", used


def _kind(words: tuple[str, ...]) -> Claim | None:
    """The only one of its kind in the sentence, with what it is for."""
    named = [at for at, word in enumerate(words) if word in KIND_OF or ("-" in word and _REGION.match(word))]
    if len(named) != 1 or not ADDITIVE.isdisjoint(words):
        return None
    [at] = named
    kind = KIND_OF.get(words[at], "region")
    if kind not in EXCLUSIVE and _PURPOSE.isdisjoint(words) and not _is_the_one(words[:at], words[at + 1 :]):
        return None
    if _IS.isdisjoint(words) and USAGE.isdisjoint(words):
        return None
    return Claim(kind, words[at], meaning(words[:at] + words[at + 1 :]) | {f"<{kind}>"})


def _is_the_one(before: tuple[str, ...], after: tuple[str, ...]) -> bool:
    """`the API is REST`, said of one thing that is named, and of all of it."""
    verb = before.index("is") if "is" in before else 0
    subject = before[:verb]
    is_whole = _NOW.issuperset(before[verb + 1 :]) and (_NOW.issuperset(after) or after[0] in _AT)
    return bool(verb) and is_whole and not _stems(subject) <= UNNAMED and _is_unique(subject)


def _is_unique(subject: tuple[str, ...]) -> bool:
    return subject[0] not in _OF_MANY and CLAUSES.isdisjoint(subject) and EXAMPLES.isdisjoint(subject)


_NOW = frozenset("now currently still only today again".split())


def _serving(words: tuple[str, ...]) -> Claim | None:
    """`we use Redis for the job queue`: what one is used for says which others could be in its place."""
    for purpose, (meant, names) in SERVING.items():
        named = [at for at, word in enumerate(words) if word in names]
        if len(named) != 1 or meant.isdisjoint(words) or "for" not in words or USAGE.isdisjoint(words):
            continue
        [at] = named
        return Claim(purpose, words[at], meaning(words[:at] + words[at + 1 :]) | {f"<{purpose}>"})
    return None


def _store(words: tuple[str, ...]) -> Claim | None:
    """`sessions are stored in Redis`: where something is kept, which for other uses is one of several."""
    at = next((at for at, pair in enumerate(pairwise(words)) if pair[0] in _KEPT and pair[1] in ("in", "on")), 0)
    place, after = words[at + 2 : at + 3], words[at + 3 :]
    if not at or not STORES.issuperset(place) or not place or (after and after[0] not in _AT):
        return None
    about = meaning(words[:at] + after)
    return Claim("store", place[0], about | {"<store>"}) if about and CLAUSES.isdisjoint(words[:at]) else None


_KEPT = frozenset("stored kept saved persisted live lives".split())
_PURPOSE = frozenset(("for", "as", "in", "on", "to", "with", "by"))
_IS = frozenset(("is", "are", "="))
_NO_VALUE = VAGUE | EMPTY | INEXACT
_BEFORE_VALUE = frozenset(("now", "currently", "set", "to", "the"))


def _single(words: tuple[str, ...]) -> Claim | None:
    """`the default branch is main`: one word after the verb, for something of which there is one.
    `the key is a UUID` says of what sort it is, not which."""
    if SINGLE.isdisjoint(words):
        return None
    verb = next((at for at, word in enumerate(words) if word in _IS), None)
    if not verb or SINGLE.isdisjoint(words[:verb]) or not {"a", "an"}.isdisjoint(words[verb + 1 : verb + 3]):
        return None
    value, *more = [word for word in words[verb + 1 :] if word not in _BEFORE_VALUE] or [""]
    if not value or value in _NO_VALUE or _NUMBER.match(value) or value.endswith(("ed", "ing", "ly")):
        return None
    if more and more[0] not in ("in", "on", "for", "at", "of"):
        return None
    kind = "single code" if _REGION.match(value) else "single"
    return Claim(kind, value.replace("-", "").replace("_", ""), meaning((*words[:verb], *more)))


def _held(words: tuple[str, ...], shown: str) -> Claim | None:
    """`the tech lead is Priya`: by name, who or what it is, of what there is one. `German` is no name."""
    verb = words.index("is") if "is" in words else 0
    if not verb or ROLES.isdisjoint(words[:verb]) or not TURNS.isdisjoint(words):
        return None
    subject, behind = words[:verb], [word for word in words[verb + 1 :] if word not in _NOW]
    spelled = _names_in(shown)
    name = tuple(takewhile(lambda word: word in spelled and word not in _NO_HOLDER, behind))
    rest = tuple(behind[len(name) :])
    about = meaning(subject + rest)
    is_one = _head(subject) in ROLES and _is_unique(subject) and (len(about) > 1 or _head(subject) in TITLES)
    if not is_one or not 1 <= len(name) <= 3 or not _AT.issuperset(rest[:1]):
        return None
    return Claim("role", " ".join(name), about)


def _head(subject: Sequence[str]) -> str:
    """`lead` of `the tech lead of billing`."""
    end = next((at for at, word in enumerate(subject) if word in ("of", "for", "in", "on")), len(subject))
    return subject[end - 1] if end else ""


def _names_in(shown: str) -> frozenset[str]:
    """The words with a capital, in a sentence that has others; `OOO` and `AFK` are no names."""
    if " is " not in shown:
        return frozenset()
    spelled = (word.strip(".,:;`'\"()*").removesuffix("'s") for word in shown.split()[1:])
    return frozenset(word.lower() for word in spelled if word[:1].isupper() and not word.isupper())


_NO_HOLDER = VAGUE | EMPTY | PLACES | NATIONS | KIND_OF.keys()


def _owner(words: tuple[str, ...]) -> Claim | None:
    """`billing is owned by Kim`, `Kim owns billing`; not whose turn it is."""
    if _OWNING.isdisjoint(words) or not TURNS.isdisjoint(words):
        return None
    owned, owner = _owned_and_owner(words)
    name = [word for word in owner if word not in EMPTY]
    who, about = [word for word in name if word not in TEAMS], _stems(owned)
    is_team = who != name
    # `the worker owns the session` and `thread 2 owns the lock` are about code.
    is_name = _NO_NAMES.isdisjoint(word for word in owner if not (is_team and word == "the"))
    if not 1 <= len(who) <= 3 or not is_name or any(map(_NUMBER.match, who)) or about <= UNNAMED:
        return None
    # Kim may be of the team that owns it: they are not compared.
    return Claim("owner team" if is_team else "owner", " ".join(who), about | {"<owner>"})


def _stems(words: Iterable[str]) -> frozenset[str]:
    """Of a name: `the deploy pipeline` is not the build pipeline."""
    return frozenset(stem(word) for word in words if word not in EMPTY)


def _owned_and_owner(words: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    at = next(at for at, word in enumerate(words) if word in _OWNING)
    if words[at] == "owned":
        return (words[:at], words[at + 2 :]) if words[at + 1 : at + 2] == ("by",) else ((), ())
    # Who owns `a laptop` owns one of many.
    is_the_one = words.count("owns") == 1 and _OF_MANY.isdisjoint(words[at + 1 : at + 2])
    return (words[at + 1 :], words[:at]) if is_the_one else ((), ())


_OWNING = frozenset(("owned", "owns"))
_NO_NAMES = NOBODY | EMPTY - {"now", "currently", "still"}
_OF_MANY = frozenset("a an some any many several most part parts half one two three four five no all more".split())


def _state(words: tuple[str, ...]) -> Claim | None:
    """`uploads are disabled for guests`: which of two it is, right after the verb, said of something that is named.
    What holds in a case (`tests pass when uploads are disabled`) or in some way (`disabled by -q`) is no state."""
    if STATES.keys().isdisjoint(words):
        return None
    verb = next((at for at, word in enumerate(words) if word in _IS or word == "be"), 0)
    at = next((at for at in range(verb + 1, len(words)) if words[at] not in _BEFORE_STATE), verb)
    subject, after = words[:verb], words[at + 1 :]
    if words[at] not in STATES or sum(word in STATES and word != "on" for word in words) > 1:
        return None
    sort, which = STATES[words[at]]
    if not _is_plain_subject(subject, words[verb], sort) or not _is_where(after, sort):
        return None
    about = meaning(subject + after)
    kind = f"state must {sort}" if words[verb] == "be" else f"state {sort}"
    return None if about <= UNNAMED else Claim(kind, which, about)


def _is_plain_subject(subject: tuple[str, ...], verb: str, sort: str) -> bool:
    if not subject or not CLAUSES.isdisjoint(subject) or (len(subject) > 1 and (verb == "=" or sort == "truth")):
        return False
    return verb != "be" or subject[-1] == "must"


def _is_where(after: tuple[str, ...], sort: str) -> bool:
    """Whether what follows a state tells where it holds, or says nothing."""
    if not after or sort == "truth":
        return not after
    return after[0] in _AT or (after[0] == "to" and sort != "switch")


_SAYS_NOT = NEGATIONS & STATES.keys()
_BEFORE_STATE = frozenset(("now", "currently", "always", "still", "already", "turned", "set", "to"))
_AT = frozenset(("in", "for", "on", "at", "by-default", "during"))
_NEEDED_AT = _AT | {"by", "to"}

"""The values that a sentence gives to what has one at a time, and of what: numbers, versions, owners, kinds. Pure.

In: the words of a sentence that is stated plainly. Out: each value with the words that say of what it is, or none
where more than one reading is left. Two sentences that give the same two values of one kind contradict each other.
`always`: what the sentence is about whatever value it gives.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise, takewhile
from typing import NamedTuple

from clew.relate.wording import (
    ADDITIVE,
    CLAUSES,
    DRIFTING,
    EMPTY,
    EXAMPLES,
    EXCLUSIVE,
    INEXACT,
    KIND_OF,
    NATIONS,
    NEGATIONS,
    NOBODY,
    NOT_PINNED,
    PLACES,
    RELATIONS,
    ROLES,
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
    VERSIONED,
    meaning,
    stem,
)

_NUMBER = re.compile(r"(\d[\d,]{0,30}(?:\.\d{1,30})?)([a-z%]{0,20})$")
_COUNTED = re.compile(r"\d[\d,]{0,30}(?:\.\d{1,30})?[a-z%]{0,20}$|\d{1,2}:\d{2}$|\d{4}-\d{2}-\d{2}$")
_REGION = re.compile(r"[a-z]{2}-[a-z]{1,20}-\d$")
VERSION = r"v?(\d{1,9}(?:\.\d{1,9}){0,4})"
_VERSION = re.compile(VERSION + "$")
YEAR = re.compile(r"(?:19|20)\d\d$")
FIRST = frozenset(("i", "my", "me", "we", "our"))


class Claim(NamedTuple):
    """A value, and the words that say of what."""

    kind: str  # what values it can be compared with
    value: str
    about: frozenset[str]


def claims_in(words: tuple[str, ...], always: frozenset[str], negations: int, shown: str) -> Iterator[Claim]:
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
    if words[cue] in _HAVING and not (len(about) > 1 and FIRST.isdisjoint(words) and _lasts(words[at + used :])):
        return None
    is_of_many = "ports" in words or (kind == "clock" and words[cue] in ("run", "start", "are"))
    if YEAR.match(words[at]) or is_of_many or len(words) - at - used > 6:
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
    if IS.isdisjoint(words) and USAGE.isdisjoint(words):
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
IS = frozenset(("is", "are", "="))
_NO_VALUE = VAGUE | EMPTY | INEXACT
_BEFORE_VALUE = frozenset(("now", "currently", "set", "to", "the"))


def _single(words: tuple[str, ...]) -> Claim | None:
    """`the default branch is main`: one word after the verb, for something of which there is one.
    `the key is a UUID` says of what sort it is, not which."""
    if SINGLE.isdisjoint(words):
        return None
    verb = next((at for at, word in enumerate(words) if word in IS), None)
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
    verb = next((at for at, word in enumerate(words) if word in IS or word == "be"), 0)
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

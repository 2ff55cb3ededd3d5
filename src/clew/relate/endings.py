"""What a sentence says is over, and whether another one says to use that. Pure.

In: the text of a sentence. Out: the names that it ends (`uv is gone`, `we switch from lingui to i18next`, `back to
npm`), and of another sentence, whether it says to use one of them, and what for (`jest for tests`). Who ends
something says no more of it in that clause: `uv is gone from the cache dir` and `the lockfile is out of date` end
nothing, nor does what holds on a condition or is still to come.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import NamedTuple

from clew.relate.frames import OVER, plainly
from clew.relate.wording import EMPTY, NEGATIONS, NOBODY, PAST, RIVALS, USAGE, VERBS, stem, words_of


class Ending(NamedTuple):
    """`purpose`: what it was used for, if that is told. `is_narrow`: it ends only what is said of no purpose."""

    name: tuple[str, ...]
    purpose: frozenset[str] = frozenset()
    is_narrow: bool = False


_Words = tuple[str, ...]
_CLAUSE = re.compile(r"[,;:…] ?|\.\.\. ?| [-–—]{1,2} | (?:and|but|so|because|since|as|cause|cuz) ", re.IGNORECASE)
_USED_CLAUSE = re.compile(r"[,;:…] ?|\.\.\. ?| [-–—]{1,2} | (?:but|so|because|since|cause|cuz) ", re.IGNORECASE)
_LEAD = r" (?:(?:ok|okay|so|then|btw|ah|well|yes|actually|also|fyi|hm|and) ){0,3}"
_WHO = r"(?:(?:we|i|the team) )?(?:(?:have|has|all|just|now|finally|both|are) ){0,2}"
_NAME = r"(?P<old>\S{1,64} (?:\S{1,64} ){0,2}?)"
_WHAT = r"(?:for (?:\S{1,64} ){1,4}?)?"
_SINCE = (
    "now|here|entirely|completely|everywhere|too|finally|any more|for good|after all|altogether|instead|"
    "from now on|(?:from|in) (?:this|the|our) (?:repo|repository|project|codebase)"
)
_END = rf"{_WHAT}(?:(?:{_SINCE}) ){{0,2}}{_WHAT}$"
_DROP = (
    "drop|drops|dropped|ditch|ditched|abandoned|retired|scrapped|removed|(?:got|get) rid of|done with|"
    "move off|moved off|moved away from|got off|off|stopped using|no longer (?:use|using|on)|no more"
)
_NAMED = (
    re.compile(rf"{_LEAD}{_WHO}(?:{_DROP}) {_NAME}(?:(?:in favour of|to) (?:\S{{1,64}} ){{1,4}}?)?{_END}"),
    re.compile(
        rf"{_LEAD}{_WHO}(?:switch|switched|switching|change|changed|moved|migrated|went) (?:over )?"
        rf"from {_NAME}(?:back )?to (?:\S{{1,64}} ){{1,4}}?{_END}"
    ),
    re.compile(
        rf"{_LEAD}{_NAME}(?:is|are|was|has been|have been) (?:(?:now|finally|officially|completely) ){{0,2}}"
        r"(?:(?:history|retired|dropped|deprecated|abandoned|ditched|scrapped|obsolete|no longer (?:used|in use)|"
        rf"not used any more) |replaced (?:by|with) (?:\S{{1,64}} ){{1,4}}?){_END}"
    ),
    re.compile(rf"{_LEAD}{_WHO}(?:do )?not (?:(?:use|using|on) )?{_NAME}any more {_END}"),
    re.compile(rf"{_LEAD}{_NAME}(?:is |are )?(?:no more|not any more) {_END}"),
)
# Of a thing that crashed, or has come out, people say the same: only where it is all they say, or they go on to say
# what holds instead.
_GONE = re.compile(
    rf"{_LEAD}{_NAME}(?:is|are) (?:(?:now|finally|officially|completely) ){{0,2}}(?:gone|out) {_END}"
)
_GOES_ON = re.compile(
    r" (?:from now on|now|instead|it is|uses?|back (?:to|on)|only|for good|switch|switched|moved|always|everywhere|"
    r"goes with|go with) | in $"
)
_INSTEAD = re.compile(
    rf"{_LEAD}(?:(?:we|are|go|going|back|to|on|with|use|prefer|now) ){{0,5}}(?P<new>(?:\S{{1,64}} ){{1,3}}?)"
    rf"instead of {_NAME}{_END}"
)
_CHOICE = frozenset(
    "ok okay so then btw well yes actually and we i us it all everything everyone are is have has just now again "
    "back use using go going went stay stick switch switched move moved changed migrated over on to with the "
    "team from platform please".split()
)
_BACK = frozenset("back switch switched move moved changed migrated".split())
_HENCEFORTH = re.compile(
    rf" (?P<new>\S{{1,64}}) (?:(?:now|it is|again|after all|instead|from now on) ){{1,3}}{_WHAT}$"
)
_ON_CONDITION = re.compile(
    rf"{_LEAD}(?:when|whenever|if|once|after|until|till|while|unless|before|where|wherever|in case|as soon as) "
)
_NOT_YET = frozenset("soon later eventually tomorrow next gradually slowly until till yet almost nearly".split())
_NO_NAME = EMPTY | PAST | NEGATIONS | NOBODY | frozenset("what everything nothing something".split())
_TURN = re.compile(r" changed (?:their|his|her|our|my|its) minds? | from now on | now | after all ")
_PUNCTUATED = re.compile(r"[,;:]|\.\.\.| [-–—] ")


# -- what is over ----------------------------------------------------------------------------------


def endings(text: str) -> tuple[Ending, ...]:
    """Each name that a sentence ends."""
    clauses = [words for part in _CLAUSE.split(text) if (words := words_of(part))]
    flat = f" {' '.join(words_of(text))} "
    if not _NOT_YET.isdisjoint(flat.split()) or any(_ON_CONDITION.match(_flat(words)) for words in clauses):
        return ()
    purpose = _purpose(flat.split())
    is_alone = len(clauses) == 1
    found = (_named(words, flat, purpose, is_alone=is_alone) or _of_rivals(words, purpose) for words in clauses)
    return tuple(chain.from_iterable(found))


def _named(words: _Words, flat: str, purpose: frozenset[str], *, is_alone: bool) -> list[Ending]:
    said = (_flat(plainly(words)), _flat(words))
    match = next((match for form in _NAMED for one in said if (match := form.match(one))), None)
    match = match or _gone(said[0], "" if is_alone else flat)
    is_narrow = match is None
    match = match or _instead(words)
    name = match["old"].split() if match else []
    if not name or not _NO_NAME.isdisjoint(name) or name[0] in USAGE or name[0].isdigit():
        return []
    return [Ending(tuple(map(stem, name)), purpose, is_narrow)]


def _gone(clause: str, sentence: str) -> re.Match[str] | None:
    """`sentence`: what it goes on to say, if it does."""
    match = _GONE.match(clause)
    name = match["old"].split() if match else []
    if not match or any(word[0].isdigit() for word in name):  # a version has come out
        return None
    rest = sentence.replace(clause, " ", 1)
    goes_on = not sentence or (_GOES_ON.search(rest) and NEGATIONS.isdisjoint(rest.split()))
    return match if goes_on or any(f" {other} " in sentence for other in RIVALS.get(name[-1], ())) else None


def _instead(words: _Words) -> re.Match[str] | None:
    match = _INSTEAD.match(_flat(words))
    return match if match and (_NO_NAME | USAGE).isdisjoint(match["new"].split()) else None


def _of_rivals(words: _Words, purpose: frozenset[str]) -> list[Ending]:
    """`spaces now`, `we are back on npm`: of what there is one of, the others are over."""
    flat = _flat(words)
    match = _HENCEFORTH.search(flat)
    at = next((at for at, word in enumerate(words) if word in RIVALS), None)
    if at is None or not _CHOICE.issuperset(words[:at]) or not NEGATIONS.isdisjoint(words):
        return []
    is_back = not _BACK.isdisjoint(words[:at]) and "from" not in words[:at] and _ends(words[at + 1 :])
    if not is_back and not (match and match["new"] == words[at]):
        return []
    return [Ending((stem(other),), purpose, is_narrow=True) for other in RIVALS[words[at]]]


def _ends(after: Sequence[str]) -> bool:
    return not after or after[0] in ("now", "again", "for", "yesterday", "today", "here", "everywhere")


def _purpose(words: Sequence[str]) -> frozenset[str]:
    at = words.index("for") if "for" in words else len(words)
    rest = words[at + 1 : at + 5]
    return frozenset(stem(word) for word in rest if word not in _NO_NAME and word != "good")


def turned_from(text: str, label: str = "") -> tuple[_Words, ...]:
    """`we now round the total, not per line`: what is put behind, where the sentence tells of a change of mind."""
    if not _TURN.search(_flat(words_of(f"{label} {text}"))):
        return ()
    clauses = (words_of(part) for part in _PUNCTUATED.split(text))
    return tuple(words[1:] for words in clauses if words[:1] == ("not",) and 1 < len(words) <= 5)


# -- what is said to use ---------------------------------------------------------------------------

_BEFORE_USE = frozenset("use uses using via prefer prefers choose chose pick picked run runs through".split())
_LEADS_TO = {
    "on": frozenset("we are is run runs based built stay stick all everything everyone".split()),
    "in": frozenset("live lives kept stored written".split()),
    "into": frozenset("go goes".split()),
    "to": frozenset("switch switched move moved migrate migrated changed back over stick".split()),
}
_FILLING = frozenset("always only please just we i all everyone everything here the ok so and yes".split())
_AFTER_USE = frozenset(
    "on for here everywhere only always now please and or instead to as in it from over rather".split()
)
_AFTER_NAME = frozenset("for here everywhere only always now please it from".split())
_OCCASIONS = frozenset("save commit push every each all".split())
_HERE = frozenset("in this the our repo repository project codebase here".split())
_HAPPENS = VERBS - USAGE | frozenset("is are takes hangs breaks crashes crashed was".split())
_TROUBLE = frozenset("problem problems trouble issue issues bug bugs done careful".split())
_MOVED = frozenset("switched moved migrated changed chose picked".split())
_STRESSES = frozenset("always only everywhere please here not no never ever".split())


def used_for(text: str, name: _Words) -> frozenset[str] | None:
    """What for a sentence says to use something; none if it does not say to use it."""
    clauses = [words_of(part) for part in _USED_CLAUSE.split(text)]
    for at, clause in enumerate(clauses):
        words = plainly(clause)
        others = [other for other in (*clauses[:at], *clauses[at + 1 :]) if other]
        is_stressed = at == 0 and all(other[0] in _STRESSES for other in others)
        if _says_to_use(words, name, is_stressed=is_stressed):
            return _purpose(words)
    return None


def _says_to_use(words: _Words, name: _Words, *, is_stressed: bool) -> bool:
    if not NEGATIONS.isdisjoint(words) or not (PAST - _MOVED).isdisjoint(words) or OVER.search(_flat(words)):
        return False
    return any(
        _is_used(words[:at], words[at + len(name) :], is_stressed=is_stressed) for at in places_of(name, words)
    )


def places_of(name: _Words, words: _Words) -> Iterator[int]:
    stems = tuple(map(stem, words))
    return (at for at in range(len(words) - len(name) + 1) if stems[at : at + len(name)] == name)


def _is_used(before: _Words, after: _Words, *, is_stressed: bool) -> bool:
    if not _TROUBLE.isdisjoint(before) or (after[:2] != ("it", "is") and not _HAPPENS.isdisjoint(after)):
        return False
    if after and after[0] in ("in", "on") and not _HERE.issuperset(after) and not _OCCASIONS.issuperset(after[1:2]):
        return False
    if _FILLING.issuperset(before):
        return after[0] in _AFTER_NAME if after else is_stressed or bool(before)
    if after and after[0] not in _AFTER_USE:
        return False
    if before[-1] in ("and", "or"):  # one of several: the verb stands before them all
        last = next((at for at in range(len(before) - 2, max(-1, len(before) - 7), -1) if _leads(before, at)), None)
        return last is not None
    return _leads(before, len(before) - 1)


def _leads(before: _Words, at: int) -> bool:
    """Whether this word makes what follows it something that is used."""
    word, one_before = before[at], before[at - 1] if at else ""
    if word in _LEADS_TO:
        return one_before in _LEADS_TO[word]
    return word in _BEFORE_USE or (word == "with" and at > 0)


def _flat(words: Sequence[str]) -> str:
    return f" {' '.join(words)} "

"""What a sentence states apart from the words it is wrapped in. Pure.

In: the words of a sentence. Out: the same without what only tells that it was decided (`we decided to use Redis`
says `we use Redis`), and what else it says in other words: that a thing is over before it tells of the next, what
is used since a move, what one may do. Only at the beginning of a sentence: `last year we decided` is a report.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from clew.relate.wording import EMPTY, KIND_OF, SERVING, STORES, UNITS, USAGE, stem, words_of

_Words = tuple[str, ...]
_FINE = "(?:fine|ok|okay|allowed|permitted|acceptable)"
_LEAD = r" (?:(?:ok|okay|so|then|and|yes|well|now|today|final|decision) ){0,3}"
_LATELY = r"(?:(?:have|has|all|just|now|finally|both|recently) ){0,2}"
_DECIDED = re.compile(
    rf"{_LEAD}(?P<who>we|i|the team) {_LATELY}(?:decided|agreed|chose|opted|resolved|settled) "
    r"(?P<how>not to|to not|to|that|on|for|against) (?:using )?"
)
_GOING = re.compile(
    rf"{_LEAD}(?:(?P<who>we|i) (?:are|am|have) (?:(?:now|just) )?(?:going|gone)|(?:let|we|i) go) with "
)
_MAY = re.compile(rf"{_LEAD}it (?:is )?(?:now )?(?P<not>not )?(?:now )?{_FINE} (?:again )?to ")
_FILLERS = frozenset("ok okay yes well alright".split())
_MEANT = {"to": "", "that": "", "on": "use", "for": "use", "against": "not use", "not to": "not", "to not": "not"}
# What is decided is told like what was done: it ends something in the same way.
_DONE = {
    "drop": "dropped", "ditch": "ditched", "abandon": "abandoned", "retire": "retired", "scrap": "scrapped",
    "remove": "removed", "stop": "stopped", "replace": "replaced", "swap": "swapped", "switch": "switched",
    "move": "moved", "migrate": "migrated", "change": "changed", "upgrade": "upgraded",
}  # fmt: skip

_ORDERED = re.compile(
    rf"{_LEAD}(?:let (?=(?:{'|'.join(_DONE)}) )|(?:it was|it is|the decision is) (?:decided |agreed )?(?:to|that) )"
)


def plainly(words: _Words) -> _Words:
    """The sentence without the frame. Who decides stays: what two people choose for themselves is no conflict."""
    if _FRAMING.isdisjoint(words):
        return words
    flat = f" {' '.join(words)} "
    if " from now on " in flat:
        flat = flat.replace(" from now on ", " ")
        words = tuple(flat.split())
    if match := _DECIDED.match(flat):
        who = "" if match["how"] == "that" else match["who"]
        return _decided(f"{who} {_MEANT[match['how']]} {flat[match.end() :]}")
    if match := _GOING.match(flat):
        return tuple(f"{match['who'] or 'we'} use {flat[match.end() :]}".split())
    if match := _ORDERED.match(flat):
        return _decided(f"we {flat[match.end() :]}")
    if match := _MAY.match(flat):
        return tuple(f"you {'can not' if match['not'] else 'can'} {flat[match.end() :]}".split())
    return words[1:] if words[:1] and words[0] in _FILLERS else words


_FRAMING = _FILLERS | frozenset(
    "decided agreed chose opted resolved settled going gone go let decision from fine allowed permitted "
    "acceptable".split()
)  # without one of these there is no frame


def _decided(text: str) -> _Words:
    words = text.split()
    at = next((at for at, word in enumerate(words) if word not in ("we", "i", "the", "team")), 0)
    if words and words[at] in _DONE:
        words[at] = _DONE[words[at]]
    return tuple(words)


def in_other_words(text: str, words: _Words) -> Iterator[_Words]:
    """What it says besides, as a sentence of its own."""
    if "not" in words and (kept := _without_rival(words)):
        yield kept
    if _TELLING.isdisjoint(words):
        return
    flat = f" {' '.join(words)} "
    if OVER.search(flat) and (over := _over_first(text)):
        yield over
    if match := _MOVED.match(flat):
        what, new = match["what"].strip(), match["new"].strip()
        if "from" not in what.split() and not _IS_VERSION.match(flat, match.end()):
            purpose = f"for {what} " if what else ""
            yield tuple(f"{match['who']} use {new} {purpose}{flat[match.end() :]}".split())
    if (match := _DOING.match(flat)) and _says_nothing(flat[match.end() :]):
        verb = _BASE.get(stem(match["verb"]), match["verb"])
        yield tuple(f"you can {match['not'] or ''}{verb} {match['what']}".split())
    elif permitted := _permitted(flat):
        yield permitted


def _permitted(flat: str) -> _Words:
    """`force pushes to main are allowed`, `users are allowed to delete posts`, `we allow squash merges`."""
    match = _ALLOWED.match(flat) or _ALLOW.match(flat)
    if not match:
        return ()
    what, rest, can = match["what"], flat[match.end() :], "can not" if match["not"] else "can"
    if match.re is _ALLOWED and match["to"]:
        return tuple(f"{what} {can} {rest}".split())
    is_named = len(what.split()) > 1
    return tuple(f"you {can} {what}".split()) if is_named and _says_nothing(rest) else ()


_TELLING = frozenset(
    "longer more stopped moved switched migrated changed fine ok okay allow allowed permit permitted "
    "acceptable".split()
)
OVER = re.compile(r" (?:no longer|any more|no more|stopped using) ")
# Where the next main clause begins: `..., we moved to ruff`, `... and now use ruff`.
_NEXT = re.compile(
    r"(?:, (?:and |so |but )?|\s[-–—] | (?:and|but) )"
    r"(?=(?:we|it|it['’]s|they|now|use|instead|let['’]s|moved|switched) )",
    re.IGNORECASE,
)
_MOVED = re.compile(
    rf" (?P<who>we|i|the team) {_LATELY}(?:moved|switched|migrated|changed) (?P<what>(?:\S{{1,64}} ){{0,4}}?)"
    r"(?:over )?to (?P<new>\S{1,64}) "
)
_DOING = re.compile(
    r" (?P<verb>\S{2,40}ing) (?P<what>(?:\S{1,64} ){0,8}?)(?:is|are) (?:(?:now|again) ){0,2}(?P<not>not )?(?:now )?"
    rf"{_FINE} (?:any more )?"
)
_ALLOWED = re.compile(
    rf"{_LEAD}(?P<what>(?:\S{{1,64}} ){{1,8}}?)(?:is|are) (?:(?:now|again) ){{0,2}}"
    r"(?P<not>(?:not|never) )?(?:now )?(?:allowed|permitted) (?P<to>to )?(?:any more )?"
)
_ALLOW = re.compile(
    rf"{_LEAD}we (?:now )?(?P<not>(?:do not|never) )?(?:now )?(?:allow|permit) (?P<what>(?:\S{{1,64}} ){{2,9}})"
)
_IS_VERSION = re.compile(r"v?\d")  # an upgrade: what is newer does not contradict it
_BASE = {stem(word): word for word in sorted(USAGE, key=len, reverse=True)}


def _without_rival(words: _Words) -> _Words:
    """`npm for the frontend, not pnpm` says `npm for the frontend`: what is denied could stand in the place of what
    is said. `Not for guests` is an exception, and `not yet` is no denial."""
    at = words.index("not")
    before = words[: at - 1] if at and words[at - 1] in ("and", "but") else words[:at]
    rival, after = _rival(words[at + 1 :])
    is_whole = not after or after[0] in ("for", "in", "on", "as")
    return (*before, *after) if rival and is_whole and _could_replace(rival, before) else ()


def _rival(words: _Words) -> tuple[str, _Words]:
    """(the name or number, what follows it and its unit)"""
    at = int(words[:1] in _BEFORE_RIVAL)
    rival, after = "".join(words[at : at + 1]), words[at + 1 :]
    is_measured = rival[:1].isdigit() and _IN_UNITS.issuperset(after[:1])
    return rival, after[1:] if is_measured else after


def _could_replace(rival: str, words: _Words) -> bool:
    if rival[0].isdigit():
        return sum(word[0].isdigit() for word in words) == 1
    return any(_is_rival(rival, word) for word in words if word != rival)


def _is_rival(one: str, other: str) -> bool:
    """Whether both are of one kind, keep things, or serve one purpose."""
    pair = {one, other}
    is_of_kind = one in KIND_OF and KIND_OF[one] == KIND_OF.get(other)
    return is_of_kind or pair <= STORES or any(pair <= names for _meant, names in SERVING.values())


_BEFORE_RIVAL = frozenset((word,) for word in ("in", "on", "with", "to", "by", "via", "at"))
_IN_UNITS = UNITS.keys() | {f"{unit}s" for unit in UNITS}


def _over_first(text: str) -> _Words:
    """`We no longer use black, we moved to ruff for formatting`: black is over, for formatting."""
    first, *rest = _NEXT.split(text, maxsplit=1)
    words = words_of(first)
    if not rest or not OVER.search(f" {' '.join(words)} "):
        return ()
    after = words_of(rest[0])
    is_for = "for" in after and "for" not in words
    return (*words, *after[after.index("for") :]) if is_for else words


def _says_nothing(rest: str) -> bool:
    return all(word in EMPTY for word in rest.split())

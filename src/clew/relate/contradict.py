"""Contradictions and supersessions, by rules. Pure; no model.

In: a memory and others it could be compared with. Out: what it contradicts and what it supersedes, each with the
sentence that shows it, which rule found it, and a low confidence: nothing is resolved here. Rules compare sentences
of two memories of one place (project and user): what holds for one project only is no contradiction of what all
share. They must speak of the same thing under the same circumstances, word by word, and what stands around them
(label, heading, title, what the text opens with) must name the same:

- different_value: both give a value to what has one at a time (a number, an owner, a role, a required version, one
  of a kind, one of two states), and the values differ (contradicts)
- opposite: one states what the other denies, in the same words; `never` denies it however often (contradicts)
- no_longer, changed_over, replaced: the new one says that something is over that the old one states (supersedes)
- ended: the new one says of a name that it is over (`uv is gone`), which the old one says to use (supersedes)
- turned_round: the new one chooses what the old one puts behind, and the other way round (supersedes)
- newer_version: the new one tells of an upgrade, the old one names an earlier version (supersedes)
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice, pairwise
from typing import NamedTuple

from clew.model.memory import Memory
from clew.model.relation import RULE, Finding
from clew.relate.claims import Reading, Said, could_deny, read
from clew.relate.endings import Ending, endings, places_of, turned_from, used_for
from clew.relate.valued import VERSION, Claim
from clew.relate.wording import ACTS, BARE, EMPTY, GENERIC, NEGATIONS, NOT_PINNED, UNNAMED, USAGE, WEAK, stem


class Rule(NamedTuple):
    name: str
    type: str
    confidence: float
    explanation: str


VALUE = Rule(
    "different_value", "contradicts", 0.5, "rule different_value: both give a value to the same, and they differ"
)
OPPOSITE = Rule("opposite", "contradicts", 0.5, "rule opposite: one states what the other denies")
NO_LONGER = Rule("no_longer", "supersedes", 0.6, "rule no_longer: it says that what the other states is over")
CHANGED = Rule(
    "changed_over", "supersedes", 0.6, "rule changed_over: it tells of a change from what the other states"
)
REPLACED = Rule(
    "replaced", "supersedes", 0.55, "rule replaced: it names something else in place of what the other states"
)
ENDED = Rule("ended", "supersedes", 0.6, "rule ended: it says that what the other says to use is over")
TURNED = Rule("turned_round", "supersedes", 0.6, "rule turned_round: it turns round what the other chooses")
UPGRADED = Rule(
    "newer_version", "supersedes", 0.55, "rule newer_version: it tells of an upgrade from what the other names"
)
Fits = Callable[[Said], bool]


class Test(NamedTuple):
    """A rule, ready to be tried on sentences of others."""

    rule: Rule
    said: Said
    fits: Fits


SHARED_AT_LEAST = 2  # words that two sentences need in common to deny each other


def contradictions(
    memory: Memory, others: Sequence[Memory], *, reading: Callable[[Memory], Reading] = read
) -> list[Finding]:
    """At most one finding for each of the others, by the first rule that fits. `reading`: for who reads many."""
    mine = reading(memory)
    tests = [Test(rule, said, fits) for rule, prepare in _RULES for said in mine.said if (fits := prepare(said))]
    affirmed = [test for test in tests if test.rule is not OPPOSITE or test.said.is_denied]
    found = []
    for other in others if tests else ():
        if (other.project, other.user) != (memory.project, memory.user):
            continue
        worth = tests if could_deny(other) else affirmed
        if worth:
            found += [
                Finding(test.rule.type, other.id, test.rule.confidence, RULE, sentence=test.said.text,
                        explanation=test.rule.explanation, rule=test.rule.name)
                for test in islice(_fitting(worth, mine, memory, reading(other), other), 1)
            ]  # fmt: skip
    return found


def _fitting(
    tests: Sequence[Test], mine: Reading, memory: Memory, theirs: Reading, other: Memory
) -> Iterator[Test]:
    if mine.places != theirs.places or (memory.paths and other.paths and not set(memory.paths) & set(other.paths)):
        return
    is_later = (memory.at, memory.created_at) >= (other.at, other.created_at)
    for test in tests:
        if test.rule.type == "supersedes" and not is_later:
            continue
        if any(test.fits(old) and _same_thing(mine, test.said, theirs, old) for old in theirs.said):
            yield test


def _same_thing(mine: Reading, said: Said, theirs: Reading, old: Said) -> bool:
    """Whether what stands around both names the same. A title or first line that only one of them has is no
    difference, unless neither the sentence nor its label or heading says what it is about."""
    known, one, two = said.about | old.about, said.around, old.around
    far = mine.title | one.lead, theirs.title | two.lead
    if not _agree(one.near, two.near, known.union(*far)):
        return False
    if any(a and b and not _agree(a, b, known) for a, b in ((mine.title, theirs.title), (one.lead, two.lead))):
        return False
    if not (said.is_bare or old.is_bare) or not (one.near & two.near) <= BARE:
        return True
    return _agree(far[0] | one.near | one.opening, far[1] | two.near | two.opening, known)


def _agree(one: frozenset[str], other: frozenset[str], known: frozenset[str]) -> bool:
    return one ^ other <= known


# -- contradictions --------------------------------------------------------------------------------


def _different_value(said: Said) -> Fits | None:
    return partial(_differ, said) if said.claims else None


def _differ(said: Said, old: Said) -> bool:
    return any(
        one.kind == two.kind and one.about == two.about and not _is_same(one, two)
        for one in said.claims
        for two in old.claims
    )


MEANT = tuple(1.024**power for power in range(5))  # who writes MB may mean MiB, or 1024 of the next smaller


def _is_same(one: Claim, two: Claim) -> bool:
    if one.kind.startswith(("owner", "role")):  # `Kim` and `Kim Lee` may be one
        first, second = set(one.value.split()), set(two.value.split())
        return first <= second or second <= first
    if one.kind.startswith("version"):  # `3` may be `3.12`
        return all(a == b for a, b in zip(one.value.split("."), two.value.split("."), strict=False))
    if not one.kind.startswith("number b "):
        return one.value == two.value
    small, large = sorted((float(one.value), float(two.value)))
    return any(math.isclose(large, small * factor, rel_tol=1e-6) for factor in MEANT)


def _opposite(said: Said) -> Fits | None:
    is_told = len(said.about) >= SHARED_AT_LEAST or _order(said)
    return partial(_deny, said) if is_told and not said.is_past and not said.is_over else None


def _deny(said: Said, old: Said) -> bool:
    is_same = said.about == old.about or _never(said, old) or _never(old, said)
    is_plain = is_same and not old.is_past and not old.is_over and _acts(said) == _acts(old)
    if is_plain and len(said.about) < SHARED_AT_LEAST and _order(said) != _order(old):
        return False
    # Not to use A instead of B is to use B instead of A.
    return is_plain and said.is_denied != old.is_denied and not _is_turned(_chosen(said), _chosen(old))


def _never(said: Said, old: Said) -> bool:
    """`staging is never wiped` denies that it is wiped nightly."""
    return "never" in said.words and len(said.about) >= SHARED_AT_LEAST and said.about == old.at_times


def _order(said: Said) -> tuple[str, ...]:
    """What one is told to do or not to do with something that is named: `use tabs`."""
    start = next((at for at, word in enumerate(said.words) if word not in _ORDERING), 0)
    words = said.words[start:]
    if "avoid" in said.words[:start]:
        words = ("use", *words[words[0] == "using" :])
    is_order = words[0] in _ORDERS and NEGATIONS.isdisjoint(words) and not said.about <= UNNAMED
    return tuple(word for word in words if word not in ("the", "a", "an")) if is_order else ()


_ORDERING = frozenset("please always never do not must you we can avoid".split())
_ORDERS = frozenset("use run pin store keep write build serve publish call read send deploy host put".split())


def _acts(said: Said) -> frozenset[str]:
    return frozenset([ACTS[word] for word in said.words if word in ACTS])


# -- what is over ----------------------------------------------------------------------------------


def _no_longer(said: Said) -> Fits | None:
    return partial(_still_said, said, said.about - _OVER_WORDS) if said.is_over else None


def _still_said(said: Said, about: frozenset[str], old: Said) -> bool:
    """The same words without `no longer`; the old one may say a little more of what it is used for."""
    if not old.is_stated:
        return False
    if about == old.about:
        return len(about) >= SHARED_AT_LEAST or said.is_usage
    says_more = bool(about) and about < old.about and len(old.about - about) == 1
    return says_more and _uses(said) and _uses(old) and _same_subject(_subject(said.words), old)


_OVER_WORDS = frozenset(stem(word) for word in ("longer", "any", "more", "stopped", "using"))
_AFTER_SUBJECT = USAGE | NEGATIONS | frozenset("is are do does has have can stopped support supports".split())


def _uses(said: Said) -> bool:
    return not USAGE.isdisjoint(said.words)


def _subject(words: Sequence[str]) -> frozenset[str]:
    """Of what it is said: all before the verb."""
    end = next((at for at, word in enumerate(words) if word in _AFTER_SUBJECT), 0)
    return _stems(words[:end])


def _same_subject(subject: frozenset[str], old: Said, *, gone: frozenset[str] = frozenset()) -> bool:
    """`the service` is not `the billing service`."""
    theirs = _subject(old.words) - gone
    return subject <= _stems(old.words) and (subject.isdisjoint(theirs) or theirs <= subject)


class _Change(NamedTuple):
    old: frozenset[str]
    new: frozenset[str]
    about: frozenset[str]
    subject: frozenset[str]


_TAIL = r"(?=in |for |on |at |with |and |to |when |last |this |$)"
_OLD, _NEW = r"(?P<old>(?:\S{1,64} ){1,4}?)", r"(?P<new>(?:\S{1,64} ){1,4}?)"
_WAS = "(?:was|were|is|are|got|has been|have been)"
_FROM_TO = re.compile(
    r" (?:switched|migrated|moved|ported|transitioned|changed|converted|rewrote) (?P<what>(?:\S{1,64} ){0,4}?)"
    rf"from {_OLD}to {_NEW}{_TAIL}"
)
_DROP = "(?:drop|dropped|ditch|ditched|abandoned|retired|scrapped)"
_LET_GO = re.compile(
    r" (?:we|i|the team) (?:(?:have|has|just|now|finally) ){0,2}"
    rf"(?:dropped|ditched|abandoned|retired|scrapped|removed|got rid of) {_OLD}{_TAIL}"
)
# It is still there, or there by another name: what it does holds, and only who says to use it is out of date.
_OUT_OF_USE = (
    re.compile(rf" {_OLD}{_WAS} deprecated (?:in favour of|(?:so |please )?use) {_NEW}(?:instead )?{_TAIL}"),
    re.compile(rf" {_OLD}{_WAS} renamed (?:to|as|into) {_NEW}{_TAIL}"),
    re.compile(rf" renamed {_OLD}(?:to|as|into) {_NEW}{_TAIL}"),
)
_REPLACED = (
    re.compile(rf" {_OLD}{_WAS} (?:replaced|superseded) (?:by|with) {_NEW}{_TAIL}"),
    re.compile(rf" (?:replaced|swapped) {_OLD}(?:with|by|for) {_NEW}{_TAIL}"),
    re.compile(rf" {_NEW}(?:replaces|supersedes) {_OLD}{_TAIL}"),
    re.compile(
        rf" (?:use|uses|using|run|runs) {_NEW}for (?P<what>(?:\S{{1,64}} ){{1,4}}?)instead of {_OLD}{_TAIL}"
    ),
    re.compile(
        rf" (?:use|uses|using|prefer|run|runs|call|import|write|deploy|deploys) {_NEW}instead of {_OLD}{_TAIL}"
    ),
    re.compile(rf" not {_OLD}but {_NEW}any more "),
    re.compile(rf" {_DROP} {_OLD}(?:for (?P<what>(?:\S{{1,64}} ){{1,4}}?))?in favour of {_NEW}{_TAIL}"),
    re.compile(rf" {_DROP} {_OLD}(?:for (?P<what>(?:\S{{1,64}} ){{1,4}}?))?(?:and )?use {_NEW}instead "),
)
_CHOOSES = tuple("use uses prefer prefers choose chose pick picked run call import write deploy".split())
_CHOSEN = re.compile(rf" (?:{'|'.join(_CHOOSES)}) {_NEW}(?:instead of|rather than|over|not) {_OLD}{_TAIL}")


def _changed_over(said: Said) -> Fits | None:
    match = _FROM_TO.search(said.flat)
    return partial(_is_of, _change(said, match), said) if match else None


def _dropped(said: Said) -> Fits | None:
    match = _LET_GO.match(said.flat)
    return partial(_is_dropped, _change(said, match)) if match else None


def _is_dropped(change: _Change, old: Said) -> bool:
    """Whether the old sentence states what is let go, of what it is let go for; who speaks of us may say how."""
    whole = frozenset(stem(word) for word in old.words)
    if not change.old or not change.old | change.about <= whole or not old.is_stated:
        return False
    more = old.about - change.old - change.about - _HERE
    if not change.about and more and not _is_chosen(change, old):
        return False
    return len(more) <= (old.words[0] in _SPEAKERS or old.words[0] in _ORDERING or old.words[0] in _CHOOSES)


def _replaced(said: Said) -> Fits | None:
    match = _first(_REPLACED, said)
    return partial(_is_of, _change(said, match), said) if match else None


def _out_of_use(said: Said) -> Fits | None:
    match = _first(_OUT_OF_USE, said)
    return partial(_says_to_use, _change(said, match), said) if match else None


def _first(patterns: Sequence[re.Pattern[str]], said: Said) -> re.Match[str] | None:
    return next((match for pattern in patterns if (match := pattern.search(said.flat))), None)


def _says_to_use(change: _Change, said: Said, old: Said) -> bool:
    return _is_chosen(change, old) and _is_of(change, said, old)


def _is_chosen(change: _Change, old: Said) -> bool:
    told = pairwise(word for word in old.words if word not in EMPTY)
    return any(one in _CHOOSES and stem(two) in change.old for one, two in told)


def _change(said: Said, match: re.Match[str]) -> _Change:
    named = {name: (words or "").split() for name, words in match.groupdict().items()}
    was, now, what = _stems(named["old"]), _stems(named.get("new", ())), named.get("what", [])
    before = said.flat[: match.start()].split()
    subject = _stems(what) if not _SPEAKERS.isdisjoint(before) else _stems(before + what)
    about = _stems([*before, *said.flat[match.end() :].split(), *what])
    return _Change(was, now - was, about - was - now, subject - was - now)


_SPEAKERS = frozenset(("we", "i", "they", "team", "let"))
_NO_CONTEXT = EMPTY | USAGE | NEGATIONS | GENERIC
_HERE = frozenset(stem(word) for word in ("repo", "repository", "project", "codebase"))  # where everything is


def _stems(words: Sequence[str]) -> frozenset[str]:
    return frozenset(stem(word) for word in words if word not in _NO_CONTEXT)


def _is_of(change: _Change, said: Said, old: Said) -> bool:
    """Whether the old sentence states what was before, of the same thing."""
    whole = frozenset(stem(word) for word in old.words)
    if not change.old or not change.old <= whole or not old.is_stated or change.new & whole:
        return False
    if not _same_subject(change.subject, old, gone=change.old):
        return False
    if change.about:
        return 2 * len(change.about & whole) >= len(change.about) and old.is_usage
    return old.about - _HERE == change.old or _is_specific(change.old, said)


def _turned_round(said: Said) -> Fits | None:
    choice = _chosen(said)
    return partial(_chooses_otherwise, choice) if choice and _is_made(choice, said) else None


def _chooses_otherwise(choice: _Choice, old: Said) -> bool:
    theirs = _chosen(old)
    return theirs is not None and _is_made(theirs, old) and _is_turned(choice, theirs)


class _Choice(NamedTuple):
    over: _Change
    is_denied: bool


def _chosen(said: Said) -> _Choice | None:
    """What is chosen over what; of two names that share a word (`the dark theme`), by the others."""
    match = _CHOSEN.search(said.flat)
    over = _change(said, match) if match else None
    if not match or not over or not over.new:
        return None
    over = over._replace(old=over.old - _stems(match["new"].split()))
    return _Choice(over, not NEGATIONS.isdisjoint(said.flat[: match.start()].split()))


def _is_made(choice: _Choice, said: Said) -> bool:
    return not choice.is_denied and not said.is_past and not said.is_over


def _is_turned(one: _Choice | None, two: _Choice | None) -> bool:
    return bool(one and two and one.over == two.over._replace(old=two.over.new, new=two.over.old))


def _is_specific(name: frozenset[str], said: Said) -> bool:
    """Several words, or one that is written like a name."""
    if len(name) > 1:
        return True
    spelled = [word.strip(".,:;`'\"()") for word in said.text.split()]
    return any(
        stem(word.lower()) in name and (re.search(r"[\d._]|[a-z][A-Z]", word) or (word[:1].isupper() and at))
        for at, word in enumerate(spelled)
    ) or any(stem(word.lower()) in name and re.search(r"[\d._]|[a-z][A-Z]", word) for word in spelled)


# -- names that ended ------------------------------------------------------------------------------


def _ended(said: Said) -> Fits | None:
    over = endings(said.part) if said.part else ()
    return partial(_is_ended, over) if over else None


def _is_ended(over: Sequence[Ending], old: Said) -> bool:
    return bool(old.part) and any(_ends_use(ending, used_for(old.part, ending.name)) for ending in over)


def _ends_use(ending: Ending, used: frozenset[str] | None) -> bool:
    """What ended for one purpose goes on for others; of what is not said to be for one, nobody knows."""
    if used is None:
        return False
    if ending.purpose:
        return not ending.purpose.isdisjoint(used)
    return not used or not ending.is_narrow


def _turned_from(said: Said) -> Fits | None:
    behind = turned_from(said.part, said.text) if said.part else ()
    return partial(_states_what_is_behind, behind, said) if behind else None


def _states_what_is_behind(behind: Sequence[tuple[str, ...]], said: Said, old: Said) -> bool:
    """All that the old sentence says besides stands in the new one: it is about the same."""
    for words in behind:
        besides = old.about - _stems(words)
        is_there = any(places_of(tuple(map(stem, words)), old.words))
        if is_there and old.is_stated and besides and besides <= said.about:
            return True
    return False


# -- versions --------------------------------------------------------------------------------------

_ONLY_VERSION = re.compile(VERSION + "$")
_UPGRADE = re.compile(
    r" (?:upgraded|upgrade|updated|bumped|moved|migrated|switched) (?P<what>(?:\S{1,64} ){0,4}?)"
    rf"(?:from (?:[a-z]\S{{0,64}} )?{VERSION} )?to (?:(?P<named>[a-z][a-z0-9.+#-]{{0,64}}) )?{VERSION} "
)


def _newer_version(said: Said) -> Fits | None:
    match = _UPGRADE.search(said.flat)
    what = match["what"].split() if match else []
    product = match["named"] or (what[-1] if what else "") if match else ""
    if not match or not product:
        return None
    rest = [*said.flat[: match.start()].split(), *what, *said.flat[match.end() :].split()]
    return partial(_names_earlier, product, match.groups()[-1], _stems(rest) - {stem(product)})


def _names_earlier(product: str, version: str, about: frozenset[str], old: Said) -> bool:
    if product not in old.words or not old.is_stated or not old.is_usage or not NOT_PINNED.isdisjoint(old.words):
        return False
    named = [match[1] for one, two in pairwise(old.words) if one == product and (match := _ONLY_VERSION.match(two))]
    if not named or not _is_lower(named[0], version):
        return False
    theirs = frozenset(word for word in _stems(old.words) if word != stem(product) and not word[:1].isdigit())
    return about == theirs or (not (about & theirs) <= _WEAK and (about <= theirs or theirs <= about))


_WEAK = frozenset(stem(word) for word in WEAK)


def _is_lower(one: str, other: str) -> bool:
    return [int(part) for part in one.split(".")] < [int(part) for part in other.split(".")]


_RULES: tuple[tuple[Rule, Callable[[Said], Fits | None]], ...] = (
    (NO_LONGER, _no_longer),
    (NO_LONGER, _dropped),
    (CHANGED, _changed_over),
    (UPGRADED, _newer_version),
    (TURNED, _turned_round),
    (REPLACED, _replaced),
    (REPLACED, _out_of_use),
    (VALUE, _different_value),
    (ENDED, _ended),
    (ENDED, _turned_from),
    (OPPOSITE, _opposite),
)

"""What a phrase of a sentence names: a thing, or a topic of one to four words. Pure.

In: a sentence in which each thing is one character, and some words of it. Out: the end of a relation, or nothing:
a pronoun, a verb or a vague word ("the problem") names nothing that could be found again.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from clew.model.graph import NodeRef
from clew.remember.things import Thing

MAX_TOPIC_WORDS = 4
MAX_NEAR = 12  # words beside a cue that are read
MAX_TOPIC_CHARS = 80
MARKS = ",;:"
NEGATIONS = frozenset("not never no nothing none nobody cannot without hardly neither nor".split())
_ASIDE = NEGATIONS.union(
    "how why whether where what see cf formerly previously unlike except excluding replacing ex fake mock mocked "
    "stub dummy zero".split()
)


class Sentence(NamedTuple):
    text: str  # as it stands in the memory
    flat: str  # lower case, single spaces, each thing one character
    words: list[str]  # of the flat text
    things: list[Thing]
    start: int  # where in the text

    def thing(self, char: str) -> Thing | None:
        index = ord(char) - FIRST
        return self.things[index] if 0 <= index < len(self.things) else None


FIRST = 0xE000  # private use: one character for each thing


class End(NamedTuple):
    ref: NodeRef
    is_thing: bool


_BOUNDARIES = frozenset("but while whereas so that because then since when after before as - – —".split())
_DETERMINERS = frozenset(
    "the a an our their its your my his her this that these those each every all some both any".split()
)
_STRIPPED = frozenset("new old current whole entire same other latest existing own actual very main".split())
PREPOSITIONS = frozenset(
    "in of for on at from with to by via through over under inside within between against during into onto about "
    "across after before behind per than like".split()
)
_STOPS = frozenset(
    "and or but if when while because so that which who whose where is are was were be been being has have had do "
    "does did not no will would can could should may might must as since until unless then being only again twice "
    "every directly now also already still always instead rather whenever once using almost due".split()
)  # fmt: skip
_PRONOUNS = frozenset(
    "i we you he she it they me us him her them this that these those who which what everything nothing something "
    "anything everyone someone anyone nobody one ones there here others another it's none most many much more less "
    "both either each few all some any such whoever whichever whatever".split()
)
_VAGUE = frozenset(
    "thing things stuff reason way ways time times people lot kind part problem code bit day week month year today "
    "yesterday tomorrow monday tuesday wednesday thursday friday saturday sunday morning evening action place case "
    "rest end start example note decision fact rule access attention care help good bad new old slow fast big "
    "small unknown unclear undetermined uncertain mondays tuesdays wednesdays thursdays fridays saturdays sundays "
    "weekdays weekends parts half majority number couple handful lack plenty two three four five".split()
)
# Which one, only another word tells: "the retry bug".
_NAMELESS = frozenset(
    "bug bugs error errors failure failures change changes crash crashes mistake typo fix love".split()
)
_COUNTS = frozenset("two three four five six seven eight nine ten several multiple various numerous".split())
_GENERIC = frozenset(
    "class module function method file table service package library endpoint job handler component interface "
    "object struct type field column script command repo repository client instance process app container pod "
    "image".split()
)

_NO_NOUN = _BOUNDARIES | _DETERMINERS | PREPOSITIONS | _STOPS | _PRONOUNS | _GENERIC | frozenset(
    "plus today yesterday tonight last next first too down up out back again twice everywhere alone altogether "
    "completely hard".split()
)  # fmt: skip


def clause_of(words: list[str], ends: frozenset[str] = _BOUNDARIES) -> list[str]:
    """The words after the last one that ends a clause."""
    for index in range(len(words) - 1, -1, -1):
        if words[index] in ends or words[index][-1] in MARKS:
            return words[index + 1 :]
    return words


def last_phrase(sentence: Sentence, clause: list[str]) -> End | None:
    """The noun phrase that ends a clause; of "the retry logic in the worker" it is the logic.

    A plain phrase must also begin the clause, perhaps after "in production": elsewhere it is mostly an object.
    """
    phrase, rest = _take_back(clause[-MAX_NEAR:])
    while phrase and len(rest) > 1 and rest[-1] in PREPOSITIONS:
        phrase, rest = _take_back(rest[:-1]) if rest[-1] != "to" else ([], [])
        if len(phrase) > 1 and _PARTICIPLE.fullmatch(phrase[-1]):  # of "the cache used by web" it is the cache
            phrase = phrase[:-1]
    end = as_end(sentence, phrase) if phrase else None
    if end and not end.is_thing and rest and rest[0] not in PREPOSITIONS:
        return None
    return end


_PARTICIPLE = re.compile(r"\w+[^\We]ed|built|written|run|made|kept|sent|held|shown|given|taken|found")  # not "feed"


def _take_back(words: list[str]) -> tuple[list[str], list[str]]:
    """The trailing phrase, and what stands before it and its article."""
    at = len(words)
    while at and words[at - 1] not in PREPOSITIONS and words[at - 1] not in _STOPS:
        if words[at - 1] in _DETERMINERS:
            return words[at:], words[: at - 1]
        at -= 1
        if "\ue000" <= words[at] <= "\uf8ff" and _begins_at(words, at):
            break
    return words[at:], words[:at]


def _begins_at(words: list[str], at: int) -> bool:
    """A thing begins its phrase, unless an article says that it began before."""
    before = words[max(0, at - 3) : at]
    return not any(word in _DETERMINERS for word in before)


def failing(sentence: Sentence, clause: list[str]) -> End | None:
    """The subject of what happened because of something: it failed, or something was done to it."""
    phrase, rest = first_phrase(sentence, clause)
    return as_end(sentence, phrase) if rest and rest[0] in _FAILURES else None


def first_phrase(sentence: Sentence, clause: list[str]) -> tuple[list[str], list[str]]:
    """The noun phrase that begins a clause, up to the first verb that is known, and what follows it."""
    words = clause[:MAX_NEAR]
    while words and words[0] in _DETERMINERS:
        words = words[1:]
    for index, word in enumerate(words):
        if word in _STOPS or word in PREPOSITIONS or word in _FAILURES:
            return words[:index], words[index:]
        if sentence.thing(word[0]):
            return words[: index + 1], words[index + 1 :]
    return [], []


_FAILURES = frozenset(
    "failed fails fail crashed crashes crash broke breaks stopped stops restarts restarted hangs hung timed times "
    "went goes kept keeps died dies is are was were got gets had has".split()
)


def consumed(words: list[str], phrase: list[str]) -> int:
    skipped = 0
    while skipped < len(words) and words[skipped] in _DETERMINERS:
        skipped += 1
    return skipped + len(phrase)


def take(words: list[str]) -> tuple[list[str], bool]:
    """The leading phrase without its articles, and whether something ends it: no verb of its own follows."""
    at = 0
    while at < len(words) and words[at] in _DETERMINERS:
        at += 1
    taken: list[str] = []
    for word in words[at:]:
        bare = word.rstrip(",:")
        if bare in PREPOSITIONS or bare in ("and", "or", "plus", "as", "-", "–", "—"):
            return taken, True
        if bare in _STOPS or bare in _PRONOUNS or bare in _DETERMINERS or (taken and bare.endswith("ed")):
            return taken, False
        if taken and "\ue000" <= taken[-1] <= "\uf8ff":
            return taken, False  # a thing is a phrase by itself; what follows it is a verb or an adverb
        taken.append(bare)
        if bare != word:
            return taken, True
    return taken, True


def is_whole(words: list[str], phrase: list[str]) -> bool:
    """Whether the leading phrase is all that is named: of "Kafka topics" Kafka is only the beginning."""
    at = consumed(words, phrase)
    if not phrase or at >= len(words) or words[at - 1] != phrase[-1]:  # a comma ends it
        return True
    after = words[at].rstrip(MARKS)
    return after in _NO_NOUN or not after.isalpha() or after.endswith("ly") or "\ue000" <= after <= "\uf8ff"


def as_end(sentence: Sentence, phrase: list[str]) -> End | None:
    words = [word.strip("'’.,:") for word in phrase]
    while words and (words[0] in _DETERMINERS or words[0] in _STRIPPED):
        words = words[1:]
    if not _ASIDE.isdisjoint(words):
        return None
    named = [index for index, word in enumerate(words) if word and sentence.thing(word[0])]
    if named and (named[-1] == len(words) - 1 or all(word in _GENERIC for word in words[named[-1] + 1 :])):
        thing = sentence.thing(words[named[-1]][0])
        return End(thing.ref, True) if thing and named[-1] <= 2 else None
    if not 1 <= len(words) <= MAX_TOPIC_WORDS or any(word in _PRONOUNS or word in _STOPS for word in words):
        return None
    return _topic(sentence, words)


def _topic(sentence: Sentence, words: list[str]) -> End | None:
    things = [sentence.thing(word[:1] or " ") for word in words]
    if (
        words[0] in _COUNTS
        or (len(words) == 1 and words[0] in _NAMELESS)
        or words[-1] in _VAGUE
        or not all(thing or _NOUN.fullmatch(word) for thing, word in zip(things, words, strict=True))
    ):
        return None
    spelled = [thing.label.lower() if thing else word for thing, word in zip(things, words, strict=True)]
    key = " ".join(" ".join(spelled).split())
    return End(NodeRef("topic", key), False) if 2 < len(key) <= MAX_TOPIC_CHARS else None


# No numbers, signs, adverbs or "we've".
_NOUN = re.compile(r"(?!\w+['’](?:ve|re|ll|d|m)$)(?!\w{3,}ly$)\w*[^\W\d_][\w'’.+#-]*")

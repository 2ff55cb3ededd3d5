"""The relations that a text states in everyday words: "AuthService depends on PostgresDB". Pure.

In: a text and the things found in it. Out: edges, each with the sentence that says so. A sentence is read where a
cue stands ("depends on", "was replaced by"): who stands before it, who after it, and whether it is said at all.
Questions, negations, suppositions, hearsay, quotations, open tasks, what a label or a heading calls false, rejected
or past, and what the text takes back elsewhere (`retract.py`) state nothing. Precision comes before recall: a wrong
edge misleads, a missing one does not.

Directions: the new supersedes the old; the effect is caused_by its cause; the part is part_of the whole; the owner
owns; the preferred prefers_over the other; what holds only then is conditional_on its condition.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from clew.model.graph import EdgeDraft, NodeRef
from clew.remember.phrases import (
    FIRST,
    MAX_NEAR,
    NEGATIONS,
    PREPOSITIONS,
    End,
    Sentence,
    as_end,
    clause_of,
    consumed,
    failing,
    is_whole,
    last_phrase,
    take,
)
from clew.remember.retract import taken_back
from clew.remember.said import doubted_from, is_denied, is_said
from clew.remember.things import Thing

MAX_CHARS = 20_000
MAX_RELATIONS = 32
MAX_SENTENCE = 300
MAX_READ = 1_000  # characters of one sentence that are read
MAX_CUES = 8  # in one sentence
MAX_ITEMS = 8  # of one list
MAX_CONDITION_WORDS = 8
# In this order, from engram: the first that occurs is the cue.
CAUSAL_CUES = ("as a result", "led to", "because of", "therefore", "caused", "because")


def relations_in(text: str, things: list[Thing], words: list[str] | None = None) -> list[EdgeDraft]:
    """At most MAX_RELATIONS, distinct by their ends and type. `words` are those of the text, if they are known."""
    if len(text) > MAX_CHARS:
        text, words = text[:MAX_CHARS], None
    signs, pairs = (_SIGNS, _PAIRS) if things else (_PLAIN_SIGNS, _PLAIN_PAIRS)
    words = text.split() if words is None else words
    if signs.isdisjoint(words) and (_PAIRED.isdisjoint(words) or not any(pair in text for pair in pairs)):
        return []
    found: dict[tuple[NodeRef, NodeRef, str], EdgeDraft] = {}
    over: list[tuple[int, int]] | None = None
    for sentence in _sentences(text, things):
        edges = _stated(sentence)
        if edges and over is None:
            over = taken_back(text)
        for edge in edges if not any(start <= sentence.start < end for start, end in over or ()) else ():
            found.setdefault((edge.source, edge.target, edge.type), edge)
        if len(found) >= MAX_RELATIONS:
            break
    return list(found.values())[:MAX_RELATIONS]


def causal_cue(text: str) -> str | None:
    lowered = text.lower()
    return next((cue for cue in CAUSAL_CUES if cue in lowered), None)


class _Cue(NamedTuple):
    """A verb phrase that relates what stands before it to what stands after it."""

    type: str
    confidence: float
    words: str  # one of these, followed by `tail`
    tail: str = ""
    is_passive: bool = False  # only after a form of "to be"
    is_turned: bool = False  # what stands after it is the source
    needs_thing: bool = False  # everyday verbs say little about two plain phrases
    target: str = ""  # the only type that the second end may have


# What is to be done is nothing to depend on: "needs review", "requires restarting after a change".
_NO_DEED = (
    r"(?! (?:to|that)\b"
    r"| (?:an? |some |another )?(?:new |better |proper |thorough |big )?(?:review|work|rewrite|refactor"
    r"|cleanup|fix|owner|restart|upgrade|redesign|love|tests?|docs|documentation)\b"
    r"| \w+ing(?:$|,| (?:the|a|an|all|and|or|to|in|on|at|if|when|before|after|for|by)\b))"
)
# For the same word, the first that fits is taken: "was replaced by" before "replaced".
_CUES = (
    _Cue("depends_on", 0.95, "depends depend relies rely", r"(?: \w+ly)? (?:up)?on"),
    _Cue("depends_on", 0.95, "dependent", r"(?:up)? on", is_passive=True),
    _Cue("depends_on", 0.85, "backed powered", r" by", is_passive=True),
    _Cue("depends_on", 0.85, "won't won’t can't can’t doesn't doesn’t don't don’t cannot",
         r" (?:work|run|start|build|boot|function|compile) without"),
    _Cue("depends_on", 0.8, "needs need requires require", _NO_DEED),
    _Cue("calls", 0.9, "called invoked", r" (?:by|from)", is_passive=True, is_turned=True),
    _Cue("calls", 0.85, "calls call invokes invoke", r"(?! for\b)", needs_thing=True),
    _Cue("calls", 0.85, "talks talk", r" to", needs_thing=True),
    _Cue("calls", 0.85, "sends send makes make", r" (?:(?!no |zero )\w+ )?(?:calls|requests) to", needs_thing=True),
    _Cue("calls", 0.75, "hits hit", r"(?= (?:the |our )?[\ue000-\uf8ff])", needs_thing=True),
    _Cue("uses", 0.85, "used", r" (?:by|in)", is_passive=True, is_turned=True, needs_thing=True),
    _Cue("uses", 0.85, "using", is_passive=True, needs_thing=True),
    _Cue("uses", 0.85, "uses use utilizes utilises leverages", needs_thing=True),
    _Cue("uses", 0.85, "makes make", r" use of", needs_thing=True),
    _Cue("implements", 0.9, "implements implement", needs_thing=True),
    _Cue("implements", 0.9, "an", r" implementation of", is_passive=True, needs_thing=True),
    _Cue("implements", 0.9, "implementations", r" of", is_passive=True, needs_thing=True),
    _Cue("specializes", 0.9, "extends extend subclasses subclass", r"(?= (?:\w+ ){0,2}[\ue000-\uf8ff])",
         needs_thing=True),  # not "extends the time-out"
    _Cue("specializes", 0.9, "inherits inherit derives derive derived", r" from", needs_thing=True),
    _Cue("specializes", 0.9, "a", r" (?:kind|subclass|subtype|special case) of", is_passive=True, needs_thing=True),
    _Cue("supersedes", 0.95, "deprecated", r" in favou?r of", is_passive=True, is_turned=True),
    _Cue("supersedes", 0.95, "superseded replaced", r" (?:by|with)", is_passive=True, is_turned=True),
    _Cue("supersedes", 0.9, "supersedes supersede superseded replaces replace replaced"),
    _Cue("caused_by", 0.95, "caused", r" by", is_passive=True),
    _Cue("caused_by", 0.85, "the a", r" (?:direct )?result of", is_passive=True),
    _Cue("caused_by", 0.85, "due", r" to", is_passive=True),
    _Cue("caused_by", 0.85, "due", r" to", needs_thing=True),
    _Cue("caused_by", 0.85, "because", r" of", needs_thing=True),
    _Cue("caused_by", 0.9, "caused causes triggered", is_turned=True),
    _Cue("caused_by", 0.9, "led leads", r" to", is_turned=True),
    _Cue("caused_by", 0.9, "resulted", r" in", is_turned=True),
    _Cue("caused_by", 0.8, "broke breaks crashed", is_turned=True, needs_thing=True),
    _Cue("caused_by", 0.8, "took", r" down", is_turned=True, needs_thing=True),
    _Cue("fixes", 0.95, "fixed resolved solved", r" (?:by|in|with)", is_passive=True, is_turned=True),
    _Cue("fixes", 0.85, "fixes fixed resolves resolved solves solved", needs_thing=True),
    _Cue("fixes", 0.85, "closes", target="ticket"),  # a gateway closes connections
    _Cue("part_of", 0.9, "part", r" of", is_passive=True),
    _Cue("part_of", 0.9, "belongs belong", r" to"),
    _Cue("part_of", 0.8, "contains contain comprises includes include", is_turned=True, needs_thing=True),
    _Cue("part_of", 0.8, "consists consist", r" of", is_turned=True, needs_thing=True),
    _Cue("defined_in", 0.9, "defined declared implemented located found", r" (?:in|at|inside)", is_passive=True,
         target="file"),
    _Cue("defined_in", 0.9, "lives live resides", r" in", target="file"),
    _Cue("owns", 0.9, "owned maintained", r" by", is_passive=True, is_turned=True),
    _Cue("owns", 0.9, "owns own maintains maintain", needs_thing=True),
    _Cue("blocks", 0.95, "blocked", r" (?:by|on)", is_passive=True, is_turned=True),
    _Cue("blocks", 0.9, "blocking", is_passive=True),
    _Cue("blocks", 0.9, "blocks"),
    _Cue("tests", 0.9, "tested covered exercised", r" (?:by|in)", is_passive=True, is_turned=True,
         needs_thing=True),
    _Cue("tests", 0.85, "tests covers exercises", needs_thing=True),
    _Cue("configures", 0.9, "configured", r" (?:in|by|via|through|with)", is_passive=True, is_turned=True,
         target="file"),
    _Cue("configures", 0.9, "configures", needs_thing=True),
    _Cue("contradicts", 0.9, "contradicts contradict"),
    _Cue("contradicts", 0.9, "conflicts conflict", r" with"),
)  # fmt: skip
_BY_WORD: dict[str, list[tuple[_Cue, re.Pattern[str]]]] = {}
for _cue in _CUES:
    for _word in _cue.words.split():
        _BY_WORD.setdefault(_word, []).append((_cue, re.compile(f"{re.escape(_word)}{_cue.tail}(?![\\w-])")))
# The forms of "to be" before a passive, with what may stand between, and "can be" as in "can be found in".
_BE = re.compile(
    r"(?<!\w)(?:can |had )?(?:is|are|was|were|be|been|being|gets?|got)(?: \w+ly| now| also| still| all)? $"
)
# What was replaced, caused or fixed still is; what somebody owned or used may be over.
_WAS = re.compile(r"(?:was|were|had)(?!\w)")
_OLD_ONE = re.compile(r"(?<!\w)(?:old|legacy|former|previous|deprecated) [\ue000-\uf8ff] $")
_LASTING = frozenset("supersedes caused_by fixes".split())
# What is too common to make a reader look closer by itself.
_COMMON = frozenset("a an the because due found live part make makes send sends took own led only use".split())
_PAIRS = (" because of ", "Because of ", " due to ", "Due to ", " found in ", " live in ", " part of ", " use of ",
          " requests to ", " calls to ", " took down ", " led to ", " only ", " kind of ", " subclass of ",
          " subtype of ", " implementation of ", " result of ", " cause of ", "instead of ", "rather than ",
          " use ", " own ")  # fmt: skip

# Sentences.


_PRIVATE = re.compile(r"[\ue000-\uf8ff]")
_END = re.compile(r"[.!?;\n]+")
_CLOSING = frozenset(" \t\n\r\"'”’)]*_`")
_NOISE = str.maketrans(dict.fromkeys('`*"“”()[]', " "))


def _sentences(text: str, things: list[Thing]) -> list[Sentence]:
    """Those that could state something: no questions, and none without a word that a cue begins with."""
    low = _lowered(text)
    found: list[Sentence] = []
    start, first, last = 0, 0, 0
    aside = _Aside(text) if "\n" in text and _SET_ASIDE.search(low) else None
    for stop, end, mark in [*_ends(text), (len(text), len(text), "")]:
        while last < len(things) and things[last].end <= stop:
            last += 1
        if last < len(things) and things[last].start < stop:
            continue  # a full stop inside a thing ends nothing
        is_aside = aside is not None and aside.covers(low[start:stop], start)
        if not is_aside and "?" not in mark and not _ENTRY_WORDS.isdisjoint(low[start:stop].split()):
            stop = min(stop, start + MAX_READ)
            said = " ".join(text[start:end].strip("; \n").split())[:MAX_SENTENCE]
            found.append(_flatten(said, low, start, stop, things[first:last]))
        start, first = end, last
    return found


# Headings, and labels above a list, of what is not chosen, not so any more, not yet, or not decided.
_SET_ASIDE = re.compile(
    r"(?<!\w)(?:rejected|discarded|considered|alternatives?|abandoned|withdrawn|obsolete|outdated|deprecated|removed"
    r"|before(?=\W*(?:\n|$)| \d)|previously|formerly|old|history|anti-?patterns?|goals?|out of scope"
    r"|expected|desired|acceptance criteria|next steps?|future|roadmap|open questions?|ideas?|proposals?|proposed"
    r"|hypothes[ei]s|todos?|don['’]ts?|options?|assumptions?|plans?|planned|wish ?lists?|drafts?|to-be)(?!\w)"
)
_HEADING = re.compile(r"(#{1,6})(?:\s|$)")
_BULLET = re.compile(
    r"(?:[-*+•]|\d+[.)])\s|\d+\s$"
)  # the full stop behind a number ends what is read as a sentence


class _Aside:
    """Reads a text sentence by sentence, and knows under what each stands: a label covers the list below it, a
    heading all up to the next one that is no deeper."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._by_heading = 0  # how deep the heading is
        self._by_label = False

    def covers(self, sentence: str, start: int) -> bool:
        if not start or "\n" in self._text[start - 1 : start] or sentence.startswith("\n"):
            self._read_line(sentence.strip())
        return bool(self._by_heading) or self._by_label

    def _read_line(self, line: str) -> None:
        if heading := _HEADING.match(line):
            depth, self._by_label = len(heading[1]), False
            if not 0 < self._by_heading < depth:
                self._by_heading = depth if _SET_ASIDE.search(line) else 0
        elif line.endswith(":"):
            self._by_label = _SET_ASIDE.search(line) is not None
        elif not _BULLET.match(f"{line} "):
            self._by_label = False


# Shown, struck out, or for nobody to see.
_NOT_SAID = re.compile(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)|~~(?=\S)[^~\n]+(?<=\S)~~|<!--.*?(?:-->|\Z)", re.DOTALL)
# Short ones as well: the mark that closes `api` would else open what stands behind it.
_QUOTED = re.compile(
    r"\"[^\"\n]*+\"|“[^”\n]{5,300}”|„[^“”\n]{5,300}[“”]|«[^»\n]{5,300}»"
    r"|(?<!`)`[^`\n]*+`(?!`)|(?<!\w)'[^'\n]*+'(?!\w)"
)
_BLOCK_QUOTE = re.compile(r"^[ \t]*>.*$", re.MULTILINE)
_QUOTES = "\"'`“„«"  # what one of them begins with: most texts have none
_WORDY = re.compile(r"\w")


def _lowered(text: str) -> str:
    """Lower case without quotes, brackets, blocks of code, what is struck out and what others are quoted with, each
    character in its place."""
    if "```" in text or "~~" in text or "<!--" in text:
        text = _NOT_SAID.sub(_blank, text)
    if "\n" in text and ">" in text and _WORDY.search(_BLOCK_QUOTE.sub("", text)):
        text = _BLOCK_QUOTE.sub(_blank, text)
    if any(map(text.__contains__, _QUOTES)):
        text = _QUOTED.sub(lambda quote: _blank(quote) if _is_quotation(quote) else quote[0], text)
    low = text.lower()
    if len(low) != len(text):  # a few letters have a lower case of two
        low = "".join([char if len(char.lower()) != 1 else char.lower() for char in text])
    return (low if low.isascii() else _PRIVATE.sub(" ", low)).translate(_NOISE)


def _blank(part: re.Match[str]) -> str:
    return " " * len(part[0])


def _is_quotation(quote: re.Match[str]) -> bool:
    """Whether it tells something by itself: a name in quotes has no verb. A text that is a quotation as a whole is
    what its writer says."""
    _first, *others = quote[0].lower().split()
    if len(others) < 2 or _ENTRY_WORDS.isdisjoint(others):
        return False
    text = quote.string
    return _WORDY.search(text, 0, quote.start()) is not None or _WORDY.search(text, quote.end()) is not None


def _ends(text: str) -> list[tuple[int, int, str]]:
    marks = [(match.start(), match.end(), match[0]) for match in _END.finditer(text)]
    return [
        (start, end, mark)
        for start, end, mark in marks
        if end == len(text) or text[end] in _CLOSING or ";" in mark or "\n" in mark
    ]


def _flatten(said: str, low: str, start: int, stop: int, things: list[Thing]) -> Sentence:
    inside = [thing for thing in things if thing.end <= stop]
    pieces: list[str] = []
    at = start
    for index, thing in enumerate(inside):
        pieces += low[at : thing.start], " ", chr(FIRST + index), " "
        at = thing.end
    pieces.append(low[at:stop])
    flat = " ".join("".join(pieces).lstrip("-+• ").split()).replace(" ,", ",").replace(" 's ", " ")
    return Sentence(said, flat, flat.split(" "), inside, start)


class _Reading(NamedTuple):
    """How far a sentence has been read: what one cue has used up is not the subject of the next."""

    end: int = 0
    subjects: tuple[End, ...] = ()  # of the last cue: "A calls B and uses C"


def _stated(sentence: Sentence) -> list[EdgeDraft]:
    """Cue by cue. Whether it is said at all, neither denied nor supposed, is asked of what would be stated: most
    sentences with a word of a cue state nothing, and that is seen soonest."""
    found: list[tuple[int, EdgeDraft]] = []
    reading, at, cues = _Reading(), 0, 0
    for index, word in enumerate(sentence.words):
        if word in _ENTRY_WORDS and cues < MAX_CUES:
            cues += 1
            edges, after = _read_cue(sentence, word, at, reading)
            if holder := _HOLDERS.get(word):
                edges = [*holder(sentence, at), *edges]
            if edges and not is_denied(sentence, index, at):
                found += [(index, edge) for edge in edges]
                reading = after
        at += len(word) + 1
    if not found or not is_said(sentence):
        return []
    doubt = doubted_from(sentence.flat, sentence.words)
    return [edge for index, edge in found if index < doubt]


def _read_cue(sentence: Sentence, word: str, at: int, reading: _Reading) -> tuple[list[EdgeDraft], _Reading]:
    """What is stated by the cue that begins here. If nothing is, the word may be a noun: "the tests"."""
    for cue, pattern in _BY_WORD.get(word, ()):
        match = pattern.match(sentence.flat, at)
        be = _BE.search(sentence.flat, max(0, at - 25), at) if match and cue.is_passive else None
        if not match or (cue.is_passive and not be):
            continue
        start = be.start() if be else at
        if start < reading.end or (cue.type not in _LASTING and _is_past(sentence.flat, start, be)):
            break
        is_clause = not be and match[0] in _AFTER_CLAUSE
        subjects = _subjects(sentence, start, reading, is_clause=is_clause)
        objects = _objects(sentence, sentence.flat[match.end() :], cue.type) if subjects else []
        if (
            word in _NOUNS_TOO
            and objects
            and not objects[0].is_thing
            and not _ARTICLE.match(sentence.flat, match.end())
        ):
            break
        pairs = [(subject, item) for subject in subjects for item in objects]
        edges = [edge for one, two in pairs if (edge := _edge(sentence, cue, one, two, match[0]))]
        return edges, _Reading(match.end(), subjects) if edges else reading
    return [], reading


def _is_past(flat: str, start: int, be: re.Match[str] | None) -> bool:
    return (be is not None and _WAS.match(be[0]) is not None) or _OLD_ONE.search(flat[:start]) is not None


# The ends of a relation.

_SEPARATOR = re.compile(r",? (?:and|plus|as well as|&) |, ")
_ADVERBS = frozenset(
    "now also still always often already just even then has have had all both almost never ever too simply "
    "sometimes".split()
)
_NOUNS_TOO = frozenset("call calls use hit hits blocks tests covers".split())  # "the call initialises it"
_ARTICLE = re.compile(r" (?:the|a|an|our|its|their|all|every|both) ")
_AFTER_CLAUSE = ("because of", "due to")  # before them stands what happened, not only to whom
_RELATIVE = re.compile(r",? ?(?:which|that|who)$")


def _edge(sentence: Sentence, cue: _Cue, first: End, second: End, said: str) -> EdgeDraft | None:
    if cue.needs_thing and not (first.is_thing or second.is_thing):
        return None
    if cue.target and second.ref.type != cue.target:
        return None
    if cue.type == "owns" and (second if cue.is_turned else first).ref.type not in ("person", "topic"):
        return None  # a database maintains indices, people own things
    if cue.type == "tests" and (second if cue.is_turned else first).ref.type not in ("file", "symbol"):
        return None
    source, target = (second, first) if cue.is_turned else (first, second)
    return _draft(sentence, source, cue.type, target, cue.confidence, said)


def _draft(
    sentence: Sentence, source: End, type_: str, target: End, confidence: float, said: str
) -> EdgeDraft | None:
    if source.ref == target.ref:
        return None
    sure = confidence - 0.05 * (not source.is_thing) - 0.05 * (not target.is_thing)  # phrases are guesses
    return EdgeDraft(source.ref, target.ref, type_, round(max(sure, 0.6), 2), said, sentence.text)


def _subjects(sentence: Sentence, start: int, reading: _Reading, *, is_clause: bool) -> tuple[End, ...]:
    before = sentence.flat[reading.end : start].rstrip()
    relative = _RELATIVE.search(before)
    if relative:
        before = before[: relative.start()]
    clause = clause_of(before.split())
    while clause and (clause[-1] in _ADVERBS or clause[-1].endswith("ly")):
        clause = clause[:-1]
    if clause and clause[-1] == "and" and not is_clause:
        return reading.subjects
    if not _OTHERS.isdisjoint(clause) or (not relative and _is_object(sentence, clause)):
        return ()
    subject = failing(sentence, clause) if is_clause else last_phrase(sentence, clause)
    if subject is None or (relative and not _is_nearest(sentence, clause, subject, relative[0])):
        return ()
    is_first = reading.end == 0 and subject.is_thing
    return (*_listed_before(sentence, before), subject) if is_first else (subject,)


_OTHERS = NEGATIONS | {"or", "either"}  # "it is A, not B, which uses C", "A or B uses C"


_ARTICLES = ("a", "an", "the")


def _is_object(sentence: Sentence, clause: list[str]) -> bool:
    """Whether the clause ends with what another verb is about: "the code that calls A", "restarting A"."""
    if not clause or not sentence.thing(clause[-1][0]):
        return False
    before = clause[:-2] if clause[-2:-1] and clause[-2] in _ARTICLES else clause[:-1]
    verb = before[-1] if before else ""
    is_adjective = len(before) > 1 and before[-2] in _ARTICLES  # "the staging Redis"
    return (verb in _ENTRY_WORDS and verb != "only") or (verb.endswith("ing") and not is_adjective)


def _is_nearest(sentence: Sentence, clause: list[str], subject: End, relative: str) -> bool:
    """Of "Redis for all but search, which uses" nobody can tell what uses."""
    if PREPOSITIONS.isdisjoint(clause):
        return subject.is_thing or not relative.endswith("that")
    nearest = sentence.thing(clause[-1][0])
    return nearest is not None and nearest.ref == subject.ref


def _listed_before(sentence: Sentence, before: str) -> list[End]:
    """The A and B of "A, B and C depend on": things only, right before the last one."""
    items = _LISTED.search(before)
    if not items:
        return []
    return [End(thing.ref, True) for char in items[0] if (thing := sentence.thing(char))][:-1][:MAX_ITEMS]


# With "and" before the last, or from the beginning on: elsewhere a mere comma ends something else ("In src/auth.py,
# AuthService calls").
_LISTED = re.compile(
    r"(?:(?:[\ue000-\uf8ff], (?:the )?){0,7}[\ue000-\uf8ff],? and |^(?:the )?(?:[\ue000-\uf8ff], ){1,8})"
    r"(?:the )?[\ue000-\uf8ff](?: all| both| now)?$"
)


# Who uses the topics of Kafka uses Kafka; who owns them does not own it.
_BY_PARTS = frozenset("uses depends_on calls implements specializes".split())


def _objects(sentence: Sentence, after: str, type_: str) -> list[End]:
    """What follows a cue: one phrase, or a list of them, with "and" before its last, or of things to the end of the
    sentence. What else follows a mere comma may be anything: "depends on Redis, see ABC-9". Of "Redis or Kafka"
    neither is sure; who prefers something over either prefers it over both."""
    found: list[End] = []
    rest, sure, is_last = after.strip(), 1, False
    is_bare = not _ARTICLE.match(f" {rest}")
    while rest and len(found) < MAX_ITEMS:
        words = rest.split(" ", MAX_NEAR)[:MAX_NEAR]
        phrase, ended = take(words)
        end = as_end(sentence, phrase)
        if end is None or not (type_ in _BY_PARTS or is_whole(words, phrase)):
            break
        if found and not (ended and _is_item(sentence, phrase, rest, is_bare and not found[0].is_thing)):
            break
        found.append(end)
        sure = len(found) if is_last else sure
        read = len(" ".join(words[: consumed(words, phrase)]).rstrip(","))
        if (type_ != "prefers_over" and _OR.match(rest, read)) or (not end.is_thing and _WHICH.match(rest, read)):
            return []
        joint = _SEPARATOR.match(rest, read)
        if not joint:
            is_list = read >= len(rest) and all(one.is_thing for one in found)
            sure = len(found) if is_list else sure
            break
        rest, is_last = rest[joint.end() :], joint[0] != ", "
    return found[:sure]


def _is_item(sentence: Sentence, phrase: list[str], rest: str, is_bare: bool) -> bool:
    """Of a list; not the verb of another clause, as in "depends on Redis and reports metrics". Among things, and
    among what has an article, all others need one."""
    if phrase[0] in _ENTRY_WORDS:
        return False
    is_named = sentence.thing(phrase[0][0]) is not None or _ARTICLE.match(f" {rest}") is not None
    return is_named or (is_bare and not _VERBAL.search(phrase[0]))


_WHICH = re.compile(r",? \w{2,4} (?:which|whom)(?!\w)")  # "depends on the order in which they are loaded"
_OR = re.compile(r"(?: [a-z-]{2,30})?,? (?:(?:and/)?or,?|/)(?= )")
_VERBAL = re.compile(r"(?:[^s]s|ed|ing)$")


# Phrases that hold both ends.

_PREFERENCE = re.compile(
    r"(?:(?:prefers?|preferred|chose|picked|favou?rs?)(?: to use)? (?P<a>[^,;:]{1,60}?) "
    r"(?:over|instead of|rather than)|"
    r"(?:use|uses|using|used) (?P<b>[^,;:]{1,60}?),? (?:instead of|rather than)|"
    r"(?:use|uses) (?P<c>(?:[^\s,;:]+ ?){1,3}?),? (?:and )?not(?! (?:just|only|merely) )) "
)
_MOVE = re.compile(
    r"(?:moved|migrated|switched|ported|transitioned) (?:[^,;:]{1,40}? )?from (?P<a>[^,;:]{1,60}?) to |"
    r"(?:replaced|swapped(?: out)?) (?P<b>[^,;:]{1,60}?) (?:with|for|by) "
)
_ROOT_CAUSE = re.compile(r"cause of (?P<a>[^,;:]{1,60}?) (?:is|was) ")
_BECAUSE = re.compile(r"(?:because of|due to) (?P<a>[^,;:]{1,60}?), ")
_CONDITION = re.compile(r"only(?: \w+s)? (?:if|when|once) (?P<c>[^,;:?]{5,60})$")
_ORDER = re.compile(r"(?:please )?(?:use|run|restart|call|enable|deploy|set|start|rebuild|retry|flush) ")


_HAPPENS = frozenset("runs run works work starts start fires triggers applies apply happens".split())


def _preferred(sentence: Sentence, at: int) -> list[EdgeDraft]:
    return _bracketed(sentence, _PREFERENCE.match(sentence.flat, at), "prefers_over", is_turned=False)


def _moved(sentence: Sentence, at: int) -> list[EdgeDraft]:
    """People and meetings move too: at least one end is a thing."""
    found = _bracketed(sentence, _MOVE.match(sentence.flat, at), "supersedes", is_turned=True)
    return [edge for edge in found if edge.source.type != "topic" or edge.target.type != "topic"]


def _root_cause(sentence: Sentence, at: int) -> list[EdgeDraft]:
    return _bracketed(sentence, _ROOT_CAUSE.match(sentence.flat, at), "caused_by", is_turned=False)


def _bracketed(sentence: Sentence, match: re.Match[str] | None, type_: str, *, is_turned: bool) -> list[EdgeDraft]:
    if not match:
        return []
    inner = next(part for part in match.groups() if part).split(" ")
    phrase, _ = take(inner)
    rest = inner[consumed(inner, phrase) :]
    is_all = not rest or (rest[0] in PREPOSITIONS and not match[0].endswith(" not "))
    first = as_end(sentence, phrase) if is_all else None
    seconds = _objects(sentence, sentence.flat[match.end() :], type_)
    if not first or not seconds or not NEGATIONS.isdisjoint(inner):
        return []
    source, target = (seconds[0], first) if is_turned else (first, seconds[0])
    edge = _draft(sentence, source, type_, target, 0.9, match[0].split(" ", 1)[0])
    return [edge] if edge else []


def _because(sentence: Sentence, at: int) -> list[EdgeDraft]:
    """ "Because of X, Y stopped", at the beginning of a sentence."""
    match = _BECAUSE.match(sentence.flat) if at == 0 else None
    if not match:
        return []
    cause = as_end(sentence, take(match["a"].split(" "))[0])
    effect = failing(sentence, sentence.flat[match.end() :].split())
    if not cause or not effect or not effect.is_thing:
        return []
    edge = _draft(sentence, effect, "caused_by", cause, 0.8, "because of")
    return [edge] if edge else []


def _condition(sentence: Sentence, at: int) -> list[EdgeDraft]:
    flat = sentence.flat
    match = _CONDITION.match(flat, at)
    if not match or len(match["c"].split()) > MAX_CONDITION_WORDS:
        return []
    order = _ORDER.match(flat)
    before = flat[order.end() if order else 0 : at].strip()
    words = before.split()
    if words and words[-1] in _HAPPENS:
        words.pop()
    is_clause = any(word in _ENTRY_WORDS and word not in _ARTICLES for word in words)  # "A uses B only if"
    subject = as_end(sentence, words) if words and not is_clause else None
    if subject is None:
        return []
    said = [thing.label.lower() if (thing := sentence.thing(word[0])) else word for word in match["c"].split()]
    condition = End(NodeRef("condition", "_".join("_".join(said).split())), True)
    edge = _draft(sentence, subject, "conditional_on", condition, 0.65, "only")
    return [edge] if edge else []


_HOLDERS: dict[str, Callable[[Sentence, int], list[EdgeDraft]]] = {
    **dict.fromkeys("prefer prefers preferred chose picked favors favours use uses using used".split(), _preferred),
    **dict.fromkeys("moved migrated switched ported transitioned replaced swapped".split(), _moved),
    "cause": _root_cause,
    "because": _because,
    "due": _because,
    "only": _condition,
}
_ENTRY_WORDS = frozenset([*_BY_WORD, *_HOLDERS])
_SIGNS = frozenset([form for word in _ENTRY_WORDS - _COMMON for form in (word, word.capitalize())] + ["Use"])
_PAIRED = frozenset(pair.split()[0] for pair in _PAIRS)  # most texts hold none of these words
# A text that names no thing needs no look at what relates things only.
_PLAIN_WORDS = {
    word for word, cues in _BY_WORD.items() if not all(cue.needs_thing or cue.target for cue, _ in cues)
}
_PLAIN_SIGNS = frozenset(sign for sign in _SIGNS if sign.lower() in _PLAIN_WORDS | _HOLDERS.keys())
_PLAIN_PAIRS = tuple(set(_PAIRS).difference(
    (" use of ", " requests to ", " calls to ", " took down ", " live in ", " found in ", " own ")
))  # fmt: skip

"""Which kind of tool a question is after: "which package manager?", and not "why is the package manager slow".

Pure. A question that says hardly anything else asks for the kind, and so does one that begins with it ("what
database does billing use").
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache, lru_cache

from clew.recall.analyse import STOP_WORDS, query_terms
from clew.recall.tools import kinds

MOST_CHARS = 200  # a question for a kind is short
_IN_ONE_WORD = re.compile(r"\b(log|sign)(?:s|ged|ging|ing|ed)?[ -](?:in|on)\b", re.IGNORECASE)
_AUX = r"(?:do|does|did|is|are|was|were|should|will|would|can|could|has|have|had)"
_ENDS = (
    rf"(?:{_AUX}|for|we|to|in|on|with|by|at|of|our|the|this|that|now|currently|here|sits|runs|handles|holds|serves"
    r"|manages|keeps|builds|stores|sends|hosts|covers)"
)
_SUBJECT = re.compile(
    rf"\b(?:what|which|wich)\s+(?!{_AUX}\b|we\b|i\b|you\b)(.{{2,40}}?)(?=\s+{_ENDS}\b|[?.!,]|$)",
    re.IGNORECASE,
)
_ASKS = re.compile(r"\b(?:what|which|wich|where|how|who)\b|\?", re.IGNORECASE)
START = 3  # letters that stemming leaves alone
FEW = 4  # words by themselves are a question, too
# Said around a kind by whoever asks for it.
_AROUND = (
    "use uses using used get see find look which what kind type sort name called choose chose chosen pick picked "
    "tool tools library framework technology technologies system service provider solution product software stack "
    "project team company repo app application currently now here need want should run runs running handle prefer "
    "decide decided go work does happen place right responsible standard default official have set setup "
    "supported support production staging code codebase remind tell know again store keep kept live lives"
)


def kinds_asked(text: str) -> tuple[int, ...]:
    """The terms of the kinds that a text asks for."""
    if len(text) > MOST_CHARS or not _is_question(text):
        return ()
    text = _IN_ONE_WORD.sub(r"\1in", text)
    words = query_terms(text)
    said = frozenset(words)
    starts = {word[:START] for word in (*words.values(), *text.lower().split())}
    named = [(phrase, kind) for start in starts for phrase, kind in _phrases(start) if phrase <= said]
    if not named:
        return ()
    subjects = [frozenset(query_terms(subject)) for subject in _SUBJECT.findall(text)]
    return tuple(dict.fromkeys(kind for phrase, kind in named if _is_after(phrase, said, subjects)))


def _is_after(phrase: frozenset[int], said: frozenset[int], subjects: list[frozenset[int]]) -> bool:
    """Little else is said, or this is all that is asked about."""
    if len(said - _around() - phrase) < len(phrase):
        return True
    return any(phrase <= subject and subject - _around() <= phrase for subject in subjects)


def _is_question(text: str) -> bool:
    if _ASKS.search(text):
        return True
    words = text.lower().split()
    return len(words) <= FEW and STOP_WORDS.isdisjoint(words)


@cache
def _around() -> frozenset[int]:
    return frozenset(query_terms(_AROUND))


@lru_cache(1024)
def _phrases(start: str) -> list[tuple[frozenset[int], int]]:
    """The ways to ask for a kind that begin so. Only these are analysed: all of them would take milliseconds."""
    return [(frozenset(query_terms(phrase)), kind) for phrase, kind in _by_start().get(start, ())]


@cache
def _by_start() -> Mapping[str, list[tuple[str, int]]]:
    found: dict[str, list[tuple[str, int]]] = {}
    for kind in kinds():
        for phrase in kind.asked_as:
            found.setdefault(phrase[:START], []).append((phrase, kind.term))
    return found

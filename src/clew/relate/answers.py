"""What a language model answered, read with distrust. Pure.

A model may be wrong, talked over by a text it was shown, or not follow the schema at all. Every field is checked
here; what remains is either a value we know or nothing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from clew.errors import Unavailable
from clew.guard.tripwire import trip
from clew.model.llm import ODD_ANSWER
from clew.model.relation import SEMANTIC
from clew.model.scope import is_encodable
from clew.recall.analyse import terms
from clew.relate.prompts import RELATIONSHIPS
from clew.remember.redact import redact
from clew.values import dataclass

MAX_EDGES = 50
MAX_SENTENCE_CHARS, MAX_EXPLANATION_CHARS, MAX_CONDITION_CHARS = 300, 500, 80
SHORTEST_QUOTE = 3
CONDITIONAL = "conditional_on"

LONGEST_RUN = 3  # words in a row that any two texts may share

# Kinds of conditions, and words of an explanation, that give nothing away about a text they also stand in.
KINDS = frozenset(
    "branch customer day environment event language mode os phase place platform project region role season stage "
    "state team time tool user version".split()
)
_EVERYDAY = (
    "after all always another apply are be because become before being belong between both case cause change "
    "choose chosen condition conflict connect contain context contradict current decide depend describe different "
    "directly does done each either element end even every exact example exist explain express first follow "
    "former general get give given gives go goes good happen has help hence hold however imply instead item keep "
    "kind know later latter lead less like link made main make many may mean means memory mention might more most "
    "must name need needed new newer next note now old older one only onto other otherwise out over own part "
    "particular point possible prefer present previous provide rather reason recent refer relate relation rely "
    "replace require result rule run said same say says second see seem serve set show since single so something "
    "special specific state statement still support take tell text therefore thing though through thus together "
    "too two under unless until up use used uses using valid via way well while whole whose within without work "
    "write written"
)
_WORD = re.compile(r"[^\W_]+")
_SPACE = re.compile(r"\s+")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_AROUND = " \t\n\"'`“”‘’«»…."


@dataclass(frozen=True, slots=True)
class Judgement:
    relationship: str
    confidence: float
    evidence: str
    explanation: str


@dataclass(frozen=True, slots=True)
class Stated:
    """One relation. `index` is the place of the target among those shown, from 0; None for a condition."""

    type: str
    index: int | None
    condition: str
    to_new: bool
    confidence: float
    evidence: str
    explanation: str


def judgement_of(data: Any) -> Judgement:
    """A pair's; what names no relationship we know is an error (memories_sh.md 5.1)."""
    if not isinstance(data, Mapping):
        raise odd_answer("did not answer with an object")
    relationship = data.get("relationship")
    if relationship not in RELATIONSHIPS:  # the answer itself stays out of the message: it may quote the text
        raise odd_answer("named a relationship that does not exist")
    return Judgement(
        relationship, confidence_of(data.get("confidence")), _text(data, "evidence"), _text(data, "explanation")
    )


def relations_of(data: Any, count: int) -> list[Stated]:
    """Those that hold water, each once; `count` memories were shown (memories_sh.md 5.2)."""
    if not isinstance(data, Mapping):
        raise odd_answer("did not answer with an object")
    edges = data.get("edges")
    found: dict[tuple[Any, ...], Stated] = {}
    for entry in edges[:MAX_EDGES] if isinstance(edges, list) else ():
        stated = _stated(entry, count) if isinstance(entry, Mapping) else None
        if stated:
            key = (stated.type, stated.index, stated.condition, stated.to_new)
            if key not in found or found[key].confidence < stated.confidence:
                found[key] = stated
    return list(found.values())


def _stated(entry: Mapping[str, Any], count: int) -> Stated | None:
    kind = entry.get("type")
    if kind not in SEMANTIC:
        return None
    index = None if kind == CONDITIONAL else _index(entry.get("target_memory_index"), count)
    condition = condition_key(entry.get("condition_key")) if kind == CONDITIONAL else ""
    if index is None and not condition:
        return None
    return Stated(
        kind,
        index,
        condition,
        entry.get("direction") == "to_new",
        confidence_of(entry.get("confidence")),
        _text(entry, "evidence"),
        _text(entry, "explanation"),
    )


def confidence_of(value: Any) -> float:
    """Between 0 and 1; what is no number counts for nothing."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return 0.0
    if isinstance(value, float) and not math.isfinite(value):
        return 0.0
    return float(min(1, max(0, value)))


def _index(value: Any, count: int) -> int | None:
    """A number from 1 as it was shown, to a place from 0."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    if isinstance(value, float) and not value.is_integer():
        return None
    return int(value) - 1 if 1 <= value <= count else None


def condition_key(value: Any) -> str:
    """The name of a condition, as nodes share it; '' for none. It becomes a name that others see, so it has to be
    short, printable, and neither a secret nor an address to the reader."""
    if not isinstance(value, str):
        return ""
    key = _SPACE.sub("_", value.strip().lower())
    if not key or len(key) > MAX_CONDITION_CHARS or _CONTROL.search(key) or not is_encodable(key):
        return ""
    return "" if redact(key).text != key or trip(key.replace("_", " ")) else key


def quote_in(evidence: str, text: str) -> str:
    """The passage of the text that the evidence quotes, as the text has it; '' if it does not occur there."""
    words = evidence.strip(_AROUND).split()
    if len(" ".join(words)) < SHORTEST_QUOTE:
        return ""
    found = re.search(r"\s+".join(map(re.escape, words)), text, re.IGNORECASE)
    return _SPACE.sub(" ", found[0])[:MAX_SENTENCE_CHARS] if found else ""


def witness(
    evidence: str, explanation: str, *, text: str, other: str = "", elsewhere: Sequence[str] = ()
) -> tuple[str, str]:
    """Sentence and explanation as they are stored with the memory that has this text.

    A sentence is shown as a quote, so it has to be one. Evidence that quotes the `other` end may still explain.
    What is stored goes when one of the two ends is erased; so nothing is kept that repeats the other texts that
    were shown.
    """
    quote = quote_in(evidence, text)
    if not quote and quote_in(evidence, other):
        explanation = f"{explanation} {evidence}".strip()
    return quote, "" if repeats(explanation, elsewhere, ends=(text, other)) else _storable(explanation)


def repeats(said: str, texts: Sequence[str], *, ends: Sequence[str]) -> bool:
    """Whether it has a word of one of these texts that is neither everyday nor of an end, or some in a row."""
    own = {term for end in ends for term in terms(end)} | _everyday()
    own_runs = {run for end in ends for run in _runs(end)}
    telling, runs = set(terms(said)) - own, _runs(said) - own_runs
    return any(not telling.isdisjoint(terms(text)) or not runs.isdisjoint(_runs(text)) for text in texts)


def _runs(text: str) -> set[tuple[str, ...]]:
    words = _WORD.findall(text.casefold())
    return {tuple(words[at : at + LONGEST_RUN + 1]) for at in range(len(words) - LONGEST_RUN)}


@cache
def _everyday() -> frozenset[str]:
    """Only when it is needed: stemming takes a while to load."""
    return frozenset(terms(_EVERYDAY))


def is_own_condition(key: str, text: str) -> bool:
    """Whether a condition is named in the words of the memory it is of: its name is stored and shown. The kind
    before the colon may be a usual one."""
    kind, colon, value = key.partition(":")
    if not colon:
        kind, value = "", key
    own = {*terms(text), *_WORD.findall(text.casefold())}
    named = terms(_apart(value))
    return bool(named) and own.issuperset(named) and (kind in KINDS or own.issuperset(terms(_apart(kind))))


def _apart(key: str) -> str:
    return " ".join(_WORD.findall(key))


def _storable(said: str) -> str:
    """The model's own words: masked like any text, and dropped when they speak to the reader."""
    plain = redact(_SPACE.sub(" ", _CONTROL.sub(" ", said)).strip()).text[:MAX_EXPLANATION_CHARS]
    return "" if trip(plain) else plain


def _text(data: Mapping[str, Any], name: str) -> str:
    value = data.get(name)
    return value[: 2 * MAX_EXPLANATION_CHARS] if isinstance(value, str) and is_encodable(value) else ""


def odd_answer(what: str) -> Unavailable:
    return Unavailable(f"the language model {what}", code=ODD_ANSWER, next="try a model that follows JSON schemas")

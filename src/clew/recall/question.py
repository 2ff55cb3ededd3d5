"""What a question says besides its words: whom it names, which time it is about, whose words it is after. Pure.

People who wrote memories are named in a question to say whose, not what: their names are taken out of what is
compared with the texts, where they would find whoever was addressed, and become a reason of their own.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from clew.recall.analyse import STOP_WORDS, query_terms
from clew.recall.keys import without_keys

# A word of letters alone, no part of an identifier, a path or an address.
_WORD = re.compile(r"(?<![\w@./\\-])[^\W\d_]+(?:[-'’][^\W\d_]+)*(?![\w@/\\]|[.-]\w)")
_WHEN = re.compile(
    r"\bwhen\b|\bwhat (?:date|day|year|month|time)\b|\bwhich (?:date|day|year|month)\b|\bhow long\b"
    r"|\bhow many (?:days|weeks|months|years)\b",
    re.IGNORECASE,
)
_AGENT = re.compile(
    r"\b(?:did|have|had|were|would|could) you\b|\byou (?:recommend|suggest|mention|advise|said|told|gave|provide"
    r"|propose|explain)|\byour (?:advice|suggestion|recommendation|answer|response|explanation)",
    re.IGNORECASE,
)
# Who asks of themselves is after what they said, and not after what an assistant made of it.
_SELF = re.compile(
    r"(?<![\w./@-])(?:i(?:['’](?:m|ve|d|ll))?|me|my|mine|myself|we(?:['’](?:re|ve|d|ll))?|(?-i:us|Us)|our|ours|ourselves)"
    r"(?![\w./@-])",
    re.IGNORECASE,
)
_MANNER = re.compile(
    r"\bhow (?:did|do|does|have|has|had|will|am|was|were|can|could|should|would|to)\b|\bwhy\b"
    r"|\bwhat (?:approach|steps?|strateg|advice|method|way|process|reason|explanation|tips|technique|suggestion"
    r"|recommendation)",
    re.IGNORECASE,
)
ASSISTANTS = frozenset(("assistant", "agent", "ai", "bot", "model"))  # as chats call them
_NOBODY = frozenset("bot team group crew squad pipeline runner service".split())  # Build Bot, Platform Team
ROLES = ASSISTANTS | {"user", "human", "system", "tool"}
_MONTHS = "january february march april may june july august september october november december".split()
_SHORT = "jan feb mar apr jun jul aug sep sept oct nov dec".split()
_ALWAYS = frozenset(_MONTHS) - {"march", "may"}  # the month, also in small letters
_ORDINAL = r"(?:st|nd|rd|th)?"
_DATE = re.compile(
    rf"(?:\b(\d{{1,2}}){_ORDINAL}\s+(?:of\s+)?)?\b({'|'.join(_MONTHS)}|(?:{'|'.join(_SHORT)})\b\.?(?=\s+\d)"
    rf"|(?<=\d )(?:{'|'.join(_SHORT)}))(?:\b|(?<=\.))"
    rf"(?:\s+(\d{{1,2}}){_ORDINAL}\b(?![:.]\d))?(?:,?\s+(\d{{4}})\b)?",
    re.IGNORECASE | re.ASCII,
)
# 2024-05-12 and 2024/05/12; 12.5.2024; 5/12/2024, where nobody knows which is the month.
_NUMBERS = re.compile(
    r"(?<![\w./-])(?:(?P<year>\d{4})(?P<sign>[-/])(?P<month>\d{1,2})(?P=sign)(?P<day>\d{1,2})(?:T[\d:.]+Z?)?"
    r"|(?P<first>\d{1,2})(?P<by>[./])(?P<second>\d{1,2})(?P=by)(?P<last>\d{4}))(?![\w/-]|\.\d)",
    re.ASCII,
)
# Folders in front of a path that every project has, and what kind of file it is.
_PATH = re.compile(r"(?<![\w@:/.\\-])(?:\.{0,2}/)?(?:[\w.+-]{1,80}[/\\]){1,20}[\w.+-]{1,80}")
_PLACES = frozenset("src lib libs pkg packages internal app apps cmd source sources test tests spec specs".split())
_KIND = re.compile(r"(?<=\w)\.[A-Za-z]\w{0,4}$")
_BEGINS = re.compile(r"(?:^|[.?!:]\s+|[\"'(])$")


_COURTESY = re.compile(
    r"^\W*(?:(?:please|pls|hey|hi|hello|ok|okay|so|and|now|thanks)\b[,.!\s]+){0,4}"
    r"(?:(?:can|could|would|will) you (?:(?:please|kindly|quickly) )?"
    r"|i(?:['’]d| would) like you to |i need you to )?"
    r"(?:(?:tell|remind) me(?: again)?|let me know|help me (?:remember|recall)"
    r"|(?:search|check|look (?:in|into|through)|consult|use) (?:your|the) (?:memory|memories|notes)"
    r"(?: (?:for (?:this|it|that)|(?:and|to) (?:answer|tell me)(?: (?:this|it))?)){0,3})"
    r"(?:[,:;.!\s-]+|$)(?:please[,:]?\s+)?(?!about\b|of\b)",
    re.IGNORECASE,
)


ZONE, ONE_DAY = timedelta(hours=14), timedelta(days=1)


class Date(NamedTuple):
    """A day, a month or a month of a year, as a question has it. Which day, and which year, may be left open."""

    month: int
    day: int | None
    year: int | None


class Asked(NamedTuple):
    """A question as it is compared with memories."""

    text: str  # without the names of authors
    authors: frozenset[int]  # those it names, by hash
    about_time: bool  # it asks when, or how long
    of_agent: bool  # it asks what the agent said
    of_self: bool  # it speaks of whoever asks
    of_manner: bool  # it asks how or why, or what the agent said: for what explains rather than for a fact
    dates: tuple[Date, ...]


def read_question(text: str, named: Mapping[int, Collection[int]]) -> Asked:
    """`named`: authors by the terms that name them."""
    text = without_courtesy(text)
    bare, authors = _without_names(text, named)
    of_agent = bool(_AGENT.search(text))
    return Asked(
        bare,
        authors,
        bool(_WHEN.search(text)),
        of_agent,
        bool(_SELF.search(text)),
        of_agent or bool(_MANNER.search(text)),
        tuple(dict.fromkeys(_dates(text))),
    )


def without_courtesy(text: str) -> str:
    """A question without what only asks ("Can you remind me: ..."): `tell` and `remind` are rare words."""
    bare = _COURTESY.sub("", text, count=1)
    return bare if query_terms(bare) else text


def in_words(text: str, *, with_keys: bool = False) -> str:
    """A question as its meaning is compared: of a path among other words, what tells it from other paths. `src` and
    `.py` are in every second memory of a project, and would make each of them alike. So would the key of a
    ticket, which has no meaning of its own: with nothing beside it, nothing is compared. `with_keys`:
    they are, where no words are."""
    bare = text if with_keys else without_keys(text)
    if bare is not text and not any(word.lower() not in STOP_WORDS for word in _WORD.findall(bare)):
        return ""
    if ("/" not in bare and "\\" not in bare) or not _PATH.sub("", bare).strip():
        return bare
    return _PATH.sub(lambda path: " ".join(_telling(path[0])), bare)


def _telling(path: str) -> list[str]:
    parts = [part for part in re.split(r"[/\\]", path) if part.strip(".")]
    folders = [part for part in parts[:-1] if part.lower() not in _PLACES]
    return folders + [_KIND.sub("", name) for name in parts[-1:]]


def name_terms(name: str) -> tuple[int, ...]:
    """The terms a person's name is recognised by; what somebody is (a user, a number, an address) is no name."""
    if name.lower() in ROLES:
        return ()
    parts = [part for part in name.split() if _WORD.fullmatch(part) and part.lower() not in STOP_WORDS]
    if any(part.lower() in _NOBODY for part in parts):
        return ()
    return tuple(term for part in parts for term in query_terms(part))


def _without_names(text: str, named: Mapping[int, Collection[int]]) -> tuple[str, frozenset[int]]:
    if not named:
        return text, frozenset()
    found: set[int] = set()

    def blank(word: re.Match[str]) -> str:
        terms = query_terms(word[0]).keys()
        if not terms <= named.keys() or (word[0].islower() and not _is_whole(terms, text, named)):
            return word[0]
        found.update(terms)
        return " "

    bare = _WORD.sub(blank, text)
    authors = frozenset(author for term in found for author in named[term])
    # A question that is nothing but a name is about whom it names.
    is_only_name = not found or query_terms(text).keys() <= found
    return text if is_only_name else bare, authors


def _is_whole(terms: Collection[int], text: str, named: Mapping[int, Collection[int]]) -> bool:
    """Whether all of somebody's name is said: in small letters, a part of it is a word like any other. A grant is
    nobody called Grant Hill."""
    said, authors = query_terms(text).keys(), {author for term in terms for author in named[term]}
    return any(all(term in said for term, who in named.items() if author in who) for author in authors)


def _dates(text: str) -> Iterator[Date]:
    for found in _DATE.finditer(text):
        before, month, after, year = found.groups()
        day = before or after
        if not (day or year) and _is_word(month, text, found.start()):
            continue
        yield Date(_month(month), int(day) if day else None, int(year) if year else None)
    for found in _NUMBERS.finditer(text):
        yield from _in_numbers(found)


def _is_word(month: str, text: str, begins: int) -> bool:
    """ "may" alone is rarely the month, nor is "March on" at the beginning. "in september" is."""
    is_capital = month[0].isupper() and not _BEGINS.search(text[max(0, begins - 3) : begins])
    return not is_capital and month.lower() not in _ALWAYS


def span_of(date: Date) -> tuple[int, int] | None:
    """A day with a year from its beginning to its end, in microseconds, a time zone more at both sides."""
    if date.day is None or date.year is None:
        return None
    try:
        begins = datetime(date.year, date.month, date.day, tzinfo=UTC)
        return round((begins - ZONE).timestamp() * 1e6), round((begins + ONE_DAY + ZONE).timestamp() * 1e6)
    except (ValueError, OverflowError):  # 30 February, or the year 0
        return None


def _month(name: str) -> int:
    return next(at for at, known in enumerate(_MONTHS, 1) if known.startswith(name.lower().rstrip(".")[:3]))


def _in_numbers(found: re.Match[str]) -> Iterator[Date]:
    """With slashes either may be the month: both are asked about."""
    if found["year"]:
        dates = [Date(int(found["month"]), int(found["day"]), int(found["year"]))]
    else:
        first, second, year = int(found["first"]), int(found["second"]), int(found["last"])
        dates = [Date(second, first, year)] + [Date(first, second, year)] * (found["by"] == "/")
    yield from (date for date in dates if 1 <= date.month <= 12 and 1 <= (date.day or 0) <= 31)

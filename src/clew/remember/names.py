"""The names a text calls out, so that a memory finds the one whose title it mentions. Pure.

In: a text, or a title. Out: normalised names: NFKC, case and accents folded, punctuation as spaces. A text gives
every part of its capitalised runs ("the film Kiss and Tell"), since nobody knows where a title begins; a title
gives itself, and itself without what only tells it apart ("Kiss and Tell (1945 film)").
"""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

from clew.recall.analyse import STOP_WORDS, hash_term, terms
from clew.recall.common import informativeness

MAX_CHARS = 20_000
MAX_NAMES = 128
MAX_WORDS = 6  # of a part of a run
MAX_TITLE_WORDS = 12  # of a whole run or a quotation
MAX_NAME_CHARS = 160
_CACHE_SIZE = 100_000
_CACHED_WORD = 64

_NOT_WORD = re.compile(r"[\W_]+")
_LETTER = re.compile(r"[^\W_]")
_MARK = re.compile(r"[\u0300-\u036f]")
_PARENTHETICAL = re.compile(r"\s*[(\[（][^()\[\]（）]{1,80}[)\]）]\s*$")
_QUOTED = re.compile(r"([\"“„«「『《`*])([^\"“”„«»「」『』《》`*\n]{2,120})([\"”“»」』》`*])")
_CLOSED_BY = {'"': '"', "“": "”", "„": "“”", "«": "»", "「": "」", "『": "』", "《": "》", "`": "`", "*": "*"}
_ABBREVIATION = re.compile(
    r"(?<!\w)(?:(?:[A-Za-z]\.)+|(?:Mr|Mrs|Ms|Dr|St|Jr|Sr|Prof|No|vs|Inc|Ltd|Co|Corp|Gen|Col|Lt|Capt)\.)$"
)
_ENDS_RUN = re.compile(r"[.!?;:,)\]}\"”»…|]+[*_'’]*$")
_ENDS_SENTENCE = re.compile(r"[.!?…:|]+[\"'”’)\]*_]*$")
_BEGINS_RUN = re.compile(r"[*_'‘]*[(\[{\"“«„|]")

# Inside a name, never at its ends.
CONNECTORS = frozenset(
    "of and the in for to on at a an de la le les du des del della di da dos von van der den zu zum y e el los las "
    "und et & with from by or vs als af og och i al bin ibn ter ten".split()
)
ARTICLES = frozenset("the a an der die das le la les el los las il lo".split())
# Words that begin sentences and are not among the common words of recall/common_words.txt.
_OPENERS = frozenset(
    "however yesterday tomorrow although though everyone everybody someone nobody nothing everything perhaps maybe "
    "meanwhile moreover furthermore unfortunately fortunately apparently eventually finally suddenly besides "
    "despite whenever wherever whether while since until unless because hence thus therefore otherwise instead "
    "likewise sometimes often usually rarely previously recently historically ideally basically honestly thanks "
    "sorry please yes no okay ok well hello hi hey once twice today tonight monday tuesday wednesday thursday "
    "friday saturday sunday january february march april may june july august september october november december "
    "remember don't doesn't can't won't didn't isn't let's it's that's there's we're they're i'm i've we've he's "
    "she's here there during under above below between among against toward towards within without upon across "
    "along around behind beyond per via unlike except regarding concerning agreed done decided learned learnt "
    "noticed found fixed moved switched migrated considered tried asked".split()
)


def normalise(text: str) -> str:
    if text.isascii():
        return _NOT_WORD.sub(" ", text.lower()).strip()
    plain = unicodedata.normalize("NFD", unicodedata.normalize("NFKC", text).casefold())
    return _NOT_WORD.sub(" ", unicodedata.normalize("NFC", _MARK.sub("", plain))).strip()


def names_in(text: str, words: list[str] | None = None) -> list[str]:
    """Distinct, in order, at most MAX_NAMES. `words` are those of the text, if they are known."""
    if len(text) > MAX_CHARS:
        text, words = text[:MAX_CHARS], None
    found: dict[str, None] = {}
    if not text.islower() and any(read := list(map(_WORDS.__getitem__, text.split() if words is None else words))):
        for run, is_first in _runs(read):
            _add_parts(found, run, is_first)
            if len(found) >= MAX_NAMES:
                return list(found)[:MAX_NAMES]
    if '"' in text or "`" in text or "*" in text or not (text.isascii() or _QUOTES.isdisjoint(text)):
        _add_quoted(found, text)
    return list(found)[:MAX_NAMES]


def title_names(title: str | None) -> list[str]:
    """The whole title, then without a trailing parenthetical and without a leading article."""
    if not title:
        return []
    whole = title[: 2 * MAX_NAME_CHARS]
    forms = [normalise(whole)]
    if whole[-1] in ")]）":
        forms.append(normalise(_PARENTHETICAL.sub("", whole)))
    forms += [rest for form in forms if (parts := form.partition(" "))[0] in ARTICLES and (rest := parts[2])]
    return [name for name in dict.fromkeys(forms) if _can_be_title(name)]


def _can_be_title(name: str) -> bool:
    if not name or len(name) > MAX_NAME_CHARS:
        return False
    words = name.split()
    if len(words) > 1:
        return not all(word in STOP_WORDS or word in CONNECTORS for word in words)
    return len(name) > 1 and not name.isdigit() and not _is_common(name)


def _is_common(word: str) -> bool:
    """A word of the language rather than a name."""
    if word in STOP_WORDS or word in _OPENERS:
        return True
    return any(informativeness(hash_term(term)) < 1.0 for term in terms(word))


class _Word(NamedTuple):
    """A word that may belong to a name. Plain words are None."""

    parts: tuple[str, ...]  # normalised: "Spider-Man" has two
    kind: str  # "name", "number" or "link"
    is_common: bool
    begins: bool  # punctuation before it separates it from what went before
    ends: bool
    ends_sentence: bool


class _Words(dict[str, "_Word | None"]):
    """Word to its part in a name, filled as words come."""

    def __missing__(self, word: str) -> _Word | None:
        found = _read(word)
        if len(word) <= _CACHED_WORD:
            if len(self) >= _CACHE_SIZE:
                self.clear()
            self[word] = found
        return found


_WORDS = _Words()
_QUOTES = frozenset("“„«「『《")
_CODE = re.compile(r"[/\\_`(=@#<>{}]|\.\w{2,}\.|::")  # things.py reads these


def _read(word: str) -> _Word | None:
    ends_sentence = bool(_ENDS_SENTENCE.search(word[-8:])) and not _ABBREVIATION.search(word[-8:])
    kind = _kind(word)
    if not kind:
        return _Word((), "", False, False, True, True) if ends_sentence else None
    ends = ends_sentence or (bool(_ENDS_RUN.search(word[-8:])) and not _ABBREVIATION.search(word[-8:]))
    parts = tuple(normalise(word[:_CACHED_WORD]).split())
    is_common = kind == "name" and (len(parts) != 1 or len(parts[0]) < 2 or _is_common(parts[0]))
    return _Word(parts, kind, is_common, bool(_BEGINS_RUN.match(word)), ends, ends_sentence)


def _kind(word: str) -> str:
    if word in CONNECTORS:
        return "link"
    if word.islower():
        return ""
    first = _LETTER.search(word)
    if first is None or _CODE.search(word.strip("_*`(\"'")):
        return ""
    letter = first[0]
    if letter.isdigit():
        return "number"
    is_upper = letter.isupper() or letter.istitle() or any(map(str.isupper, word[:_CACHED_WORD]))
    return "name" if is_upper else ""


def _runs(words: list[_Word | None]) -> list[tuple[list[_Word], bool]]:
    """Capitalised words in a row, with whether a sentence begins there."""
    runs: list[tuple[list[_Word], bool]] = []
    run: list[_Word] = []
    starts = is_start = True
    for word in words:
        if word is None or not word.kind:
            if run:
                runs.append((run, starts))
                run = []
            is_start = word is not None
            continue
        if run and word.begins:
            runs.append((run, starts))
            run = []
        if run or word.kind != "link":
            if not run:
                starts = is_start
            run.append(word)
            if word.ends:
                runs.append((run, starts))
                run = []
        is_start = word.ends_sentence
    if run:
        runs.append((run, starts))
    return runs


def _add_parts(found: dict[str, None], run: list[_Word], is_first: bool) -> None:
    while run and run[-1].kind == "link":
        run.pop()
    if len(run) == 1 and len(run[0].parts) == 1:
        if run[0].kind == "name" and not _is_dull(run[0], is_first):
            found[run[0].parts[0]] = None
        return
    # At an end: words of a name or a number. A number alone, or a common word that begins a sentence, is no name.
    flat = [(part, word.kind != "link") for word in run for part in word.parts]
    dull = {word.parts[0] for index, word in enumerate(run) if _is_dull(word, is_first and index == 0)}
    for start, (word, may_begin) in enumerate(flat):
        if not may_begin:
            continue
        if word not in dull and len(word) > 1 and not word.isdigit():
            found[word] = None
        for end in range(start + 2, min(start + MAX_WORDS, len(flat)) + 1):
            if flat[end - 1][1]:
                found[" ".join([part for part, _ in flat[start:end]])] = None
        if len(found) >= MAX_NAMES:
            return
    if MAX_WORDS < len(flat) <= MAX_TITLE_WORDS:
        found[" ".join([part for part, _ in flat])] = None


def _is_dull(word: _Word, begins_sentence: bool) -> bool:
    if len(word.parts) != 1 or word.kind != "name":
        return False
    return word.parts[0] in STOP_WORDS or (begins_sentence and word.is_common)


def _add_quoted(found: dict[str, None], text: str) -> None:
    for match in _QUOTED.finditer(text):
        name = normalise(match[2]) if match[3] in _CLOSED_BY[match[1]] else ""
        if name.count(" ") < MAX_TITLE_WORDS and _can_be_title(name):
            found[name] = None
        if len(found) >= MAX_NAMES:
            return

"""Does a text speak to the agent instead of about the project? Deterministic, pure, and only a tripwire.

What a memory may do is decided by where it came from (`trust`); this finds the clumsy majority of what was planted.
In: a text. Out: reason codes, none for ordinary notes. Plain imperatives ("always run make lint") are what notes
are made of, so no rule fires on an imperative alone: it takes an attack on earlier instructions, a forged role, a
secret on its way out, something hidden, or a command to the agent that no note would give.

Linear time: a rule runs only where one of its words occurs, every repetition is bounded, and none contains another.
"""

from __future__ import annotations

import base64
import binascii
import html
import re
import unicodedata
from collections.abc import Iterator, Sequence
from urllib.parse import unquote

from clew.guard.tripwire_rules import ADDRESSED, DANGERS, LINE_RULES, RULES, RULES_OF_OTHER_SCRIPTS, Rule

MAX_CHARS = 65_536  # of a longer text, its beginning and its end are read
TAIL_CHARS = 8_192
MAX_BLOBS = 64  # encoded passages that are decoded, once each

SHORTEST_BLOB = 24
SHORTEST_SPELT = 12  # letters of a word or more that is s p e l t

_ALL_RULES = (*RULES, *RULES_OF_OTHER_SCRIPTS)
_SENTENCE = re.compile(r"(?<=[!?\n])\s*|(?<=[.;]) +")

# Flags of some countries are spelt with tag characters. A single joiner, soft hyphen or zero-width space is
# typography; runs of them carry bytes.
_FLAG = re.compile("\U0001f3f4[\U000e0030-\U000e007a]{1,6}\U000e007f")
_HIDDEN = re.compile(
    "[\U000e0000-\U000e007f]|[\u202d\u202e]|[\u200b-\u200f\u2060-\u2064\ufeff]{4}|"
    "[\ufe00-\ufe0f\U000e0100-\U000e01ef]{2}"
)
_BLOB = re.compile(r"[A-Za-z0-9+/_-]{24,8192}={0,2}")
_ESCAPED = re.compile(r"(?:\\x[0-9a-fA-F]{2}){8,2048}")
_SPELT = re.compile(r"(?:\w[ ._*-]{1,3}){11,400}\w")
_BETWEEN_SPELT = re.compile("[ ._*-]+")
_WITHIN_SPELT = re.compile(r"(?<=\w)[ ._*-](?=\w)")
_ACCENTS = str.maketrans("àáâãäåçèéêëìíîïñòóôõöùúûüýşśšżźžćčńłęąğıě", "aaaaaaceeeeiiiinooooouuuuyssszzzccnleagie")
# Letters of other scripts that pass for Latin ones.
_LOOK_ALIKES = str.maketrans("аеорсухіјѕԁһӏոαορευικνтгкмвн", "aeopcyxijsdhlnaopeuiknтгкмвн")
_LATIN = re.compile("[a-z]")
_LEET = re.compile("[013457@$](?<=[a-z].)(?=[a-z])")
_LEETS = str.maketrans("013457@$", "oieastas")


def trip(text: str) -> tuple[str, ...]:
    """The reasons why this looks like an attack on its reader, sorted; none for a note."""
    bounded = text if len(text) <= MAX_CHARS else f"{text[: MAX_CHARS - TAIL_CHARS]}\n{text[-TAIL_CHARS:]}"
    found = set(_spoken(bounded))
    for decoded in _decoded(bounded):
        if any(_spoken(decoded)):
            found.add("encoded")
    return tuple(sorted(found))


def _spoken(text: str) -> Iterator[str]:
    """Reasons in the text itself, read as a model reads it: without what is invisible, in one spelling."""
    if not text.isascii() and _HIDDEN.search(_FLAG.sub("", text)):
        yield "hidden_text"
    for reading in _readings(text):
        yield from _broken_by(LINE_RULES, reading)
        yield from _broken_by(RULES if reading.isascii() else _ALL_RULES, reading.replace("\n", " "))
        if any(_broken_by(DANGERS, reading)) and _commands_agent(reading):
            yield "agent_command"


def _broken_by(rules: Sequence[Rule], reading: str) -> Iterator[str]:
    for reason, words, also, pattern in rules:
        if _has(reading, words) and _has(reading, also) and pattern.search(reading):
            yield reason


def _has(reading: str, words: Sequence[str]) -> bool:
    # A loop, because `any` costs twice as much, and this runs some fifty times per memory.
    for word in words:  # noqa: SIM110
        if word in reading:
            return True
    return False


def _readings(text: str) -> Iterator[str]:
    plain = _plain(text)
    yield plain
    if not plain.isascii() and _LATIN.search(plain):
        latin = plain.translate(_LOOK_ALIKES)
        if latin != plain:
            yield latin
    if _LEET.search(plain):
        yield plain.translate(_LEETS)


def _plain(text: str) -> str:
    if text.isascii():
        visible = text
    else:
        normal = unicodedata.normalize("NFKC", text)
        visible = "".join(char for char in normal if char.isprintable() or char in "\n\t\r\u2028\u2029")
    lines = (" ".join(line.split()) for line in visible.lower().splitlines())
    plain = "\n".join(line for line in lines if line)
    return plain if plain.isascii() else plain.replace("’", "'").translate(_ACCENTS)


def _commands_agent(plain: str) -> bool:
    """Whether a dangerous sentence is addressed to the agent."""
    sentences = _SENTENCE.split(plain)
    return any(any(_broken_by(DANGERS, sentence)) and ADDRESSED.search(sentence) for sentence in sentences)


def _decoded(text: str) -> Iterator[str]:
    """What encoded passages say, where they say anything."""
    if "&#" in text or "&lt;" in text:
        yield html.unescape(text)
    if "%20" in text:
        yield unquote(text, errors="ignore")
    words = text.split()
    lengths = list(map(len, words))
    if max(lengths, default=0) >= SHORTEST_BLOB:
        for blob, _number in zip(_ESCAPED.finditer(text), range(MAX_BLOBS), strict=False):
            yield bytes.fromhex(blob[0].replace("\\x", "")).decode("utf-8", "ignore")
        for blob, _number in zip(_BLOB.finditer(text), range(MAX_BLOBS), strict=False):
            yield from _from_blob(blob[0])
    if lengths.count(1) >= SHORTEST_SPELT or _is_dotted(words, lengths):
        for spelt in _SPELT.finditer(text):
            yield " ".join(_BETWEEN_SPELT.split(_WITHIN_SPELT.sub("", spelt[0])))


def _is_dotted(words: Sequence[str], lengths: Sequence[int]) -> bool:
    """Whether something is s.p.e.l.t like this."""
    if max(lengths, default=0) < SHORTEST_SPELT:
        return False
    return any(len(word) >= SHORTEST_SPELT and word[1] in "._*-" for word in words)


def _from_blob(blob: str) -> Iterator[str]:
    if len(blob) % 2 == 0 and re.fullmatch("[0-9a-fA-F]+", blob):
        raw = bytes.fromhex(blob)
    else:
        digits = blob.rstrip("=").replace("-", "+").replace("_", "/")
        try:
            raw = base64.b64decode(digits + "=" * (-len(digits) % 4))
        except (binascii.Error, ValueError):
            return
    try:
        yield raw.decode("utf-8")
    except UnicodeDecodeError:
        return

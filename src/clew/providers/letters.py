"""Other scripts in Latin letters, so that a model made of Latin word pieces can read them.

Cyrillic, Greek, Arabic, Hebrew and kana are spelled letter by letter by a table; how they are spoken does not
matter, only that the same word always gives the same pieces. Chinese characters and Korean syllables stay, each by
itself: they have rows of their own.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from pathlib import Path

LETTERS = Path(__file__).with_name("data") / "letters.txt"  # a letter and how it is spelled, if at all, per line
# What the table is about, in the blocks and forms in which it comes, and letters of full width.
_SPELLED = re.compile(
    r"[\u0370-\u052f\u0590-\u06ff\u1100-\u11ff\u1f00-\u1fff\u3040-\u30ff\uac00-\ud7a3\ufb1d-\uffdc]"
)

_CACHED = 20_000  # characters
_KATAKANA = re.compile(r"[\u30a1-\u30fc]+")  # words from elsewhere, between others without a space


class _Spelled(dict[int, str]):
    """What each character becomes, for `str.translate`; filled as characters come, of which there are so many."""

    def __init__(self, table: str) -> None:
        self._table = {line[0]: line[2:] for line in table.splitlines()}

    def __missing__(self, code: int) -> str:
        if len(self) >= _CACHED:
            self.clear()
        spelled = self[code] = self._spell(chr(code).lower())
        return spelled

    def _spell(self, char: str) -> str:
        if (known := self._table.get(char)) is not None:
            return known
        if "\uac00" <= char <= "\ud7a3":  # a syllable; Chinese characters are set apart by the tokenizer
            return f" {char} "
        return "".join(self._table.get(part, part) for part in unicodedata.normalize("NFKD", char))


@cache
def _letters() -> _Spelled:
    return _Spelled(LETTERS.read_text(encoding="utf-8"))


def in_latin(text: str) -> str:
    """The text with what can be spelled in Latin letters spelled so; most texts as they are."""
    if text.isascii() or not _SPELLED.search(text):
        return text
    composed = unicodedata.normalize("NFKC", text)
    return _KATAKANA.sub(r" \g<0> ", composed).translate(_letters())

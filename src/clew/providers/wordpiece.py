"""BERT's uncased word pieces, without a tokenizer library.

The rules are those of BERT's own tokenizer: drop control characters, set CJK characters and punctuation
apart, strip accents, lower-case, then take the longest known piece from the left. Texts such as "[SEP]" are
plain text here: a memory cannot smuggle a special token into a model.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from array import array
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Protocol

from clew import native

VOCAB = Path(__file__).with_name("data") / "vocab.txt"  # BERT uncased, Apache-2.0; see the README beside it
UNKNOWN, CLS, SEP = 100, 101, 102
IDS, ID_BYTES = "q", 8  # the type of packed ids, in which numpy takes rows

LONGEST = 18  # characters of a piece
FEW_LOOKS = 32  # some 2 ms at most; a dictionary of all pieces takes 5

MAX_WORD_CHARS = 100  # BERT's own limit; longer words are one unknown token
# Some 10 MB at most. Code bases repeat their words, so a full cache simply starts anew.
_CACHED_WORDS = 50_000
_CACHED_RUN = 64  # characters; longer ones hardly return
_CACHED_CHARS = 20_000

_ASCII_WORDS = re.compile(r"[a-z0-9]+|[!-/:-@\[-`{-~]")
# White space to Python, dropped by BERT: it parts no words.
_JOINING = re.compile(r"[\x0b\x0c\x1c-\x1f\x85]")
# Lower-cases, turns white space into blanks and drops the other controls in one C pass.
_ASCII_FOLD: dict[int, str | None] = dict.fromkeys((*range(32), 127))
_ASCII_FOLD |= {code: chr(code).lower() for code in range(33, 127)}
_ASCII_FOLD |= {ord(c): " " for c in "\t\n\r "}

_PUNCTUATION = frozenset(char for char in map(chr, range(33, 127)) if not char.isalnum())

# The blocks BERT's published tokenizer sets apart; Hangul and the kana are words like any other.
_CJK = (
    (0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F), (0x2B820, 0x2CEAF), (0xF900, 0xFAFF), (0x2F800, 0x2FA1F),
)  # fmt: skip


class _UnicodeFold(dict[int, str]):
    """What each character becomes, for `str.translate`; learnt character by character."""

    def __missing__(self, code: int) -> str:
        if len(self) >= _CACHED_CHARS:
            self.clear()
        folded = self[code] = _fold(chr(code))
        return folded


def _fold(char: str) -> str:
    category = unicodedata.category(char)
    if char in "\t\n\r" or (char.isspace() and category != "Cc"):
        return " "
    if char == "\ufffd" or category in ("Cc", "Cf", "Co", "Cs"):
        return ""
    # One character at a time, so that a final capital sigma becomes the ordinary small one, as it does there.
    bare = (c.lower() for c in unicodedata.normalize("NFD", char) if unicodedata.category(c) != "Mn")
    apart = any(low <= ord(char) <= high for low, high in _CJK)
    return "".join(f" {c} " if apart or _is_punctuation(c) else c for c in bare)


def _is_punctuation(char: str) -> bool:
    # ASCII signs such as $ and + are symbols to Unicode and punctuation to BERT.
    return char in _PUNCTUATION or unicodedata.category(char).startswith("P")


def foreign_pieces(vocabulary: Sequence[str]) -> list[int]:
    """The ids of the pieces of other scripts than Latin. BERT's vocabulary has their letters one by one: to a model
    of English they say which script a text is in, and all texts of one script are alike."""
    return [id for id, piece in enumerate(vocabulary) if not piece.isascii() and any(map(_is_foreign, piece))]


def _is_foreign(char: str) -> bool:
    is_letter = unicodedata.category(char)[0] in "LM"
    return is_letter and not char.isascii() and not unicodedata.name(char, "").startswith("LATIN")


class Pieces(Protocol):
    """Word pieces to their ids."""

    def get(self, piece: str, /) -> int | None: ...


class _Lines:
    """The vocabulary as it is written: on each line a piece, whose id is the number of the line. One question finds
    its few pieces there; for whoever asks for more, a dictionary of all is made."""

    def __init__(self, lines: bytes) -> None:
        self._lines = b"\n" + lines
        self._looks = 0

    def get(self, piece: str, /) -> int | None:
        self._looks += 1
        if self._looks > FEW_LOOKS:
            pieces = self._lines.decode()[1:].removesuffix("\n").split("\n")
            self.get = dict(zip(pieces, range(len(pieces)), strict=True)).get  # type: ignore[method-assign]
            return self.get(piece)
        at = self._lines.find(b"\n%b\n" % piece.encode("utf-8", "surrogatepass"))
        return None if at < 0 else self._lines.count(b"\n", 0, at)


class _Words(dict[str, tuple[int, ...]]):
    """Word to piece ids, computed on first sight and kept within a bound."""

    def __init__(self, vocab: Pieces) -> None:
        self._vocab = vocab

    def __missing__(self, word: str) -> tuple[int, ...]:
        if len(self) >= _CACHED_WORDS:
            self.clear()
        ids = self[word] = self._pieces(word)
        return ids

    def _pieces(self, word: str) -> tuple[int, ...]:
        if len(word) > MAX_WORD_CHARS:
            return (UNKNOWN,)
        ids: list[int] = []
        start = 0
        while start < len(word):
            end, found = self._longest_from(word, start)
            if found is None:
                return (UNKNOWN,)  # one unknown part makes the whole word unknown
            ids.append(found)
            start = end
        return tuple(ids)

    def _longest_from(self, word: str, start: int) -> tuple[int, int | None]:
        prefix = "##" if start else ""
        for end in range(min(len(word), start + LONGEST), start, -1):
            found = self._vocab.get(prefix + word[start:end])
            if found is not None:
                return end, found
        return start, None


class _Runs:
    """What stands between white space to the ids of its pieces. As bytes: joining them costs a third of what
    gathering numbers does."""

    def __init__(self, vocab: Pieces) -> None:
        self._vocab, self._words = vocab, _Words(vocab)
        self._fold = _UnicodeFold()

    def read(self, text: str) -> bytes:
        """The same of a whole text."""
        if not text.isascii():
            words = text.translate(self._fold).split()
        elif text.isalnum():
            if (id := self._vocab.get(text.lower())) is not None:  # as most words are
                return id.to_bytes(ID_BYTES, sys.byteorder)
            words = [text.lower()]
        else:
            words = _ASCII_WORDS.findall(text.translate(_ASCII_FOLD))
        return array(IDS, [id for word in words for id in self._words[word]]).tobytes()


class WordPiece:
    """Text to word-piece ids, without [CLS] and [SEP]."""

    def __init__(self, vocab: Pieces) -> None:
        self._read = _Runs(vocab).read
        self._runs = native.words(self._read, most=_CACHED_WORDS, longest=_CACHED_RUN)

    @staticmethod
    @cache
    def foreign() -> frozenset[int]:
        """What of the packaged vocabulary tells a model of English nothing."""
        return frozenset((UNKNOWN, *foreign_pieces(VOCAB.read_text(encoding="utf-8").splitlines())))

    @staticmethod
    @cache
    def load(more: Path | None = None) -> WordPiece:
        """The tokenizer over the packaged vocabulary, read once per process; `more` pieces follow it."""
        return WordPiece(_Lines(VOCAB.read_bytes() + (more.read_bytes() if more else b"")))

    def ids(self, text: str) -> list[int]:
        """The ids of the text's word pieces, in order; an empty list for a text without words."""
        return array(IDS, self.packed(text)).tolist()

    def packed(self, text: str) -> bytes:
        """The same as the bytes of an array of type IDS."""
        # Run by run: the rules look at single characters, and white space parts words.
        if text.isprintable() or not _JOINING.search(text):
            return self._runs.join(text)
        return self._read(text)

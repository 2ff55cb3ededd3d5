"""The compiled part, where there is one: inner loops of recall that numpy needs many calls for, and words to bytes.

`compiled` is None where it was not built, or by another revision of the sources; then the Python beside each use of
it does the same work. Both give the same numbers (tests compare them), so nothing else depends on which one runs.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from types import ModuleType
from typing import Protocol

REVISION = 8  # native/native.h has the same

compiled: ModuleType | None = None
try:
    from clew import _native
except ImportError:
    pass
else:
    compiled = _native if getattr(_native, "REVISION", 0) == REVISION else None


class Words(Protocol):
    """What is known of words, as bytes, kept within a bound."""

    def join(self, text: str, /) -> bytes:
        """The bytes of the words of a text, one after another. Words are what white space parts."""
        ...

    def unknown(self, text: str, /) -> list[str]:
        """The words of a text in ASCII that are not kept yet; of another text perhaps all."""
        ...


class KnownWords(dict[str, bytes]):
    """The same without what is compiled."""

    def __init__(self, read: Callable[[str], bytes], most: int, longest: int) -> None:
        self._read, self._most, self._longest = read, most, longest

    def __missing__(self, word: str) -> bytes:
        found = self._read(word)
        if len(word) <= self._longest:
            if len(self) >= self._most:
                self.clear()
            self[word] = found
        return found

    def join(self, text: str, /) -> bytes:
        return b"".join(map(self.__getitem__, text.split()))

    def unknown(self, text: str, /) -> list[str]:
        return [word for word in text.split() if word not in self]


def words(read: Callable[[str], bytes], *, most: int, longest: int) -> Words:
    """A table of `most` words, each of which `read` reads once; longer ones than `longest` each time."""
    if compiled is None:
        return KnownWords(read, most, longest)
    table: Words = compiled.Words(read, most, longest, int.from_bytes(os.urandom(8), "little"))
    return table

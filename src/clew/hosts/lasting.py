"""Which sentences of a prompt hold beyond it: rules, decisions and facts, told by learnt weights of words. Pure.

People do not say rules in the form of rules: "pnpm only", "redux is out, zustand it is", "staging gets wiped every
night". No list of patterns finds them; weights of the words of a sentence, of pairs and triples of them, and of how
the sentences around it begin, find most. `lasting.txt` holds them, one feature a line; `tools/lasting.py` learns
and measures them by the prompts in `tests/labelled/prompts`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from math import sqrt
from pathlib import Path
from typing import Literal, NamedTuple

from clew.hosts.patterns import PHRASES, sections

Kind = Literal["rule", "decision", "fact"]
KINDS: tuple[Kind, ...] = ("rule", "decision", "fact")
TABLE = Path(__file__).with_name("lasting.txt")
MAX_CHARS, MAX_WORDS = 600, 60  # of a sentence; it has said what it is by then
NEAR = 12  # words that are looked at together with the first
AROUND = 3  # words of the sentence before and of the one after
STEP = 0.01  # of a weight as it is written
KNOWN = 0.5  # of the words of a sentence, for anything to be told of it: not of another language
NOTHING = -9.0  # speaks for it

_TOKEN = re.compile(
    r"`[^`]*`|(?:[^\W_]|-)*+[/_.](?:[./-]*+\w++)++|[^\W\d_]+(?:'[a-z]+)?|\d+|[?!,;:()-]", re.IGNORECASE
)
# Not what code is made of: `??`, `?.`, `= ?`.
ASKS = re.compile(r"[\w)\"'`\]]\?+(?=[?!.)\"'*]*(?:\s|$))|(?<!\ba)(?<!\bthe)(?<!\bwith)\s\?+\W*$|[？؟]")
_CODE = re.compile(r"[`/_.]|[a-z][A-Z]")


class Weights(NamedTuple):
    """`holds` tells whether a sentence lasts, the others which kind it is of."""

    holds: Mapping[str, float]
    kinds: Mapping[Kind, Mapping[str, float]]


def evidence(sentences: Sequence[str], at: int, weights: Weights | None = None) -> float:
    """How much speaks for it that a sentence lasts: above 0 more likely than not."""
    holds = (weights or learnt()).holds
    said = [word for word in words(sentences[at]) if word[0].isalpha()]
    is_known = said and sum(word in holds for word in said) >= KNOWN * len(said)
    return total(features(sentences, at), holds) if is_known and not _is_foreign(said) else NOTHING


def kind_of(sentences: Sequence[str], at: int, weights: Weights | None = None) -> Kind:
    """Of a sentence that lasts."""
    weights = weights or learnt()
    found = features(sentences, at)
    return max(KINDS, key=lambda kind: total(found, weights.kinds[kind]))


def _is_foreign(said: Sequence[str]) -> bool:
    """Programs have English names in every language: what stands between them tells which it is."""
    only, also = _foreign_words()
    return not only.isdisjoint(said) or len(also.intersection(said)) > 1


@cache
def _foreign_words() -> tuple[frozenset[str], frozenset[str]]:
    tables = sections(PHRASES)
    only, also = (" ".join(tables[name]).split() for name in ("foreign words", "perhaps foreign words"))
    return frozenset(only), frozenset(also)


def total(found: frozenset[str], weights: Mapping[str, float]) -> float:
    return scale(found) * sum(weights.get(one, 0.0) for one in found) + weights.get("", 0.0)


def scale(found: frozenset[str]) -> float:
    """A long sentence has more features, and is not surer for it."""
    return 4 / sqrt(max(1, len(found)))


def features(sentences: Sequence[str], at: int) -> frozenset[str]:
    said = words(sentences[at])
    before = words(sentences[at - 1]) if at else []
    after = words(sentences[at + 1]) if at + 1 < len(sentences) else []
    return frozenset((*_within(said, sentences[at]), *_beside("B", before), *_beside("A", after)))


def words(sentence: str) -> list[str]:
    """In small letters; what is code or a number is only told as such."""
    return [_word(one) for one in _TOKEN.findall(sentence[:MAX_CHARS].replace("\u2019", "'"))[:MAX_WORDS]]


def _word(token: str) -> str:
    if token.isdigit():
        return "<n>"
    return "<code>" if _CODE.search(token) else token.lower()


def _within(said: list[str], sentence: str) -> Iterator[str]:
    framed = ["^", *said, "$"]
    yield from said
    for size in (2, 3):
        yield from map(" ".join, zip(*(framed[at:] for at in range(size)), strict=False))
    yield from (f"{one} _ {other}" for one, other in zip(framed, framed[2:], strict=False))
    yield from (f"{said[0]} ... {word}" for word in said[1:NEAR])
    yield f"#{min(6, len(said) // 4)}"
    if ASKS.search(sentence):
        yield "#asks"
    if "<code>" in said:
        yield "#code"


def _beside(where: str, said: list[str]) -> Iterator[str]:
    yield f"{where}:{'some' if said else 'none'}"
    yield from (f"{where}:{word}" for word in said[:AROUND])
    if "?" in said:
        yield f"{where}:#asks"


@cache
def learnt() -> Weights:
    return read(TABLE.read_text(encoding="utf-8"))


def read(table: str) -> Weights:
    """Each line: weights in hundredths, and the feature."""
    columns: list[dict[str, float]] = [{} for _ in range(1 + len(KINDS))]
    for line in table.splitlines():
        *numbers, feature = line.split("\t")
        for column, number in zip(columns, numbers, strict=True):
            if number:
                column[feature] = int(number) * STEP
    return Weights(columns[0], dict(zip(KINDS, columns[1:], strict=True)))


def written(weights: Weights) -> str:
    columns = [weights.holds, *(weights.kinds[kind] for kind in KINDS)]
    rows = (
        (feature, [str(round(column.get(feature, 0.0) / STEP) or "") for column in columns])
        for feature in sorted(set().union(*columns))
    )
    return "".join("\t".join([*numbers, feature]) + "\n" for feature, numbers in rows if any(numbers))

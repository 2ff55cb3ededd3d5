"""Benchmark files: one corpus per line, in one form whatever the writer of the file took for granted.

A corpus has a name, units (id, text, and perhaps author, thread, at, title) and questions (id, text, and perhaps
category and gold: the ids of the units that answer it). Ids may be numbers, gold may be a single id, empty or
missing; here ids are texts and gold is a list. What cannot be understood is refused, with its place in the file.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from clew.errors import InvalidInput, NotFound, Unavailable

NO_CATEGORY = "(no category)"
_MARK = b"\xef\xbb\xbf"  # some editors begin a file with it
_PACKED = b"\x1f\x8b"  # how gzip files begin, whatever they are called
_LABELS = ("title", "author", "thread", "at")


class _Odd(ValueError):
    """Says what is wrong, and where in the file."""


class Unreadable(ValueError):
    """The same of what does not even come to be JSON."""


def read_corpora(file: Path) -> Iterator[dict[str, Any]]:
    """One after another. The file must be one: it is read more than once."""
    if not file.exists():
        raise NotFound(f"{file} was not found", code="FILE_NOT_FOUND", next="check the path")
    if not file.is_file():
        raise _refused(file, "is no regular file", "write its lines to a file first")
    named: dict[str, int] = {}
    try:
        for number, line in lines_of(file):
            if line.strip():
                corpus = _corpus(parsed(line, number), number)
                if (name := corpus["corpus"]) in named:
                    raise _Odd(f"lines {named[name]} and {number} both hold a corpus called '{name[:40]}'")
                named[name] = number
                yield corpus
    except _Odd as error:
        raise _refused(file, f"cannot be used: {error}", "mend the file") from error
    except Unreadable as error:
        raise _refused(
            file,
            f"cannot be read as benchmark data: {error}",
            "give a .jsonl or .jsonl.gz file with a corpus per line: its name, its units and its questions",
        ) from error
    except OSError as error:
        raise unavailable(file, error) from error


def check_categories(wanted: Sequence[str], known: Sequence[str]) -> None:
    for category in wanted:
        if category not in known:
            raise InvalidInput(
                f"no question is of category '{category}'",
                code="BENCH_CATEGORY_UNKNOWN",
                next=f"the files have: {', '.join(known) or 'no answers'}",
            )


def unavailable(file: Path, error: OSError) -> Unavailable:
    """What the system says about a file."""
    reason = error.strerror or type(error).__name__
    return Unavailable(f"{file}: {reason}", code="FILE_UNAVAILABLE", next="check its permissions and disk")


def _refused(file: Path, what: str, next_move: str) -> InvalidInput:
    return InvalidInput(f"{file} {what}", code="BENCH_DATA_INVALID", next=next_move)


def lines_of(file: Path) -> Iterator[tuple[int, bytes]]:
    """With their numbers. They are taken apart before they are decoded: then it is known which one is broken."""
    number = 0
    try:
        with file.open("rb") as raw:
            is_packed = raw.peek(2).startswith(_PACKED)
            for number, line in enumerate(gzip.GzipFile(fileobj=raw) if is_packed else raw, 1):
                yield number, line.removeprefix(_MARK) if number == 1 else line
    except EOFError as error:
        raise Unreadable(f"it is cut off after line {number}") from error
    except (gzip.BadGzipFile, zlib.error) as error:
        raise Unreadable(f"its compressed content is damaged after line {number} ({error})") from error


def parsed(line: bytes, number: int) -> Any:
    """The JSON of a line."""
    try:
        return json.loads(line.decode())
    except UnicodeDecodeError as error:
        raise Unreadable(f"line {number} is not UTF-8 at byte {error.start + 1}") from error
    except json.JSONDecodeError as error:
        raise Unreadable(f"line {number} is no JSON at character {error.pos + 1} ({error.msg})") from error
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"line {number} has too long a number, or too many brackets in each other") from error


def _corpus(corpus: Any, number: int) -> dict[str, Any]:
    if not isinstance(corpus, dict) or not corpus.keys() >= {"corpus", "units", "questions"}:
        raise _Odd(f"line {number} has no 'corpus', 'units' or 'questions'")
    name = _id(corpus["corpus"], f"the name in line {number}")
    units = [_unit(unit, f"unit {at} of {name}") for at, unit in _each(corpus, "units", name)]
    questions = [
        _question(question, f"question {at} of {name}") for at, question in _each(corpus, "questions", name)
    ]
    seen: set[str] = set()
    for unit in units:
        if unit["id"] in seen:
            raise _Odd(f"{name} has two units with the id '{unit['id'][:40]}'")
        seen.add(unit["id"])
    return corpus | {"corpus": name, "units": units, "questions": questions}


def _each(corpus: Mapping[str, Any], field: str, name: str) -> Iterator[tuple[int, dict[str, Any]]]:
    if not isinstance(corpus[field], list):
        raise _Odd(f"'{field}' of {name} is no list")
    for at, item in enumerate(corpus[field], 1):
        if not isinstance(item, dict):
            raise _Odd(f"entry {at} in '{field}' of {name} is no object")
        yield at, item


def _unit(unit: dict[str, Any], where: str) -> dict[str, Any]:
    told = {field: str(unit[field]) for field in _LABELS if unit.get(field) is not None}
    return (
        unit
        | told
        | {"id": _id(unit.get("id"), f"the id of {where}"), "text": _text(unit.get("text", _Odd), where)}
    )


def _question(question: dict[str, Any], where: str) -> dict[str, Any]:
    gold = question.get("gold")
    gold = gold if isinstance(gold, list) else [] if gold is None else [gold]
    category = question.get("category")
    return question | {
        "id": _id(question.get("id"), f"the id of {where}"),
        "text": _text(question.get("text", _Odd), where),
        "gold": list(dict.fromkeys(_id(one, f"the gold of {where}") for one in gold if one != "")),
        "category": NO_CATEGORY if category is None else _id(category, f"the category of {where}"),
    }


def _id(value: Any, what: str) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise _Odd(f"{what} is neither a text nor a number")
    return str(value)


def _text(value: Any, where: str) -> str:
    """Nothing is a text, too: what a unit lost."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise _Odd(f"{where} has no text")
    return value

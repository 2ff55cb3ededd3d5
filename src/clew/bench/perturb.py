"""`clew bench perturb FILE... --out DIR`: copies of benchmark files with other names and other years.

Recall that was tuned to the names or dates of a file is worse on the copy; recall that was not is about the
same. Ids, gold units, categories and threads stay, so the rankings of a file and of its copy can be compared
question by question.

Renamed, consistently within a corpus: authors, and people in texts, titles and questions (see `perturb_names`).
An author in lower case is a role, and stays; with `roles` that of an agent does not, to show what depends on it.
Moved, by the same number of years in one corpus: every number from 1500 to 2099 that stands alone, so also the year
in 2023-05-08, 20230508, 8 May 2023, May 8, 2023, May-08-2023 and 8.5.2023, and the same in the field `at`, where
seconds since 1970 are written as the date they are. The number of years is a multiple of 28, after which the
calendar repeats: weekdays and leap days stay right, from 1957 on. Not moved: days and months, decades (1990s),
years of two digits, numbers with a fraction and digits within words.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from clew.bench.corpora import read_corpora
from clew.bench.dates import since_1970
from clew.bench.lines import in_lines
from clew.bench.perturb_names import Renaming, renaming
from clew.bench.places import is_one_of, written
from clew.errors import InvalidInput
from clew.model.progress import Progress, no_progress

SHIFTS = (-28, -56)  # years; backwards, for what is remembered has happened
_YEAR = re.compile(
    r"(?<!\w)(?:(?<!\d\.)|(?<=\b\d\.\d\.)|(?<=\b\d\.\d\d\.)|(?<=\b\d\d\.\d\.)|(?<=\b\d\d\.\d\d\.))"
    r"(1[5-9]\d\d|20\d\d)"
    r"(?:(?!\w|\.\d|,\d)|(?=(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])(?:T\d|\b)))"
)


def measure(args: argparse.Namespace, progress: Progress = no_progress) -> dict[str, Any]:
    return run(
        [Path(name) for name in args.files], Path(args.out), seed=args.seed, roles=args.roles, progress=progress
    )


def run(
    files: Sequence[Path], out: Path, *, seed: int = 1, roles: bool = False, progress: Progress = no_progress
) -> dict[str, Any]:
    """Progress is told in corpora. The same files and seed give the same copies, byte for byte."""
    _check(files, out)
    total = sum(1 for file in files for _corpus in read_corpora(file))
    report: dict[str, Any] = {"out": str(out), "seed": seed, "files": {}}
    out.mkdir(parents=True, exist_ok=True)
    done = 0
    for file in files:
        told = report["files"].setdefault(file.name, [])
        with written(out / file.name) as lines:
            for corpus in read_corpora(file):
                other, about = perturbed(corpus, seed, roles=roles)
                lines.write(_line(other))
                told.append(about)
                done += 1
                progress(done, total)
    return report


def _line(corpus: dict[str, Any]) -> bytes:
    """As it is read by people, where there is a form of it: half of a character has none but its escape."""
    try:
        return json.dumps(corpus, ensure_ascii=False).encode() + b"\n"
    except UnicodeEncodeError:
        return json.dumps(corpus).encode() + b"\n"


def _check(files: Sequence[Path], out: Path) -> None:
    there = next(folder for folder in (out, *out.absolute().parents) if folder.exists())
    if not there.is_dir():
        raise _refused(f"{there} is no directory", "name another directory with --out")
    if not os.access(there, os.W_OK):
        raise _refused(f"{there} may not be written to", "name another directory with --out")
    names = [file.name for file in files]
    for file in files:
        if is_one_of(out / file.name, files):
            raise _refused(f"{file} would be replaced by its copy", "give another directory with --out")
        if names.count(file.name) > 1:
            raise _refused(f"two files are called {file.name}", "copy them in two runs, to two directories")


def _refused(message: str, next_move: str) -> InvalidInput:
    return InvalidInput(message, code="BENCH_COPY_REFUSED", next=next_move)


def perturbed(corpus: dict[str, Any], seed: int, *, roles: bool = False) -> tuple[dict[str, Any], dict[str, Any]]:
    """The corpus with other names and years, and what was done to it."""
    key = f"{seed}:{corpus['corpus']}".encode("utf-8", "surrogatepass")
    years = random.Random(key).choice(SHIFTS)
    authors = {unit["author"] for unit in corpus["units"] if unit.get("author")}
    names = renaming(_texts(corpus), sorted(authors), key, roles=roles)
    other = corpus | {
        "units": [_unit(unit, names, years) for unit in corpus["units"]],
        "questions": [_question(question, names, years) for question in corpus["questions"]],
    }
    return other, {"corpus": corpus["corpus"], "years": years, "names": names.capitalised()}


def _texts(corpus: dict[str, Any]) -> Iterator[str]:
    for unit in corpus["units"]:
        yield unit["text"]
        yield unit.get("title") or ""
    for question in corpus["questions"]:
        yield question["text"]


def _unit(unit: dict[str, Any], names: Renaming, years: int) -> dict[str, Any]:
    changed = {field: _told(unit[field], names, years) for field in ("text", "title") if unit.get(field)}
    if unit.get("author"):
        changed["author"] = names.author(unit["author"])
    if unit.get("at"):
        counted = since_1970(unit["at"])
        changed["at"] = moved(counted.isoformat() if counted else unit["at"], years)
    return unit | changed


def _question(question: dict[str, Any], names: Renaming, years: int) -> dict[str, Any]:
    return question | {"text": _told(question["text"], names, years)}


def _told(text: str, names: Renaming, years: int) -> str:
    return moved(names.text(text), years)


def moved(text: str, years: int) -> str:
    """The text with every year in it moved."""
    return _YEAR.sub(lambda match: str(int(match.group()) + years), text)


def table(report: dict[str, Any]) -> str:
    lines = [f"{'':28}{'corpora':>9}{'names':>9}  years"]
    for name, corpora in report["files"].items():
        names = sum(len(corpus["names"]) for corpus in corpora)
        years = ", ".join(str(by) for by in sorted({corpus["years"] for corpus in corpora}, reverse=True))
        lines.append(f"{name:28}{len(corpora):9d}{names:9d}  {years}")
    lines.append(f"written to {report['out']}, seed {report['seed']}")
    return in_lines(lines)

"""Rankings as lines of a file, and the comparison with those that an earlier run, or another program, wrote.

A question is found again by its file, its corpus and its id. Where the lines name no file, or none of the files
that are measured, by corpus and id alone: files are renamed. Then it has to be one question on either side.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

from clew.bench.corpora import Unreadable, lines_of, parsed, unavailable
from clew.bench.intervals import gains
from clew.bench.metrics import Score, score_ranking
from clew.errors import InvalidInput, NotFound
from clew.values import dataclass

Key = tuple[str, str, str]  # file, "" where none is named, corpus and question
Place = tuple[Key, int]  # and the how manyth of its name: ids may repeat
Ranking = list[str]


@dataclass(frozen=True, slots=True)
class Answer:
    """What one question brought up, best first, and how long it took."""

    file: str
    corpus: str
    question: dict[str, Any]
    ranked: Ranking
    ms: float

    @property
    def score(self) -> Score:
        return self.scored(self.ranked)

    def scored(self, ranked: Sequence[str]) -> Score:
        """What another ranking of the same question is worth."""
        return score_ranking(ranked, self.question["gold"], self.question["category"])

    def as_line(self) -> str:
        ranking = {"file": self.file, "corpus": self.corpus, "question": self.question["id"]}
        return json.dumps(ranking | {"ranked": self.ranked, "ms": round(self.ms, 3)}) + "\n"


@dataclass(frozen=True, slots=True)
class Asked:
    """The questions of one file, in order: corpus and id, and whether an answer is known."""

    label: str
    file: Path
    names: list[tuple[str, str]] = field(default_factory=list)
    known: list[bool] = field(default_factory=list)

    def add(self, corpus: str, questions: Iterable[Mapping[str, Any]]) -> None:
        for question in questions:
            self.names.append((corpus, question["id"]))
            self.known.append(bool(question["gold"]))


@dataclass(frozen=True, slots=True)
class Baseline:
    """What was ranked before, by file, corpus and question; several of one name in their order."""

    lines: Mapping[Key, list[Ranking]]

    def counts(self) -> Counter[str]:
        """Rankings by file."""
        counted: Counter[str] = Counter()
        for (file, *_name), rankings in self.lines.items():
            counted[file] += len(rankings)
        return counted

    def called(self, asked: Asked) -> str | None:
        """How it calls the file."""
        files = self.counts()
        return next((name for name in (asked.label, str(asked.file), asked.file.name) if name in files), None)


@dataclass(frozen=True, slots=True)
class Pairs:
    """By label, the earlier ranking of each question that is asked, and how many only the baseline has."""

    rankings: Mapping[str, list[Ranking | None]]
    only_there: Mapping[str, int]
    other_files: Mapping[str, int]  # their rankings that no question found
    known: int  # pairs of questions whose answer is known: what can be compared


def read_rankings(file: Path) -> Baseline:
    """What `--rankings` wrote, compressed or not; the file and the time may be missing."""
    if not file.exists():
        raise NotFound(f"{file} was not found", code="FILE_NOT_FOUND", next="check the path")
    lines: dict[Key, list[Ranking]] = {}
    try:
        for number, line in lines_of(file):
            if line.strip():
                key, ranked = _ranking(parsed(line, number), number)
                lines.setdefault(key, []).append(ranked)
    except IsADirectoryError as error:
        raise _invalid(file, "it is a directory") from error
    except OSError as error:
        raise unavailable(file, error) from error
    except Unreadable as error:
        raise _invalid(file, str(error)) from error
    return Baseline(lines)


def _invalid(file: Path, why: str) -> InvalidInput:
    return InvalidInput(
        f"{file} cannot be read as rankings: {why}",
        code="BENCH_BASELINE_INVALID",
        next="give a file that clew bench recall --rankings wrote, or lines with corpus, question and ranked",
    )


def _ranking(entry: Any, number: int) -> tuple[Key, Ranking]:
    if not isinstance(entry, dict) or not entry.keys() >= {"corpus", "question", "ranked"}:
        raise Unreadable(f"line {number} has no 'corpus', 'question' or 'ranked'")
    ranked = entry["ranked"]
    if not isinstance(ranked, list) or not all(isinstance(unit, str | int) for unit in ranked):
        raise Unreadable(f"'ranked' in line {number} is no list of the ids of units")
    file = entry.get("file")
    key = ("" if file is None else str(file), str(entry["corpus"]), str(entry["question"]))
    return key, [str(unit) for unit in ranked]


def pair(baseline: Baseline, files: Sequence[Asked]) -> Pairs:
    called = [baseline.called(asked) for asked in files]
    spare = Counter({name: count for name, count in baseline.counts().items() if name not in called})
    rankings: dict[str, list[Ranking | None]] = {}
    only_there, used, known = {}, set[Place](), 0
    for asked, own in zip(files, called, strict=True):
        places = _in_own(baseline, asked, own) if own else _elsewhere(baseline, asked, list(spare))
        found = {place for place in places if place}
        only_there[asked.label] = baseline.counts()[own] - len(found) if own else 0
        rankings[asked.label] = [baseline.lines[place[0]][place[1]] if place else None for place in places]
        known += sum(bool(place) and is_known for place, is_known in zip(places, asked.known, strict=True))
        used |= found
    spare.subtract(key[0] for key, _at in used if key[0] in spare)
    return Pairs(rankings, only_there, dict(+spare), known)


def _in_own(baseline: Baseline, asked: Asked, own: str) -> list[Place | None]:
    places = _numbered((own, *name) for name in asked.names)
    return [place if place[1] < len(baseline.lines.get(place[0], ())) else None for place in places]


def _elsewhere(baseline: Baseline, asked: Asked, files: Sequence[str]) -> list[Place | None]:
    """By names alone, which have to be as many in one file of the baseline, and in no other."""
    times = Counter(asked.names)
    places: list[Place | None] = []
    for (_file, *name), at in _numbered(("", *name) for name in asked.names):
        keys = [key for file in files if (key := (file, name[0], name[1])) in baseline.lines]
        is_sure = len(keys) == 1 and len(baseline.lines[keys[0]]) == times[name[0], name[1]]
        places.append((keys[0], at) if is_sure else None)
    return places


def _numbered(keys: Iterable[Key]) -> list[Place]:
    seen: Counter[Key] = Counter()
    places = []
    for key in keys:
        places.append((key, seen[key]))
        seen[key] += 1
    return places


def paired(file: Path, files: Sequence[Asked]) -> Pairs:
    """Refused where no figure could be compared: hours later that would be no news."""
    baseline = read_rankings(file)
    pairs = pair(baseline, files)
    if pairs.known:
        return pairs
    theirs = {(corpus, question): name for name, corpus, question in baseline.lines}
    ours = [name for asked in files for name, is_known in zip(asked.names, asked.known, strict=True) if is_known]
    if not ours:
        why, move = "no question has a known answer", "leave --baseline out, or give files with gold"
    elif any(name in theirs for name in ours):
        why = "the questions are in it more than once, under other names of files"
        move = f"call the files as it does, such as {next(theirs[name] for name in ours if name in theirs)!r}"
    else:
        why = f"it has {_told(theirs)}, the files have {_told(ours)}"
        move = "give rankings of the same corpora and questions, or leave --baseline out"
    raise InvalidInput(f"{file} has nothing to compare with: {why}", code="BENCH_BASELINE_UNPAIRED", next=move)


def _told(names: Iterable[tuple[str, str]]) -> str:
    name = next(iter(names), None)
    return f"question {name[1]!r} of {name[0]!r}" if name else "no question"


def against(
    earlier: Sequence[Ranking | None], answers: Sequence[Answer], only_there: int, chosen: Iterable[str] = ()
) -> dict[str, Any]:
    """How much better the answers are, over the questions that both have. The others are counted."""
    known = [(answer, ranked) for answer, ranked in zip(answers, earlier, strict=True) if answer.question["gold"]]
    pairs = [(answer, ranked) for answer, ranked in known if ranked is not None]
    return {
        "pairs": len(pairs),
        "only_here": len(known) - len(pairs),
        "only_in_baseline": only_there,
        "gains": gains(
            [answer.score for answer, _ranked in pairs],
            [answer.scored(ranked) for answer, ranked in pairs],
            chosen,
        ),
    }

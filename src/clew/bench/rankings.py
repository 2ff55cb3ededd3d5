"""Rankings as lines of a file, and the comparison with those that an earlier run wrote."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from clew.bench.intervals import gains
from clew.bench.metrics import Score, score_ranking
from clew.errors import InvalidInput
from clew.values import dataclass

Key = tuple[str, str, str, int]  # file, corpus, question, and the how manyth of them: names may repeat
Rankings = Mapping[Key, list[str]]


@dataclass(frozen=True, slots=True)
class Answer:
    """What one question brought up, best first, and how long it took."""

    file: str
    corpus: str
    question: dict[str, Any]
    ranked: list[str]
    ms: float

    @property
    def names(self) -> tuple[str, str, str]:
        return self.file, self.corpus, self.question["id"]

    @property
    def score(self) -> Score:
        return self.scored(self.ranked)

    def scored(self, ranked: Sequence[str]) -> Score:
        """What another ranking of the same question is worth."""
        return score_ranking(ranked, self.question["gold"], self.question["category"])

    def as_line(self) -> str:
        ranking = {"file": self.file, "corpus": self.corpus, "question": self.question["id"]}
        return json.dumps(ranking | {"ranked": self.ranked, "ms": round(self.ms, 3)}) + "\n"


def read_rankings(file: Path) -> dict[Key, list[str]]:
    """By file, corpus and question, what `--rankings` wrote."""
    try:
        with file.open(encoding="utf-8") as lines:
            entries = [json.loads(line) for line in lines if line.strip()]
        names = [(str(entry["file"]), str(entry["corpus"]), str(entry["question"])) for entry in entries]
        ranked = [[str(unit) for unit in entry["ranked"]] for entry in entries]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InvalidInput(
            f"{file} cannot be read as rankings: {error}",
            code="BENCH_BASELINE_INVALID",
            next="give a file that clew bench recall --rankings wrote",
        ) from error
    return dict(zip(_numbered(names), ranked, strict=True))


def _numbered(names: Iterable[tuple[str, str, str]]) -> list[Key]:
    seen: Counter[tuple[str, str, str]] = Counter()
    keys = []
    for name in names:
        keys.append((*name, seen[name]))
        seen[name] += 1
    return keys


def against(baseline: Rankings, answers: Sequence[Answer], file: str, chosen: Iterable[str] = ()) -> dict[str, Any]:
    """How much better the answers are, over the questions that both have. The others are counted."""
    keyed = zip(answers, _numbered(answer.names for answer in answers), strict=True)
    pairs = [(answer, baseline[key]) for answer, key in keyed if key in baseline]
    of_this_file = sum(key[0] == file for key in baseline)
    return {
        "pairs": len(pairs),
        "only_here": len(answers) - len(pairs),
        "only_in_baseline": of_this_file - len(pairs),
        "gains": gains(
            [answer.score for answer, _ranked in pairs],
            [answer.scored(ranked) for answer, ranked in pairs],
            chosen,
        ),
    }


def of_other_files(baseline: Rankings, files: Iterable[str]) -> dict[str, int]:
    """Questions of the baseline whose files are not measured now, by file."""
    measured = set(files)
    return dict(Counter(file for file, *_rest in baseline if file not in measured))

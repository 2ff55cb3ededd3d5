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

Key = tuple[str, str, str]  # file, corpus, question
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
    def key(self) -> Key:
        return self.file, str(self.corpus), str(self.question["id"])

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
    rankings: dict[Key, list[str]] = {}
    try:
        with file.open(encoding="utf-8") as lines:
            for line in filter(str.strip, lines):
                entry = json.loads(line)
                key = (str(entry["file"]), str(entry["corpus"]), str(entry["question"]))
                if key in rankings:
                    raise ValueError(f"{key} is there twice")
                rankings[key] = [str(unit) for unit in entry["ranked"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InvalidInput(
            f"{file} cannot be read as rankings: {error}",
            code="BENCH_BASELINE_INVALID",
            next="give a file that clew bench recall --rankings wrote",
        ) from error
    return rankings


def against(baseline: Rankings, answers: Sequence[Answer], file: str, chosen: Iterable[str] = ()) -> dict[str, Any]:
    """How much better the answers are, over the questions that both have. The others are counted."""
    pairs = [(answer, baseline[answer.key]) for answer in answers if answer.key in baseline]
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
    return dict(Counter(file for file, _corpus, _question in baseline if file not in measured))

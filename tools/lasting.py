"""Learns the weights by which hooks tell rules, decisions and facts in a prompt, and measures what they find.

    .venv/bin/python tools/lasting.py             # each author's prompts by weights learnt from all others
    .venv/bin/python tools/lasting.py --days      # days of authors from whom nothing was learnt, by what is shipped
    .venv/bin/python tools/lasting.py --show a    # one author, with what was missed and kept wrongly
    .venv/bin/python tools/lasting.py --learn     # writes src/clew/hosts/lasting.txt

`tests/labelled/README.md` tells how prompts are labelled. Kept is what `understood_prompt` keeps of a whole prompt,
so what it refuses beside the weights (pasted text, questions) is counted too.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from clew.hosts import lasting
from clew.hosts.lasting import KINDS, Kind, Weights, features, scale
from clew.hosts.said import own_sentences, understood_prompt

LABELLED = Path(__file__).parents[1] / "tests" / "labelled"
PROMPTS, DAYS = LABELLED / "prompts", LABELLED / "days"
PROMISED, TIMES = "promised", 4  # prompts that tests name one by one, and how often each counts
FORMS, PART = "af", 0.4  # one form with many names each, and how much of one prompt each counts
SEEN = 7  # sentences that have a feature, for it to be learnt
SAME = 0.7  # of the words of what was labelled, for a sentence to be it
STRENGTH = 0.4  # of the pull towards no weight
STEPS = 600


@dataclass(frozen=True, slots=True)
class Labelled:
    """`keep`: (kind, text) of what should be remembered."""

    prompt: str
    keep: tuple[tuple[Kind, str], ...]
    counts: float = 1.0


@dataclass(slots=True)
class Measure:
    useful: Counter[str] = field(default_factory=Counter)
    found: Counter[str] = field(default_factory=Counter)
    kept: int = 0
    right_kind: int = 0
    prompts: int = 0
    junk: list[str] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)

    def judge(self, one: Labelled, weights: Weights) -> None:
        said = understood_prompt(one.prompt, weights)
        kept = [(kind, text) for kind, texts in zip(KINDS, said.lasting, strict=True) for text in texts]
        right: set[int] = set()
        for kind, text in one.keep:
            at = [n for n, (_kind, told) in enumerate(kept) if _is_same(told, text) or _is_part(told, text)]
            self.useful[kind] += 1
            self.found[kind] += bool(at)
            self.right_kind += any(kept[n][0] == kind for n in at)
            right.update(at)
            if not at:
                self.missed.append(f"{kind}: {text}  <  {one.prompt}")
        self.kept += len(kept)
        self.prompts += 1
        self.junk += [f"{kept[n][0]}: {kept[n][1]}  <  {one.prompt}" for n in range(len(kept)) if n not in right]

    def add(self, other: Measure) -> None:
        self.useful += other.useful
        self.found += other.found
        self.kept += other.kept
        self.right_kind += other.right_kind
        self.prompts += other.prompts
        self.junk += other.junk
        self.missed += other.missed

    def line(self, name: str) -> str:
        precision, recall = 1 - len(self.junk) / max(1, self.kept), self.found.total() / max(1, self.useful.total())
        kind = self.right_kind / max(1, self.found.total())
        kinds = "  ".join(f"{kind} {self.found[kind] / max(1, self.useful[kind]):.2f}" for kind in KINDS)
        return (
            f"{name:8} {self.prompts:5} prompts  kept {self.kept:4}  precision {precision:.3f}"
            f"  recall {recall:.3f}  ({kinds})  of the right kind {kind:.3f}"
        )


def authors(folder: Path = PROMPTS) -> dict[str, list[Labelled]]:
    return {
        path.stem: list(_read(path, PART if path.stem == FORMS else 1.0)) for path in sorted(folder.glob("*.jsonl"))
    }


def taught(by: Mapping[str, list[Labelled]], *, without: str = "") -> Iterator[Labelled]:
    for name, prompts in by.items():
        if name != without:
            yield from prompts * TIMES if name == PROMISED else prompts


def measured(prompts: Iterable[Labelled], weights: Weights) -> Measure:
    found = Measure()
    for one in prompts:
        found.judge(one, weights)
    return found


def _read(path: Path, counts: float) -> Iterator[Labelled]:
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        yield Labelled(row["prompt"], tuple((one["kind"], one["text"]) for one in row["keep"]), counts)


def learn(prompts: Iterable[Labelled]) -> Weights:
    """Every sentence is an example, and so is what was labelled in it: people say it alone as well."""
    found, labels, parts = [], [], []
    for one in prompts:
        said = own_sentences(one.prompt)
        for at in range(len(said)):
            found.append(features(said, at))
            labels.append(_label(said[at], one.keep))
            parts.append(one.counts)
        for kind, text in one.keep:
            if text.strip(" .!") not in {each.strip(" .!") for each in said}:
                found.append(features([text], 0))
                labels.append(kind)
                parts.append(one.counts)
    counts = Counter(feature for one in found for feature in one)
    known = sorted(feature for feature, count in counts.items() if count >= SEEN)
    lasts = [at for at, label in enumerate(labels) if label]
    holds = _fit(found, [bool(label) for label in labels], parts, known)
    kept, of_kept = [found[at] for at in lasts], [parts[at] for at in lasts]
    kinds = {kind: _fit(kept, [labels[at] == kind for at in lasts], of_kept, known) for kind in KINDS}
    return lasting.read(lasting.written(Weights(holds, kinds)))  # as coarse as they are written


def _label(sentence: str, keep: Sequence[tuple[Kind, str]]) -> Kind | None:
    return next((kind for kind, text in keep if _is_same(sentence, text) or _is_part(sentence, text)), None)


def _is_same(sentence: str, text: str) -> bool:
    asked = _words(text)
    return len(asked & _words(sentence)) >= SAME * len(asked)


def _is_part(sentence: str, text: str) -> bool:
    said = _words(sentence)
    return len(said) > 3 and len(said & _words(text)) >= 0.8 * len(said)


def _words(text: str) -> set[str]:
    return {word for word in lasting.words(text) if any(map(str.isalnum, word))}


def _fit(
    found: Sequence[frozenset[str]], labels: Sequence[bool], parts: Sequence[float], known: Sequence[str]
) -> dict[str, float]:
    """Logistic regression by accelerated descent: no chance in it, so the same prompts give the same weights."""
    places = {feature: at for at, feature in enumerate(known)}
    rows = [[places[one] for one in sorted(each) if one in places] + [len(known)] for each in found]
    columns = np.concatenate([np.array(row) for row in rows])
    counts = np.array([len(row) for row in rows])
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    values = np.repeat([scale(each) for each in found], counts)
    values[np.cumsum(counts) - 1] = 1.0  # what speaks for every sentence
    signs = np.where(labels, 1.0, -1.0)
    pace = 1 / (0.25 * 17 * len(found) + STRENGTH)
    weights: NDArray[np.float64] = np.zeros(len(known) + 1)
    ahead = before = weights
    for step in range(STEPS):
        margin = signs * np.add.reduceat(values * ahead[columns], starts)
        pull = np.repeat(-signs * parts / (1 + np.exp(margin)), counts) * values
        slope = np.bincount(columns, pull, len(weights)) + STRENGTH * ahead
        before, weights = weights, ahead - pace * slope
        ahead = weights + step / (step + 3) * (weights - before)
    return {feature: float(weight) for feature, weight in zip([*known, ""], weights, strict=True)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    either = parser.add_mutually_exclusive_group()  # nothing is ever learnt from those days
    either.add_argument("--learn", action="store_true", help="write the weights learnt from all")
    either.add_argument(
        "--days", action="store_true", help="measure what is shipped by days nothing was learnt from"
    )
    parser.add_argument("--show", metavar="AUTHOR", help="list what went wrong with one author's prompts")
    given = parser.parse_args()
    all_of = authors(DAYS if given.days else PROMPTS)
    if given.learn:
        lasting.TABLE.write_text(lasting.written(learn(taught(all_of))), "utf-8")
        return
    total = Measure()
    for name in [given.show] if given.show else all_of:
        weights = lasting.learnt() if given.days else learn(taught(all_of, without=name))
        found = measured(all_of[name], weights)
        print(found.line(name), flush=True)
        if given.show:
            print(*(f"  junk    {line}" for line in found.junk), sep="\n")
            print(*(f"  missed  {line}" for line in found.missed), sep="\n")
        total.add(found)
    print(total.line("all"))


if __name__ == "__main__":
    main()

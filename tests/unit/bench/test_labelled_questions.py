"""The questions of our own that the last look is learnt from and measured by: whole, and labelled with units."""

from __future__ import annotations

from pathlib import Path

import pytest

from clew.bench.corpora import read_corpora

LABELLED = Path(__file__).parents[2] / "labelled"
FILES = sorted([*(LABELLED / "questions").glob("*.jsonl"), *(LABELLED / "unseen").glob("*.jsonl")])


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_answer_is_a_unit_of_its_corpus(file: Path) -> None:
    corpora = list(read_corpora(file))
    assert len({corpus["corpus"] for corpus in corpora}) == len(corpora) > 3
    for corpus in corpora:
        units = [unit["id"] for unit in corpus["units"]]
        questions = [question["id"] for question in corpus["questions"]]
        assert len(set(units)) == len(units) >= 60, corpus["corpus"]
        assert len(set(questions)) == len(questions) >= 20, corpus["corpus"]
        for question in corpus["questions"]:
            assert question["text"].strip() and question["category"], question
            assert question["gold"] and set(question["gold"]) <= set(units), question


def test_nothing_that_is_only_measured_is_learnt_from() -> None:
    names = [{corpus["corpus"] for corpus in read_corpora(file)} for file in FILES]
    assert sum(map(len, names)) == len(set().union(*names))

"""`clew bench recall` through the public paths, on a corpus of a few lines."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

import clew
from clew.bench.recall import read_corpora, run, table
from clew.errors import InvalidInput

CORPUS = {
    "corpus": "talk",
    "units": [
        {"id": 1, "text": "Ann: the gateway listens on port 8000", "author": "Ann", "at": "2024-05-01 12:00"},
        {"id": 2, "text": "Bob: lunch is at noon", "author": "Bob", "thread": "t", "title": "Food"},
        {"id": 3, "text": "Bob: lunch is at noon"},
        {"id": 4, "text": ""},
    ],
    "questions": [
        {"id": "q1", "text": "which port does the gateway use", "gold": ["1"], "category": "fact"},
        {"id": "q2", "text": "when is lunch", "gold": ["2", "3"], "category": "time"},
    ],
}


def written(folder: Path, name: str = "talk.jsonl") -> Path:
    text = json.dumps(CORPUS) + "\n\n"
    if name.endswith(".gz"):
        (folder / name).write_bytes(gzip.compress(text.encode()))
    else:
        (folder / name).write_text(text, encoding="utf-8")
    return folder / name


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLEW_HOME", str(tmp_path / "home"))


def test_every_question_is_asked_and_scored(tmp_path: Path) -> None:
    report = run([written(tmp_path)], embedder="none", rankings=tmp_path / "ranked.jsonl")
    [(name, entry)] = report["files"].items()
    assert (name, entry["units"], entry["scores"]["all"]["questions"]) == ("talk.jsonl", 4, 2)
    assert entry["scores"]["fact"]["recall@2"] == entry["scores"]["time"]["recall@2"] == 1
    ranked = [json.loads(line)["ranked"] for line in (tmp_path / "ranked.jsonl").read_text().splitlines()]
    assert ranked[0][0] == "1" and set(ranked[1][:2]) == {"2", "3"}


def test_units_that_say_the_same_share_a_memory_and_are_both_ranked(tmp_path: Path) -> None:
    report = run([written(tmp_path)], embedder="none", rankings=None, limit_questions=2)
    assert report["files"]["talk.jsonl"]["scores"]["time"]["ndcg@10"] == 1


def test_a_compressed_file_is_read_too_and_the_report_is_a_table(tmp_path: Path) -> None:
    report = run([written(tmp_path, "talk.jsonl.gz")], embedder="none", rankings=None)
    lines = table(report).splitlines()
    assert any(line.strip().startswith("fact") for line in lines) and "talk.jsonl.gz" in lines[1]


def test_progress_is_told_in_questions_of_all_files(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    files = [written(tmp_path), written(tmp_path, "talk.jsonl.gz")]
    run(files, embedder="none", rankings=None, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(0, 4), (1, 4), (2, 4), (3, 4), (4, 4)]


@pytest.mark.parametrize("content", [b"{not json", b"\x1f\x8bbroken"])
def test_a_file_that_holds_no_corpus_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "bad.jsonl").write_bytes(content)
    with pytest.raises(InvalidInput) as refused:
        list(read_corpora(tmp_path / "bad.jsonl"))
    assert refused.value.code == "BENCH_DATA_INVALID"


@pytest.mark.parametrize("relate", [True, False])
def test_what_the_writes_leave_behind_is_done_before_the_first_question_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, relate: bool
) -> None:
    left: list[int] = []
    recall = clew.Clew.recall

    def watched(self: clew.Clew, *args: Any, **more: Any) -> clew.Recalled:
        left.append(len(self.jobs.list()))
        return recall(self, *args, **more)

    monkeypatch.setattr(clew.Clew, "recall", watched)
    report = run([written(tmp_path)], embedder="none", rankings=None, relate=relate)
    assert report["relate"] is relate
    assert set(left) == ({0} if relate else {3})

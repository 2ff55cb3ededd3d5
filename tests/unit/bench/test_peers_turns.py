"""A store that is asked in turns with others: it answers as many questions as it is told to, when it is told to."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from clew.bench.texts import questions, texts

MEASURE = Path(__file__).parents[3] / "tools" / "peers" / "measure.py"


def test_a_filled_store_is_asked_when_told_to(tmp_path: Path) -> None:
    (tmp_path / "texts.txt").write_text("\n".join(texts(60, chars=80, seed=1)), encoding="utf-8")
    (tmp_path / "questions.txt").write_text("\n".join(questions(210)), encoding="utf-8")
    spec = {
        "stage": "turns", "adapter": "clew_store", "variant": "", "embeds": False, "python_path": [],
        "out": str(tmp_path / "out.jsonl"), "scratch": str(tmp_path), "environment": str(tmp_path),
        "limit_s": 60, "sizes": [50],
        "texts": str(tmp_path / "texts.txt"), "questions": str(tmp_path / "questions.txt"),
    }  # fmt: skip
    (tmp_path / "spec.json").write_text(json.dumps(spec), encoding="utf-8")
    told = subprocess.run(
        [sys.executable, MEASURE, tmp_path / "spec.json"],
        input="3\n12\n",
        capture_output=True,
        text=True,
        check=True,
    )
    ready, *rounds = told.stdout.splitlines()
    assert ready == "ready"
    milliseconds = [json.loads(line) for line in rounds]
    assert [len(of_round) for of_round in milliseconds] == [3, 12]
    assert all(each > 0 for of_round in milliseconds for each in of_round)

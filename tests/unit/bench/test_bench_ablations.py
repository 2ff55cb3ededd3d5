"""Ablations: data first, then the same store opened with other settings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import clew
from clew.bench.ablations import REFINEMENTS, Ablation, Refinement, compared, ladder
from clew.bench.metrics import CUTOFFS, Score
from clew.bench.recall import run, table
from clew.settings import load_settings

CORPUS = {
    "corpus": "services",
    "units": [
        {"id": "1", "text": "The gateway listens on port 8000"},
        {"id": "2", "text": "Fridays are free"},
        {"id": "3", "text": "Lunch is at noon"},
    ],
    "questions": [{"id": "q1", "text": "which port does the gateway use", "gold": ["1"], "category": "fact"}],
}


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CLEW_HOME", str(tmp_path / "home"))
    (tmp_path / "services.jsonl").write_text(json.dumps(CORPUS) + "\n", encoding="utf-8")
    return tmp_path / "services.jsonl"


def test_the_ladder_goes_from_one_kind_of_evidence_to_everything() -> None:
    steps = ladder(
        refinements=[Refinement("near", "graph.time_edges", off=False), Refinement("far", "graph.decay", 0)]
    )
    assert [step.name for step in steps] == ["semantic", "lexical", "hybrid", "+ graph", "+ near", "+ far"]
    assert [dict(step.settings) for step in steps[2:]] == [
        {"graph.time_edges": False, "graph.decay": 0},
        {"graph.time_edges": False, "graph.decay": 0},
        {"graph.decay": 0},
        {},
    ]
    assert [step.options.get("graph") for step in steps] == [False, False, False, None, None, None]


@pytest.mark.parametrize("refinement", REFINEMENTS, ids=lambda refinement: refinement.name)
def test_every_refinement_is_a_setting_that_is_on_by_default(refinement: Refinement, tmp_path: Path) -> None:
    values = {path: value for path, value, _source, _doc in load_settings({}, home=tmp_path, environ={}).items()}
    assert values[refinement.setting] != refinement.off
    section, name = refinement.setting.split(".")
    changed = load_settings({section: {name: refinement.off}}, home=tmp_path, environ={})
    assert getattr(getattr(changed, section), name) == refinement.off


def test_every_step_asks_the_same_store_with_its_own_options_and_settings(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[int] = []
    asked: list[tuple[str, bool | None, str, bool]] = []
    remember_many, recall = clew.Clew.remember_many, clew.Clew.recall

    def remembering(self: clew.Clew, drafts: Any, **more: Any) -> Any:
        written.append(len(drafts))
        return remember_many(self, drafts, **more)

    def recalling(self: clew.Clew, query: str, **more: Any) -> clew.Recalled:
        graph = self.settings.graph
        if query != "warm up":
            asked.append((more.get("retrieval", ""), more.get("graph"), graph.refinement, graph.recall))
        return recall(self, query, **more)

    monkeypatch.setattr(clew.Clew, "remember_many", remembering)
    monkeypatch.setattr(clew.Clew, "recall", recalling)
    steps = (
        Ablation("words", {"retrieval": "lexical", "graph": False}, {"graph.refinement": "compat"}),
        Ablation("no walk", settings={"graph.recall": False}),
        Ablation("everything"),
    )
    run([file], embedder="none", ablations=steps)
    assert written == [3]
    assert asked == [
        ("lexical", False, "compat", True),
        ("", None, "personalised", False),
        ("", None, "personalised", True),
    ]


def test_a_gain_is_reported_over_the_step_before_and_of_everything_over_each(file: Path) -> None:
    steps = (Ablation("vectors", {"retrieval": "semantic", "graph": False}), Ablation("everything"))
    report = run([file], embedder="none", ablations=steps, rankings=file.with_name("ranked.jsonl"))
    entry = report["files"]["services.jsonl"]
    without, full = entry["ablations"]
    assert (without["scores"]["all"]["recall@2"], full["scores"]["all"]["recall@2"]) == (0.0, 1.0)
    assert full["over_the_one_before"] == without["full_over_this"]
    assert full["over_the_one_before"]["fact"]["recall@2"] == {
        "gain": 1.0,
        "interval": [1.0, 1.0],
        "counts": True,
        "worse": False,
    }
    assert "over_the_one_before" not in without and "full_over_this" not in full
    assert entry["scores"] == full["scores"]
    [line] = file.with_name("ranked.jsonl").read_text().splitlines()
    assert json.loads(line)["ranked"][0] == "1"  # the rankings are those of the last step
    assert [row for row in table(report).splitlines() if row.endswith("counts: R@2 R@5 R@10 R@20 N@10")]


def test_progress_counts_every_step(file: Path) -> None:
    seen: list[tuple[int, int]] = []
    steps = (Ablation("words", {"retrieval": "lexical"}), Ablation("all"))
    run([file], embedder="none", ablations=steps, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(0, 2), (1, 2), (2, 2)]


def test_steps_that_do_not_differ_gain_nothing() -> None:
    same = [Score("a", dict.fromkeys(CUTOFFS, 0.5), 0.5)] * 3
    first, second = compared([(Ablation("one"), same), (Ablation("two"), list(same))])
    assert second["over_the_one_before"]["all"]["ndcg@10"] == {
        "gain": 0.0,
        "interval": [0.0, 0.0],
        "counts": False,
        "worse": False,
    }
    assert first["name"] == "one" and first["full_over_this"]["all"]["recall@2"]["counts"] is False

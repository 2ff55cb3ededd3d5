"""What is answered: the evidence that it takes, and what the last look may bring without."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

import clew
from clew.recall import choose
from clew.recall.choose import ENOUGH, FILLED, _hits, _nearest
from clew.recall.run import LONG_TERM, WORKING, Run
from toys import ToyEmbedder, open_toy


def test_the_last_look_brings_no_working_memory_without_evidence() -> None:
    """They come first, and would use up what is asked for."""
    size = ENOUGH + 2
    lexical = np.ones(size, np.float32)
    lexical[-2:] = 0
    run = SimpleNamespace(
        evidence=SimpleNamespace(lexical=lexical), relevance=np.zeros(size, np.float32), reached={}, brought={},
        space=None, refined=np.arange(size), rank_score=np.arange(size, dtype=np.float32),
        options=SimpleNamespace(floor=0.0),
        corpus=SimpleNamespace(layer=np.array([LONG_TERM] * (size - 1) + [WORKING], np.int8)),
    )  # fmt: skip
    assert _hits(cast(Run, run)).tolist() == [True] * (size - 1) + [False]


@pytest.mark.parametrize("has_rules", [False, True])
def test_the_answer_is_the_same_whether_all_are_looked_through_or_the_candidates_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_rules: bool
) -> None:
    """Many are equal but for their number, so that scores tie, also with what is no candidate."""
    looked_at: list[int | None] = []
    refined = choose._refined

    def noted(run: Run, hits: np.ndarray, limit: int) -> np.ndarray | None:
        found = refined(run, hits, limit)
        looked_at.append(None if found is None else len(found))
        return found

    with open_toy(tmp_path / "clew.db", embedder=ToyEmbedder(dim=32)) as memory:
        for number in range(300):
            memory.remember(f"The {('gateway', 'queue', 'ledger')[number % 3]} of shop {number} was moved.")
        if has_rules:
            memory.remember("Never move the gateway on Fridays.", type="rule")
            memory.remember("The gateway is being moved.", layer="working")
        for question in ("gateway", "which shop's queue was moved?", "ledger of shop 41", "shop"):
            for limit in (1, 10, 90, 200):
                monkeypatch.setattr(choose, "_refined", noted)
                fast = memory.recall(question, limit=limit)
                monkeypatch.setattr(choose, "_refined", lambda *_: None)
                assert fast.results == memory.recall(question, limit=limit).results
    assert None in looked_at and any(looked_at)  # where more are asked for than were looked at, and elsewhere


NOTES = (
    "Grafana shows the queue depth by region.", "The nightly export is written to the archive bucket.",
    "Bo reviews everything under billing.", "Tokens of test users last for an hour.",
    "Staging is rebuilt every Monday morning.", "The mobile client retries three times.",
)  # fmt: skip


@pytest.mark.parametrize("count", [3, 30])
def test_who_asks_in_other_words_is_answered_by_the_nearest_and_told_so(tmp_path: Path, count: int) -> None:
    with clew.open(tmp_path / "clew.db") as memory:
        memory.remember("The monks distil a liqueur of gentian.")
        for number in range(count):
            memory.remember(f"{NOTES[number % len(NOTES)]} ({number})")
        found = memory.recall("Which drink do they make?").results
        assert found[0].memory.content.startswith("The monks") and len(found) <= FILLED
        assert {(one.relevance, one.why[-1].via) for one in found} == {(0.0, "nearest")}
        assert not memory.recall("Which drink do they make?", floor=0.01).results


def test_where_enough_shares_a_word_with_the_question_nothing_fills_the_answer(tmp_path: Path) -> None:
    with clew.open(tmp_path / "clew.db") as memory:
        memory.remember("The monks distil a liqueur of gentian.")
        for number in range(FILLED):
            memory.remember(f"drink number {number} was served")
        found = memory.recall("Which drink do they make?", limit=50).results
        assert len(found) == FILLED and not any(why.via == "nearest" for one in found for why in one.why)


def test_guesses_come_after_what_is_sure_in_their_own_order() -> None:
    scores = np.array([0.5, 0.9, 0.7, 0.8, 0.6], np.float32)
    run = SimpleNamespace(
        evidence=SimpleNamespace(cosine=np.full(5, 0.2, np.float32)), allowed=np.ones(5, np.bool_), refined=None,
        relevance=np.array([0.5, 0, 0, 0, 0], np.float32), rank_score=scores,
        corpus=SimpleNamespace(layer=np.full(5, LONG_TERM, np.int8), row=np.arange(5)),
    )  # fmt: skip
    hits = np.array([True, False, False, False, False])
    assert _nearest(cast(Run, run), hits, least=0.1) == [1, 3, 2, 4]
    assert np.argsort(-scores).tolist() == [0, 1, 3, 2, 4] and scores[0] == np.float32(0.5)

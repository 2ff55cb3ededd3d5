"""What is answered: the evidence that it takes, and what the last look may bring without."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from clew.recall import choose
from clew.recall.choose import ENOUGH, _hits
from clew.recall.run import LONG_TERM, WORKING, Run
from toys import ToyEmbedder, open_toy


def test_the_last_look_brings_no_working_memory_without_evidence() -> None:
    """They come first, and would use up what is asked for."""
    size = ENOUGH + 2
    lexical = np.ones(size, np.float32)
    lexical[-2:] = 0
    run = SimpleNamespace(
        evidence=SimpleNamespace(lexical=lexical), relevance=np.zeros(size, np.float32), reached={}, brought={},
        refined=np.arange(size), rank_score=np.arange(size, dtype=np.float32), options=SimpleNamespace(floor=0.0),
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

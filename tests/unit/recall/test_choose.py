"""What is answered: the evidence that it takes, and what the last look may bring without."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import numpy as np

from clew.recall.choose import ENOUGH, _hits
from clew.recall.run import LONG_TERM, WORKING, Run


def test_the_last_look_brings_no_working_memory_without_evidence() -> None:
    """They come first, and would use up what is asked for."""
    size = ENOUGH + 2
    lexical = np.ones(size, np.float32)
    lexical[-2:] = 0
    run = SimpleNamespace(
        evidence=SimpleNamespace(lexical=lexical), relevance=np.zeros(size, np.float32), reached={}, beside=[],
        refined=np.arange(size), rank_score=np.arange(size, dtype=np.float32), options=SimpleNamespace(floor=0.0),
        corpus=SimpleNamespace(layer=np.array([LONG_TERM] * (size - 1) + [WORKING], np.int8)),
    )  # fmt: skip
    assert _hits(cast(Run, run)).tolist() == [True] * (size - 1) + [False]

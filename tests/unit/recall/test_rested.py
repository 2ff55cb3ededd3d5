"""An embedder that kept somebody waiting in vain is left alone for a while."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from clew.errors import Unavailable
from clew.recall.rested import IN_VAIN_S, LONGEST_REST_S, REST_S, Rested
from toys import ToyEmbedder, contents, open_toy


@dataclass
class Told(ToyEmbedder):
    """Takes as long as it is told by its own clock, and fails if it is told to."""

    is_remote: bool = True
    takes_s: float = 0.0
    is_down: bool = False
    time: float = 0.0
    asked: list[str] = field(default_factory=list)

    def clock(self) -> float:
        return self.time

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.asked += texts
        self.time += self.takes_s
        if self.is_down:
            raise Unavailable("no answer", code="ENDPOINT_TIMEOUT")
        return super().embed(texts)


def why_not(rested: Rested) -> str:
    with pytest.raises(Unavailable) as caught:
        rested.embed(["a"])
    return caught.value.code


def rest_of(rested: Rested, told: Told) -> float:
    """How long it is left alone after one more attempt."""
    assert why_not(rested) == "ENDPOINT_TIMEOUT"
    failed, told.takes_s = told.time, 0.0
    while why_not(rested) == "ENDPOINT_RESTING":
        told.time += 1
    told.takes_s = 10.0
    return told.time - failed


def test_what_failed_slowly_is_not_waited_for_again_until_it_has_rested() -> None:
    told = Told(takes_s=10, is_down=True)
    rested = Rested(told, clock=told.clock)
    assert [why_not(rested) for _ in range(3)] == ["ENDPOINT_TIMEOUT", "ENDPOINT_RESTING", "ENDPOINT_RESTING"]
    told.time += REST_S
    told.is_down = False
    assert rested.embed(["a"]).any()
    assert len(told.asked) == 2


def test_each_time_it_is_tried_in_vain_it_rests_longer_and_once_it_answers_as_at_first() -> None:
    told = Told(takes_s=10, is_down=True)
    rested = Rested(told, clock=told.clock)
    assert [rest_of(rested, told) for _ in range(6)] == [30, 60, 120, 240, LONGEST_REST_S, LONGEST_REST_S]
    told.is_down = False
    rested.embed(["a"])
    told.is_down = True
    assert rest_of(rested, told) == REST_S


def test_what_fails_at_once_is_asked_every_time() -> None:
    told = Told(takes_s=IN_VAIN_S / 2, is_down=True)
    rested = Rested(told, clock=told.clock)
    assert [why_not(rested) for _ in range(3)] == ["ENDPOINT_TIMEOUT"] * 3


def test_a_question_is_answered_by_words_at_once_while_the_endpoint_rests_and_jobs_still_go_to_it(
    tmp_path: Path,
) -> None:
    told = Told(synonyms={"automobile": "car"})
    with open_toy(tmp_path / "c.db", embedder=told) as memory:
        assert isinstance(memory._asked_embedder, Rested)
        memory._asked_embedder._clock = told.clock
        memory.remember("the automobile is red")
        memory.jobs.run()
        told.takes_s, told.is_down = 10, True
        why = [memory.recall("red car").trace.notes["semantic_error"] for _ in range(2)]
        assert why == ["ENDPOINT_TIMEOUT", "ENDPOINT_RESTING"]
        assert contents(memory.recall("red car")) == ["the automobile is red"]
        asked, told.is_down = len(told.asked), False
        memory.remember("a bicycle")
        memory.jobs.run()
        assert len(told.asked) == asked + 1

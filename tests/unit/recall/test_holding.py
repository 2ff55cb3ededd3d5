"""What holds is worked out once and stays until a memory begins or ends."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from clew.model.recalled import RecallOptions
from clew.model.scope import Reach, Scope
from clew.model.times import to_micros
from clew.recall.corpus import Corpus
from clew.recall.holding import held
from toys import START, open_toy


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    """One that holds from the start, one that begins in an hour, one that ends in two."""
    with open_toy(tmp_path / "clew.db") as memory:
        hour = timedelta(hours=1)
        memory.remember("gateway from the start", valid_at=START - hour)
        memory.remember("gateway later", valid_at=START + hour)
        memory.remember("gateway for now", valid_at=START - hour, invalid_at=START + 2 * hour)
        found = memory._reader.corpora.get(Reach.of(Scope()))
        assert found is not None
        return found


def test_the_answer_is_the_same_object_until_something_changes(corpus: Corpus) -> None:
    now = held(corpus, RecallOptions(), START)
    assert held(corpus, RecallOptions(), START + timedelta(minutes=59)) is now
    assert now.until == to_micros(START + timedelta(hours=1))


@pytest.mark.parametrize(("hours", "holding"), [(0, 2), (1, 3), (2, 2), (-0.5, 2), (0, 2)])
def test_time_may_pass_in_any_direction(corpus: Corpus, hours: float, holding: int) -> None:
    for moment in (START, START + timedelta(hours=hours)):
        kept = held(corpus, RecallOptions(), moment)
    assert int(kept.allowed.sum()) == holding


def test_a_moment_in_the_past_is_not_kept(corpus: Corpus) -> None:
    as_of = RecallOptions(as_of=START - timedelta(days=1))
    assert not held(corpus, as_of, START).allowed.any() and not corpus.held


def test_what_is_shared_cannot_be_written_to(corpus: Corpus) -> None:
    with pytest.raises(ValueError, match="read-only"):
        held(corpus, RecallOptions(), START).allowed[0] = False


def test_the_options_do_not_share_an_answer(corpus: Corpus) -> None:
    later = START + timedelta(hours=3)
    kept = [held(corpus, RecallOptions(include_invalid=ended), later).allowed.sum() for ended in (False, True)]
    assert kept == [2, 3]

"""A Clew that nobody closed, as in a notebook whose cell is run again."""

from __future__ import annotations

import gc
import threading
from pathlib import Path

import pytest

import clew
from clew.relate import worker


def test_a_clew_that_was_let_go_unclosed_leaves_no_thread_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "BEAT_S", 0.01)
    memory = clew.open(tmp_path / "clew.db", home=tmp_path)
    memory.remember("What a cell remembers each time it is run.")
    jobs = memory.background_jobs
    [thread] = [one for one in threading.enumerate() if one is jobs._thread]
    del memory
    for _ in range(1_000):  # while it begins it holds what it is made of
        gc.collect()
        thread.join(0.02)
        if not thread.is_alive():
            break
    assert not thread.is_alive() and not jobs.failed

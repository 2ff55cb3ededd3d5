"""A writer that cannot even open its connection answers everyone, also after somebody stopped waiting."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from clew.errors import ClewError, Unavailable
from clew.store.sqlite import open_engine


def test_a_cancelled_write_does_not_take_the_writer_down(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = open_engine(tmp_path / "clew.db")
    may_fail = threading.Event()

    def connect() -> None:
        may_fail.wait(10)
        raise Unavailable("the disk is gone", code="STORE_IO")

    monkeypatch.setattr(engine, "_connect", connect)
    given_up = engine.submit(lambda session: None)
    assert given_up.cancel()
    may_fail.set()
    with pytest.raises(ClewError):
        engine.submit(lambda session: None).result(timeout=10)
    engine.close()

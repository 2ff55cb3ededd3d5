"""Each setting of section `hooks` is live: one test each, named test_hooks_<setting>_is_live."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from clew.model.scope import Scope
from fake_host import ABOUT_RETRY, PROJECT, FakeHost
from toys import ToyEmbedder, open_toy


@contextmanager
def host(folder: Path, **hooks: Any) -> Iterator[FakeHost]:
    with open_toy(folder / f"{len(list(folder.iterdir()))}.db", embedder=ToyEmbedder(), hooks=hooks) as clew:
        clew.remember(ABOUT_RETRY, scope=Scope(project=PROJECT))
        yield FakeHost(clew)


def test_hooks_inject_is_live(tmp_path: Path) -> None:
    told = []
    for inject in (True, False):
        with host(tmp_path, inject=inject) as it:
            told.append(bool(it.tell("SessionStart.startup")))
            it.tell("UserPromptSubmit")
            assert it.clew.hosts.capture_waiting() > 0  # what is told is kept either way
    assert told == [True, False]


def test_hooks_capture_is_live(tmp_path: Path) -> None:
    kept = []
    for capture in (True, False):
        with host(tmp_path, capture=capture) as it:
            assert it.tell("SessionStart.startup")
            it.tell("UserPromptSubmit")
            it.tell("SessionEnd")
            kept.append(it.clew.hosts.capture_waiting() > 0)
    assert kept == [True, False]


def test_hooks_answer_ms_is_live(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for answer_ms in (1, 20_000):
        with host(tmp_path, answer_ms=answer_ms) as it:
            may_start, make = threading.Event(), it.clew.hosts._start
            monkeypatch.setattr(it.clew.hosts, "_start", lambda *told, w=may_start, m=make: (w.wait(5), m(*told)))
            if answer_ms > 1:
                may_start.set()
            told = it.tell("SessionStart.startup")
            may_start.set()
            assert bool(told) is (answer_ms > 1)

"""Throw-away stores for every test. Being here also makes `toys` importable from anywhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from clew.clew import Clew
from llm_server import LlmServer
from toys import ToldClock, ToyEmbedder, open_toy


@pytest.fixture
def clock() -> ToldClock:
    """Stands still between looks; `clock.pass_by(hours=1)` lets time pass."""
    return ToldClock()


@pytest.fixture
def clew_at(clock: ToldClock) -> Iterator[Callable[..., Clew]]:
    """Opens the store in a home directory, without a model unless one is given; closed when the test ends."""
    with ExitStack() as opened:

        def open_at(home: Path, **options: Any) -> Clew:
            return opened.enter_context(open_toy(home / "clew.db", **{"clock": clock} | options))

        yield open_at


@pytest.fixture
def memory(clew_at: Callable[..., Clew], tmp_path: Path) -> Clew:
    """A new store with a small deterministic model."""
    return clew_at(tmp_path / "home", embedder=ToyEmbedder())


@pytest.fixture
def llm_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[LlmServer]:
    """A language model's endpoint on this machine; what it answers is for the test to say."""
    monkeypatch.setenv("no_proxy", "*")
    with LlmServer() as server:
        yield server

"""What tests need besides a real store: a clock that is told the time, and a model small enough to reason about."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir, mkstemp
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from clew.clew import Clew
from clew.model.space import VectorSpace
from clew.ports import Embedder, LanguageModel
from clew.recall.common import weights_of
from clew.settings import load_settings
from clew.store.session import Engine
from clew.store.sqlite import SqliteEngine, open_engine
from clew.store.store import Store

HOME = Path(gettempdir()) / "clew-without-files"  # of a store that is on a server
START = datetime(2026, 3, 1, 12, tzinfo=UTC)


def weight_of(term: int, size: int, frequency: int) -> float:
    """What a single term weighs in a scope."""
    return float(weights_of(np.array([term], np.uint32), size, np.array([frequency]))[0])


@dataclass
class ToldClock:
    """Every look moves it by a millisecond, so that no two writes happen at once, and never back, whoever looks."""

    time: datetime = START
    _turn: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)

    def now(self) -> datetime:
        return self.pass_by(milliseconds=1)

    def pass_by(self, **delta: float) -> datetime:
        with self._turn:
            self.time += timedelta(**delta)
            return self.time


@dataclass
class ToyEmbedder:
    """A hashed bag of words. `synonyms` makes two words one; a text without words gives a zero row."""

    name: str = "toy"
    dim: int = 16
    synonyms: Mapping[str, str] = field(default_factory=dict)
    is_remote: bool = False

    @property
    def space(self) -> VectorSpace:
        return VectorSpace(self.name, "1", self.dim, 0.1, 0.9)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        rows = np.zeros((len(texts), self.dim), np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in text.lower().split():
                word = self.synonyms.get(word, word)
                row[crc32(f"{self.name} {word}".encode("utf-8", "replace")) % self.dim] += 1
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
        return np.divide(rows, norms, out=rows, where=norms > 0)


@cache
def new_store() -> bytes:
    """A store as its first opening leaves it."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "clew.db"
        open_engine(path).close()
        return path.read_bytes()


def open_quickly(path: Path) -> SqliteEngine:
    """`open_engine`, for those who do not test how a store is made: a new one is a copy of one made before, since
    the migrations take longer than most tests do, and is not looked at again. The copy arrives whole, also where
    two open it at once."""
    if not path.exists():
        with suppress(OSError):  # whatever is wrong with the place, `open_engine` says it
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            _copy_to(path)
            return SqliteEngine(path)
    return open_engine(path)


def _copy_to(path: Path) -> None:
    handle, name = mkstemp(dir=path.parent)  # for the owner alone, as a store is
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(new_store())
        os.link(name, path)
    finally:
        os.unlink(name)


def open_store(place: Path | str) -> Engine:
    """A file, or the URL of a PostgreSQL database."""
    if isinstance(place, Path):
        return open_quickly(place)
    from clew.store.postgres import PostgresEngine

    return PostgresEngine(place)


def open_toy(
    path: Path | str,
    *,
    embedder: Embedder | None = None,
    clock: ToldClock | None = None,
    in_background: bool = False,
    make_llm: Callable[[], LanguageModel | None] | None = None,
    **settings: Any,
) -> Clew:
    """A Clew on a real file, or on a PostgreSQL database that is migrated already. It reads no setting of this
    machine and does nothing behind a test's back. A busy machine must not make it miss the limit of a tool call:
    who tests the limit names one."""
    settings["inject"] = {"latency_ms": 10_000} | settings.get("inject", {})
    settings["hooks"] = {"answer_ms": 30_000} | settings.get("hooks", {})
    return Clew(
        store=Store(open_store(path)),
        make_embedder=lambda: embedder,
        clock=clock or ToldClock(),
        settings=load_settings(settings, home=path.parent if isinstance(path, Path) else HOME, environ={}),
        in_background=in_background,
        make_llm=make_llm,
    )


def contents(recalled: Any) -> list[str]:
    return [result.memory.content for result in recalled.results]

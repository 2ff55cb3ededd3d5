"""Clew through its public Python API, as it comes. Author, thread, time and title are what they are in Clew."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from units import Unit

import clew
from adapters import Place, Store


class ClewStore(Store):
    batch = 1000

    def __init__(self, place: Place) -> None:
        self._has_background = not place.is_repeatable
        settings: dict[str, Any] = {"relate": {"in_process": False}} if place.is_repeatable else {}
        if place.variant == "minilm":
            settings["embed"] = {"provider": "minilm"}
            _look_documents_up(place)
        self._scope = clew.Scope(project="bench")
        self._memory = clew.open(place.folder / "clew.db", **settings)
        self._units: dict[str, list[str]] = {}  # by memory: units that say the same share one

    def add_many(self, units: Sequence[Unit]) -> None:
        drafts = [
            clew.Draft(content=unit.text, title=unit.title, author=unit.author, thread=unit.thread, at=unit.at)
            for unit in units
        ]
        for unit, stored in zip(units, self._memory.remember_many(drafts, scope=self._scope), strict=True):
            self._units.setdefault(stored.id, []).append(unit.id)

    def left_to_do(self) -> int | None:
        return self._memory.jobs.health().backlog if self._has_background else None

    def search(self, question: str, k: int) -> list[str]:
        recalled = self._memory.recall(question, scope=self._scope, limit=k)
        return [unit for result in recalled.results for unit in self._units[result.memory.id]][:k]

    def close(self) -> None:
        self._memory.close()


def _look_documents_up(place: Place) -> None:
    """Clew's own MiniLM embedder, except that known documents are looked up as for every other peer."""
    from clew.providers.minilm import MiniLmEmbedder

    def embed(_self: MiniLmEmbedder, texts: Sequence[str]) -> Any:
        return place.vectors.either(texts)

    MiniLmEmbedder.embed = embed  # type: ignore[method-assign]


def time_static(seconds: list[float]) -> None:
    """Let the model that ships with Clew note how long each call takes."""
    from clew.providers.static import StaticEmbedder

    plain = StaticEmbedder.embed

    def embed(self: StaticEmbedder, texts: Sequence[str]) -> Any:
        started = time.perf_counter()
        try:
            return plain(self, texts)
        finally:
            seconds.append(time.perf_counter() - started)

    StaticEmbedder.embed = embed  # type: ignore[method-assign]


def open_store(place: Place) -> Store:
    return ClewStore(place)

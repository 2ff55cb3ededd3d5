"""One module per peer: `open_store(place)` gives a store that adds units and answers questions with their ids."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

if TYPE_CHECKING:
    from embedding import Embedding
    from units import Unit


@dataclass(frozen=True, slots=True)
class Place:
    """Where a store may write, how it is asked to run, and what it embeds with, if it does."""

    folder: Path
    variant: str
    embedding: Embedding | None
    environment: Path  # of the peer: servers are started from there
    is_repeatable: bool = False  # no answer may depend on how far work in the background has got

    @property
    def vectors(self) -> Embedding:
        assert self.embedding is not None, "this peer is not marked as one that embeds"
        return self.embedding


class Store:
    """What measure.py drives. Most peers need neither settling nor a process of their own."""

    batch = 1  # units that are handed over at once

    def add_many(self, units: Sequence[Unit]) -> None:
        raise NotImplementedError

    def settle(self) -> None:
        """What has to be done once after writing before questions are answered; its time counts as ingest."""

    def left_to_do(self) -> int | None:
        """How much its background has still to do for what was written; None where it has none."""
        return None

    def search(self, question: str, k: int) -> list[str]:
        """Ids of units, best first."""
        raise NotImplementedError

    def processes(self) -> list[int]:
        """Servers of this store: their memory counts too."""
        return []

    def close(self) -> None:
        """Let go of files and servers."""

"""The engines that claim to be a store; a second one is a second line here."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from clew.ports import Store
from clew.store.store import Store as EngineStore
from toys import open_quickly

ENGINES: dict[str, Callable[[Path], Store]] = {
    "sqlite": lambda folder: EngineStore(open_quickly(folder / "clew.db")),
}

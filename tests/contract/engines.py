"""The engines that claim to be a store; another one is another line here."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from clew.ports import Store
from clew.store.store import Store as EngineStore
from toys import open_store

ENGINES: dict[str, Callable[[pytest.FixtureRequest, Path], Path | str]] = {
    "postgres": lambda request, folder: str(request.getfixturevalue("postgres_url")),
    "sqlite": lambda request, folder: folder / "clew.db",
}


def opened(place: Path | str) -> Store:
    return EngineStore(open_store(place))

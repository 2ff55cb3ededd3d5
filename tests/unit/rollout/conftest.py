"""A store of its own for what is counted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from clew.ports import Store
from clew.store.store import Store as EngineStore
from toys import open_quickly


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with closing(EngineStore(open_quickly(tmp_path / "clew.db"))) as store:
        yield store

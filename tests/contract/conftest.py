"""One suite for every engine that claims to be a store."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from engines import ENGINES, opened

from clew.ports import Store


@pytest.fixture(params=sorted(ENGINES))
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Path | str:
    """Where a new store is: a file, or the URL of a database."""
    return ENGINES[request.param](request, tmp_path)


@pytest.fixture
def store(place: Path | str) -> Iterator[Store]:
    with closing(opened(place)) as store:
        yield store

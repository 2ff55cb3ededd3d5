"""One suite for every engine that claims to be a store."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from engines import ENGINES

from clew.ports import Store


@pytest.fixture(params=sorted(ENGINES))
def open_store(request: pytest.FixtureRequest) -> Callable[[Path], Store]:
    return ENGINES[request.param]


@pytest.fixture
def store(open_store: Callable[[Path], Store], tmp_path: Path) -> Iterator[Store]:
    with closing(open_store(tmp_path)) as store:
        yield store

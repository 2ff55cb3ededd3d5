from __future__ import annotations

from collections.abc import Iterator

import pytest
from api_driver import Asked

from clew.clew import Clew


@pytest.fixture
def asked(memory: Clew) -> Iterator[Asked]:
    """The API of a new store."""
    asked = Asked(memory)
    yield asked
    asked.close()

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from api_driver import Asked

from clew.clew import Clew

sys.path.append(str(Path(__file__).parents[1] / "wire"))  # its server in a thread serves here, too


@pytest.fixture
def asked(memory: Clew) -> Iterator[Asked]:
    """The API of a new store."""
    asked = Asked(memory)
    yield asked
    asked.close()

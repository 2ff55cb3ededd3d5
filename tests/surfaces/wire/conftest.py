from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from wire_server import daemon

import clew
from clew import Clew
from toys import ToyEmbedder, open_toy


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clew]:
    """A store that answers on the socket of its home, for all tests of a module."""
    path = tmp_path_factory.mktemp("served") / "clew.db"
    with open_toy(path, embedder=ToyEmbedder()) as memory, daemon(memory):
        yield memory


@pytest.fixture
def socket_path(served: Clew) -> Path:
    return served.home / "run" / "clew.sock"


@pytest.fixture
def remote(socket_path: Path) -> Iterator[Clew]:
    with clew.open(f"unix://{socket_path}") as connected:
        yield connected

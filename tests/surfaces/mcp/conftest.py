from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from mcp_driver import LEGACY, MODERN, Agent, over_http

from clew import Clew, Identity

sys.path.append(str(Path(__file__).parents[1] / "wire"))  # its server in a thread serves here, too


@pytest.fixture
def agent(memory: Clew) -> Iterator[Agent]:
    """The owner's agent over HTTP, in the present era."""
    with over_http(memory, Identity()) as connected:
        yield connected


@pytest.fixture(params=[LEGACY, MODERN])
def of_any_era(memory: Clew, request: pytest.FixtureRequest) -> Iterator[Agent]:
    with over_http(memory, Identity(), mode=request.param) as connected:
        yield connected

"""A store whose locks go by a clock that is told the time, and a session in it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from desks import Desk

from clew.clew import Clew
from lease_clock import LeaseClock


@pytest.fixture
def make_desk(clew_at: Callable[..., Clew], tmp_path: Path) -> Callable[..., Desk]:
    def make(**deliver: Any) -> Desk:
        home = tmp_path / f"home{len(list(tmp_path.iterdir()))}"
        clew = clew_at(home, deliver=deliver)
        leases = LeaseClock(clew.store)  # type: ignore[arg-type]
        return Desk(clew, leases, clew.sessions.start(project="shop", issue="SHOP-7", title="Checkout hangs"))

    return make


@pytest.fixture
def desk(make_desk: Callable[..., Desk]) -> Desk:
    return make_desk()

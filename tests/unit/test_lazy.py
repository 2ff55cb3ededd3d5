"""A module that is imported when first used is the module itself, whatever is put into it."""

from __future__ import annotations

import math
import subprocess
import sys

import pytest

from clew.lazy import LazyModule


def test_what_is_put_into_the_module_is_seen_and_what_is_taken_back_too(monkeypatch: pytest.MonkeyPatch) -> None:
    lazy = LazyModule("math")
    with monkeypatch.context() as patch:
        patch.setattr(math, "tau", 3)
        assert lazy.tau == 3
    assert lazy.tau == math.tau > 6


def test_the_package_tells_all_of_its_names_before_they_are_asked_for() -> None:
    command = [sys.executable, "-c", "import clew; print(*set(clew.__all__) - set(dir(clew)))"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip() == ""


def test_it_is_imported_when_first_used() -> None:
    lazy = LazyModule("clew.there_is_no_such_module")
    with pytest.raises(ModuleNotFoundError):
        _ = lazy.anything

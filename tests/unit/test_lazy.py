"""A module that is imported when first used is the module itself, whatever is put into it."""

from __future__ import annotations

import math
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cached_property
from threading import Barrier, BrokenBarrierError

import pytest

from clew.clew import Clew
from clew.lazy import LazyModule, made_once
from clew.verbs.hosts import Hosts
from clew.verbs.inject import Injection
from clew.verbs.jobs import Jobs
from clew.verbs.topics import Topics


def test_what_is_put_into_the_module_is_seen_and_what_is_taken_back_too(monkeypatch: pytest.MonkeyPatch) -> None:
    lazy = LazyModule("math")
    with monkeypatch.context() as patch:
        patch.setattr(math, "tau", 3)
        assert lazy.tau == 3
    assert lazy.tau == math.tau > 6


def test_the_package_tells_all_of_its_names_before_they_are_asked_for() -> None:
    command = [sys.executable, "-c", "import clew; print(*set(clew.__all__) - set(dir(clew)))"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip() == ""


class Whole:
    def __init__(self) -> None:
        self.both, self.times = Barrier(2), 0

    @made_once
    def part(self) -> object:
        self.times += 1
        with suppress(BrokenBarrierError):
            self.both.wait(0.2)
        return object()

    @made_once
    def failing(self) -> object:
        self.times += 1
        raise ValueError


def test_a_part_that_two_threads_ask_for_first_is_made_once() -> None:
    whole = Whole()
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(lambda _number: whole.part, range(2))
    assert first is second is whole.part and whole.times == 1
    assert Whole().part is not first


def test_a_part_that_could_not_be_made_is_tried_again() -> None:
    whole = Whole()
    for _ in range(2):
        with pytest.raises(ValueError):
            _ = whole.failing
    assert whole.times == 2 and "failing" not in whole.__dict__


@pytest.mark.parametrize("kind", [Clew, Topics, Hosts, Injection, Jobs])
def test_what_is_thread_safe_makes_each_of_its_parts_once(kind: type) -> None:
    assert [name for name, member in vars(kind).items() if type(member) is cached_property] == []


def test_it_is_imported_when_first_used() -> None:
    lazy = LazyModule("clew.there_is_no_such_module")
    with pytest.raises(ModuleNotFoundError):
        _ = lazy.anything

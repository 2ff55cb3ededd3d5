"""When the power fails, everything that was acknowledged as durable is there afterwards."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from disk import Event, plugged_in, power_cut
from health import assert_sound, contents_of

from clew.clew import Clew
from clew.settings import load_settings
from clew.store import sqlite_log
from clew.store.sqlite import open_engine
from clew.store.store import Store
from toys import ToldClock, ToyEmbedder

GONE = None


def on(path: Path, vfs: str) -> Clew:
    return Clew(
        store=Store(open_engine(path, vfs=vfs)),
        make_embedder=ToyEmbedder,
        clock=ToldClock(),
        settings=load_settings({}, home=path.parent, environ={}),
    )


class Workload:
    """Writes, edits and forgets, and notes in the disk's own log what it began and what was acknowledged."""

    def __init__(self, memory: Clew, events: list[Event], rng: random.Random) -> None:
        self.memory, self.events, self.rng = memory, events, rng
        self.live: list[str] = []

    def run(self, steps: int) -> None:
        for step in range(steps):
            act = self.rng.choice((self.remember, self.remember, self.edit, self.forget))
            act(f"step {step} " + "words " * self.rng.randrange(1, 300))

    def remember(self, text: str) -> None:
        id = f"mem_{len(self.events):026d}"
        self._noted(id, text, lambda: self.memory.remember(text, id=id))
        self.live.append(id)

    def edit(self, text: str) -> None:
        if self.live:
            id = self.rng.choice(self.live)
            self._noted(id, text, lambda: self.memory.edit(id, content=text))

    def forget(self, _text: str) -> None:
        if len(self.live) > 3:
            id = self.live.pop(self.rng.randrange(len(self.live)))
            self._noted(id, GONE, lambda: self.memory.forget(id, hard=self.rng.random() < 0.3))

    def _noted(self, id: str, state: str | None, act: Callable[[], object]) -> None:
        state = state and state.strip()
        self.events.append(("begun", id, state))
        act()
        self.events.append(("acknowledged", id, state))


def recorded(folder: Path, seed: int, steps: int = 40) -> list[Event]:
    with plugged_in() as disk, pytest.MonkeyPatch.context() as patch:
        due = (5, 30)[seed // 2 % 2]
        patch.setattr(sqlite_log, "DUE", due)  # the log goes into the file often: beside the writer,
        patch.setattr(sqlite_log, "MOST", due * (10, 1)[seed % 2])  # or by it
        with closing(on(folder / "clew.db", disk.name)) as memory:
            Workload(memory, disk.events, random.Random(seed)).run(steps)
        return disk.events


def allowed(events: list[Event]) -> dict[str, set[str | None]]:
    """For each memory the last acknowledged state, and those that were under way."""
    states: dict[str, set[str | None]] = {}
    for kind, id, *rest in events:
        if kind == "begun":
            states.setdefault(id, {GONE}).add(rest[0])
        elif kind == "acknowledged":
            states[id] = {rest[0]}
    return states


def cuts(events: list[Event], seed: int, count: int) -> Iterator[tuple[list[Event], random.Random]]:
    rng = random.Random(seed)
    for _ in range(count):
        yield events[: rng.randrange(len(events) + 1)], rng


def survive(folder: Path, events: list[Event], rng: random.Random) -> None:
    folder.mkdir()
    power_cut([event for event in events if event[0] not in ("begun", "acknowledged")], folder, rng)
    with closing(Store(open_engine(folder / "clew.db"))) as store:
        assert_sound(store)
        found = contents_of(store)
        lost = {id for id, states in allowed(events).items() if found.get(id) not in states}
        assert lost == set()


@pytest.mark.parametrize("seed", range(4))
def test_what_was_acknowledged_survives_a_power_cut(tmp_path: Path, seed: int) -> None:
    events = recorded(tmp_path / "before", seed)
    for number, (until, rng) in enumerate(cuts(events, seed, 25)):
        survive(tmp_path / f"after{number}", until, rng)


@pytest.mark.torture
@pytest.mark.parametrize("seed", range(100, 140))
def test_what_was_acknowledged_survives_any_power_cut(tmp_path: Path, seed: int) -> None:
    events = recorded(tmp_path / "before", seed, steps=120)
    for number, (until, rng) in enumerate(cuts(events, seed, 250)):
        survive(tmp_path / f"after{number}", until, rng)


def test_the_simulation_notices_a_write_that_was_not_synced(tmp_path: Path) -> None:
    """Otherwise the tests above would prove nothing."""
    with plugged_in() as disk, closing(on(tmp_path / "clew.db", disk.name)) as memory:
        memory.remember("synced")
        memory.store.write(lambda tx: tx.meta.put("lazy", "1"), durable=False)
        events = list(disk.events)
    found = set()
    for number, rng in enumerate([random.Random(seed) for seed in range(20)]):
        folder = tmp_path / f"after{number}"
        folder.mkdir()
        power_cut(events, folder, rng)
        with closing(Store(open_engine(folder / "clew.db"))) as store, store.read() as tx:
            found.add(tx.meta.get("lazy"))
            assert [memory.content for memory in tx.memories.all(_everything())] == ["synced"]
    assert found == {None, "1"}, "some cuts lose what was not durable, some do not"


def _everything():  # type: ignore[no-untyped-def]
    from clew.model.scope import Reach

    return Reach.everything("local")

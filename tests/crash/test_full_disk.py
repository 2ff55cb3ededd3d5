"""A disk that is full or fails: nobody is told that something was stored when it was not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import apsw
import pytest
from disk import Disk, Fault, plugged_in
from health import assert_sound, contents_of

from clew.clew import Clew
from clew.errors import Unavailable
from clew.settings import load_settings
from clew.store.sqlite import open_engine
from clew.store.store import Store
from toys import ToldClock, ToyEmbedder

LONG = "a text that takes more than one page of the log " * 100


@pytest.fixture
def disk() -> Iterator[Disk]:
    with plugged_in() as disk:
        yield disk


@pytest.fixture
def on_disk(disk: Disk, tmp_path: Path) -> Callable[[], Clew]:
    """Opens the store on the disk that can fail; checkpoints come often, so that they are hit as well."""

    def open_it() -> Clew:
        memory = Clew(
            store=Store(open_engine(tmp_path / "clew.db", vfs=disk.name)),
            make_embedder=ToyEmbedder,
            clock=ToldClock(),
            settings=load_settings({}, home=tmp_path, environ={}),
        )
        memory.store.write(lambda tx: tx.session.connection.wal_autocheckpoint(10))
        return memory

    return open_it


def try_to_remember(memory: Clew, texts: list[str]) -> tuple[dict[str, str], list[Unavailable]]:
    stored, refused = {}, []
    for text in texts:
        try:
            stored[memory.remember(text).id] = text.strip()
        except Unavailable as error:
            refused.append(error)
    return stored, refused


def full() -> Exception:
    return apsw.FullError("no space left")


def broken(kind: str) -> Exception:
    error = apsw.IOError(f"{kind} failed")
    error.extendedresult = apsw.SQLITE_IOERR_WRITE if kind == "write" else apsw.SQLITE_IOERR_FSYNC
    return error


@pytest.mark.parametrize("at", [0, 1, 2, 3, 5, 8, 13, 21, 34, 55])
def test_a_full_disk_is_told_and_nothing_is_half_written(on_disk: Callable[[], Clew], disk: Disk, at: int) -> None:
    with closing(on_disk()) as memory:
        before = memory.remember("before it was full").id
        disk.fault = Fault("write", at, full, lasts=True, only="-wal")
        stored, refused = try_to_remember(memory, [f"{n} {LONG}" for n in range(6)])
        assert refused
        assert {error.code for error in refused} == {"DISK_FULL"}
        disk.fault = None
        after = memory.remember("after space returned").id
        assert_sound(memory.store)
        assert contents_of(memory.store).keys() == {before, after, *stored}


@pytest.mark.parametrize("kind", ["write", "sync"])
@pytest.mark.parametrize("at", [0, 1, 2, 3, 4, 6, 9, 12, 20, 33])
def test_a_disk_that_fails_once_never_makes_a_false_acknowledgement(
    on_disk: Callable[[], Clew], disk: Disk, tmp_path: Path, kind: str, at: int
) -> None:
    never_false_acknowledgement(on_disk, disk, tmp_path, Fault(kind, at, partial(broken, kind)))


@pytest.mark.torture
@pytest.mark.parametrize("lasts", [False, True])
@pytest.mark.parametrize("kind", ["write", "sync"])
@pytest.mark.parametrize("at", range(300))
def test_a_disk_that_fails_anywhere_never_makes_a_false_acknowledgement(
    on_disk: Callable[[], Clew], disk: Disk, tmp_path: Path, kind: str, at: int, lasts: bool
) -> None:
    never_false_acknowledgement(on_disk, disk, tmp_path, Fault(kind, at, partial(broken, kind), lasts=lasts))


def never_false_acknowledgement(on_disk: Callable[[], Clew], disk: Disk, home: Path, fault: Fault) -> None:
    with closing(on_disk()) as memory:
        disk.fault = fault
        stored, refused = try_to_remember(memory, [f"{n} {LONG}" for n in range(6)])
        disk.fault = None
        stored[memory.remember("after it was mended").id] = "after it was mended"
    assert {error.code for error in refused} <= {"STORE_IO"}
    with closing(Store(open_engine(home / "clew.db"))) as store:
        assert_sound(store)
        assert stored.items() <= contents_of(store).items()


def test_a_disk_that_is_full_while_pages_are_erased_makes_the_receipt_pending(
    on_disk: Callable[[], Clew], disk: Disk
) -> None:
    with closing(on_disk()) as memory:
        purge = memory.store.purge

        def purge_without_space() -> bool:
            disk.fault = Fault("write", 20, full, lasts=True)
            return purge()

        memory.store.purge = purge_without_space  # type: ignore[method-assign]
        receipt = memory.forget(memory.remember(LONG).id, hard=True)
        disk.fault, memory.store.purge = None, purge  # type: ignore[method-assign]
        assert receipt.log == "pending"
        assert memory.forget(memory.remember("another").id, hard=True).log == "erased"
        assert_sound(memory.store)


def test_a_real_limit_of_pages_is_a_full_disk(tmp_path: Path) -> None:
    with closing(Store(open_engine(tmp_path / "clew.db"))) as store:
        store.write(lambda tx: tx.session.connection.pragma("max_page_count", 1))  # as small as it is now
        with pytest.raises(Unavailable) as caught:
            store.write(lambda tx: [tx.meta.put(f"key {n}", LONG) for n in range(100)])
        assert caught.value.code == "DISK_FULL"
        store.write(lambda tx: tx.session.connection.pragma("max_page_count", 1_000_000))
        store.write(lambda tx: tx.meta.put("key", LONG))
        with store.read() as tx:
            assert (tx.meta.get("key"), tx.meta.get("key 0")) == (LONG, None)

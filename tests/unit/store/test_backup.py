"""Copies are whole, private and checked; a restore is seen by everyone at once or not at all."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import apsw
import pytest

import clew
from clew.clew import Clew
from clew.compose import restore
from clew.errors import Conflict, InvalidInput, NotFound, StoreRefused
from clew.model.scope import Identity, Scope
from clew.settings import Settings, load_settings
from clew.store import backup
from clew.store.sqlite import connect
from toys import contents, open_toy


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Clew]:
    with open_toy(tmp_path / "clew.db") as opened:
        opened.remember("Backups matter")
        yield opened


def settings_for(path: Path) -> Settings:
    return load_settings({"store.url": str(path)}, home=path.parent, environ={})


def leftovers(folder: Path) -> list[str]:
    return [file.name for file in folder.iterdir() if ".tmp" in file.name]


def write_into(path: Path, at: int, text: bytes) -> None:
    with path.open("rb+") as file:
        file.seek(at)
        file.write(text)


def edit_pragma(path: Path, name: str, value: int) -> None:
    connection = apsw.Connection(str(path))
    connection.pragma(name, value)
    connection.close()


# -- backup ----------------------------------------------------------------------------------------


def test_a_backup_is_one_private_file_with_everything(memory: Clew, tmp_path: Path) -> None:
    id = memory.remember("First").id
    memory.edit(id, content="Second")
    report = memory.backup(tmp_path / "b.db")
    assert (report.memories, report.bytes) == (2, (tmp_path / "b.db").stat().st_size)
    assert stat.S_IMODE((tmp_path / "b.db").stat().st_mode) == 0o600
    assert leftovers(tmp_path) == [] and not Path(f"{report.path}-wal").exists()
    with open_toy(tmp_path / "b.db") as copy:
        assert [version.memory.content for version in copy.history(id)] == ["First", "Second"]


def test_others_may_write_while_a_backup_is_made(memory: Clew, tmp_path: Path) -> None:
    with open_toy(tmp_path / "clew.db") as other:
        report = memory.backup(tmp_path / "b.db", progress=lambda done, total: other.remember(f"{done} of {total}"))
    assert report.memories == 1
    assert memory.stats().memories > 1


def test_an_existing_file_is_not_overwritten_unless_asked(memory: Clew, tmp_path: Path) -> None:
    memory.backup(tmp_path / "b.db")
    memory.remember("One more")
    with pytest.raises(Conflict) as refused:
        memory.backup(tmp_path / "b.db")
    assert refused.value.code == "BACKUP_EXISTS"
    assert memory.backup(tmp_path / "b.db", overwrite=True).memories == 2


def test_nothing_but_an_earlier_backup_is_ever_overwritten(memory: Clew, tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(StoreRefused):
        memory.backup(tmp_path / "thesis.txt", overwrite=True)
    with pytest.raises(InvalidInput):
        memory.backup(tmp_path / "clew.db", overwrite=True)
    with open_toy(tmp_path / "used.db") as used:
        used.remember("In use")
        with pytest.raises(Conflict):
            memory.backup(tmp_path / "used.db", overwrite=True)
    assert (tmp_path / "thesis.txt").read_text() == "years of work"


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_backup_takes_the_place_of_no_pipe_device_or_directory(
    memory: Clew, tmp_path: Path, overwrite: bool
) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name, code in (("pipe", "FILE_NOT_REGULAR"), ("folder", "FILE_IS_DIRECTORY")):
        with pytest.raises(InvalidInput) as refused:
            memory.backup(tmp_path / name, overwrite=overwrite)
        assert refused.value.code == code
    assert (tmp_path / "pipe").is_fifo() and (tmp_path / "folder").is_dir()


def test_a_failed_backup_leaves_nothing_behind(memory: Clew, tmp_path: Path) -> None:
    def interrupt(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        memory.backup(tmp_path / "b.db", progress=interrupt)
    assert leftovers(tmp_path) == [] and not (tmp_path / "b.db").exists()


def test_a_damaged_store_is_not_passed_off_as_a_backup(tmp_path: Path) -> None:
    with open_toy(tmp_path / "clew.db") as memory:
        for number in range(300):
            memory.remember(f"Statement number {number} with some words in it")
    with open_toy(tmp_path / "clew.db") as memory:
        write_into(tmp_path / "clew.db", 4096 * 20, b"\xff" * 4096 * 8)
        with pytest.raises(StoreRefused):
            memory.backup(tmp_path / "b.db")
    assert leftovers(tmp_path) == [] and not (tmp_path / "b.db").exists()


# -- restore ---------------------------------------------------------------------------------------


def test_a_restore_brings_the_content_back_and_keeps_what_was_there(memory: Clew, tmp_path: Path) -> None:
    memory.backup(tmp_path / "b.db")
    memory.remember("Written after the backup")
    report = restore(settings_for(tmp_path / "clew.db"), tmp_path / "b.db")
    assert (report.memories, report.previous) == (1, tmp_path / "clew.db.before-restore")
    assert [found.content for found in memory.list()] == ["Backups matter"]
    with open_toy(tmp_path / "clew.db.before-restore") as before:
        assert before.stats().memories == 2
    assert leftovers(tmp_path) == []


def test_read_models_of_open_processes_notice(memory: Clew, tmp_path: Path) -> None:
    memory.backup(tmp_path / "b.db")
    memory.remember("Deploys happen on Fridays")
    with open_toy(tmp_path / "clew.db", clock=memory.clock) as other:  # type: ignore[arg-type]
        assert contents(other.recall("deploys on fridays")) == ["Deploys happen on Fridays"]
        restore(settings_for(tmp_path / "clew.db"), tmp_path / "b.db")
        assert contents(other.recall("deploys on fridays")) == []
        assert contents(other.recall("backups")) == ["Backups matter"]
        other.remember("Life goes on")
        assert contents(memory.recall("life")) == ["Life goes on"]


def test_orgs_that_the_backup_does_not_have_are_noticed_too(memory: Clew, tmp_path: Path) -> None:
    acme, scope = Identity(org="acme"), Scope(org="acme")
    memory.backup(tmp_path / "b.db")
    memory.remember("Acme has a plan", identity=acme, scope=scope)
    assert contents(memory.recall("plan", identity=acme, scope=scope)) == ["Acme has a plan"]
    restore(settings_for(tmp_path / "clew.db"), tmp_path / "b.db")
    assert contents(memory.recall("plan", identity=acme, scope=scope)) == []


def test_counters_never_run_backwards(memory: Clew, tmp_path: Path) -> None:
    memory.backup(tmp_path / "b.db")
    token = memory.store.write(lambda tx: tx.leases.claim("local", "k", holder="a", ttl_s=60))
    for number in range(5):
        memory.remember(f"More {number}")
    before = memory.stats().last_change
    restore(settings_for(tmp_path / "clew.db"), tmp_path / "b.db")
    assert memory.stats().last_change > before
    later = memory.store.write(lambda tx: tx.leases.claim("local", "k", holder="b", ttl_s=60))
    assert token is not None and later is not None and later > token


def test_a_writer_waits_for_a_restore_and_goes_on_after_it(memory: Clew, tmp_path: Path) -> None:
    memory.backup(tmp_path / "b.db")
    threads: list[threading.Thread] = []

    def write_meanwhile(done: int, total: int) -> None:
        threads.append(threading.Thread(target=memory.remember, args=("Written during the restore",)))
        threads[-1].start()

    restore(settings_for(tmp_path / "clew.db"), tmp_path / "b.db", progress=write_meanwhile)
    for thread in threads:
        thread.join()
    assert {found.content for found in memory.list()} == {"Backups matter", "Written during the restore"}


def test_an_interrupted_restore_changes_nothing(
    memory: Clew, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backup, "PAGES_AT_ONCE", 3)
    memory.backup(tmp_path / "b.db")
    memory.remember("Still here")

    def interrupt(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        restore(settings_for(tmp_path / "clew.db"), tmp_path / "b.db", progress=interrupt)
    assert memory.stats().memories == 2
    assert leftovers(tmp_path) == []


def test_a_restore_where_there_is_no_store_makes_one(memory: Clew, tmp_path: Path) -> None:
    memory.backup(tmp_path / "b.db")
    report = restore(settings_for(tmp_path / "new" / "clew.db"), tmp_path / "b.db")
    assert (report.previous, report.memories) == (None, 1)
    with open_toy(tmp_path / "new" / "clew.db") as found:
        assert found.stats().memories == 1


def test_a_store_with_memories_is_not_replaced_if_asked_not_to(memory: Clew, tmp_path: Path) -> None:
    memory.backup(tmp_path / "b.db")
    with pytest.raises(Conflict) as refused:
        restore(settings_for(tmp_path / "clew.db"), tmp_path / "b.db", overwrite=False)
    assert refused.value.code == "RESTORE_WOULD_REPLACE"


def test_a_store_too_damaged_to_open_is_set_aside(memory: Clew, tmp_path: Path) -> None:
    memory.backup(tmp_path / "b.db")
    memory.close()
    write_into(tmp_path / "clew.db", 100, b"\xff" * 3000)
    report = restore(settings_for(tmp_path / "clew.db"), tmp_path / "b.db")
    assert report.previous is not None and report.previous.exists()
    with open_toy(tmp_path / "clew.db") as found:
        assert found.stats().memories == 1


def test_a_store_damaged_inside_is_replaced_and_kept(tmp_path: Path) -> None:
    with open_toy(tmp_path / "clew.db") as memory:
        memory.remember_many([])
        for number in range(300):
            memory.remember(f"Statement number {number} with some words in it")
        memory.backup(tmp_path / "b.db")
    write_into(tmp_path / "clew.db", 4096, b"\xff" * 4096 * 30)
    report = restore(settings_for(tmp_path / "clew.db"), tmp_path / "b.db")
    assert report.memories == 300 and report.previous is not None
    with open_toy(tmp_path / "clew.db") as memory:
        assert memory.stats().memories == 300
        assert all(check.ok for check in memory.store.checks(memory.now()))


@pytest.mark.parametrize(
    ("name", "value", "code"), [("user_version", 999, "STORE_NEWER"), ("application_id", 7, "STORE_FOREIGN")]
)
def test_a_newer_or_foreign_source_is_refused(
    memory: Clew, tmp_path: Path, name: str, value: int, code: str
) -> None:
    memory.backup(tmp_path / "b.db")
    edit_pragma(tmp_path / "b.db", name, value)
    with pytest.raises(StoreRefused) as refused:
        restore(settings_for(tmp_path / "clew.db"), tmp_path / "b.db")
    assert refused.value.code == code
    assert memory.stats().memories == 1


def test_a_damaged_source_is_refused_and_left_untouched(tmp_path: Path) -> None:
    with open_toy(tmp_path / "clew.db") as memory:
        for number in range(300):
            memory.remember(f"Statement number {number} with some words in it")
        memory.backup(tmp_path / "b.db")
        write_into(tmp_path / "b.db", 4096 * 20, b"\xff" * 4096 * 8)
        raw = (tmp_path / "b.db").read_bytes()
        with pytest.raises(StoreRefused):
            restore(settings_for(tmp_path / "clew.db"), tmp_path / "b.db")
        assert memory.stats().memories == 300
    assert (tmp_path / "b.db").read_bytes() == raw
    assert leftovers(tmp_path) == [] and not (tmp_path / "b.db-wal").exists()


def test_a_foreign_file_in_the_place_of_the_store_is_not_replaced(memory: Clew, tmp_path: Path) -> None:
    memory.backup(tmp_path / "b.db")
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(StoreRefused):
        restore(settings_for(tmp_path / "thesis.txt"), tmp_path / "b.db")
    assert (tmp_path / "thesis.txt").read_text() == "years of work"


def test_a_missing_source_and_the_store_itself_are_refused(memory: Clew, tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        restore(settings_for(tmp_path / "clew.db"), tmp_path / "nothing.db")
    with pytest.raises(InvalidInput):
        restore(settings_for(tmp_path / "clew.db"), tmp_path / "clew.db")


def test_a_plain_copy_with_its_log_can_be_restored(memory: Clew, tmp_path: Path) -> None:
    memory.remember("Only in the log so far")
    (tmp_path / "copy.db").write_bytes((tmp_path / "clew.db").read_bytes())
    (tmp_path / "copy.db-wal").write_bytes((tmp_path / "clew.db-wal").read_bytes())
    assert restore(settings_for(tmp_path / "new.db"), tmp_path / "copy.db").memories == 2


def test_a_source_is_only_read_so_it_may_lie_on_a_read_only_medium(memory: Clew, tmp_path: Path) -> None:
    shelf = tmp_path / "shelf"
    shelf.mkdir()
    memory.backup(shelf / "b.db")
    with closing(connect(shelf / "b.db")) as connection:
        connection.pragma("journal_mode", "wal")  # opened in the usual way it would want a log beside it
    os.utime(shelf, ns=(0, 0))
    assert restore(settings_for(tmp_path / "new.db"), shelf / "b.db").memories == 1
    assert shelf.stat().st_mtime_ns == 0, "a file was made beside it, if only for a moment"


def test_the_restored_file_is_in_log_mode(memory: Clew, tmp_path: Path) -> None:
    memory.backup(tmp_path / "b.db")
    restore(settings_for(tmp_path / "new.db"), tmp_path / "b.db")
    connection = connect(tmp_path / "new.db")
    assert connection.pragma("journal_mode") == "wal"
    connection.close()


@pytest.mark.parametrize("name", ["clew.db", "clew [of ann]?.db"])
def test_a_hard_forget_also_erases_what_a_restore_put_aside(tmp_path: Path, name: str) -> None:
    store = tmp_path / name
    settings = load_settings(home=tmp_path, overrides={"store": {"url": str(store)}})
    with clew.open(store, home=tmp_path, embed={"provider": "none"}) as memory:
        memory.backup(tmp_path / "empty.db")
        memory.remember("zyxgateway is down")
    for _ in range(2):
        restore(settings, tmp_path / "empty.db")
        with clew.open(store, home=tmp_path, embed={"provider": "none"}) as memory:
            id = memory.remember("zyxgateway is down").id
    assert sum("before-restore" in file.name for file in tmp_path.iterdir()) >= 1
    with clew.open(store, home=tmp_path, embed={"provider": "none"}) as memory:
        assert memory.forget(id, hard=True).log == "erased"
    assert not [file for file in tmp_path.iterdir() if b"zyxgateway" in file.read_bytes()]

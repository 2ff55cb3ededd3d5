"""The numbers are right, and whatever is broken is found, named, and comes with its remedy."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from clew import compose, native
from clew.clew import Clew
from clew.errors import StoreRefused, Unavailable
from clew.model.scope import Identity, Scope
from clew.model.upkeep import Check
from clew.settings import Settings, load_settings
from clew.store import upkeep
from clew.store.sqlite import connect
from toys import ToldClock, ToyEmbedder, open_toy


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Clew]:
    tmp_path.chmod(0o700)
    with open_toy(tmp_path / "clew.db", embedder=ToyEmbedder()) as opened:
        opened.remember("Backups matter", type="rule", scope=Scope(project="shop"))
        opened.remember("Tests matter é", scope=Scope(project="shop"))
        opened.remember("A secret of ada", scope=Scope(user="ada"))
        opened.reindex()
        yield opened


def settings_for(path: Path) -> Settings:
    return load_settings({"store.url": str(path), "embed.provider": "none"}, home=path.parent, environ={})


def failing(checks: list[Check]) -> dict[str, Check]:
    return {check.name: check for check in checks if not check.ok}


def tamper(path: Path, *statements: str) -> None:
    """Change the file behind the store's back."""
    connection = connect(path)
    connection.pragma("foreign_keys", False)
    for statement in statements:
        connection.execute(statement)
    connection.close()


def only_failure(memory: Clew) -> Check:
    [check] = failing([*memory.doctor()]).values()
    assert check.next
    return check


# -- stats -----------------------------------------------------------------------------------------


def test_stats_count_what_there_is(memory: Clew) -> None:
    stats = memory.stats()
    assert (stats.memories, dict(stats.by_project)) == (3, {"shop": 2, "": 1})
    assert dict(stats.by_type) == {"rule": 1, "note": 2}
    assert dict(stats.by_layer) == {"rule": 1, "long_term": 2}
    assert stats.content_bytes == len("Backups matterTests matter éA secret of ada".encode())
    assert (dict(stats.vectors), stats.coverage, stats.space) == ({"toy@1": 3}, 1.0, "toy@1")
    assert stats.file_bytes > 0 and stats.bytes_per_memory == round(stats.file_bytes / 3, 1)
    assert stats.last_change >= 3 and stats.schema >= 1
    assert stats.graph["nodes"] >= 3 and stats.graph["links"] >= 3 and "edges" in stats.graph


def test_stats_leave_out_what_one_may_not_see(memory: Clew) -> None:
    assert memory.stats(identity=Identity(user="bob", roles=())).memories == 2
    assert memory.stats(identity=Identity(org="acme")).memories == 0


def test_stats_of_an_empty_store_divide_by_nothing(tmp_path: Path) -> None:
    with open_toy(tmp_path / "empty.db") as memory:
        assert memory.stats().as_json()["coverage"] == 0.0


# -- doctor ----------------------------------------------------------------------------------------


def test_a_healthy_store_passes_every_check(memory: Clew) -> None:
    checks = memory.doctor()
    assert failing([*checks]) == {}
    names = [check.name for check in checks]
    assert names == [
        "permissions", "leftovers", "disk", "sqlite", "schema", "integrity", "references", "index", "log", "clock",
        "analyser", "compiled", "erasing", "graph", "decay", "jobs", "sessions", "audit", "policies", "hooks",
        "embedder", "vectors",
    ]  # fmt: skip


@pytest.mark.parametrize("is_compiled", [False, True])
def test_whether_recall_is_compiled_is_told_and_no_fault(
    memory: Clew, monkeypatch: pytest.MonkeyPatch, is_compiled: bool
) -> None:
    monkeypatch.setattr(native, "compiled", object() if is_compiled else None)
    (told,) = (check for check in memory.doctor() if check.name == "compiled")
    assert told.ok and told.detail.startswith("yes" if is_compiled else "no") and not told.next


def test_a_new_store_passes_every_check(tmp_path: Path) -> None:
    settings = settings_for(tmp_path / "home" / "clew.db")
    compose.compose(settings, tmp_path / "home" / "clew.db").close()
    assert failing([*compose.doctor(settings)]) == {}


@pytest.mark.skipif(os.name != "posix", reason="permissions are POSIX")
def test_a_file_open_to_others_is_found(memory: Clew, tmp_path: Path) -> None:
    (tmp_path / "clew.db").chmod(0o644)
    assert only_failure(memory).next == f"run: chmod 600 {tmp_path / 'clew.db'}"


@pytest.mark.skipif(os.name != "posix", reason="permissions are POSIX")
def test_a_directory_others_can_write_is_found(memory: Clew, tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    assert only_failure(memory).next == f"run: chmod 700 {tmp_path}"


def test_what_an_interrupted_copy_left_is_found(memory: Clew, tmp_path: Path) -> None:
    (tmp_path / ".clew.db.before-restore.0123.tmp").write_bytes(b"half")
    assert only_failure(memory).name == "leftovers"


def test_what_an_interrupted_copy_left_is_found_whatever_the_store_is_called(tmp_path: Path) -> None:
    (tmp_path / ".clew [1].db.0123.tmp").write_bytes(b"half")
    with open_toy(tmp_path / "clew [1].db") as memory:
        assert not next(check for check in memory.doctor() if check.name == "leftovers").ok


def test_a_memory_that_is_not_indexed_is_found_and_mended(memory: Clew, tmp_path: Path) -> None:
    tamper(tmp_path / "clew.db", "DELETE FROM memory_terms WHERE memory_row = 1")
    check = only_failure(memory)
    assert (check.name, check.next) == ("index", "rebuild the index: clew reindex")
    memory.reindex()
    assert failing([*memory.doctor()]) == {}


def test_terms_of_a_forgotten_memory_are_found_and_mended(memory: Clew, tmp_path: Path) -> None:
    tamper(tmp_path / "clew.db", "UPDATE memories SET deleted_at = 1 WHERE row = 1")
    found = failing([*memory.doctor()])
    assert found["index"].detail == "the index holds 1 forgotten memories"
    assert found.keys() == {"index", "graph"} and "links" in found["graph"].detail
    memory.reindex()
    assert failing([*memory.doctor()]) == {}


def test_a_full_text_index_that_lost_entries_is_found_and_mended(memory: Clew, tmp_path: Path) -> None:
    tamper(tmp_path / "clew.db", "INSERT INTO memory_fts (memory_fts) VALUES ('delete-all')")
    assert only_failure(memory).name == "index"
    assert memory.reindex().rebuilt
    assert failing([*memory.doctor()]) == {}


def test_a_broken_full_text_index_is_found_and_mended(memory: Clew, tmp_path: Path) -> None:
    tamper(tmp_path / "clew.db", "UPDATE memory_fts_data SET block = x'00ff00ff' WHERE id > 10")
    assert failing([*memory.doctor()])["index"].next
    assert memory.reindex().rebuilt
    assert failing([*memory.doctor()]) == {}


def test_missing_vectors_are_found_and_mended(memory: Clew, tmp_path: Path) -> None:
    tamper(tmp_path / "clew.db", "DELETE FROM memory_embeddings WHERE memory_row = 1")
    assert only_failure(memory).name == "vectors"
    memory.reindex()
    assert failing([*memory.doctor()]) == {}


def test_another_analyser_is_found_and_mended(memory: Clew) -> None:
    memory.store.write(lambda tx: tx.meta.put("analyser", "0"))
    assert only_failure(memory).name == "analyser"
    memory.reindex()
    assert failing([*memory.doctor()]) == {}


def test_an_embedder_that_cannot_be_loaded_is_found(memory: Clew) -> None:
    def unloadable() -> None:
        raise Unavailable("the endpoint does not answer", next="start it")

    memory._make_embedder = unloadable
    assert only_failure(memory) == Check("embedder", False, "the endpoint does not answer", "start it")


def test_an_embedder_that_answers_nonsense_is_found(memory: Clew) -> None:
    memory._make_embedder = lambda: ToyEmbedder(dim=1)
    assert "unrelated" in only_failure(memory).detail


def test_unfinished_erasing_is_finished(memory: Clew) -> None:
    memory.store.write(lambda tx: tx.meta.put("purge_pending", "1"))
    checks = {check.name: check for check in memory.doctor()}
    assert checks["erasing"] == Check("erasing", True, "finished")


def test_a_clock_behind_the_newest_memory_is_found(memory: Clew) -> None:
    assert isinstance(memory.clock, ToldClock)
    memory.clock.time -= timedelta(days=1)
    assert only_failure(memory).name == "clock"


def test_a_full_disk_is_found(memory: Clew, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upkeep, "ROOM", 1 << 60)
    assert only_failure(memory).name == "disk"


def test_an_old_sqlite_is_found(memory: Clew, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upkeep, "SAFE_SQLITE", (99, 0, 0))
    assert only_failure(memory).name == "sqlite"


def test_a_log_that_a_reader_holds_is_found(memory: Clew, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upkeep, "LARGE_LOG", 0)
    reader = connect(tmp_path / "clew.db")
    reader.execute("BEGIN")
    reader.execute("SELECT * FROM memories").fetchall()
    memory.remember("After the reader came")
    assert only_failure(memory).name == "log"
    reader.close()
    assert failing([*memory.doctor()]) == {}


def test_rows_that_belong_to_nothing_are_found(memory: Clew, tmp_path: Path) -> None:
    tamper(
        tmp_path / "clew.db",
        "INSERT INTO memory_versions VALUES ('local', 'mem_gone', 1, 'created', 0, '{}')",
    )
    assert only_failure(memory).name == "references"


@pytest.mark.parametrize("first_page", [1, 2, 20, 40])
def test_damaged_pages_are_findings_and_not_a_traceback(tmp_path: Path, first_page: int) -> None:
    path = tmp_path / "clew.db"
    with open_toy(path) as memory:
        for number in range(300):
            memory.remember(f"Statement number {number} with some words in it")
    with path.open("rb+") as file:
        file.seek(4096 * first_page)
        file.write(b"\xff" * 4096 * 8)
    found = failing([*compose.doctor(settings_for(path))])
    assert any("clew restore" in check.next for check in found.values())
    assert all(check.next for check in found.values())


@pytest.mark.parametrize("table", ["memory_embeddings", "memory_fts", "memory_fts_config", "meta", "jobs"])
def test_a_table_that_is_gone_is_a_finding_beside_the_others(memory: Clew, tmp_path: Path, table: str) -> None:
    memory.close()
    tamper(tmp_path / "clew.db", f"DROP TABLE {table}")
    checks = compose.doctor(settings_for(tmp_path / "clew.db"))
    found = failing([*checks])
    assert found["schema"].next.startswith("restore a backup: clew restore FILE")
    assert all(check.next for check in found.values())
    assert {"integrity", "compiled", "disk"} <= {check.name for check in checks}


def test_what_is_gone_is_named(memory: Clew, tmp_path: Path) -> None:
    tamper(tmp_path / "clew.db", "DROP TABLE jobs", "ALTER TABLE memories DROP COLUMN category")
    assert failing([*memory.doctor()])["schema"].detail == "the file lacks jobs, memories.category"


def test_a_table_that_is_gone_is_damage_to_whoever_needs_it(memory: Clew, tmp_path: Path) -> None:
    tamper(tmp_path / "clew.db", "DROP TABLE memory_embeddings")
    for action in (lambda: memory.recall("backups"), lambda: memory.remember("More"), memory.stats):
        with pytest.raises(StoreRefused, match="is damaged") as refused:
            action()
        assert refused.value.code == "STORE_CORRUPT" and "clew restore" in refused.value.next


@pytest.mark.parametrize("content", [b"years of work", b"SQLite format 3\x00" + b"\xff" * 200, b"\x00" * 5000])
def test_a_store_that_cannot_be_opened_is_a_finding(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "clew.db").write_bytes(content)
    found = failing([*compose.doctor(settings_for(tmp_path / "clew.db"))])
    assert found["file"].next
    assert (tmp_path / "clew.db").read_bytes() == content


def test_a_newer_store_is_a_finding(memory: Clew, tmp_path: Path) -> None:
    memory.close()
    tamper(tmp_path / "clew.db", "PRAGMA user_version = 999")
    assert failing([*compose.doctor(settings_for(tmp_path / "clew.db"))])["file"].next.startswith("upgrade Clew")


def test_a_doctor_makes_no_store(tmp_path: Path) -> None:
    checks = compose.doctor(settings_for(tmp_path / "none" / "clew.db"))
    assert failing([*checks]) == {}
    assert not (tmp_path / "none").exists()

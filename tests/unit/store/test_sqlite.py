"""Who may open the file, what a commit promises, and what one caller's failure means to the others."""

from __future__ import annotations

import os
import random
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from clew.errors import Conflict, StoreRefused, Unavailable
from clew.store import queries
from clew.store.sqlite import APPLICATION_ID, STATEMENTS, SqliteEngine, connect, open_engine, schema_of
from clew.store.sqlite_session import TOGETHER, Session

MAGIC = b"SQLite format 3\x00"


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[SqliteEngine]:
    with closing(open_engine(tmp_path / "clew.db")) as engine:
        yield engine


def put(key: str, value: str = "1") -> Callable[[Session], int]:
    return lambda session: session.run("meta_put", key=key, value=value)


def fail(session: Session) -> None:
    put("half-way")(session)
    raise ValueError("my own mistake")


def keys(engine: SqliteEngine) -> set[str]:
    with engine.read() as session:
        return {key for (key,) in session.connection.execute("SELECT key FROM meta")}


def in_another_process(code: str, *args: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code, *map(str, args)], capture_output=True, text=True)


# -- opening -----------------------------------------------------------------------------------------


@pytest.mark.skipif(os.name != "posix", reason="rights of files are a matter of POSIX")
def test_a_new_store_is_private(tmp_path: Path) -> None:
    path = tmp_path / "new" / "home" / "clew.db"
    with closing(open_engine(path)) as engine:
        engine.write(put("a"))
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        assert {stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()} == {0o600}


@pytest.mark.parametrize("is_there", [False, True])
def test_a_log_without_its_store_is_not_lost_to_a_new_one(tmp_path: Path, is_there: bool) -> None:
    """Whoever moved the store without its log can still put it back."""
    path, log, away = (tmp_path / name for name in ("clew.db", "clew.db-wal", "away.db"))
    with closing(open_engine(path)) as engine:
        engine.write(put("said last"))
        kept = log.read_bytes()
        path.rename(away)
    log.write_bytes(kept)
    if is_there:
        path.touch()
    with pytest.raises(StoreRefused) as refused:
        open_engine(path)
    assert refused.value.code == "STORE_LOG_ALONE" and log.read_bytes() == kept
    away.replace(path)
    with closing(open_engine(path)) as engine:
        assert keys(engine) >= {"said last"}


def test_an_empty_file_becomes_a_store(tmp_path: Path) -> None:
    path = tmp_path / "clew.db"
    path.touch()
    with closing(open_engine(path)) as engine:
        engine.write(put("a"))
        assert keys(engine) == {"a"}


def foreign_database(path: Path) -> None:
    with closing(apsw.Connection(str(path))) as connection:
        connection.pragma("user_version", 1)
        connection.execute("CREATE TABLE theirs (x)")


def newer_store(path: Path) -> None:
    open_engine(path).close()
    with closing(connect(path)) as connection:
        connection.pragma("user_version", 99)


def damaged_store(path: Path) -> None:
    open_engine(path).close()
    whole = bytearray(path.read_bytes())
    whole[16:24] = b"\xff" * 8
    path.write_bytes(whole)


def random_with_magic(path: Path) -> None:
    path.write_bytes(MAGIC + random.Random(1).randbytes(20_000))


def random_with_our_mark(path: Path) -> None:
    noise = bytearray(MAGIC + random.Random(2).randbytes(20_000))
    noise[68:72] = APPLICATION_ID.to_bytes(4, "big")
    noise[60:64] = (1).to_bytes(4, "big")
    path.write_bytes(noise)


REFUSED = {
    "STORE_NEWER": [newer_store],
    "STORE_FOREIGN": [
        foreign_database,
        lambda path: path.write_text("dear diary"),
        lambda path: path.write_bytes(b"\x00"),
        lambda path: path.write_bytes(MAGIC),
        lambda path: path.write_bytes(MAGIC + bytes(50)),
        random_with_magic,
    ],
    "STORE_CORRUPT": [damaged_store, random_with_our_mark],
}


@pytest.mark.parametrize(("code", "make"), [(code, make) for code, makes in REFUSED.items() for make in makes])
def test_a_refused_file_is_left_as_it_was(tmp_path: Path, code: str, make: Callable[[Path], None]) -> None:
    path = tmp_path / "clew.db"
    make(path)
    before = path.read_bytes()
    with pytest.raises(StoreRefused) as caught:
        open_engine(path)
    assert caught.value.code == code
    assert caught.value.next
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["clew.db"]


def test_a_store_that_was_cut_short_is_refused_and_not_mended(tmp_path: Path) -> None:
    path = tmp_path / "clew.db"
    open_engine(path).close()
    path.write_bytes(path.read_bytes()[:5000])
    with pytest.raises(StoreRefused) as caught:
        open_engine(path)
    assert caught.value.code == "STORE_CORRUPT"
    assert path.stat().st_size == 5000


UPGRADED_AND_KILLED = """
import os, sys
from pathlib import Path
from clew.store.sqlite import connect
connection = connect(Path(sys.argv[1]))
connection.pragma("user_version", 99)
os._exit(0)
"""


def test_a_newer_schema_that_only_the_log_knows_is_refused_too(tmp_path: Path) -> None:
    path = tmp_path / "clew.db"
    open_engine(path).close()
    assert in_another_process(UPGRADED_AND_KILLED, path).returncode == 0
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir() if file.suffix != ".db-shm"}
    assert before["clew.db-wal"], "the new version must be in the log for this test to mean anything"
    with pytest.raises(StoreRefused) as caught:
        open_engine(path)
    assert caught.value.code == "STORE_NEWER"
    assert {name: (tmp_path / name).read_bytes() for name in before} == before


def test_a_directory_in_the_place_of_the_store_is_refused(tmp_path: Path) -> None:
    (tmp_path / "clew.db" / "inside").mkdir(parents=True)
    with pytest.raises(StoreRefused, match="is not a file"):
        open_engine(tmp_path / "clew.db")


TRIES_TO_LOCK = """
import fcntl, sys
with open(sys.argv[1], "r+b") as file:
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 510, 0x40000002)  # where SQLite's readers have theirs
        print("free")
    except BlockingIOError:
        print("held")
"""


@pytest.mark.skipif(os.name != "posix", reason="locks of this kind are a matter of POSIX")
def test_opening_a_store_twice_keeps_the_locks_of_the_first(engine: SqliteEngine) -> None:
    """POSIX drops all locks of a process on a file when it closes any handle of it."""
    engine.write(put("a"))
    open_engine(engine.path).close()
    assert in_another_process(TRIES_TO_LOCK, engine.path).stdout.strip() == "held"


# -- many processes ----------------------------------------------------------------------------------

WRITER = """
import sys
from pathlib import Path
from clew.store.sqlite import open_engine
path, name, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
sys.stdin.readline()
engine = open_engine(path)
for n in range(count):
    engine.write(lambda session: session.value("counter_next", org_id="o", name="n", step=1))
    engine.write(lambda session: session.run("meta_put", key=f"{name}-{n}", value=""))
engine.close()
"""


def test_processes_that_create_and_write_one_store_together_lose_nothing(tmp_path: Path) -> None:
    path, count = tmp_path / "clew.db", 25
    children = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path), f"p{n}", str(count)],
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for n in range(3)
    ]
    errors = "".join(child.communicate("go\n")[1] for child in children)
    assert errors == ""
    with closing(open_engine(path)) as engine, engine.read() as session:
        assert session.value("counter_get", org_id="o", name="n") == 3 * count
    with closing(open_engine(path)) as engine:
        assert keys(engine) == {f"p{p}-{n}" for p in range(3) for n in range(count)}


# -- one writer, many callers ------------------------------------------------------------------------


def test_what_write_returned_is_there_for_others(engine: SqliteEngine) -> None:
    engine.write(put("a"))
    with closing(connect(engine.path)) as other:
        assert other.execute("SELECT key FROM meta").fetchall() == [("a",)]


def test_a_failing_write_leaves_nothing_and_tells_only_its_caller(engine: SqliteEngine) -> None:
    with pytest.raises(ValueError, match="my own mistake"):
        engine.write(fail)
    engine.write(put("after"))
    assert keys(engine) == {"after"}


@pytest.fixture
def together(engine: SqliteEngine) -> Callable[..., list[object]]:
    """Runs actions in one group commit: all wait while the writer is held up."""

    def run(*actions: Callable[[Session], object], durable: tuple[bool, ...] = ()) -> list[object]:
        gate = threading.Event()
        engine.submit(lambda _session: gate.wait())
        flags = durable or (True,) * len(actions)
        futures = [engine.submit(action, durable=flag) for action, flag in zip(actions, flags, strict=True)]
        gate.set()
        return [future.exception() or future.result() for future in futures]

    return run


def test_one_failing_write_never_undoes_its_neighbours(
    engine: SqliteEngine, together: Callable[..., list[object]]
) -> None:
    results = together(put("a"), fail, put("b"), fail, put("c"))
    assert [type(result) for result in results] == [int, ValueError, int, ValueError, int]
    assert keys(engine) == {"a", "b", "c"}


def test_writes_that_wait_share_one_commit(engine: SqliteEngine, together: Callable[..., list[object]]) -> None:
    def version(session: Session) -> object:
        put("x", str(id(session)))(session)
        with closing(connect(engine.path)) as other:
            return other.execute("SELECT count(*) FROM meta").fetchall()

    assert together(put("a"), version, put("b"), version) == [1, [(0,)], 1, [(0,)]]
    assert keys(engine) == {"a", "b", "x"}


def test_what_is_left_for_the_end_is_written_with_the_commit(
    engine: SqliteEngine, together: Callable[..., list[object]]
) -> None:
    def later(key: str, *, fails: bool = False, settles: bool = False) -> Callable[[Session], object]:
        def action(session: Session) -> object:
            session.many_last("meta_put", [(key, "x")])
            if fails:
                raise ValueError(key)
            if settles:
                session.settle()
            return session.connection.execute("SELECT count(*) FROM meta").get

        return action

    results = together(later("a"), later("b", fails=True), later("c", settles=True), later("d"))
    assert [results[0], type(results[1]), results[2], results[3]] == [0, ValueError, 2, 2]
    assert keys(engine) == {"a", "c", "d"}


@pytest.mark.parametrize("count", [1, TOGETHER - 1, TOGETHER, 2 * TOGETHER + 3])
def test_many_rows_are_written_in_their_order(engine: SqliteEngine, count: int) -> None:
    """The last word on a key counts, whether or not it is in the same execution."""
    rows = [(f"key {number // 2}", str(number)) for number in range(count)]
    engine.write(lambda session: session.many("meta_put", rows))
    with engine.read() as session:
        assert dict(session.connection.execute("SELECT key, value FROM meta")) == dict(rows)


@pytest.mark.parametrize("keys", [[], ["a"], ["a", "b", 'it\'s "c"'], [f"key {number}" for number in range(99)]])
def test_a_row_is_written_for_each_of_a_list(engine: SqliteEngine, keys: list[str]) -> None:
    engine.write(lambda session: session.for_each("meta_put", "key", keys, value="x"))
    engine.write(lambda session: session.for_each("meta_put", "key", keys[1:], value="y"))
    with engine.read() as session:
        found = dict(session.connection.execute("SELECT key, value FROM meta"))
    assert found == dict.fromkeys(keys[1:], "y") | dict.fromkeys(keys[:1], "x")


def test_a_write_that_breaks_a_promise_of_the_schema_is_a_conflict(engine: SqliteEngine) -> None:
    change = {"org_id": "o", "seq": 1, "project_id": "", "kind": "memory", "row_id": "m", "op": "put"}
    engine.write(lambda session: session.run("change_insert", **change))
    with pytest.raises(Conflict) as caught:
        engine.write(lambda session: session.run("change_insert", **change))
    assert caught.value.code == "STORE_CONFLICT"


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, MemoryError])
def test_the_writer_survives_whatever_an_action_raises(engine: SqliteEngine, error: type[BaseException]) -> None:
    def burst(session: Session) -> None:
        raise error

    with pytest.raises(error):
        engine.write(burst)
    engine.write(put("after"))
    assert keys(engine) == {"after"}


def test_the_writer_survives_an_action_that_ends_the_transaction(engine: SqliteEngine) -> None:
    with pytest.raises(Exception, match="transaction"):
        engine.write(lambda session: session.connection.execute("ROLLBACK").fetchall())
    engine.write(put("after"))
    assert keys(engine) == {"after"}


def test_many_threads_write_everything_exactly_once(engine: SqliteEngine) -> None:
    def work(name: int) -> None:
        for n in range(20):
            engine.write(lambda session: session.value("counter_next", org_id="o", name="n", step=1))
            engine.write(put(f"{name}-{n}"))

    threads = [threading.Thread(target=work, args=(name,)) for name in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with engine.read() as session:
        assert session.value("counter_get", org_id="o", name="n") == 160
    assert len(keys(engine)) == 160


def test_a_cancelled_write_is_not_made_and_does_not_hurt(engine: SqliteEngine) -> None:
    gate = threading.Event()
    engine.submit(lambda _session: gate.wait())
    waiting = engine.submit(put("cancelled"))
    assert waiting.cancel()
    gate.set()
    engine.write(put("after"))
    assert keys(engine) == {"after"}


needs_signals = pytest.mark.skipif(
    threading.current_thread() is not threading.main_thread(), reason="signals reach the main thread"
)


def interrupt() -> None:
    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)


@needs_signals
def test_an_interrupt_undoes_the_write_that_it_hits_and_no_other(engine: SqliteEngine) -> None:
    def slow(session: Session) -> None:
        put("slow")(session)
        interrupt()
        time.sleep(30)

    with pytest.raises(KeyboardInterrupt):
        engine.write(slow)
    engine.write(put("after"))
    assert keys(engine) == {"after"}


@needs_signals
def test_an_interrupt_while_waiting_hurts_neither_the_write_nor_the_writer(engine: SqliteEngine) -> None:
    begun, gate = threading.Event(), threading.Event()

    def first(session: Session) -> None:
        begun.set()
        while not engine._queue.qsize():  # until the other waits behind it
            time.sleep(0.001)
        interrupt()
        gate.wait()

    held = engine.submit(first)
    begun.wait()
    with pytest.raises(KeyboardInterrupt):
        engine.write(put("waited for"))
    gate.set()
    assert held.result() is None
    engine.write(put("after"))
    assert keys(engine) == {"waited for", "after"}


def test_a_write_that_finds_nobody_writing_runs_on_its_own_thread(engine: SqliteEngine) -> None:
    assert engine.write(lambda _session: threading.get_ident()) == threading.get_ident()


def test_what_was_handed_over_is_written_before_what_comes_later(engine: SqliteEngine) -> None:
    gate, order = threading.Event(), list[str]()
    engine.submit(lambda _session: gate.wait() and order.append("first"))
    engine.submit(lambda _session: order.append("second"))
    threading.Timer(0.05, gate.set).start()
    engine.write(lambda _session: order.append("third"))
    assert order == ["first", "second", "third"]


def test_closing_waits_for_a_write_on_another_thread(engine: SqliteEngine) -> None:
    begun, gate = threading.Event(), threading.Event()

    def slow(session: Session) -> None:
        begun.set()
        gate.wait()
        put("slow")(session)

    writer = threading.Thread(target=engine.write, args=(slow,))
    writer.start()
    begun.wait()
    closer = threading.Thread(target=engine.close)
    closer.start()
    gate.set()
    closer.join()
    writer.join()
    with closing(open_engine(engine.path)) as again:
        assert keys(again) == {"slow"}


# -- durability --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("durable", "synchronous"), [(True, 2), (False, 1), (True, 2)])
def test_a_durable_write_is_synced(engine: SqliteEngine, durable: bool, synchronous: int) -> None:
    def level(session: Session) -> object:
        return session.connection.pragma("synchronous")

    engine.write(level, durable=not durable)
    assert engine.write(level, durable=durable) == synchronous


def test_one_durable_write_makes_its_whole_group_durable(together: Callable[..., list[object]]) -> None:
    def level(session: Session) -> object:
        return session.connection.pragma("synchronous")

    assert together(level, level, durable=(False, True)) == [2, 2]


# -- reading -----------------------------------------------------------------------------------------


def test_a_reader_sees_one_snapshot_while_a_writer_commits(engine: SqliteEngine) -> None:
    engine.write(put("a", "old"))
    with engine.read() as session:
        assert session.value("meta_get", key="a") == "old"
        engine.write(put("a", "new"))
        assert session.value("meta_get", key="a") == "old"
    with engine.read() as session:
        assert session.value("meta_get", key="a") == "new"


def test_a_reader_cannot_write(engine: SqliteEngine) -> None:
    with pytest.raises(Unavailable), engine.read() as session:
        put("a")(session)


def test_an_exception_while_reading_lets_go_of_the_snapshot(engine: SqliteEngine) -> None:
    engine.write(put("a"))
    with pytest.raises(ZeroDivisionError), engine.read() as session:
        session.value("meta_get", key="a")
        raise ZeroDivisionError
    assert engine.purge(), "nothing holds the log any more"
    assert keys(engine) == {"a"}


def test_a_callers_own_trouble_with_files_is_not_blamed_on_the_store(engine: SqliteEngine, tmp_path: Path) -> None:
    def export(_session: object) -> str:
        return (tmp_path / "missing" / "export.jsonl").read_text()

    with pytest.raises(FileNotFoundError), engine.read() as session:
        export(session)
    with pytest.raises(FileNotFoundError):
        engine.write(export)


def test_threads_that_ended_leave_no_connection_behind(engine: SqliteEngine) -> None:
    for _ in range(10):
        thread = threading.Thread(target=keys, args=(engine,))
        thread.start()
        thread.join()
    assert len([c for c in apsw.connections() if c.filename == str(engine.path)]) <= 2


def test_data_version_tells_that_someone_else_committed(engine: SqliteEngine) -> None:
    before = engine.data_version()
    assert engine.data_version() == before
    engine.write(put("a"))
    assert engine.data_version() != before


# -- closing -----------------------------------------------------------------------------------------


def test_after_closing_everything_is_unavailable(engine: SqliteEngine) -> None:
    engine.write(put("a"))
    keys(engine)
    engine.close()
    engine.close()
    for use in (lambda: engine.write(put("b")), lambda: keys(engine), engine.data_version):
        with pytest.raises(Unavailable) as caught:
            use()
        assert caught.value.code == "STORE_CLOSED"


def test_closing_finishes_what_was_accepted(engine: SqliteEngine) -> None:
    gate = threading.Event()
    engine.submit(lambda _session: gate.wait())
    accepted = [engine.submit(put(f"k{n}")) for n in range(20)]
    closer = threading.Thread(target=engine.close)
    closer.start()
    gate.set()
    closer.join()
    assert [future.result() for future in accepted] == [1] * 20
    with closing(open_engine(engine.path)) as again:
        assert len(keys(again)) == 20


def test_closing_leaves_one_file_behind(engine: SqliteEngine) -> None:
    engine.write(put("a"))
    keys(engine)
    engine.close()
    assert [file.name for file in engine.path.parent.iterdir()] == ["clew.db"]


LONG = "WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*), started() FROM n"


def test_closing_interrupts_a_reader_in_the_middle_of_a_query(engine: SqliteEngine) -> None:
    reading, errors = threading.Event(), []

    def read() -> None:
        try:
            with engine.read() as session:
                session.connection.create_scalar_function("started", reading.set, 0)
                session.connection.execute(LONG.replace("SELECT 1 ", "SELECT started() IS NULL ")).fetchall()
        except Unavailable as error:
            errors.append(error.code)

    thread = threading.Thread(target=read)
    thread.start()
    reading.wait()
    engine.close()
    thread.join()
    assert errors == ["STORE_CLOSED"]
    assert [file.name for file in engine.path.parent.iterdir()] == ["clew.db"]


def test_a_snapshot_held_while_closing_ends_with_unavailable(engine: SqliteEngine) -> None:
    with pytest.raises(Unavailable) as caught, engine.read() as session:
        engine.close()
        session.value("meta_get", key="a")
    assert caught.value.code == "STORE_CLOSED"


def test_a_store_behind_a_link_is_opened_again_and_again(tmp_path: Path) -> None:
    (tmp_path / "link.db").symlink_to(tmp_path / "clew.db")
    for key in ("a", "b"):
        with closing(open_engine(tmp_path / "link.db")) as engine:
            engine.write(put(key))
            assert engine.sizes()[1] > 0  # of the log, which lies beside the file
    with closing(open_engine(tmp_path / "clew.db")) as engine:
        assert keys(engine) == {"a", "b"}
    assert (tmp_path / "link.db").is_symlink() and schema_of(tmp_path / "link.db") > 0


@pytest.mark.parametrize("becomes_of_it", ["removed", "moved away", "replaced"])
def test_nothing_is_acknowledged_once_the_file_is_another(engine: SqliteEngine, becomes_of_it: str) -> None:
    engine.write(put("a"))
    keys(engine)
    other = engine.path.with_name("other.db")
    open_engine(other).close()
    match becomes_of_it:
        case "removed":
            engine.path.unlink()
        case "moved away":
            engine.path.rename(f"{engine.path}.away")
        case _:
            other.replace(engine.path)
    for use in (lambda: engine.write(put("b")), engine.submit(put("c")).result, lambda: keys(engine)):
        with pytest.raises(Unavailable, match="removed, moved or replaced") as caught:
            use()
        assert caught.value.code == "STORE_MOVED"


def test_a_file_that_was_put_back_is_used_again(engine: SqliteEngine) -> None:
    engine.write(put("a"))
    away = engine.path.rename(f"{engine.path}.away")
    with pytest.raises(Unavailable):
        engine.write(put("b"))
    away.rename(engine.path)
    engine.write(put("c"))
    assert keys(engine) == {"a", "c"}


# -- the rest ----------------------------------------------------------------------------------------


def test_the_full_text_index_overwrites_what_it_forgets(engine: SqliteEngine) -> None:
    with engine.read() as session:
        settings = dict(session.connection.execute("SELECT k, v FROM memory_fts_config").fetchall())
        assert settings["secure-delete"] == 1
        assert session.connection.pragma("secure_delete") == 1


def test_a_library_with_the_log_reset_fault_is_not_used() -> None:
    assert tuple(map(int, apsw.sqlite_lib_version().split("."))) >= (3, 51, 3)


def test_the_newest_migration_is_the_schema_of_a_new_store(engine: SqliteEngine) -> None:
    with engine.read() as session:
        assert session.connection.pragma("user_version") == queries.migrations("sqlite")[-1][0]
        assert session.connection.pragma("application_id") == APPLICATION_ID


def test_every_named_query_can_stay_prepared() -> None:
    """Preparing the longest takes 25 times as long as running it on a small graph."""
    assert (
        len(queries.load("sqlite")) + 20 <= STATEMENTS
    )  # and what the engine itself says: BEGIN, SAVEPOINT, PRAGMA


def test_no_named_query_is_too_long_to_stay_prepared(engine: SqliteEngine) -> None:
    """A longer one is prepared anew every time, which takes a millisecond."""
    with engine.read() as session:
        longest = session.connection.cache_stats()["max_cacheable_bytes"]
    assert [name for name, text in queries.load("sqlite").items() if len(text.encode()) > longest] == []


# -- a look without a transaction ----------------------------------------------------------------------


@pytest.mark.parametrize("org", ["o", ""])
def test_a_counter_that_moved_is_seen_at_once_whoever_moved_it(engine: SqliteEngine, org: str) -> None:
    def move(session: Session) -> object:
        return session.value("counter_next", org_id=org, name="n", step=1)

    assert engine.has_counted("o", "n") is False
    with closing(open_engine(engine.path)) as other:
        engine.write(put("a"))  # from now on the connection that writes is asked
        assert engine.has_counted("o", "n") is False
        other.write(move)
        assert engine.has_counted("o", "n") is True
    assert engine.has_counted("other", "n") is (org == "")


def test_in_a_snapshot_while_others_write_a_look_cannot_tell(engine: SqliteEngine) -> None:
    begun, gate = threading.Event(), threading.Event()
    engine.submit(lambda _session: begun.set() or gate.wait())
    begun.wait()
    assert engine.has_counted("o", "n") is False
    with engine.read():
        assert engine.has_counted("o", "n") is None
    gate.set()
    engine.close()
    with pytest.raises(Unavailable):
        engine.has_counted("o", "n")


def test_a_look_at_the_version_while_another_thread_closes_the_store_says_that_it_is_closed(
    engine: SqliteEngine,
) -> None:
    engine.data_version()
    engine._reader().connection.close()
    with pytest.raises(Unavailable) as raised:
        engine.data_version()
    assert raised.value.code == "STORE_CLOSED"

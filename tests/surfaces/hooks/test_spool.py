"""The spool: nothing told is lost, nothing is told twice, whatever dies when."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from binascii import crc32
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hook_driver import CLIENT, spooled, until
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.errors import ClewError, Misconfigured, StoreRefused, Unavailable
from clew.surfaces.hooks import offline
from clew.surfaces.hooks.spool import ATTEMPTS, Damaged, Ingested, Record, Spool, parse

IDS = [f"{number:032x}" for number in range(100)]


@pytest.fixture
def spool(tmp_path: Path) -> Spool:
    return Spool(tmp_path)


def fill(spool: Spool, *bodies: bytes) -> Path:
    for event_id, body in zip(IDS, bodies, strict=False):
        spool.append(event_id, "codex", body)
    return spool.home / "spool" / "events.spool"


def whole(data: bytes) -> list[bytes]:
    return [part.body for part in parse(data) if isinstance(part, Record)]


def test_what_was_appended_comes_out_in_order_and_once(spool: Spool) -> None:
    bodies = [b"{}", b"", b"two\nlines\n", b"\xff\x00", b"x" * 200_000]
    fill(spool, *bodies)
    found: list[Record] = []
    assert spool.ingest(found.append) == Ingested(records=5)
    assert [record.body for record in found] == bodies
    assert [(record.event_id, record.host) for record in found] == [(event_id, "codex") for event_id in IDS[:5]]
    assert all(record.at for record in found)
    assert spool.ingest(found.append) == Ingested() and spool.is_empty()
    assert list((spool.home / "spool").iterdir()) == []


def test_an_event_came_when_its_id_says_and_not_when_the_file_was_written_last(spool: Spool) -> None:
    wrote = fill(spool, b"{}").stat().st_mtime_ns // 1_000_000
    came = [wrote - 90_000, wrote - 1_000, wrote + 60_000, 0]
    for number, millis in enumerate(came):
        spool.append(f"{millis:012x}{number:020x}", "codex", b"{}")
    found: list[Record] = []
    spool.ingest(found.append)
    told = [record.at.timestamp() * 1_000 for record in found if record.at]
    assert [round(at) for at in told[1:3]] == came[:2]
    assert told[0] == told[3] == told[4] >= wrote  # whose ids were made otherwise, or by a clock that was ahead


def test_a_spool_is_not_empty_until_it_was_looked_through(spool: Spool) -> None:
    assert not spool.is_empty()  # a reader that was killed may have left something
    spool.ingest(lambda record: None)
    assert spool.is_empty()
    fill(spool, b"{}")
    assert not spool.is_empty()


def test_the_record_is_as_documented() -> None:
    told = b"00000000000000000000000000000001 claude-code 2\n{}"
    record = offline.record(IDS[1], "claude-code", b"{}")
    assert record == b"clew1 %08x 00000000000000000000000000000001 claude-code 2\n{}\n" % crc32(told)


def test_a_reader_killed_after_taking_the_file_begins_it_again(spool: Spool) -> None:
    fill(spool, b"a", b"b").rename(spool.home / "spool" / "taken-00000000000000000001-7.spool")
    spool.append(IDS[5], "codex", b"c")
    assert [record.body for record in spooled(spool.home)] == [b"a", b"b", b"c"]


def test_a_store_that_is_busy_gets_everything_later(spool: Spool) -> None:
    fill(spool, b"a", b"b")
    calls: list[bytes] = []

    def busy(record: Record) -> None:
        calls.append(record.body)
        if record.body == b"b":
            raise Unavailable("busy")

    with pytest.raises(Unavailable):
        spool.ingest(busy)
    assert not spool.is_empty()
    assert [record.body for record in spooled(spool.home)] == [b"a", b"b"]  # `a` again: its id is known


@pytest.mark.parametrize(
    "trouble",
    [StoreRefused("a replica", code="STORE_READ_ONLY"), Misconfigured("no such password", code="LOGIN_REFUSED")],
)
def test_no_trouble_of_the_store_costs_an_event_however_long_it_lasts(spool: Spool, trouble: ClewError) -> None:
    fill(spool, b"a", b"b")

    def refuse(_record: Record) -> None:
        raise trouble

    for _ in range(ATTEMPTS + 1):
        with pytest.raises(type(trouble)):
            spool.ingest(refuse)
    assert [record.body for record in spooled(spool.home)] == [b"a", b"b"]


@pytest.mark.parametrize(
    "trouble",
    [
        ValueError("never"),
        StoreRefused("not kept", code="EVENT_NOT_KEPT"),
        Unavailable("not kept elsewhere", code="EVENT_NOT_KEPT"),
    ],
    ids=repr,
)
def test_a_record_that_cannot_be_handled_does_not_hold_up_the_others_for_long(
    spool: Spool, trouble: Exception
) -> None:
    fill(spool, b"a", b"poison", b"c")
    done: list[bytes] = []

    def handle(record: Record) -> None:
        if record.body == b"poison":
            raise trouble
        done.append(record.body)

    for _ in range(ATTEMPTS - 1):
        with pytest.raises(Unavailable):
            spool.ingest(handle)
    assert spool.ingest(handle) == Ingested(records=2, refused=1)
    assert done == [b"a"] * ATTEMPTS + [b"c"] and spool.is_empty()
    (kept,) = (spool.home / "spool" / "damaged").iterdir()
    assert whole(kept.read_bytes()) == [b"poison"] and kept.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("lost", [1, 10, 60])
def test_a_torn_record_costs_itself_only(spool: Spool, lost: int) -> None:
    file = fill(spool, b"a" * 50)
    os.truncate(file, file.stat().st_size - lost)
    spool.append(IDS[1], "codex", b"b")
    found: list[Record] = []
    assert spool.ingest(found.append) == Ingested(records=1, damaged=1)
    assert [record.body for record in found] == [b"b"]
    assert len(list((spool.home / "spool" / "damaged").iterdir())) == 1


@settings(max_examples=100, deadline=None)
@given(st.lists(st.binary(max_size=60), min_size=1, max_size=5), st.data())
def test_a_flipped_byte_costs_at_most_its_own_record(bodies: list[bytes], data: st.DataObject) -> None:
    """And never makes another event of it."""
    records = [offline.record(IDS[at], "codex", body) for at, body in enumerate(bodies)]
    text = bytearray(b"".join(records))
    place = data.draw(st.integers(0, len(text) - 1))
    text[place] ^= data.draw(st.integers(1, 255))
    hit = next(at for at in range(len(records)) if place < sum(map(len, records[: at + 1])))
    found = [(part.event_id, part.body) for part in parse(bytes(text)) if isinstance(part, Record)]
    assert found == [(IDS[at], body) for at, body in enumerate(bodies) if at != hit]


@settings(max_examples=50, deadline=None)
@given(st.binary(max_size=300))
def test_whatever_lies_in_the_file_is_accounted_for(data: bytes) -> None:
    record = offline.record(IDS[0], "codex", b"{}")
    parts = list(parse(data + record))
    assert parts[-1] == Record(IDS[0], "codex", b"{}")
    assert b"".join(part.data for part in parts[:-1] if isinstance(part, Damaged)) == data


def test_a_disk_that_is_full_leaves_no_half_record(spool: Spool, monkeypatch: pytest.MonkeyPatch) -> None:
    file = fill(spool, b"a")
    before = file.read_bytes()
    monkeypatch.setattr(offline, "MAX_SPOOL", len(before) + 10)
    with pytest.raises(Unavailable):
        spool.append(IDS[1], "codex", b"b")
    assert file.read_bytes() == before
    words = f"ulimit -f 1; exec {sys.executable} -I -S -B {CLIENT} codex {spool.home}"  # 1,024 bytes per file
    (spool.home / "spool" / "starting").touch()
    done = subprocess.run(["bash", "-c", words], input=b"x" * 2_000, capture_output=True)
    assert done.returncode == 0 and file.read_bytes() == before


def test_a_link_in_place_of_the_spool_is_not_followed(spool: Spool, tmp_path: Path) -> None:
    (tmp_path / "spool").mkdir()
    (tmp_path / "target").touch()
    (tmp_path / "spool" / "events.spool").symlink_to(tmp_path / "target")
    with pytest.raises(Unavailable):
        spool.append(IDS[0], "codex", b"secret")
    assert (tmp_path / "target").read_bytes() == b""


def test_a_thread_does_not_take_the_file_while_another_one_writes(
    spool: Spool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Locks of files do not keep threads of one process apart."""
    is_still = offline.is_still
    met: list[Ingested] = []

    def looks_and_is_overtaken(file: int, path: str) -> bool:
        monkeypatch.setattr(offline, "is_still", is_still)
        reader = threading.Thread(target=lambda: met.append(spool.ingest(lambda record: None)))
        reader.start()
        reader.join()
        return True

    fill(spool, b"first")
    monkeypatch.setattr(offline, "is_still", looks_and_is_overtaken)
    spool.append(IDS[1], "codex", b"second")
    assert met == [Ingested()]
    assert [record.body for record in spooled(spool.home)] == [b"first", b"second"]


def test_two_that_come_first_both_make_the_folder(spool: Spool, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = offline._make

    def overtaken(folder: str) -> None:
        opened(folder)  # by somebody else
        opened(folder)

    monkeypatch.setattr(offline, "_make", overtaken)
    fill(Spool(spool.home / "new"), b"first")
    assert len(spooled(spool.home / "new")) == 1


def test_a_folder_that_leads_nowhere_is_given_up(spool: Spool, monkeypatch: pytest.MonkeyPatch) -> None:
    (spool.home / "spool").symlink_to("nowhere")
    with pytest.raises(Unavailable):
        spool.append(IDS[0], "codex", b"x")


def test_writers_and_a_reader_in_one_process_lose_nothing(spool: Spool) -> None:
    found: Counter[bytes] = Counter()
    writers = [threading.Thread(target=_write_some, args=(spool, name)) for name in ("x", "y")]
    for writer in writers:
        writer.start()
    while any(writer.is_alive() for writer in writers):
        spool.ingest(lambda record: found.update([record.body]))
    spool.ingest(lambda record: found.update([record.body]))
    assert found == Counter({f"{name}{at}".encode(): 1 for name in ("x", "y") for at in range(20)})


def _write_some(spool: Spool, name: str) -> None:
    for at in range(20):
        spool.append(IDS[at], "codex", f"{name}{at}".encode())


# -- processes ---------------------------------------------------------------------------------------

# Appends one record, and before one step of it says so and waits for a line.
SLOW = f"""
import sys
sys.path.insert(0, {str(Path(offline.__file__).parent)!r})
import offline, posix
home, module, name = sys.argv[1:]
step = getattr(sys.modules[module], name)
def slowly(*words):
    posix.write(1, b"here\\n")
    posix.read(0, 1)
    setattr(sys.modules[module], name, step)
    return step(*words)
setattr(sys.modules[module], name, slowly)
offline.append(home, offline.record("f" * 32, "codex", b"slow"))
"""


@pytest.fixture
def slow_writer(spool: Spool) -> Iterator[Callable[[str, str], subprocess.Popen[bytes]]]:
    """Starts a writer that stops at a step of a module until it is written to."""
    fill(spool, b"first")
    with ExitStack() as started:

        def start(module: str, step: str) -> subprocess.Popen[bytes]:
            words = [sys.executable, "-I", "-S", "-c", SLOW, str(spool.home), module, step]
            writer = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            assert started.enter_context(writer).stdout
            assert writer.stdout and writer.stdout.readline() == b"here\n"
            return writer

        yield start


def test_a_reader_leaves_the_file_to_a_writer_that_is_in_it(spool: Spool, slow_writer: Callable[..., Any]) -> None:
    """It waits for nobody: the writer may have been stopped by its user."""
    writer = slow_writer("offline", "is_still")  # by now it has the lock
    assert spool.ingest(lambda record: None) == Ingested() and not spool.is_empty()
    writer.communicate(b"\n")
    assert [record.body for record in spooled(spool.home)] == [b"first", b"slow"]


def test_another_writer_does_not_wait_for_one_that_stopped_for_ever(
    spool: Spool, slow_writer: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = slow_writer("offline", "is_still")
    monkeypatch.setattr(offline, "LOCK_ATTEMPTS", 5)
    with pytest.raises(Unavailable):
        spool.append(IDS[3], "codex", b"in vain")
    writer.communicate(b"\n")
    assert [record.body for record in spooled(spool.home)] == [b"first", b"slow"]


def test_a_writer_that_waited_while_its_file_was_taken_writes_into_the_new_one(
    spool: Spool, slow_writer: Callable[..., Any]
) -> None:
    writer = slow_writer("posix", "lockf")  # by now it has the file open
    assert [record.body for record in spooled(spool.home)] == [b"first"]
    writer.communicate(b"\n")
    assert [record.body for record in spooled(spool.home)] == [b"slow"]


# Appends numbers by the client's code until it is told to stop, and prints each one that is in the file.
WRITER = f"""
import sys
sys.path.insert(0, {str(Path(offline.__file__).parent)!r})
import offline, posix
home, name = sys.argv[1:]
at = 0
while "stop" not in posix.listdir(home):
    body = b"%s.%d" % (name.encode(), at)
    posix.close(offline.append(home, offline.record(posix.urandom(16).hex(), "codex", body * 30)))
    posix.write(1, body + b"\\n")
    sys.modules["time"].sleep(0.001)
    at += 1
"""
# Reads until it is killed, and prints each record that it was handed: that stands for the store.
READER = """
import os, sys, pathlib
from clew.surfaces.hooks.spool import Spool
spool = Spool(pathlib.Path(sys.argv[1]))
while True:
    spool.ingest(lambda record: os.write(1, b"%s %s\\n" % (record.event_id.encode(), record.body)))
"""


@dataclass
class Crowd:
    """Writers and a reader of one home, each killed now and then; what they say goes to files."""

    home: Path
    kills: int = 0
    writers: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def write(self, name: str) -> None:
        words = [sys.executable, "-I", "-S", "-c", WRITER, str(self.home), name]
        with (self.home / f"{name}.said").open("wb") as said:
            self.writers[name] = subprocess.Popen(words, stdout=said)

    def kill_writer(self, name: str) -> None:
        self.writers[name].kill()
        self.writers.pop(name).wait()
        self.kills += 1

    def read_and_be_killed(self) -> None:
        """Killed once it has handed over something more, wherever it is by then."""
        with (self.home / "handed").open("ab") as handed:
            size = handed.seek(0, os.SEEK_END)
            reader = subprocess.Popen([sys.executable, "-c", READER, str(self.home)], stdout=handed)
            until(lambda: (self.home / "handed").stat().st_size > size, seconds=60)
            reader.kill()
            reader.wait()

    def stop(self) -> None:
        (self.home / "stop").touch()
        for writer in self.writers.values():
            assert writer.wait(60) == 0

    def written(self) -> set[bytes]:
        return {line for file in self.home.glob("*.said") for line in file.read_bytes().split(b"\n")[:-1]}

    def known(self) -> dict[bytes, bytes]:
        """By event id, as a store keeps them: a record may be handed over again after a kill."""
        lines = (self.home / "handed").read_bytes().split(b"\n")
        known = dict(line.split(b" ", 1) for line in lines if len(line) > 33)
        known |= {record.event_id.encode(): record.body for record in spooled(self.home)}
        return {event_id: body[: len(body) // 30] for event_id, body in known.items()}


@pytest.mark.parametrize(
    ("writers", "rounds"), [(2, 3), pytest.param(12, 60, marks=pytest.mark.torture)], ids=["small", "many"]
)
def test_writers_and_readers_that_are_killed_lose_and_repeat_nothing(
    tmp_path: Path, writers: int, rounds: int
) -> None:
    crowd = Crowd(tmp_path)
    for at in range(writers):
        crowd.write(f"w{at}")
    for at in range(rounds):
        crowd.read_and_be_killed()
        crowd.kill_writer(next(iter(crowd.writers)))
        crowd.write(f"again{at}")
    crowd.stop()
    written, known = crowd.written(), crowd.known()
    assert len(written) > rounds and written <= set(known.values())
    assert len(known) == len(set(known.values())) <= len(written) + crowd.kills  # killed before saying so
    assert not (tmp_path / "spool" / "damaged").exists()

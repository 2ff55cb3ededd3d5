"""What the disk refuses has one code for one cause, however SQLite puts it."""

from __future__ import annotations

import errno
import tempfile
from pathlib import Path

import apsw
import pytest

from clew.errors import Unavailable
from clew.store.sqlite_errors import sqlite_translated, translated

WITHOUT_SPACE = ["ENOSPC", "EDQUOT", "EFBIG"]


def failed(code: int, kind: type[apsw.Error] = apsw.IOError) -> apsw.Error:
    error = kind("disk I/O error")
    error.extendedresult = code
    return error


def told(path: Path, error: Exception) -> Unavailable:
    with pytest.raises(Unavailable) as caught, translated(path):
        raise error
    return caught.value


@pytest.fixture
def full(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    class Full:
        """A file on a disk without space."""

        def __init__(self, **_how: object) -> None:
            pass

        def __enter__(self) -> Full:
            return self

        def __exit__(self, *_trouble: object) -> None:
            pass

        def seek(self, _to: int) -> None:
            pass

        def write(self, _bytes: bytes) -> int:
            raise OSError(getattr(errno, request.param), "no space")

    monkeypatch.setattr(tempfile, "TemporaryFile", Full)


@pytest.mark.usefixtures("full")
@pytest.mark.parametrize("full", WITHOUT_SPACE, indirect=True)
@pytest.mark.parametrize("code", [apsw.SQLITE_IOERR_WRITE, apsw.SQLITE_IOERR_FSYNC, apsw.SQLITE_IOERR_SHMSIZE])
def test_a_write_that_fails_for_want_of_space_is_a_full_disk(tmp_path: Path, code: int) -> None:
    error = told(tmp_path / "clew.db", failed(code))
    assert error.code == "DISK_FULL" and error.next.startswith("free some disk space")
    assert ("even to read" in error.message) == (code == apsw.SQLITE_IOERR_SHMSIZE)


@pytest.mark.usefixtures("full")
@pytest.mark.parametrize("full", ["ENOSPC"], indirect=True)
def test_a_read_that_fails_is_no_matter_of_space(tmp_path: Path) -> None:
    assert told(tmp_path / "clew.db", failed(apsw.SQLITE_IOERR_READ)).code == "STORE_IO"


@pytest.mark.usefixtures("full")
@pytest.mark.parametrize("full", ["ENOSPC"], indirect=True)
def test_a_log_that_finds_no_room_is_a_full_disk(tmp_path: Path) -> None:
    assert told(tmp_path / "clew.db", failed(apsw.SQLITE_CANTOPEN, apsw.CantOpenError)).code == "DISK_FULL"


def test_a_disk_with_room_that_fails_is_told_as_such_and_nothing_stays_beside_the_store(tmp_path: Path) -> None:
    with pytest.raises(Unavailable) as caught, sqlite_translated(tmp_path / "clew.db"):
        raise failed(apsw.SQLITE_IOERR_WRITE)
    assert (caught.value.code, list(tmp_path.iterdir())) == ("STORE_IO", [])
    assert told(tmp_path / "clew.db", failed(apsw.SQLITE_CANTOPEN, apsw.CantOpenError)).code == "STORE_READ_ONLY"


@pytest.mark.parametrize("name", WITHOUT_SPACE)
def test_what_the_system_says_of_space_is_a_full_disk(tmp_path: Path, name: str) -> None:
    assert told(tmp_path / "clew.db", OSError(getattr(errno, name), "no space")).code == "DISK_FULL"

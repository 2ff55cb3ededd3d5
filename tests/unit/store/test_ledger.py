"""Leases end by the database's clock, which here says what it is told."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from clew.errors import Conflict
from clew.store import queries
from clew.store.ledger import Leases
from clew.store.sqlite import connect, open_engine
from clew.store.sqlite_session import Session

At = Callable[[float], Leases]
START = 1_000.0


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[apsw.Connection]:
    open_engine(tmp_path / "clew.db").close()
    with closing(connect(tmp_path / "clew.db")) as connection:
        yield connection


@pytest.fixture
def at(connection: apsw.Connection) -> At:
    """The leases as a transaction sees them so many seconds after the start."""
    named = queries.load("sqlite")
    return lambda seconds: Leases(
        Session(connection, named | {"clock": f"SELECT {int((START + seconds) * 1_000_000)}"})
    )


def test_the_clock_of_the_database_counts_microseconds(connection: apsw.Connection) -> None:
    session = Session(connection, queries.load("sqlite"))
    before, now = session.connection.execute("SELECT unixepoch()").get, session.value("clock")
    assert 0 <= now // 1_000_000 - before <= 1


def test_a_lease_keeps_others_out_until_its_last_moment(at: At) -> None:
    assert at(0).claim("o", "job", holder="a", ttl_s=10) == 1
    assert at(9.999).claim("o", "job", holder="b", ttl_s=10) is None
    assert at(10).claim("o", "job", holder="b", ttl_s=10) == 2


def test_a_lease_that_was_renewed_runs_from_then(at: At) -> None:
    token = at(0).claim("o", "job", holder="a", ttl_s=10) or 0
    at(9).renew("o", "job", token, ttl_s=10)
    assert at(18).claim("o", "job", holder="b", ttl_s=10) is None
    at(18.5).finish("o", "job", token)


def test_a_lease_that_ran_out_cannot_be_renewed_even_if_nobody_took_it(at: At) -> None:
    token = at(0).claim("o", "job", holder="a", ttl_s=10) or 0
    with pytest.raises(Conflict):
        at(10).renew("o", "job", token, ttl_s=10)


def test_a_clock_that_goes_back_frees_no_lease_and_repeats_no_token(at: At) -> None:
    first = at(100).claim("o", "job", holder="a", ttl_s=10) or 0
    assert at(50).claim("o", "job", holder="b", ttl_s=10) is None
    assert (at(50).claim("o", "other", holder="b", ttl_s=10) or 0) > first


def test_a_failure_counts_the_attempts_until_someone_finishes(at: At) -> None:
    attempts = []
    for _ in range(3):
        token = at(0).claim("o", "job", holder="a", ttl_s=10) or 0
        attempts.append(at(1).fail("o", "job", token, "it broke"))
    assert attempts == [1, 2, 3]
    at(1).finish("o", "job", at(1).claim("o", "job", holder="b", ttl_s=10) or 0)
    token = at(1).claim("o", "job", holder="a", ttl_s=10) or 0
    assert at(1).fail("o", "job", token, "again") == 1

"""Dates as benchmark files write them."""

from __future__ import annotations

import sys
from datetime import UTC, datetime, timedelta
from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.bench.dates import when

DAY = datetime(2024, 3, 15, tzinfo=UTC)
READ = {
    "2024-05-01T12:00:00+02:00": datetime(2024, 5, 1, 10, tzinfo=UTC),
    "2024-05-01 12:00": datetime(2024, 5, 1, 12, tzinfo=UTC),
    "2024-03-15T25:00": None,
    "1710460800": DAY,
    "1710460800.5": DAY + timedelta(seconds=0.5),
    "1710460800000": DAY,
    "20240315": DAY,
    "20240315T101500Z": DAY + timedelta(hours=10, minutes=15),
    "March-15-2024": DAY,
    "15-Mar-2024": DAY,
    "2024/03/15": DAY,
    "2024/03/15 10:00": DAY + timedelta(hours=10),
    "March 15, 2024": DAY,
    "Mar. 15, 2024": DAY,
    "15 Mar 2024": DAY,
    "15 March 2024": DAY,
    "15.03.2024": DAY,
    "the 15th of March 2024": DAY,
    "1:56 pm on 8 May, 2023": datetime(2023, 5, 8, 13, 56, tzinfo=UTC),
    "12:00 am 15 March 2024": DAY,
    "12:30 p.m. on March 15, 2024": DAY + timedelta(hours=12, minutes=30),
    "13:00 pm 15 March 2024": None,
    "Fri Mar 15 10:00:05 2024": DAY + timedelta(hours=10, seconds=5),
    "Fri, 15 Mar 2024 10:00:00 +0200": DAY + timedelta(hours=8),
    "2024-03-15 10:00:00 UTC": DAY + timedelta(hours=10),
    "03/15/2024": DAY,
    "15/03/2024": DAY,
    "03/04/2024": None,
    "03/03/2024": datetime(2024, 3, 3, tzinfo=UTC),
    "May 2023": None,
    "2024-02-30": None,
    "0001-01-01T00:00:00+05:00": None,
    "1.5": None,
    "the other day": None,
    "": None,
    None: None,
}


@pytest.mark.parametrize(("told", "at"), READ.items(), ids=map(str, READ))
def test_dates_are_read_as_the_files_tell_them(told: str | None, at: datetime | None) -> None:
    assert when(told) == at


@given(st.datetimes(datetime(1975, 1, 1), datetime(2099, 12, 31)), st.sampled_from(["%d %B %Y %H:%M", "%c", "%s"]))
def test_what_is_written_is_read(moment: datetime, form: str) -> None:
    written = moment.replace(microsecond=0, tzinfo=UTC)
    text = str(int(written.timestamp())) if form == "%s" else written.strftime(form)
    assert when(text) == written.replace(second=0 if form.endswith("%M") else written.second)


@given(st.text(max_size=40))
def test_no_text_fails(text: str) -> None:
    assert when(text) is None or when(text).tzinfo is UTC  # type: ignore[union-attr]


def test_the_peers_read_them_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[3] / "tools" / "peers"))
    units = import_module("units")
    del sys.modules["units"]  # the name is not ours
    assert {told: units.when(told) for told in READ} == READ

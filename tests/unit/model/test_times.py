"""Times survive the store and JSON, and people may write them in several ways."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.errors import InvalidInput
from clew.model.times import from_micros, parse_time, to_micros, to_rfc3339, zoned

MOMENTS = st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1), timezones=st.just(UTC))
NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)


@given(MOMENTS)
def test_a_moment_survives_the_store_to_the_microsecond(moment: datetime) -> None:
    assert from_micros(to_micros(moment)) == moment


@given(MOMENTS, st.integers(-12, 14))
def test_a_moment_survives_json_to_the_millisecond_whatever_its_zone(moment: datetime, hours: int) -> None:
    text = to_rfc3339(moment.astimezone(timezone(timedelta(hours=hours))))
    assert text.endswith("Z")
    assert parse_time(text) == moment.replace(microsecond=moment.microsecond // 1000 * 1000)


@given(MOMENTS, MOMENTS)
def test_micros_keep_the_order_of_time(one: datetime, other: datetime) -> None:
    assert (to_micros(one) < to_micros(other)) == (one < other)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-05-01", datetime(2026, 5, 1, tzinfo=UTC)),
        ("2026-05-01T12:00:00Z", NOON),
        ("  2026-05-01T14:00:00+02:00 ", NOON),
        ("90s", NOON - timedelta(seconds=90)),
        ("5m", NOON - timedelta(minutes=5)),
        ("3 h", NOON - timedelta(hours=3)),
        ("7d", NOON - timedelta(days=7)),
        ("2w", NOON - timedelta(weeks=2)),
    ],
)
def test_people_may_write_a_moment_or_an_age(text: str, expected: datetime) -> None:
    assert parse_time(text, now=NOON) == expected


@pytest.mark.parametrize("text", ["", "soon", "2026-13-01", "7x", "0001-01-01T00:00:00+14:00", "999999w", "٣d٣"])
def test_anything_else_is_refused_as_input(text: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        parse_time(text, now=NOON)
    assert refused.value.code == "TIME_INVALID" and "7d" in str(refused.value.next)


def test_an_age_needs_a_now() -> None:
    with pytest.raises(InvalidInput):
        parse_time("7d")


EDGES = (
    datetime.min.replace(tzinfo=timezone(timedelta(hours=5))),
    datetime.max.replace(tzinfo=timezone(-timedelta(hours=5))),
)


@pytest.mark.parametrize("moment", [datetime(2026, 1, 1), "2026-01-01", "", 5, *EDGES], ids=str)
def test_a_time_without_a_zone_or_a_place_in_the_calendar_is_refused_by_name(moment: Any) -> None:
    with pytest.raises(InvalidInput, match="since ") as refused:
        zoned("since", moment)
    assert refused.value.code == "TIME_INVALID"


def test_a_time_with_a_zone_is_told_in_utc() -> None:
    assert zoned("since", NOON.astimezone(timezone(timedelta(hours=5)))) == NOON
    assert zoned("since", None) is None

"""Times: aware UTC in Python, integer microseconds in SQLite, timestamptz in PostgreSQL, RFC 3339 with
milliseconds in JSON."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from clew.errors import InvalidInput

CLOCK_SLACK = timedelta(minutes=5)  # how far the clocks of those who share a store may be apart
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST = datetime.min.replace(tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_AGO = re.compile(r"(\d{1,6})\s*([smhdw])")
_UNIT_S = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}


class Micros(int):
    """Microseconds since 1970: a number that says it is a time, for engines that have a type for times."""

    __slots__ = ()

    def after(self, seconds: float) -> Micros:
        """So many seconds later, or earlier if less than 0: still a time, which a sum is not."""
        return Micros(self + int(seconds * 1e6))


FIRST, LAST = Micros(0), Micros(253_402_300_799_000_000)  # 1970 and 9999: before and after all that is kept


def to_micros(moment: datetime) -> Micros:
    return Micros((moment - _EPOCH) // _MICROSECOND)


@lru_cache(4_096)  # a recall reads dozens of times, and the memories of one batch share theirs
def from_micros(micros: int) -> datetime:
    return _EPOCH + timedelta(0, 0, micros)


def zoned(name: str, moment: datetime | None) -> datetime | None:
    """A time that a caller gives, in UTC, as everything here tells it; refused if it is none, or has no zone."""
    if moment is None:
        return None
    if not isinstance(moment, datetime) or moment.utcoffset() is None:
        raise InvalidInput(
            f"{name} is not a time with a zone",
            code="TIME_INVALID",
            next="pass an aware datetime, such as datetime.now(UTC)",
        )
    try:
        return moment if moment.tzinfo is UTC else moment.astimezone(UTC)
    except OverflowError:
        raise InvalidInput(f"{name} lies outside the calendar", code="TIME_INVALID", next="correct it") from None


def earlier(moment: datetime, by: timedelta) -> datetime:
    """So much before a moment, or the first one there is."""
    return moment - by if moment - _FIRST > by else _FIRST


def to_rfc3339(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def parse_time(text: str, *, now: datetime | None = None) -> datetime:
    """Read RFC 3339 (a date alone is midnight UTC); with `now`, also an age such as `7d`."""
    ago = _AGO.fullmatch(text.strip()) if now else None
    try:
        if ago and now:
            return now - timedelta(seconds=int(ago[1]) * _UNIT_S[ago[2]])
        moment = datetime.fromisoformat(text.strip())
        moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        raise InvalidInput(
            f"'{text[:40]}' is not a time",
            code="TIME_INVALID",
            next="write it as 2026-05-01T12:00:00Z or 2026-05-01" + (", or a span such as 7d" if now else ""),
        ) from None
    return moment

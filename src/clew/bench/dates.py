"""When something was said, as benchmark files tell it. Nothing but the standard library: tools/peers reads dates by
this file too, in environments without Clew.

ISO 8601, seconds and milliseconds since 1970, and the common ways to write a date in English, with or without a
time of day before or after it. A date that could be two is none: 03/04/2024 is in March or in April. So are a month
and a year without their day.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta, timezone
from functools import lru_cache

_FORMS = (  # %B and %b as the texts have them once commas, weekdays and the ends of 1st and 2nd are gone
    "%Y-%m-%d", "%Y/%m/%d", "%d.%m.%Y",
    "%d %B %Y", "%d %b %Y", "%B %d %Y", "%b %d %Y",
    "%d-%B-%Y", "%d-%b-%Y", "%B-%d-%Y", "%b-%d-%Y",
    "%m/%d/%Y", "%d/%m/%Y",
)  # fmt: skip
_SECONDS = re.compile(r"\d{9,10}(?:\.\d+)?")
_MILLISECONDS = re.compile(r"\d{12,13}")
_CLOCK = re.compile(
    r"(?<!\S)(?P<hour>\d{1,2}):(?P<minute>\d\d)(?::(?P<second>\d\d)(?:\.\d+)?)?"
    r"(?:\s*(?P<half>[ap])\.?m\b\.?)?(?:\s*(?P<zone>Z|UTC|GMT|[+-]\d\d:?\d\d))?(?![\w:])",
    re.IGNORECASE,
)
_AROUND = re.compile(
    r"\b(?:on|at|of|the|(?:mon|tues|wednes|thurs|fri|satur|sun)day|mon|tue|wed|thu|fri|sat|sun)\b"
    r"|(?<=\d)(?:st|nd|rd|th)\b|(?<=[a-z])\.|,",
    re.IGNORECASE,
)


@lru_cache(maxsize=4096)  # many units of a file were said on the same day
def when(text: str | None) -> datetime | None:
    """A moment as the files tell it; UTC where they do not say. None where it is not told, or not understood."""
    text = (text or "").strip()
    try:
        return since_1970(text) or _iso(text) or _written(text)
    except (ValueError, OverflowError):
        return None


def since_1970(text: str) -> datetime | None:
    """What counts seconds or milliseconds; eight digits are a date of ISO 8601."""
    if _MILLISECONDS.fullmatch(text):
        return datetime.fromtimestamp(int(text) / 1000, UTC)
    return datetime.fromtimestamp(float(text), UTC) if _SECONDS.fullmatch(text) else None


def _iso(text: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def _written(text: str) -> datetime | None:
    clock = _CLOCK.search(text)
    rest = text if clock is None else f"{text[: clock.start()]} {text[clock.end() :]}"
    day = _day(" ".join(_AROUND.sub(" ", rest).split()))
    if day is None:
        return None
    at, zone = _time(clock) if clock else (time(), UTC)
    return datetime.combine(day, at, zone).astimezone(UTC)


def _day(text: str) -> date | None:
    """The one day that the forms find in it."""
    found = set()
    for form in _FORMS:
        try:
            found.add(datetime.strptime(text, form).date())
        except ValueError:
            continue
    return found.pop() if len(found) == 1 else None


def _time(clock: re.Match[str]) -> tuple[time, timezone]:
    hour, half = int(clock["hour"]), (clock["half"] or "").lower()
    if half and not 1 <= hour <= 12:
        raise ValueError(clock.group())
    if half:
        hour = hour % 12 + (12 if half == "p" else 0)
    return time(hour, int(clock["minute"]), int(clock["second"] or 0)), _zone(clock["zone"] or "")


def _zone(text: str) -> timezone:
    if text[:1] not in ("+", "-"):
        return UTC
    sign = -1 if text[0] == "-" else 1
    return timezone(sign * timedelta(hours=int(text[1:3]), minutes=int(text[-2:])))

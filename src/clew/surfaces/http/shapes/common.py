"""The words that all shapes share: bounded texts, limits, moments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from clew.model.scope import AcrossProjects, Scope
from clew.model.times import parse_time
from clew.surfaces.http.route import MAX_PAGE, Call, Limit


class Shape(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a request gives or an answer holds: just these fields. One that may be absent has a default."""


# Names that people choose may hold anything but line breaks; the verbs refuse the rest, with a code.
Name = Annotated[str, Meta(min_length=1, max_length=240)]
Id = Annotated[str, Meta(min_length=1, max_length=200)]
Line = Annotated[str, Meta(min_length=1, max_length=500)]
Text = Annotated[str, Meta(min_length=1, max_length=200_000)]
Query = Annotated[str, Meta(min_length=1, max_length=4_000)]
Token = Annotated[int, Meta(ge=0, le=2**53)]  # what every JSON reader can hold
Seq = Annotated[int, Meta(ge=0, le=2**53)]
Moment = Annotated[
    str,
    Meta(
        max_length=40,
        pattern=r"^([0-9]{1,6}[smhdw]|[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9:.]{5,15}(Z|[+-][0-9]{2}:[0-9]{2})?)?)$",
        description="RFC 3339 (2026-05-01T12:00:00Z), a date, or an age such as 7d",
    ),
]
When = Annotated[str, Meta(description="RFC 3339, UTC", extra_json_schema={"format": "date-time"})]
Maybe = UnsetType  # a field that is left out when there is nothing to say
ABSENT: Any = UNSET


class OfProject(Shape, frozen=True, kw_only=True):
    """Where a call looks. The org comes from the credential alone."""

    project: Name | None = None
    user: Name | None = None


class Limited(Shape, frozen=True, kw_only=True):
    limit: Limit = 20


class AnyOrg(Shape, frozen=True, kw_only=True):
    """Another org than that of the credential is for operators."""

    org: Name | None = None


class Since(Shape, frozen=True, kw_only=True):
    since: Moment | None = None


class DryRun(Shape, frozen=True, kw_only=True):
    """`dry_run`: tell what would happen, and change nothing."""

    dry_run: bool = False


def narrowed(call: Call, given: Any) -> Scope | None:
    """Where an id is looked for: the whole org, unless a project or user narrows it. A user alone does so in every
    project."""
    if given.project:
        return call.scope(given)
    return AcrossProjects(org=call.identity.org, user=given.user) if given.user else None


def moment(call: Call, text: str | None) -> datetime | None:
    return None if text is None else parse_time(text, now=call.clew.now())


def given(body: Shape, *names: str) -> dict[str, Any]:
    """The fields that a request names, of these: what it leaves out stays as it is."""
    return {name: value for name in names if (value := getattr(body, name)) is not UNSET}


def next_page(found: Sequence[Any], limit: int, cursor: Callable[[Any], str]) -> dict[str, str]:
    """Where a list goes on, of which one more was asked for than is shown; the largest page cannot tell."""
    more = len(found) > limit or len(found) == limit == MAX_PAGE
    return {"next_cursor": cursor(found[limit - 1])} if more else {}

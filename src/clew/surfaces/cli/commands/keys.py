"""Keys of the API on the command line."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta

from clew.model.key import ApiKey, NewKey
from clew.model.times import parse_time
from clew.surfaces.cli.context import opened, settings_of
from clew.surfaces.cli.terminal import Style, answer, columns, one_line

DAY = timedelta(days=1)


def create(args: Namespace) -> None:
    with opened(settings_of(args)) as memory:
        made = memory.keys.create(
            args.name,
            org=args.org,
            user=args.user,
            agent=args.agent,
            roles=tuple(args.role or ()),
            expires=_end(args.expires),
        )
    answer(args, made.as_json(), lambda style: _made_lines(made, style))


def list_keys(args: Namespace) -> None:
    with opened(settings_of(args)) as memory:
        found = memory.keys.list(org=args.org, limit=args.limit + 1, cursor=args.cursor)
        now = memory.now()
    page = found[: args.limit]
    cursor = page[-1].id if len(found) > args.limit else None
    document = {"keys": [one.as_json() for one in page]} | ({"cursor": cursor} if cursor else {})
    answer(args, document, lambda style: _listing(page, cursor, now, style))


def revoke(args: Namespace) -> None:
    with opened(settings_of(args)) as memory:
        ended = memory.keys.revoke(args.id, org=args.org)
    answer(args, ended.as_json(), lambda style: [f"{style('green', 'revoked')} {_named(ended)}"])


def _end(text: str | None) -> datetime | None:
    """A time, or how long from now, such as 90d."""
    if text is None:
        return None
    now = datetime.now(UTC)
    moment = parse_time(text, now=now)
    return now + (now - moment) if _is_span(text) else moment


def _is_span(text: str) -> bool:
    return text.strip()[-1:].isalpha() and text.strip()[:-1].strip().isdigit()


def _made_lines(made: NewKey, style: Style) -> Iterator[str]:
    yield f"{style('green', 'created')} {_named(made.key)}"
    yield made.token
    yield "keep it now: it is not shown again. Clients take it as CLEW_TOKEN"
    if not made.is_of_member:
        user, org = one_line(made.key.user or ""), one_line(made.key.org)
        yield style("yellow", f"{user} is no member of {org}: clew org members {org} --add {user}")


def _listing(page: Sequence[ApiKey], cursor: str | None, now: datetime, style: Style) -> Iterator[str]:
    yield from columns([(one.id, one_line(one.name), _whose(one), _standing(one, now, style)) for one in page]) or [
        "no key was made: clew key create NAME --user USER"
    ]
    if cursor:
        yield f"more: clew key list --cursor {cursor}"


def _named(key: ApiKey) -> str:
    return f"{key.id} ({one_line(key.name)}): {_whose(key)}, in {one_line(key.org)}"


def _whose(key: ApiKey) -> str:
    names = [f"{kind} {one_line(name)}" for kind, name in (("user", key.user), ("agent", key.agent)) if name]
    return ", ".join((*names, *key.roles))


def _standing(key: ApiKey, now: datetime, style: Style) -> str:
    if key.revoked_at is not None:
        return style("red", "revoked")
    if not key.is_valid(now):
        return style("red", "expired")
    if key.expires_at is None:
        return "does not expire"
    return f"expires in {(key.expires_at - now) / DAY:.0f} d"

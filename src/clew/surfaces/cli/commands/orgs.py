"""Orgs on the command line: creating them, their members, and the way to them."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Sequence

from clew.model.org import ACTIVE_WORKSPACE, AUTO, Member, Routed, Routing
from clew.surfaces.cli.context import opened, settings_of
from clew.surfaces.cli.parser import usage
from clew.surfaces.cli.terminal import Style, answer, columns, one_line

_NOBODY = "(the owner of this machine)"
_WHO_FOLLOWS = (
    "commands on this machine keep working in 'local', and with a key in the org that it was made for; the routing "
    "is for programs that serve users: clew.orgs.enter(project, identity=...) tells them where to work"
)

_LED_AWAY = ("mapping", "slug", ACTIVE_WORKSPACE)  # from one's own org


def create(args: Namespace) -> None:
    with opened(settings_of(args)) as memory:
        org = memory.orgs.create(args.name, slug=args.slug, id=args.id, owner=args.owner)
    told = f"projects of github.com/{org.slug} lead to it, for its members: clew org members {one_line(org.id)}"
    created = one_line(org.id)
    answer(args, org.as_json(), lambda style: [f"{style('green', 'created')} {created}", told, _WHO_FOLLOWS])


def members(args: Namespace) -> None:
    if args.add is not None and args.remove is not None:
        raise usage("--add and --remove exclude each other", "give one of them")
    if args.role is not None and args.add is None:
        raise usage("--role is for --add", "say who: --add USER --role ROLE")
    with opened(settings_of(args)) as memory:
        if args.add is not None:
            memory.orgs.add_member(args.org, args.add or None, args.role or "member")
        if args.remove is not None:
            memory.orgs.remove_member(args.org, args.remove or None)
        found = memory.orgs.members(args.org)
    document = {"org": args.org, "members": [one.as_json() for one in found]}
    answer(args, document, lambda style: columns(_member_rows(found)))


def map_owner(args: Namespace) -> None:
    if args.owner is None and args.remove:
        raise usage("no owner is named", "say which: clew org map OWNER --remove")
    if args.owner is not None and args.remove == (args.org is not None):
        raise usage(
            "an owner is mapped to an org, or removed", "clew org map OWNER ORG, or clew org map OWNER --remove"
        )
    with opened(settings_of(args)) as memory:
        if args.owner is None:
            found = memory.orgs.routing(user=args.user)
        elif args.remove:
            found = memory.orgs.unmap(args.owner, user=args.user)
        else:
            found = memory.orgs.map(args.owner, args.org, user=args.user)
    answer(args, {"mappings": found.as_json()["mappings"]}, lambda style: _mapping_lines(found))


def route(args: Namespace) -> None:
    with opened(settings_of(args)) as memory:
        routed = memory.orgs.route(args.project, user=args.user)
    answer(args, {"project": args.project, **routed.as_json()}, lambda style: _routed_lines(routed, style))


def use(args: Namespace) -> None:
    with opened(settings_of(args)) as memory:
        if args.org is None and not args.auto:
            found = memory.orgs.routing(user=args.user)
        else:
            found = memory.orgs.use(args.org, mode=AUTO if args.auto else ACTIVE_WORKSPACE, user=args.user)
    answer(args, found.as_json(), lambda style: [*_routing_lines(found), _WHO_FOLLOWS])


def _member_rows(found: Sequence[Member]) -> Iterator[tuple[str, str]]:
    for one in found:
        yield _NOBODY if one.user is None else one_line(one.user), one.role


def _mapping_lines(found: Routing) -> list[str]:
    rows = ((owner, f"-> {one_line(org)}{_unused(found, org)}") for owner, org in found.mappings)
    return columns(rows) or ["no owner is mapped: clew org map OWNER ORG"]


def _unused(found: Routing, org: str) -> str:
    return "" if found.member_of(org) else "  (not used: no member)"


def _routed_lines(routed: Routed, style: Style) -> Iterator[str]:
    org = one_line(routed.org)
    yield f"{style('bold', org)}  {routed.reason}: {one_line(routed.words)}"
    yield from (f"  passed over: {one_line(words)}" for words in routed.passed)
    if routed.reason in _LED_AWAY:
        yield f"  commands and hooks go there with a key that it gave: clew key create NAME --org {org} --user USER"


def _routing_lines(found: Routing) -> list[str]:
    active = "the personal one" if found.active is None else one_line(found.active) + _unused(found, found.active)
    by_owner = "by the owner of the project" if found.mode == AUTO else "always the active org"
    rows = [("mode", f"{found.mode}: {by_owner}"), ("active org", active)]
    rows += [("member of", f"{one_line(one.org)} ({one.role})") for one in found.memberships]
    return columns(rows + [("mapped", line) for line in _mapping_lines(found) if found.mappings])

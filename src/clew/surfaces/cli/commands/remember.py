"""Write: remember, edit, history, revert."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from clew.errors import InvalidInput
from clew.model.address import is_shared
from clew.model.memory import Draft, Memory, Remembered
from clew.model.org import LOCAL, PERSONAL_PREFIX
from clew.model.scope import Scope
from clew.model.times import parse_time
from clew.settings import Settings
from clew.surfaces.cli import labels, render
from clew.surfaces.cli.commands.filters import check_not_blank
from clew.surfaces.cli.commands.jobs import after_write
from clew.surfaces.cli.context import json_object, moment, opened, scope_of, scope_of_id, settings_of, text_of
from clew.surfaces.cli.parser import usage
from clew.surfaces.cli.terminal import Style, answer, flush, one_line, style
from clew.wire.address import is_address

if TYPE_CHECKING:
    from clew import Clew

ROUTE_S = 1.0  # at most, for a note on where else it could have gone


def _to_come(text: str) -> datetime:
    """What is over already would be in no answer."""
    end = parse_time(text)
    if end <= datetime.now(UTC):
        raise InvalidInput(
            f"'{text[:40]}' has passed already",
            code="MEMORY_EXPIRES_EARLY",
            next="give a time to come, or end it now with: clew forget",
        )
    return end


# Option to field of a memory, and how its words are read. Absent options change nothing. An age such as 7d
# lies in the past, so it is no way to say when something ends.
_PLAIN = ("type", "layer", "title", "category", "author", "thread", "confidence", "weight", "classification",
          "upsert_key", "origin", "supersedes")  # fmt: skip
_LISTS = {"tag": "tags", "path": "paths", "parent": "parents"}
_TIMES: dict[str, Callable[[str], datetime | None]] = {
    "at": moment,
    "valid_at": moment,
    "invalid_at": parse_time,
    "expires_at": _to_come,
}


def remember(args: Namespace) -> None:
    settings = settings_of(args)
    scope = _place_of(args, settings)
    for name in ("tag", "path"):
        check_not_blank(name, getattr(args, name))
    draft = Draft(content=text_of(args.text, settings), **_fields(args))
    with opened(settings) as memory:
        stored = memory.remember(draft, scope=scope)
        far = is_address(settings.store.url)
        ask = partial(_routed_elsewhere, memory, stored) if far or is_shared(settings.store.url) else lambda: None
        routed = ask() if args.json else None
        told = partial(_told_new, stored, args.classification, is_elsewhere=far)
        answer(args, stored.as_json() | ({"routed_to": routed} if routed else {}), told)
        if not args.json:
            flush()  # what was written is told, however long the rest may take
            _tell_route(stored, ask())
        after_write(memory)


def _routed_elsewhere(memory: Clew, stored: Remembered) -> str | None:
    """The org that the routing names for the project of what was written into one's own: it did not go there. What
    was written is, whether or not this can be asked."""
    org, project = stored.memory.org, stored.memory.project
    if not project or not (org == LOCAL or org.startswith(PERSONAL_PREFIX)):
        return None
    with suppress(Exception):
        routed = _hurried(memory).orgs.route(project).org
        return None if routed == org else routed
    return None


def _hurried(memory: Clew) -> Clew:
    from clew.wire.client import RemoteClew

    return memory.answering_within(ROUTE_S) if isinstance(memory, RemoteClew) else memory


def _tell_route(stored: Remembered, routed: str | None) -> None:
    if routed:
        own, there = one_line(stored.memory.org), one_line(routed)
        print(style()("yellow", f"kept in '{own}', though the routing leads this project to '{there}'"))
        print(f"to work there use a key that it gave: clew key create NAME --org {there} --user USER")


def _place_of(args: Namespace, settings: Settings) -> Scope | None:
    """None where nobody named any, in a Clew that many may use: then it is for the token's user alone."""
    place = scope_of(args, settings)
    scope = replace(place, agent=args.agent, session=args.session, namespace=args.namespace)
    is_named = scope != Scope() or args.no_project
    return None if is_address(settings.store.url) and not is_named else scope


def edit(args: Namespace) -> None:
    settings = settings_of(args)
    changes = _fields(args)
    if args.content is not None:
        changes["content"] = text_of(args.content, settings)
    if not changes:
        raise usage(
            "nothing to change was given",
            "name it by options such as --content, --type or --tag: clew edit --help lists them",
        )
    with opened(settings) as memory:
        before = memory.show(args.id, scope=scope_of_id(args))
        edited = memory.edit(args.id, scope=scope_of_id(args), expected_version=args.version, **changes)
        document = edited.as_json() | {"changed": edited.version != before.version}
        answer(args, document, partial(_told_edit, before, edited, changes.get("classification")))
        after_write(memory)


def _told_new(stored: Remembered, asked: str | None, style: Style, *, is_elsewhere: bool) -> Iterator[str]:
    yield from render.remembered(stored, style, is_elsewhere=is_elsewhere)
    yield from (style("yellow", line) for line in labels.of_new(stored, asked))


def _told_edit(before: Memory, now: Memory, asked: str | None, style: Style) -> Iterator[str]:
    if now.version == before.version:
        yield f"nothing changed: {now.id} is as it was (version {now.version})"
    else:
        yield f"{style('green', 'edited')} {now.id} (version {now.version})"
    yield from (style("yellow", line) for line in labels.of_edited(before, now, asked))


def history(args: Namespace) -> None:
    with opened(settings_of(args)) as memory:
        versions = memory.history(args.id, scope=scope_of_id(args))
    document = {"id": versions[-1].memory.id, "versions": [entry.as_json() for entry in versions]}
    answer(args, document, partial(render.versions, versions))


def revert(args: Namespace) -> None:
    with opened(settings_of(args)) as memory:
        now = memory.revert(args.id, args.version, scope=scope_of_id(args))
        text = f"{now.id} is as in version {args.version} again (now version {now.version})"
        answer(args, now.as_json(), lambda style: [text])
        after_write(memory)


def _fields(args: Namespace) -> dict[str, Any]:
    given = {name: value for name, value in vars(args).items() if value is not None}
    fields = {name: given[name] for name in _PLAIN if name in given}
    fields |= {field: tuple(given[name]) for name, field in _LISTS.items() if name in given}
    fields |= {name: read(given[name]) for name, read in _TIMES.items() if name in given}
    if "metadata" in given:
        fields["metadata"] = json_object(given["metadata"])
    return fields

"""Write: remember, edit, history, revert."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

from clew.errors import InvalidInput
from clew.model.memory import Draft, Memory, Remembered
from clew.model.times import parse_time
from clew.surfaces.cli import labels, render
from clew.surfaces.cli.commands.jobs import after_write
from clew.surfaces.cli.context import json_object, moment, opened, scope_of, scope_of_id, settings_of, text_of
from clew.surfaces.cli.terminal import Style, answer


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
    scope = replace(scope_of(args, settings), agent=args.agent, session=args.session, namespace=args.namespace)
    draft = Draft(content=text_of(args.text, settings), **_fields(args))
    with opened(settings) as memory:
        stored = memory.remember(draft, scope=scope)
        answer(args, stored.as_json(), partial(_told_new, stored, args.classification))
        after_write(memory)


def edit(args: Namespace) -> None:
    settings = settings_of(args)
    changes = _fields(args)
    if args.content is not None:
        changes["content"] = text_of(args.content, settings)
    with opened(settings) as memory:
        before = memory.show(args.id, scope=scope_of_id(args))
        edited = memory.edit(args.id, scope=scope_of_id(args), expected_version=args.version, **changes)
        document = edited.as_json() | {"changed": edited.version != before.version}
        answer(args, document, partial(_told_edit, before, edited, changes.get("classification")))
        after_write(memory)


def _told_new(stored: Remembered, asked: str | None, style: Style) -> Iterator[str]:
    yield from render.remembered(stored, style)
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

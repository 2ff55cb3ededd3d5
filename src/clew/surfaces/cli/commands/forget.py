"""Forget one memory by id, or all that a filter matches; ask before what cannot be undone."""

from __future__ import annotations

from argparse import Namespace
from functools import partial
from typing import TYPE_CHECKING, Any

from clew.model.memory import Filter, Memory
from clew.model.scope import Scope
from clew.surfaces.cli import render
from clew.surfaces.cli.commands.filters import filter_of
from clew.surfaces.cli.context import confirm, opened, scope_of, scope_of_id, settings_of
from clew.surfaces.cli.parser import usage
from clew.surfaces.cli.terminal import answer

if TYPE_CHECKING:
    from clew import Clew

Document = dict[str, Any]


def forget(args: Namespace) -> None:
    wanted = filter_of(args)
    if args.id is not None and (args.all or not wanted.is_empty):
        raise usage("an id and filters exclude each other", "give either an id or filters")
    settings = settings_of(args)
    with opened(settings) as memory:
        document = _one(memory, args) if args.id else _many(memory, args, wanted, scope_of(args, settings))
    answer(args, document, partial(render.preview if args.dry_run else render.receipt, document))


def _one(memory: Clew, args: Namespace) -> Document:
    scope = scope_of_id(args)
    if args.dry_run:
        found = _present_state(memory, args.id, scope) if args.hard else memory.show(args.id, scope=scope)
        line = {"id": found.id, "type": found.type, "preview": found.content[:80]}
        return {"dry_run": True, "would_forget": 1, "overflow": False, "memories": [line]}
    if args.hard:
        _present_state(memory, args.id, scope)  # nobody is asked about what is not there
        confirm(f"forgetting {args.id} for good", args)
    return memory.forget(args.id, hard=args.hard, scope=scope).as_json()


def _present_state(memory: Clew, id: str, scope: Scope | None) -> Memory:
    """Also of a memory that was softly forgotten."""
    return memory.history(id, scope=scope)[-1].memory


def _many(memory: Clew, args: Namespace, wanted: Filter, scope: Scope) -> Document:
    forget_many = partial(
        memory.forget_many, wanted, everything=args.all, scope=scope, all_projects=args.all_projects
    )
    found = forget_many(dry_run=True, hard=args.hard).as_json()  # a hard one also finds what is hidden already
    if args.dry_run:
        return found
    if found["would_forget"]:
        where = "every project" if args.all_projects else f"{render.place(scope.project)}"
        how = " for good" if args.hard else ""
        confirm(f"forgetting {render.memories(found['would_forget'])} ({where}){how}", args)
    return forget_many(hard=args.hard).as_json()

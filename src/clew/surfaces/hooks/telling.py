"""An event that a hook of this machine told, with what this machine knows around it: for the hook route and the
spool."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import fields
from datetime import datetime
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clew.hosts.around import Directory, around_unseen, look_around
from clew.hosts.aside import Aside
from clew.hosts.events import raw_of
from clew.hosts.named import may_name
from clew.hosts.repository import find_repository
from clew.model.address import is_shared
from clew.model.host import Around, HookAnswer, Limits
from clew.model.scope import Identity
from clew.settings import find_project_file, load_settings, project_named_in

if TYPE_CHECKING:
    from clew import Clew

LOOK_S = 0.25  # for files beside the agent; a hook has 0.65 for everything
LOOKS = 64  # at a time, each on a thread: those that hang included


def tell(
    clew: Clew,
    host: str,
    raw: bytes | Mapping[str, Any],
    *,
    event_id: str,
    received_at: datetime | None = None,
    replayed: bool = False,
    identity: Identity | None = None,
) -> HookAnswer:
    """Look around where it happened, then tell Clew. `replayed`: from the spool."""
    told = raw_of(raw)
    if told is None:
        return HookAnswer()
    return clew.hosts.event(
        host,
        told,
        event_id=event_id,
        around=around(host, told, home=clew.home, of=clew, identity=identity),
        received_at=received_at,
        replayed=replayed,
        identity=identity,
    )


def around(
    host: str, raw: Mapping[str, Any], *, home: Path, of: Clew | None = None, identity: Identity | None = None
) -> Around:
    """What is there, or what is safe to say when the disk does not answer. `of` knows which projects have
    memories, unless it only passes on what it is told."""
    look = partial(
        look_around,
        host,
        raw,
        home=home,
        environ=os.environ,
        settings=partial(directory_settings, home=home),
        holds=partial(_has_memories, of, identity) if of is not None and hasattr(of, "projects") else None,
        shared=of is not None and is_shared(of.settings.store.url),
    )
    return _looking().within(LOOK_S, str(raw.get("cwd")), look) or around_unseen(raw, home=home)


def _has_memories(clew: Clew, identity: Identity | None, project: str) -> bool:
    return project in clew.projects.list(identity=identity)


@cache
def _looking() -> Aside:
    return Aside(LOOKS)


def directory_settings(directory: Path, *, home: Path) -> Directory:
    """What the project file says, if there is one. The environment is that of the daemon, and nobody's here. A name
    that it may not give counts as none; where there is no repository to go by, nothing is on then."""
    file = find_project_file(directory)
    if file is None:
        return Directory()
    settings = load_settings(home=home, environ={}, directory=directory)
    inject, named = settings.inject, project_named_in(file)
    is_known = named is None or may_name(home, file.parent, named)
    is_on = is_known or find_repository(directory) is not None
    # Not what the user's file says: the daemon knows that, and what its environment says beyond.
    own = {path for path, source in settings.sources.items() if source == str(file)}
    return Directory(
        settings.project if is_known else None,
        settings.hooks.inject and is_on,
        settings.hooks.capture and is_on,
        looks=inject.enabled and inject.runtime,
        skipped=inject.extra_skip_tools + (inject.skip_tools if "inject.skip_tools" in own else ()),
        without=inject.disabled_for_agents,
        limits=Limits(
            **{one.name: getattr(inject, one.name) for one in fields(Limits) if f"inject.{one.name}" in own}
        ),
    )

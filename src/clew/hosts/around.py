"""What the machine of a host knows besides the event: project, branch, what is switched off there, what the
transcript holds. Looks at local files only, never runs anything, and never raises: what cannot be read is not
there.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from clew.hosts.events import MAX_PATH, event_of
from clew.hosts.held import Held, held_by
from clew.hosts.ignore import FILE, patterns_of
from clew.hosts.known import Holds, project_here
from clew.hosts.off import is_off
from clew.hosts.reading import read_regular
from clew.hosts.repository import Repository, branch_of, find_repository
from clew.hosts.table import HOSTS
from clew.model.host import Around, HookEvent, Limits
from clew.values import dataclass

MAX_IGNORE_BYTES = 256 << 10
HOLDS = ("resume", "fork")  # starts of a session whose transcript has a past
_NO_ENVIRONMENT: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Directory:
    """What the settings say about hooks in a directory: its project file may name the project and switch off.
    `looks`: in the middle of a session, save at the `skipped` tools and for the agents `without`, and within
    `limits`."""

    project: str | None = None
    inject: bool = True
    capture: bool = True
    looks: bool = True
    skipped: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    limits: Limits = Limits()


def look_around(
    host: str,
    raw: bytes | Mapping[str, Any],
    *,
    home: Path,
    environ: Mapping[str, str] = _NO_ENVIRONMENT,
    settings: Callable[[Path], Directory] | None = None,
    user_home: Path | None = None,
    holds: Holds | None = None,
    shared: bool = False,
) -> Around:
    """`settings` tells of a directory; one that fails leaves nothing on there, since nobody knows what it would
    have switched off. `environ` is where hosts may have been told another place for their transcripts. `holds` and
    `shared` are for `project_here`."""
    event = event_of(host, raw, event_id="")
    if event is None:
        return Around()
    directory = _directory(event)
    if directory is None:  # where it happened is not known, so neither is what may be kept of it
        return Around(capture=False)
    try:
        repository = find_repository(directory)
        around = _seen(event, directory, repository, home, environ, settings, user_home or _user_home())
        if around.project or around.is_off or not repository:  # where all is off nothing is marked either
            return around
        return replace(around, project=_name(project_here(repository, home=home, holds=holds, shared=shared)))
    except OSError:  # no right to look there, or what it lies on is gone
        return around_unseen({"cwd": event.cwd}, home=home)


def _seen(
    event: HookEvent,
    directory: Path,
    repository: Repository | None,
    home: Path,
    environ: Mapping[str, str],
    settings: Callable[[Path], Directory] | None,
    user_home: Path | None,
) -> Around:
    try:
        told = settings(directory) if settings else Directory()
    except Exception:  # a project file that cannot be read
        told = Directory(inject=False, capture=False)
    ignored = _ignored(repository, directory)
    held = _held(event, environ, user_home)
    root = repository.tree if repository else directory
    return Around(
        project=_name(told.project),
        branch=branch_of(repository) if repository else None,
        root=str(root),
        linked=_linked(Path(os.path.normpath(event.cwd or "")), directory, root),
        is_off=is_off(home, directory),
        inject=told.inject,
        capture=told.capture and ignored is not None,
        looks=told.looks and event.host not in told.without,
        skipped=told.skipped,
        limits=told.limits,
        ignored=ignored or (),
        held=held.ids,
        held_lines=held.lines,
        saw_transcript=held.was_read,
    )


def around_unseen(raw: Mapping[str, Any], *, home: Path) -> Around:
    """When nobody could look there, or not in time. What would be off, or is ignored, is not known, so nothing is
    on but the session; that a directory is off is told by its name alone."""
    cwd = raw.get("cwd")
    is_silent = isinstance(cwd, str) and "\0" not in cwd and is_off(home, Path(cwd), resolve=False)
    return Around(is_known=False, is_off=is_silent, inject=False, capture=False)


def around_of(told: object) -> Around:
    """What another machine told of itself. Wrong types count as absent, save that what may be off is off."""
    given = told if isinstance(told, Mapping) else {}
    return Around(
        project=_name(given.get("project")),
        branch=_name(given.get("branch")),
        ignored=_texts(given.get("ignored")),
        held=_texts(given.get("held")),
        held_lines=_texts(given.get("held_lines")),
        root=_place(given.get("root")),
        linked=_place(given.get("linked")),
        is_off=bool(given.get("is_off", False)),
        inject=given.get("inject", True) is True,
        capture=given.get("capture", True) is True,
        looks=given.get("looks", True) is True,
        skipped=_texts(given.get("skipped")),
        limits=_limits(given.get("limits")),
        saw_transcript=given.get("saw_transcript") is True,
        is_known=given.get("is_known", True) is True,
    )


def _directory(event: HookEvent) -> Path | None:
    if not event.cwd:
        return None
    path = Path(event.cwd)
    try:
        return path.resolve() if path.is_absolute() else None
    except (OSError, RuntimeError, ValueError):
        return None


def _linked(told: Path, directory: Path, root: Path) -> str | None:
    """The root as it is spelled in `told`, which leads to `directory`; None where that is how it is spelled."""
    below = len(directory.relative_to(root).parts)
    above = told.parents[below - 1] if 0 < below <= len(told.parents) else told
    return str(above) if above != root and above.resolve() == root else None


def _held(event: HookEvent, environ: Mapping[str, str], user_home: Path | None) -> Held:
    if event.source not in HOLDS or user_home is None:
        return Held()
    return held_by(HOSTS[event.host], event.transcript, environ, user_home=user_home)


def _user_home() -> Path | None:
    try:
        return Path.home()
    except RuntimeError:
        return None


def _ignored(repository: Repository | None, directory: Path) -> tuple[str, ...] | None:
    """None where a file is that cannot be heeded: what should be ignored is not known."""
    file = (repository.tree if repository else directory) / FILE
    data = read_regular(file, limit=MAX_IGNORE_BYTES + 1)
    if data is None:
        return None if os.path.lexists(file) else ()
    return patterns_of(data.decode("utf-8", "replace")) if len(data) <= MAX_IGNORE_BYTES else None


def _place(value: object) -> str | None:
    return value[:MAX_PATH] if isinstance(value, str) and value.isprintable() else None


def _name(value: object) -> str | None:
    """One line that can be stored, or nothing."""
    text = value.strip()[:240] if isinstance(value, str) else ""
    return text if text and text.isprintable() else None


def _limits(value: object) -> Limits:
    given = value if isinstance(value, Mapping) else {}
    sizes = ("latency_ms", "budget_tokens", "max_suggestions")
    limits = {name: given[name] for name in sizes if type(given.get(name)) is int and given[name] >= 0}
    floor = given.get("floor")
    return Limits(float(floor) if isinstance(floor, int | float) and 0 <= floor <= 1 else 0.0, **limits)


def _texts(value: object) -> tuple[str, ...]:
    if not isinstance(value, list | tuple):
        return ()
    return tuple(one[:1_500] for one in value[:2_000] if isinstance(one, str) and one)

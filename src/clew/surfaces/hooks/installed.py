"""What the file of a host has it run for us, read from that file, and whether it can work here."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import field
from pathlib import Path, PurePath
from typing import Any

from clew.errors import ClewError
from clew.surfaces.hooks import merge
from clew.surfaces.hooks.hosts import HOSTS, Handler, HostFiles
from clew.surfaces.hooks.install import SCOPES, file_of
from clew.values import dataclass


@dataclass(frozen=True, slots=True)
class Installed:
    """Our entries in one file, by event, each as (entry, handler). `odd`: why the host cannot read the file."""

    host: HostFiles
    scope: str
    file: Path
    entries: Mapping[str, tuple[tuple[dict[str, Any], Handler], ...]] = field(default_factory=dict)
    odd: str = ""

    @property
    def handlers(self) -> dict[str, Handler]:
        return {event: found[0][1] for event, found in self.entries.items()}


def installed(host: str, *, directory: Path) -> list[Installed]:
    """For the user, then for the project around `directory`; nothing for a file without entries of ours."""
    files = {scope: file_of(HOSTS[host], scope, directory=directory) for scope in SCOPES}
    found = [_read(HOSTS[host], scope, file) for scope, file in files.items()]
    return [one for one in found if one.entries or one.odd]


def _read(host: HostFiles, scope: str, file: Path) -> Installed:
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return Installed(host, scope, file)
    try:
        groups = merge.document_of(text).get(merge.HOOKS, {}) if text.strip() else {}
    except ClewError as error:
        is_ours = merge.CLIENT in text
        return Installed(host, scope, file, odd=error.message.replace("the file", str(file), 1) if is_ours else "")
    return Installed(host, scope, file, {event: own for event, of in groups.items() if (own := tuple(_own(of)))})


def _own(groups: list[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], Handler]]:
    for group in groups:
        handlers = group.get("hooks")
        for handler in handlers if isinstance(handlers, list) else ():
            if merge.is_ours(handler):
                yield group, handler


# -- whether it can work -----------------------------------------------------------------------------


def faults(found: Installed, home: Path) -> Iterator[str]:
    """What stands between this file and hooks that work; each once, however many events it concerns."""
    if found.odd:
        yield found.odd
        return
    words = {tuple(merge.words_of(handler)) for of in found.entries.values() for _group, handler in of}
    broken = sorted({fault for one in words for fault in command_faults(one, found.host.name, home)})
    yield from broken
    if missing := [event for event in found.host.timeouts if event not in found.entries]:
        yield f"no hook for {', '.join(missing)}"
    old = [event for event, of in found.entries.items() if not _is_current(found.host, event, of)]
    if old and not broken:
        yield f"not as this version writes it: {', '.join(old)}"


def command_faults(words: tuple[str, ...], host: str, home: Path) -> Iterator[str]:
    """Whether this can be started, and calls this home for this host."""
    names = [PurePath(word.replace("\\", "/")).name for word in words]
    program = shutil.which(words[0])
    if program is None:
        yield f"{words[0]} is not there or cannot be run"
    if merge.CLIENT not in names:  # clew hook HOST: the home is the usual one
        if host not in words[2:3]:
            yield f"the hook does not name {host}"
        return
    at = names.index(merge.CLIENT)
    if not os.access(words[at], os.R_OK):
        yield f"{words[at]} is not there or cannot be read"
    if words[at + 1 : at + 2] != (host,):
        yield f"the hook does not name {host}"
    if not words[at + 2 :] or Path(words[at + 2]).resolve() != home.resolve():
        yield f"the hook tells another home: {(words[at + 2 :] or ('none',))[0]}"


def _is_current(host: HostFiles, event: str, own: tuple[tuple[dict[str, Any], Handler], ...]) -> bool:
    if event not in host.timeouts or len(own) != 1:
        return False
    group, handler = own[0]
    wanted = host.groups(merge.words_of(handler))[event]
    return group == {**wanted, "hooks": group["hooks"]} and handler == wanted["hooks"][0]


def are_told_twice(places: list[Installed]) -> bool:
    """Hosts run handlers that are the same in every word once, wherever they stand."""
    both = (
        {event for event in places[0].entries if all(event in one.entries for one in places)} if places else set()
    )
    return any(len({repr(one.handlers[event]) for one in places}) > 1 for event in both)

"""What the doctor looks at around a store: the daemon, the spool, and what hosts are configured to run."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from clew.errors import ClewError
from clew.model.upkeep import Check
from clew.surfaces.hooks.hosts import HOSTS
from clew.surfaces.hooks.install import file_of, root_of
from clew.surfaces.hooks.merge import has_hooks
from clew.surfaces.hooks.neighbours import warnings

ANSWER_S = 0.5


def check_around(home: Path, directory: Path) -> Iterator[Check]:
    """Nothing is said of what was never used."""
    is_up = is_daemon_up(home)
    yield from _daemon(home, is_up)
    yield from _spool(home / "spool", is_up)
    for host in HOSTS:
        yield from _installed(host, directory)


def is_daemon_up(home: Path) -> bool:
    from clew.wire.address import Address
    from clew.wire.transport import Transport

    if not (home / "run" / "clew.sock").exists():
        return False
    transport = Transport(Address("unix", path=str(home / "run" / "clew.sock")))
    try:
        return transport.is_answering(within_s=ANSWER_S)
    finally:
        transport.close()


def _daemon(home: Path, is_up: bool) -> Iterator[Check]:
    told = _json(home / "run" / "daemon.json")
    if is_up:
        yield Check("daemon", True, f"answers, pid {told.get('pid', '?')}")
    elif (home / "run").exists():
        yield Check("daemon", True, "does not run; the next hook starts it, and so does: clew serve")


def _spool(folder: Path, is_up: bool) -> Iterator[Check]:
    waiting = sum(_size(path) for path in _files(folder) if ".spool" in path.name)
    damaged = sum(1 for _path in _files(folder / "damaged"))
    if damaged:
        detail = f"{damaged:,} pieces of it could not be read"
        yield Check("spool", False, detail, f"look at them and remove them: {folder / 'damaged'}")
    elif waiting:
        wait = "the daemon takes it in now" if is_up else "it waits for the daemon"
        yield Check("spool", True, f"{waiting:,} bytes; {wait}")
    elif folder.exists():
        yield Check("spool", True, "empty")


def _installed(host: str, directory: Path) -> Iterator[Check]:
    places = [scope for scope in ("user", "project") if _has_ours(file_of(HOSTS[host], scope, directory=directory))]
    if not places:
        return
    if len(places) > 1:
        detail = "installed for you and for this project: every event is told twice"
        yield Check(f"install {host}", False, detail, f"run: clew uninstall {host} --scope project")
        return
    user, project = (
        file_of(HOSTS[host], "user", directory=directory).parent,
        root_of(directory) / HOSTS[host].folder,
    )
    odd = warnings(host, user_folder=user, project_folder=project) if host == "claude-code" else []
    for warning in odd:
        what, _colon, move = warning.partition(": ")
        yield Check(f"install {host}", False, what, move)
    if not odd:
        yield Check(f"install {host}", True, f"hooks are in the {places[0]} configuration")


def _has_ours(file: Path) -> bool:
    try:
        return has_hooks(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, ClewError):
        return False


def _files(folder: Path) -> list[Path]:
    try:
        return [path for path in sorted(folder.iterdir()) if path.is_file()]
    except OSError:
        return []


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _json(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}

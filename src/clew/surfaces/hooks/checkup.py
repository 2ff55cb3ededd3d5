"""What the doctor looks at around a store: the daemon, the spool, and what hosts are configured to run."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clew.errors import Misconfigured
from clew.hosts.known import Note, note_at, project_at
from clew.hosts.named import may_name
from clew.model.upkeep import Check
from clew.settings import find_project_file, project_named_in
from clew.surfaces.hooks import spool
from clew.surfaces.hooks.hosts import HOSTS
from clew.surfaces.hooks.install import file_of, root_of
from clew.surfaces.hooks.installed import Installed, are_told_twice, faults, installed
from clew.surfaces.hooks.neighbours import warnings
from clew.surfaces.hooks.offline import MAX_SPOOL

if TYPE_CHECKING:
    from clew.wire.transport import Transport

ANSWER_S = 0.5
READY_S = 8.0  # it tries a write first, and waits for it
NEARLY_FULL = 0.8


def check_around(home: Path, directory: Path, *, shared: bool = False) -> Iterator[Check]:
    """Nothing is said of what was never used."""
    is_up = is_daemon_up(home)
    trouble = _trouble(home) if is_up else ""
    yield from _daemon(home, is_up, trouble)
    yield from _spool(home, is_up, trouble)
    for host in HOSTS:
        yield from _installed(host, home, directory)
    yield from _named(home, directory)
    yield from _nowhere(home, directory)
    yield from _called(home, directory, shared=shared)


def is_daemon_up(home: Path) -> bool:
    if not (home / "run" / "clew.sock").exists():
        return False
    with closing(_transport(home)) as transport:
        return transport.is_answering(within_s=ANSWER_S)


def _trouble(home: Path) -> str:
    """Why the daemon does not do its work, in its own words; '' when it does."""
    with closing(_transport(home)) as transport:
        reply = transport.look("/readyz", within_s=READY_S)
    if reply is None:
        return f"it does not say within {READY_S:.0f} s whether it is ready"
    if reply.status == 200:
        return ""
    problem = _object(reply.body)
    reasons = problem.get("details", {}).get("reasons", ())
    return "; ".join(f"{one['check']}: {one['detail']}" for one in reasons) or problem.get("detail", "")


def _transport(home: Path) -> Transport:
    from clew.wire.address import Address
    from clew.wire.transport import Transport

    return Transport(Address("unix", path=str(home / "run" / "clew.sock")))


def _named(home: Path, directory: Path) -> Iterator[Check]:
    """The name that the project file here gives, where hooks do not heed it. If it is a stranger's, all is well."""
    file, named = _told_name(directory)
    if file is None or not named or may_name(home, file.parent, named):
        return
    own = project_at(directory, home=home)
    instead = f"they take it for '{own}'" if own else "they neither bring nor keep anything"
    confirm = f"if that is right, in {file.parent}: clew init --project {shlex.quote(named)}"
    yield Check("project", True, f"hooks do not heed that {file} names '{named}': {instead}; {confirm}")


def _told_name(directory: Path) -> tuple[Path | None, str | None]:
    """The project file here and the name that it gives, '' for none; None where it cannot be read, of which whoever
    reads the settings tells."""
    file = find_project_file(directory)
    try:
        return file, (project_named_in(file) if file else None) or ""
    except Misconfigured:
        return file, None


def _nowhere(home: Path, directory: Path) -> Iterator[Check]:
    """Why hooks are silent here: what has no project would be told in every one."""
    is_used = (home / "run").exists() or any(installed(host, directory=directory) for host in HOSTS)
    _file, named = _told_name(directory)
    if is_used and named == "" and project_at(directory, home=home) is None:
        why = f"no repository is around {directory}, and no file names a project"
        move = "begin one with: git init; or name one: clew init --project NAME"
        yield Check("project", True, f"hooks neither bring nor keep anything here: {why}; {move}")


def _called(home: Path, directory: Path, *, shared: bool) -> Iterator[Check]:
    """What the repository here is on this machine, where that is not what its remote says."""
    if note := note_at(directory, home=home, shared=shared):
        yield Check("project", True, changed_name(note))


def changed_name(note: Note) -> str:
    """What became of a repository whose name has changed, and how to have it otherwise."""
    name, was, anew = shlex.quote(note.name), shlex.quote(note.was), f"clew project alias {shlex.quote(note.name)}"
    if note.project != note.name:
        return (
            f"on this machine '{note.name}' goes on as '{note.project}', with all that is remembered there; "
            f"to begin anew under its own name: {anew} --remove"
        )
    return (
        f"what is remembered under '{note.was}' is not seen from here, which is '{note.name}'; if it is of this "
        f"repository, bring it over: clew export old.jsonl --project {was}, "
        f"clew import old.jsonl --project {name}, {anew} --remove"
    )


def _daemon(home: Path, is_up: bool, trouble: str) -> Iterator[Check]:
    pid = _json(home / "run" / "daemon.json").get("pid", "?")
    if trouble:
        cause = "check its CLEW_URL and CLEW_TOKEN" if trouble.startswith("forward: ") else "mend that"
        move = f"{cause}; then start it anew: kill {pid}; clew serve"
        yield Check("daemon", False, f"answers, pid {pid}, and does not do its work: {trouble}", move)
    elif is_up:
        yield Check("daemon", True, f"answers, pid {pid}")
    elif (home / "run").exists():
        yield Check("daemon", True, "does not run; the next hook starts it, and so does: clew serve")


def _spool(home: Path, is_up: bool, trouble: str) -> Iterator[Check]:
    folder = home / spool.FOLDER
    waiting = sum(_size(path) for path in _files(folder) if ".spool" in path.name)
    damaged = sum(1 for _path in _files(folder / "damaged"))
    lost = spool.dropped(home)
    move = "look at the log of the daemon: clew serve" if is_up else "start the daemon: clew serve"
    if lost:
        detail = f"{lost:,} events were too large or found the spool full, and are lost"
        known = f"nothing brings them back; to be told no more: rm {shlex.quote(str(folder / spool.DROPPED))}"
        yield Check("spool", False, detail, move if waiting and not is_up else known)
    if _size(folder / spool.NAME) > NEARLY_FULL * MAX_SPOOL:
        yield Check("spool", False, f"{waiting:,} of {MAX_SPOOL:,} bytes: what comes when it is full is lost", move)
    elif damaged:
        detail = f"{damaged:,} pieces of it could not be read"
        yield Check("spool", False, detail, f"look at them and remove them: {folder / 'damaged'}")
    elif waiting:
        wait = "the daemon takes it in now" if is_up and not trouble else "it waits for the daemon"
        yield Check("spool", True, f"{waiting:,} bytes; {wait}")
    elif folder.exists() and not lost:
        yield Check("spool", True, "empty")


def _installed(host: str, home: Path, directory: Path) -> Iterator[Check]:
    places = installed(host, directory=directory)
    if not places:
        return
    name, wrong = f"install {host}", 0
    for found in _findings(host, places, home, directory):
        wrong += 1
        yield found
    if not wrong:
        where = " and the ".join(one.scope for one in places)
        yield Check(name, True, f"hooks are in the {where} configuration, and what they run is there")


def _findings(host: str, places: list[Installed], home: Path, directory: Path) -> Iterator[Check]:
    name = f"install {host}"
    for one in places:
        again = "correct the file" if one.odd else f"run: clew install {host} --scope {one.scope}"
        yield from (Check(name, False, f"{one.scope}: {fault}", again) for fault in faults(one, home))
    if are_told_twice(places):
        detail = "installed for you and for this project, and not the same: every event is told twice"
        yield Check(name, False, detail, f"run: clew uninstall {host} --scope project")
    if host == "claude-code":
        user = file_of(HOSTS[host], "user", directory=directory).parent
        for warning in warnings(host, user_folder=user, project_folder=root_of(directory) / HOSTS[host].folder):
            what, _colon, move = warning.partition(": ")
            yield Check(name, False, what, move)


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
        return _object(path.read_bytes())
    except OSError:
        return {}


def _object(text: bytes) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}

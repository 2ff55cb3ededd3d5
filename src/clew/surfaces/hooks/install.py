"""`clew install`: our hooks in the configuration of a host, and out again.

A plan is made first and shows what would change; carrying it out keeps a copy of the file under the home, writes
beside it and renames. A link is followed: people keep such files elsewhere and link them. In a project it must not
lead outside. Somebody who changed the file between plan and writing wins: nothing is done.
"""

from __future__ import annotations

import hashlib
import os
import stat
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import clew
from clew.errors import Conflict, InvalidInput, Unavailable
from clew.hosts.private import make_private
from clew.surfaces.hooks import merge
from clew.surfaces.hooks.hosts import HOSTS, HostFiles
from clew.values import dataclass

SCOPES = ("user", "project")
CREATED = "created"
WRITTEN = "written"


@dataclass(frozen=True, slots=True)
class Plan:
    """What the file holds and what it should. None: there is no file."""

    host: HostFiles
    file: Path
    target: Path  # where links lead
    before: str | None
    after: str | None

    @property
    def is_change(self) -> bool:
        return self.before != self.after


def plan_install(host: str, file: Path, *, words: Sequence[str], within: Path | None = None) -> Plan:
    plan = _found(host, file, within)
    text = plan.before if plan.before and plan.before.strip("\ufeff \t\r\n") else merge.NEW
    with _naming(file):
        return replace(plan, after=merge.with_hooks(text, plan.host.groups(words)))


def plan_uninstall(host: str, file: Path, *, home: Path, within: Path | None = None) -> Plan:
    """A file that we made and in which nothing else is goes as a whole."""
    plan = _found(host, file, within)
    if plan.before is None or not plan.before.strip("\ufeff \t\r\n"):
        return plan
    with _naming(file):
        after = merge.without_hooks(plan.before)
    copies = _copies(home, plan)
    is_ours = after != plan.before and not merge.document_of(after) and (copies / CREATED).exists()
    kept = _kept_of(plan, copies) if after != plan.before else None
    return replace(plan, after=None if is_ours else after if kept is None else kept)


def carry_out(plan: Plan, *, home: Path) -> Path | None:
    """Do it. Returns the copy of what was there before, if anything was."""
    if not plan.is_change:
        return None
    try:
        return _carried_out(plan, home)
    except OSError as error:
        raise Unavailable(
            f"{plan.target} cannot be written: {error.strerror}",
            code="HOST_FILE_UNWRITABLE",
            next="check the rights and the space there, then run this again",
        ) from None


def hook_words(host: str, home: Path) -> list[str]:
    """What a host has to run: this interpreter, by its absolute path, on the file beside the package."""
    client = Path(clew.__file__).absolute().parent.parent / merge.CLIENT
    words = [sys.executable, "-I", "-S", str(client), host, str(home)]
    if not sys.executable or not client.is_file() or any(not _is_text(word) for word in words):
        raise Unavailable(
            f"the interpreter, {client} or the home cannot be named in a file",
            code="CLIENT_NOT_FOUND",
            next="install Clew into an environment of its own, such as: uv tool install clew",
        )
    return words


def mcp_words(home: Path) -> list[str]:
    """-P: a server that starts in a project must not take modules from it."""
    return [sys.executable, "-P", "-m", "clew", "mcp", "--home", str(home)]


# -- where -------------------------------------------------------------------------------------------


def host_named(name: str) -> HostFiles:
    if name not in HOSTS:
        raise InvalidInput(
            f"there is no host '{name}'", code="HOST_UNKNOWN", next=f"choose one of {', '.join(HOSTS)}"
        )
    return HOSTS[name]


def file_of(host: HostFiles, scope: str, *, directory: Path, environ: Mapping[str, str] = os.environ) -> Path:
    if scope == "project":
        return root_of(directory) / host.folder / host.file
    named = environ.get(host.variable)
    return (Path(named).expanduser() if named else Path.home() / host.folder).absolute() / host.file


def root_of(directory: Path) -> Path:
    """The repository's directory, or this one."""
    return next((place for place in (directory, *directory.parents) if (place / ".git").exists()), directory)


def _found(host: str, file: Path, within: Path | None) -> Plan:
    try:
        target = file.resolve()
        before = _text(target)
    except (OSError, RuntimeError, ValueError) as error:
        raise InvalidInput(
            f"{file} cannot be read: {_why(error)}",
            code="HOST_FILE_ODD",
            next="correct the file or move it away, then run this again",
        ) from None
    if within is not None and not target.is_relative_to(within.resolve()):
        raise InvalidInput(
            f"{file} leads out of the project",
            code="HOST_FILE_OUTSIDE",
            next="look where the link leads; --scope user writes to your own configuration",
        )
    return Plan(host_named(host), file, target, before, before)


def _why(error: Exception) -> str:
    if isinstance(error, RuntimeError):  # of pathlib, before Python 3.13
        return "its links lead in a circle"
    return getattr(error, "strerror", None) or "it is not UTF-8 text"


def _text(target: Path) -> str | None:
    try:
        kind = target.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None
    if not stat.S_ISREG(kind):
        raise OSError(0, "it is no regular file")
    return target.read_bytes().decode()


def _is_text(word: str) -> bool:
    try:
        word.encode()
    except UnicodeEncodeError:
        return False
    return True


@contextmanager
def _naming(file: Path) -> Iterator[None]:
    try:
        yield
    except (InvalidInput, Conflict) as error:
        told = error.message.replace("the file", str(file), 1)
        raise type(error)(told, code=error.code, next=error.next) from None


# -- doing it ----------------------------------------------------------------------------------------


def _carried_out(plan: Plan, home: Path) -> Path | None:
    copies = _copies(home, plan)
    make_private(home, copies)
    copy = None if plan.before is None else _kept(copies, plan)
    if plan.after is None:
        _remove(plan, copies)
    else:
        if plan.before is None:
            _note_creation(plan, copies)
        _replace(plan, plan.after)
        _note_written(plan, copies, copy)
    return copy


def _copies(home: Path, plan: Plan) -> Path:
    """Where copies of this file are kept: not beside it, where they would be left behind or committed."""
    place = hashlib.sha256(bytes(plan.target)).hexdigest()[:12]
    return home / "backups" / "hosts" / f"{plan.host.name}-{place}"


def _kept(copies: Path, plan: Plan) -> Path:
    copy = copies / f"{datetime.now(UTC):%Y%m%dT%H%M%S.%fZ}-{plan.target.name}"
    with os.fdopen(os.open(copy, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as stream:
        stream.write((plan.before or "").encode())
    return copy


def _note_written(plan: Plan, copies: Path, copy: Path | None) -> None:
    """What we wrote, by its hash, and the copy of what was there before it: while nobody else has written, taking
    it out puts that back, to the byte. A second install keeps what was there before the first."""
    before = _kept_copy(plan, copies)
    name = before.name if before else copy.name if copy and not merge.has_hooks_in(plan.before) else ""
    (copies / WRITTEN).write_text(f"{_hash(plan.after)} {name}\n", encoding="utf-8")


def _kept_of(plan: Plan, copies: Path) -> str | None:
    copy = _kept_copy(plan, copies)
    try:
        text = copy.read_bytes().decode() if copy else None
    except (OSError, ValueError):
        return None
    return None if merge.has_hooks_in(text) else text


def _kept_copy(plan: Plan, copies: Path) -> Path | None:
    """Of what was there before the file got what it holds now, if that is what we wrote."""
    try:
        written, _, name = (copies / WRITTEN).read_text(encoding="utf-8").strip().partition(" ")
    except (OSError, ValueError):
        return None
    is_as_written = bool(name) and written == _hash(plan.before) and Path(name).name == name
    return copies / name if is_as_written else None


def _hash(text: str | None) -> str:
    return hashlib.sha256((text or "").encode()).hexdigest()


def _note_creation(plan: Plan, copies: Path) -> None:
    """So that taking it out again knows that the file, and perhaps its directory, is ours to remove."""
    made = "" if plan.target.parent.is_dir() else "directory"
    plan.target.parent.mkdir(parents=True, exist_ok=True)
    (copies / CREATED).write_text(made, encoding="utf-8")


def _remove(plan: Plan, copies: Path) -> None:
    _refuse_if_changed(plan)
    plan.target.unlink()
    made = (copies / CREATED).read_text(encoding="utf-8")
    if made:
        with suppress(OSError):  # somebody else put something into it
            plan.target.parent.rmdir()
    (copies / CREATED).unlink()


def _replace(plan: Plan, text: str) -> None:
    """Written beside and renamed: a reader sees the old file or the new one. The mode stays."""
    mode = 0o644 if plan.before is None else stat.S_IMODE(plan.target.stat().st_mode)
    file, name = tempfile.mkstemp(dir=plan.target.parent, prefix=f".{plan.target.name}.")
    try:
        with os.fdopen(file, "wb") as stream:
            stream.write(text.encode())
            stream.flush()
            os.fsync(file)
        Path(name).chmod(mode)
        _refuse_if_changed(plan)
        Path(name).replace(plan.target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _refuse_if_changed(plan: Plan) -> None:
    now = plan.target.read_bytes() if plan.target.exists() else None
    if now != (None if plan.before is None else plan.before.encode()):
        raise Conflict(
            f"{plan.target} was changed meanwhile",
            code="HOST_FILE_CHANGED",
            next="run this again; nothing was written",
        )

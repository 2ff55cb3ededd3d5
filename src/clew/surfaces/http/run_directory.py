"""The files of a running daemon, under CLEW_HOME/run: its lock, its socket, its token, and what it tells of itself.

The lock decides whether one runs, not the socket and not the process id: it is gone with the process, however that
ended, and no other process can have it by chance. Light: a client reads these files before every command.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
import sys
from collections.abc import Mapping
from pathlib import Path
from secrets import token_urlsafe
from typing import Any

from clew.errors import StoreRefused, Unavailable
from clew.surfaces.http.names import DAEMON, INCOMING, LOCAL_TOKEN, LOCK, SOCKET_NAME, TCP, TOKEN


class RunDirectory:
    def __init__(self, home: Path) -> None:
        self.path = home / "run"
        self._lock: int | None = None

    def make(self) -> None:
        """For its owner alone; one that is somebody else's is not used."""
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.path.mkdir(mode=0o700, exist_ok=True)
        found = self.path.lstat()
        if not stat.S_ISDIR(found.st_mode) or (hasattr(os, "getuid") and found.st_uid != os.getuid()):
            raise StoreRefused(
                f"{self.path} is not a directory of yours", code="RUN_DIRECTORY_FOREIGN", next="remove it"
            )
        self.path.chmod(0o700)

    # -- the lock ----------------------------------------------------------------------------------------

    def lock(self) -> bool:
        """False: another daemon has it."""
        file = os.open(self.path / LOCK, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
        if not _is_locked(file):
            os.close(file)
            return False
        self._lock = file
        return True

    def unlock(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _is_the_lock(self, file: int) -> bool:
        try:
            return os.path.samestat(os.fstat(file), (self.path / LOCK).stat())
        except OSError:
            return False

    # -- what lies there -----------------------------------------------------------------------------------

    def clear(self) -> None:
        """What a daemon left that was killed. Only for whoever has the lock; if that was removed together with the
        home, another daemon may have one of its own by now, and these files are that one's."""
        if self._lock is not None and not self._is_the_lock(self._lock):
            return
        socket = self.path / SOCKET_NAME
        if socket.is_socket():
            socket.unlink()
        elif os.path.lexists(socket):
            raise StoreRefused(f"{socket} is not a socket", code="SOCKET_FOREIGN", next="remove it")
        for name in (TCP, DAEMON):
            (self.path / name).unlink(missing_ok=True)
        for left in self.path.glob(f"{INCOMING}*"):
            shutil.rmtree(left, ignore_errors=True)

    def token(self) -> str:
        """Of this installation: made once, and readable for its owner alone."""
        path = self.path / TOKEN
        try:
            file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            return self._known_token(path)
        token = LOCAL_TOKEN + token_urlsafe(32)
        with os.fdopen(file, "w") as target:
            target.write(token + "\n")
        return token

    def _known_token(self, path: Path) -> str:
        """One that others could read, or that somebody else put here, is no secret: it is made anew."""
        if _is_private(path):
            token = path.read_text().strip()
            if token.startswith(LOCAL_TOKEN) and len(token) > len(LOCAL_TOKEN) + 40:
                return token
        path.unlink()  # also when it was half written as the power failed
        return self.token()

    def write(self, name: str, text: str) -> None:
        """Whole or not at all."""
        draft = self.path / f"{name}.new"
        draft.unlink(missing_ok=True)
        file = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(file, "w") as target:
            target.write(text)
        draft.replace(self.path / name)

    def tell(self, about: Mapping[str, Any]) -> None:
        self.write(DAEMON, json.dumps(dict(about)) + "\n")

    def told(self) -> dict[str, Any]:
        """What the daemon tells of itself; empty when there is none."""
        try:
            found = json.loads((self.path / DAEMON).read_text())
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}


def _is_private(path: Path) -> bool:
    """A file of ours that nobody else may read, and no link to another."""
    found = path.lstat()
    if not hasattr(os, "getuid"):  # where the system has no such rights, those of the home decide
        return stat.S_ISREG(found.st_mode)
    return stat.S_ISREG(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077


def _is_locked(file: int) -> bool:
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if sys.platform == "win32":
            return False
        raise Unavailable(
            f"files here cannot be locked: {error.strerror}",
            code="LOCK_UNAVAILABLE",
            next="put CLEW_HOME on a local disk",
        ) from error
    return True

"""Stands between a throw-away PostgreSQL and whoever uses it: when the last user is gone, however it went, the
server ends too. Run as a script, with the standard library only: it starts in a moment and needs no package."""

from __future__ import annotations

import ctypes
import fcntl
import os
import pwd
import shutil
import signal
import subprocess
import sys
from pathlib import Path

PR_SET_PDEATHSIG = 1  # linux/prctl.h


def drop_root(user: str) -> dict[str, object]:
    """What makes a child process run as this user; nothing when we stay who we are."""
    if not user:
        return {}
    entry = pwd.getpwnam(user)
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}


def keep(place: Path, user: str, command: list[str]) -> None:
    """Users hold a shared lock on `users`: whoever gets it alone knows that they are gone."""
    server = subprocess.Popen(command, cwd=place, preexec_fn=_end_with_parent, **drop_root(user))  # type: ignore[call-overload]
    signal.signal(signal.SIGCHLD, lambda *_: sys.exit())
    with (place / "users").open() as users:
        try:
            if server.poll() is None:
                fcntl.flock(users, fcntl.LOCK_EX)
        except SystemExit:  # the server was stopped: its folder stays, it may be started again
            server.wait()
            return
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        server.send_signal(signal.SIGQUIT)
        server.wait()
        shutil.rmtree(place, ignore_errors=True)


def _end_with_parent() -> None:
    if sys.platform == "linux":  # elsewhere only a killed keeper would leave its server behind
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGQUIT)


if __name__ == "__main__":
    os.setsid()  # Ctrl-C is for those who use the server
    keep(Path(sys.argv[1]), sys.argv[2], sys.argv[3:])

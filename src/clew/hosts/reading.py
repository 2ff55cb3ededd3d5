"""Files that somebody else put there: read only if they are regular files, and never more than asked for.

Whoever can write into a directory can put a pipe or a device there, and whoever opened that would wait for ever.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

_NEVER_WAITING = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)


def read_regular(path: Path, *, limit: int, from_end: bool = False, follow: bool = True) -> bytes | None:
    """The first `limit` bytes, or the last; None for what is no regular file or cannot be read. `follow` False: not
    through a link that was put there meanwhile."""
    try:
        if follow and not stat.S_ISREG(path.stat().st_mode):  # opening a device may do something
            return None
        file = os.open(path, os.O_RDONLY | _NEVER_WAITING | (0 if follow else getattr(os, "O_NOFOLLOW", 0)))
    except (OSError, ValueError):
        return None
    try:
        about = os.fstat(file)
        if not stat.S_ISREG(about.st_mode):
            return None
        if from_end:
            os.lseek(file, max(0, about.st_size - limit), os.SEEK_SET)
        with os.fdopen(file, "rb", closefd=False) as stream:
            return stream.read(limit)
    except OSError:
        return None
    finally:
        os.close(file)

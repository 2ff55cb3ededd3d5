"""How a failure is told: one line on stderr that names the next move, and a document with --json."""

from __future__ import annotations

import errno
import sys
from contextlib import suppress
from pathlib import Path

from clew.errors import ClewError, InvalidInput, NotFound, Unavailable
from clew.surfaces.cli.terminal import one_line, print_json


def report(error: ClewError, *, as_json: bool) -> int:
    print(line(error), file=sys.stderr)
    if as_json:
        with suppress(OSError):  # the output may be what failed
            print_json(error.as_json())
    return error.exit_code


def line(error: ClewError) -> str:
    message = one_line(error.message).rstrip(".")
    next_move = f" Next: {one_line(error.next)}" if error.next else ""
    return f"clew: {message} [{error.code}].{next_move}"


def as_clew_error(error: Exception) -> ClewError:
    match error:
        case ClewError():
            return error
        case OSError(filename=str() | bytes()):
            return _of_file(error)
        case FileNotFoundError() if _is_nowhere():
            return NotFound(
                "the working directory was deleted", code="DIRECTORY_GONE", next="cd to a directory that exists"
            )
        case OSError(errno=errno.ENOSPC | errno.EDQUOT | errno.EFBIG):
            return _full("the output")
        case _:
            return ClewError(
                f"unexpected {type(error).__name__}: {error}"
                if str(error)
                else f"unexpected {type(error).__name__}",
                code="UNEXPECTED",
                next="set CLEW_DEBUG=1 for the traceback, and report it",
            )


def _is_nowhere() -> bool:
    try:
        Path.cwd()
    except FileNotFoundError:
        return True
    return False


def _of_file(error: OSError) -> ClewError:
    """What the system says about a file the user named."""
    name = str(error.filename)
    match error.errno:
        case errno.ENOENT | errno.ENOTDIR:
            return NotFound(f"{name} was not found", code="FILE_NOT_FOUND", next="check the path")
        case errno.EISDIR:
            return InvalidInput(f"{name} is a directory", code="FILE_IS_DIRECTORY", next="name a file")
        case errno.ENOSPC | errno.EDQUOT | errno.EFBIG:
            return _full(name)
        case _:
            reason = error.strerror or type(error).__name__
            return Unavailable(f"{name}: {reason}", code="FILE_UNAVAILABLE", next="check its permissions and disk")


def _full(name: str) -> Unavailable:
    return Unavailable(
        f"no space left to write {name}", code="DISK_FULL", next="free some disk space and try again"
    )

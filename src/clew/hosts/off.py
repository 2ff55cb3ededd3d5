"""`clew off`: directories in which hooks neither bring nor keep anything. Kept under the home, in no repository.

One file per directory, named after its hash, that holds its path. What is below a directory that is off is off.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from clew.hosts.private import make_private

FOLDER = "off"


def is_off(home: Path, directory: Path, *, resolve: bool = True) -> bool:
    return switched_off_at(home, directory, resolve=resolve) is not None


def switched_off_at(home: Path, directory: Path, *, resolve: bool = True) -> Path | None:
    """The directory that was switched off: this one, or the nearest above it. `resolve` False: by its name, without
    a look at it."""
    if not (home / FOLDER).is_dir():
        return None
    resolved = directory.resolve() if resolve else directory
    return next((place for place in (resolved, *resolved.parents) if _file(home, place).is_file()), None)


def switch_off(home: Path, directory: Path) -> bool:
    """False: it was off already."""
    place = directory.resolve()
    file = _file(home, place)
    if file.is_file():
        return False
    make_private(home, file.parent)
    fresh = file.with_suffix(".new")
    fresh.write_bytes(bytes(place))
    fresh.replace(file)
    return True


def switch_on(home: Path, directory: Path) -> bool:
    """False: it was not off. One above it may still be."""
    file = _file(home, directory.resolve())
    is_there = file.is_file()
    file.unlink(missing_ok=True)
    return is_there


def _file(home: Path, place: Path) -> Path:
    return home / FOLDER / hashlib.sha256(bytes(place)).hexdigest()[:32]

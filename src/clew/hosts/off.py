"""`clew off`: directories in which hooks neither bring nor keep anything. Kept under the home, in no repository.

One file per directory, named after its hash, that holds its path. What is below a directory that is off is off.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

FOLDER = "off"


def is_off(home: Path, directory: Path) -> bool:
    return switched_off_at(home, directory) is not None


def switched_off_at(home: Path, directory: Path) -> Path | None:
    """The directory that was switched off: this one, or the nearest above it."""
    if not (home / FOLDER).is_dir():
        return None
    resolved = directory.resolve()
    return next((place for place in (resolved, *resolved.parents) if _file(home, place).is_file()), None)


def switch_off(home: Path, directory: Path) -> bool:
    """False: it was off already."""
    place = directory.resolve()
    file = _file(home, place)
    if file.is_file():
        return False
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
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

"""Which project the file of a directory may name to hooks: the repository's own, a part of it, or one that the user
has said on this machine (`clew init --project`). Such a file comes with a clone, and hooks act unasked: else a
stranger's repository would be told what another project knows, and what is kept there would go into that one.

Kept under the home, in no repository: one file per place and project, named after their hash. All working trees of
a repository are one place.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from clew.hosts.known import names_of
from clew.hosts.private import make_private
from clew.hosts.repository import find_repository, is_vouched

FOLDER = "named"


def may_name(home: Path, directory: Path, project: str) -> bool:
    """Whether the file in this directory may say that it belongs to a project."""
    repository = find_repository(directory)
    own = names_of(repository, home=home) if repository else ()
    if any(project == name or project.startswith(f"{name}/") for name in own):
        return True
    return _file(home, directory, project).is_file()


def allow_name(home: Path, directory: Path, project: str) -> None:
    """The user says so. Twice is once."""
    file = _file(home, directory, project)
    make_private(home, file.parent)
    file.write_text(f"{directory.resolve()}\n{project}\n", encoding="utf-8", errors="replace")


def _file(home: Path, directory: Path, project: str) -> Path:
    place, repository = directory.resolve(), find_repository(directory.resolve())
    if repository:
        place = repository.common.resolve() if is_vouched(repository) else repository.tree
    named = bytes(place) + b"\0" + project.encode("utf-8", "surrogatepass")
    return home / FOLDER / hashlib.sha256(named).hexdigest()[:32]

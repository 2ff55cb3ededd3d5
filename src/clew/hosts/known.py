"""Which project a repository is on this machine, also where its name has changed.

Git names it: by its remote, and without one by its directory. A first remote, or an owner spelled in another way,
must not make another project of it, of which nothing is known (ADR 58). So a repository without a remote gets a
mark, a random word in its git directory that no clone brings along, and the home notes what it is called. A name
that goes on as another project is noted in the home as well, for every clone on this machine. Nothing is decided
unasked but what loses sight of nothing, and no memory is moved.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from clew.hosts.private import make_private
from clew.hosts.reading import read_regular
from clew.hosts.repository import Repository, find_repository, folded, is_vouched, remote_of
from clew.values import dataclass

PLACES, MARK = "places", "clew"
NAMES = {False: "names", True: "names-shared"}  # by whether others use the store: it holds other projects
MAX_NOTE_BYTES = 16 << 10
_WORD = re.compile(r"[0-9a-f]{32}")

Holds = Callable[[str], bool]  # whether a project has memories


@dataclass(frozen=True, slots=True)
class Note:
    """`name` is what git says, `project` what that is here, mostly another name; `was` what the repository was
    called before, where memories are under that name."""

    name: str
    project: str
    was: str = ""
    is_told: bool = False


@dataclass(frozen=True, slots=True)
class Place:
    """A repository that was marked: what it is called and where it lies. `is_first`: in the store of this machine
    nothing was under that name yet, so that what is there came from it or from one that is marked as well."""

    project: str
    path: str
    is_first: bool = False


def project_at(directory: Path, *, home: Path, holds: Holds | None = None, shared: bool = False) -> str | None:
    """The project of a directory; None where no repository is around it."""
    repository = find_repository(directory)
    return project_here(repository, home=home, holds=holds, shared=shared) if repository else None


def project_here(
    repository: Repository, *, home: Path, holds: Holds | None = None, shared: bool = False
) -> str | None:
    """Without `holds` nothing is decided or written. `shared`: a store of several machines, where others know the
    repository by its remote, so that a first remote is heeded at once."""
    spelled = remote_of(repository)
    if spelled is None:
        return _without_remote(home, repository, holds=holds, shared=shared)
    note = noted(home, spelled, shared=shared)
    if note is None and holds is not None:
        place = _marked(home, repository) if is_vouched(repository) else None
        if place is None and spelled == folded(spelled):
            return spelled
        follows = not shared and place is not None and _is_the_only(home, place)
        note = _decided(spelled, place.project if place else "", holds=holds, follows=follows)
        if note is None:
            return folded(spelled)
        _put(home, _name_file(home, note.name, shared), asdict(note))
    return note.project if note else spelled


def _decided(spelled: str, was: str, *, holds: Holds, follows: bool) -> Note | None:
    """Of two names that both have memories neither is given up for the other. `follows`: what is under the name
    that was is this repository's. None as long as no name has any: what a session said is kept a while later."""
    own = folded(spelled)
    if holds(own):
        if spelled != own and holds(spelled):
            return Note(spelled, spelled, own)
        return Note(own, own, was if was and holds(was) else "")
    if was and holds(was):
        return Note(own, was if follows else own, was)
    if spelled != own and holds(spelled):
        return Note(own, spelled)
    return None if was else Note(own, own)


def names_of(repository: Repository, *, home: Path) -> frozenset[str]:
    """Every name that is this repository's own. Only reads: hooks may be off there."""
    spelled = remote_of(repository)
    here = (project_here(repository, home=home, shared=shared) for shared in NAMES)
    return frozenset(name for name in (spelled, folded(spelled or ""), *here) if name)


# -- what goes on as what ----------------------------------------------------------------------------


def alias(home: Path, name: str, project: str | None, *, shared: bool = False) -> None:
    """The user says that a name goes on as a project; None: that it stands for itself."""
    own = folded(name)
    note = Note(own, project or own, is_told=True)
    _put(home, _name_file(home, own, shared), asdict(note), is_needed=True)
    if name != own:
        _name_file(home, name, shared).unlink(missing_ok=True)


def aliases(home: Path, *, shared: bool = False) -> list[Note]:
    """What goes on as something else, by name."""
    folder = home / NAMES[shared]
    files = folder.iterdir() if folder.is_dir() else ()
    notes = (note for file in files if (note := _read_note(file)))
    return sorted((note for note in notes if note.name != note.project), key=lambda note: note.name)


def note_at(directory: Path, *, home: Path, shared: bool = False) -> Note | None:
    """What was decided about the name of the repository here, if that is of interest."""
    repository = find_repository(directory)
    spelled = remote_of(repository) if repository else None
    note = noted(home, spelled, shared=shared) if spelled else None
    return note if note and (note.was or note.project != note.name) else None


def news_at(directory: Path, *, home: Path, shared: bool = False) -> Note | None:
    """The same, once: what nobody was told yet and should be."""
    note = note_at(directory, home=home, shared=shared)
    if note is None or note.is_told or not note.was:
        return None
    _put(home, _name_file(home, note.name, shared), asdict(replace(note, is_told=True)))
    return note


def noted(home: Path, name: str, *, shared: bool = False) -> Note | None:
    """What was decided about a name, as it is spelled or in any other way."""
    return _noted(home, name, shared) or _noted(home, folded(name), shared)


def _noted(home: Path, name: str, shared: bool) -> Note | None:
    note = _read_note(_name_file(home, name, shared))
    return note if note and note.name == name else None


def _read_note(file: Path) -> Note | None:
    told = _read(file)
    name, project, was = (told.get(key) for key in ("name", "project", "was"))
    if not (isinstance(name, str) and isinstance(project, str) and isinstance(was, str) and name and project):
        return None
    return Note(name, project, was, is_told=told.get("is_told") is True)


def _name_file(home: Path, name: str, shared: bool) -> Path:
    return home / NAMES[shared] / hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:32]


# -- repositories without a remote -------------------------------------------------------------------


def _without_remote(home: Path, repository: Repository, *, holds: Holds | None, shared: bool) -> str | None:
    if not is_vouched(repository):
        return repository.tree.name or None
    if place := _marked(home, repository, is_asked=holds is None):
        return place.project
    name = repository.directory.name
    if name and holds:
        with suppress(OSError):  # a directory in which we may not write keeps no mark
            _mark(home, repository, name, holds=holds, shared=shared)
    return name or None


def _marked(home: Path, repository: Repository, *, is_asked: bool = False) -> Place | None:
    """A repository with a mark is known wherever it has been moved to. A copy is another one as long as the first
    is there."""
    word, path = _word(repository.common), str(repository.common)
    place = _read_place(home / PLACES / word) if word else None
    if place is None or place.path == path:
        return place
    if _word(Path(place.path)) == word:
        return None
    moved = replace(place, path=path)
    if not is_asked:
        _put(home, home / PLACES / word, asdict(moved))
    return moved


def _mark(home: Path, repository: Repository, name: str, *, holds: Holds, shared: bool) -> None:
    """Another home may have marked it before: the word stays. A copy gets one of its own. Nothing is written where
    git keeps nothing, nor over what is no mark."""
    common, word = repository.common, _word(repository.common)
    if not ((common / "HEAD").is_file() and (common / "objects").is_dir()):
        return
    if not word or _read(home / PLACES / word):
        if not word and os.path.lexists(common / MARK):
            return
        word = os.urandom(16).hex()
        _replace(common / MARK, word.encode() + b"\n")
    place = Place(name, str(common), is_first=not shared and not holds(name))
    _put(home, home / PLACES / word, asdict(place))


def _is_the_only(home: Path, place: Place) -> bool:
    """Whether what is remembered under the name of a place can have come from no other repository."""
    places = (_read_place(file) for file in (home / PLACES).iterdir())
    return place.is_first and sum(other.project == place.project for other in places if other) == 1


def _read_place(file: Path) -> Place | None:
    told = _read(file)
    project, path = told.get("project"), told.get("path")
    if not (isinstance(project, str) and isinstance(path, str) and project):
        return None
    return Place(project, path, is_first=told.get("is_first") is True)


def _word(common: Path) -> str:
    told = (read_regular(common / MARK, limit=64, follow=False) or b"").decode("ascii", "replace").strip()
    return told if _WORD.fullmatch(told) else ""


# -- files -------------------------------------------------------------------------------------------


def _read(file: Path) -> Mapping[str, Any]:
    try:
        told = json.loads(read_regular(file, limit=MAX_NOTE_BYTES) or b"{}")
    except ValueError:
        return {}
    return told if isinstance(told, dict) else {}


def _put(home: Path, file: Path, document: Mapping[str, Any], *, is_needed: bool = False) -> None:
    """A home that cannot be written is told by whoever needs it: what is decided unasked is decided again."""
    try:
        make_private(home, file.parent)
        _replace(file, json.dumps(document).encode())
    except OSError:
        if is_needed:
            raise


def _replace(file: Path, data: bytes) -> None:
    """Beside it first, under a name that nobody can have put a link at."""
    fresh = file.with_name(f"{file.name}.{os.urandom(8).hex()}.new")
    try:
        with fresh.open("xb") as stream:
            stream.write(data)
        fresh.replace(file)
    finally:
        fresh.unlink(missing_ok=True)

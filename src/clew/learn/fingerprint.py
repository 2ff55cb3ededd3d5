"""What a project is built with, read from its manifests, and how alike two projects are: rensei.md 2.4.

In: the texts of manifests by their paths. Out: a set of component ids such as `framework:next` and, where the major
version is known, `framework:next@16` as well. Stored flat and shown in groups (C-19). Nothing is executed, and what
is not recognised does not count.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import Any

from clew.errors import NotFound
from clew.learn.manifests import MANIFESTS, MAX_CHARS, Package, packages_of
from clew.learn.stack import database_of, known
from clew.values import dataclass

MAX_MANIFESTS = 64
# Other people's packages are no part of what a project is built with.
_SKIPPED = frozenset("node_modules vendor target dist build venv .venv env .git .tox site-packages".split())


@dataclass(frozen=True, slots=True)
class TechStackFingerprint:
    """Component ids; `manifest_hash` tells whether the manifests are still those it was read from."""

    components: frozenset[str] = frozenset()
    manifest_hash: str = ""

    @property
    def languages(self) -> tuple[str, ...]:
        return self._group("language")

    @property
    def frameworks(self) -> tuple[str, ...]:
        return self._group("framework")

    @property
    def libs(self) -> tuple[str, ...]:
        return self._group("lib")

    @property
    def tools(self) -> tuple[str, ...]:
        return self._group("tool")

    @property
    def databases(self) -> tuple[str, ...]:
        """Those that its drivers speak to."""
        spoken = database_of()
        return tuple(sorted({spoken[id] for id in self.components if id in spoken}))

    def _group(self, prefix: str) -> tuple[str, ...]:
        return tuple(sorted(id.partition(":")[2] for id in self.components if id.startswith(f"{prefix}:")))

    def as_json(self) -> dict[str, Any]:
        groups = ("languages", "frameworks", "libs", "tools", "databases")
        return {
            "components": sorted(self.components),
            **{name: list(getattr(self, name)) for name in groups},
            "manifest_hash": self.manifest_hash,
        }


Components = AbstractSet[str] | TechStackFingerprint


def fingerprint_project(files: Mapping[str, str]) -> TechStackFingerprint:
    """The union over all manifests among the files; other files are not looked at."""
    manifests = {path: files[path] for path in sorted(files) if PurePosixPath(path).name in MANIFESTS}
    chosen = dict(list(manifests.items())[:MAX_MANIFESTS])
    packages = [package for path, text in chosen.items() for package in packages_of(PurePosixPath(path).name, text)]
    return TechStackFingerprint(frozenset(_components(packages)), _hash(chosen))


def _components(packages: Iterable[Package]) -> Iterable[str]:
    for package in packages:
        is_language = package.ecosystem == "language"
        id = f"language:{package.name}" if is_language else known(package.ecosystem).get(package.name)
        if id:
            yield id
            if package.version:
                yield f"{id}@{package.version}"


def _hash(manifests: Mapping[str, str]) -> str:
    digest = sha256()
    for path, text in manifests.items():
        digest.update(sha256(path.encode("utf-8", "replace")).digest())
        digest.update(sha256(text.encode("utf-8", "replace")).digest())
    return digest.hexdigest() if manifests else ""


def jaccard(a: Components, b: Components, *, ignore_versions: bool = False) -> float:
    """The share of components that both have; two projects about which nothing is known are not alike."""
    common, all_ = _overlap(a, b, ignore_versions)
    return common / all_ if all_ else 0.0


def similarity_pct(a: Components, b: Components, *, ignore_versions: bool = False) -> int:
    """The same in whole per cent, rounded down: never more alike than they are."""
    common, all_ = _overlap(a, b, ignore_versions)
    return 100 * common // all_ if all_ else 0


def _overlap(a: Components, b: Components, ignore_versions: bool) -> tuple[int, int]:
    one, other = (_ids(side, ignore_versions) for side in (a, b))
    return len(one & other), len(one | other)


def _ids(side: Components, ignore_versions: bool) -> AbstractSet[str]:
    ids = side.components if isinstance(side, TechStackFingerprint) else side
    return {id for id in ids if "@" not in id} if ignore_versions else ids


# -- from a directory --------------------------------------------------------------------------------


def read_manifests(directory: str | os.PathLike[str]) -> dict[str, str]:
    """The manifests at the top of a directory and one level below it, as far as they can be read."""
    directory = Path(directory)
    try:
        places = [directory, *_folders(directory)]
    except OSError as error:
        raise NotFound(
            f"no directory that can be read: {error.strerror}",
            code="DIRECTORY_NOT_FOUND",
            next="name a directory that is there",
        ) from None
    found: dict[str, str] = {}
    for path in (place / name for place in places for name in MANIFESTS):
        text = _text_of(path) if len(found) < MAX_MANIFESTS else None
        if text is not None:
            found[path.relative_to(directory).as_posix()] = text
    return found


def _folders(directory: Path) -> list[Path]:
    with os.scandir(directory) as entries:
        names = sorted(
            entry.name for entry in entries if entry.name not in _SKIPPED and entry.is_dir(follow_symlinks=False)
        )
    return [directory / name for name in names[:200]]


def _text_of(path: Path) -> str | None:
    """None for what is no plain file of a sensible size: a link may lead anywhere."""
    try:
        if path.is_symlink() or not path.is_file() or path.stat().st_size > MAX_CHARS:
            return None
        return path.read_text(encoding="utf-8-sig", errors="replace")
    except OSError:
        return None

"""The git repository around a directory: where it comes from, and which branch is checked out.

Reads git's files and never runs git: a command line that agents call often cannot afford a process.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from clew.hosts.reading import read_regular

_SECTION = re.compile(r'\[\s*([\w.-]+)(?:\s+"((?:[^"\\]|\\.)*)")?\s*\]')
_WITH_SCHEME = re.compile(r"[A-Za-z][\w+.-]*://(?:[^/]*@)?(\[[^\]]+\]|[^/:]+)(?::\d*)?/(.+)")
_LIKE_SCP = re.compile(r"(?:[^/]*@)?([^/:@]{2,}):(?!//)(.+)")  # one letter is a drive of Windows
# Hosts to which Acme/Web and acme/web are one repository.
FOLDING = frozenset(("bitbucket.org", "codeberg.org", "github.com", "gitlab.com"))
MAX_CONFIG_BYTES = 1 << 20
MAX_BRANCH = 240


class Repository(NamedTuple):
    """Where git keeps the shared part (config, objects), and the directory people know it by. A worktree has a git
    directory and a working tree of its own."""

    common: Path
    directory: Path
    git_dir: Path
    tree: Path


def remote_of(repository: Repository) -> str | None:
    """host/owner/repo of the origin, as it is spelled there; None without one elsewhere."""
    url = origin_url(_read(repository.common / "config"))
    return normalised(url) if url else None


def folded(name: str) -> str:
    """One spelling of a repository, where its host knows no other."""
    return name.lower() if name.partition("/")[0] in FOLDING else name


def branch_of(repository: Repository) -> str | None:
    """The branch that is checked out in this working tree; None between branches."""
    word, _, ref = _read(repository.git_dir / "HEAD").strip().partition(":")
    name = ref.strip().removeprefix("refs/heads/")
    is_branch = word == "ref" and ref.strip().startswith("refs/heads/") and name.isprintable()
    return name if is_branch and 0 < len(name) <= MAX_BRANCH else None


def find_repository(directory: Path) -> Repository | None:
    for folder in (directory, *directory.parents):
        marker = folder / ".git"
        if marker.is_dir():
            return Repository(marker, folder, marker, folder)
        if marker.is_file():
            return _linked(folder, marker)
    return None


def _linked(folder: Path, marker: Path) -> Repository | None:
    """A worktree leads to its main repository; a submodule is a repository of its own."""
    word, _, target = _read(marker).strip().partition(":")
    if word != "gitdir" or not target.strip():
        return None
    git_dir = (folder / target.strip()).resolve()
    shared = _read(git_dir / "commondir").strip()
    if not shared:
        return Repository(git_dir, folder, git_dir, folder)
    common = (git_dir / shared).resolve()
    known_by = common.parent if common.name == ".git" else common.with_suffix("")
    return Repository(common, known_by, git_dir, folder)


def is_vouched(repository: Repository) -> bool:
    """Whether the git directory belongs to this working tree, by more than the word of a file there: an archive may
    bring a `.git` that leads to any repository. It lies in the tree, or it knows of a worktree that lies here."""
    marker, git_dir = repository.tree / ".git", repository.git_dir
    if git_dir == marker:
        return not marker.is_symlink()
    back = git_dir / _read(git_dir / "gitdir").strip()
    if git_dir.parent != repository.common / "worktrees" or back.name != ".git":
        return False
    try:
        return back.parent.samefile(repository.tree)
    except (OSError, ValueError):
        return False


def origin_url(config: str) -> str | None:
    """The first url of [remote "origin"]."""
    inside = False
    for line in config.splitlines():
        text = line.strip()
        section = _SECTION.match(text)
        if section:
            inside = section[1].lower() == "remote" and section[2] == "origin"
            text = text[section.end() :].strip()
        name, _, value = text.partition("=")
        if inside and name.strip().lower() == "url" and value.strip():
            return value.strip().strip('"')
    return None


def normalised(url: str) -> str | None:
    """host/owner/repo, the same for every way to reach it; None for a path on this machine."""
    found = _WITH_SCHEME.fullmatch(url) or (None if "://" in url else _LIKE_SCP.fullmatch(url))
    if found is None or url.lower().startswith("file:"):
        return None
    path = found[2].strip("/").removesuffix(".git").strip("/")
    return f"{found[1].lower()}/{path}" if path else None


def _read(file: Path) -> str:
    return (read_regular(file, limit=MAX_CONFIG_BYTES) or b"").decode("utf-8", "replace")

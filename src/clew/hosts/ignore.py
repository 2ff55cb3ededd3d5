"""Paths that nothing is told about: what `.clewignore` lists, like a small .gitignore, and where secrets live.
Pure.

A pattern comes from a file of the repository, so whoever wrote that may be hostile: matching takes time in
proportion to pattern times path, whatever either says.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

FILE = ".clewignore"
MAX_PATTERNS = 1_000
MAX_PATTERN_CHARS = 240
MAX_PATH_CHARS = 1_000
# A project's own patterns come on top: whoever writes its file may hide more, and never show one of these.
SECRET_PLACES = (
    ".env", ".env.*", "!.env.example", "!.env.sample", "*.pem", "*.key", "*.p12", "*.pfx", "*.kdbx", "id_rsa*",
    "id_ed25519*", ".ssh/", ".aws/", ".gnupg/", ".netrc", ".pgpass", ".npmrc", ".pypirc", "*.tfstate", ".clew/",
)  # fmt: skip
_SPECIAL = re.compile(r"[*?\[\\]")
_CLASS = re.compile(r"\[[!^]?\]?[^\]]*\]")


def patterns_of(text: str) -> tuple[str, ...] | None:
    """The patterns of a file, without comments and empty lines; None where they are too many to be heeded."""
    lines = (line.rstrip() for line in text.splitlines())
    kept = tuple(line for line in lines if line and not line.startswith("#") and len(line) <= MAX_PATTERN_CHARS)
    return kept if len(kept) <= MAX_PATTERNS else None


def is_ignored(path: str, patterns: Sequence[str] = ()) -> bool:
    """Whether nothing may be told about a path, which is told from the root of the repository. The last pattern
    of the project that fits decides, and `!` takes back only those; what lies below an ignored folder is, too."""
    return _is_ignored(path[:MAX_PATH_CHARS], tuple(patterns[:MAX_PATTERNS]))


def without_ignored(paths: Iterable[str], patterns: Sequence[str] = ()) -> tuple[str, ...]:
    return tuple(path for path in paths if not is_ignored(path, patterns))


@lru_cache(maxsize=4096)  # the same few files are named all day
def _is_ignored(path: str, patterns: tuple[str, ...]) -> bool:
    parts = [part for part in path.replace("\\", "/").split("/") if part not in ("", ".", "..", "~")]
    return bool(parts) and (_last_verdict(SECRET_PLACES, parts) or _last_verdict(patterns, parts))


def _last_verdict(patterns: Sequence[str], parts: Sequence[str]) -> bool:
    verdict = False
    for text in patterns:
        pattern = _parsed(text)
        if pattern.names and _fits(pattern, parts):
            verdict = not pattern.is_negated
    return verdict


class _Pattern(NamedTuple):
    names: tuple[str, ...]  # from the root; `**` stands for any number of folders
    is_negated: bool
    wants_folder: bool


@lru_cache(maxsize=2 * MAX_PATTERNS)
def _parsed(text: str) -> _Pattern:
    bare = text.removeprefix("!").removeprefix("\\")
    names = tuple(part for part in bare.strip("/").split("/") if part)
    is_anchored = "/" in bare.rstrip("/")
    return _Pattern(names if is_anchored or not names else ("**", *names), text.startswith("!"), bare.endswith("/"))


def _fits(pattern: _Pattern, parts: Sequence[str]) -> bool:
    # A folder is known by something lying in it.
    longest = len(parts) - 1 if pattern.wants_folder else len(parts)
    if pattern.names[0] == "**" and len(pattern.names) == 2:  # one name, anywhere: as most patterns are
        return any(_fits_name(pattern.names[1], part) for part in parts[:longest])
    return any(_fits_parts(pattern.names, parts[:end]) for end in range(1, longest + 1))


def _fits_parts(wanted: Sequence[str], parts: Sequence[str]) -> bool:
    """Row by row over the pattern: reachable[i] says that the pattern so far can end before parts[i]."""
    reachable = [True] + [False] * len(parts)
    for want in wanted:
        if want == "**":
            first = reachable.index(True) if True in reachable else len(reachable)
            reachable = [at >= first for at in range(len(reachable))]
        else:
            reachable = [False] + [
                before and _fits_name(want, part) for before, part in zip(reachable[:-1], parts, strict=True)
            ]
    return reachable[-1]


def _fits_name(want: str, name: str) -> bool:
    """One name against `*`, `?` and `[...]`, going back to the last star only."""
    signs = _signs(want)
    if signs is None:
        return want == name
    at = here = 0
    star = back = -1
    while at < len(name):
        if here < len(signs) and signs[here] == "*":
            star, back = here, at
            here += 1
        elif here < len(signs) and _fits_sign(signs[here], name[at]):
            at, here = at + 1, here + 1
        elif star >= 0:
            back += 1
            at, here = back, star + 1
        else:
            return False
    return all(sign == "*" for sign in signs[here:])


@lru_cache(maxsize=2 * MAX_PATTERNS)
def _signs(want: str) -> tuple[str, ...] | None:
    """None for a plain name."""
    if not _SPECIAL.search(want):
        return None
    signs: list[str] = []
    at = 0
    while at < len(want):
        found = _CLASS.match(want, at) if want[at] == "[" else None
        escaped = want[at] == "\\" and at + 1 < len(want)
        sign = found[0] if found else want[at : at + 2] if escaped else want[at]
        signs.append(sign)
        at += len(sign)
    return tuple(signs)


def _fits_sign(sign: str, char: str) -> bool:
    if sign == "?":
        return True
    if len(sign) == 2 and sign[0] == "\\":
        return sign[1] == char
    if len(sign) > 2 and sign[0] == "[":
        return _fits_class(sign[1:-1], char)
    return sign == char


def _fits_class(inside: str, char: str) -> bool:
    negated = inside[:1] in ("!", "^")
    chars = inside[1:] if negated else inside
    found = char in re.sub(r".-.", "", chars) or any(
        low <= char <= high for low, high in re.findall(r"(.)-(.)", chars)
    )
    return found != negated

"""A memory that is about the very file a tool is used on counts for more. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from clew.model.inject import Observation
from clew.model.memory import Memory

BOOST, CAP = 0.2, 1.0  # rensei.md R-103


def boost_by_path_overlap(
    scored: Iterable[Observation], path: str | None, *, boost: float = BOOST, cap: float = CAP
) -> list[Observation]:
    """In the order given; without a path nothing changes."""
    if not path:
        return list(scored)
    return [
        replace(one, relevance=max(one.relevance, min(cap, one.relevance + boost)))
        if is_about_path(one.memory, path)
        else one
        for one in scored
    ]


def is_about_path(memory: Memory, path: str) -> bool:
    """By the paths it was given; only one without any is searched for the path in its text."""
    own = paths_of(memory)
    if own:
        return any(_covers(one, path) for one in own)
    name = _normal(path)
    return bool(name) and _mentions(memory.content, name)


def paths_of(memory: Memory) -> tuple[str, ...]:
    """Those of its metadata are documented, those of the memory itself are ours."""
    given = memory.metadata.get("paths")
    listed = [one for one in given if isinstance(one, str)] if isinstance(given, list | tuple) else []
    return (*listed, *memory.paths)


def _covers(own: str, focal: str) -> bool:
    """The same file, or a folder around it. One may be the end of the other (`/home/kim/shop/src/pay.py` and
    `src/pay.py`); a bare file name says too little for that: every folder has an `__init__.py`."""
    own, focal = _normal(own), _normal(focal)
    if not own or not focal:
        return False
    short, long = sorted((own, focal), key=len)
    is_same = short == long or ("/" in short and long.endswith("/" + short))
    return is_same or focal.startswith(own + "/")


def _mentions(text: str, path: str) -> bool:
    """The path stands in the text, whole or without the folders that only this machine has."""
    text = text.replace("\\", "/")
    parts = path.split("/")
    ends = ("/".join(parts[at:]) for at in range(max(1, len(parts) - 1)))
    return any(end in text and re.search(rf"(?<![\w.-]){re.escape(end)}(?![\w-])", text) for end in ends)


def _normal(path: str) -> str:
    return path.replace("\\", "/").removeprefix("./").strip("/")

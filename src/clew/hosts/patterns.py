"""Tables of patterns beside the code: sections of a text file, one pattern a line. Read when first needed."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

COMMANDS, PHRASES, ELSEWHERE = "commands.txt", "phrases.txt", "elsewhere.txt"
_NAMED = re.compile(r"(?<!\\)\{([a-z][a-z ]+)\}")


@cache
def sections(name: str) -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    lines = Path(__file__).with_name(name).read_text(encoding="utf-8").splitlines()
    here: list[str] = []
    for line in lines:
        if line.startswith("[") and line.endswith("]"):
            here = found.setdefault(line[1:-1], [])
        elif line and not line.startswith("#"):
            here.append(line)
    return {title: tuple(patterns) for title, patterns in found.items()}


def any_of(name: str, section: str) -> str:
    """One group that fits what any pattern of the section fits. `{title}` in a pattern is that section's group."""
    patterns = "|".join(sections(name)[section])
    return f"(?:{_NAMED.sub(lambda title: any_of(name, title[1]), patterns)})"


@cache
def phrase(section: str, before: str = "", after: str = "") -> re.Pattern[str]:
    return re.compile(f"{before}{any_of(PHRASES, section)}{after}", re.IGNORECASE)

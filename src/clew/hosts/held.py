"""What a transcript holds of Clew already: ids of memories and of summaries, lines of facts. So a resumed session
is not told again.

A host names the transcript, and whoever can reach a hook can name a file: only a regular file below the folders
where that host keeps its transcripts is read, wherever links lead, and of a long one only the end.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from clew.guard.render import TRIPLETS_HEADING
from clew.hosts.reading import read_regular
from clew.hosts.table import Host
from clew.values import dataclass

MAX_BYTES = 16 << 20
MAX_IDS = 2_000
MAX_LINES = 500

_ID = re.compile(rb"(?:mem|sum)_[0-9a-hjkmnp-tv-z]{26}(?![0-9a-z])")
_ARROWS = (b"\xe2\x86\x92", b"\\u2192")  # as it is, and as JSON may spell it
_BOUNDARY = (b"compact_boundary", b'"compacted"')
_FACT = re.compile(r"- [^\n]{1,400} → [^\n]{1,400} → [^\n]{1,400}")


@dataclass(frozen=True, slots=True)
class Held:
    """`was_read` False: nobody could look, so what was shown has to be known from elsewhere."""

    ids: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()
    was_read: bool = False


def held_by(host: Host, transcript: str | None, environ: Mapping[str, str], *, user_home: Path) -> Held:
    """What the agent still sees of the transcript: after the last time it was made shorter."""
    data = _read(transcript, roots_of(host, environ, user_home=user_home)) if transcript else None
    if data is None:
        return Held()
    lines = _seen(data.split(b"\n"))
    ids = dict.fromkeys(found.decode() for line in lines for found in _ID.findall(line))
    facts = dict.fromkeys(fact for line in lines for fact in _facts(line))
    return Held(tuple(ids)[-MAX_IDS:], tuple(facts)[-MAX_LINES:], was_read=True)


def roots_of(host: Host, environ: Mapping[str, str], *, user_home: Path) -> list[Path]:
    """Where a host keeps its transcripts on this machine."""
    named = (
        (environ.get(variable) if variable else str(user_home), folder) for variable, folder in host.transcripts
    )
    return [Path(base) / folder for base, folder in named if base and Path(base).is_absolute()]


def safe_path(transcript: str, roots: list[Path]) -> Path | None:
    """The file itself, if it lies below one of these folders after every link was followed."""
    path = Path(transcript)
    if not path.is_absolute() or path.suffix != ".jsonl":
        return None
    try:
        real = path.resolve(strict=True)
        below = [root.resolve() for root in roots]
    except (OSError, RuntimeError, ValueError):
        return None
    return real if any(real.is_relative_to(root) for root in below) else None


def _read(transcript: str, roots: list[Path]) -> bytes | None:
    path = safe_path(transcript, roots)
    data = read_regular(path, limit=MAX_BYTES, from_end=True, follow=False) if path else None
    return data.partition(b"\n")[2] if data is not None and len(data) == MAX_BYTES else data


def _seen(lines: list[bytes]) -> list[bytes]:
    for at in range(len(lines) - 1, -1, -1):
        if any(mark in lines[at] for mark in _BOUNDARY) and _is_boundary(lines[at]):
            return lines[at:]
    return lines


def _is_boundary(line: bytes) -> bool:
    """A record of its own, and not a text that speaks of one."""
    record = _record(line)
    return record.get("type") == "compacted" or (
        record.get("type") == "system" and record.get("subtype") == "compact_boundary"
    )


def _facts(line: bytes) -> Iterator[str]:
    heading = TRIPLETS_HEADING.encode()
    if heading not in line or not any(arrow in line for arrow in _ARROWS):
        return
    for text in _texts(_record(line)):
        for section in text.split(TRIPLETS_HEADING)[1:]:
            yield from _FACT.findall(section.partition("\n#")[0])


def _texts(value: Any, depth: int = 12) -> Iterator[str]:
    if isinstance(value, str):
        # What a hook printed is kept as it was printed: JSON in JSON.
        inner = _record(value.encode("utf-8", "replace")) if value.startswith("{") else {}
        yield from _texts(inner, depth - 1) if inner and depth else (value,)
    elif depth and isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _texts(one, depth - 1)


def _record(line: bytes) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return record if isinstance(record, dict) else {}

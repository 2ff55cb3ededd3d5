"""A disk between SQLite and the real one: it writes down what reached it, fails on request, and loses power.

Power loss keeps what was synced. Of the rest any set of sectors may have arrived, in part or not at all: that is
what a cache without a battery does. A deleted file may come back until its directory was synced, which SQLite does
with the first sync of a new log or journal.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any
from uuid import uuid4

import apsw

SECTOR = 512
Event = tuple[Any, ...]  # (what, file or subject, ...)


@dataclass
class Fault:
    """Raises at the n-th call of a kind, and from then on if it lasts.

    `only` restricts it to files whose names end so. SQLite itself ignores a checkpoint that fails after a commit;
    an exception from Python would be raised although the commit stands.
    """

    kind: str  # write | sync
    at: int
    error: Callable[[], Exception]
    lasts: bool = False
    only: str = ""
    seen: int = 0

    def strikes(self, kind: str, file: str) -> bool:
        if kind != self.kind or not file.endswith(self.only):
            return False
        self.seen += 1
        return self.seen > self.at if self.lasts else self.seen == self.at + 1


class Disk(apsw.VFS):
    def __init__(self) -> None:
        self.name = f"test-disk-{uuid4().hex}"
        self.events: list[Event] = []
        self.fault: Fault | None = None
        super().__init__(self.name, base="")

    def xOpen(self, name: Any, flags: list[int]) -> apsw.VFSFile:
        return DiskFile(self, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:
        self.events.append(("delete", Path(filename).name, syncdir))
        super().xDelete(filename, syncdir)

    def reached(self, kind: str, file: str, *event: Any) -> None:
        if self.fault and self.fault.strikes(kind, file):
            raise self.fault.error()
        self.events.append((kind, file, *event))


class DiskFile(apsw.VFSFile):
    def __init__(self, disk: Disk, name: Any, flags: list[int]) -> None:
        self.disk = disk
        self.file = Path(name.filename() if isinstance(name, apsw.URIFilename) else name or "").name
        super().__init__("", name, flags)

    def xWrite(self, data: bytes, offset: int) -> None:
        self.disk.reached("write", self.file, offset, bytes(data))
        super().xWrite(data, offset)

    def xTruncate(self, size: int) -> None:
        self.disk.reached("truncate", self.file, size)
        super().xTruncate(size)

    def xSync(self, flags: int) -> None:
        self.disk.reached("sync", self.file)  # the real disk need not be troubled


@contextmanager
def plugged_in() -> Iterator[Disk]:
    disk = Disk()
    try:
        yield disk
    finally:
        disk.unregister()


@dataclass
class _File:
    durable: bytearray = field(default_factory=bytearray)
    waiting: list[Event] = field(default_factory=list)
    is_known: bool = False  # by its directory


def power_cut(events: list[Event], folder: Path, rng: random.Random) -> None:
    """Write into `folder` what is on the disk when the power fails after these events."""
    files: dict[str, _File] = {}
    deleted: dict[str, _File] = {}  # but the directory does not know yet
    for kind, name, *rest in events:
        if kind == "delete":
            deleted[name] = files.pop(name)
            continue
        file = files.setdefault(name, _File())
        if kind == "sync":
            _apply(file)
            if not file.is_known:
                deleted.clear()
            file.is_known = True
        else:
            file.waiting.append((kind, *rest))
    luck = rng.choice((0.0, 0.5, 0.9, 1.0))
    came_back = {name: file for name, file in deleted.items() if name not in files and rng.random() < 0.5}
    for name, file in (files | came_back).items():
        file.waiting = list(_survivors(file.waiting, luck, rng))
        _apply(file)
        if file.durable:
            (folder / name).write_bytes(file.durable)


def _survivors(waiting: list[Event], luck: float, rng: random.Random) -> Iterator[Event]:
    for event in waiting:
        if event[0] == "truncate":
            if rng.random() < luck:
                yield event
            continue
        _kind, offset, data = event
        edges = [0, *range(SECTOR - offset % SECTOR, len(data), SECTOR), len(data)]
        for start, end in pairwise(edges):
            if rng.random() < luck:
                yield "write", offset + start, data[start:end]


def _apply(file: _File) -> None:
    content = file.durable
    for event in file.waiting:
        if event[0] == "truncate":
            del content[event[1] :]
            continue
        _kind, offset, data = event
        content.extend(bytes(max(0, offset + len(data) - len(content))))
        content[offset : offset + len(data)] = data
    file.waiting.clear()

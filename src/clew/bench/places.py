"""Where a benchmark writes what it found: looked at before hours go into it, and no reason to lose the rest."""

from __future__ import annotations

import gzip
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import IO, Any

from clew.errors import InvalidInput


def named(option: str, name: str | None) -> Path | None:
    """The file that an option names, if it was given."""
    if name in ("", "-"):  # the report has the standard output for itself
        raise InvalidInput(f"{option} '{name}' names no file", code="USAGE", next="name one, or leave it out")
    return Path(name) if name else None


def check_place(out: Path, files: Sequence[Path] = ()) -> None:
    """Refuses what could not be written, and what is one of the files that are read."""
    folder = _target(out).parent
    if not folder.is_dir():
        raise InvalidInput(f"there is no directory for {out}", code="BENCH_NO_DIRECTORY", next="make it first")
    if is_one_of(out, files):
        raise InvalidInput(f"{out} is what is read", code="BENCH_OVERWRITES", next="name another file")
    if not _is_writable(out, folder):
        raise InvalidInput(f"{out} cannot be written", code="BENCH_NO_PLACE", next="name another file")


def is_one_of(out: Path, files: Sequence[Path]) -> bool:
    """By whatever name: files have several."""
    return out.exists() and any(file.exists() and out.samefile(file) for file in files)


def _is_writable(out: Path, folder: Path) -> bool:
    if _is_device(out):
        return not out.is_dir() and os.access(out, os.W_OK)
    return os.access(folder, os.W_OK) and (not out.exists() or os.access(out, os.W_OK))


def _is_device(out: Path) -> bool:
    """Or a pipe: nothing that another file may take the place of."""
    return out.exists() and not out.is_file()


def _target(out: Path) -> Path:
    """What it leads to, which is what is replaced, and not what leads there."""
    return out.absolute() if _is_device(out) else out.resolve()


def write(out: Path, text: str, report: dict[str, Any]) -> None:
    """A disk that is full in the end costs the file: the report says so, and is told all the same."""
    try:
        with written(out) as file:
            file.write(text.encode())
    except OSError as error:
        report["not_written"] = {"file": str(out), "reason": error.strerror or type(error).__name__}


@contextmanager
def written(out: Path) -> Iterator[IO[bytes]]:
    """What becomes the file, compressed if it is called so, once all of it is there: an earlier one stays until
    then."""
    if _is_device(out):
        with out.open("wb") as raw:
            yield raw
        return
    place = _target(out)
    unfinished = place.with_name(f".clew-bench-{os.getpid()}.part")
    try:
        with unfinished.open("wb") as raw, _packed(raw) if out.suffix == ".gz" else nullcontext(raw) as file:
            yield file
        if place.exists():
            shutil.copymode(place, unfinished)
        unfinished.replace(place)
    finally:
        unfinished.unlink(missing_ok=True)


def _packed(raw: IO[bytes]) -> AbstractContextManager[IO[bytes]]:
    """Without a name and a time in it, the same content is the same file."""
    return gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0)  # type: ignore[return-value]

"""Memories in files: export, import, backup, restore."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TextIO

from clew.errors import ClewError, Conflict, InvalidInput, NotFound
from clew.model.host import Around
from clew.surfaces.cli import refusal, render
from clew.surfaces.cli.context import (
    confirm,
    file_of,
    here,
    opened,
    opened_as_it_is,
    project_name,
    scope_of_id,
    settings_of,
)
from clew.surfaces.cli.parser import usage
from clew.surfaces.cli.progress import progress_bar
from clew.surfaces.cli.terminal import Style, answer, one_line

SHOWN = 20


def export_memories(args: Namespace) -> None:
    """Everything, unless a scope is asked for: a move that silently left projects behind would be a loss."""
    is_placed = args.project is not None or args.no_project
    if is_placed and args.all_projects:
        raise usage("--all-projects excludes --project and --no-project", "give one of them")
    check_one_document(args)
    with opened_as_it_is(settings_of(args)) as memory, progress_bar("export") as progress:
        write = partial(memory.export, scope=scope_of_id(args), all_projects=not is_placed, progress=progress)
        if args.file == "-":
            report = to_stdout(write)
            print(f"exported {render.memories(report.count)}", file=sys.stderr)
            return
        with written_whole(Path(args.file), over="clew-memories", store=Path(memory.store.location)) as file:
            report = write(file)
    document = {"file": args.file, **report.as_json()}
    answer(args, document, lambda style: [f"exported {render.memories(report.count)} to {one_line(args.file)}"])


def check_one_document(args: Namespace) -> None:
    """An export is one for each line."""
    if args.json and args.file == "-":
        raise usage(
            "--json prints one document, and an export to stdout is one for each line",
            "leave --json out, or name a file",
        )


def to_stdout(write: Callable[[TextIO], Any]) -> Any:
    """UTF-8 whatever the terminal speaks: the stream is a file for another Clew."""
    if not sys.stdout:
        raise usage("stdout is closed", "name a file instead of '-'")
    sys.stdout.flush()
    with os.fdopen(sys.stdout.fileno(), "w", encoding="utf-8", newline="\n", closefd=False) as file:
        return write(file)


@contextmanager
def written_whole(path: Path, *, over: str, store: Path) -> Iterator[TextIO]:
    """A file that appears complete or not at all, readable by its owner only. Devices are written through. Of files
    that exist, only an earlier export of the same format (`over`) is replaced, and never one of the store."""
    _check_apart(path, store)
    if path.exists() and not path.is_file():
        with path.open("w", encoding="utf-8", newline="\n") as file:
            yield file
        return
    _check_replaceable(path, over)
    target = path.resolve()
    _check_directory(target.parent)
    handle, name = _beside(target)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _check_apart(path: Path, store: Path) -> None:
    """By stat alone: closing a file of the store would give up the locks that this process has on it."""
    for part in (Path(f"{store}{end}") for end in ("", "-wal", "-shm", "-journal")):
        if path.resolve() == part.resolve() or (path.exists() and part.exists() and path.samefile(part)):
            raise InvalidInput(
                f"{path} is a file of the store itself", code="EXPORT_ONTO_ITSELF", next="name another file"
            )


def _check_replaceable(path: Path, over: str) -> None:
    begins = json.dumps({"format": over})[:-1].encode()
    if not path.exists() or not path.stat().st_size:
        return
    with path.open("rb") as file:
        if file.read(len(begins)) != begins:
            raise Conflict(
                f"{path} exists and is no earlier export of this kind",
                code="EXPORT_EXISTS",
                next="name another file, or remove this one first",
            )


def _beside(target: Path) -> tuple[int, str]:
    """A new file in the same directory. Who may not make one is told of the file that was named."""
    try:
        return tempfile.mkstemp(prefix=f".{target.name[:40]}.", dir=target.parent)
    except OSError as error:
        raise type(error)(error.errno, f"{error.strerror} in its directory", str(target)) from None


def _check_directory(folder: Path) -> None:
    """Otherwise the complaint would be about a temporary file that nobody named."""
    if not folder.is_dir():
        raise NotFound(
            f"there is no directory {folder}", code="FILE_NOT_FOUND", next="create it, or check the path"
        )


def import_memories(args: Namespace) -> int:
    """Exit 1 when not every line could be read; the report says which, and stderr what to do."""
    settings = settings_of(args)
    # An export says for each memory where it belongs; notes belong to the project they lie in.
    scope, notes_project = scope_of_id(args), project_name(args, settings)
    with (
        opened(settings, directly=True) as memory,
        file_of(args.file, settings.home) as file,
        progress_bar("import") as progress,
    ):
        run = partial(
            memory.import_file,
            file,
            scope=scope,
            notes_project=notes_project,
            around=_around(settings.home),
            replace=args.replace,
        )
        if args.replace and not args.dry_run:
            told = run(dry_run=True)
            _check_replaced(told.gone if told.is_all_gone else [], args)
        report = run(dry_run=args.dry_run, progress=progress)
        waiting = memory.jobs.health().backlog
    document = report.as_json() | {"jobs_waiting": waiting}
    answer(args, document, partial(_import_lines, document, is_whole=report.is_whole))
    return 0 if report.is_whole else incomplete(args.file, report.next)


def _check_replaced(all_gone: Sequence[str], args: Namespace) -> None:
    """A file that was emptied, or another one under its name, would take along all that it brought."""
    if all_gone:
        all_of_it = f"{render.memories(len(all_gone))}, all that {one_line(args.file)} said before"
        confirm(f"forgetting {all_of_it} and says no more", args)


def incomplete(name: str, next_move: str) -> int:
    error = ClewError(f"not all of {name} came in", code="IMPORT_INCOMPLETE", next=next_move)
    print(refusal.line(error), file=sys.stderr)
    return error.exit_code


def _around(home: Path) -> Around:
    """The repository here and what it ignores: of transcripts only the sessions that began in it belong to it. What
    is imported on purpose is taken also where hooks are off."""
    from clew.hosts.around import look_around

    event = {"hook_event_name": "SessionStart", "session_id": "import", "cwd": str(here())}
    return replace(look_around("claude-code", event, home=home), is_off=False, capture=True)


def _import_lines(document: dict[str, Any], style: Style, *, is_whole: bool) -> Iterator[str]:
    done = "would add" if document["dry_run"] else "added"
    yield f"{style('green', done)} {render.memories(document['added'])}, {render.known(document['known'])}"
    if document.get("sessions") or document.get("elsewhere"):
        left = f", {document['elsewhere']:,} of other projects left out" if document["elsewhere"] else ""
        yield f"from {document['sessions']:,} past sessions{left}"
    if document["conflicts"]:
        yield style(
            "yellow", f"{document['conflicts']:,} have an id or a key that another text has, and were left out"
        )
    if gone := document.get("gone"):
        yield from _no_longer_said(document, len(gone), style)
    if edited := document.get("edited"):
        yield f"left out what {render.memories(len(edited))} said before being edited: clew show {edited[0]}"
    if held := document["quarantined"]:
        yield style("yellow", f"{render.memories(held)} kept in quarantine: clew quarantine list")
    if lighter := document.get("lighter"):
        yield f"{render.memories(lighter)} came in with weight 1: who configures the org may give more"
    if unsigned := document.get("authors_left_out"):
        yield f"{render.memories(unsigned)} came in without their author: who configures the org may name others"
    if hidden := document["private"]:
        yield f"{hidden:,} private {'passage was' if hidden == 1 else 'passages were'} left out"
    if lines := document["left_out"]:
        yield f"{_too_little(len(lines))}: {', '.join(map(str, lines[:SHOWN]))}{' …' if len(lines) > SHOWN else ''}"
    if document["truncated"] or document["checksum"] == "mismatch":
        yield style("yellow", "the file is not as it was written: it was cut off or changed")
    if waiting := document["jobs_waiting"]:
        wait = "waits" if waiting == 1 else "wait"
        yield f"{render.memories(waiting)} {wait} to be related to others: clew jobs run --once"
    for entry in document["skipped"][:SHOWN]:
        yield style("yellow", f"line {entry['line']}: {one_line(entry['message'])} [{entry['reason']}]")
    if len(document["skipped"]) > SHOWN:
        yield f"… and {len(document['skipped']) - SHOWN:,} more lines; all of them: --json"
    if document["conflicts"] and is_whole:  # of a file that is not whole, stderr tells
        yield f"next: {document['next']}"


def _no_longer_said(document: dict[str, Any], count: int, style: Style) -> Iterator[str]:
    what = f"{render.memories(count)} that an earlier one of these notes said, and this one does not"
    if document["replaced"]:
        yield f"forgot {what}"
    else:
        yield style("yellow", f"{what}, {'is' if count == 1 else 'are'} still current")
        yield "to forget what is gone: the same with --replace"


def _too_little(count: int) -> str:
    if count == 1:
        return "1 line that says nothing by itself was left out"
    return f"{count:,} lines that say nothing by themselves were left out"


def backup(args: Namespace) -> None:
    with opened_as_it_is(settings_of(args)) as memory, progress_bar("backup") as progress:
        report = memory.backup(Path(args.file), overwrite=args.overwrite, progress=progress)
    text = f"copied {render.memories(report.memories)} to {one_line(str(report.path))}"
    answer(args, report.as_json(), lambda style: [text])


def restore(args: Namespace) -> None:
    from clew import compose

    settings = settings_of(args)
    store = compose.database_path(settings)
    if not Path(args.file).exists():
        raise NotFound(f"{args.file} was not found", code="FILE_NOT_FOUND", next="check the name of the backup")
    if store.exists():
        confirm(f"replacing {store} by {args.file}", args)
    with progress_bar("restore") as progress:
        report = compose.restore(settings, Path(args.file), progress=progress)
    answer(args, report.as_json(), lambda style: render.fields(report.as_json(), style))

"""What every command begins with: settings, the scope it works in, its text, an open Clew."""

from __future__ import annotations

import json
import os
import sys
from argparse import Namespace
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from clew.errors import ClewError, Denied, InvalidInput, Misconfigured, NotFound
from clew.model.address import is_shared
from clew.model.scope import AcrossProjects, Scope
from clew.model.times import parse_time
from clew.settings import Settings, load_settings
from clew.surfaces.cli import refusal
from clew.surfaces.cli.parser import usage
from clew.surfaces.cli.terminal import one_line

if TYPE_CHECKING:
    from clew import Clew


def settings_of(args: Namespace) -> Settings:
    return load_settings(home=_home(args), directory=here())


def _home(args: Namespace) -> Path | None:
    return Path(args.home).expanduser().absolute() if args.home else None


def settings_despite(args: Namespace) -> tuple[Settings, Misconfigured | None]:
    """For commands that lead out of a project file that is refused: the settings without it, and what is wrong. The
    user's own file and environment are refused as ever."""
    try:
        return settings_of(args), None
    except Misconfigured as refused:
        return load_settings(home=_home(args), directory=None), refused


def home_despite(args: Namespace) -> Path:
    """For commands that need no more; what is wrong with the project file is told beside."""
    settings, refused = settings_despite(args)
    tell(refused)
    return settings.home


def tell(refused: Misconfigured | None) -> None:
    if refused is not None:
        print(refusal.line(refused), file=sys.stderr)


def here() -> Path:
    """The working directory. Where it was deleted under our feet, the root: in no project but one that has all."""
    try:
        return Path.cwd()
    except FileNotFoundError:
        return Path("/")


@contextmanager
def opened(settings: Settings, *, directly: bool = False, stays: bool = False) -> Iterator[Clew]:
    """A Clew elsewhere where the settings name one; the daemon of this home if one answers; else the store itself.
    `directly`: for what needs the store's own file. `stays`: by a process that lives on, and does what writes leave
    behind."""
    if not (directly or stays):
        _stay_on_one_core()
    with (None if directly else _elsewhere(settings, stays=stays)) or _composed(
        settings, in_background=stays
    ) as memory:
        yield memory


@contextmanager
def opened_as_it_is(settings: Settings) -> Iterator[Clew]:
    """The store itself, if there is one: what is taken out of a new one would be nothing, and look like all."""
    from clew.compose import check_store

    check_store(settings)
    with opened(settings, directly=True) as memory:
        yield memory


def _stay_on_one_core() -> None:
    """numpy's linear algebra starts a thread for every core as soon as it is imported: some 30 ms of processors,
    and one question has no use for them. Whoever said how many there are to be is obeyed."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def _elsewhere(settings: Settings, *, stays: bool) -> Clew | None:
    from clew.surfaces.cli import daemon

    return daemon.elsewhere(settings, stays=stays)


def _composed(settings: Settings, *, in_background: bool) -> Clew:
    from clew.compose import compose, store_url  # brings numpy and apsw along

    return compose(settings, store_url(settings), in_background=in_background)


def scope_of(args: Namespace, settings: Settings) -> Scope:
    """Where a command works: named by options, else by the settings, else by the repository around."""
    return Scope(project=project_name(args, settings), user=args.user)


def project_name(args: Namespace, settings: Settings) -> str | None:
    named = _named_project(args)
    if named is not None or args.no_project:
        return named
    return settings.project or project_around(settings)


def project_around(settings: Settings) -> str | None:
    """That of the repository here. Whoever works in one whose name has changed is told once what came of it."""
    from clew.hosts import known  # not for a command that is told

    home, place, shared = settings.home, here(), is_shared(settings.store.url)
    project = known.project_at(place, home=home, holds=partial(_has_memories, settings), shared=shared)
    if news := known.news_at(place, home=home, shared=shared):
        from clew.surfaces.hooks.checkup import changed_name

        print(f"clew: {one_line(changed_name(news))}", file=sys.stderr)
    return project


def _has_memories(settings: Settings, project: str) -> bool:
    with opened(settings) as memory:
        return project in memory.projects.list()


def scope_of_id(args: Namespace) -> Scope | None:
    """An id is looked up everywhere unless a scope is asked for."""
    if args.project is None and not args.no_project:
        return None if args.user is None else AcrossProjects(user=args.user)
    return Scope(project=_named_project(args), user=args.user)


def _named_project(args: Namespace) -> str | None:
    if args.no_project and args.project is not None:
        raise usage("--project and --no-project exclude each other", "give one of them")
    return None if args.project is None else str(args.project)


def texts_of(memory: Clew, ids: Iterable[str]) -> dict[str, str]:
    """What memories say, in one line each, for lists that hold their ids alone."""
    return {id: _text_of_id(memory, id) for id in dict.fromkeys(ids)}


def _text_of_id(memory: Clew, id: str) -> str:
    try:
        found = memory.show(id)
    except (NotFound, Denied):
        return "(no longer to be read)"
    return one_line(found.title or found.content)


def text_of(given: str, settings: Settings) -> str:
    """The text itself, or what stdin holds when it is '-'."""
    if given != "-":
        return given
    limit = 4 * settings.remember.max_chars  # UTF-8 needs at most four bytes for a character
    data = sys.stdin.buffer.read(limit + 1) if sys.stdin else b""
    if len(data) > limit:
        raise InvalidInput(
            f"stdin holds more than {limit:,} bytes",
            code="MEMORY_TOO_LARGE",
            next="split it into several memories, or raise remember.max_chars",
        )
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"stdin is not valid UTF-8 (byte {error.start})",
            code="INVALID_UTF8",
            next="convert it first: iconv -t UTF-8",
        ) from None
    if "\0" in text:
        raise InvalidInput(
            f"stdin is not text: it holds a NUL (byte {data.index(0)})",
            code="INVALID_UTF8",
            next="leave it out: tr -d '\\000'",
        )
    return text


@contextmanager
def file_of(given: str, home: Path) -> Iterator[Path]:
    """The file itself, or for '-' what stdin holds: it is read twice, first to see that nobody changed it. Nothing
    of it is masked yet, so it lies in memory where the system has files there, elsewhere in a private folder."""
    if given != "-":
        yield Path(given)
        return
    import tempfile

    with ExitStack() as held:
        if hasattr(os, "memfd_create"):
            folder = held.enter_context(tempfile.TemporaryDirectory(prefix="clew-"))
            target = held.enter_context(open(os.memfd_create("stdin"), "wb"))  # noqa: PTH123 - by its number
            file = Path(folder) / "stdin"  # a name that says what it is: memories keep it, and errors tell it
            file.symlink_to(f"/dev/fd/{target.fileno()}")
        else:
            home.mkdir(mode=0o700, parents=True, exist_ok=True)  # no store of its own, where that is a database
            folder = held.enter_context(tempfile.TemporaryDirectory(prefix="stdin-", dir=home))
            file = Path(folder) / "stdin"
            target = held.enter_context(file.open("wb"))
        _copy_stdin(target)
        yield file


def _copy_stdin(target: IO[bytes]) -> None:
    if sys.stdin:
        target.writelines(sys.stdin.buffer)  # by lines: copyfileobj asks once more behind the end of a terminal
        target.flush()


def json_object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        raise InvalidInput(
            "metadata is not valid JSON", code="INVALID_JSON", next="""quote it, as in --metadata '{"ticket": 7}'"""
        ) from None
    if not isinstance(value, dict):
        raise InvalidInput(
            "metadata is not a JSON object", code="MEMORY_METADATA_INVALID", next="put it into braces: {...}"
        )
    return value


def moment(text: str | None) -> datetime | None:
    """A time, or an age such as 7d. For times that lie behind us."""
    return None if text is None else parse_time(text, now=datetime.now(UTC))


def confirm(question: str, args: Namespace) -> None:
    """Ask before what cannot be undone. Without a terminal, only --yes will do."""
    if args.yes:
        return
    if not (sys.stdin and sys.stdin.isatty()):
        raise usage(f"{question} needs a confirmation", "add --yes to do it without being asked")
    print(f"{question}? [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise ClewError("nothing was done", code="NOT_CONFIRMED", next="answer y, or add --yes")

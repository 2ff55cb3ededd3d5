"""Look after the store: stats, doctor, migrate, reindex."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clew.errors import ClewError, Denied
from clew.model.address import POSTGRES, is_shared, scheme_of, without_password
from clew.model.upkeep import Check
from clew.surfaces.cli import render
from clew.surfaces.cli.context import here, opened, settings_despite, settings_of
from clew.surfaces.cli.parser import usage
from clew.surfaces.cli.progress import progress_bar
from clew.surfaces.cli.terminal import Style, answer, one_line
from clew.wire.address import is_address

if TYPE_CHECKING:
    from clew.settings import Settings


def stats(args: Namespace) -> None:
    with opened(settings_of(args)) as memory:
        document = memory.stats().as_json()
    answer(args, document, lambda style: render.fields(_as_told(document), style))


def _as_told(document: dict[str, Any]) -> dict[str, Any]:
    """The words of a file, unless it is a database: its log is the server's."""
    if scheme_of(document["path"]) not in POSTGRES:
        return document
    words = {"path": "database", "file_bytes": "database_bytes"}
    return {words.get(name, name): value for name, value in document.items() if name != "log_bytes" or value}


def doctor(args: Namespace) -> int:
    """Exit 1 when something needs mending."""
    from clew.surfaces.hooks.checkup import check_around

    if (args.session or args.transcript) and not args.probe:
        raise usage("--session and --transcript are for --probe", "add --probe")
    settings, refused = settings_despite(args)
    around = check_around(settings.home, here(), shared=is_shared(settings.store.url))
    checks = [*_of_store(settings), *around]  # also where no store opens
    if refused is not None:
        silent = f"{refused.message}; other commands refuse to work here, and hooks are silent"
        checks.append(Check("settings", False, silent, refused.next))
    if args.probe:
        checks += _probed(args, settings)
    is_well = all(check.ok for check in checks)
    document = {"ok": is_well, "checks": [check.as_json() for check in checks]}
    answer(args, document, lambda style: _check_lines(checks, style))
    return 0 if is_well else 1


def _of_store(settings: Settings) -> Sequence[Check]:
    from clew import compose

    return _of_server(settings) if is_address(settings.store.url) else compose.doctor(settings)


def _of_server(settings: Settings) -> Sequence[Check]:
    """Whether it answers whoever has this token; what it finds at home it tells its operator alone."""
    try:
        with opened(settings) as memory:
            org = memory.stats().org
            checks = [Check("server", True, f"{without_password(settings.store.url)} answers, for org '{org}'")]
            with suppress(Denied):
                checks += memory.doctor()
            return checks
    except ClewError as error:
        return [Check("server", False, error.message, error.next)]


def _probed(args: Namespace, settings: Settings) -> list[Check]:
    from clew.surfaces.hooks import probe
    from clew.surfaces.hooks.checkup import is_daemon_up

    with opened(settings) as memory:
        if args.transcript:
            return list(probe.recorded(Path(args.transcript)))
        if args.session:
            return [probe.plant(memory, args.session)]
        client_of = settings.home if is_daemon_up(settings.home) else None
        if client_of is None and is_address(settings.store.url):
            return [Check(f"probe {args.host}", False, "nobody here passes on what hooks tell", "run: clew serve")]
        return list(probe.probe(memory, args.host, directory=here(), client_of=client_of))


def _check_lines(checks: Sequence[Check], style: Style) -> Iterator[str]:
    width = max((len(check.name) for check in checks), default=0)
    for check in checks:
        mark = style("green", "ok  ") if check.ok else style("red", "FAIL")
        yield f"{mark}  {check.name:<{width}}  {one_line(check.detail)}"
        if check.next:
            yield f"      {'':<{width}}  next: {one_line(check.next)}"


def migrate(args: Namespace) -> None:
    """Opening a store brings it to the present schema, where the role may; this does it and tells what it did."""
    from clew import compose

    store, before, after = compose.migrate(settings_of(args))
    document = {"store": store, "from": before, "to": after, "migrated": before != after}
    text = f"schema {before} -> {after}" if before != after else f"schema {after} is the present one"
    answer(args, document, lambda style: [f"{one_line(store)}: {text}"])


def reindex(args: Namespace) -> None:
    with opened(settings_of(args), directly=True) as memory, progress_bar("reindex") as progress:
        document = memory.reindex(progress=progress).as_json()
    answer(args, document, lambda style: render.fields(document, style))

"""Set up: init, config, model, completion, and the way to the benchmarks."""

from __future__ import annotations

import json
import shlex
import sys
from argparse import Namespace
from collections.abc import Iterator
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import Any

from clew.errors import Conflict, NotFound, Unavailable
from clew.hosts.known import project_at
from clew.hosts.named import allow_name
from clew.model.address import is_shared, without_password
from clew.model.scope import Scope
from clew.setting_values import BudgetOverrides
from clew.settings import PROJECT_FILE, USER_FILE, Settings, project_named_in
from clew.surfaces.cli import refusal, render
from clew.surfaces.cli.context import here, opened, project_around, settings_despite, settings_of, tell
from clew.surfaces.cli.progress import progress_bar
from clew.surfaces.cli.signals import terminate_like_interrupt
from clew.surfaces.cli.terminal import Style, answer, columns, one_line, safe
from clew.wire.address import is_address


def init(args: Namespace) -> None:
    """Create the store, and the project file if one is asked for. Running it again changes nothing. Hooks heed
    the name from then on, also where a file gave it before."""
    if args.project is not None:
        _check_project_file(Path.cwd() / PROJECT_FILE, args.project)
    settings = settings_of(args)
    store, is_new = _store(settings)
    written = None
    if args.project is not None:
        written = _write_project_file(Path.cwd() / PROJECT_FILE, args.project)
        allow_name(settings.home, Path.cwd(), args.project)
    project = args.project or settings.project or project_around(settings)
    document = {"home": str(settings.home), "store": store, "created": is_new, "project": project}
    if written:
        document["project_file"] = str(written)
    answer(args, document, lambda style: _first_steps(document, style))


def _store(settings: Settings) -> tuple[str, bool]:
    """Where it is, and whether it was made just now. A Clew elsewhere only has to answer."""
    if is_address(settings.store.url):
        with opened(settings) as memory:
            memory.stats()
        return without_password(settings.store.url), False
    from clew.compose import is_new_store

    is_new = is_new_store(settings)
    with opened(settings, directly=True) as memory:
        return memory.store.location, is_new


def _first_steps(document: dict[str, Any], style: Style) -> Iterator[str]:
    done = "created" if document["created"] else "ready"
    yield f"{style('green', done)} {one_line(document['store'])}"
    if "project_file" in document:
        yield f"{style('green', 'wrote')} {one_line(document['project_file'])}"
    yield f"here you are in {render.place(document['project'])}"
    yield "try next:"
    yield "  clew remember 'Our database is PostgreSQL: it has row-level security' --type decision"
    yield "  clew recall 'which database?' --explain"


def _check_project_file(file: Path, name: str) -> None:
    Scope(project=name)  # refuses what cannot be a project
    if file.exists() and project_named_in(file) != name:
        raise Conflict(
            f"{file} exists and is left as it is",
            code="PROJECT_FILE_EXISTS",
            next="edit it yourself, or run clew init without --project",
        )


def _write_project_file(file: Path, name: str) -> Path | None:
    if file.exists():
        return None
    with file.open("x", encoding="utf-8") as stream:
        stream.write(_project_line(name))
    return file


def _project_line(name: str) -> str:
    return f"project = {json.dumps(name, ensure_ascii=False)}\n"  # a JSON string is a TOML string too


def config_show(args: Namespace) -> None:
    settings, refused = settings_despite(args)
    tell(refused)
    entries = [
        {"path": path, "value": _as_told(value), "source": source, "doc": doc}
        for path, value, source, doc in settings.items()
        if args.path is None or path == args.path or path.startswith(args.path + ".")
    ]
    if not entries:
        raise _unknown_setting(args.path, settings)
    if args.path == entries[0]["path"]:
        answer(args, entries[0], lambda style: _one_setting(entries[0], settings.home / USER_FILE, style))
        return
    document = {
        "home": str(settings.home),
        "file": str(settings.home / USER_FILE),
        "project": settings.project or _project_here(settings),
        "settings": entries,
    }
    answer(args, document, lambda style: _settings_lines(document, style))


def _project_here(settings: Settings) -> str | None:
    """As far as it is known: whoever asks may have a store that is broken or away, and changes nothing."""
    return project_at(here(), home=settings.home, shared=is_shared(settings.store.url))


def _settings_lines(document: dict[str, Any], style: Style) -> Iterator[str]:
    yield f"home     {one_line(document['home'])}"
    yield f"file     {one_line(document['file'])}"
    yield f"project  {one_line(document['project'] or 'none')}"
    yield ""
    yield from _setting_lines(document["settings"], style)
    yield ""
    yield "how to change one: clew config show PATH, such as clew config show recall.floor"


def _one_setting(entry: dict[str, Any], file: Path, style: Style) -> Iterator[str]:
    yield from _setting_lines([entry], style)
    section, name = entry["path"].split(".")
    # JSON's numbers, truths and strings are TOML's too; between a key and its value TOML has another sign.
    value = json.dumps(entry["value"], ensure_ascii=False, separators=(", ", " = "))
    in_file = [f"  [{section}]", f"  {name} = {one_line(value)}"]
    variable = f"CLEW_{section.upper()}__{name.upper()}={one_line(shlex.quote(_in_environment(entry['value'])))}"
    if entry["source"].startswith("environment"):  # which the file does not beat
        yield "to change it, put another value into the environment:"
        yield f"  {variable}"
        yield f"or take it out of there, and put one into {one_line(str(file))}:"
        yield from in_file
        return
    yield f"to change it, put another value into {one_line(str(file))}:"
    yield from in_file
    yield "or into the environment:"
    yield f"  {variable}"


def _in_environment(value: Any) -> str:
    if isinstance(value, (list, tuple)) and not any("," in word for word in value):
        return ",".join(value)
    return json.dumps(value, ensure_ascii=False) if isinstance(value, (dict, list, tuple)) else str(value)


def _setting_lines(entries: list[dict[str, Any]], style: Style) -> Iterator[str]:
    rows = [
        (entry["path"], one_line(_in_environment(entry["value"])) or "''", entry["source"], entry["doc"])
        for entry in entries
    ]
    for line, row in zip(columns(rows), rows, strict=True):
        yield line[: -len(row[-1])] + style("dim", row[-1])


def _as_told(value: Any) -> Any:
    if isinstance(value, BudgetOverrides):
        return value.as_json()
    return without_password(value) if isinstance(value, str) else value


def _unknown_setting(path: str, settings: Settings) -> NotFound:
    near = get_close_matches(path, [entry[0] for entry in settings.items()], n=1)
    return NotFound(
        f"there is no setting '{path}'",
        code="SETTING_UNKNOWN",
        next=f"did you mean '{near[0]}'?" if near else "list them: clew config show",
    )


def model_prepare(args: Namespace) -> None:
    from clew.providers.minilm_build import prepare

    settings = settings_of(args)
    source = Path(args.source) if args.source else None
    folder = prepare(settings.home, from_dir=source, progress=lambda text: print(text, file=sys.stderr))
    document = {
        "model": args.name,
        "directory": str(folder),
        "next": "set embed.provider to minilm, then: clew reindex",
    }
    answer(args, document, lambda style: [f"{args.name} is ready in {folder}", f"next: {document['next']}"])


def completion(args: Namespace) -> None:
    from clew.surfaces.cli.completion import script

    text = script(args.shell)
    answer(args, {"shell": args.shell, "script": text}, lambda style: [text])


def bench(args: Namespace) -> int:
    """`clew bench NAME` is the module of that name: it measures, and puts its report into a table. What was
    measured is told also where a file of it could not be written."""
    name = args.command.name
    measuring = import_module(f"clew.bench.{name}")
    with terminate_like_interrupt(), progress_bar(f"bench {name}") as progress:
        report = measuring.measure(args, progress)
    answer(args, report, lambda style: [safe(measuring.table(report))])
    if lost := report.get("not_written"):
        failed = Unavailable(
            f"{lost['file']} was not written: {lost['reason']}",
            code="FILE_UNAVAILABLE",
            next="check its permissions and disk, and run it again: the figures above are whole",
        )
        print(refusal.line(failed), file=sys.stderr)
        return failed.exit_code
    return 0

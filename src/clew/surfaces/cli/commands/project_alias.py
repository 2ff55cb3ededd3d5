"""What a repository whose name has changed goes on as, on this machine."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Sequence
from difflib import get_close_matches

from clew.errors import NotFound
from clew.hosts import known
from clew.model.address import is_shared
from clew.model.scope import Scope
from clew.surfaces.cli.context import opened, settings_of
from clew.surfaces.cli.parser import usage
from clew.surfaces.cli.terminal import Style, answer, columns, one_line


def alias(args: Namespace) -> None:
    settings, hidden = settings_of(args), False
    shared = is_shared(settings.store.url)
    if args.name is not None:
        if args.remove == (args.project is not None):
            raise usage(
                "a name goes on as a project, or as none",
                "clew project alias NAME PROJECT, or clew project alias NAME --remove",
            )
        Scope(project=args.name)  # refuses what cannot be one
        if not args.remove:
            with opened(settings) as memory:
                hidden = _check(args.name, args.project, list(memory.projects.list()))
        known.alias(settings.home, args.name, args.project, shared=shared)
    elif args.remove:
        raise usage("no name is given", "say which: clew project alias NAME --remove")
    found = known.aliases(settings.home, shared=shared)
    document = {"aliases": [{"name": note.name, "project": note.project} for note in found]}
    answer(args, document, lambda style: _lines(args.name if hidden else None, found, style))


def _check(name: str, project: str, projects: Sequence[str]) -> bool:
    """Whether the name has memories of its own, which are not seen in its repository from now on."""
    Scope(project=project)
    if project not in projects:
        near = get_close_matches(project, projects, n=1)
        raise NotFound(
            f"no project '{project}' has memories",
            code="PROJECT_NOT_FOUND",
            next=f"did you mean '{near[0]}'?" if near else "see which there are: clew project list",
        )
    return name in projects and name != project


def _lines(hidden: str | None, found: Sequence[known.Note], style: Style) -> Iterator[str]:
    if hidden:
        told = f"what is remembered under '{one_line(hidden)}' itself is seen with --project alone from now on"
        yield style("yellow", told)
    rows = [(one_line(note.name), f"goes on as {one_line(note.project)}") for note in found]
    yield from columns(rows) or ["every repository here goes by its own name"]

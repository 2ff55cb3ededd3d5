"""Hooks of hosts: install, uninstall, and the switch for a directory."""

from __future__ import annotations

import shlex
from argparse import Namespace
from collections.abc import Iterator
from difflib import unified_diff
from functools import partial
from pathlib import Path
from typing import Any

from clew.hosts import off as switches
from clew.surfaces.cli.context import home_despite
from clew.surfaces.cli.terminal import Style, answer, safe
from clew.surfaces.hooks import install as hooks
from clew.surfaces.hooks.hosts import HostFiles
from clew.surfaces.hooks.install import Plan
from clew.surfaces.hooks.neighbours import warnings

Document = dict[str, Any]
_MCP = {
    "claude-code": ("claude mcp add --scope {scope} clew -- {words}", "claude mcp remove --scope {scope} clew"),
    "codex": ("codex mcp add clew -- {words}", "codex mcp remove clew"),
}


def install(args: Namespace) -> None:
    home = home_despite(args)
    host, file, within = _place(args)
    plan = hooks.plan_install(host.name, file, words=hooks.hook_words(host.name, home), within=within)
    told = _done(plan, args, home)
    told["events"] = list(host.timeouts)
    told["mcp"] = _MCP[host.name][0].format(scope=args.scope, words=shlex.join(hooks.mcp_words(home)))
    told["warnings"] = _warnings(host)
    answer(args, told, partial(_install_lines, told))


def uninstall(args: Namespace) -> None:
    home = home_despite(args)
    host, file, within = _place(args)
    plan = hooks.plan_uninstall(host.name, file, home=home, within=within)
    told = _done(plan, args, home)
    told["mcp"] = _MCP[host.name][1].format(scope=args.scope)
    answer(args, told, partial(_uninstall_lines, told))


def _place(args: Namespace) -> tuple[HostFiles, Path, Path | None]:
    host = hooks.host_named(args.host)
    directory = Path.cwd()
    within = hooks.root_of(directory) if args.scope == "project" else None
    return host, hooks.file_of(host, args.scope, directory=directory), within


def _done(plan: Plan, args: Namespace, home: Path) -> Document:
    copy = None if args.dry_run else hooks.carry_out(plan, home=home)
    told: Document = {
        "host": plan.host.name, "scope": args.scope, "file": str(plan.file), "changed": plan.is_change,
        "dry_run": args.dry_run,
    }  # fmt: skip
    if copy is not None:
        told["backup"] = str(copy)
    if args.dry_run and plan.is_change:
        told["diff"] = _diff(plan)
    return told


def _diff(plan: Plan) -> list[str]:
    before, after = ((text or "").splitlines() for text in (plan.before, plan.after))
    return list(unified_diff(before, after, str(plan.file), str(plan.file), lineterm=""))


def _warnings(host: HostFiles) -> list[str]:
    user, project = (hooks.file_of(host, scope, directory=Path.cwd()).parent for scope in hooks.SCOPES)
    return warnings(host.name, user_folder=user, project_folder=project)


def _install_lines(told: Document, style: Style) -> Iterator[str]:
    yield from _change_lines(told, style, done="hooks are in", would="would add hooks to", nothing="hooks were in")
    yield from (style("yellow", f"note: {line}") for line in told["warnings"])
    if told["scope"] == "project":
        yield "the entries name paths of this machine: on others, run clew install there"
    yield f"for tools besides hooks: {safe(told['mcp'])}"


def _uninstall_lines(told: Document, style: Style) -> Iterator[str]:
    yield from _change_lines(
        told, style, done="hooks are out of", would="would take hooks out of", nothing="there are no hooks in"
    )
    yield f"if you added the tools: {safe(told['mcp'])}"


def _change_lines(told: Document, style: Style, *, done: str, would: str, nothing: str) -> Iterator[str]:
    words = (would if told["dry_run"] else done) if told["changed"] else nothing
    yield f"{style('green', words)} {safe(told['file'])}"
    yield from (safe(line) for line in told.get("diff", ()))
    if "backup" in told:
        yield style("dim", f"what it was before: {safe(told['backup'])}")


# -- the switch --------------------------------------------------------------------------------------


def off(args: Namespace) -> None:
    directory = Path.cwd()
    changed = switches.switch_off(home_despite(args), directory)
    text = f"off in {safe(str(directory))} and below; clew on undoes it"
    answer(args, {"directory": str(directory), "off": True, "changed": changed}, lambda _style: [text])


def on(args: Namespace) -> None:
    directory, home = Path.cwd(), home_despite(args)
    changed = switches.switch_on(home, directory)
    above = switches.switched_off_at(home, directory)
    told = {"directory": str(directory), "off": above is not None, "changed": changed}
    if above is not None:
        told["off_at"] = str(above)
    answer(args, told, lambda _style: [_on_line(directory, above)])


def _on_line(directory: Path, above: Path | None) -> str:
    if above is None:
        return f"on in {safe(str(directory))}"
    return f"still off: {safe(str(above))} is off, and all below it; run clew on there"

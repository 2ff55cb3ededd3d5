"""Policies: check a file, load it, show what is in force, drop one; and what is known of an agent."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from clew.errors import InvalidInput
from clew.surfaces.cli.context import opened, settings_of
from clew.surfaces.cli.terminal import Style, answer, columns, one_line, safe

Document = dict[str, Any]
MAX_BYTES = 1_000_000


def check(args: Namespace) -> int:
    """Exit 2 when something is wrong with it."""
    text = _text(args.file)
    with opened(settings_of(args)) as memory:
        problems = memory.policies.check(text, name=_name(args), org=args.org)
    is_valid = all(problem.level == "warning" for problem in problems)
    document = {"file": args.file, "valid": is_valid, "problems": [problem.as_json() for problem in problems]}
    answer(args, document, partial(_check_lines, document))
    return 0 if is_valid else 2


def _check_lines(document: Document, style: Style) -> Iterator[str]:
    if document["valid"]:
        yield f"{style('green', 'valid')} {one_line(document['file'])}"
    for problem in document["problems"]:
        policy = f" [{one_line(problem['policy'])}]" if problem["policy"] else ""
        where = f"{one_line(document['file'])}:{problem['line']}:"
        colour, mark = ("yellow", "warning: ") if problem["level"] == "warning" else ("red", "")
        yield f"{where}{policy} {style(colour, mark + one_line(problem['message']))}"


def load(args: Namespace) -> None:
    text = _text(args.file)
    with opened(settings_of(args)) as memory:
        policy = memory.policies.load(text, name=_name(args), org=args.org)
    document = {name: value for name, value in policy.as_json().items() if name != "text"}
    said = f"{policy.name} is in force for {_whose(policy.org)}, version {policy.version}"
    answer(args, document, lambda style: [f"{style('green', 'loaded')}: {one_line(said)}"])


def drop(args: Namespace) -> None:
    with opened(settings_of(args)) as memory:
        policy = memory.policies.drop(args.name, org=args.org)
    document = {"name": policy.name, "org": policy.org or "*", "dropped": True}
    answer(args, document, lambda style: [f"dropped {one_line(policy.name)} of {_whose(policy.org)}"])


def show(args: Namespace) -> None:
    with opened(settings_of(args)) as memory:
        found = memory.policies.show(shipped=args.shipped, org=args.org)
    document = found.as_json()
    answer(args, document, partial(_show_lines, document))


def _show_lines(document: Document, style: Style) -> Iterator[str]:
    if "shipped_text" in document:
        yield safe(document["shipped_text"].rstrip("\n"))
        return
    shipped, added = document["shipped"], document["added"]
    yield f"{len(shipped)} shipped and {len(added)} added, version {document['version']}"
    for policy in added:
        whose = _whose("" if policy["org"] == "*" else policy["org"])
        head = f"{policy['name']} ({whose}, version {policy['version']}, by {policy['loaded_by']})"
        yield f"{style('bold', one_line(head))}"
        yield from (f"  {one_line(id)}" for id in policy["ids"])
    yield style("bold", "shipped") + " (their text: clew policy show --shipped)"
    yield from (f"  {id}" for id in shipped)
    if not document["decisions_shared_by_attributes"]:
        yield "an added policy names a memory by its id: each memory is decided on its own, which takes longer"


def agent(args: Namespace) -> None:
    wanted = {
        "clearance": args.clearance,
        "suspended": _either(args.suspend, args.resume, "--suspend and --resume"),
        "can_write": _either(args.read_write, args.read_only, "--read-only and --read-write"),
    }
    changes = {name: value for name, value in wanted.items() if value is not None}
    with opened(settings_of(args)) as memory:
        rights = memory.policies.agent(args.name, **changes)
    document = {"agent": args.name, **rights.as_json()}
    answer(args, document, partial(_agent_lines, document))


def _agent_lines(document: Document, style: Style) -> Iterator[str]:
    yield style("bold", one_line(document["agent"]))
    yield from columns((f"  {name}", str(value).lower()) for name, value in document.items() if name != "agent")


def _either(yes: bool, no: bool, both: str) -> bool | None:
    if yes and no:
        raise InvalidInput(f"{both} exclude each other", code="USAGE", next="give one of them")
    return yes if yes or no else None


def _whose(org: str) -> str:
    return f"org {org}" if org else "all orgs"


def _name(args: Namespace) -> str:
    """Given, or the file's own without its ending."""
    return args.name or ("policy" if args.file == "-" else Path(args.file).stem)


def _text(name: str) -> str:
    if name == "-":
        data = sys.stdin.buffer.read(MAX_BYTES) if sys.stdin else b""
    else:
        with Path(name).expanduser().open("rb") as file:
            data = file.read(MAX_BYTES)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"{name} is not valid UTF-8 (byte {error.start})", code="INVALID_UTF8", next="write it as UTF-8"
        ) from None

"""Grants between projects, retention policies, and the audit log."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from clew.errors import NotFound
from clew.surfaces.cli.context import moment, opened, project_name, settings_of
from clew.surfaces.cli.parser import usage
from clew.surfaces.cli.terminal import Style, answer, columns, one_line

Document = dict[str, Any]
GROUPS = ("languages", "frameworks", "libs", "tools", "databases")


# -- transfer ----------------------------------------------------------------------------------------


def grant(args: Namespace) -> None:
    with opened(settings_of(args)) as memory:
        if args.revoke:
            memory.transfer.revoke(args.source, args.dest)
            changed = True
        else:
            changed = memory.transfer.grant(args.source, args.dest)
    document = {"source": args.source, "dest": args.dest, "granted": not args.revoke, "changed": changed}
    done = "revoked" if args.revoke else "granted" if changed else "already granted"
    pair = f"{one_line(args.source)} -> {one_line(args.dest)}"
    answer(args, document, lambda style: [f"{style('green', done)} {pair}"])


def fingerprint(args: Namespace) -> None:
    settings = settings_of(args)
    directory = Path(args.directory).expanduser()
    project = project_name(args, settings)
    if project is None:
        raise usage("no project is named", "add --project P")
    if not directory.is_dir():
        raise NotFound(
            f"{directory} is no directory", code="DIRECTORY_NOT_FOUND", next="name the root of the project"
        )
    with opened(settings) as memory:
        found = memory.transfer.fingerprint(project, directory)
    document = {"project": project, **found.as_json()}
    answer(args, document, lambda style: _fingerprint_lines(document, style))


def _fingerprint_lines(document: Document, style: Style) -> Iterator[str]:
    yield f"{style('green', one_line(document['project']))} has {len(document['components'])} components"
    yield from columns((f"  {name}", " ".join(document[name])) for name in GROUPS if document[name])


def transfers(args: Namespace) -> None:
    with opened(settings_of(args)) as memory:
        found = [status.as_json() for status in memory.transfer.list()]
    answer(args, {"grants": found}, lambda style: _transfer_lines(found, style))


def _transfer_lines(found: Sequence[Document], style: Style) -> Iterator[str]:
    if not found:
        yield "nothing is granted: clew grant transfer SRC DST"
    for one in found:
        mark = style("green", "works") if one["works"] else style("yellow", "does not work")
        yield f"{one_line(one['source'])} -> {one_line(one['dest'])}  {one['similarity_pct']} % alike  {mark}"
        if not one["works"]:
            yield f"  {one_line(one['why_not'])}"


# -- the audit log -----------------------------------------------------------------------------------


def audit_verify(args: Namespace) -> int:
    """Exit 1 when the log is not as it was written."""
    with opened(settings_of(args)) as memory:
        report = memory.audit.verify(head=args.head)
    whole = f"{report.entries:,} {'entry' if report.entries == 1 else 'entries'}, each as it was written"
    bad = f"entry {report.first_bad_seq}: {report.problem}"
    answer(args, report.as_json(), lambda style: [whole if report.ok else style("red", bad)])
    return 0 if report.ok else 1


def audit_head(args: Namespace) -> None:
    with opened(settings_of(args)) as memory:
        head = memory.audit.head()
    if head is None or not head.hash:
        raise NotFound("the audit log is empty", code="AUDIT_EMPTY", next="come back after the first write")
    document = {"head": str(head), "seq": head.seq, "hash": head.hash}
    answer(args, document, lambda _style: [str(head)])


def audit_list(args: Namespace) -> None:
    with opened(settings_of(args)) as memory:
        entries = memory.audit.list(limit=args.limit, since=moment(args.since), action=args.action)
        found = [entry.as_json() for entry in entries]
    answer(args, {"entries": found}, lambda style: _entry_lines(found, style) or ["no entry"])


def _entry_lines(found: Sequence[Document], style: Style) -> list[str]:
    return columns(
        (
            str(one["seq"]),
            one["at"],
            one_line(one["actor"]),
            style("cyan", one_line(one["action"])),
            f"{one_line(one['kind'])} {one_line(one['id'])}",
        )
        for one in found
    )


# -- retention ---------------------------------------------------------------------------------------


def retention_list(args: Namespace) -> None:
    with opened(settings_of(args)) as memory:
        found = [policy.as_json() for policy in memory.retention.list()]
    nothing = ["everything is kept without limit: clew retention set DAYS"]
    answer(args, {"policies": found}, lambda _style: columns(_policy_row(one) for one in found) or nothing)


def retention_set(args: Namespace) -> None:
    with opened(settings_of(args)) as memory:
        policy = memory.retention.set(
            args.days,
            action="hard" if args.hard else "soft",
            project=args.project,
            classification=args.classification,
            type=args.type,
        ).as_json()
    answer(args, policy, lambda _style: columns([_policy_row(policy)]))


def retention_drop(args: Namespace) -> None:
    with opened(settings_of(args)) as memory:
        memory.retention.drop(args.id)
    answer(args, {"dropped": args.id}, lambda style: [f"{style('green', 'dropped')} {one_line(args.id)}"])


def retention_run(args: Namespace) -> None:
    with opened(settings_of(args)) as memory:
        document = memory.retention.run(dry_run=args.dry_run).as_json()
    verb = "would be" if document["dry_run"] else "were"
    told = f"{document['forgotten']:,} {verb} forgotten, {document['erased']:,} {verb} erased"
    answer(args, document, lambda _style: [f"of {document['looked_at']:,} memories {told}"])


def _policy_row(policy: Document) -> tuple[str, str, str]:
    about = " ".join(f"{name}={policy[name]}" for name in ("project", "classification", "type") if name in policy)
    ends = "erased" if policy["action"] == "hard" else "forgotten"
    return policy["id"], f"{ends} after {policy['ttl_days']:g} days", one_line(about) or "everything"

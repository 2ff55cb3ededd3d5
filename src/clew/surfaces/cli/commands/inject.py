"""Blocks for a session: at its start, and what was shown in it."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Mapping
from typing import Any

from clew.surfaces.cli.context import opened, settings_of, texts_of
from clew.surfaces.cli.terminal import Style, cut, print_json, safe, style


def start(args: Namespace) -> None:
    with opened(settings_of(args)) as memory:
        report = memory.inject.start_report(args.session, dry_run=args.dry_run)
    if args.json:
        print_json(report.block.as_json())
        return
    block = report.block
    print(safe(block.text) if block.text else "nothing to say")
    became = "queued" if report.delivered else f"not queued: {report.reason}"
    budget = f"{block.tokens} tokens of {block.budget_tokens} and {block.graph_budget_tokens}"
    print(style()("dim", f"{became}; {budget}; graph: {block.graph_status}"))


def log(args: Namespace) -> None:
    with opened(settings_of(args)) as memory:
        entries = [entry.as_json() for entry in memory.inject.log(args.session)]
        states = {inject.delivery_id: inject.state for inject in memory.queue.list(args.session)}
        ids = [id for entry in entries for id in (*entry["observation_ids"], *entry["denied_ids"])]
        shown = {} if args.json else texts_of(memory, ids)
    for entry in entries:
        if state := states.get(entry.get("delivery_id", "")):
            # The row says that it was queued, which is taken back when it is given up; nobody has what is pending.
            entry |= {"state": state, "delivered": entry["delivered"] and state != "pending"}
    if args.json:
        print_json(entries)
        return
    lines = [line for entry in entries for line in _told(entry, shown, style())]
    print("\n".join(lines or ["nothing was computed for this session"]))


def _told(entry: dict[str, Any], shown: Mapping[str, str], style: Style) -> Iterator[str]:
    state = entry.get("state", "delivered" if entry["delivered"] else "not delivered")
    became = "pending in the queue" if state == "pending" else state
    yield f"{entry['timestamp']}  {style('bold', entry['phase'])}  {entry['outcome'] or '-'}, {became}"
    yield (
        f"  {entry['actual_tokens']} tokens ({entry['actual_observation_tokens']} of {entry['budget_tokens']}, "
        f"graph {entry['actual_graph_tokens']} of {entry['graph_budget_tokens']}); graph: {entry['graph_status']}"
    )
    yield from (cut(f"  {id}  {shown[id]}", style.width) for id in entry["observation_ids"])
    if denied := entry["denied_ids"]:
        yield f"  withheld by policies: {len(denied)}; its label: clew show ID; the policies: clew policy show"
        yield from (cut(f"  {id}  {shown[id]}", style.width) for id in denied)

"""What the doctor looks at of hooks: when each last fired, and whether what they brought arrived."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from clew.model.host import HookFired
from clew.model.report import WorkReport
from clew.model.times import to_rfc3339
from clew.model.upkeep import Check
from clew.ports import Store

WINDOW = timedelta(days=7)
ENOUGH = 5  # deliveries after which at least one must have arrived


def check_hooks(store: Store, *, org: str, now: datetime) -> Iterator[Check]:
    """One line for each event of each host that ever called, then one about receipts."""
    empty = WorkReport(since=now - WINDOW, until=now)
    with store.read() as tx:
        fired = tx.hosts.fired(org)
        report = tx.reports.filled(org, empty, is_whole=False)
    if not fired:
        yield Check("hooks", True, "no hook ever fired; to let an agent use Clew: clew install claude-code")
        return
    for hook in fired:
        yield Check(f"hooks {hook.host}", True, _fired(hook, now))
    yield receipts_check(report)


def _fired(hook: HookFired, now: datetime) -> str:
    times = "once" if hook.count == 1 else f"{hook.count:,} times"
    return f"{hook.event}: {times}, last {_ago(now - hook.last_at)} ago ({to_rfc3339(hook.last_at)})"


def receipts_check(report: WorkReport) -> Check:
    if not report.delivered:
        return Check("receipts", True, "nothing was delivered in the last 7 days")
    told = ", ".join(f"{count:,} {name}" for name, count in report.receipts.items())
    detail = f"{report.delivered:,} blocks delivered in the last 7 days: {told}"
    arrived = sum(count for name, count in report.receipts.items() if name not in ("none", "printed"))
    if report.delivered >= ENOUGH and not arrived:
        return Check("receipts", False, f"{detail}; none of them arrived", "run: clew doctor --probe")
    return Check("receipts", True, detail)


def _ago(age: timedelta) -> str:
    seconds = max(0, int(age.total_seconds()))
    for unit, name in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= unit:
            return f"{seconds // unit} {name}"
    return f"{seconds} s"

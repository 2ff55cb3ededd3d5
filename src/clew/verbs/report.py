"""What Clew did: `clew.report(since=...)`."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from clew.errors import Denied, InvalidInput
from clew.model.report import WorkReport
from clew.model.scope import Identity
from clew.model.times import earlier, zoned
from clew.verbs import powers

if TYPE_CHECKING:
    from clew.clew import Clew

WINDOW = timedelta(days=7)


def report(
    clew: Clew,
    *,
    since: datetime | None = None,
    until: datetime | None = None,
    project: str | None = None,
    identity: Identity | None = None,
) -> WorkReport:
    """Whoever looks after the org sees all of it; a user sees what is theirs; an agent nothing."""
    who = clew.sessions.active(identity)
    is_whole = powers.is_caretaker(clew, who)
    if not is_whole and (who.agent or not who.user):
        raise Denied(
            f"'{who.name}' may not see what was done in the org",
            code="REPORT_DENIED",
            next="ask a user of the org, or someone who looks after it",
        )
    last = zoned("until", until) or clew.now()
    first = zoned("since", since) or earlier(last, WINDOW)
    if first >= last:
        raise InvalidInput("the window ends before it begins", code="WINDOW_INVALID", next="begin it earlier")
    empty = WorkReport(since=first, until=last, project=project, user=None if is_whole else who.user)
    with clew.store.read() as tx:
        return tx.reports.filled(who.org, empty, is_whole=is_whole)

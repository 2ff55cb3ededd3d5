"""What Clew did, added up by the database. Rows to values and back."""

from __future__ import annotations

from collections import Counter
from typing import Any

from clew.model.ids import stable_id
from clew.model.report import WorkReport
from clew.model.session import OUTCOMES
from clew.model.times import to_micros
from clew.store.session import Session

_PHASES = {"start": "start", "in_session": "hints"}


class ReportTable:
    """Bound to one transaction."""

    __slots__ = ("_session",)

    def __init__(self, session: Session) -> None:
        self._session = session

    def filled(self, org: str, empty: WorkReport, *, is_whole: bool) -> WorkReport:
        """The figures for the span, project and user of an empty report; `is_whole`: those of the whole org too."""
        wanted = {
            "org_id": org,
            "since": to_micros(empty.since),
            "until": to_micros(empty.until),
            "every_project": empty.project is None,
            "project_id": empty.project or "",
            "every_user": empty.user is None,
            "user_id": empty.user or "",
        }
        told = self._told(wanted) | (self._whole(wanted) if is_whole else {})
        return WorkReport(
            since=empty.since,
            until=empty.until,
            project=empty.project,
            user=empty.user,
            captured=self._captured(empty, wanted),
            **told,
        )

    def _told(self, wanted: dict[str, Any]) -> dict[str, Any]:
        sessions: dict[str, int] = dict(self._session.all("report_sessions", **wanted))
        pushes: Counter[str] = Counter()
        receipts: Counter[str] = Counter()
        delivered = given_up = tokens = 0
        for phase, state, receipt, count, reached, cost in self._session.all("report_pushes", **wanted):
            pushes[_PHASES[phase]] += count
            receipts[receipt or "none"] += reached
            given_up += count if state == "dead" else 0
            delivered, tokens = delivered + reached, tokens + cost
        return {
            "sessions": sum(sessions.values()),
            "outcomes": {name: sessions.get(name, 0) for name in OUTCOMES},
            "pushes": {name: pushes[name] for name in _PHASES.values()},
            "delivered": delivered,
            "receipts": {name: count for name, count in sorted(receipts.items()) if count},
            "given_up": given_up,
            "tokens": tokens,
            "looked": {name: count for name, count in self._session.all("report_looks", **wanted) if name},
        }

    def _whole(self, wanted: dict[str, Any]) -> dict[str, Any]:
        return {
            "hooks": {
                f"{host} {event}": count for host, event, count in self._session.all("report_hooks", **wanted)
            },
            "denied": int(self._session.value("report_denied", **wanted) or 0) if wanted["every_project"] else None,
            "quarantined": int(self._session.value("report_quarantined", **wanted) or 0),
        }

    def _captured(self, empty: WorkReport, wanted: dict[str, Any]) -> dict[str, int]:
        first = stable_id("mem", at_ms=max(0, int(empty.since.timestamp() * 1000)), digest=bytes(10))
        return dict(self._session.all("report_captured", first_id=first, **wanted))

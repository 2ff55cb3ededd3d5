"""What language models were asked, and what it cost. Rows to values and back."""

from __future__ import annotations

from clew.model.llm import Usage
from clew.store.session import Session


class SpendTable:
    """Bound to one transaction."""

    __slots__ = ("_session",)

    def __init__(self, session: Session) -> None:
        self._session = session

    def used(self, org: str, day: str) -> int:
        """Tokens of an org on one day, sent and received, those of calls still under way included."""
        row = self._session.one("llm_tokens_of_day", org_id=org, day=day)
        return int(row[0]) if row else 0

    def calls_in(self, org: str, minute: int) -> int:
        row = self._session.one("llm_calls_of_minute", org_id=org, minute=minute)
        return int(row[0]) if row else 0

    def count_call(self, org: str, minute: int) -> None:
        """One more; minutes that are over are of no use to anyone."""
        self._session.run("llm_minutes_drop", org_id=org, minute=minute)
        self._session.run("llm_call_count", org_id=org, minute=minute)

    def add(self, org: str, usage: Usage) -> None:
        """Add to the row of this day, model and task. Less than nothing takes back what was reserved too much."""
        values = {name: getattr(usage, name) for name in Usage.__slots__}
        self._session.run("llm_usage_add", org_id=org, **values)

    def since(self, org: str, day: str) -> list[Usage]:
        return [Usage(*row) for row in self._session.all("llm_usage_since", org_id=org, day=day)]

"""A database clock that is told the time: every lease and lock goes by it, in every process that uses it."""

from __future__ import annotations

from dataclasses import is_dataclass, replace
from typing import Any

from clew.store import queries
from clew.store.store import Store

_CLOCKS = {
    queries.load("sqlite")["clock"]: "SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'lease_clock'",
    queries.load("postgres")["clock"]: (
        "SELECT timestamptz 'epoch' + value::bigint * interval '1 microsecond' FROM meta WHERE key = 'lease_clock'"
    ),
}


class LeaseClock:
    """Stands still until it is moved, forward or back. Make one before the store is used for anything else."""

    def __init__(self, store: Store, start_s: float | None = 1_000_000.0) -> None:
        """`start_s` None: another process has set it."""
        engine: Any = store.engine
        engine._queries = {name: _told(query) for name, query in engine._queries.items()}
        self._store = store
        if start_s is not None:
            self.set(start_s)

    def set(self, seconds: float) -> None:
        self._store.write(lambda tx: tx.meta.put("lease_clock", str(int(seconds * 1e6))), durable=False)

    def pass_by(self, seconds: float) -> None:
        with self._store.read() as tx:
            now = int(tx.meta.get("lease_clock") or 0)
        self.set(now / 1e6 + seconds)


def _told(query: Any) -> Any:
    """A query by the clock that is told: a text, or what an engine made of it."""
    if is_dataclass(query) and not isinstance(query, type):
        return replace(query, sql=_told(query.sql))  # type: ignore[attr-defined]
    for real, told in _CLOCKS.items():
        query = query.replace(real, told)
    return query

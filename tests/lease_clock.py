"""A database clock that is told the time: every lease and lock goes by it, in every process that uses it."""

from __future__ import annotations

from clew.store import queries
from clew.store.store import Store

_REAL = queries.load("sqlite")["clock"]
_TOLD = "SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'lease_clock'"


class LeaseClock:
    """Stands still until it is moved, forward or back. Make one before the store is used for anything else."""

    def __init__(self, store: Store, start_s: float | None = 1_000_000.0) -> None:
        """`start_s` None: another process has set it."""
        engine = store.engine
        engine._queries = {name: text.replace(_REAL, _TOLD) for name, text in engine._queries.items()}
        self._store = store
        if start_s is not None:
            self.set(start_s)

    def set(self, seconds: float) -> None:
        self._store.write(lambda tx: tx.meta.put("lease_clock", str(int(seconds * 1e6))), durable=False)

    def pass_by(self, seconds: float) -> None:
        with self._store.read() as tx:
            now = int(tx.meta.get("lease_clock") or 0)
        self.set(now / 1e6 + seconds)

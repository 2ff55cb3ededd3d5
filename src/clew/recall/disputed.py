"""Which memories anything contradicts, kept until something changes: most answers hold none of them, and are spared
two questions. More than those that are in dispute now, never fewer: who finds one of them looks closer."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from clew.ports import Tx

FEW = 256  # rows of each kind; where there are more, every answer is looked through
MAX_KEPT = 256  # orgs


class Disputed:
    """Thread-safe: what two threads look up at once is the same."""

    def __init__(self) -> None:
        self._kept: dict[tuple[int, str], tuple[int, set[str]]] = {}  # by connection and org
        self._many: set[str] = set()  # orgs with too many to be kept

    def any_of(self, tx: Tx, org: str, ids: Iterable[str], version: tuple[int, int]) -> bool:
        """`version`: the store's, looked at before `tx` began. They are an extra, and fail as one."""
        if org in self._many:
            return True
        try:
            found = self._found(tx, org, *version)
        except Exception:
            return False
        return found is None or not found.isdisjoint(ids)

    def _found(self, tx: Tx, org: str, connection: int, version: int) -> set[str] | None:
        known = self._kept.get((connection, org))
        if known and known[0] == version:
            return known[1]
        found = tx.graph.disputed(org, limit=FEW)
        if found is None:
            self._many.add(org)
            return None
        if len(self._kept) >= MAX_KEPT:
            self._kept.clear()
        self._kept[connection, org] = version, found
        return found

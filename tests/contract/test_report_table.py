"""What was done, added up by either engine."""

from __future__ import annotations

from datetime import timedelta

from memories import NOW, a_memory

from clew.model.report import WorkReport
from clew.ports import Store


def test_kinds_of_captured_memories_are_words(store: Store) -> None:
    """Anybody may write metadata: what is no word is no kind."""
    kinds = ["edit", "edit", "\\u0000", 7, True, None, ["edit"], {"a": "edit"}]
    ids = (f"mem_~{number}" for number in range(99))
    found = [a_memory(str(n), id=next(ids), metadata={"captured": kind}) for n, kind in enumerate(kinds)]
    plain = a_memory("plain", id=next(ids), metadata={"about": '"captured"'})
    store.write(lambda tx: tx.memories.insert([*found, plain]))
    asked = WorkReport(since=NOW - timedelta(days=1), until=NOW + timedelta(days=1))
    with store.read() as tx:
        assert tx.reports.filled("local", asked, is_whole=False).captured == {"\\u0000": 1, "edit": 2}

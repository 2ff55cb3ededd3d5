"""What must be true of every store that was opened after an accident."""

from __future__ import annotations

from clew.model.scope import Reach
from clew.store.store import Store


def assert_sound(store: Store) -> None:
    """The file is whole, and rows, full text and vectors tell the same story."""
    with store.engine.read() as session:
        assert session.connection.pragma("integrity_check") == "ok"
        assert session.connection.execute("PRAGMA foreign_key_check").fetchall() == []
        assert session.connection.execute(
            "SELECT count(*) FROM memory_terms t"
            " LEFT JOIN memories m ON m.row = t.memory_row AND m.deleted_at IS NULL WHERE m.row IS NULL"
        ).fetchall() == [(0,)]
        assert session.connection.execute(
            "SELECT count(*) FROM memory_embeddings e LEFT JOIN memories m ON m.row = e.memory_row"
            " AND m.deleted_at IS NULL WHERE m.row IS NULL"
        ).fetchall() == [(0,)]
    store.write(lambda tx: tx.session.run("fts_check"))
    with store.read() as tx:
        for (org,) in tx.session.connection.execute("SELECT DISTINCT org_id FROM memories").fetchall():
            _assert_found_by_their_terms(tx, Reach.everything(org))


def _assert_found_by_their_terms(tx, reach: Reach) -> None:  # type: ignore[no-untyped-def]
    for memory in tx.memories.all(reach):
        row = tx.memories.row_of(memory)
        indexed = tx.index.terms_of(reach.org, row)
        assert indexed is not None, f"{memory.id} is not in the index"
        first = int.from_bytes(indexed.terms[:4], "little")
        assert row in tx.index.matching(reach, first)
        assert [version.version for version in tx.memories.versions(memory)][-1] == memory.version


def contents_of(store: Store, org: str = "local") -> dict[str, str]:
    with store.read() as tx:
        return {memory.id: memory.content for memory in tx.memories.all(Reach.everything(org))}

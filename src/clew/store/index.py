"""The two indices of SQLite: terms for lexical candidates and scores, vectors for semantic search.

What differs between engines lives here: FTS5 for candidates, blobs for the read model.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from typing import Any

from clew.model.memory import Indexed, Memory
from clew.model.scope import Reach
from clew.store.memories import reach_values
from clew.store.sqlite import Row, Session

_PAIR = 5  # bytes of one (hash, count) pair in the terms blob


class IndexTable:
    """Bound to one transaction."""

    __slots__ = ("_session",)

    def __init__(self, session: Session) -> None:
        self._session = session

    def put(self, row: int, memory: Memory, indexed: Indexed) -> None:
        org, project, user = memory.org, memory.project or "", memory.user or ""
        scope_term = f"{org_term_of(org)} {scope_term_of(org, project, user)}"
        self._session.run("fts_insert", row=row, terms=_document(indexed.terms, scope_term))
        self._session.run(
            "terms_insert",
            row=row,
            org_id=memory.org,
            length=indexed.length,
            terms=indexed.terms,
            scope_term=scope_term,
        )
        if indexed.vector is not None:
            self._session.run("vector_put", row=row, org_id=memory.org, space=indexed.space, vector=indexed.vector)

    def fill_vector(self, row: int, version: int, vector: bytes, space: str) -> None:
        """Unless the memory changed since it was read."""
        self._session.run("vector_fill", row=row, version=version, vector=vector, space=space)

    def drop(self, row: int) -> None:
        """Take a memory out of every index. FTS5 keeps no copy, so it is told what it had stored."""
        entry = self._session.one("terms_get", row=row)
        if entry:
            _length, terms, scope_term = entry
            self._session.run("fts_delete", row=row, terms=_document(terms, scope_term))
        self._session.run("terms_delete", row=row)
        self._session.run("vector_delete", row=row)

    def clear(self) -> None:
        self._session.run("fts_clear")

    # -- what the read model loads -----------------------------------------------------------------

    def scope_rows(self, reach: Reach, space: str, *, limit: int) -> list[Row]:
        """At most `limit` rows of each place; a caller that gets more than it can keep lets go."""
        places = reach.places()
        if places is None:
            users = reach_values(reach)["users"]
            return self._session.all("scope_rows_org", org_id=reach.org, users=users, space=space, limit=limit)
        rows: list[Row] = []
        for project, user in places:
            place = {"org_id": reach.org, "project_id": project, "user_id": user}
            rows += self._session.all("scope_rows", **place, space=space, limit=limit)
        return rows

    def rows_by_id(self, reach: Reach, ids: Sequence[str], space: str) -> list[Row]:
        rows = self._session.all("scope_rows_by_id", org_id=reach.org, ids=json.dumps(ids), space=space)
        return _visible(reach, rows)

    def rows_by_row(self, reach: Reach, numbers: Sequence[int], space: str) -> list[Row]:
        rows = self._session.all("scope_rows_by_row", org_id=reach.org, rows=json.dumps(numbers), space=space)
        return _visible(reach, rows)

    def size(self, reach: Reach) -> tuple[int, int]:
        """Memories in reach and the sum of their lengths."""
        places = reach.places()
        if places is None:
            users = reach_values(reach)["users"]
            rows = self._session.all("scope_size_org", org_id=reach.org, users=users)
        else:
            rows = [
                row
                for project, user in places
                for row in self._session.all("scope_size", org_id=reach.org, project_id=project, user_id=user)
            ]
        return sum(row[0] for row in rows), sum(row[1] for row in rows)

    # -- candidates for scopes too large to keep in memory -----------------------------------------

    def matching(self, reach: Reach, term: int) -> list[int]:
        """Dense rows in reach that contain a term."""
        places = reach.places()
        if places is None:
            scopes = org_term_of(reach.org)
        else:
            scopes = " OR ".join(scope_term_of(reach.org, project, user) for project, user in places)
        return [row for (row,) in self._session.all("fts_match", match=f"({scopes}) AND {term:08x}")]

    def always_loaded(self, reach: Reach, *, limit: int) -> list[int]:
        """Rules, working memories and the newest others: answered whether or not they match."""
        rows = self._session.all("scope_always", **reach_values(reach), limit=limit)
        return [row for (row,) in rows]

    def vectors(self, reach: Reach, space: str, *, block: int = 20_000) -> Iterator[list[Row]]:
        after = 0
        while rows := self._session.all(
            "scope_vectors", **reach_values(reach), space=space, after=after, limit=block
        ):
            yield rows
            after = rows[-1][0]

    def ids_matching(self, reach: Reach, **wanted: Any) -> list[str]:
        """Ids that carry one of the tags, or come from an agent, session or namespace."""
        tags = wanted.get("tags")
        rows = self._session.all(
            "ids_matching",
            **reach_values(reach),
            agent=wanted.get("agent") or "",
            session_id=wanted.get("session") or "",
            namespace=wanted.get("namespace") or "",
            tags=json.dumps(tags) if tags else None,
        )
        return [id for (id,) in rows]

    # -- vectors -----------------------------------------------------------------------------------

    def without_vector(self, space: str, *, before: int, limit: int) -> list[Row]:
        """(row, org, project, id, version, title, content), newest first."""
        return self._session.all("vectors_missing", space=space, before=before, limit=limit)

    def count_without_vector(self, space: str) -> int:
        return int(self._session.value("vectors_missing_count", space=space))

    def vector_counts(self, org: str) -> dict[str, int]:
        return dict(self._session.all("vector_counts", org_id=org))


def scope_term_of(org: str, project: str, user: str) -> str:
    """The term that marks a place in the full-text index; longer than a word's, so they never meet."""
    return "s" + blake2b(json.dumps([org, project, user]).encode(), digest_size=8).hexdigest()


def org_term_of(org: str) -> str:
    return "o" + blake2b(org.encode(), digest_size=8).hexdigest()


def _document(terms: bytes, scope_term: str) -> str:
    words = [terms[at : at + 4][::-1].hex() for at in range(0, len(terms), _PAIR)]
    return " ".join([scope_term, *words])


def _visible(reach: Reach, rows: list[Row]) -> list[Row]:
    return [row[:-2] for row in rows if reach.sees(row[-2], row[-1])]

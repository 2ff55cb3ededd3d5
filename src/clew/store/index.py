"""The two indices of SQLite: terms for lexical candidates and scores, vectors for semantic search.

What differs between engines lives here: FTS5 for candidates, blobs for the read model.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from clew.model.memory import Indexed, Memory
from clew.model.scope import Reach
from clew.store.memories import reach_values
from clew.store.sqlite import Row, Session

_BYTES_PER_TERM = 5  # four of hash, one of count


class IndexTable:
    """Bound to one transaction.

    Full-text entries are written at its end, one after another: any other write in between makes SQLite
    open a statement savepoint, at which FTS5 flushes what it gathered, and that costs ten times the entry.
    """

    __slots__ = ("_entries", "_session")

    def __init__(self, session: Session) -> None:
        self._session = session
        self._entries: list[tuple[str, int, str]] = []

    def flush(self) -> None:
        for query, row, terms in self._entries:
            self._session.run(query, row=row, terms=terms)
        self._entries.clear()

    def put(self, row: int, memory: Memory, indexed: Indexed) -> None:
        self.put_many([(row, memory, indexed)])

    def put_many(self, entries: Sequence[tuple[int, Memory, Indexed]]) -> None:
        terms, vectors = [], []
        for row, memory, indexed in entries:
            org, scope_term = memory.org, scope_term_of(memory.org, memory.project or "", memory.user or "")
            scope_terms = f"{org_term_of(org)} {scope_term}"
            self._entries.append(("fts_insert", row, _document(indexed.terms, scope_terms)))
            terms.append((row, org, indexed.length, indexed.terms, scope_terms))
            if indexed.vector is not None:
                vectors.append((row, org, indexed.space, indexed.vector))
        self._session.many("terms_insert", terms)
        self._session.many("vector_put", vectors)

    def fill_vector(self, row: int, version: int, vector: bytes, space: str) -> bool:
        """False when the memory changed since it was read: then this is not its vector."""
        return self._session.run("vector_fill", row=row, version=version, vector=vector, space=space) > 0

    def drop(self, row: int) -> None:
        """Take a memory out of every index. FTS5 keeps no copy, so it is told what it had stored."""
        self._drop_terms(row)
        self._session.run("vector_delete", row=row)

    def _drop_terms(self, row: int) -> None:
        entry = self._session.one("terms_get", row=row)
        if entry:
            _length, terms, scope_term = entry
            self._entries.append(("fts_delete", row, _document(terms, scope_term)))
        self._session.run("terms_delete", row=row)

    # -- re-indexing -------------------------------------------------------------------------------

    def terms_of(self, row: int) -> Indexed | None:
        entry = self._session.one("terms_get", row=row)
        return Indexed(length=entry[0], terms=entry[1]) if entry else None

    def put_terms(self, row: int, memory: Memory, indexed: Indexed) -> bool:
        """Replace the terms and keep the vector; False when the memory changed since it was read."""
        if not self._session.one("memory_is_at", row=row, version=memory.version):
            return False
        self._drop_terms(row)
        self.put(row, memory, replace(indexed, vector=None))
        return True

    def damage(self) -> str:
        """What is wrong with the full-text index and its terms; '' when they agree with the memories."""
        missing = self._session.value("terms_missing")
        if missing:
            return f"{missing} memories are not in the index"
        stray = len(self._session.all("terms_stray"))
        if stray:
            return f"the index holds {stray} forgotten memories"
        differing = sum(
            self._session.value("fts_difference", org_id=org, match=org_term_of(org))
            for (org,) in self._session.all("terms_orgs")
        )
        return f"full text and terms differ in {differing} memories" if differing else ""

    def verify(self) -> None:
        """Let SQLite check the structure of the full-text index; raises where it is broken."""
        self._session.run("fts_check")

    def rebuild(self) -> None:
        """Fill the full-text index anew from the terms, without those of forgotten memories."""
        for (row,) in self._session.all("terms_stray"):
            self._session.run("terms_delete", row=row)
        self._session.run("fts_clear")
        after = 0
        while page := self._session.all("terms_page", after=after, limit=1_000):
            for row, terms, scope_term in page:
                self._session.run("fts_insert", row=row, terms=_document(terms, scope_term))
            after = page[-1][0]

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
        match = f"({scopes}) AND {term.to_bytes(4, 'little').hex()}"
        found = [row for (row,) in self._session.all("fts_match", match=match)]
        return found if places or reach.users is None else self._of_users(reach, found)

    def _of_users(self, reach: Reach, rows: list[int]) -> list[int]:
        """The org's term stands for all of its users; here only some may be seen."""
        found = self._session.all(
            "rows_of_users", org_id=reach.org, rows=json.dumps(rows), users=json.dumps(reach.users)
        )
        return [row for (row,) in found]

    def newest(self, reach: Reach, *, limit: int) -> list[int]:
        """Of each layer: rules are answered whether or not they match, and without a query the newest are."""
        rows = self._session.all("scope_newest", **reach_values(reach), limit=limit)
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

    def vector_counts(self, reach: Reach) -> dict[str, int]:
        return dict(self._session.all("vector_counts", **reach_values(reach)))


@lru_cache(maxsize=1024)
def scope_term_of(org: str, project: str, user: str) -> str:
    """The term that marks a place in the full-text index; longer than a word's, so they never meet."""
    return "s" + _digest(json.dumps([org, project, user]))


@lru_cache(maxsize=1024)
def org_term_of(org: str) -> str:
    return "o" + _digest(org)


def _digest(text: str) -> str:
    from hashlib import blake2b  # a recall in a fresh process does without

    return blake2b(text.encode(), digest_size=8).hexdigest()


def _document(terms: bytes, scope_term: str) -> str:
    """What the full-text index is given: the scope, then every hash as eight hexadecimal digits."""
    hashes = terms[: len(terms) // _BYTES_PER_TERM * 4]
    return f"{scope_term} {hashes.hex(' ', 4)}"


def _visible(reach: Reach, rows: list[Row]) -> list[Row]:
    return [row[:-2] for row in rows if reach.sees(row[-2], row[-1])]

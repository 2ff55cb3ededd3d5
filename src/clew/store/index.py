"""The two indices: terms for lexical candidates and scores, vectors for semantic search.

What differs between engines lies behind the same names: candidates in each engine's `fulltext.sql`, nearest vectors
in `nearest.py` and `postgres_nearest.py`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from clew.model.memory import Indexed, Memory
from clew.model.scope import Reach
from clew.store.memories import reach_values
from clew.store.session import HalfVector, Row, Session, listed

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MARK = "more"  # of a document that was shortened; no term's: those are hexadecimal
_BYTES_PER_TERM = 5  # four of hash, one of count


class IndexTable:
    """Bound to one transaction.

    Full-text entries are written at its end, one after another: see `many_last` of SQLite.
    """

    __slots__ = ("_entries", "_session")

    def __init__(self, session: Session) -> None:
        self._session = session
        self._entries: list[tuple[str, Row]] = []

    def flush(self) -> None:
        for query, entries in groupby(self._entries, itemgetter(0)):
            self._session.many_last(query, [values for _query, values in entries])
        self._entries.clear()

    def put(self, row: int, memory: Memory, indexed: Indexed) -> None:
        self.put_many([(row, memory, indexed)])

    def put_many(self, entries: Sequence[tuple[int, Memory, Indexed]]) -> None:
        terms, vectors = [], []
        longest = self._session.longest_document
        for row, memory, indexed in entries:
            org, scope_terms = memory.org, _scope_terms(memory.org, memory.project or "", memory.user or "")
            text = shortened(document(indexed.terms, scope_terms), longest)
            self._entries.append(("fts_insert", (row, org, text)))
            terms.append((row, org, indexed.length, indexed.terms, scope_terms))
            if indexed.vector is not None:
                vectors.append((row, org, indexed.space, HalfVector(indexed.vector)))
        self._session.many("terms_insert", terms)
        self._session.many("vector_put", vectors)

    def _document(self, terms: bytes, scope_term: str) -> str:
        return shortened(document(terms, scope_term), self._session.longest_document)

    def fill_vector(self, org: str, row: int, *, version: int, vector: bytes, space: str) -> bool:
        """False when the memory changed since it was read: then this is not its vector."""
        filled = {"version": version, "vector": HalfVector(vector), "space": space}
        return self._session.run("vector_fill", org_id=org, row=row, **filled) > 0

    def drop(self, org: str, row: int) -> None:
        """Take a memory out of every index. FTS5 keeps no copy, so it is told what it had stored."""
        self._drop_terms(org, row)
        self._session.run("vector_delete", org_id=org, row=row)

    def _drop_terms(self, org: str, row: int) -> None:
        entry = self._session.one("terms_get", org_id=org, row=row)
        if entry:
            _length, terms, scope_term = entry
            self._entries.append(("fts_delete", (row, org, self._document(terms, scope_term))))
        self._session.run("terms_delete", org_id=org, row=row)

    # -- re-indexing -------------------------------------------------------------------------------

    def terms_of(self, org: str, row: int) -> Indexed | None:
        entry = self._session.one("terms_get", org_id=org, row=row)
        return Indexed(length=entry[0], terms=entry[1]) if entry else None

    def put_terms(self, row: int, memory: Memory, indexed: Indexed) -> bool:
        """Replace the terms and keep the vector; False when the memory changed since it was read."""
        if not self._session.one("memory_is_at", org_id=memory.org, row=row, version=memory.version):
            return False
        self._drop_terms(memory.org, row)
        self.put(row, memory, replace(indexed, vector=None))
        return True

    def damage(self, org: str) -> dict[str, int]:
        """How many memories of an org are missing in the index, how many forgotten ones it holds, and in how many
        full text and terms differ; only what there is any of."""
        self._session.settle()
        found = {
            "missing": self._session.value("terms_missing", org_id=org),
            "stray": len(self._session.all("terms_stray", org_id=org)),
            "differing": self._session.value("fts_difference", org_id=org, match=org_term_of(org)),
        }
        return {name: int(count) for name, count in found.items() if count}

    def verify(self) -> None:
        """Let SQLite check the structure of the full-text index; raises where it is broken."""
        self._session.settle()
        self._session.run("fts_check")

    def rebuild(self, orgs: Sequence[str]) -> None:
        """Fill the full-text index anew from the terms, without those of forgotten memories. Of every org, in one
        transaction: SQLite has one index for all, and what is written to it meanwhile must be in it once."""
        self._session.settle()
        for org in orgs:
            for (row,) in self._session.all("terms_stray", org_id=org):
                self._session.run("terms_delete", org_id=org, row=row)
            self._session.run("fts_clear", org_id=org)
        for org in orgs:
            self._fill_terms(org)

    def _fill_terms(self, org: str) -> None:
        after = 0
        while page := self._session.all("terms_page", org_id=org, after=after, limit=1_000):
            entries = [(row, org, self._document(terms, scope_term)) for row, terms, scope_term in page]
            self._session.many("fts_insert", entries)
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
        rows = self._session.all("scope_rows_by_id", org_id=reach.org, ids=listed(ids), space=space)
        return _visible(reach, rows)

    def rows_by_row(self, reach: Reach, numbers: Sequence[int], space: str) -> list[Row]:
        rows = self._session.all("scope_rows_by_row", org_id=reach.org, rows=listed(numbers), space=space)
        return _visible(reach, rows)

    def size(self, reach: Reach) -> tuple[int, int]:
        """Memories in reach and the sum of their lengths."""
        places, asked = reach.places(), reach_values(reach)
        if places is None:
            rows = self._session.all("scope_size_org", **asked)
        else:
            rows = [
                row
                for project, user in places
                for row in self._session.all("scope_size", **asked, project_id=project, user_id=user)
            ]
        return sum(row[0] for row in rows), sum(row[1] for row in rows)

    # -- candidates for scopes too large to keep in memory -----------------------------------------

    def matching(self, reach: Reach, term: int) -> list[int]:
        """Dense rows in reach that contain a term."""
        self._session.settle()
        places = reach.places()
        if places is None:
            scopes = [org_term_of(reach.org)]
        else:
            scopes = [scope_term_of(reach.org, project, user) for project, user in places]
        asked = {"scopes": listed(scopes), "term": term.to_bytes(4, "little").hex()}
        found = [row for (row,) in self._session.all("fts_match", org_id=reach.org, **asked)]
        return found if places or reach.users is None else self._of_users(reach, found)

    def _of_users(self, reach: Reach, rows: list[int]) -> list[int]:
        """The org's term stands for all of its users; here only some may be seen."""
        found = self._session.all(
            "rows_of_users", org_id=reach.org, rows=listed(rows), users=listed(reach.users or ())
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

    @property
    def finds_nearest(self) -> bool:
        """Whether the engine has an index of vectors: otherwise `nearest` reads all of them."""
        return self._session.finds_nearest

    def nearest(
        self, reach: Reach, space: str, vectors: NDArray[np.float32], *, limit: int
    ) -> list[Mapping[int, float]]:
        """For each of some vectors the nearest rows in reach with their cosines: at least `limit` if there are so
        many, and others that are as near as the last. Exact, but for what an engine's index of vectors may miss."""
        if self.finds_nearest:
            from clew.store.postgres_nearest import nearest_by_server

            asked = reach_values(reach) | {"space": space}
            return [nearest_by_server(self._session, asked, vector, limit=limit) for vector in vectors]
        from clew.store.nearest import nearest_in  # numpy: not for those who only write

        return nearest_in(self.vectors(reach, space), vectors, limit)

    def ids_matching(self, reach: Reach, **wanted: Any) -> list[str]:
        """Ids that carry one of the tags, or come from an agent, session or namespace."""
        tags = wanted.get("tags")
        rows = self._session.all(
            "ids_matching",
            **reach_values(reach),
            agent=wanted.get("agent") or "",
            session_id=wanted.get("session") or "",
            namespace=wanted.get("namespace") or "",
            tags=listed(tags) if tags else None,
        )
        return [id for (id,) in rows]

    # -- vectors -----------------------------------------------------------------------------------

    def without_vector(self, org: str, space: str, *, before: int, limit: int) -> list[Row]:
        """(row, project, id, version, title, content), newest first."""
        return self._session.all("vectors_missing", org_id=org, space=space, before=before, limit=limit)

    def count_without_vector(self, org: str, space: str) -> int:
        return int(self._session.value("vectors_missing_count", org_id=org, space=space))

    def vector_counts(self, reach: Reach) -> dict[str, int]:
        return dict(self._session.all("vector_counts", **reach_values(reach)))


@lru_cache(maxsize=1024)
def scope_term_of(org: str, project: str, user: str) -> str:
    """The term that marks a place in the full-text index; longer than a word's, so they never meet."""
    return "s" + _digest(json.dumps([org, project, user]))


@lru_cache(maxsize=1024)
def org_term_of(org: str) -> str:
    return "o" + _digest(org)


@lru_cache(maxsize=1024)
def _scope_terms(org: str, project: str, user: str) -> str:
    return f"{org_term_of(org)} {scope_term_of(org, project, user)}"


def _digest(text: str) -> str:
    from hashlib import blake2b  # a recall in a fresh process does without

    return blake2b(text.encode(), digest_size=8).hexdigest()


def document(terms: bytes, scope_term: str) -> str:
    """What the full-text index is given: the scope, then every hash as eight hexadecimal digits."""
    hashes = terms[: len(terms) // _BYTES_PER_TERM * 4]
    return f"{scope_term} {hashes.hex(' ', 4)}"


def shortened(document: str, longest: int | None) -> str:
    """What an engine takes of it, and a mark: the rest is then looked for in the terms themselves."""
    return document if longest is None or len(document) <= longest else f"{document[:longest]} {MARK}"


def _visible(reach: Reach, rows: list[Row]) -> list[Row]:
    return [row[:-2] for row in rows if reach.sees(row[-2], row[-1])]

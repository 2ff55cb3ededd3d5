"""Conflicts between memories, and merges of near-duplicates. Rows to values and back."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime

from clew.model.conflict import Conflict, ConflictDraft, Merge
from clew.model.scope import Reach
from clew.model.times import from_micros, to_micros
from clew.store.memories import reach_values
from clew.store.session import Row, Session, listed

SUREST = 2.0  # above every confidence
LAST = "\x7f"  # after every id


class ConflictTable:
    """Bound to one transaction."""

    __slots__ = ("_session",)

    def __init__(self, session: Session) -> None:
        self._session = session

    # -- conflicts -----------------------------------------------------------------------------------

    def put(self, org: str, draft: ConflictDraft) -> None:
        values = draft._asdict() | {"created_at": to_micros(draft.created_at)}
        self._session.run("conflict_insert", org_id=org, **values)

    def drop(self, org: str, id: str) -> None:
        self._session.run("conflict_delete", org_id=org, id=id)

    def resolve(self, org: str, id: str, keep: str, *, hashes: tuple[str, str], by: str, now: datetime) -> None:
        """`hashes` of the two texts that were decided about."""
        texts = {"a_hash": hashes[0], "b_hash": hashes[1]}
        self._session.run("conflict_resolve", org_id=org, id=id, keep=keep, **texts, by=by, at=to_micros(now))

    def get(self, org: str, id: str, *, now: datetime) -> Conflict | None:
        row = self._session.one("conflict_get", org_id=org, id=id, now=to_micros(now))
        return _conflict(row) if row else None

    def of_pair(self, org: str, one: int, other: int, *, now: datetime) -> Conflict | None:
        """Between the memories in these rows, whichever came first."""
        row = self._session.one("conflict_of_pair", org_id=org, one=one, other=other, now=to_micros(now))
        return _conflict(row) if row else None

    def ids_from(self, org: str, prefix: str) -> list[str]:
        rows = self._session.all("conflict_ids_between", org_id=org, low=prefix, high=prefix + "\x7f")
        return [id for (id,) in rows]

    def find(
        self, reach: Reach, *, now: datetime, limit: int, over: bool = False, after: Conflict | None = None
    ) -> list[Conflict]:
        """Of memories in reach, the surest first, from `after` on; `over`: also those that are not open."""
        seen = reach_values(reach)
        place = {"sure": after.confidence, "after": after.id} if after else {"sure": SUREST, "after": ""}
        asked = {name: seen[name] for name in ("org_id", "projects", "users")} | place
        rows = self._session.all("conflict_list", **asked, now=to_micros(now), limit=limit, all=over)
        return [_conflict(row) for row in rows]

    def touching(self, org: str, ids: Sequence[str], *, now: datetime) -> list[Conflict]:
        """Those that one of these memories is part of, also if they are over."""
        found = self._session.all("conflicts_of_ids", org_id=org, ids=listed(ids), now=to_micros(now))
        return [_conflict(row) for row in found]

    # -- merges --------------------------------------------------------------------------------------

    def put_merge(self, org: str, made: Merge) -> None:
        self._session.run(
            "merge_insert",
            org_id=org,
            id=made.id,
            winner=made.winner,
            before=made.before,
            after=made.after,
            losers=json.dumps(made.losers),
            made_by=made.made_by,
            at=to_micros(made.at),
        )

    def merge(self, org: str, id: str) -> Merge | None:
        row = self._session.one("merge_get", org_id=org, id=id)
        return _merge(row) if row else None

    def merge_ids_from(self, org: str, prefix: str) -> list[str]:
        rows = self._session.all("merge_ids_between", org_id=org, low=prefix, high=prefix + "\x7f")
        return [id for (id,) in rows]

    def merges(self, org: str, *, limit: int, before: str = LAST) -> list[Merge]:
        """The newest first, from `before` on."""
        return [_merge(row) for row in self._session.all("merge_list", org_id=org, limit=limit, before=before)]

    def merges_into(self, org: str, winner: str) -> list[Merge]:
        """Those that were not undone, the oldest first."""
        found = [_merge(row) for row in self._session.all("merges_into", org_id=org, winner=winner)]
        return sorted(found, key=lambda run: run.id)

    def undo_merge(self, org: str, id: str, *, by: str, now: datetime) -> None:
        self._session.run("merge_undo", org_id=org, id=id, by=by, at=to_micros(now))

    # -- what says nearly the same -------------------------------------------------------------------

    def alike(self, org: str, *, least: float, now: datetime) -> list[tuple[str, str, float]]:
        """(one, other, how alike) of the whole org, in either order; whether one may see them is not asked here."""
        found: list[tuple[str, str, float]] = self._session.all(
            "alike_pairs", org_id=org, least=least, now=to_micros(now)
        )
        return found

    def alike_to(self, org: str, id: str, *, least: float, now: datetime) -> list[str]:
        """Memories that are as alike to this one, or agree with it."""
        rows = self._session.all("alike_to", org_id=org, id=id, least=least, now=to_micros(now))
        return [other for (other,) in rows]


def _conflict(row: Row) -> Conflict:
    *found, created_at, keep, resolved_at, resolved_by, stands, same_texts = row
    resolved = None if resolved_at is None else from_micros(resolved_at)
    found += [from_micros(created_at), keep, resolved, resolved_by, bool(stands), bool(same_texts)]
    return Conflict(*found)


def _merge(row: Row) -> Merge:
    id, winner, before, after, losers, made_by, at, undone_at, undone_by = row
    merged = tuple((loser, version) for loser, version in json.loads(losers))
    undone = None if undone_at is None else from_micros(undone_at)
    return Merge(id, winner, before, after, merged, made_by, from_micros(at), undone, undone_by)

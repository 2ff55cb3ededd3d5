"""The table of memories and its history: rows to values and back. No decisions are made here."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from operator import attrgetter
from types import MappingProxyType
from typing import Any

from clew.model.graph import Link, Ties
from clew.model.memory import NOTHING, Filter, Memory, Version
from clew.model.scope import Reach, Scope
from clew.model.times import CLOCK_SLACK, Micros, from_micros, to_micros, zoned
from clew.store.session import Row, Session, listed

FIELDS: tuple[str, ...] = Memory.__slots__  # in the order of $memory_columns
_COLUMN = {"org": "org_id", "project": "project_id", "user": "user_id", "session": "session_id"}
_COLUMNS = tuple(_COLUMN.get(name, name) for name in FIELDS)
_values = attrgetter(*FIELDS)


FEW = 1_000  # memories of some projects that are read at once to list them, in a few milliseconds
_US = "\x1f"


_DELETED_AT = FIELDS.index("deleted_at")
_NO_TIES = Ties()


class MemoryTable:
    """Bound to one transaction."""

    __slots__ = ("_session",)

    def __init__(self, session: Session) -> None:
        self._session = session

    def expect(self, org: str, count: int) -> None:
        """So many will be inserted, or fewer."""
        self._session.expect_rows(org, "memories", count)

    def insert(self, memories: Sequence[Memory]) -> list[int]:
        """Returns the dense rows, which the indices use."""
        rows = list(self._session.next_rows("memories", len(memories)))
        told = _Told()
        values = [(row, *_values_of_row(memory, told)) for memory, row in zip(memories, rows, strict=True)]
        self._session.many("memory_insert", values)
        return rows

    def taken_ids(self, org: str, ids: Sequence[str]) -> set[str]:
        """Those that exist, forgotten ones included."""
        return {id for (id,) in self._session.all("ids_taken", org_id=org, ids=listed(ids))}

    def imported(self, scope: Scope) -> list[Row]:
        """(id, content hash, metadata as JSON, version) of what files brought to exactly this place."""
        place = {"org_id": scope.org, "project_id": scope.project or "", "user_id": scope.user or ""}
        return self._session.all("memories_imported", **place)

    def live_hashes(self, like: Memory, hashes: Sequence[str]) -> set[str]:
        """Those that a live memory of the same place and type has."""
        if len(hashes) == 1 and like.content_hash == hashes[0]:  # looking into a list costs three times as much
            return set(hashes) if self.live_duplicate(like) else set()
        rows = self._session.all("hashes_live", **_place(like), hashes=listed(hashes))
        return {content_hash for (content_hash,) in rows}

    def update(self, memory: Memory, *, change: str, expected_version: int) -> bool:
        """False when someone else changed the memory first."""
        values = to_row(memory) | {"change": change, "expected_version": expected_version}
        return self._session.run("memory_update", **values) == 1

    def delete(self, memory: Memory) -> None:
        self._session.run("version_delete", org_id=memory.org, memory_id=memory.id)
        self._session.run("memory_delete", org_id=memory.org, id=memory.id)

    def get(self, reach: Reach, id: str, *, deleted: bool = False) -> Memory | None:
        row = self._session.one("memory_by_id", org_id=reach.org, id=id)
        memory = from_row(row) if row else None
        if memory is None or not reach.sees(memory.project, memory.user):
            return None
        return memory if deleted or memory.deleted_at is None else None

    def get_many(self, reach: Reach, ids: Sequence[str]) -> dict[str, Memory]:
        return _seen(reach, self._session.all("memories_by_id", org_id=reach.org, ids=listed(ids)))

    def at_rows(self, reach: Reach, numbers: Sequence[int]) -> dict[str, Memory]:
        """The same by dense rows, which are found sooner than ids: by id, as far as they are there and seen."""
        return _seen(reach, self._session.all("memories_by_row", org_id=reach.org, rows=listed(numbers)))

    def weight_of(self, memory: Memory) -> float:
        """As it is now: outcomes move it without making a version. That of the value if the memory is gone."""
        weight = self._session.value("memory_weight", org_id=memory.org, id=memory.id)
        return memory.weight if weight is None else float(weight)

    def row_of(self, memory: Memory) -> int:
        return int(self._session.value("memory_row_of", org_id=memory.org, id=memory.id))

    def ids_from(self, reach: Reach, prefix: str, *, deleted: bool = False) -> list[str]:
        """Visible memories whose id starts so, to let people shorten ids."""
        rows = self._session.all(
            "memory_ids_between", org_id=reach.org, low=prefix, high=prefix + "\x7f", with_deleted=deleted
        )
        return [id for id, project, user in rows if reach.sees(project, user)]

    def live_duplicate(self, memory: Memory) -> str | None:
        asked = _place(memory) | {"content_hash": memory.content_hash}
        id: str | None = self._session.value("memory_live_duplicate", **asked)
        return id

    def live_upsert(self, memory: Memory) -> str | None:
        asked = _place(memory) | {"upsert_key": memory.upsert_key}
        id: str | None = self._session.value("memory_live_upsert", **asked)
        return id

    def upserted_until(self, memory: Memory, moment: datetime) -> list[str]:
        """Those with its key whose end lies after a moment: such as were replaced by one that does not hold yet."""
        asked = _place(memory) | {"upsert_key": memory.upsert_key, "moment": to_micros(moment)}
        # Sorted here: asked for an order, SQLite would read all of the org in it.
        return sorted(id for (id,) in self._session.all("memory_key_until", **asked))

    def expired_working(self, org: str, now: datetime) -> list[str]:
        return [id for (id,) in self._session.all("memory_expired_working", org_id=org, now=to_micros(now))]

    def working_overflow(self, org: str, user: str | None, keep: int) -> list[str]:
        rows = self._session.all("memory_working_overflow", org_id=org, user_id=user or "", keep=keep)
        return [id for (id,) in rows]

    def find(
        self, reach: Reach, wanted: Filter, *, now: datetime, limit: int, cursor: str | None = None
    ) -> list[Memory]:
        """Newest first; `cursor` is the id of the last of the page before."""
        before = zoned("before", wanted.before)
        rows = self._session.all(
            "memory_list_few" if self._are_few(reach) else "memory_list",
            **reach_values(reach),
            with_deleted=wanted.deleted,
            with_expired=wanted.expired,
            with_superseded=wanted.superseded,
            now=to_micros(now),
            layer=wanted.layer or "",
            types=listed(wanted.types) if wanted.types else None,
            tags=listed(wanted.tags) if wanted.tags else None,
            namespace=wanted.namespace or "",
            agent=wanted.agent or "",
            session_id=wanted.session or "",
            pattern=f"*{wanted.pattern}*" if wanted.pattern else None,
            before=to_micros(before) if before else None,
            cursor=cursor,
            limit=limit,
        )
        return [from_row(row) for row in rows]

    def _are_few(self, reach: Reach) -> bool:
        """Whether reading all of these projects costs less than looking for them from the newest of the org on."""
        if reach.projects is None:
            return False
        asked = {"org_id": reach.org, "projects": listed(reach.projects), "limit": FEW}
        return int(self._session.value("memories_in_projects", **asked)) < FEW

    def all(self, reach: Reach, *, page: int = 500) -> Iterator[Memory]:
        """Every live memory in reach, in id order; one page at a time, so a store of any size is fine."""
        after = ""
        while rows := self._session.all("memory_page", org_id=reach.org, after=after, limit=page):
            for row in rows:
                memory = from_row(row)
                if reach.sees(memory.project, memory.user):
                    yield memory
            after = rows[-1][0]

    def keep_version(self, memory: Memory, ties: Ties = _NO_TIES) -> None:
        """Keep the state that is about to be replaced; of one that goes, also what hung on it."""
        state = _state(_values_of_row(memory), ties)
        self._session.run("version_insert", org_id=memory.org, memory_id=memory.id, state=state)

    def ties_kept(self, forgotten: Memory) -> Ties:
        """What hung on a softly forgotten memory when it went."""
        _version, _values, ties = self._last_state(forgotten)
        return ties

    def keep_ties(self, forgotten: Memory, ties: Ties) -> None:
        """Keep more of that."""
        version, values, known = self._last_state(forgotten)
        links, leaning = dict.fromkeys(known.links + ties.links), dict.fromkeys(known.leaning + ties.leaning)
        key = {"org_id": forgotten.org, "memory_id": forgotten.id, "version": version}
        self._session.run("version_restate", **key, state=_state(values, Ties(tuple(links), tuple(leaning))))

    def _last_state(self, forgotten: Memory) -> tuple[int, list[Any], Ties]:
        """The version and values it had when it was last there, and its ties."""
        key = {"org_id": forgotten.org, "memory_id": forgotten.id, "version": forgotten.version}
        for version, state in self._session.all("version_before", **key):
            values = json.loads(state)
            if values[_DELETED_AT] is None:
                return version, values[: len(FIELDS)], _ties(values[len(FIELDS) :])
        return 0, [], _NO_TIES

    def versions(self, memory: Memory) -> list[Version]:
        """Every state, the present one last."""
        key = {"org_id": memory.org, "memory_id": memory.id}
        kept = [
            Version(version, change, from_micros(changed_at), from_row(json.loads(state)[: len(FIELDS)]))
            for version, change, changed_at, state in self._session.all("version_list", **key)
        ]
        change = self._session.value("memory_change", **key)
        return [*kept, Version(memory.version, change, memory.updated_at, memory)]

    def rows_after(self, org: str, row: int, *, limit: int) -> list[tuple[int, Memory]]:
        """Live memories of an org with their dense rows, in that order."""
        found = self._session.all("memory_rows", org_id=org, after=row, limit=limit)
        return [(at, from_row(rest)) for at, *rest in found]

    def counts(self, reach: Reach) -> list[Row]:
        """(project, type, layer, how many, bytes of content)"""
        return self._session.all("counts", **reach_values(reach))

    def count_all(self, *, most: int = 1 << 62) -> int:
        """Of all orgs; whoever only wants to know whether there are many names a number at which to stop."""
        return int(self._session.value("memory_count_all", most=most))

    def redate(self, org: str, now: datetime) -> list[tuple[str, str | None]]:
        """What a clock that was well ahead has dated later than now is of now. The ids, with their projects."""
        beyond = to_micros(now + CLOCK_SLACK)
        moved = self._session.all("memory_ahead", org_id=org, beyond=beyond)
        if moved:
            self._session.run("memory_redate", org_id=org, beyond=beyond, now=to_micros(now))
        return [(id, project or None) for id, project in moved]

    def newest(self) -> datetime | None:
        """When the newest memory of any org was stored."""
        micros = self._session.value("memory_newest")
        return None if micros is None else from_micros(micros)


def _seen(reach: Reach, rows: Iterable[Row]) -> dict[str, Memory]:
    found = map(from_row, rows)
    return {memory.id: memory for memory in found if reach.sees(memory.project, memory.user)}


def _state(values: list[Any], ties: Ties) -> str:
    return json.dumps([*values, ties] if any(ties) else values, ensure_ascii=False)


def _ties(kept: list[Any]) -> Ties:
    if not kept:
        return _NO_TIES
    links, leaning = kept[0]
    return Ties(tuple(Link(*link) for link in links), tuple(leaning))


def _place(memory: Memory) -> dict[str, Any]:
    """Where it is the only one of its type with its text, and with its key."""
    names = {"project_id": memory.project or "", "user_id": memory.user or ""}
    return {"org_id": memory.org, **names, "type": memory.type}


def reach_values(reach: Reach) -> dict[str, Any]:
    return {
        "org_id": reach.org,
        "projects": None if reach.projects is None else listed(reach.projects),
        "users": None if reach.users is None else listed(reach.users),
        # The same between unit separators, which no name contains: where a list is asked about once per row.
        "in_projects": None if reach.projects is None else f"\x1f{_US.join(reach.projects)}\x1f",
        "in_users": None if reach.users is None else f"\x1f{_US.join(reach.users)}\x1f",
        "hidden": None if reach.hidden is None else f"\x1f{_US.join(map(str, reach.hidden))}\x1f",
        "in_labels": None if reach.labels is None else f"\x1f{_US.join(reach.labels)}\x1f",
        "in_trusts": None if reach.trusts is None else f"\x1f{_US.join(reach.trusts)}\x1f",
        # Where nothing else decides what may be read: lists of memories do without the others as well.
        "only_labels": f"\x1f{_US.join(reach.labels)}\x1f" if reach.by_label and reach.labels is not None else None,
    }


def seen_by(reach: Reach, now: datetime, moment: datetime | None = None) -> dict[str, Any]:
    """What is seen within a reach at a time, of what held at a moment."""
    return reach_values(reach) | {"now": to_micros(now), "moment": to_micros(moment or now)}


def to_row(memory: Memory) -> dict[str, Any]:
    return dict(zip(_COLUMNS, _values_of_row(memory), strict=True))


class _Told(dict[datetime | None, Micros | None]):
    """Moments as they are stored: the memories of a batch share most of theirs."""

    def __missing__(self, moment: datetime | None) -> Micros | None:
        told = self[moment] = None if moment is None else to_micros(moment)
        return told


def _values_of_row(memory: Memory, told: _Told | None = None) -> list[Any]:
    """Field by field, because it runs once per imported memory."""
    (
        id, org, project, user, agent, session, namespace, type_, layer, title, content, tags, category, paths,
        author, thread, at, origin, tool_call, parents, trust, classification, confidence, weight, upsert_key,
        content_hash, valid_at, invalid_at, superseded_by, expires_at, created_at, updated_at, deleted_at,
        version, metadata,
    ) = _values(memory)  # fmt: skip
    told = _Told() if told is None else told
    return [
        id, org, project or "", user or "", agent or "", session or "", namespace or "", type_, layer, title or "",
        content, _written(tags), category or "", _written(paths), author or "", thread or "", told[at], origin,
        tool_call or "", _written(parents), trust, classification, confidence, weight, upsert_key or "",
        content_hash, told[valid_at], told[invalid_at], superseded_by or "", told[expires_at], told[created_at],
        told[updated_at], told[deleted_at], version,
        json.dumps(dict(metadata), ensure_ascii=False) if metadata else "{}",
    ]  # fmt: skip


def _written(texts: Sequence[str]) -> str:
    return json.dumps(texts, ensure_ascii=False) if texts else "[]"


def from_row(row: Iterable[Any]) -> Memory:
    """Field by field, because a recall does it for every result: a loop over fields takes twice as long."""
    (
        id, org, project, user, agent, session, namespace, type_, layer, title, content, tags, category, paths,
        author, thread, at, origin, tool_call, parents, trust, classification, confidence, weight, upsert_key,
        content_hash, valid_at, invalid_at, superseded_by, expires_at, created_at, updated_at, deleted_at,
        version, metadata,
    ) = row  # fmt: skip
    happened = from_micros(at)  # most are stored as they happen: then all of its times are this one
    return Memory(
        id, org, project or None, user or None, agent or None, session or None, namespace or None, type_, layer,
        title or None, content, () if tags == "[]" else _list(tags), category or None,
        () if paths == "[]" else _list(paths), author or None, thread or None, happened, origin,
        tool_call or None, () if parents == "[]" else _list(parents), trust, classification, confidence, weight,
        upsert_key or None, content_hash, happened if valid_at == at else from_micros(valid_at),
        None if invalid_at is None else from_micros(invalid_at), superseded_by or None,
        None if expires_at is None else from_micros(expires_at),
        happened if created_at == at else from_micros(created_at),
        happened if updated_at == at else from_micros(updated_at),
        None if deleted_at is None else from_micros(deleted_at), version,
        NOTHING if metadata == "{}" else MappingProxyType(json.loads(metadata)),
    )  # fmt: skip


_read = json.JSONDecoder().raw_decode  # past the looks of `json.loads` at what surrounds a value


def _list(told: str) -> tuple[str, ...]:
    return tuple(_read(told)[0])

"""Edges that nothing reinforces lose confidence, window by window, down to a floor.

In: a store and the settings of decay. Out: a report, kept in the store for whoever asks later. Edges are looked
through org by org, page by page in the order of their rows; the report is of all orgs together. A page is read
without the write lock and then written in one transaction, each edge only if it is still as it was read, so nothing
that happens meanwhile is lost. How far a look has come is part of that transaction: stopped by its limit, or
interrupted, the next portion goes on there. Run twice, the second run changes nothing: the anchors have moved by
whole windows. One process at a time does it, under a lease.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field, replace
from datetime import datetime, timedelta
from functools import partial
from time import perf_counter
from typing import Any, NamedTuple

from clew.errors import Unavailable
from clew.graph import confidence
from clew.model.facts import EDGE_DECAY, EDGE_DECAY_AT, EDGE_DECAY_SO_FAR
from clew.model.ids import new_id
from clew.model.times import from_micros, to_micros, to_rfc3339
from clew.ports import Row, Store, Tx
from clew.values import dataclass

PAGE = 1_000
EDGES_PER_PASS = 5_000  # of a pass beside other work
TOP_ENTITIES = 5
LABELS_KEPT = 500  # between two pages, those with the greatest drop: a pass over millions must not carry them all
LEASE_KEY, LEASE_S = "edge_decay", 30.0
LONGEST = timedelta(days=36_525)  # a century: what is longer would only overflow


@dataclass(frozen=True, slots=True)
class DecayPolicy:
    """What the settings say about decay, under their names."""

    edge_decay: bool = True
    decay_cadence_hours: float = 168.0
    decay_window_days: float = 90.0
    decay_per_window: float = 0.1
    decay_floor: float = 0.1
    visibility_threshold: float = 0.2

    @property
    def cadence(self) -> timedelta:
        return _at_most(self.decay_cadence_hours / 24)

    @property
    def window(self) -> timedelta:
        return _at_most(self.decay_window_days)


def _at_most(days: float) -> timedelta:
    return timedelta(days=min(days, LONGEST.days))


class FadedEntity(NamedTuple):
    """What one label lost over all its edges."""

    label: str
    total_drop: float
    edge_count: int


class TypeTally(NamedTuple):
    edges_total: int = 0
    edges_decayed: int = 0
    edges_below_visibility_threshold: int = 0

    def plus(self, other: TypeTally) -> TypeTally:
        return TypeTally(*(one + more for one, more in zip(self, other, strict=True)))


@dataclass(frozen=True, slots=True)
class DecayReport:
    """`edges_decayed` lost confidence in this pass; those below the threshold are counted as they are after it."""

    ran_at: datetime
    duration_ms: float
    policy: DecayPolicy
    per_type: dict[str, TypeTally]
    top_decayed_entities: tuple[FadedEntity, ...]
    dry_run: bool = False

    @property
    def total(self) -> TypeTally:
        whole = TypeTally()
        for tally in self.per_type.values():
            whole = whole.plus(tally)
        return whole

    def as_json(self) -> dict[str, Any]:
        return {
            "ran_at": to_rfc3339(self.ran_at),
            "duration_ms": round(self.duration_ms, 1),
            **self.total._asdict(),
            "top_decayed_entities": [
                entity._replace(total_drop=round(entity.total_drop, 9))._asdict()
                for entity in self.top_decayed_entities
            ],
            "per_type": {name: tally._asdict() for name, tally in sorted(self.per_type.items())},
            "window_ms": self.policy.window // timedelta(milliseconds=1),
            "per_window": self.policy.decay_per_window,
            "floor": self.policy.decay_floor,
            "visibility_threshold": self.policy.visibility_threshold,
            "dry_run": self.dry_run,
        }


class Aged(NamedTuple):
    """An edge that is due, as it was read, and what it decays to."""

    row: int
    project: str
    source: int
    target: int
    type: str
    label: str
    old: tuple[float, int]  # confidence and anchor
    confidence: float
    anchor: int

    @property
    def new(self) -> tuple[float, int]:
        return self.confidence, self.anchor

    @property
    def drop(self) -> float:
        return self.old[0] - self.confidence


class Page(NamedTuple):
    org: str
    upto: int
    tally: list[tuple[str, int, int]]
    aged: list[Aged]


@dataclass(frozen=True, slots=True)
class SoFar:
    """How far a look through the edges has come, in which org and behind which row, and what it found."""

    ran_at: int
    org: str = ""
    after: int = 0
    spent_ms: float = 0.0
    types: dict[str, TypeTally] = field(default_factory=dict)
    labels: dict[str, tuple[float, int]] = field(default_factory=dict)

    def plus(self, page: Page, faded: Sequence[Aged], threshold: float, spent_ms: float) -> SoFar:
        types, labels = dict(self.types), dict(self.labels)
        for type_, total, below in page.tally:
            types[type_] = types.get(type_, TypeTally()).plus(TypeTally(total, 0, below))
        for edge in faded:
            if edge.drop <= 0:  # at the floor only its anchor moves
                continue
            sank = edge.old[0] >= threshold > edge.confidence
            types[edge.type] = types.get(edge.type, TypeTally()).plus(TypeTally(0, 1, int(sank)))
            if edge.label:
                drop, count = labels.get(edge.label, (0.0, 0))
                labels[edge.label] = (drop + edge.drop, count + 1)
        kept = dict(_by_drop(labels)[:LABELS_KEPT])
        return SoFar(self.ran_at, page.org, page.upto, self.spent_ms + spent_ms, types, kept)

    def report(self, policy: DecayPolicy, *, dry_run: bool = False) -> DecayReport:
        top = tuple(FadedEntity(label, *lost) for label, lost in _by_drop(self.labels)[:TOP_ENTITIES])
        return DecayReport(from_micros(self.ran_at), self.spent_ms, policy, self.types, top, dry_run)

    def as_text(self) -> str:
        return json.dumps([self.ran_at, self.org, self.after, self.spent_ms, self.types, self.labels])

    @classmethod
    def of_text(cls, text: str) -> SoFar | None:
        """None for that of an earlier version, which went over all orgs at once."""
        values = json.loads(text)
        if len(values) != len(cls.__slots__):
            return None
        ran_at, org, after, spent_ms, types, labels = values
        tallies = {name: TypeTally(*tally) for name, tally in types.items()}
        lost = {label: (drop, count) for label, (drop, count) in labels.items()}
        return cls(ran_at, org, after, spent_ms, tallies, lost)

    def ahead(self, orgs: Sequence[str]) -> Iterator[tuple[str, int]]:
        """Where to look on: behind the last row in its org, then in the orgs that come after it."""
        return ((org, self.after if org == self.org else 0) for org in orgs if org >= self.org)


def _by_drop(labels: dict[str, tuple[float, int]]) -> list[tuple[str, tuple[float, int]]]:
    return sorted(labels.items(), key=lambda item: (-round(item[1][0], 9), item[0]))


# -- when ------------------------------------------------------------------------------------------


def due(tx: Tx, now: datetime, cadence: timedelta) -> bool:
    """Whether a pass should begin or go on: one look-up, as after each write. A pass in the future, by a
    clock that was wrong, does not count."""
    last = tx.meta.get(EDGE_DECAY_AT)
    return last is None or not timedelta(0) <= now - from_micros(int(last)) < cadence


def last_report(tx: Tx) -> dict[str, Any] | None:
    """What the last finished pass found, in all orgs: its labels are for whoever runs the store."""
    text = tx.meta.get(EDGE_DECAY)
    report: dict[str, Any] | None = json.loads(text) if text else None
    return report


def forget_labels(tx: Tx) -> None:
    """A hard forget leaves no names: neither in the last report nor in a pass under way."""
    last, text = last_report(tx), tx.meta.get(EDGE_DECAY_SO_FAR)
    if last and last["top_decayed_entities"]:
        tx.meta.put(EDGE_DECAY, json.dumps(last | {"top_decayed_entities": []}))
    so_far = SoFar.of_text(text) if text else None
    if text and (so_far is None or so_far.labels):
        tx.meta.put(EDGE_DECAY_SO_FAR, replace(so_far, labels={}).as_text() if so_far else "")


# -- what ------------------------------------------------------------------------------------------


def decay(store: Store, policy: DecayPolicy, now: datetime) -> DecayReport:
    """The whole store as of now, also what an unfinished pass has been through already."""
    token = store.write(_claim, durable=False)
    if token is None:
        raise Unavailable(
            "another process is looking through the edges", code="EDGE_DECAY_RUNNING", next="try again in a minute"
        )
    report = _run(store, policy, now, token, SoFar(to_micros(now)), limit=None)
    assert report is not None  # only a limit ends it early
    return report


def decay_some(store: Store, policy: DecayPolicy, now: datetime, *, limit: int = EDGES_PER_PASS) -> bool:
    """Some edges more; whether any are left for the next call. Not if another process is at it."""
    token = store.write(_claim, durable=False)
    if token is None:
        return False
    with store.read() as tx:
        so_far = _unfinished(tx) or SoFar(to_micros(now))
    return _run(store, policy, now, token, so_far, limit=limit) is None


def preview(store: Store, policy: DecayPolicy, now: datetime) -> DecayReport:
    """What `decay` would report. Nothing is written."""
    so_far = SoFar(to_micros(now))
    started, orgs = perf_counter(), _orgs(store)
    while page := _read_page(store, policy, now, so_far.ahead(orgs), PAGE):
        so_far = so_far.plus(page, page.aged, policy.visibility_threshold, 0.0)
    return replace(so_far, spent_ms=_ms_since(started)).report(policy, dry_run=True)


def _run(
    store: Store, policy: DecayPolicy, now: datetime, token: int, so_far: SoFar, *, limit: int | None
) -> DecayReport | None:
    """None when the limit came first. After a failure the lease is left to run out: a pause before the next try."""
    seen, orgs = 0, _orgs(store)
    while limit is None or seen < limit:
        started = perf_counter()
        page = _read_page(store, policy, now, so_far.ahead(orgs), min(PAGE, limit - seen) if limit else PAGE)
        if page is None:
            report = so_far.report(policy)
            store.write(partial(_finish, token=token, report=report), durable=False)
            return report
        so_far = store.write(
            partial(_write_page, page=page, so_far=so_far, token=token, policy=policy, started=started),
            durable=False,
        )
        seen += sum(total for _type, total, _below in page.tally)
    store.write(lambda tx: tx.leases.finish("", LEASE_KEY, token), durable=False)
    return None


def _orgs(store: Store) -> list[str]:
    with store.read() as tx:
        return sorted(tx.config.orgs())


def _read_page(
    store: Store, policy: DecayPolicy, now: datetime, places: Iterable[tuple[str, int]], size: int
) -> Page | None:
    """The edges at the first place where there are any."""
    for org, after in places:
        with store.read() as tx:
            page = _page_of(tx, policy, now, org, after=after, size=size)
        if page is not None:
            return page
    return None


def _page_of(tx: Tx, policy: DecayPolicy, now: datetime, org: str, *, after: int, size: int) -> Page | None:
    """What lies behind a row, and what of it is due. An edge that a person made is not among that: it says what
    somebody decided, which does not become less true because no memory repeats it; they take it back themselves."""
    upto = tx.edges.page_end(org, after, limit=size)
    if upto is None:
        return None
    tally = tx.edges.tally(org, after, upto, threshold=policy.visibility_threshold)
    rows = tx.edges.aged(org, after, upto, before=to_micros(now) - policy.window // timedelta(microseconds=1))
    aged = [_aged(row, policy, now) for row in rows]
    return Page(org, upto, tally, [edge for edge in aged if edge.old != edge.new])


def _aged(row: Row, policy: DecayPolicy, now: datetime) -> Aged:
    *edge, sure, anchor = row
    less, moved = confidence.decay(
        sure, from_micros(anchor), now, policy.window, policy.decay_per_window, policy.decay_floor
    )
    return Aged._make([*edge, (sure, anchor), less, to_micros(moved) if moved else anchor])


def _write_page(tx: Tx, *, page: Page, so_far: SoFar, token: int, policy: DecayPolicy, started: float) -> SoFar:
    tx.leases.renew("", LEASE_KEY, token, ttl_s=LEASE_S)
    faded = [edge for edge in page.aged if tx.edges.fade(page.org, edge.row, old=edge.old, new=edge.new)]
    dropped = [edge for edge in faded if edge.drop > 0]
    touched = {(edge.project, node) for edge in dropped for node in (edge.source, edge.target)}
    for project, node in sorted(touched):
        tx.changes.note(page.org, project, "node", str(node), "put")
    so_far = so_far.plus(page, faded, policy.visibility_threshold, _ms_since(started))
    tx.meta.put(EDGE_DECAY_SO_FAR, so_far.as_text())
    tx.meta.put(EDGE_DECAY_AT, "0")
    return so_far


def _claim(tx: Tx) -> int | None:
    return tx.leases.claim("", LEASE_KEY, holder=new_id("run"), ttl_s=LEASE_S)


def _finish(tx: Tx, *, token: int, report: DecayReport) -> None:
    tx.leases.finish("", LEASE_KEY, token)
    tx.meta.put(EDGE_DECAY, json.dumps(report.as_json()))
    tx.meta.put(EDGE_DECAY_SO_FAR, "")
    tx.meta.put(EDGE_DECAY_AT, str(to_micros(report.ran_at)))


def _unfinished(tx: Tx) -> SoFar | None:
    text = tx.meta.get(EDGE_DECAY_SO_FAR)
    return SoFar.of_text(text) if text else None


def _ms_since(started: float) -> float:
    return (perf_counter() - started) * 1000

"""Ways through the graph by reach. A process that asks once walks by queries: loading every edge of a scope would
cost it more than all else. One that stays loads arrays in the background, from the second question on, and keeps
them current by the change log: which nodes a change touched is noted, and whoever comes by reads them again.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from clew.lazy import LazyModule
from clew.model.times import to_micros
from clew.recall.walk import QueryWalk, Walk

if TYPE_CHECKING:
    import logging
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from clew.model.change import Change
    from clew.model.scope import Reach
    from clew.ports import Store, Tx
    from clew.recall import arrays, loading
    from clew.recall.arrays import ArrayWalk
else:
    logging = LazyModule("logging")
    arrays = LazyModule("clew.recall.arrays")  # for a process that stays
    loading = LazyModule("clew.recall.loading")

MAX_KEPT = 256  # reaches, however small their graphs: the names of projects are anybody's
MAX_ASKED = 4_096  # of which it is known that they were asked about
MAX_CHANGES = 8_192  # entries of the change log that are followed at once
MAX_CHANGED = 50_000  # nodes to be read again, in a process that does not make the arrays anew before
PATIENCE_S = 5.0  # for what is being loaded when the store is closed
WORN = 4_096  # such nodes, or one for 16 memories: each change carries them on, which took 16 ms with 40,000


class Graphs:
    """Thread-safe. `in_background`: this process stays long enough for arrays to pay."""

    def __init__(self, store: Store, *, max_bytes: int, in_background: bool) -> None:
        self._store = store
        self._max_bytes = max_bytes
        self._in_background = in_background
        self._kept: OrderedDict[Reach, ArrayWalk] = OrderedDict()
        self._asked: set[Reach] = set()
        self._busy: set[Reach] = set()  # being loaded, or too large to keep
        self._turns: dict[Reach, threading.Lock] = {}
        self._lock = threading.Lock()
        self._loaders: set[threading.Thread] = set()
        self._closed = False

    @contextmanager
    def walk(self, reach: Reach, *, now: datetime, as_of: datetime | None = None) -> Iterator[Walk]:
        kept = self._current(reach, now) if as_of is None else None
        if self._in_background and as_of is None and (kept is None or _is_worn(kept)):
            self._load_later(reach, now)
        if kept is not None:
            yield kept
            return
        with self._store.read() as tx:
            yield QueryWalk(tx, reach, now=now, moment=as_of or now)

    def load(self, reach: Reach, now: datetime) -> ArrayWalk:
        """Make the arrays now."""
        with self._store.read() as tx:
            loaded = arrays.ArrayWalk(
                loading.load_base(tx, reach, now),
                self._store,
                reach,
                tx.changes.last(reach.org),
                now,
                unsettled=dict(tx.graph.turning(reach, None, now)),
            )
        with self._lock:
            self._kept[reach] = loaded
            self._make_room()
        return loaded

    def _load_later(self, reach: Reach, now: datetime) -> None:
        with self._lock:
            first = reach not in self._asked
            if first and len(self._asked) >= MAX_ASKED:
                self._asked.clear()
                self._busy.clear()  # at worst one is loaded twice
            self._asked.add(reach)
            if first or reach in self._busy or self._closed:
                return
            self._busy.add(reach)
            loader = threading.Thread(target=self._load_aside, args=(reach, now), name="clew-graph", daemon=True)
            try:
                loader.start()
            except RuntimeError:  # no thread to be had: the next question tries again
                self._busy.discard(reach)
            else:
                self._loaders.add(loader)

    def _load_aside(self, reach: Reach, now: datetime) -> None:
        try:
            self._load_quietly(reach, now)
        finally:
            with self._lock:
                self._loaders.discard(threading.current_thread())

    def close(self) -> None:
        """Wait for what is being loaded, but not for ever. A closed store lets go of its queries at once."""
        with self._lock:
            self._closed = True
            loaders = list(self._loaders)
        end = time.monotonic() + PATIENCE_S
        for loader in loaders:
            loader.join(max(0.0, end - time.monotonic()))

    def _load_quietly(self, reach: Reach, now: datetime) -> None:
        try:
            self.load(reach, now)
        except Exception as error:  # an extra: questions go on walking by queries, and the next one tries again
            if not self._is_over():  # a process that ends has no use for it
                logging.getLogger(__name__).warning("the graph was not loaded: %s", type(error).__name__)
            with self._lock:
                self._busy.discard(reach)
            return
        with self._lock:
            if reach in self._kept:  # one that had to go again at once is too large: do not load it each time
                self._busy.discard(reach)

    def _is_over(self) -> bool:
        """Whether the store was closed meanwhile. What failed then is no matter: the file may be gone as well."""
        try:
            self._store.data_version()
        except Exception as error:
            return getattr(error, "code", "") == "STORE_CLOSED"
        return False

    def _current(self, reach: Reach, now: datetime) -> ArrayWalk | None:
        connection, version = self._store.data_version()
        with self._lock:
            kept = self._kept.get(reach)
            if kept is None:
                return None
            self._kept.move_to_end(reach)
            turn = self._turns.setdefault(reach, threading.Lock())
        if kept.checked.get(connection) != version or _turned(kept, now):
            with turn:  # one refreshes; who waited finds it done
                kept = self._refresh(reach, now)
            if kept is None:
                return None
            if len(kept.checked) > MAX_KEPT:  # threads come and go
                kept.checked.clear()
            kept.checked[connection] = version
        kept.now = now
        return kept

    def _refresh(self, reach: Reach, now: datetime) -> ArrayWalk | None:
        with self._lock:
            kept = self._kept.get(reach)
        fresh = self._refreshed(reach, kept, now) if kept else None
        with self._lock:
            if self._kept.get(reach) is not kept:  # made anew meanwhile: that is the one to go on with
                return fresh
            if fresh is None:
                self._kept.pop(reach, None)
            else:
                self._kept[reach] = fresh
        return fresh

    def _refreshed(self, reach: Reach, kept: ArrayWalk, now: datetime) -> ArrayWalk | None:
        """With what changed noted; None when that is too much."""
        turned = _turned(kept, now)
        with self._store.read() as tx:
            last = tx.changes.last(reach.org)
            if last == kept.seq and not turned:
                return kept
            changes = tx.changes.since(reach.org, kept.seq, limit=MAX_CHANGES)
            if changes is None:
                return None
            ids, touched = _touched(tx, reach, changes, turned)
            if len(kept.changed) + len(touched) > MAX_CHANGED:
                return None
            own, read_again = tx.graph.own_nodes(reach.org, ids), frozenset(ids)
            later = dict(tx.graph.turning(reach, ids, now))
        return replace(
            kept,
            seq=last,
            now=now,
            changed=kept.changed | touched,
            patched={node: entries for node, entries in kept.patched.items() if node not in touched},
            new_ids=kept.new_ids | own,
            new_nodes=kept.new_nodes | {node: id for id, node in own.items()},
            unsettled={id: at for id, at in kept.unsettled.items() if id not in read_again} | later,
            checked={},
        )

    def _make_room(self) -> None:
        total = sum(walk.base.nbytes for walk in self._kept.values())
        while self._kept and (total > self._max_bytes or len(self._kept) > MAX_KEPT):
            least_used, dropped = self._kept.popitem(last=False)
            self._turns.pop(least_used, None)
            self._asked.discard(least_used)  # once more does not bring it back, twice does
            total -= dropped.base.nbytes


def _is_worn(kept: ArrayWalk) -> bool:
    """So much has changed that arrays made anew pay, also for those who walk with these until they are there."""
    return len(kept.changed) > max(WORN, len(kept.base.memory_ids) // 16)


def _turned(kept: ArrayWalk, now: datetime) -> list[str]:
    """Memories that did not hold when they were read, and do by now; or did, and do no more: what others state with
    them is less sure then."""
    moment = to_micros(now)
    return [id for id, at in kept.unsettled.items() if at <= moment] if kept.next_turn <= moment else []


def _touched(tx: Tx, reach: Reach, changes: Sequence[Change], turned: Sequence[str]) -> tuple[list[str], set[int]]:
    """Memories that changed and nodes that have to be read again, as far as the reach may care."""
    mine = [change for change in changes if reach.projects is None or change.project in reach.projects]
    ids = sorted({change.id for change in mine if change.kind == "memory"}.union(turned))
    nodes = {int(change.id) for change in mine if change.kind == "node"}
    return ids, nodes.union(tx.graph.touched_by(reach.org, ids))

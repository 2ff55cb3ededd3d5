"""Everything of a store into another one, of the same engine or not.

In: one snapshot of the source, which is never written to, and a target that is empty or an unfinished copy of the
same source. Out: every row of every org on the other side, proven equal by count and checksum. Each page is one
transaction together with how far that is, so that whatever ends a run, the next one goes on where it stopped. What
changed in the source in between is noticed by the checksums of what was copied, and those tables are copied again.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, field
from functools import partial
from hashlib import blake2b
from typing import Any

from clew.errors import Conflict
from clew.model.copying import CopiedTable, CopyReport
from clew.model.progress import Progress, no_progress
from clew.store import index
from clew.store.copy_sides import Given, Page, Side, Table, dragged, plan, unfinished
from clew.store.session import Row
from clew.values import dataclass

_SUMS = 1 << 64
_NO_NUL = "\ufffd"  # what stands for a NUL where text cannot hold one
_NEGATIVE_ZERO = re.compile(r"(?<=[ (])-0\.0(?=[,)])")  # SQLite keeps no sign of a zero


@dataclass(slots=True)
class State:
    """How far a copy has come: whole tables with their checksums, and the one that is under way."""

    source: str
    done: dict[str, str] = field(default_factory=dict)
    table: str = ""
    after: list[Any] | None = None
    rows: int = 0
    sum: int = 0

    def text(self) -> str:
        return json.dumps(asdict(self))

    def begin(self, table: str) -> None:
        self.table, self.after, self.rows, self.sum = table, None, 0, 0

    def end(self, checksum: str) -> None:
        self.done[self.table] = checksum
        self.begin("")


class Sums:
    """Count and checksum of a table's rows by org, in whatever order they come."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.by_org: dict[str, tuple[int, int]] = {}

    def add(self, rows: Sequence[Row]) -> None:
        for row in rows:
            org = self.table.org_of(row)
            count, total = self.by_org.get(org, (0, 0))
            self.by_org[org] = count + 1, (total + digest(row)) % _SUMS

    @property
    def rows(self) -> int:
        return sum(count for count, _sum in self.by_org.values())

    @property
    def sum(self) -> int:
        return sum(total for _count, total in self.by_org.values()) % _SUMS

    @property
    def checksum(self) -> str:
        return _checksum(self.rows, self.sum)


def _checksum(rows: int, total: int) -> str:
    return f"{rows}:{total:016x}"


def digest(row: Row) -> int:
    """Of what all engines can keep: a time is a number, and no text has a NUL."""
    text = repr(row)
    if "\\x00" in text:
        text = text.replace("\\x00", _NO_NUL)
    if "-0.0" in text:
        text = _NEGATIVE_ZERO.sub("0.0", text)
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")


def copy_store(source: Side, target: Side, *, progress: Progress = no_progress) -> CopyReport:
    """Copy, or go on copying, and prove it."""
    _check_apart(source, target)
    with source.snapshot():
        if (state := source.state()) is not None:
            raise unfinished(source.location, state)
        return _Copying(source, target, progress).run()


def _check_apart(source: Side, target: Side) -> None:
    if source.identity() == target.identity():
        raise Conflict(
            f"{source.location} and {target.location} are the same store",
            code="COPY_ONTO_ITSELF",
            next="name another target",
        )


class _Copying:
    def __init__(self, source: Side, target: Side, progress: Progress) -> None:
        self.source, self.target = source, target
        self.tables = plan(source.tables(), target.tables())
        self.sums: dict[str, Sums] = {}
        self.again: list[str] = []
        self._kept = ""  # the state as the target has it
        self._total = source.count(self.tables)
        self._progress = progress

    def run(self) -> CopyReport:
        began = time.monotonic()
        state = self._found()
        resumed = state is not None
        if state is None:
            state = State(self.source.location)
            self._kept = state.text()
            self.target.begin(self.tables, self._kept)
        else:
            self._look_again(state)
        for table in self.tables:
            if table.name not in state.done:
                self._copy(table, state)
        self._verify(state)
        self.target.finish(self._given(), was=self._kept)
        told = [_told(self.sums[table.name]) for table in self.tables]
        seconds = time.monotonic() - began
        return CopyReport(self.source.location, self.target.location, told, seconds, resumed, self.again)

    def _found(self) -> State | None:
        """Of an earlier run."""
        text = self.target.state()
        if text is None:
            return None
        state = State(**json.loads(text))
        if state.source != self.source.location:
            raise Conflict(
                f"{self.target.location} is an unfinished copy of {state.source}",
                code="COPY_OF_ANOTHER",
                next="finish that copy, or name another target",
            )
        self._kept = text
        return state

    # -- what was copied before --------------------------------------------------------------------

    def _look_again(self, state: State) -> None:
        """Read what was copied once more; a table that is not what it was then is emptied and copied anew."""
        stale = [table.name for table in self.tables if not self._is_as_copied(table, state)]
        if stale:  # with the one under way: its place would be forgotten over those that come before it again
            self._empty([*stale, *filter(None, [state.table])], state)

    def _is_as_copied(self, table: Table, state: State) -> bool:
        """Also true of a table of which nothing was copied."""
        is_under_way = state.table == table.name and state.after is not None
        wanted = _checksum(state.rows, state.sum) if is_under_way else state.done.get(table.name)
        if wanted is None:
            return True
        sums = self.sums[table.name] = Sums(table)
        for rows in self._until(table, state.after if is_under_way else None):
            sums.add(rows)
            self._tell()
        return sums.checksum == wanted

    def _until(self, table: Table, last: list[Any] | None) -> Iterator[Sequence[Row]]:
        """All pages, or those up to a position."""
        for rows in self.source.pages(table):
            within = rows if last is None else [r for r in rows if self.source.position(table, r) <= last]
            yield within
            if len(within) < len(rows):
                return

    def _empty(self, stale: Sequence[str], state: State) -> None:
        names = dragged(stale)
        self.again = sorted(names & (state.done.keys() | {state.table}))
        for name in names:
            state.done.pop(name, None)
            self.sums.pop(name, None)
        if state.table in names:
            state.begin("")
        emptied = [table for table in reversed(self.tables) if table.name in names]
        self._move_on(state, partial(self.target.clear, emptied))

    # -- copying -----------------------------------------------------------------------------------

    def _copy(self, table: Table, state: State) -> None:
        if state.table != table.name:
            state.begin(table.name)
        sums = self.sums.setdefault(table.name, Sums(table))
        for rows in self.source.pages(table, state.after):
            sums.add(rows)
            state.after = self.source.position(table, rows[-1])
            state.rows, state.sum = sums.rows, sums.sum
            self._move_on(state, partial(self.target.put, _page(table, rows)))
            self._tell()
        state.end(sums.checksum)

    def _move_on(self, state: State, change: Callable[..., None]) -> None:
        now = state.text()
        change(was=self._kept, now=now)
        self._kept = now

    def _tell(self) -> None:
        self._progress(sum(sums.rows for sums in self.sums.values()), self._total)

    # -- proof -------------------------------------------------------------------------------------

    def _verify(self, state: State) -> None:
        differing: dict[str, str] = {}
        with self.target.snapshot():
            for table in self.tables:
                found = Sums(table)
                for rows in self.target.pages(table):
                    found.add(rows)
                if found.by_org != self.sums[table.name].by_org:
                    differing[table.name] = _difference(self.sums[table.name], found)
        if differing:
            self._empty(list(differing), state)
            raise Conflict(
                f"{self.target.location} is not what was copied: {'; '.join(differing.values())}",
                code="COPY_DIFFERS",
                next="see that nothing else writes to it, then run the same command again: it copies these anew",
                details={"tables": sorted(differing)},
            )

    def _given(self) -> Given:
        orgs = {org for sums in self.sums.values() for org in sums.by_org}
        return Given(self.source.sequences(), self.source.tokens(), orgs)


def _page(table: Table, rows: Sequence[Row]) -> Page:
    if any("\0" in value for row in rows for value in row if type(value) is str):
        rows = [tuple(v.replace("\0", _NO_NUL) if type(v) is str else v for v in row) for row in rows]
    if table.name != "memory_terms":
        return Page(table, rows)
    at = [table.columns.index(name) for name in ("memory_row", "org_id", "terms", "scope_term")]
    picked = (tuple(row[i] for i in at) for row in rows)
    return Page(table, rows, [(row, org, index.document(terms, scope)) for row, org, terms, scope in picked])


def _difference(wanted: Sums, found: Sums) -> str:
    orgs = sorted(wanted.by_org.keys() | found.by_org.keys())
    org = next(org for org in orgs if wanted.by_org.get(org) != found.by_org.get(org))
    expected, got = (sums.by_org.get(org, (0, 0))[0] for sums in (wanted, found))
    whose = f" of org '{org}'" if wanted.table.org_at is not None else ""
    rows = f"{got:,} rows instead of {expected:,}" if got != expected else f"{got:,} rows, not all the same"
    return f"{wanted.table.name}{whose} has {rows}"


def _told(sums: Sums) -> CopiedTable:
    orgs = len(sums.by_org) if sums.table.org_at is not None else 0
    return CopiedTable(sums.table.name, sums.rows, orgs, f"{sums.sum:016x}")

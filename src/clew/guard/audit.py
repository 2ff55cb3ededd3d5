"""Whether the audit log is as it was written: pure, over entries as they are stored.

In: the entries of one org, oldest first. Out: a report that names the first entry which is wrong or missing. Each
entry carries a hash over itself and the hash before it, so an edited, dropped or moved entry breaks the chain where
that happened. What was cut off at the end is seen by the org's counter, and what was written anew from some entry
on by a head that was kept elsewhere.
"""

from __future__ import annotations

import json
import logging
import re
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from clew.errors import ClewError, InvalidInput
from clew.model.access import Denial
from clew.model.audit import AuditEntry, AuditHead, ChainReport, Unchained, seal
from clew.model.scope import Reach
from clew.ports import Store, Tx

if TYPE_CHECKING:
    from clew.guard.doors import Door

RESTORE = "restore"  # numbers are never given twice, so a restore leaves a gap before its entry
AT_ONCE = 100  # denials that are worth a transaction of their own
SOON_S = 10.0  # later the first that waits is written as well, with all that came meanwhile
MAX_WAITING = 1_000
NOTE_WAIT_MS = 1_000
MAX_TOLD = 20_000
_GAP = "it is missing"
_HEAD = re.compile(r"([1-9][0-9]{0,17}):([0-9a-f]{64})")

_log = logging.getLogger(__name__)


def note_denials(tx: Tx, denials: Iterable[Denial], at: datetime) -> None:
    """For operators (FC-10). Never on the path of a recall: collect them and write many at once."""
    for denial in denials:
        tx.audit.note(
            denial.org,
            at=at,
            actor=denial.principal,
            action="denied",
            id=denial.id,
            kind=denial.kind,
            decision="deny",
            policy_ids=denial.decision.policies,
            detail={"wanted": denial.action, "reason": denial.decision.reason},
        )


def note_export(
    store: Store, reach: Reach, count: int, checksum: str, *, kind: str, door: Door, now: datetime
) -> None:
    """Before the first line is written: whoever goes away in the middle has had what came before. Whoever runs the
    store could copy its file without a word: of their export is told what can be told at once."""
    identity = door.identity
    places = {"projects": reach.projects, "users": reach.users}
    told = {name: "*" if among is None else list(among) for name, among in places.items()}

    def note(tx: Tx) -> None:
        tx.audit.note(
            identity.org, at=now, actor=identity.actor, action="export", kind=kind, id="*",
            content_hash=checksum.removeprefix("sha256:"), detail={"count": count, **told},
        )  # fmt: skip

    if door.pep is not None or not identity.runs_the_store:
        store.write(note)
        return
    try:
        store.write_unless_busy(note, wait_ms=NOTE_WAIT_MS)
    except ClewError as error:
        _log.warning("the audit log does not tell of this export: %s [%s]", error.message, error.code)


class Denials:
    """Collects denials and writes many at once, never on the path of whoever asked: in a thread of its own when
    there are many or the first has waited, else when the store is closed. A denial that was told already is not
    told again by this process, as long as it remembers it; what does not fit is counted in `dropped`."""

    def __init__(self, store: Store, now: Callable[[], datetime], *, soon_s: float = SOON_S) -> None:
        self._store, self._now, self._soon_s = store, now, soon_s
        self._lock, self._writing = threading.Lock(), threading.Lock()
        self._waiting: list[Denial] = []
        self._told: set[Denial] = set()
        self._timer: threading.Timer | None = None
        self.dropped = 0

    def add(self, denial: Denial) -> None:
        with self._lock:
            if denial in self._told:
                return
            if len(self._waiting) >= MAX_WAITING:
                self.dropped += 1
                return
            if len(self._told) >= MAX_TOLD:  # better told twice than never
                self._told.clear()
            self._told.add(denial)
            self._waiting.append(denial)
            waiting = len(self._waiting)
        if waiting in (1, AT_ONCE):
            self._later(self._soon_s if waiting == 1 else 0.0)

    def flush(self) -> int:
        """How many were written. Never raises: a decision stands without its entry, which is then counted."""
        with self._writing:
            with self._lock:
                waiting, self._waiting = self._waiting, []
            orgs = dict.fromkeys(denial.org for denial in waiting)
            return sum(self._write([denial for denial in waiting if denial.org == org]) for org in orgs)

    def close(self) -> None:
        """Write what waits, behind what is being written, before the store is closed."""
        if self._timer is not None:
            self._timer.cancel()
        self.flush()

    def _later(self, seconds: float) -> None:
        self._timer = threading.Timer(seconds, self.flush)
        self._timer.name, self._timer.daemon = "clew-denials", True
        with suppress(RuntimeError):  # there is no thread to be had: the end writes it
            self._timer.start()

    def _write(self, batch: Sequence[Denial]) -> int:
        """Those of one org."""
        try:
            self._store.write(partial(note_denials, denials=batch, at=self._now()), durable=False)
        except Exception as error:  # beside the answer, which was given long ago
            self.dropped += len(batch)
            _log.warning("%d denials are not in the audit log: %s", len(batch), getattr(error, "code", type(error)))
            return 0
        return len(batch)


def parse_head(text: str) -> AuditHead:
    found = _HEAD.fullmatch(text.strip())
    if not found:
        raise InvalidInput(
            f"'{text[:80]}' is no head of an audit log",
            code="AUDIT_HEAD_INVALID",
            next="give the number and the hash as clew audit head printed them: 17:9f86d0...",
        )
    return AuditHead(int(found[1]), found[2])


def verify_log(tx: Tx, org: str, *, head: AuditHead | None = None, at_most: int | None = None) -> ChainReport:
    """The log of one org. Of one with more entries than `at_most` only the end is looked at, and none counted."""
    count = tx.audit.count(org)
    if at_most is not None and count > at_most:
        last = tx.audit.head(org)
        is_whole = last is not None and last.seq == count
        return ChainReport(True, 0) if is_whole else ChainReport(False, 0, count, "the end is cut off")
    chained_from = tx.audit.chained_from(org)
    return verify_audit_chain(tx.audit.entries(org), count=count, chained_from=chained_from, head=head)


def verify_audit_chain(
    rows: Iterable[AuditEntry],
    *,
    count: int | None = None,
    chained_from: int | None = None,
    head: AuditHead | None = None,
) -> ChainReport:
    """Reads each entry once and keeps none. `count` is what the org's counter says, `chained_from` the first entry
    that must have a hash, `head` one that was written down elsewhere."""
    chain = _Chain(chained_from, head)
    for entry in rows:
        problem = chain.problem_of(entry)
        if problem:
            return ChainReport(False, chain.length, chain.seq + 1 if problem == _GAP else entry.seq, problem)
        chain.add(entry)
    if count is not None and count != chain.seq:
        problem = f"entry {count} is the last that was written, and the end is cut off"
        return ChainReport(False, chain.length, chain.seq + 1, problem)
    if head is not None and not chain.met_head:
        problem = "the entry that was written down elsewhere is not there"
        return ChainReport(False, chain.length, head.seq, problem)
    return ChainReport(True, chain.length)


class _Chain:
    """How far it was read, and what the next entry must carry."""

    def __init__(self, chained_from: int | None, head: AuditHead | None) -> None:
        self.length = 0
        self.seq = 0
        self.met_head = False
        self._last_hash = ""
        self._unchained = Unchained()
        self._chained_from = chained_from
        self._head = head

    def problem_of(self, entry: AuditEntry) -> str:
        if not isinstance(entry.seq, int) or entry.seq <= self.seq:
            return "it stands in the wrong place"
        if entry.seq != self.seq + 1 and not _restores(entry, self.seq):
            return _GAP
        if not entry.hash:
            must_be_chained = self._chained_from is not None and entry.seq >= self._chained_from
            return "its hash was taken away" if self._last_hash or must_be_chained else ""
        if entry.prev_hash != (self._last_hash or self._unchained.digest()):
            return "it does not follow the entry before it"
        if entry.hash != seal(entry):
            return "it was changed"
        if self._head and self._head.seq == entry.seq and self._head.hash != entry.hash:
            return "it is another one than was written down elsewhere"
        return ""

    def add(self, entry: AuditEntry) -> None:
        if not entry.hash:
            self._unchained.add(entry)
        self.length += 1
        self.seq, self._last_hash = entry.seq, entry.hash
        self.met_head |= self._head is not None and self._head == AuditHead(entry.seq, entry.hash)


def _restores(entry: AuditEntry, last: int) -> bool:
    """Whether it tells of a backup that was put in place and whose last entry was this one."""
    if entry.action != RESTORE:
        return False
    try:
        return bool(json.loads(entry.detail)["after"] == last)
    except (ValueError, KeyError, TypeError, RecursionError):
        return False

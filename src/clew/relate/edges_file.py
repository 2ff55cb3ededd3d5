"""Edges out of a store and into another: JSON Lines, and the plain lines of Engram's graph files.

Export: a header line (format, version, count, checksum), then one edge per line, all of one snapshot: the edges
that the caller's reach sees, with the memories within it that witness them. Sentences are not written: they are
part of the memories, and found in them again.

Import: a file in, a report out. An edge comes in when the memories at its ends are there and visible, and a memory
that is visible witnesses it, or a person made it between two ends they could link themselves. What an agent brings
in must not look like an attack, and only memories that it may change speak for it. Nothing in the store is
overwritten, and what comes in is seen through memories like all else, so a file opens nothing to anyone. Each batch
is durable before the next is read; run twice, the second run adds nothing.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from datetime import datetime
from functools import partial
from hashlib import sha256
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO, TextIO

from clew.errors import ClewError, InvalidInput, NotFound, Unavailable
from clew.guard.quarantine import refuse_suspicious
from clew.model.conflict import IMPORT, USER
from clew.model.graph import ORG_WIDE, REINFORCEMENT, Statement
from clew.model.memory import Memory
from clew.model.progress import Progress
from clew.model.relation import SIMILAR
from clew.model.scope import Reach
from clew.model.times import from_micros, to_micros, to_rfc3339
from clew.ports import Row, Store, Tx
from clew.relate.conflicts import note_link
from clew.relate.edge_line import EdgeLine, edge_of
from clew.remember.imported import named
from clew.remember.lifecycle import May, may_change, may_read
from clew.remember.line import numbered_lines, parse_object
from clew.remember.link import End, make_node, memory_end, new_thing, seen_things, state_by_user
from clew.remember.portable import ExportReport
from clew.remember.things import thing_named
from clew.values import dataclass

FORMAT = "clew-edges"
VERSION = 1
BATCH = 500
MAX_LINE = 1_000_000  # bytes


@dataclass(slots=True)
class EdgesImported:
    """`skipped` holds (line number, reason code); `known` were there already."""

    read: int = 0
    added: int = 0
    known: int = 0
    skipped: list[tuple[int, str]] = field(default_factory=list)
    truncated: bool = False  # the file holds fewer lines than its header announced
    checksum: str = "absent"  # ok | mismatch | absent
    dry_run: bool = False

    @property
    def is_whole(self) -> bool:
        return not (self.skipped or self.truncated or self.checksum == "mismatch")

    @property
    def next(self) -> str:
        """What to do about what did not come in; what did is known by then."""
        moves = []
        if any(reason == "MEMORY_NOT_FOUND" for _line, reason in self.skipped):
            moves.append("first import the memories that it speaks of: clew import FILE")
        if wrong := [str(line) for line, reason in self.skipped if reason != "MEMORY_NOT_FOUND"]:
            moves.append(f"correct line {named(wrong)} and import the file again")
        if self.truncated or self.checksum == "mismatch":
            moves.append("the file is not as it was written: make it anew with: clew graph export")
        return "; ".join(moves)

    def as_json(self) -> dict[str, Any]:
        names = ("read", "added", "known", "truncated", "checksum", "dry_run")
        answer: dict[str, Any] = {name: getattr(self, name) for name in names}
        answer["reasons"] = dict(Counter(reason for _line, reason in self.skipped))
        return answer | {"skipped": [{"line": line, "reason": reason} for line, reason in self.skipped]}


# -- export ----------------------------------------------------------------------------------------


def export_edges(
    tx: Tx, reach: Reach, file: TextIO, *, now: datetime, progress: Progress, note: Callable[[int, str], None]
) -> ExportReport:
    """Twice through the snapshot, since the header comes first; never more than a page in memory. What is going to
    be written is told to `note` before anything is."""
    count, digest = 0, sha256()
    for line in _lines(tx, reach, now):
        count += 1
        digest.update(line.encode())
    report = ExportReport(count, f"sha256:{digest.hexdigest()}")
    note(report.count, report.checksum)
    file.write(json.dumps({"format": FORMAT, "version": VERSION, **report.as_json()}) + "\n")
    for done, line in enumerate(_lines(tx, reach, now), 1):
        file.write(line)
        if done % BATCH == 0 or done == count:
            progress(done, count)
    return report


def _lines(tx: Tx, reach: Reach, now: datetime) -> Iterator[str]:
    for row in tx.edges.within(reach, now=now, page=BATCH):
        yield json.dumps(_document(row), ensure_ascii=False) + "\n"


def _document(row: Row) -> dict[str, Any]:
    """Absent is left out, as everywhere in JSON."""
    source_type, source_key, source_project, target_type, target_key, target_project, project, *rest = row
    type_, label, weight, sure, is_users, created_at, reinforced_at, witnesses = rest
    document = {
        "from": f"{source_type}:{source_key}", "from_project": source_project,
        "to": f"{target_type}:{target_key}", "to_project": target_project,
        "project": project, "type": type_, "label": label,
    }  # fmt: skip
    times = {"created_at": created_at, "last_reinforced_at": reinforced_at}
    return (
        {name: value for name, value in document.items() if value}
        | {
            "weight": weight,
            "confidence": sure,
            "user": bool(is_users),
            "witnesses": json.loads(witnesses),
        }
        | {name: to_rfc3339(from_micros(at)) for name, at in times.items() if at is not None}
    )


# -- import ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Giver:
    """Who brings the edges in: how far they see, what policies let them do with memories, and their trust."""

    reach: Reach
    may: May | None = None
    trust: str = "user"

    def memory(self, tx: Tx, id: str) -> Memory | None:
        found = tx.memories.get(self.reach, id)
        return found if found and may_read(self.may, found) else None

    def witnesses(self, memories: Sequence[Memory]) -> list[Memory]:
        """Those that may speak for an edge: an agent's word is not that of a memory it could not write itself."""
        return [memory for memory in memories if self.trust == "user" or may_change(self.may, memory)]

    def check(self, edge: EdgeLine) -> None:
        if self.trust != "user":
            refuse_suspicious((edge.source, edge.target, edge.label, edge.type), "the edge")


def import_edges(
    path: str | PathLike[str], store: Store, giver: Giver, *, now: datetime, dry_run: bool, progress: Progress
) -> EdgesImported:
    path = Path(path)
    try:
        with path.open("rb") as file:
            total = path.stat().st_size
            run = _Import(store, giver, now, EdgesImported(dry_run=dry_run))
            return run.lines(file, lambda: progress(min(file.tell(), total), total))
    except FileNotFoundError:
        raise NotFound(f"{path} was not found", code="FILE_NOT_FOUND", next="check the name of the file") from None
    except IsADirectoryError:
        raise InvalidInput(f"{path} is a directory", code="FILE_IS_DIRECTORY", next="name a file in it") from None
    except OSError as error:
        raise Unavailable(
            f"{path} cannot be read: {error.strerror}", code="FILE_UNREADABLE", next="check the file's permissions"
        ) from error


class _Undone(Exception):
    """Ends the transaction of a dry run; whatever it did is rolled back."""

    def __init__(self, verdicts: list[tuple[int, EdgeLine, str]]) -> None:
        self.verdicts = verdicts


class _Import:
    """One run: the report so far, and what a dry run pretends to have added."""

    def __init__(self, store: Store, giver: Giver, now: datetime, report: EdgesImported) -> None:
        self._store = store
        self._giver = giver
        self._now = now
        self._report = report
        self._pretended: set[tuple[str, ...]] = set()

    def lines(self, file: BinaryIO, tell: Callable[[], None]) -> EdgesImported:
        header, digest = None, sha256()
        numbered = ((number, raw) for number, _at, raw, _is_last in numbered_lines(file, MAX_LINE))
        while batch := list(islice(numbered, BATCH)):
            edges = []
            for number, raw in batch:
                if number == 1 and (header := _header(raw)) is not None:
                    continue
                digest.update(raw + b"\n")
                self._report.read += 1
                if edge := self._parsed(number, raw):
                    edges.append((number, edge))
            self._put(edges)
            tell()
        if header is not None:
            is_whole = header.get("checksum") == f"sha256:{digest.hexdigest()}"
            self._report.checksum = "ok" if is_whole else "mismatch"
            self._report.truncated = self._report.read < header["count"]
        return self._report

    def _parsed(self, number: int, raw: bytes) -> EdgeLine | None:
        try:
            if len(raw) > MAX_LINE:
                raise InvalidInput("the line is too long", code="LINE_TOO_LONG")
            edge = edge_of(parse_object(raw), now=self._now)
            self._giver.check(edge)
            return edge
        except ClewError as error:
            self._report.skipped.append((number, error.code))
            return None

    def _put(self, edges: list[tuple[int, EdgeLine]]) -> None:
        if not edges:
            return
        try:
            verdicts = self._store.write(partial(self._put_all, edges=edges))
        except _Undone as undone:
            verdicts = undone.verdicts
        for number, edge, verdict in verdicts:
            if verdict == "added" and edge.identity in self._pretended:
                verdict = "known"
            if verdict == "added" and self._report.dry_run:
                self._pretended.add(edge.identity)
            if verdict in ("added", "known"):
                setattr(self._report, verdict, getattr(self._report, verdict) + 1)
            else:
                self._report.skipped.append((number, verdict))

    def _put_all(self, tx: Tx, edges: list[tuple[int, EdgeLine]]) -> list[tuple[int, EdgeLine, str]]:
        verdicts = [(number, edge, self._put_one(tx, edge)) for number, edge in edges]
        if self._report.dry_run:
            raise _Undone(verdicts)
        return verdicts

    def _put_one(self, tx: Tx, edge: EdgeLine) -> str:
        """added | known | the code of why not"""
        try:
            return _put(tx, self._giver, edge, self._now)
        except ClewError as error:
            return error.code


def _put(tx: Tx, giver: Giver, edge: EdgeLine, now: datetime) -> str:
    reach = giver.reach
    memories = [_memory_at(tx, giver, name) for name in (edge.source, edge.target)]
    witnesses = _witnesses(tx, giver, edge, memories)
    named = ((edge.source, edge.source_project), (edge.target, edge.target_project))
    ends = [
        memory_end(tx, memory)
        if memory
        else _thing(tx, reach, name, _project(edge, place, witnesses), has_witness=bool(witnesses), now=now)
        for (name, place), memory in zip(named, memories, strict=True)
    ]
    if edge.is_users and not any(memories):
        _check_seen(tx, reach, ends, now)
    project = _project(edge, edge.project, witnesses)
    if reach.projects is not None and project not in reach.projects:
        raise NotFound("the edge is of a project out of reach", code="PROJECT_NOT_FOUND")
    if (ends[0].ref, ends[0].project) == (ends[1].ref, ends[1].project):
        raise InvalidInput("the edge leads to where it starts", code="LINK_TO_ITSELF")
    source, target = (make_node(tx, reach.org, end, now) for end in ends)  # from here on nothing is refused
    label = edge.label if witnesses else ""  # words are a memory's: what a person links has none
    # Likeness follows the texts: here too it goes when one of them changes.
    origin = SIMILAR if edge.type == "similar_to" and not edge.is_users else "import"
    said = Statement(project, source, target, edge.type, 0, origin, edge.confidence, edge.weight, label)
    statements = _statements(tx, said, witnesses)
    if _is_known(tx, reach, said, statements, is_users=edge.is_users, now=now):
        return "known"
    _state(tx, reach, said, edge, statements, is_private=not any(memories), now=now)
    if edge.type == "contradicts" and all(memories):
        disputed = [(tx.memories.row_of(memory), memory) for memory in memories if memory]
        sure, origin = (1.0, USER) if edge.is_users else (edge.confidence, IMPORT)
        note_link(tx, reach.org, disputed, now=now, origin=origin, confidence=sure)
    for node in (source, target):
        tx.changes.note(reach.org, project, "node", str(node), "put")
    return "added"


def _statements(tx: Tx, said: Statement, witnesses: Sequence[Memory]) -> list[Statement]:
    return [
        said._replace(
            memory_row=tx.memories.row_of(memory),
            expires_at=to_micros(memory.expires_at) if memory.expires_at else None,
        )
        for memory in witnesses
    ]


def _is_known(
    tx: Tx, reach: Reach, said: Statement, statements: Sequence[Statement], *, is_users: bool, now: datetime
) -> bool:
    """Whether the reach sees the edge already. One that only others see is brought in as if it were not there:
    else a file could ask what they keep for themselves."""
    seen = tx.edges.seen(reach, said.key, now=now)
    if seen is None or (is_users and not seen[1]):
        return False
    rows = [statement.memory_row for statement in statements]
    return seen[2] or (bool(rows) and tx.edges.is_stated_by(reach.org, seen[0], rows))


def _state(
    tx: Tx,
    reach: Reach,
    said: Statement,
    edge: EdgeLine,
    statements: Sequence[Statement],
    *,
    is_private: bool,
    now: datetime,
) -> None:
    org, is_new = reach.org, tx.edges.find(reach.org, said.key) is None
    if statements:
        tx.graph.state(org, statements, now)
    if edge.is_users:
        state_by_user(tx, reach, statements[0] if statements else said, is_private=is_private, now=now)
    if is_new and (found := tx.edges.find(org, said.key)):
        sure = 1.0 if edge.is_users else edge.confidence
        base = max(0.0, sure - REINFORCEMENT * max(0, len(statements) - 1))
        anchor, created = min(edge.reinforced_at, now), min(edge.created_at, now)
        tx.edges.restore(org, found[0], confidence=sure, base=base, anchor=anchor, created_at=created)


def _memory_at(tx: Tx, giver: Giver, name: str) -> Memory | None:
    """The memory at an end; None when the end is a thing."""
    id = name.removeprefix("memory:")
    memory = giver.memory(tx, id)
    if memory is None and (id != name or id.startswith("mem_")):
        raise NotFound(f"memory {id[:60]} was not found", code="MEMORY_NOT_FOUND")
    return memory


def _witnesses(tx: Tx, giver: Giver, edge: EdgeLine, ends: Sequence[Memory | None]) -> list[Memory]:
    """Those that are there and visible; where a file names none, the memory at an end speaks for its edge."""
    listed = giver.witnesses([memory for id in edge.witnesses if (memory := giver.memory(tx, id))])
    found = listed or giver.witnesses([memory for memory in ends if memory])[:1]
    if not found and not edge.is_users:
        code = "WITNESS_NOT_FOUND" if edge.witnesses else "NO_WITNESS"
        raise NotFound("no memory here states the edge", code=code)
    return found


def _project(edge: EdgeLine, stated: str, witnesses: Sequence[Memory]) -> str:
    """A plain line knows no projects: its things are of the project of the memory that speaks for it."""
    return (witnesses[0].project or "") if edge.is_plain and witnesses else stated


def _thing(tx: Tx, reach: Reach, name: str, project: str, *, has_witness: bool, now: datetime) -> End:
    ref = thing_named(name)
    if ref is None:
        raise NotFound("the name means nothing", code="NODE_NOT_FOUND")
    if reach.projects is not None and project not in reach.projects:
        raise NotFound("the thing is of a project out of reach", code="PROJECT_NOT_FOUND")
    home = "" if ref.type in ORG_WIDE else project
    seen = seen_things(tx, reach, ref, [home], now=now)
    if not seen and not has_witness:
        raise NotFound("the thing is not known here", code="NODE_NOT_FOUND")
    return seen[0] if seen else new_thing(name, ref, home)


def _check_seen(tx: Tx, reach: Reach, ends: Sequence[End], now: datetime) -> None:
    """What a person may link between two things, they may bring in: both must be visible."""
    rows = {end.row for end in ends}
    if 0 in rows or tx.edges.seen_nodes(reach, rows, now=now) != rows:
        raise NotFound("an end is not known here", code="NODE_NOT_FOUND")


# -- reading ---------------------------------------------------------------------------------------


def _header(raw: bytes) -> dict[str, Any] | None:
    """The header of an export; None when the file begins with an edge or with garbage."""
    try:
        fields = parse_object(raw)
    except InvalidInput:
        return None
    if "format" not in fields or "from" in fields:
        return None
    version, count = fields.get("version"), fields.get("count", 0)
    if fields["format"] != FORMAT or type(version) is not int or type(count) is not int:
        raise InvalidInput(
            "the file holds no edges of Clew", code="IMPORT_FORMAT_UNKNOWN", next=f"its format must be {FORMAT}"
        )
    if version > VERSION:
        raise InvalidInput(
            f"the file has version {version} of its format, this Clew reads up to {VERSION}",
            code="IMPORT_NEWER",
            next="upgrade Clew: pip install -U clew",
        )
    return fields | {"count": count}

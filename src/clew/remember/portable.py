"""Memories out of a store and into another: JSON Lines, notes written for coding agents, and their transcripts.

Export: a header line (format, version, count, checksum), then one live memory per line, superseded and expired
ones included, all of one snapshot. Earlier versions of a memory are not exported; a backup keeps those.

Import: a file in, a report out. The times, the version and the state of what comes from an export are kept; if the
owner imports it the ids, too, and with a checksum that holds its trust. What others import weighs no more than what
is new, unless they configure the org, and gets ids of its own, unless it is there already and they may read it: an
id that is taken by what they may not read must look like one that is free. Nothing that is in the store is
overwritten: the same id with the same text is `known`, with another text a `conflict`. Told to put all into one
place, an import also puts there what is elsewhere already, under an id made of the old one and the place, so that
it is known the next time. Each batch is durable before the next is read. Run twice, the second run adds nothing;
interrupted, running it again goes on, since what arrived is known by then.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TextIO

from clew.errors import ClewError, Conflict, InvalidInput, NotFound, Unavailable
from clew.lazy import LazyModule
from clew.model.host import Around
from clew.model.ids import new_id
from clew.model.memory import Draft, Memory, Remembered
from clew.model.progress import Progress
from clew.model.scope import Identity, Reach, Scope
from clew.ports import Store, Tx
from clew.remember import key_names
from clew.remember.gone import Brought, brought, only_notes, outside, source_of
from clew.remember.imported import ImportReport
from clew.remember.lifecycle import is_expired, key_holder
from clew.remember.line import BOM, draft_of, id_in_place, numbered_lines, parse_object, place_of
from clew.remember.notes import parse_notes
from clew.remember.prepare import NEW_WEIGHT, WritePolicy, draft_memory
from clew.remember.redact import redact
from clew.values import dataclass

if TYPE_CHECKING:
    from clew.guard import quarantine
    from clew.hosts import transcript as transcripts
else:
    quarantine, transcripts = LazyModule("clew.guard.quarantine"), LazyModule("clew.hosts.transcript")

FORMAT = "clew-memories"
VERSION = 1
BATCH = 500
LOOK_AHEAD = 4_000  # lines read before writing: those of one scope go into one transaction
MAX_CHARS_AHEAD = 8_000_000  # and held in memory meanwhile, however long they are
LINE_ROOM = 1_000_000  # bytes of a line for everything but the content
MAX_NOTES_BYTES = 4_000_000
MAX_RECORD_BYTES = 16 << 20  # of a transcript, pictures among them
SNIFFED = 1 << 16  # bytes at the beginning of a file that tell what it is
NEVER_NOTES = (".json", ".jsonl", ".ndjson")  # a broken export is no text to remember
UTF16 = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True, slots=True)
class ExportReport:
    count: int
    checksum: str

    def as_json(self) -> dict[str, Any]:
        return {"count": self.count, "checksum": self.checksum}


class Write(Protocol):
    """The public write path: what it yields is durable."""

    def __call__(self, drafts: list[Draft], *, scope: Scope, identity: Identity) -> Iterator[Remembered]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Where an import goes, and as whom."""

    store: Store
    write: Write
    policy: WritePolicy
    may_weigh: bool = False  # more than what is new
    may_sign: Callable[[str | None], bool] = lambda _author: True
    now: datetime
    identity: Identity
    scope: Scope | None = None  # its project and user, where given, replace those of the file
    notes_project: str | None = None  # the project of notes, which name none themselves
    around: Around | None = None  # of transcripts: only sessions that began at this root, and nothing it ignores
    dry_run: bool = False
    replace: bool = False  # forget what an earlier import of the same notes brought and they say no more
    may_read: Callable[[Memory], bool] = lambda _memory: True
    forget: Callable[..., object] = lambda _id, expected_version: None

    def scope_of(self, place: dict[str, str | None]) -> Scope:
        wanted = self.scope or Scope(org=self.identity.org)
        scope = Scope(
            self.identity.org,
            wanted.project or place["project"],
            wanted.user or place["user"],
            place["agent"],
            place["session"],
            place["namespace"],
        )
        self.identity.check(scope)
        return scope


# -- export ----------------------------------------------------------------------------------------


def check_open(file: TextIO) -> None:
    if not hasattr(file, "write"):
        raise InvalidInput(
            f"an export is written to an open file, not to {type(file).__name__}",
            code="EXPORT_FILE_INVALID",
            next='pass open(path, "w", encoding="utf-8")',
        )


def export_memories(
    tx: Tx,
    reach: Reach,
    file: TextIO,
    *,
    progress: Progress,
    note: Callable[[int, str], None],
    may: Callable[[Memory], bool] = lambda memory: True,
) -> ExportReport:
    """Twice through the snapshot, since the header comes first; never more than a page in memory. What is going to
    be written is told to `note` before anything is."""
    count, digest = 0, sha256()
    for line in _lines(tx, reach, may):
        count += 1
        digest.update(line.encode())
    report = ExportReport(count, _signature(digest.hexdigest()))
    note(report.count, report.checksum)
    file.write(json.dumps({"format": FORMAT, "version": VERSION, **report.as_json()}) + "\n")
    for done, line in enumerate(_lines(tx, reach, may), 1):
        file.write(line)
        if done % BATCH == 0 or done == count:
            progress(done, count)
    return report


def _lines(tx: Tx, reach: Reach, may: Callable[[Memory], bool]) -> Iterator[str]:
    for memory in filter(may, tx.memories.all(reach)):
        yield json.dumps(memory.as_json(), ensure_ascii=False) + "\n"


# -- import ----------------------------------------------------------------------------------------


def import_file(path: str | os.PathLike[str], target: Target, *, progress: Progress) -> ImportReport:
    """Bring in an export, a notes file or a transcript; which of them is told by how it begins."""
    path = Path(path)
    if path.is_dir():
        return _import_transcripts(path, target, progress=progress)
    try:
        with path.open("rb") as file:
            total = path.stat().st_size
            start = file.peek(4096)[:4096].removeprefix(BOM).lstrip()
            if file.peek(2).startswith(UTF16):
                raise _not_utf8(path, "UTF-16")
            if b"\x00" in start:
                raise _not_text(path)
            if start.startswith(b"{") and path.is_file() and (host := transcripts.host_of(_start_of(path))):
                return _Import(target).transcript(file, host, lambda done: progress(done, total))
            is_json = path.suffix.lower() in NEVER_NOTES
            if is_json and start and not start.startswith(b"{"):
                raise _not_an_export(f"{path} is not JSON Lines with one object per line")
            if is_json or start.startswith(b"{"):
                return _Import(target).lines(file, lambda done: progress(done, total))
            return _Import(target).notes(_notes_text(file, path), path)
    except FileNotFoundError:
        raise NotFound(f"{path} was not found", code="FILE_NOT_FOUND", next="check the name of the file") from None
    except OSError as error:
        raise Unavailable(
            f"{path} cannot be read: {error.strerror}", code="FILE_UNREADABLE", next="check the file's permissions"
        ) from error


def _import_transcripts(directory: Path, target: Target, *, progress: Progress) -> ImportReport:
    """Every transcript below a directory, links left alone; what else lies there is not looked at."""
    found = [path for path in _files_below(directory) if transcripts.host_of(_start_of(path))]
    if not found:
        raise InvalidInput(
            f"{directory} is a directory without transcripts",
            code="IMPORT_NOT_A_FILE",
            next=f"name a file in it, such as: clew import {directory / 'CLAUDE.md'}",
        )
    together = _Import(target)
    for done, path in enumerate(found, 1):
        with path.open("rb") as file:
            together.transcript(file, str(transcripts.host_of(_start_of(path))), lambda _done: None)
        progress(done, len(found))
    return together.report


def _files_below(directory: Path) -> Iterator[Path]:
    for folder, folders, names in os.walk(directory):
        folders.sort()
        paths = (Path(folder) / name for name in sorted(names) if name.endswith(".jsonl"))
        yield from (path for path in paths if path.is_file() and not path.is_symlink())


def _start_of(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(SNIFFED).removeprefix(BOM)
    except OSError:
        return b""


@dataclass(frozen=True, slots=True)
class _Entry:
    line: int
    draft: Draft
    scope: Scope
    memory: Memory  # as it would be stored

    @property
    def named(self) -> tuple[int, str]:
        return self.line, self.memory.id

    def with_ids(self, new: Mapping[str, str]) -> _Entry:
        """Its own id and those it names, each replaced by the new one if there is one."""
        draft, past = self.draft, self.draft.past
        if past is not None and (successor := new.get(past.superseded_by or "")):
            past = replace(past, superseded_by=successor)
        id, parents = new.get(draft.id or ""), tuple(new.get(parent, parent) for parent in draft.parents)
        draft = replace(draft, id=id or draft.id, parents=parents, past=past)
        return replace(self, draft=draft, memory=replace(self.memory, id=id) if id else self.memory)


@dataclass(frozen=True, slots=True)
class _Stored:
    project: str | None
    user: str | None
    content_hash: str


class _Import:
    """One run: the batch that waits, and the report so far."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._report = ImportReport(dry_run=target.dry_run)
        self._batch: list[_Entry] = []
        self._batch_ids: set[str] = set()
        self._said: set[str] = set()  # by notes, as hashes
        self._edited: Mapping[str, str] = {}  # since these notes brought it: an earlier text's hash to the id
        self._batch_chars = 0
        self._stored_ids: dict[str, _Stored] = {}  # what a dry run pretends to have stored
        self._stored_texts: set[tuple[str | None, ...]] = set()
        self._is_told_where = target.scope is not None and bool(target.scope.project or target.scope.user)
        self._moved_ids: dict[str, str] = {}  # old to new
        self._own_ids: dict[str, str] = {}  # the same for those of an importer who keeps none
        self._owns = "owner" in target.identity.roles
        self._policy = replace(target.policy, may_weigh=target.may_weigh)
        self._max_bytes = line_limit(target.policy)

    # -- the two kinds of file ---------------------------------------------------------------------

    def lines(self, file: io.BufferedReader, progress: Callable[[int], None]) -> ImportReport:
        if self._target.replace:
            raise only_notes()
        header: dict[str, Any] | None = None
        keeps_trust = False
        digest = sha256()
        position = 0
        for number, position, raw, is_last in numbered_lines(file, self._max_bytes):
            fields = self._parsed(number, raw, is_last)
            if fields and self._report.read == 0 and header is None and _is_header(fields):
                header = _checked_header(fields)
                keeps_trust = self._owns and _is_intact(file, header, self._max_bytes)
                continue
            digest.update(raw + b"\n")
            self._report.read += 1
            if fields is not None:
                self._take(number, fields, keeps_trust=keeps_trust)
            if len(self._batch) >= LOOK_AHEAD or self._batch_chars >= MAX_CHARS_AHEAD:
                self._flush()
                progress(position)
        self._flush()
        progress(position)
        if header is not None:
            self._report.checksum = "ok" if header.get("checksum") == _signature(digest.hexdigest()) else "mismatch"
            self._report.truncated |= self._report.read < header["count"]
        return self._report

    def notes(self, text: str, path: Path) -> ImportReport:
        source = source_of(path, self._target.around)
        if self._target.replace and source is None:
            raise outside(path)
        # As a whole and first: cut into memories, half of a private passage or of a key would not be known as one.
        redacted = redact(text, keep_lines=True)
        self._report.private = redacted.private_spans
        place = place_of({"project": self._target.notes_project})
        scope = self._target.scope_of(place)  # a place that cannot be is one error, not one for each note
        notes = parse_notes(redacted.text, source or path.name)
        with self._target.store.read() as tx:
            before = brought(tx, scope, source or path.name)
            self._edited = self._readable(tx, before.edited)
        for draft in notes.drafts:
            self._report.read += 1
            self._add(int(draft.metadata["line"]), draft, place)
        self._flush()
        self._report.left_out += notes.left_out
        if source is not None:
            self._let_go(scope, before)
        return self._report

    def _readable(self, tx: Tx, edited: Mapping[str, str]) -> Mapping[str, str]:
        found = tx.memories.get_many(Reach.everything(self._target.identity.org), list(edited.values()))
        return {old: id for old, id in edited.items() if id in found and self._target.may_read(found[id])}

    def _let_go(self, scope: Scope, before: Brought) -> None:
        target, report = self._target, self._report
        with target.store.read() as tx:
            gone = tx.memories.get_many(Reach.of(scope), before.no_longer_said(self._said))
        report.gone = sorted(id for id, memory in gone.items() if target.may_read(memory))
        report.is_all_gone = bool(report.gone) and before.is_nothing_said(self._said)
        report.replaced = target.replace and not target.dry_run and bool(report.gone)
        if report.replaced:
            report.gone = [id for id in report.gone if self._is_forgotten(gone[id])]

    def _is_forgotten(self, memory: Memory) -> bool:
        """What somebody has changed meanwhile is theirs, and stays."""
        try:
            self._target.forget(memory.id, expected_version=memory.version)
        except Conflict:
            return False
        return True

    def transcript(self, file: io.BufferedReader, host: str, progress: Callable[[int], None]) -> ImportReport:
        """What is worth keeping of past sessions, by the rules that hooks go by."""
        if self._target.replace:
            raise only_notes()
        target = self._target
        around = target.around or Around()
        if target.scope and target.scope.project:  # told where they belong, wherever they began
            around = replace(around, root=None)
        told = transcripts.Transcript(host, target.now, around)
        for number, position, raw, is_last in numbered_lines(file, MAX_RECORD_BYTES):
            told.add(number, raw, is_last=is_last)
            progress(position)
        place = place_of({"project": target.notes_project})
        for number, draft in enumerate(told.drafts(), 1):
            self._add(number, draft, place)
        self._flush()
        report = self._report
        report.read += told.lines
        report.sessions += told.sessions
        report.elsewhere += len(told.elsewhere)
        report.skipped += [(number, "LINE_NOT_JSON") for number in told.broken]
        return report

    @property
    def report(self) -> ImportReport:
        return self._report

    # -- one line ----------------------------------------------------------------------------------

    def _parsed(self, number: int, raw: bytes, is_last: bool) -> dict[str, Any] | None:
        try:
            if len(raw) > self._max_bytes:
                raise InvalidInput("the line is too long", code="LINE_TOO_LONG")
            return parse_object(raw)
        except InvalidInput as error:
            if is_last:  # no line end follows: the writer was interrupted, or the copy was
                self._report.truncated, self._report.cut_at = True, number
            else:
                self._skip(number, error)
            return None

    def _take(self, number: int, fields: dict[str, Any], *, keeps_trust: bool) -> None:
        try:
            draft = draft_of(fields, keeps_trust=keeps_trust, now=self._target.now)
            place = place_of(fields)
        except InvalidInput as error:
            self._skip(number, error)
        else:
            self._add(number, draft, place)

    def _add(self, number: int, draft: Draft, place: dict[str, str | None]) -> None:
        target = self._target
        if draft.weight > NEW_WEIGHT and not target.may_weigh:
            draft = replace(draft, weight=NEW_WEIGHT)
            self._report.lighter += 1
        if not target.may_sign(draft.author):
            draft = replace(draft, author=None)
            self._report.authors_left_out += 1
        try:
            scope = target.scope_of(place)
            key_names.check_place(scope)
            memory, _masked = draft_memory(draft, scope, now=target.now, policy=self._policy)
        except ClewError as error:
            self._skip(number, error)
            return
        self._said.add(memory.content_hash)
        if id := self._edited.get(memory.content_hash):
            self._report.edited.append(id)
            return
        if memory.id in self._batch_ids:
            self._flush()  # twice in one file: the second is judged by what the first became
        self._batch.append(_Entry(number, draft, scope, memory))
        self._batch_ids.add(memory.id)
        self._batch_chars += len(draft.content)

    def _skip(self, number: int, error: ClewError) -> None:
        self._report.skipped.append((number, error.code))
        self._report.said[number] = error.message

    # -- one batch ---------------------------------------------------------------------------------

    def _flush(self) -> None:
        if not self._batch:
            return
        with self._target.store.read() as tx:
            if self._is_told_where:
                self._batch = self._moved(tx, self._batch)
            if not self._owns:
                self._batch = self._renamed(tx, self._batch)
            verdicts = [(_verdict(tx, entry, self._target.now), entry) for entry in self._batch]
            if self._target.dry_run:
                self._pretend(tx, verdicts)
        self._report.known += sum(verdict == "known" for verdict, _entry in verdicts)
        self._report.taken += [entry.named for verdict, entry in verdicts if verdict == "conflict"]
        if not self._target.dry_run:
            self._write([entry for verdict, entry in verdicts if verdict == "new"], revived=False)
            self._write([entry for verdict, entry in verdicts if verdict == "forgotten"], revived=True)
        self._batch, self._batch_ids, self._batch_chars = [], set(), 0

    def _moved(self, tx: Tx, batch: list[_Entry]) -> list[_Entry]:
        """With ids for this place where their own are taken in another one. What names them follows, unless it is
        more than a batch before them."""
        for entry in batch:
            if entry.draft.id is not None and _is_elsewhere(tx, entry):
                self._moved_ids[entry.draft.id] = id_in_place(entry.draft, entry.scope)
        return [entry.with_ids(self._moved_ids) for entry in batch] if self._moved_ids else batch

    def _renamed(self, tx: Tx, batch: list[_Entry]) -> list[_Entry]:
        """With ids of the importer's own, the same on every run, unless there is a memory with this one that the
        importer may read. What names them follows, as above."""
        for entry in batch:
            if entry.draft.id is not None and not self._may_read(tx, entry.draft.id):
                own = id_in_place(entry.draft, entry.scope, self._target.identity.name)
                is_hidden = _is_there(tx, entry.scope.org, own) and not self._may_read(tx, own)
                self._own_ids[entry.draft.id] = new_id("mem") if is_hidden else own
        return [entry.with_ids(self._own_ids) for entry in batch]

    def _may_read(self, tx: Tx, id: str) -> bool:
        reach = Reach.across_projects(Scope(org=self._target.identity.org, user=self._target.identity.user))
        there = tx.memories.get(reach, id, deleted=True)
        return there is not None and self._target.may_read(there)

    def _write(self, entries: list[_Entry], *, revived: bool) -> None:
        for generation in _generations(entries):
            places: dict[Scope, list[_Entry]] = {}
            for entry in generation:
                places.setdefault(entry.scope, []).append(entry)
            for scope, group in places.items():
                for start in range(0, len(group), BATCH):
                    self._write_together(group[start : start + BATCH], scope, revived=revived)

    def _write_together(self, entries: list[_Entry], scope: Scope, *, revived: bool) -> None:
        try:
            self._write_group(entries, scope, revived=revived)
        except (Conflict, InvalidInput, NotFound):  # someone else wrote meanwhile: find out which one it is
            for entry in entries:
                self._write_alone(entry, revived=revived)

    def _write_group(self, entries: list[_Entry], scope: Scope, *, revived: bool) -> None:
        drafts = [entry.draft for entry in entries]
        done = list(self._target.write(drafts, scope=scope, identity=self._target.identity))
        held = sum(bool(answer.quarantined) for answer in done)
        there = sum((answer.deduplicated or bool(answer.refused)) and not answer.quarantined for answer in done)
        known = 0 if revived else there
        self._report.quarantined += held
        self._report.known += known
        self._report.added += len(done) - known - held

    def _write_alone(self, entry: _Entry, *, revived: bool) -> None:
        try:
            self._write_group([entry], entry.scope, revived=revived)
        except Conflict:
            self._report.taken.append(entry.named)
        except (InvalidInput, NotFound) as error:
            self._skip(entry.line, error)

    def _pretend(self, tx: Tx, verdicts: list[tuple[str, _Entry]]) -> None:
        for verdict, entry in verdicts:
            if verdict in ("known", "conflict"):
                continue
            memory, now = entry.memory, self._target.now
            text = (memory.project, memory.user, memory.type, memory.content_hash)
            before = self._stored_ids.get(memory.id)
            if before and not _agrees(before, entry):
                self._report.taken.append(entry.named)
            elif before or (verdict == "new" and self._would_be_said(tx, memory, text)):
                self._report.known += 1
            elif quarantine.suspicions(memory):
                self._report.quarantined += 1
            else:
                self._report.added += 1
                self._stored_ids[memory.id] = _Stored(memory.project, memory.user, memory.content_hash)
                if not memory.is_history and not is_expired(memory, now):
                    self._stored_texts.add(text)

    def _would_be_said(self, tx: Tx, memory: Memory, text: tuple[str | None, ...]) -> bool:
        if memory.is_history:
            return False
        return text in self._stored_texts or _is_said(tx, memory, self._target.now)


def _verdict(tx: Tx, entry: _Entry, now: datetime) -> str:
    """new | known | forgotten (and to be brought back) | conflict"""
    memory = entry.memory
    there = tx.memories.get(Reach.everything(memory.org), memory.id, deleted=True)
    if there is None:
        return "conflict" if _key_is_taken(tx, memory, now) else "new"
    if not _agrees(there, entry):
        return "conflict"
    if there.deleted_at is None or there.layer == "working" or tx.memories.live_duplicate(there):
        return "known"  # a working memory that is gone has had its time
    return "conflict" if _key_is_taken(tx, there, now) else "forgotten"


def _is_elsewhere(tx: Tx, entry: _Entry) -> bool:
    """Another project or user has a memory with this id."""
    memory = entry.memory
    there = tx.memories.get(Reach.everything(memory.org), memory.id, deleted=True)
    return there is not None and (there.project, there.user) != (memory.project, memory.user)


def _is_there(tx: Tx, org: str, id: str) -> bool:
    return tx.memories.get(Reach.everything(org), id, deleted=True) is not None


def _agrees(there: Memory | _Stored, entry: _Entry) -> bool:
    """The memory with this id is visible from here and says the same."""
    is_visible = Reach.of(entry.scope).sees(there.project, there.user)
    return is_visible and there.content_hash == entry.memory.content_hash


def _is_said(tx: Tx, memory: Memory, now: datetime) -> bool:
    """A live memory has this text already, as the write path sees it."""
    id = tx.memories.live_duplicate(memory)
    known = tx.memories.get(Reach.of(memory.scope), id) if id else None
    return known is not None and not is_expired(known, now)


def _key_is_taken(tx: Tx, memory: Memory, now: datetime) -> bool:
    """Another memory holds this upsert key; it would be superseded, and an import replaces nothing."""
    if not memory.is_history and tx.memories.live_duplicate(memory):
        return False
    return key_holder(tx, memory, now) is not None


def _generations(entries: list[_Entry]) -> Iterator[list[_Entry]]:
    """Parents before what was made of them: the graph hangs it on those that are there."""
    left = {entry.memory.id: entry for entry in entries}
    while left:
        free = [entry for entry in left.values() if left.keys().isdisjoint(entry.draft.parents)]
        generation = free or list(left.values())  # in a circle nobody is first
        yield generation
        for entry in generation:
            del left[entry.memory.id]


# -- reading ---------------------------------------------------------------------------------------


def line_limit(policy: WritePolicy) -> int:
    """Bytes of a line that holds the longest content: JSON may spell a character as two escapes of six bytes."""
    return 12 * policy.max_chars + LINE_ROOM


def _is_intact(file: io.BufferedReader, header: dict[str, Any], max_bytes: int) -> bool:
    """Whether the header's checksum is that of the lines after it; a pipe, which cannot be read twice, is not."""
    if not file.seekable():
        return False
    after_header = file.tell()
    file.seek(0)
    digest = sha256()
    for _number, _position, raw, _is_last in islice(numbered_lines(file, max_bytes), 1, None):
        digest.update(raw + b"\n")
    file.seek(after_header)
    return bool(header.get("checksum") == _signature(digest.hexdigest()))


def _signature(hexdigest: str) -> str:
    return f"sha256:{hexdigest}"


def _is_header(fields: dict[str, Any]) -> bool:
    return "format" in fields and "content" not in fields


def _checked_header(header: dict[str, Any]) -> dict[str, Any]:
    version, count = header.get("version"), header.get("count", 0)
    if header["format"] != FORMAT or type(version) is not int or type(count) is not int:
        raise _not_an_export("the file is not an export of Clew")
    if version > VERSION:
        raise InvalidInput(
            f"the file has export version {version}, this Clew reads up to {VERSION}",
            code="IMPORT_NEWER",
            next="upgrade Clew: pip install -U clew",
        )
    return header | {"count": count}


def _notes_text(file: io.BufferedReader, path: Path) -> str:
    raw = file.read(MAX_NOTES_BYTES + 1)
    if len(raw) > MAX_NOTES_BYTES:
        raise InvalidInput(
            f"{path} is larger than {MAX_NOTES_BYTES:,} bytes, too large for notes",
            code="IMPORT_TOO_LARGE",
            next="split it, or import an export made with: clew export",
        )
    if b"\x00" in raw:
        raise _not_text(path)
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _not_utf8(path, "LATIN1", at=raw.count(b"\n", 0, error.start) + 1) from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _not_utf8(path: Path, likely: str, *, at: int = 1) -> InvalidInput:
    """Guessing would be worse: what is stored is shown to agents for years."""
    return InvalidInput(
        f"{path} is not valid UTF-8 (line {at})",
        code="INVALID_UTF8",
        next=f"convert it first, for instance: iconv -f {likely} -t UTF-8",
    )


def _not_an_export(message: str) -> InvalidInput:
    return InvalidInput(
        message,
        code="IMPORT_FORMAT_UNKNOWN",
        next=f"import what clew export wrote (it begins with the format {FORMAT}), or notes such as CLAUDE.md",
    )


def _not_text(path: Path) -> InvalidInput:
    return InvalidInput(
        f"{path} is not a text file",
        code="IMPORT_NOT_TEXT",
        next="import an export or notes; a backup comes back with: clew restore",
    )

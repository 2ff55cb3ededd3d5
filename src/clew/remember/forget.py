"""Forget: soft by default, hard on request.

In: ids or a filter. Out: a receipt. A soft forget takes memories out of every index and answer at once and
keeps rows and history; a hard one leaves no trace of the text in rows, history, indices, vectors, log or
free pages, nor in the copies that restores put aside. That something is left to erase is noted in the transaction
that deletes; while a reader still holds the log, the receipt says `pending`, and the next hard forget, open or
`clew doctor` finishes it. Forgetting twice is `not found` the second time.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any

from clew.errors import ClewError, InvalidInput
from clew.model.facts import PURGE_PENDING
from clew.model.host import ASKED
from clew.model.memory import Filter, Memory
from clew.model.scope import Reach
from clew.ports import Store, Tx
from clew.relate.decay import forget_labels
from clew.remember.graph import unmap
from clew.remember.lifecycle import changed_meanwhile, soft_delete
from clew.values import dataclass

BATCH = 500
PREVIEWS = 1000  # how many a dry run lists
SHORTEST_SAID = 12  # characters by which a text is known again within others
ERASED = ("rows", "history", "full text", "vectors", "graph", "queue", "session texts", "free pages")
Place = tuple[str, str | None, str | None]  # org, project, user
UNREADABLE = "{} could not be read and rewritten, and may hold it: delete it yourself; "
OUT_OF_REACH = (
    "exports and backups made earlier, and what hooks told into CLEW_HOME/spool and no daemon has taken in, are "
    "out of reach; delete them yourself; tags and paths that a merge gave to another memory stay with that one"
)


@dataclass(frozen=True, slots=True)
class Receipt:
    """What was forgotten, and whether any of it can still be on the disk."""

    ids: tuple[str, ...]
    hard: bool
    log: str = "kept"  # kept (soft) | erased | pending
    copies: tuple[str, ...] = ()  # that restores put aside, and in which it was erased as well
    unread_copies: tuple[str, ...] = ()  # that may hold it still
    changed: tuple[str, ...] = ()  # meanwhile, so that they stay: they may no longer be what was meant

    def as_json(self) -> dict[str, Any]:
        answer: dict[str, Any] = {"forgotten": len(self.ids), "ids": list(self.ids), "hard": self.hard}
        if self.changed:
            answer["changed"] = list(self.changed)
        if self.hard:
            answer |= {
                "erased": list(ERASED),
                "log": self.log,
                "not_erased": "".join(map(UNREADABLE.format, self.unread_copies)) + OUT_OF_REACH,
            }
        if self.copies:
            answer["copies"] = list(self.copies)
        return answer


@dataclass(frozen=True, slots=True)
class Preview:
    """What a dry run would forget."""

    count: int
    overflow: bool
    memories: tuple[Memory, ...]

    def as_json(self) -> dict[str, Any]:
        return {
            "dry_run": True,
            "would_forget": self.count,
            "overflow": self.overflow,
            "memories": [
                {"id": memory.id, "type": memory.type, "preview": memory.content[:80]} for memory in self.memories
            ],
        }


def forget(
    store: Store,
    memories: Sequence[Memory],
    *,
    hard: bool,
    now: datetime,
    actor: str,
    purge: bool = True,
    expected_version: int | None = None,
    keep_changed: bool = False,
) -> Receipt:
    """Whoever forgets in portions leaves `purge` for the end: it writes the whole file anew. With
    `expected_version`, what was changed since then is refused; `keep_changed`: what was changed since it was read
    is left out, and told."""
    erase = _erase if hard else _hide
    ids: list[str] = []
    changed: list[str] = []
    # Before the store itself: whatever is interrupted in between is forgotten there when it is asked for again.
    meant = _as_they_were(store, memories) if hard and keep_changed and store.aside() else memories
    copies, unread = _erase_aside(store, meant, now=now, actor=actor) if hard and meant else ((), ())
    for start in range(0, len(memories), BATCH):
        batch = memories[start : start + BATCH]
        run = partial(_forget_batch, batch=batch, erase=erase, now=now, actor=actor)
        done = store.write(partial(run, expected_version=expected_version, keep_changed=keep_changed))
        ids, changed = ids + done[0], changed + done[1]
    if not hard:
        return Receipt(tuple(ids), hard=False, changed=tuple(changed))
    finish = finish_purge if ids else finish_pending  # where nothing was deleted the file is not written anew
    log = "erased" if purge and finish(store) else "pending"
    return Receipt(tuple(ids), hard=True, log=log, copies=copies, unread_copies=unread, changed=tuple(changed))


def _as_they_were(store: Store, memories: Sequence[Memory]) -> list[Memory]:
    """Those that nobody has changed since they were read."""
    with store.read() as tx:
        now = [tx.memories.get(Reach.everything(memory.org), memory.id, deleted=True) for memory in memories]
    found = zip(memories, now, strict=True)
    return [memory for memory, current in found if current and current.version == memory.version]


def _erase_aside(
    store: Store, memories: Sequence[Memory], *, now: datetime, actor: str
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Forget them in what restores put aside, too, where all else stays. The names of the copies that held them,
    and of those that nobody can read."""
    erased: list[str] = []
    unread: list[str] = []
    for name in store.aside():
        try:
            with closing(store.open_aside(name)) as copy:
                held = _held(copy, memories)
                is_clean = not held or forget(copy, held, hard=True, now=now, actor=actor).log == "erased"
        except ClewError:
            is_clean, held = False, []
        if not is_clean:
            unread.append(name)
        elif held:
            erased.append(name)
    return tuple(erased), tuple(unread)


def _held(copy: Store, memories: Sequence[Memory]) -> list[Memory]:
    """Those that a copy knows, by id or by their text: what was put aside may have been remembered once more."""
    found: dict[str, Memory] = {}
    with copy.read() as tx:
        for memory in memories:
            reach = Reach.everything(memory.org)
            for id in {memory.id, tx.memories.live_duplicate(memory) or memory.id}:
                if known := tx.memories.get(reach, id, deleted=True):
                    found[id] = known
    return list(found.values())


def finish_purge(store: Store) -> bool:
    """Erase what deleted rows left in pages and log; False while a reader still holds the log."""
    with store.read() as tx:
        noted = tx.meta.get(PURGE_PENDING)
    erased = store.purge()
    if erased and noted:
        store.write(partial(_clear_note, noted=noted), durable=False)
    return erased


def finish_pending(store: Store) -> bool:
    """What an earlier hard forget had to leave behind, or was killed before it could erase."""
    with store.read() as tx:
        pending = is_purge_pending(tx)
    return not pending or finish_purge(store)


def _clear_note(tx: Tx, *, noted: str) -> None:
    if tx.meta.get(PURGE_PENDING) == noted:  # a forget that came in between has a note of its own
        tx.meta.put(PURGE_PENDING, "")


def is_purge_pending(tx: Tx) -> bool:
    return bool(tx.meta.get(PURGE_PENDING))


def matching(tx: Tx, reach: Reach, wanted: Filter, *, everything: bool, hard: bool, now: datetime) -> list[Memory]:
    """All memories that a bulk forget means. Refuses a filter that says nothing.

    A hard one also means what is hidden already: text that was superseded, has expired or was softly forgotten.
    """
    if everything and not wanted.is_empty:
        raise InvalidInput(
            "all and filters exclude each other",
            code="BULK_FORGET_INVALID_FILTERS",
            next="give either --all or filters",
        )
    if not everything and wanted.is_empty:
        raise InvalidInput(
            "no filter was given",
            code="BULK_FORGET_NO_FILTERS",
            next="name an id, a filter such as --tag or --older-than, or --all",
        )
    wanted = replace(
        wanted,
        deleted=wanted.deleted or hard,
        superseded=wanted.superseded or hard or everything,
        expired=hard,
    )
    found: list[Memory] = []
    cursor = None
    while page := tx.memories.find(reach, wanted, now=now, limit=BATCH, cursor=cursor):
        found += page
        cursor = page[-1].id
    return found


def preview(memories: Sequence[Memory]) -> Preview:
    return Preview(len(memories), len(memories) > PREVIEWS, tuple(memories[:PREVIEWS]))


def _forget_batch(
    tx: Tx,
    *,
    batch: Sequence[Memory],
    erase: Callable[[Tx, Memory, datetime], None],
    now: datetime,
    actor: str,
    expected_version: int | None = None,
    keep_changed: bool = False,
) -> tuple[list[str], list[str]]:
    """The ids it found, and those of what was changed; others were forgotten by someone faster."""
    forgotten: list[Memory] = []
    changed: list[str] = []
    said: dict[Place, set[str]] = {}
    action = "forget_hard" if erase is _erase else "forget"
    for memory in batch:
        current = tx.memories.get(Reach.everything(memory.org), memory.id, deleted=True)
        if current is None or (erase is _hide and current.deleted_at):
            continue
        if expected_version not in (None, current.version):
            raise changed_meanwhile(memory.id)
        if keep_changed and current.version != memory.version:
            changed.append(memory.id)
            continue
        if erase is _erase:
            said.setdefault((memory.org, memory.project, memory.user), set()).update(_said(tx, current))
        erase(tx, current, now)
        forgotten.append(memory)
        tx.audit.note(
            memory.org, at=now, actor=actor, action=action, id=memory.id, content_hash=memory.content_hash
        )
    ids = [memory.id for memory in forgotten]
    if forgotten and erase is _erase:
        _erase_around(tx, forgotten, said, now)
        tx.meta.put(PURGE_PENDING, ids[-1])
    return ids, changed


def _erase_around(tx: Tx, forgotten: Sequence[Memory], said: Mapping[Place, set[str]], now: datetime) -> None:
    """What was made of them, and where their words were said again."""
    ids = [memory.id for memory in forgotten]
    for org in {memory.org for memory in forgotten}:  # blocks on the queue quote what is forgotten
        tx.injects.erase_memories(org, ids, now=now)
        tx.replays.drop_org(org)  # and so may answers that are kept for requests sent again
    for org, project in {(memory.org, memory.project) for memory in forgotten}:
        tx.injections.forget_queries(org, project)  # whoever asks for something may quote it
    sessions = {(memory.org, memory.session) for memory in forgotten if memory.session}
    sessions |= {(place[0], session) for place, texts in said.items() for session in _saying(tx, place, texts)}
    for org, session in sessions:
        _forget_session(tx, org, session, now)
    for place, texts in said.items():
        for id in _holding(texts, tx.injects.unsourced(*place)):  # a program may have queued the very words
            tx.injects.erase(place[0], id, now=now)
    forget_labels(tx)


def _said(tx: Tx, memory: Memory) -> set[str]:
    """The words for a memory, also those it had: whoever says again what is known leaves them in a session."""
    return {_composed(version.memory.content.removeprefix(ASKED)) for version in tx.memories.versions(memory)}


def _saying(tx: Tx, place: Place, texts: set[str]) -> set[str]:
    """The sessions of a place that keep one of these texts: there it would have been known."""
    return _holding(texts, tx.sessions.words(*place))


def _holding(texts: set[str], kept: Iterable[tuple[str, str]]) -> set[str]:
    """Of words with the id of what keeps them: the ids of those in which one of the texts is said."""
    wanted = {*texts, *(json.dumps(text, ensure_ascii=False)[1:-1] for text in texts)}
    said = ((id, _composed(words)) for id, words in kept)
    return {id for id, words in said if any(_holds(words, text) for text in wanted)}


def _composed(text: str) -> str:
    """Whichever form its letters have, it is the same text, as it is for `content_hash`."""
    return unicodedata.normalize("NFC", text)


def _holds(words: str, text: str) -> bool:
    """Or are its beginning, as a title that was cut is. What is short has to stand alone: others use it, too."""
    if min(len(text), len(words)) < SHORTEST_SAID:
        return words == text or f'"{text}"' in words
    return text in words or text.startswith(words)


def _forget_session(tx: Tx, org: str, session: str, now: datetime) -> None:
    """What is kept of a session from which a memory was made, or in which it was said again: a prompt is its title,
    and may be the memory. Blocks for other sessions quote its summary."""
    tx.hosts.forget_facts(org, session)
    tx.sessions.forget_texts(org, session)
    if summary := tx.injections.summary(org, session):
        tx.injects.erase_memories(org, [summary.id], now=now)
    tx.injections.forget_summary(org, session)
    tx.learning.forget_diagnostics(org, session)


def _hide(tx: Tx, memory: Memory, now: datetime) -> None:
    soft_delete(tx, memory, now)


def _erase(tx: Tx, memory: Memory, now: datetime) -> None:
    row = tx.memories.row_of(memory)
    tx.index.drop(memory.org, row)
    unmap(tx, row, memory.org, memory.project, now, erase=True)
    for version in tx.memories.versions(memory):  # somebody else may have said it, and it waits to be judged
        tx.guarding.forget_quarantined(version.memory)
    tx.memories.delete(memory)
    if memory.project:
        tx.transfers.drop_weights(memory.org, memory.id, source=memory.project)
    tx.changes.note(memory.org, memory.project, "memory", memory.id, "drop")

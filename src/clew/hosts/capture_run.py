"""Stored facts become memories: after the answer, in a portion at a time.

In: events of host_events in state `new`. Out: how many were looked at. What `write` yielded is durable, then the
events are `done`. Run twice, or interrupted between the two, nothing is added: the same facts give the same texts,
known by their hash. With the events being `done` it is written what was so before each of them, so that a session
may be longer than what is looked back at.

The verb gives `write` (`Clew._write`: the inner path, which may write what was observed) and `whose` (where what an
event says belongs, the scope of our session with its project, agent and id; and who told it). None: it is dropped.
`forget` is handed what the user has taken back, `forget_about` what that was about.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from typing import Any, Protocol

from clew.errors import Conflict, Denied, InvalidInput, NotFound, StoreRefused, Unavailable
from clew.hosts.capture import TAKEN_BACK, TAKEN_BACK_ABOUT, Captured, Fact, carried_into, drafts_of
from clew.model.host import StoredFact
from clew.model.memory import Draft, Remembered
from clew.model.scope import Identity, Scope
from clew.ports import Store, Tx

PORTION = 200
WINDOW = 400  # facts of a session that are looked at: a fix comes soon after its failure

_log = logging.getLogger(__name__)


class Write(Protocol):
    def __call__(self, drafts: Iterable[Draft], *, scope: Scope, identity: Identity) -> Iterator[Remembered]: ...


Forget = Callable[[Remembered, Identity], object]
ForgetAbout = Callable[[Draft, Scope, Identity], object]
Whose = Callable[[StoredFact], tuple[Scope, Identity] | None]


def capture_waiting(
    store: Store,
    *,
    write: Write,
    whose: Whose,
    forget: Forget = lambda _stored, _identity: None,
    forget_about: ForgetAbout = lambda _draft, _scope, _identity: None,
    ended: Callable[[StoredFact], object] = lambda _row: None,
    limit: int = PORTION,
) -> int:
    """Look at the oldest events that wait; how many those were. 0: nothing waits. `ended` is told of each event
    that ended sessions of ours. Events that cannot be looked at do not keep those behind them waiting, nor those of
    one org those of another: each org that has some gets its part of the limit."""
    with store.read() as tx:
        orgs = tx.hosts.waiting_orgs(limit=limit)
    part = partial(
        capture_org, store, write=write, whose=whose, forget=forget, forget_about=forget_about, ended=ended
    )
    return sum(part(org, limit=limit // max(1, len(orgs))) for org in orgs)


def capture_org(
    store: Store,
    org: str,
    *,
    write: Write,
    whose: Whose,
    forget: Forget,
    forget_about: ForgetAbout,
    ended: Callable[[StoredFact], object],
    limit: int,
) -> int:
    """The same in one org."""
    with store.read() as tx:
        waiting = tx.hosts.waiting(org, limit=limit)
        told = [(rows, history_of(tx, rows)) for rows in by_session(waiting)]
    for rows, history in told:
        try:
            keep(rows, history, write=write, whose=whose, forget=forget, forget_about=forget_about)
        except (StoreRefused, Unavailable):
            raise
        except Exception as error:
            _log.warning("what a hook told could not be captured: %s", type(error).__name__)
        for row in rows:
            if row.ends:
                ended(row)
        store.write(partial(_done, rows=rows, facts=carrying(rows, history)), durable=False)
    return len(waiting)


def keep(
    rows: Sequence[StoredFact],
    history: Sequence[StoredFact],
    *,
    write: Write,
    whose: Whose,
    forget: Forget,
    forget_about: ForgetAbout,
) -> list[Remembered]:
    """Write what these events of one session completed; `history` are its facts up to the last of them, these among
    them. What is taken back is found by writing it again, which adds nothing."""
    by_id = {row.event_id: row for row in rows}
    made = drafts_of([fact_of(row) for row in history], new=by_id)
    placed = [(place, one) for one in made if (place := whose(by_id[one.event_id]))]
    stored: list[Remembered] = []
    for (place, back), group in groupby(placed, key=lambda pair: (pair[0], _back(pair[1]))):
        drafts = [one.draft for _place, one in group]
        if back == TAKEN_BACK_ABOUT:
            for draft in drafts:
                forget_about(draft, *place)
            continue
        written = _write_all(drafts, place, write)
        kinds = {draft.content: draft.metadata.get("captured") for draft in drafts}
        for one in written if back else ():
            if one.memory.metadata.get("captured") == kinds.get(one.memory.content):  # not what the user said alike
                forget(one, place[1])
        stored += () if back else written
    return stored


def _back(one: Captured) -> str:
    return one.kind if one.kind in (TAKEN_BACK, TAKEN_BACK_ABOUT) else ""


def by_session(waiting: Sequence[StoredFact]) -> list[list[StoredFact]]:
    """Events of the same host session together, each in the order they came."""
    return [list(rows) for _key, rows in groupby(sorted(waiting, key=_session_of), key=_session_of)]


def history_of(tx: Tx, rows: Sequence[StoredFact]) -> Sequence[StoredFact]:
    last = rows[-1]
    return tx.hosts.facts(last.org, last.host, last.host_session, until=last.at, limit=WINDOW + len(rows))


def carrying(rows: Sequence[StoredFact], history: Sequence[StoredFact]) -> dict[str, str]:
    """The facts of these events by id, each with what was so before it; '' stays ''."""
    told = [fact_of(row) for row in history]
    whole = {
        fact.event_id: json.dumps({**fact.told, **before}, ensure_ascii=False, separators=(",", ":"))
        for fact, before in zip(told, carried_into(told), strict=True)
    }
    return {row.event_id: whole.get(row.event_id, row.facts) for row in rows}


def fact_of(row: StoredFact) -> Fact:
    return Fact(row.event_id, row.at, _object(row.facts), row.agent_id)


def _write_all(drafts: Sequence[Draft], place: tuple[Scope, Identity], write: Write) -> list[Remembered]:
    """Together; where one is refused, one by one. What is refused is left out: an event is not tried for ever."""
    scope, identity = place
    try:
        return list(write(drafts, scope=scope, identity=identity))
    except (InvalidInput, NotFound, Denied, Conflict):
        if len(drafts) == 1:
            return []
    return [one for draft in drafts for one in _write_all([draft], place, write)]


def _done(tx: Tx, *, rows: Sequence[StoredFact], facts: Mapping[str, str]) -> None:
    tx.hosts.captured(rows[0].org, facts)


def _session_of(row: StoredFact) -> tuple[str, str, str]:
    return row.org, row.host, row.host_session


def _object(text: str) -> Mapping[str, Any]:
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}

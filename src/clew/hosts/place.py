"""Which session of ours serves an event: found, opened, held, ended. Telling, inside one transaction.

A session of a host has one of ours at a time; a subagent in it has its own. `clear`, `compact` and `fork` always
open another, because the agent has lost what it was told; so does a session that ended and goes on, and one
without a project that gets one. The lock on it belongs to the worker `<host>:<session>`, and whoever lost it by
being silent for long takes it again under a larger token.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime
from functools import partial
from hashlib import sha256

from clew.deliver import queue
from clew.deliver import sessions as steps
from clew.deliver.states import DeliverPolicy
from clew.errors import Conflict, Denied
from clew.hosts.reduce import told_words
from clew.hosts.work import merged, work_of_branch, work_of_prompt
from clew.model.host import Around, HookEvent, HostSession
from clew.model.scope import Identity, Reach, Scope
from clew.model.session import AgentSession, Inject, InjectDraft, Lock
from clew.model.start import Held
from clew.ports import Tx
from clew.values import dataclass

OPENS = frozenset(
    {"session_start", "prompt", "tool_start", "tool_end", "tool_failure", "tool_batch", "agent_start"}
)
STARTS = frozenset({"session_start", "agent_start"})
ENDS = frozenset({"session_end", "agent_stop"})
ANEW = ("clear", "compact", "fork")
GOES_ON = ("resume", "fork")
FORGETS = ("clear", "compact")
MAX_WORKER = 200
NOTHING_HELD = Held()
_SUMMARY = re.compile(r"^- \[(sum_[0-9a-z]{26})\]", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Teller:
    """Who tells events, and as whom their sessions run."""

    identity: Identity
    reach: Reach
    agent: str | None

    @property
    def org(self) -> str:
        return self.identity.org


@dataclass(frozen=True, slots=True)
class Place:
    """`session` None: nobody serves this event. `starts`: a start block is due, without what is `held`. `is_lost`:
    someone else holds the session, so nothing is handed out. `is_nowhere`: it has no project, so nothing is looked
    for and nothing kept: what has no project is told in every one."""

    row: HostSession | None = None
    session: AgentSession | None = None
    starts: bool = False
    held: Held = NOTHING_HELD
    ended: tuple[str, ...] = ()
    is_lost: bool = False

    @property
    def is_nowhere(self) -> bool:
        return self.row is not None and self.row.project is None


@dataclass(frozen=True, slots=True)
class Placing:
    """One event, and what is needed to find its place."""

    tx: Tx
    event: HookEvent
    around: Around
    who: Teller
    policy: DeliverPolicy
    now: datetime
    replayed: bool = False
    is_starting: Callable[[str], bool] = lambda _session: False  # whether its block is being made

    # -- finding -----------------------------------------------------------------------------------

    def found(self) -> Place:
        """What serves the session now, with its lock; a session of somebody else's is refused."""
        event = self.event
        row = self.tx.hosts.session(self.who.org, event.host, event.host_session, event.agent_id)
        session = self._running(row) if row else None
        self._check(row, session)
        if row is None or session is None:
            return Place(row)
        held = self._holding(row)
        return Place(held or row, session, is_lost=held is None)

    def _check(self, row: HostSession | None, session: AgentSession | None) -> None:
        is_others = row is not None and row.user != self.who.identity.user
        if is_others or (session is not None and session.agent != self.who.agent):
            raise Denied(
                "this session of a host is somebody else's", code="HOST_SESSION_DENIED", next="use their credential"
            )

    def _running(self, row: HostSession) -> AgentSession | None:
        session = self.tx.sessions.get(self.who.reach, row.session_id)
        return session if session and not session.has_ended and row.ended_at is None else None

    def last(self, row: HostSession | None) -> AgentSession | None:
        """The session that has ended: what waited until then was told in it, and is kept as such."""
        return self.tx.sessions.get(self.who.reach, row.session_id) if row else None

    def _holding(self, row: HostSession) -> HostSession | None:
        lock = lock_of(row, self.who)
        if self.tx.sessions.is_held(lock):
            return row
        try:
            return replace(row, token=self._claim(row.session_id))
        except Conflict:
            return None

    def _claim(self, id: str) -> int:
        return steps.claim(
            self.tx,
            id,
            worker=worker_of(self.event),
            provider=self.event.host_session,
            reach=self.who.reach,
            policy=self.policy,
            now=self.now,
        )

    # -- opening -----------------------------------------------------------------------------------

    def placed(self, found: Place) -> Place:
        """The session that serves this event: the one that was found, or a new one where one is due."""
        event, row, session = self.event, found.row, found.session
        if row and session and event.source not in ANEW and not self._got_project(session):
            return self._kept(found, row, session)
        is_over = (
            row is not None and session is None and self.replayed and event.kind not in STARTS
        )  # told late: it opens nothing again
        if event.kind not in OPENS or is_over:
            return found
        return self._opened(found)

    def _got_project(self, session: AgentSession) -> bool:
        """Nothing is brought or kept where there is no project; a repository may be made, or gone to, meanwhile."""
        return session.project is None and self.around.project is not None

    def _kept(self, found: Place, row: HostSession, session: AgentSession) -> Place:
        event = self.event
        is_first = event.kind == "session_start" and row.source is None  # opened by something that came before
        starts = is_first or event.source == "resume"
        row = replace(row, source=row.source or event.source, branch=self.around.branch or row.branch)
        described = self._described(session) if event.kind == "prompt" and not session.title else None
        if not (starts or described or self._is_without_block(row, session)):
            return replace(found, row=row)
        if is_first:
            self.tx.hosts.note_past(self.who.org, row)
        held = self._held(row, goes_on=starts)
        return replace(found, row=row, session=described or session, starts=True, held=held)

    def _is_without_block(self, row: HostSession, session: AgentSession) -> bool:
        """Whoever should have made it was stopped in the middle. A tool that starts waits for nobody."""
        event, org = self.event, self.who.org
        if event.kind not in OPENS or event.kind == "tool_start" or (row.source is None and event.kind != "prompt"):
            return False
        return not self.is_starting(session.id) and self.tx.injections.last(org, session.id) is None

    def _described(self, session: AgentSession) -> AgentSession | None:
        """The first prompt says what it is about, where the branch did not."""
        item = self._asked()
        if not item.title:
            return None
        session = replace(
            session,
            title=item.title,
            issue=session.issue or item.issue,
            work_type=session.work_type or item.work_type,
        )
        self.tx.hosts.describe(self.who.org, session)
        return session

    def _opened(self, found: Place) -> Place:
        event, old = self.event, found.session
        scope = Scope(self.who.org, self.around.project, self.who.identity.user)
        session = steps.new_session(scope, self._work(found.row), agent=self.who.agent, now=self.now)
        self.tx.sessions.insert(session)
        row = HostSession(
            host=event.host,
            host_session=event.host_session,
            session_id=session.id,
            token=self._claim(session.id),
            created_at=self.now,
            updated_at=self.now,
            agent_id=event.agent_id,
            source=event.source,
            project=session.project,
            user=session.user,
            branch=self.around.branch,
        )
        goes_on = event.source in GOES_ON or (event.source is None and found.row is not None)
        held = self._held(row, goes_on=goes_on)
        self.tx.hosts.note_past(self.who.org, row)
        ended = self._replaced(old, session) if old else ()
        starts = event.kind in STARTS or (event.kind == "prompt" and bool(session.title))
        return Place(row, session, starts=starts, held=held, ended=ended)

    def _replaced(self, old: AgentSession, by: AgentSession) -> tuple[str, ...]:
        """What a user said and nobody has heard yet is said in the new session."""
        waiting = [one for one in self.tx.injects.of_session(self.who.org, old.id) if _is_unheard(one)]
        self._end(old)
        for one in waiting:
            draft = InjectDraft(by.id, one.text, kind="user", phase=one.phase, agent=by.agent)
            queue.put(self.tx, draft, reach=self.who.reach, policy=self.policy, now=self.now)
        return (old.id,)

    def _work(self, row: HostSession | None) -> steps.WorkItem:
        """The branch first, then what the session before was about, then the prompt. A subagent works on what its
        session works on."""
        event = self.event
        if event.agent_id:
            row = self.tx.hosts.session(self.who.org, event.host, event.host_session)
        before = self._item(row) if row and event.source != "clear" else steps.WorkItem()
        prompt = self._asked() if event.kind == "prompt" else steps.WorkItem()
        return merged(work_of_branch(self.around.branch), merged(before, prompt))

    def _asked(self) -> steps.WorkItem:
        if self.around.project is None:  # nothing is kept there
            return steps.WorkItem()
        return work_of_prompt(told_words(self.event.prompt, self.event, self.around))

    def _item(self, row: HostSession) -> steps.WorkItem:
        session = self.tx.sessions.get(self.who.reach, row.session_id)
        if session is None or session.project is None:
            return steps.WorkItem()
        return steps.WorkItem(
            session.work_type, session.issue, session.issue_id, session.title, session.description
        )

    # -- what the agent holds ------------------------------------------------------------------------

    def _held(self, row: HostSession, *, goes_on: bool) -> Held:
        """What the transcript shows, if somebody looked; otherwise what the sessions since the agent last forgot
        were told. What waits in this session's queue comes anyway."""
        if not goes_on:
            return replace(held_in(self._queue(row.session_id)), sessions=frozenset((row.session_id,)))
        sessions = since_forgot([*self.tx.hosts.past(self.who.org, row), (row.session_id, "")])
        waiting = held_in(one for one in self._queue(row.session_id) if one.state in ("pending", "delivered"))
        if self.around.saw_transcript:
            told = Held(frozenset(self.around.held), frozenset(self.around.held_lines))
        else:
            told = held_in(one for id in sessions for one in self._queue(id) if one.state == "acked")
        return Held(told.ids | waiting.ids, told.lines | waiting.lines, frozenset(sessions), goes_on=True)

    def _queue(self, id: str) -> list[Inject]:
        return self.tx.injects.of_session(self.who.org, id)

    # -- ending ------------------------------------------------------------------------------------

    def ended(self, place: Place) -> Place:
        """The session is over, and with the main thread its subagents are. No outcome: hooks never guess one."""
        rows = [place.row] if place.row else []
        if self.event.agent_id is None:
            rows += self.tx.hosts.agents(self.who.org, self.event.host, self.event.host_session)
        running = [(row, session) for row in rows if (session := self._running(row))]
        for row, session in running:
            self._end(session)
            self.tx.hosts.put(self.who.org, replace(row, ended_at=self.now, updated_at=self.now))
        return replace(place, ended=tuple(session.id for _row, session in running))

    def _end(self, session: AgentSession) -> None:
        steps.end(
            self.tx,
            session.id,
            state="completed",
            outcome=None,
            lock=None,
            reach=self.who.reach,
            policy=self.policy,
            now=self.now,
        )


def end_idle(tx: Tx, org: str, *, before: datetime, policy: DeliverPolicy, now: datetime, limit: int = 100) -> int:
    """End what a host that crashed has left behind in an org, without an outcome. One that is heard of again goes
    on in a new session."""
    reach = Reach.everything(org)
    idle = tx.hosts.idle(org, before=before, limit=limit)
    for row in idle:
        session = tx.sessions.get(reach, row.session_id)
        if session is not None and session.state == "running":
            end = partial(steps.end, tx, session.id, state="completed", outcome=None, lock=None)
            end(reach=reach, policy=policy, now=now)
        tx.hosts.put(org, replace(row, ended_at=now))
    return len(idle)


def worker_of(of: HookEvent | HostSession) -> str:
    name = f"{of.host}:{of.host_session}" + (f":{of.agent_id}" if of.agent_id else "")
    return name if len(name) <= MAX_WORKER else f"{of.host}:{sha256(name.encode()).hexdigest()}"


def lock_of(row: HostSession, who: Teller) -> Lock:
    return Lock(who.reach, row.session_id, worker_of(row), row.token)


def since_forgot(past: Iterable[tuple[str, str]]) -> list[str]:
    """Our sessions of (id, how it began) since the agent last lost what it was told."""
    kept: list[str] = []
    for id, source in past:
        kept = [id] if source in FORGETS else [*kept, id]
    return list(dict.fromkeys(kept))


def held_in(injects: Iterable[Inject]) -> Held:
    """What these texts tell: ids of memories and of summaries, lines of facts."""
    ids: set[str] = set()
    lines: set[str] = set()
    for one in injects:
        if one.state not in ("cancelled", "dead"):
            ids.update((*one.observation_ids, *_SUMMARY.findall(one.text)))
            lines.update(line for line in one.text.split("\n") if line.startswith("- ") and " → " in line)
    return Held(frozenset(ids), frozenset(lines))


def _is_unheard(inject: Inject) -> bool:
    return inject.kind == "user" and inject.state in ("pending", "delivered")

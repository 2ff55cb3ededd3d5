"""Replay: recorded queries once more, without the graph and with it, on today's store.

In: the queries that the injection log holds, each with its session. Out: what the graph changes in each answer,
and, where people said how it went, whether that is for the better. Nothing is written and nothing is counted, so
that running it twice on one store answers the same, but for the milliseconds.

Each question is asked in the scope of its session and shown as far as whoever replays may read; the switches and
the rollout mode of the org are left aside: `baseline` never walks the graph, `hybrid` always tries to.

Whether it helped. Every memory that was shown and delivered has a worth: what was said last about the memory
itself (up 1, outdated or wrong -1), else how its session came out (accepted 1, rejected -1). Rework is worth
nothing either way: what was shown was good enough to go on with and not good enough to be taken; to move weights
one must decide that, to compare two modes one need not. A mode's score for a question is the mean worth of what it
finds among its first k; the difference of both is one pair. Rules are in every answer, so that they say nothing
about a mode.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Protocol

from clew.model.memory import Memory
from clew.model.recalled import Recalled, RecallOptions
from clew.model.replay import Answer, Recorded, Replay, Replayed, Score
from clew.model.scope import Reach, Scope
from clew.ports import Tx
from clew.recall.recall import MAX_LIMIT, Reader, recall
from clew.rollout.paired import compare
from clew.rollout.standing import CANARY
from clew.values import dataclass

LIMIT = 200  # questions
PAGE = 500  # rows of the log
TOP = 10  # of a query whose candidates were not counted
OUTCOME_WORTH = {"accepted": 1, "rejected": -1}
VERDICT_WORTH = {"up": 1, "outdated": -1, "wrong": -1}


class Sight(Protocol):
    """What someone may read in a scope; a door of the guard is one."""

    def narrowed(self, reach: Reach) -> Reach: ...
    def recalled(self, recalled: Recalled) -> Recalled: ...
    def may(self, action: str, memories: Sequence[Memory]) -> list[bool]: ...


@dataclass(frozen=True, slots=True)
class Replayer:
    """What a replay is made with. `sight` is None for a scope in which whoever replays may not ask."""

    reader: Reader
    sight: Callable[[Scope], Sight | None]
    now: datetime

    def replay(
        self, org: str, *, since: datetime, project: str | None = None, limit: int = LIMIT, top: int | None = None
    ) -> Replay:
        with self.reader.store.read() as tx:
            rows = _rows(tx, org, since, project)
            questions, left_out, more = gathered(rows, self._scopes(org), limit)
        replayed = list(replace(self, reader=_with_graph(self.reader))._answers(org, questions, top))
        scores = [score for one in replayed for score in one.scores]
        return Replay(
            since=since,
            until=self.now,
            project=project,
            questions=tuple(replayed),
            recorded=sum(map(len, questions)),
            left_out=left_out,
            undecided=sum(map(_is_undecided, replayed, questions)),
            more=more,
            paired=compare([one.difference for one in scores], [one.session for one in scores]),
        )

    def _scopes(self, org: str) -> Callable[[Recorded], bool]:
        """Whether a row may be replayed; looked at once per place."""
        known: dict[tuple[str | None, str | None], bool] = {}

        def may(recorded: Recorded) -> bool:
            place = recorded.project, recorded.user
            if place not in known:
                known[place] = self.sight(Scope(org, *place)) is not None
            return known[place]

        return may

    def _answers(self, org: str, questions: Sequence[Sequence[Recorded]], top: int | None) -> Iterator[Replayed]:
        """The first question of a place is asked once more: it loads what all others find loaded."""
        warm: set[tuple[str | None, str | None]] = set()
        for number, recorded in enumerate(questions):
            ask = partial(self._replayed, org, recorded, top, hybrid_first=bool(number % 2))
            place = recorded[0].project, recorded[0].user
            if place not in warm:
                warm.add(place)
                ask()
            yield ask()

    # -- one question --------------------------------------------------------------------------------

    def _replayed(self, org: str, recorded: Sequence[Recorded], top: int | None, *, hybrid_first: bool) -> Replayed:
        newest = recorded[0]
        sight = self.sight(Scope(org, newest.project, newest.user))
        assert sight is not None  # was looked at when the questions were gathered
        reach = sight.narrowed(Reach.of(Scope(org, newest.project, newest.user)))
        k = top or top_of(newest)
        found = self._asked(newest.query, reach, sight, k, hybrid_first=hybrid_first)
        (baseline, without, _note), (hybrid, with_graph, note) = found[False], found[True]
        shown = self._shown(org, recorded, reach, sight)
        return Replayed(
            query=newest.query,
            project=newest.project,
            work_type=newest.work_type,
            asked_at=newest.at,
            times=len(recorded),
            top=k,
            baseline=baseline,
            hybrid=hybrid,
            graph=note.get("status", ""),
            reason=note.get("reason", ""),
            scores=tuple(scores_of(shown, baseline.ids, hybrid.ids)),
            seen=without | with_graph,
        )

    def _asked(
        self, query: str, reach: Reach, sight: Sight, k: int, *, hybrid_first: bool
    ) -> dict[bool, tuple[Answer, dict[str, Memory], Mapping[str, str]]]:
        """By mode, with the graph or without; who is asked first pays for cold caches, so that this alternates."""
        found = {}
        for graph in (hybrid_first, not hybrid_first):
            options = RecallOptions(limit=k, rules=False, graph=graph, counted=False)
            started = time.perf_counter()
            recalled = recall(query, reach, options, reader=self.reader, now=self.now)
            ms = (time.perf_counter() - started) * 1000
            seen = {result.memory.id: result.memory for result in sight.recalled(recalled).results}
            found[graph] = Answer(tuple(seen), ms), seen, recalled.trace.notes.get("graph", {})
        return found

    def _shown(
        self, org: str, recorded: Sequence[Recorded], reach: Reach, sight: Sight
    ) -> dict[tuple[str, str], dict[str, int]]:
        """By session and outcome: what its agent was shown and could be found today, with its worth."""
        found: dict[tuple[str, str], dict[str, int]] = {}
        with self.reader.store.read() as tx:
            for row in recorded:
                worth = found.setdefault((row.session, row.outcome), {})
                for id in _findable(tx, row, reach, sight):
                    worth[id] = worth_of(tx.learning.verdict(org, id), row.outcome)
        return found


def gathered(
    rows: Iterator[Recorded], may: Callable[[Recorded], bool], limit: int
) -> tuple[list[list[Recorded]], int, bool]:
    """The newest so many questions, each with every row that asked it; how many rows were left out, and whether
    there are more questions than those."""
    questions: dict[tuple[str | None, str | None, str], list[Recorded]] = {}
    left_out, more = 0, False
    for row in rows:
        if not may(row):
            left_out += 1
        elif row.question in questions:
            questions[row.question].append(row)
        elif len(questions) < limit:
            questions[row.question] = [row]
        else:
            more = True
            break
    return list(questions.values()), left_out, more


def top_of(recorded: Recorded) -> int:
    """As many as were considered then. Of a tool call only the few that were surely about it were counted."""
    considered = recorded.considered if recorded.phase == "start" else 0
    return min(considered or TOP, MAX_LIMIT)


def worth_of(verdict: str | None, outcome: str) -> int:
    """What was said about the memory itself is surer than how a whole session came out."""
    return VERDICT_WORTH[verdict] if verdict else OUTCOME_WORTH.get(outcome, 0)


def scores_of(
    shown: Mapping[tuple[str, str], Mapping[str, int]], baseline: Sequence[str], hybrid: Sequence[str]
) -> Iterator[Score]:
    """One per session of which something is known."""
    for (session, outcome), worths in shown.items():
        judged = {id: worth for id, worth in worths.items() if worth}
        if judged:
            scores = (score(judged, found) for found in (baseline, hybrid))
            yield Score(session, outcome, len(judged), *scores)


def score(worths: Mapping[str, int], found: Sequence[str]) -> float:
    return sum(worths.get(id, 0) for id in found) / len(worths)


def _rows(tx: Tx, org: str, since: datetime, project: str | None) -> Iterator[Recorded]:
    page = tx.injections.recorded(org, since=since, project=project, limit=PAGE)
    while page:
        yield from page
        page = tx.injections.recorded(org, since=since, project=project, after=page[-1], limit=PAGE)


def _findable(tx: Tx, row: Recorded, reach: Reach, sight: Sight) -> list[str]:
    """Of what reached the agent, what is still there, may be read, and is no rule."""
    if not row.delivered:
        return []
    memories = [one for one in tx.memories.get_many(reach, row.shown).values() if one.layer != "rule"]
    return [one.id for one, may in zip(memories, sight.may("read", memories), strict=True) if may]


def _is_undecided(replayed: Replayed, recorded: Sequence[Recorded]) -> bool:
    return not replayed.scores and any(row.delivered and row.shown for row in recorded)


def _with_graph(reader: Reader) -> Reader:
    """For which every switch is on and the canary applied, and which counts nothing."""
    graph = replace(reader.graph, write=True, recall=True, shadow=False)
    return replace(reader, graph=graph, standing=lambda _reach, _now: CANARY, count=None)

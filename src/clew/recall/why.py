"""Why was a memory not recalled? Follow one id through every stage of a recall."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from clew.model.memory import Memory
from clew.model.recalled import RecallOptions, Why
from clew.model.scope import Reach, Scope
from clew.recall.explain import reasons
from clew.recall.recall import MAX_LIMIT, MAX_WORKING, Reader, asked_layers, filter_memories, search
from clew.recall.run import RULE, WORKING, Run
from clew.remember.edit import must_get


@dataclass(frozen=True, slots=True)
class Explanation:
    """`lost_at` is None when the memory was found; then `rank` says where."""

    id: str
    found: bool
    lost_at: str | None
    reason: str
    next: str
    rank: int | None = None
    relevance: float | None = None
    why: tuple[Why, ...] = ()

    def as_json(self) -> dict[str, Any]:
        answer: dict[str, Any] = {"id": self.id, "found": self.found, "lost_at": self.lost_at,
                                  "reason": self.reason, "next": self.next}  # fmt: skip
        if self.rank is not None:
            answer["rank"] = self.rank
        if self.relevance is not None:
            answer["score"] = self.relevance
        return answer | {"why": [entry.as_json() for entry in self.why]}


def why(
    query: str,
    expect: str,
    scope: Scope,
    visible: Reach,
    options: RecallOptions,
    *,
    reader: Reader,
    now: datetime,
) -> Explanation:
    """`visible` is what the caller may look up by id, wider than the scope it asks in."""
    with reader.store.read() as tx:
        memory = must_get(tx, visible, expect, deleted=True)
    early = _before_search(memory, Reach.of(scope))
    if early:
        return early
    run = search(query, Reach.of(scope), options, reader=reader, now=now)
    if memory.id not in run.corpus.ids:
        return _lost(memory.id, "gather", "no word and no meaning of the query leads to it",
                     "ask with a word it contains")  # fmt: skip
    at = len(run.corpus.ids) - 1 - run.corpus.ids[::-1].index(memory.id)
    if not run.allowed[at]:
        return _filtered(memory, run, reader, now)
    if at in run.chosen:
        return Explanation(
            memory.id, True, None, f"found at rank {run.chosen.index(at) + 1}", "",
            rank=run.chosen.index(at) + 1,
            relevance=round(float(run.relevance[at]), 6),
            why=reasons(run, [at])[0],
        )  # fmt: skip
    return _outranked(memory, run, at, reader)


def _before_search(memory: Memory, reach: Reach) -> Explanation | None:
    if memory.deleted_at is not None:
        return _lost(memory.id, "store", "it was forgotten",
                     f"bring it back: clew revert {memory.id} {memory.version - 1}")  # fmt: skip
    if not reach.sees(memory.project, memory.user):
        place = f"project '{memory.project}'" if memory.project else f"user '{memory.user}'"
        flag = f"--project {memory.project}" if memory.project else f"--user {memory.user}"
        return _lost(memory.id, "scope", f"it belongs to {place}", f"ask in its scope: {flag}")
    return None


def _filtered(memory: Memory, run: Run, reader: Reader, now: datetime) -> Explanation:
    _allowed, (_into, removed) = filter_memories(
        run.corpus, run.options, reach=run.reach, reader=reader, now=now, only=memory.id
    )
    reason = removed[0].reason if removed else "filter"
    advice = {
        "superseded": f"it was replaced by {memory.superseded_by}; ask with --include-superseded or --as-of",
        "no longer valid": "ask with --include-invalid or --as-of",
        "not valid yet": "ask with --as-of a later time",
        "expired": "remember it again, in layer long_term if it should stay",
    }
    return _lost(memory.id, "filter", reason, advice.get(reason, "leave that filter out"))


def _outranked(memory: Memory, run: Run, at: int, reader: Reader) -> Explanation:
    relevance = round(float(run.relevance[at]), 6)
    layer, rank = int(run.corpus.layer[at]), None
    if layer not in asked_layers(run.options):
        reason, advice = f"layer {memory.layer} was not asked for", "ask with --mode all, and with rules"
    elif layer == RULE:
        reason, advice = f"{reader.rules_limit} rules stand before it", "raise recall.rules_limit"
    elif relevance < run.options.floor or (relevance == 0 and run.evidence.lexical[at] == 0):
        reason = f"its relevance {relevance} is below the floor"
        advice = "ask with a word it contains, or lower --floor"
    else:
        wider = search(run.query, run.reach, replace(run.options, limit=MAX_LIMIT), reader=reader, now=run.now)
        found = [wider.corpus.ids[chosen] for chosen in wider.chosen]
        rank = found.index(memory.id) + 1 if memory.id in found else None
        reason = f"at rank {rank or f'beyond {MAX_LIMIT}'}, beyond the limit"
        advice = f"ask for more: --limit {rank or MAX_LIMIT}"
        if layer == WORKING and rank is None:
            reason = f"{MAX_WORKING} working memories stand before it"
            advice = "ask with a word that only it has, or keep it in layer long_term"
    entries = reasons(run, [at])[0]
    return Explanation(memory.id, False, "rank", reason, advice, rank=rank, relevance=relevance, why=entries)


def _lost(id: str, stage: str, reason: str, next_move: str) -> Explanation:
    return Explanation(id, False, stage, reason, next_move)

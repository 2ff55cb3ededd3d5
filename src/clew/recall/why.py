"""Why was a memory not recalled? Follow one id through every stage of a recall."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from clew.model.times import CLOCK_SLACK
from clew.recall.choose import MAX_WORKING, asked_layers
from clew.recall.explain import BROUGHT, reasons
from clew.recall.recall import MAX_LIMIT, Reader, filter_memories, plan_recall, search
from clew.recall.run import RULE, WORKING, Run
from clew.remember.edit import must_get
from clew.values import dataclass

if TYPE_CHECKING:
    from datetime import datetime

    from clew.model.memory import Memory
    from clew.model.recalled import RecallOptions, Why
    from clew.model.scope import Reach
    from clew.recall.plan import Plan


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
    reach: Reach,
    visible: Reach,
    options: RecallOptions,
    *,
    reader: Reader,
    now: datetime,
    alone: bool = False,
) -> Explanation:
    """`visible` is what the caller may look up by id, wider than the reach it asks in. `alone`: nothing is told of
    other memories, which may be hidden: neither from which one the graph led here nor how many stand before it."""
    with reader.store.read() as tx:
        memory = must_get(tx, visible, expect, deleted=True)
    planned = plan_recall(query, options, reader)
    early = _before_search(memory, reach) or _planned_away(memory, planned)
    if early:
        return early
    run = search(query, reach, options, reader=reader, now=now, planned=planned)
    if memory.id not in run.corpus.ids:
        return _lost(memory.id, "gather", _nothing_leads_to(memory.id, run), "ask with a word it contains")
    at = len(run.corpus.ids) - 1 - run.corpus.ids[::-1].index(memory.id)
    if not run.allowed[at]:
        return _filtered(memory, run, reader, now)
    if at in run.chosen:
        return _found(memory, run, at, alone=alone)
    return _outranked(memory, run, at, reader, alone=alone)


def _found(memory: Memory, run: Run, at: int, *, alone: bool) -> Explanation:
    rank = None if alone else run.chosen.index(at) + 1
    return Explanation(
        memory.id, True, None, "found" if alone else f"found at rank {rank}{_by_graph(run, at, found=True)}", "",
        rank=rank,
        relevance=round(float(run.relevance[at]), 6),
        why=_reasons(run, at, alone=alone),
    )  # fmt: skip


def _reasons(run: Run, at: int, *, alone: bool) -> tuple[Why, ...]:
    entries = reasons(run, [at])[0]
    return tuple(entry.alone() for entry in entries) if alone else entries


def _before_search(memory: Memory, reach: Reach) -> Explanation | None:
    if memory.deleted_at is not None:
        return _lost(memory.id, "store", "it was forgotten",
                     f"bring it back: clew revert {memory.id} {memory.version - 1}")  # fmt: skip
    if not reach.sees(memory.project, memory.user):
        named = {name: value for name in ("project", "user") if (value := getattr(memory, name))}
        place = " and ".join(f"{name} '{value}'" for name, value in named.items())
        flags = " ".join(f"--{name} {value}" for name, value in named.items())
        return _lost(memory.id, "scope", f"it belongs to {place}", f"ask in its scope: {flags}")
    return None


def _planned_away(memory: Memory, planned: Plan) -> Explanation | None:
    if planned.effective != "no_recall":
        return None
    return _lost(memory.id, "plan", "no_recall: nothing was looked up", "ask with --plan full, or without --plan")


def _has_evidence(run: Run, at: int) -> bool:
    """Does a word or a meaning of the query lead to it?"""
    return bool(run.relevance[at] > 0 or run.evidence.lexical[at] > 0)


def _nothing_leads_to(id: str, run: Run) -> str:
    reason, graph = "no word and no meaning of the query leads to it", run.notes.get("graph")
    if not isinstance(graph, dict) or graph["status"] != "completed":
        return reason
    if any(reached.memory == id for reached, _score in run.expanded):
        return f"{reason}; the graph does, but it runs in the shadow"
    return f"{reason}, and the graph does not reach it either"


def _by_graph(run: Run, at: int, *, found: bool) -> str:
    """What the graph did for it, to be put after a reason; '' if it did nothing."""
    reached = run.reached.get(at)
    if reached is None:
        return ""
    hops = reached.by.hop
    way = f"{hops} hop{'s' if hops > 1 else ''} from {reached.seed}"
    if not found:
        return f"; the graph led to it, {way}"
    return f", {'helped' if _has_evidence(run, at) else 'only'} by the graph, {way}"


def _filtered(memory: Memory, run: Run, reader: Reader, now: datetime) -> Explanation:
    _allowed, (_into, removed) = filter_memories(
        run.corpus, run.options, reach=run.reach, reader=reader, now=now, only=memory.id
    )
    reason = removed[0].reason if removed else "filter"
    advice = {
        "superseded": f"it was replaced by {memory.superseded_by}; ask with --include-superseded or --as-of",
        "no longer valid": "ask with --include-invalid or --as-of",
        "not valid yet": "ask with --as-of a later time"
        if memory.created_at <= now + CLOCK_SLACK
        else "it was written by a clock that was ahead; if the clock is right now, run: clew reindex",
        "expired": "remember it again, in layer long_term if it should stay",
    }
    return _lost(memory.id, "filter", reason, advice.get(reason, "leave that filter out"))


def _outranked(memory: Memory, run: Run, at: int, reader: Reader, *, alone: bool) -> Explanation:
    relevance = round(float(run.relevance[at]), 6)
    layer, rank = int(run.corpus.layer[at]), None
    by_graph = "" if alone else _by_graph(run, at, found=False)
    if layer not in asked_layers(run.options):
        reason, advice = f"layer {memory.layer} was not asked for", "ask with --mode all, and with rules"
    elif layer == RULE:
        reason, advice = f"{reader.rules_limit} rules stand before it", "raise recall.rules_limit"
    elif run.query.strip() and at not in run.reached and not _has_evidence(run, at):
        reason, advice = _nothing_leads_to(memory.id, run), "ask with a word it contains"
    elif run.query.strip() and relevance < run.options.floor:
        reason = f"its relevance {relevance} is below the floor{by_graph}"
        advice = "ask with a word it contains, or lower --floor"
    elif alone:
        reason, advice = "beyond the limit", f"ask for more: --limit {MAX_LIMIT}"
    else:
        rank, advice = _rank_without_limit(memory.id, run, reader)
        reason = f"at rank {rank or f'beyond {MAX_LIMIT}'}, beyond the limit{by_graph}"
        if layer == WORKING and rank is None:
            reason = f"{MAX_WORKING} working memories stand before it"
            advice = "ask with a word that only it has, or keep it in layer long_term"
    entries = tuple(why for why in _reasons(run, at, alone=alone) if why.via not in BROUGHT)  # nothing brought it
    return Explanation(memory.id, False, "rank", reason, advice, rank=rank, relevance=relevance, why=entries)


def _rank_without_limit(id: str, run: Run, reader: Reader) -> tuple[int | None, str]:
    """Where it would have been, and what to ask with. A minimal plan has a limit of its own, and no graph."""
    options = replace(run.options, limit=MAX_LIMIT)
    planned = plan_recall(run.query, options, reader)
    is_minimal = planned.effective == "minimal"
    wider = search(run.query, run.reach, options, reader=reader, now=run.now,
                   planned=replace(planned, limit=MAX_LIMIT))  # fmt: skip
    found = [wider.corpus.ids[chosen] for chosen in wider.chosen]
    rank = found.index(id) + 1 if id in found else None
    return rank, f"ask for more: {'--plan full ' if is_minimal else ''}--limit {rank or MAX_LIMIT}"


def _lost(id: str, stage: str, reason: str, next_move: str) -> Explanation:
    return Explanation(id, False, stage, reason, next_move)

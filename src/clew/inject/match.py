"""What a tool call makes worth saying: found, boosted, sure, new, allowed, ranked, cut to the budget.

In: the event, what is known of its session, a memory store. Out: the rendered text, and what each candidate failed
at. Nothing is written, and nothing is marked: running it twice finds the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime
from functools import partial
from typing import NamedTuple

from clew.guard.render import (
    NO_LIMIT,
    OBSERVATIONS_HEADING,
    SafeText,
    bytes_of,
    join_sections,
    observation_line,
    pack,
    tokens,
)
from clew.guard.trust import is_observed
from clew.inject.access import Asker
from clew.inject.asking import QUERY, Question, asked_of_rules, focal_path, questions_of
from clew.inject.boost import BOOST, boost_by_path_overlap
from clew.inject.candidates import MemoryStore, Refused, RetrievalQuery
from clew.inject.config import InSessionConfig
from clew.inject.matcher import GraphMatching, Seeds, matched_triplets
from clew.inject.precision import CANDIDATES, DECISION, ERROR_SAYS, OF_RULES, RULE, background_of, is_sure
from clew.learn.rank import apply_feedback_ranking
from clew.model.graph_fact import GraphContextBlock, GraphFact
from clew.model.host import ASKED, STATED
from clew.model.inject import Considered, Observation, Skipped, Triplet, VerbEvent
from clew.model.learning import Candidate, RankedCandidate
from clew.model.memory import Memory
from clew.model.scope import Scope
from clew.recall.analyse import query_terms
from clew.recall.common import informativeness
from clew.remember.observe import LEAST_ERROR
from clew.remember.trust import trust_of_origin
from clew.values import dataclass

SAYS_ENOUGH = 20  # characters; fewer stand in another text by chance
_QUOTED_ERROR = re.compile(r'(Command `[^`]+`).* failed[^:"]*: "([^"]+)"')  # as `remember/observe.py` writes it


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """What is known of a session when one of its tools is called; made by us, never by the event."""

    scope: Scope  # with the session's agent, user and id
    asker: Asker
    budget_tokens: int
    most_bytes: int = NO_LIMIT
    work_type: str | None = None
    skip: str | None = None  # why nothing is looked for at all
    pushes: bool = True  # False: found and logged, but not pushed
    weighting: bool = True
    ranking: str = "weight"
    may_read: bool = True  # whether whoever told of the event may see what is said to the session
    graph_status: str = "no_engine"  # `ok`: the gates are open
    at: datetime | None = None  # before anything was read
    version: Hashable = None  # another one when something the session was shown no longer counts
    silent: frozenset[str] = frozenset()  # projects whose memory is off, where the whole org is asked
    hides: bool = False  # policies may deny more of what is found than what nobody is told unasked

    def refused(self, memories: Iterable[Memory]) -> dict[str, str]:
        """Why single memories may not be told in this session; the others may."""
        asked = list(memories)
        off = {one.id: "memory_off" for one in asked if one.project in self.silent}
        return off | self.asker.refused(one for one in asked if one.id not in off)


@dataclass(frozen=True, slots=True)
class Matched:
    """An empty text: nothing is worth saying, and `reason` says why."""

    text: str = ""
    memory_ids: tuple[str, ...] = ()
    graph: GraphContextBlock = field(default_factory=lambda: GraphContextBlock(status="no_engine"))
    observation_tokens: int = 0
    beside: tuple[str, ...] = ()  # memories that are named and not shown
    questions: tuple[Question, ...] = ()
    candidates: tuple[Considered, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    reason: str | None = None

    @property
    def tokens(self) -> int:
        return tokens(self.text)

    @property
    def source_ids(self) -> tuple[str, ...]:
        """The memories on which it rests besides those it shows."""
        return (*self.beside, *self.graph.source_ids)

    @property
    def triplets(self) -> tuple[Triplet, ...]:
        return self.graph.triplets


class Matching(NamedTuple):
    """What an injector matches with. `precise`: only what is surely about the call counts."""

    store: MemoryStore
    config: InSessionConfig
    graph: GraphMatching | None = None
    precise: bool = False


def match(
    event: VerbEvent, situation: Situation, seen: frozenset[str], by: Matching, check: Callable[[], None]
) -> Matched:
    """`check` raises when nobody waits for the answer any more; it is called between the steps."""
    questions = questions_of(event)
    of_rules = asked_of_rules(event) if by.precise else ()
    if not questions and not of_rules:
        return Matched(reason="nothing_asked")
    found, skipped = _found(event, (*questions, *of_rules), situation, by, check)
    seen |= _own(found, event)
    new = [one for one in found if one.id not in seen]
    refused = {one.id: one.withheld for one in new if one.withheld}
    refused |= situation.refused(one.memory for one in new if not one.withheld)
    check()
    allowed = [one for one in new if one.id not in refused]
    repeated = said_in_full(allowed, [*allowed, *(one for one in found if one.id in seen)])
    allowed = told_disputes([one for one in allowed if one.id not in repeated], seen)
    skipped += [Skipped(one.id, "seen") for one in found if one.id in seen]
    skipped += [Skipped(id, reason) for id, reason in refused.items()]
    skipped += [Skipped(id, "said_by_another") for id in repeated]
    block = _observations(allowed, situation, by.config)
    shown = [(one.id, one.relevance) for one in allowed if one.id in block.memory_ids]
    graph = _graph(event, questions, situation, seen, by, block, shown)
    check()
    return replace(
        block,
        text=join_sections((block.text, graph.block)),  # type: ignore[arg-type]  # both were made by the renderer
        graph=graph,
        questions=(*questions, *of_rules),
        skipped=(*skipped, *block.skipped),
        reason=None if block.text or graph.block else _why_nothing(found, new, allowed, skipped),
    )


def _found(
    event: VerbEvent,
    questions: Sequence[Question],
    situation: Situation,
    by: Matching,
    check: Callable[[], None],
) -> tuple[list[Observation], list[Skipped]]:
    """Everything that reaches the floor after the boost, each memory once with the best of its relevances; and what
    was dropped on the way although it did."""
    path, floor = focal_path(event), by.config.floor
    best: dict[str, Observation] = {}
    every: dict[str, Observation] = {}
    unsure: dict[str, str] = {}
    for question in questions:
        refused = situation.refused if situation.hides else None
        found = by.store.retrieve(situation.scope, _query(question, event, by, refused, floor=floor - BOOST))
        check()
        background = max([background_of(found), *(one.background for one in found)]) if by.precise else 0.0
        for one in _of_scope(boost_by_path_overlap(found, path), event, situation.scope):
            every[one.id] = one
            if one.relevance < floor and question.kind not in OF_RULES:
                continue
            if one.retired:
                unsure[one.id] = "retired"
            elif by.precise and not is_sure(one, question, path=path, background=background, floor=floor):
                unsure.setdefault(one.id, "unsure")
            elif one.id not in best or best[one.id].relevance < one.relevance:
                best[one.id] = one
    best = _overtaking(best, every) | best
    return list(best.values()), [Skipped(id, reason) for id, reason in unsure.items() if id not in best]


def _overtaking(best: Mapping[str, Observation], every: Mapping[str, Observation]) -> dict[str, Observation]:
    """What ends something of the best is as much about the call, in whatever words it says so."""
    pairs = [(every[id], one) for one in best.values() for id in one.overtaken_by if id in every]
    return {new.id: replace(new, relevance=old.relevance) for new, old in pairs if not new.retired}


def _own(found: Iterable[Observation], event: VerbEvent) -> frozenset[str]:
    """What the session itself has told is nothing new to it, unless its own memories are asked for."""
    if event.memory_scope == "session":
        return frozenset()
    return frozenset(one.id for one in found if one.memory.session == event.session)


def _query(
    question: Question, event: VerbEvent, by: Matching, refused: Refused | None, *, floor: float
) -> RetrievalQuery:
    """Not read at all is what cannot reach the floor even with the boost, or cannot stand out where it must."""
    return RetrievalQuery(
        text=question.text,
        limit=CANDIDATES,
        rules=True,
        session=event.session if event.memory_scope == "session" else None,
        namespace=event.memory_namespace,
        all_projects=event.memory_scope == "org",
        types=(RULE, DECISION) if question.kind in OF_RULES else (),
        by_words=question.kind in OF_RULES,  # by which such a rule is told from others, too
        graph=question.kind == QUERY,  # what the graph leads to is about another file
        floor=0.0 if question.kind in OF_RULES else max(0.0, floor),
        margin=floor if by.precise and question.kind == QUERY else None,
        refused=refused,
    )


def _of_scope(found: Iterable[Observation], event: VerbEvent, scope: Scope) -> Iterable[Observation]:
    """Looked at once more: a store that ignores part of the question must not widen it (R-108, R-109)."""
    for one in found:
        is_own = one.memory.project in (None, scope.project) or one.transferred_from is not None
        if _is_asked_for(one.memory, event) and (is_own or event.memory_scope == "org"):
            yield one


def _is_asked_for(memory: Memory, event: VerbEvent) -> bool:
    """Where the event asks for one session's memories, or for those of a namespace, exactly these."""
    session = _said(memory.session, memory.metadata.get("sessionId"))
    if event.memory_scope == "session" and session != event.session:
        return False
    wanted = event.memory_namespace
    return wanted is None or _said(memory.namespace, memory.metadata.get("namespace")) == wanted


def _facts_asked_for(facts: Iterable[GraphFact], event: VerbEvent) -> list[GraphFact]:
    """Facts as the memories that the event asks for let them be seen. One that a person made is of no session and
    of no namespace."""
    if event.memory_scope != "session" and event.memory_namespace is None:
        return list(facts)
    narrowed = (fact.through(lambda memory: _is_asked_for(memory, event)) for fact in facts)
    return [fact for fact in narrowed if fact.witnesses]


def _said(own: str | None, documented: object) -> object:
    return own if own is not None else documented


def _observations(allowed: Sequence[Observation], situation: Situation, config: InSessionConfig) -> Matched:
    ranked = apply_feedback_ranking(
        (Candidate(one.id, one.relevance, one.weight) for one in allowed),
        weighting_enabled=situation.weighting,
        ranking=situation.ranking,
    )
    by_id = {one.id: one for one in allowed}
    ordered = newer_first([by_id[one.id] for one in ranked])
    lines = [(one.id, line_of(one)) for one in ordered[: config.max_suggestions]]
    packed = pack(OBSERVATIONS_HEADING, lines, situation.budget_tokens, most_bytes=situation.most_bytes)
    left_out = [Skipped(id, "over_budget") for id in packed.left_out]
    beyond = [Skipped(one.id, "beyond_limit") for one in ordered[config.max_suggestions :]]
    return Matched(
        packed.text,
        packed.taken,
        observation_tokens=tokens(packed.text),
        beside=named_beside(allowed, packed.taken),
        candidates=_considered(ranked, packed.taken),
        skipped=(*left_out, *beyond),
    )


def line_of(one: Observation) -> SafeText:
    return observation_line(
        one.id,
        one.text,
        one.weight,
        observed=is_observed(one.memory),
        came_from=one.transferred_from,
        disputed_by=one.disputed_by,
        overtaken=not set(one.overtaken_by).isdisjoint(one.disputed_by),
        heard=one.memory.metadata.get("captured") in STATED,
        at=one.memory.at,
    )


def said_in_full(notes: Sequence[Observation], beside: Sequence[Observation]) -> frozenset[str]:
    """The ids of what others beside it say as well: every word of what was asked for, which stands again in what
    was changed for it; or an error that nobody had mended, with what mended it another time. Everything else is
    said for itself."""
    words = {one.id: _told(one) for one in beside}
    mended = {_error(one) for one in beside if one.memory.metadata.get("captured") == "fix"} - {None}
    failed = (one for one in notes if one.memory.metadata.get("captured") == "failure")
    return frozenset(one.id for one in failed if _error(one) in mended) | frozenset(
        one.id
        for one in notes
        if one.text.startswith(ASKED) and len(told := _told(one)) >= SAYS_ENOUGH
        if any(id != one.id and len(other) > len(told) and told in other for id, other in words.items())
    )


def _error(one: Observation) -> tuple[str, ...] | None:
    """With what a command failed; and which one, where any other could fail so (`Error: timeout`)."""
    found = _QUOTED_ERROR.search(one.text)
    if found is None:
        return None
    command, error = found[1], found[2][:LEAST_ERROR]  # beside a fix it may be cut
    is_telling = sum(map(informativeness, query_terms(error))) >= ERROR_SAYS
    return (error,) if is_telling else (command, error)


def _told(one: Observation) -> str:
    return " ".join(one.text.removeprefix(ASKED).split()).rstrip(".")


def told_disputes(observations: Sequence[Observation], seen: Collection[str] = ()) -> list[Observation]:
    """With the conflicts that the reader can follow: both memories may be shown, or the other one was before. A
    memory that may not be shown is not named, so that nobody learns that it is there."""
    known = {one.id for one in observations}.union(seen)
    return [
        replace(one, disputed_by=tuple(id for id in one.disputed_by if id in known)) if one.disputed_by else one
        for one in observations
    ]


def newer_first(ordered: Sequence[Observation]) -> list[Observation]:
    """In this order, but for what a later one contradicts: that stands behind it, and where only one of them finds
    room it is the later one."""
    by_id = {one.id: one for one in ordered if one.disputed_by}
    placed: dict[str, Observation] = {}

    def place(one: Observation) -> None:  # ends: each step leads to what was said later
        for other in (by_id[id] for id in one.disputed_by if id in by_id):
            if other.id not in placed and outdates(other, one):
                place(other)
        placed.setdefault(one.id, one)

    for one in ordered:
        place(one)
    return list(placed.values())


def outdates(one: Observation, other: Observation) -> bool:
    """Whether it contradicts the other and was said later; what an agent says does not outdate the user's word."""
    is_later = (one.memory.at, one.memory.created_at) > (other.memory.at, other.memory.created_at)
    return one.id in other.disputed_by and is_later and (_is_users(one) or not _is_users(other))


def _is_users(one: Observation) -> bool:
    return trust_of_origin(one.memory.origin) == "user"


def named_beside(observations: Sequence[Observation], taken: Collection[str]) -> tuple[str, ...]:
    """The memories that lines of these name as contradicting them without being shown: what becomes of one of them
    changes what the line says."""
    known = {one.id for one in observations}.difference(taken)
    return tuple(
        dict.fromkeys(id for one in observations if one.id in taken for id in one.disputed_by if id in known)
    )


def _considered(ranked: Iterable[RankedCandidate], taken: Sequence[str]) -> tuple[Considered, ...]:
    return tuple(Considered(one, injected=one.id in taken) for one in ranked)


def _graph(
    event: VerbEvent,
    questions: Sequence[Question],
    situation: Situation,
    seen: frozenset[str],
    by: Matching,
    block: Matched,
    shown: Seeds,
) -> GraphContextBlock:
    """In what the observations leave of the budget. The graph is an extra: it fails by itself."""
    if by.graph is None or situation.graph_status != "ok":
        return GraphContextBlock(status=situation.graph_status if by.graph else "no_engine")
    if not block.text and not by.graph.alone:
        return GraphContextBlock(status="no_match")
    left = situation.budget_tokens - block.observation_tokens - (1 if block.text else 0)  # the blank line between
    most = situation.most_bytes - (bytes_of(f"{block.text}\n\n") if block.text else 0)
    ask = partial(matched_triplets, asker=situation.asker, budget_tokens=left, most_bytes=most)
    try:
        facts = by.graph.matcher.match(questions, situation.scope, shown)
        return ask(_facts_asked_for(facts, event), beside=block.memory_ids, seen=seen)
    except Exception:  # whatever goes wrong in the graph, the memories stand by themselves
        return GraphContextBlock(status="error")


def _why_nothing(
    found: Sequence[Observation],
    new: Sequence[Observation],
    allowed: Sequence[Observation],
    skipped: Sequence[Skipped],
) -> str:
    """At which step the last candidate was lost."""
    for some, reason in ((allowed, "over_budget"), (new, "denied"), (found, "seen"), (skipped, "unsure")):
        if some:
            return reason
    return "nothing_found"

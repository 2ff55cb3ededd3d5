"""The block at the start of a session: what is known about its work, within a budget.

In: who works on what, where memories come from, perhaps the graph. Out: one text and what is in it, with a reason
for everything that was found and is not. Steps: retrieve, drop what may not be injected, order by feedback, pack,
then the graph's part. Nothing is written, and the same input gives the same bytes. Neither part takes the other
down: one that fails is left out.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import partial
from random import Random
from typing import Protocol

from clew.guard.render import (
    NO_LIMIT,
    OBSERVATIONS_HEADING,
    SUMMARIES_HEADING,
    Packed,
    bytes_of,
    join_sections,
    pack,
    rendered,
    summary_line,
    tokens,
    without_held,
)
from clew.guard.trust import is_observed
from clew.inject.access import Asker, Decider
from clew.inject.budget import ContextBudgetConfig
from clew.inject.candidates import MemoryStore, RetrievalQuery
from clew.inject.graph_block import build_graph_context_block
from clew.inject.graph_engine import GraphEngine
from clew.inject.match import line_of, named_beside, newer_first, outdates, said_in_full, told_disputes
from clew.learn.explore import draw_of, explore
from clew.learn.rank import apply_feedback_ranking
from clew.model.graph import NodeRef
from clew.model.graph_fact import GraphContextBlock
from clew.model.inject import Block, Considered, Observation, Skipped
from clew.model.learning import Candidate
from clew.model.scope import Identity, Scope
from clew.model.start import SessionSummary
from clew.recall.analyse import query_terms
from clew.recall.common import informativeness
from clew.remember.things import things_in
from clew.values import dataclass

_log = logging.getLogger(__name__)

MAX_SUMMARIES = 2  # rensei.md 2.6
SUMMARY_SHARE = 0.2  # of the observations' budget, and of the bytes
TRUSTED = ("agent", "user")
# Of what was observed (commands that failed, files that were edited): most of it tells of other days, and a tool
# call that needs it gets it then.
MAX_OBSERVED = 3
MAX_DONE = 3  # of what was asked for and changed in other sessions, before the rules that users said
# "Run the tests" (1.1), "continue" (0.7) and "fix it" (0.6) are said in any work. A word that is not common says 1.
LEAST_SAID = 1.3
BELOW_FLOOR = "below_floor"


class Transfer(Protocol):
    """Adds memories of other projects to those of a store."""

    def wrap(self, store: MemoryStore) -> MemoryStore: ...


@dataclass(frozen=True, slots=True)
class GraphOptions:
    """`reason` says why the graph is not enabled, in the words of the injection log."""

    engine: GraphEngine | None
    identity: Identity | None = None
    graph_enabled: bool = True
    reason: str = "graph_off"
    budget_tokens: int = 500
    top_k: int = 10
    neighborhood_depth: int = 2


@dataclass(frozen=True, slots=True)
class Choice:
    """How observations are chosen. Rules lead, as many as `max_rules`; as many again that users said in prompts
    come after what is relevant. The rest needs the relevance `floor` or a thing that the query names, or is what
    the graph leads to from such a one."""

    limit: int = 20
    max_rules: int = 5
    floor: float = 0.0
    weighting_enabled: bool = True
    ranking: str = "weight"
    explore: float = 0.0  # the chance that something hardly tried takes the last place
    hardly_tried: Callable[[str, Sequence[str]], Sequence[str]] | None = None  # which ids of an org are
    held: frozenset[str] = frozenset()  # what the agent has before it already keeps its place and is not said again
    held_lines: frozenset[str] = frozenset()  # the same for facts, by their lines
    held_sessions: frozenset[str] = frozenset()  # the same for what came from these sessions
    goes_on: bool = False  # the agent has a block before it: this one says what that lacks
    most_bytes: int = NO_LIMIT  # of the whole block, where something takes no more
    rules_only: bool = False  # nobody knows yet what the work is about: whatever else is found is chance
    told_only: bool = False  # its words are those of any work: what was observed in other work is chance


@dataclass(frozen=True, slots=True)
class Eligible:
    """What may be shown, in order, with the ranks of all, and what was left out so far. `held` of it is not said
    again, and nothing less important takes its place: otherwise each return to a session would bring more."""

    ordered: tuple[Observation, ...] = ()
    ranks: tuple[Considered, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    held: frozenset[str] = frozenset()


def build_session_memory_block(
    *,
    session_id: str,
    work_type: str | None,
    org_id: str,
    project_id: str | None,
    query_text: str,
    store: MemoryStore,
    cross_project_transfer: Transfer | None = None,
    graph: GraphOptions | None = None,
    user_id: str | None = None,
    identity: Identity | None = None,
    pep: Decider | None = None,
    asker: Asker | None = None,
    budgets: ContextBudgetConfig | None = None,
    budget_tokens: int | None = None,
    summaries: Sequence[SessionSummary] = (),
    choice: Choice | None = None,
) -> Block:
    """`budget_tokens` wins over `budgets`, `asker` over `identity` and `pep`; else the shipped ones decide."""
    scope = Scope(org_id, project_id, user_id, session=session_id)
    identity = identity or (graph.identity if graph else None) or Identity(org_id, user_id, "agent", ())
    asker = asker or Asker.of(identity, scope, pep=pep)
    budget = (
        (budgets or ContextBudgetConfig()).resolve(org_id, work_type) if budget_tokens is None else budget_tokens
    )
    source = cross_project_transfer.wrap(store) if cross_project_transfer else store
    choice = choice or Choice()
    eligible = _eligible(source, scope, query_text, asker, choice, transfers=cross_project_transfer is not None)
    draw = partial(_explored, eligible, choice, org_id, draw_of(session_id, query_text))
    told = [one for one in _allowed_summaries(summaries, asker) if one.session not in choice.held_sessions]
    most = choice.most_bytes
    block = observations_block(eligible, told, budget_tokens=budget, most_bytes=most, explored=draw)
    if choice.goes_on and not block.memory_ids and graph is not None:
        graph = replace(graph, graph_enabled=False, reason="no_match")  # facts are context of what is new
    left = most - (bytes_of(f"{block.text}\n\n") if block.text else 0)
    ask = partial(_with_graph, block, graph, scope=scope, asker=asker, query_text=query_text)
    return ask(held=choice.held_lines, most_bytes=left)


def _eligible(
    store: MemoryStore, scope: Scope, query_text: str, asker: Asker, choice: Choice, *, transfers: bool
) -> Eligible:
    """Retrieve and choose; nothing when that fails, so that the session goes on without."""
    try:
        heard = 0 if choice.rules_only else choice.max_rules
        query = RetrievalQuery(text=query_text, limit=choice.limit, rules=True, heard=heard, refused=asker.refused)
        found = store.retrieve(scope, query)
        named = frozenset(thing.ref for thing in things_in(query_text))
        choice = replace(choice, told_only=_says_little(query_text))
        return choose(found, asker, choice, transfers=transfers, named=named)
    except Exception as error:  # memory is an extra to a session: it starts without
        _log.warning("no observations for a block: retrieval failed: %s", type(error).__name__)
        return Eligible(held=choice.held)


def choose(
    found: Sequence[Observation],
    asker: Asker,
    choice: Choice,
    *,
    transfers: bool = False,
    named: Collection[NodeRef] = (),
) -> Eligible:
    """Of what was found, what may be shown, best first. Rows of other projects only where transfers were asked for:
    about those the transfer's own policy has decided, about everything else in them the ordinary ones do."""
    distinct: dict[str, Observation] = {}
    for one in found:
        distinct.setdefault(one.id, one)
    observations = list(distinct.values())
    about = {one.id for one in observations if _is_about(one, choice, named)}
    kept, reasons = allowed(observations, asker, choice, about, transfers=transfers)
    by_rank, ranks = ranked(told_disputes(kept, seen=choice.held), choice)
    ordered = in_order(by_rank, about)
    reasons |= capped(ordered, choice)
    skipped = tuple(Skipped(one.id, reasons[one.id]) for one in observations if one.id in reasons)
    return Eligible(tuple(one for one in ordered if one.id not in reasons), ranks, skipped, choice.held)


def allowed(
    observations: Sequence[Observation], asker: Asker, choice: Choice, about: Collection[str], *, transfers: bool
) -> tuple[list[Observation], dict[str, str]]:
    """What may be shown, and of everything else why not, by id."""
    reasons = {one.id: reason for one in observations if (reason := _why_not(one, choice, about))}
    asked = [one for one in observations if one.id not in reasons]
    is_moved = {one.id: transfers and one.transferred_from is not None for one in asked}
    reasons |= asker.refused(one.memory for one in asked if not is_moved[one.id])
    reasons |= asker.in_whole_org().refused(one.memory for one in asked if is_moved[one.id])
    kept = [one for one in asked if one.id not in reasons]
    back = _outdating(kept, [one for one in observations if reasons.get(one.id) == BELOW_FLOOR], asker)
    kept += back
    for one in back:
        del reasons[one.id]
    reasons |= dict.fromkeys(said_in_full(kept, kept), "said_by_another")
    return [one for one in kept if one.id not in reasons], reasons


def in_order(by_rank: Sequence[Observation], about: Collection[str]) -> list[Observation]:
    """What was only heard and is not about the work comes late, the newest first; so does most of what is done."""
    is_near = {one.id: not one.heard or one.id in about or _is_rule(one) for one in by_rank}
    near = [one for one in by_rank if is_near[one.id]]
    far = [one for one in by_rank if not is_near[one.id]]
    done = [one for one in near if _is_of_past_work(one)][MAX_DONE:]
    first = [one for one in near if one not in done]
    return newer_first([*first, *sorted(far, key=lambda one: one.memory.at, reverse=True), *done])


def capped(ordered: Sequence[Observation], choice: Choice) -> dict[str, str]:
    """Which are beyond the most of their sort, and why, by id."""
    rules = [one.id for one in ordered if _is_rule(one)]
    observed = [one.id for one in ordered if is_observed(one.memory)]
    too_many = dict.fromkeys(rules[choice.max_rules :], "too_many_rules")
    return too_many | dict.fromkeys(observed[MAX_OBSERVED:], "too_many_observed")


def _outdating(kept: Sequence[Observation], far: Sequence[Observation], asker: Asker) -> list[Observation]:
    """What is only too far from the question, and contradicts what is told: that must not stand alone."""
    found: list[Observation] = []
    while told := [one for one in (*kept, *found) if one.disputed_by]:
        new = [one for one in far if one not in found and any(outdates(one, other) for other in told)]
        refused = asker.refused(one.memory for one in new)
        if not (allowed := [one for one in new if one.id not in refused]):
            break
        found += allowed
    return found


def ranked(observations: Sequence[Observation], choice: Choice) -> tuple[list[Observation], tuple[Considered, ...]]:
    """Rules before the rest, each by feedback; both ranks count through the whole list."""
    ordered: list[Observation] = []
    ranks: list[Considered] = []
    for are_rules in (True, False):
        part = {one.id: one for one in observations if _is_rule(one) is are_rules}
        candidates = [Candidate(one.id, one.relevance, one.weight) for one in part.values()]
        found = apply_feedback_ranking(
            candidates, weighting_enabled=choice.weighting_enabled, ranking=choice.ranking
        )
        before = len(ranks)
        ordered += [part[one.id] for one in found]
        ranks += [
            Considered(
                replace(one, unweighted_rank=one.unweighted_rank + before, weighted_rank=one.weighted_rank + before)
            )
            for one in found
        ]
    return ordered, tuple(ranks)


def observations_block(
    eligible: Eligible,
    summaries: Sequence[SessionSummary] = (),
    *,
    budget_tokens: int,
    most_bytes: int = NO_LIMIT,
    explored: Callable[[Sequence[str]], tuple[list[str], str | None]] | None = None,
) -> Block:
    """What fits, in order; summaries take their small share first, so that both together keep the budget."""
    summed = _summaries_section(summaries, budget_tokens, most_bytes)
    after = f"\n\n{summed.text}" if summed.taken else ""
    fitting = partial(pack, OBSERVATIONS_HEADING, most_bytes=most_bytes - bytes_of(after))
    left = budget_tokens - tokens(after)
    lines = {one.id: line_of(one) for one in eligible.ordered}
    packed = fitting(list(lines.items()), left)
    ids, tried = explored(packed.taken) if explored else (list(packed.taken), None)
    if tried:
        other = fitting([(id, lines[id]) for id in ids], left)
        packed, tried = (other, tried) if tried in other.taken else (packed, None)
    packed, summed = (without_held(part, eligible.held) for part in (packed, summed))
    text = join_sections((packed.text, summed.text))
    return Block(
        text=text,
        tokens=tokens(text),
        budget_tokens=budget_tokens,
        memory_ids=packed.taken,
        skipped=(*eligible.skipped, *(_left_out(id, eligible.held) for id in lines if id not in packed.taken)),
        session_summary_ids=summed.taken,
        source_ids=named_beside(eligible.ordered, packed.taken),
        observation_tokens=tokens(text),
        candidates=tuple(_marked(one, packed.taken, tried) for one in eligible.ranks),
        sections=(packed.text, summed.text),
    )


def _left_out(id: str, held: Collection[str]) -> Skipped:
    return Skipped(id, "held" if id in held else "over_budget")


def _explored(
    eligible: Eligible, choice: Choice, org: str, random: Random, taken: Sequence[str]
) -> tuple[list[str], str | None]:
    """Never in the place of a rule, and only what may be shown anyway."""
    others = [one.id for one in eligible.ordered if not _is_rule(one)]
    is_drawn = choice.explore and not choice.goes_on
    if not is_drawn or choice.hardly_tried is None or not taken or taken[-1] not in others:
        return list(taken), None
    return explore(taken, choice.hardly_tried(org, others), choice.explore, random)


def _marked(one: Considered, taken: Sequence[str], tried: str | None) -> Considered:
    return replace(one, injected=one.ranked.id in taken, explored=one.ranked.id == tried)


def _with_graph(
    block: Block,
    graph: GraphOptions | None,
    *,
    scope: Scope,
    asker: Asker,
    query_text: str,
    held: Collection[str] = (),
    most_bytes: int = NO_LIMIT,
) -> Block:
    if graph is None or graph.engine is None:
        return replace(block, graph_status="no_engine")
    if not graph.graph_enabled:
        return replace(block, graph_status=graph.reason, graph_budget_tokens=graph.budget_tokens)
    # The blank line between the parts is paid by the first; by the second, if the first has nothing left for it.
    is_full = bool(block.text) and len(block.text) + 2 > 4 * block.budget_tokens
    found = build_graph_context_block(
        identity=asker.identity,
        scope=scope,
        engine=graph.engine,
        query_text=query_text,
        budget_tokens=max(0, graph.budget_tokens - is_full),
        top_k=graph.top_k,
        neighborhood_depth=graph.neighborhood_depth,
        asker=asker,
        held=held,
        most_bytes=most_bytes,
    )
    return joined(block, found, graph_budget_tokens=graph.budget_tokens)


def joined(block: Block, found: GraphContextBlock, *, graph_budget_tokens: int) -> Block:
    """Observations first, the graph second, past sessions last."""
    observations, summaries = block.sections or ("", "")
    text = join_sections(rendered(part) for part in (observations, found.block, summaries))
    return replace(
        block,
        text=text,
        tokens=tokens(text),
        graph_node_ids=found.node_ids,
        graph_edge_keys=found.edge_keys,
        triplets=found.triplets,
        source_ids=(*block.source_ids, *found.source_ids),
        skipped=(*block.skipped, *found.skipped),
        graph_budget_tokens=graph_budget_tokens,
        graph_tokens=found.actual_tokens,
        graph_status=found.status,
    )


def _says_little(query_text: str) -> bool:
    says = [informativeness(term) for term in query_terms(query_text)]
    return sum(says) < LEAST_SAID and max(says, default=0) < 1


def _is_about(one: Observation, choice: Choice, named: Collection[NodeRef]) -> bool:
    """A memory about a ticket, file or service that the work item names is about it, however many other words that
    has: of a long query a single name covers too little to reach the floor by words alone."""
    if one.relevance >= choice.floor:
        return True
    text = " ".join((one.memory.title or "", one.memory.content, *one.memory.paths))
    return bool(named) and any(thing.ref in named for thing in things_in(text))


def _why_not(one: Observation, choice: Choice, about: Collection[str]) -> str:
    """What the graph leads to from something that is not about the work is chance."""
    if one.retired:
        return "retired"
    if one.withheld:
        return one.withheld
    if one.memory.session in choice.held_sessions:
        return "held"
    if choice.rules_only and not _is_rule(one):
        return BELOW_FLOOR
    if choice.told_only and is_observed(one.memory):
        return BELOW_FLOOR
    is_led = one.led_by in about and not choice.told_only
    return "" if _is_rule(one) or one.heard or one.id in about or is_led else BELOW_FLOOR


def _is_of_past_work(one: Observation) -> bool:
    return is_observed(one.memory) or one.memory.metadata.get("captured") == "task"


def _is_rule(one: Observation) -> bool:
    """A rule of another project is advice here."""
    return one.memory.layer == "rule" and one.transferred_from is None


def _allowed_summaries(summaries: Sequence[SessionSummary], asker: Asker) -> list[SessionSummary]:
    trusted = [one for one in summaries if one.trust in TRUSTED]
    try:
        allowed = asker.may([one.resource for one in trusted])
    except Exception as error:  # fails closed: what could not be decided is not told
        _log.warning("no summaries for a block: policies could not be asked: %s", type(error).__name__)
        return []
    return [one for one, may in zip(trusted, allowed, strict=True) if may]


def _summaries_section(summaries: Sequence[SessionSummary], budget_tokens: int, most_bytes: int) -> Packed[str]:
    lines = [(one.id, summary_line(one.id, one.issue or "", one.outcome or "", one.text)) for one in summaries]
    budget, most = int(budget_tokens * SUMMARY_SHARE), int(most_bytes * SUMMARY_SHARE)
    return pack(SUMMARIES_HEADING, lines[:MAX_SUMMARIES], budget, most_bytes=most)

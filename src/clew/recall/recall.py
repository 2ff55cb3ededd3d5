"""Recall: a question in, memories out, each with the reasons it is there.

In: a query, what the caller may see, options. Out: rules, then up to three working memories, then long-term
ones, and a trace of what was left out where. Nothing is written, so running it twice answers the same.
"""

from __future__ import annotations

import time
from dataclasses import field, replace
from itertools import chain, islice
from math import isfinite
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from clew.errors import InvalidInput
from clew.lazy import LazyModule
from clew.model.kinds import check_given
from clew.model.memory import TYPES, Memory
from clew.model.recalled import (
    MODES,
    RETRIEVALS,
    GraphWay,
    Recalled,
    RecallOptions,
    Removed,
    Result,
    Stage,
    Trace,
)
from clew.model.times import zoned
from clew.recall.among import are_among
from clew.recall.choose import choose, rounded, stage
from clew.recall.counted import metric_of
from clew.recall.disk import corpus_of_candidates, with_asked_for, with_memories
from clew.recall.disputed import Disputed
from clew.recall.explain import reasons, shown
from clew.recall.fuse import Evidence, fuse, rank_scores
from clew.recall.graph import GraphOptions, Reached, apply_activation, note_failure, reach_through
from clew.recall.holding import Condition, held, times, without
from clew.recall.lexical import Matches, asked_of, score_terms
from clew.recall.plan import Plan, plan
from clew.recall.question import Asked, in_words, read_question
from clew.recall.ranker import LEAST, RankOptions, is_refined, refine
from clew.recall.run import Run
from clew.recall.settle import Rough, estimated, make_exact, settle, spread_of
from clew.rollout.standing import CANARY, Standing
from clew.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import datetime

    from numpy.typing import NDArray

    from clew.model.rollout import Metric
    from clew.model.scope import Reach
    from clew.ports import Embedder, Store, Tx
    from clew.recall import disputes
    from clew.recall.corpus import Corpora, Corpus
    from clew.recall.graphs import Graphs

    Refused = Callable[[Sequence[Memory]], Mapping[str, str]]  # ids of what may not be told, with the reasons
else:
    disputes = LazyModule("clew.recall.disputes")  # where nothing contradicts anything, nobody needs it

MAX_QUERY_CHARS = 8_000  # beyond this a query is a document; its beginning says what it is about
MAX_LIMIT = 1_000
MAX_CHOICES = 7  # as often others are chosen for what may not be told, each time twice as many: 2,540 of 20
MAX_LOOKED_AT = 5_000  # memories, for whoever asks for many
MAX_WITHHELD = 400  # that are named to whoever says why something is left out


@dataclass(frozen=True, slots=True)
class Reader:
    """What recall reads from. Built once. `standing` says how far the graph is rolled out for a reach, `count`
    takes what the rollout is judged by."""

    store: Store
    corpora: Corpora
    embedder: Embedder | None
    graphs: Graphs
    rules_limit: int = 50
    minimal_limit: int = 4
    planner: bool = True
    broad_intent: bool = True
    graph: GraphOptions = field(default_factory=GraphOptions)
    rank: RankOptions = field(default_factory=RankOptions)
    standing: Callable[[Reach, datetime], Standing] = lambda _reach, _now: CANARY
    count: Callable[[Metric], None] | None = None
    disputed: Disputed = field(default_factory=Disputed)


def recall(query: str, reach: Reach, options: RecallOptions, *, reader: Reader, now: datetime) -> Recalled:
    return recall_and_run(query, reach, options, reader=reader, now=now)[0]


def recall_and_run(
    query: str,
    reach: Reach | Callable[[], Reach],
    options: RecallOptions,
    *,
    reader: Reader,
    now: datetime,
    refused: Callable[[], Refused | None] = lambda: None,
) -> tuple[Recalled, Run | None]:
    """The answer, and the run behind it for those who keep a snapshot; None when nothing was searched. What is
    `refused` to whoever asks takes no place of what is not; that is asked for once the reach is known."""
    planned = plan_recall(query, options, reader)
    if planned.effective == "no_recall":  # not even a look at the store, nor at what may be seen of it
        return Recalled([], Trace((), {"plan": _plan_note(planned)})), None
    reach = reach() if callable(reach) else reach
    began = time.perf_counter()
    run = search(query, reach, options, reader=reader, now=now, planned=planned, exact=False)
    if not_for_them := refused():
        _withhold(run, reader, reach, not_for_them)
    started, version = time.perf_counter(), reader.store.data_version()
    with reader.store.read() as tx:
        try:
            ways = _ways(tx, run)
        except Exception as error:  # the graph is an extra: what it led to cannot be told, so it is left out
            run, ways = _without_graph(run, error, reader, started), {}
        memories = tx.memories.at_rows(reach, run.corpus.row[run.chosen].tolist())
        is_disputed = reader.disputed.any_of(tx, reach.org, memories, version)
        conflicts = disputes.among(tx, reach, list(memories), now) if is_disputed else ()
    results = _results(run, memories, ways)
    run.stages.append(stage("read", len(run.chosen), len(results), started=started))
    _count(run, reader, began)
    return Recalled(results, Trace(tuple(run.stages), run.notes), conflicts), run


class Found(NamedTuple):
    """A result without its reasons."""

    memory: Memory
    relevance: float
    led_by: str | None  # the memory from which one step of the graph led to it
    disputed_by: tuple[str, ...] = ()  # those that cannot be current if it is; not all of them may be named
    withheld: str = ""  # why it may not be told to whoever asks


def find(
    query: str,
    reach: Reach,
    options: RecallOptions,
    *,
    reader: Reader,
    now: datetime,
    margin: float | None = None,
    refused: Refused | None = None,
) -> tuple[list[Found], float]:
    """What a recall finds before its last look, for those who show no reasons and order by relevance: an injector
    asks twice per tool call. And what the question finds anyway: the relevance of the last of as many as were
    asked for. Read is only what reaches the floor, rules too, and with a `margin` only what lies so far above.
    What is never told unasked takes no place of what is, nor does what is `refused` to whoever asks: it comes on
    top, for whoever says why it is left out."""
    began = time.perf_counter()
    run = search(query, reach, options, reader=reader, now=now, exact=False, refined=False, names_read=False)
    _count(run, reader, began)
    untold = _set_apart(run, reader)
    withheld = _withhold(run, reader, reach, refused) if refused else {}
    untold += withheld
    scores = [round(float(score), 6) for score in run.relevance[run.chosen]]
    best = sorted(scores, reverse=True)
    background = best[options.limit - 1] if len(best) >= options.limit else 0.0
    least = options.floor if margin is None else max(options.floor, background + margin)
    places = [*run.chosen, *untold]
    scores += [round(float(score), 6) for score in run.relevance[untold]]
    wanted = [(run.corpus.ids[at], at, score) for at, score in zip(places, scores, strict=True) if score >= least]
    if not wanted:
        return [], background
    version = reader.store.data_version()
    with reader.store.read() as tx:
        memories = tx.memories.at_rows(reach, run.corpus.row[[at for _id, at, _score in wanted]].tolist())
        is_disputed = reader.disputed.any_of(tx, reach.org, memories, version)
        others = disputes.others_of(tx, reach, list(memories), now) if is_disputed else {}
    found = [
        Found(memories[id], score, _seed(run, at), others.get(id, ()), withheld.get(at, ""))
        for id, at, score in wanted
        if id in memories
    ]
    return found, background


def _seed(run: Run, at: int) -> str | None:
    """Of one step: in two or three everything is near everything, by way of what many memories name."""
    reached = run.reached.get(at)
    return reached.seed if reached and reached.by.hop == 1 else None


def _set_apart(run: Run, reader: Reader) -> list[int]:
    """What was chosen and is never told unasked; others are chosen in its place. Anybody can have a web page say
    much about something, and nobody shall keep an agent from what is known by that."""
    untold = [at for at in run.chosen if run.corpus.untold[at]]
    if untold:
        run.allowed = run.allowed & ~run.corpus.untold
        choose(run, reader.rules_limit, time.perf_counter())
    return untold


def _withhold(run: Run, reader: Reader, reach: Reach, refused: Refused) -> dict[int, str]:
    """What was chosen and is refused, with the reasons; others are chosen in its place, as often as that may be.
    Each time twice as many are looked at, so that much of what is refused does not take long."""
    reasons: dict[int, str] = {}
    known: set[int] = set()
    for round_ in range(1, MAX_CHOICES + 1):
        new = [at for at in run.chosen if at not in known]
        known.update(new)
        with reader.store.read() as tx:
            memories = tx.memories.at_rows(reach, run.corpus.row[new].tolist()) if new else {}
        told = refused(list(memories.values())) if memories else {}
        found = {at: told[run.corpus.ids[at]] for at in new if run.corpus.ids[at] in told}
        if not found:
            break
        reasons |= found
        run.allowed = run.allowed.copy()
        run.allowed[list(found)] = False
        if run.options.limit * 2**round_ > MAX_LOOKED_AT:
            break
        choose(run, reader.rules_limit, time.perf_counter(), times=2**round_)
    if reasons:
        choose(run, reader.rules_limit, time.perf_counter())
    return dict(islice(reasons.items(), MAX_WITHHELD))


def _count(run: Run, reader: Reader, began: float) -> None:
    if run.options.counted and reader.count:
        reader.count(metric_of(run, (time.perf_counter() - began) * 1000))


def plan_recall(query: str, options: RecallOptions, reader: Reader) -> Plan:
    """An explicit recall is never planned away, and walks the graph from a single seed: the planner, and what an
    assisted recall needs, are for those who ask by a plan."""
    if not isinstance(query, str):
        raise InvalidInput(
            f"a query is text, not {type(query).__name__}", code="RECALL_QUERY_INVALID", next="ask in words"
        )
    return plan(
        query,
        planner=reader.planner,
        broad_intent=reader.broad_intent,
        graph_recall=reader.graph.recall,
        graph_write=reader.graph.write,
        limit=options.limit,
        minimal_limit=reader.minimal_limit,
        mode=options.plan or "graph_mode",
    )


def _plan_note(planned: Plan) -> dict[str, object]:
    note: dict[str, object] = {"planned": planned.planned, "effective": planned.effective}
    return note | ({"reason": planned.reason} if planned.reason else {})


def search(
    query: str,
    reach: Reach,
    options: RecallOptions,
    *,
    reader: Reader,
    now: datetime,
    planned: Plan | None = None,
    exact: bool = True,
    refined: bool = True,
    names_read: bool = True,
) -> Run:
    """Every stage up to the choice; `why` looks at the arrays it leaves behind, at any place of them. Where only
    what is chosen will be looked at, the others may keep estimates. The last look can be left out, and with it
    that names of authors are read as such."""
    check(options)
    planned = planned or plan_recall(query, options, reader)
    text = query[:MAX_QUERY_CHARS].replace("\x00", " ")
    notes: dict[str, object] = {"retrieval": options.retrieval}
    if options.plan:
        notes["plan"] = _plan_note(planned)
    if len(query) > MAX_QUERY_CHARS:
        notes["query_cut_to"] = MAX_QUERY_CHARS
    started = time.perf_counter()
    corpus = reader.corpora.get(reach)
    named = corpus.named if names_read and corpus and _reads_names(corpus, options, reader) else {}
    asked = read_question(text, named)
    said = in_words(asked.text, with_keys=options.retrieval == "semantic")
    vector = _query_vector(said, options, reader.embedder, notes)
    if corpus is None:
        corpus = corpus_of_candidates(asked.text, vector, reach, reader, notes)
        corpus = with_asked_for(corpus, options, reach, reader, now)
    if options.limit != max(1, planned.limit):
        options = replace(options, limit=max(1, planned.limit))
    question = Question(text, asked, reach, options, now, vector, exact)
    run = score(question, corpus, notes, reader, started)
    run = _through_graph(run, planned, question, reader, started)
    run.asked = asked
    if refined:
        _refine(run, reader)
    choose(run, reader.rules_limit, time.perf_counter())
    return run


def _reads_names(corpus: Corpus, options: RecallOptions, reader: Reader) -> bool:
    """Whether the name of an author becomes a reason of its own; if not, it stays a word like any other."""
    has_model = options.retrieval == "hybrid" and reader.embedder is not None
    return reader.rank.refine and reader.rank.authors and has_model and corpus.living >= LEAST


def _refine(run: Run, reader: Reader) -> None:
    if run.asked is None or not reader.rank.refine or not is_refined(run):
        return
    started, found = time.perf_counter(), run.rank_score.copy()
    try:
        refine(run, run.asked, reader.rank)
    except Exception as error:  # an extra: the order without it is the answer
        run.rank_score = found
        run.notes["refinement"] = f"failed: {getattr(error, 'code', type(error).__name__)}"
    looked_at = 0 if run.refined is None else len(run.refined)
    run.stages.append(stage("refine", looked_at, looked_at, started=started))


def _through_graph(seen: Run, planned: Plan, asked: Question, reader: Reader, started: float) -> Run:
    """The run with what the graph adds; where only candidates were loaded, with what it led to as well."""
    standing = reader.standing(asked.reach, asked.now)
    found = reach_through(seen, planned, reader.graphs, reader.graph, standing)
    try:
        return _with_found(seen, found, asked, reader, started)
    except Exception as error:  # an extra: whatever goes wrong in it, the baseline is the answer
        note_failure(seen, error)
        return seen


def _with_found(seen: Run, found: list[Reached], asked: Question, reader: Reader, started: float) -> Run:
    run = seen
    if found and seen.corpus.size is not None:
        corpus = with_memories(seen.corpus, [reached.memory for reached in found], asked.reach, reader)
        run = score(asked, corpus, seen.notes, reader, started)
        run.stages.append(seen.stages[-1])
        run.seeds, run.stage, run.decision = seen.seeds, seen.stage, seen.decision
    if found and run.rough is not None:
        places = run.corpus.places_of([reached.memory for reached in found]).values()
        make_exact(run, np.fromiter(places, np.intp))
    apply_activation(run, found, reader.graph)
    if seen.decision and seen.decision.shadow:  # what was fetched for the comparison is not in the answer
        seen.stages[-1], seen.expanded = run.stages[-1], run.expanded
        return seen
    return run


def _without_graph(run: Run, error: Exception, reader: Reader, started: float) -> Run:
    """The same question once more, when it turns out late that the graph fails."""
    rank_score = _weighted(rank_scores(run.evidence, run.allowed, run.scales), run.corpus)
    again = replace(run, rank_score=rank_score, reached={}, expanded=[], chosen=[], refined=None, brought={})
    note_failure(again, error)
    _refine(again, reader)
    choose(again, reader.rules_limit, started)
    return again


class Question(NamedTuple):
    """What is asked, by whom, and as a vector."""

    text: str
    asked: Asked
    reach: Reach
    options: RecallOptions
    now: datetime
    vector: NDArray[np.float32] | None
    exact: bool = True


def score(asked: Question, corpus: Corpus, notes: dict[str, object], reader: Reader, started: float) -> Run:
    """Evidence, filters and both numbers for every memory of the corpus."""
    evidence, matches, rough = gather(corpus, asked)
    gathered = time.perf_counter()
    allowed, (into, removed) = filter_memories(
        corpus, asked.options, reach=asked.reach, reader=reader, now=asked.now
    )
    filtered = time.perf_counter()
    space = reader.embedder.space if reader.embedder else None
    fused = fuse(evidence, allowed, corpus, space, spread_of(rough, corpus, allowed) if rough else None)
    stages = [
        Stage("gather", corpus.count, fused.found, (), (gathered - started) * 1000),
        Stage("filter", into, fused.allowed, tuple(removed), (filtered - gathered) * 1000),
    ]
    run = Run(
        query=asked.text,
        reach=asked.reach,
        options=asked.options,
        now=asked.now,
        corpus=corpus,
        evidence=evidence,
        matches=matches,
        allowed=allowed,
        words=fused.words,
        meaning=fused.meaning,
        relevance=fused.relevance,
        rank_score=fused.rank_score,
        scales=fused.scales,
        space=space,
        stages=stages,
        notes=notes,
        rough=rough,
    )
    if rough is not None:
        settle(run, limit=max(asked.options.limit, reader.graph.max_seeds))
    _note_coverage(run, asked.vector)
    return run


def _weighted(scores: NDArray[np.float32], corpus: Corpus) -> NDArray[np.float32]:
    return scores if corpus.weights is None else scores * corpus.weights


_NUMBERS = {"limit": "int", "floor": "float"}


def check(options: RecallOptions) -> None:
    for name, value, known in (("mode", options.mode, MODES), ("retrieval", options.retrieval, RETRIEVALS)):
        if value not in known:
            raise InvalidInput(
                f"'{value[:40]}' is not a {name}",
                code="RECALL_OPTION_INVALID",
                next=f"choose: {', '.join(known)}",
            )
    check_given({"limit": options.limit, "floor": options.floor}, _NUMBERS)
    if not 1 <= options.limit <= MAX_LIMIT:
        raise InvalidInput(
            f"limit {str(options.limit)[:20]} is out of range",
            code="RECALL_LIMIT_INVALID",
            next=f"ask for 1 to {MAX_LIMIT}",
        )
    if not isinstance(options.floor, int | float) or not 0 <= options.floor <= 1:
        raise InvalidInput(
            "the floor is out of range", code="RECALL_OPTION_INVALID", next="give the least relevance, 0 to 1"
        )
    zoned("as_of", options.as_of)
    unknown = [name for name in options.types if name not in TYPES]
    if unknown:
        raise InvalidInput(
            f"'{unknown[0][:40]}' is not a type",
            code="MEMORY_TYPE_INVALID",
            next=f"choose: {', '.join(TYPES)}",
        )


def gather(corpus: Corpus, asked: Question) -> tuple[Evidence, Matches, Rough | None]:
    """By words and by meaning; where the cosines are estimates, with what makes them exact."""
    terms, keys = asked_of(asked.asked.text if asked.options.retrieval != "semantic" else "")
    (score, covered, matches), vector = score_terms(corpus, terms, keys), asked.vector
    if vector is None:
        return Evidence(score, covered, np.zeros(len(corpus.ids), np.float32)), matches, None
    outline = None if asked.exact or corpus.size is not None else corpus.segments[0].outline()
    if outline is not None:
        rough = estimated(corpus, outline, vector)
        return Evidence(score, covered, rough.cosine), matches, rough
    found = [segment.vectors.cosines(vector) for segment in corpus.segments]
    return Evidence(score, covered, found[0] if len(found) == 1 else np.concatenate(found)), matches, None


def filter_memories(
    corpus: Corpus, options: RecallOptions, *, reach: Reach, reader: Reader, now: datetime, only: str = ""
) -> tuple[NDArray[np.bool_], tuple[int, list[Removed]]]:
    """What may be answered at all, and what was taken out for which reason, in this order.
    `only` follows a single memory."""
    if only:
        alone = corpus.alive & np.fromiter((id == only for id in corpus.ids), np.bool_, len(corpus.ids))
        into = int(np.count_nonzero(alone))
        conditions = chain(times(corpus, options, now), _conditions(corpus, options, reach, reader))
        allowed, removed = without(corpus, alone, conditions)
        return allowed, (into, removed)
    kept = held(corpus, options, now)
    if not (options.types or _asks_store(options)):
        return kept.allowed, (corpus.living, list(kept.removed))
    allowed, removed = without(corpus, kept.allowed.copy(), _conditions(corpus, options, reach, reader))
    return allowed, (corpus.living, [*kept.removed, *removed])


def _asks_store(options: RecallOptions) -> bool:
    return bool(options.tags or options.agent or options.session or options.namespace)


def _conditions(corpus: Corpus, options: RecallOptions, reach: Reach, reader: Reader) -> Iterable[Condition]:
    """What the caller asks for beside what holds."""
    if options.types:
        wanted = [TYPES.index(name) for name in options.types]
        yield "type", are_among(corpus.type, np.array(wanted, np.int8))
    if _asks_store(options):
        with reader.store.read() as tx:
            ids = set(
                tx.index.ids_matching(
                    reach,
                    tags=options.tags,
                    agent=options.agent,
                    session=options.session,
                    namespace=options.namespace,
                )
            )
        yield "filter", np.fromiter((id in ids for id in corpus.ids), np.bool_, len(corpus.ids))


def _query_vector(
    text: str, options: RecallOptions, embedder: Embedder | None, notes: dict[str, object]
) -> NDArray[np.float32] | None:
    """None when words alone must do; the notes say why."""
    if options.retrieval == "lexical" or not text.strip():
        return None
    if embedder is None:
        notes["semantic"] = "query_embedding_unavailable"
        return None
    try:
        vector = np.ascontiguousarray(embedder.embed([text])[0], np.float32)
        squares = float(np.vecdot(vector, vector))  # tells both: whether it is a vector, and has a length
    except Exception as error:  # a plug-in and an extra: whatever it raises, words answer
        notes["semantic"] = "query_embedding_unavailable"
        notes["semantic_error"] = getattr(error, "code", type(error).__name__)
        return None
    if not isfinite(squares) or len(vector) != embedder.space.dim:
        notes["semantic"] = "query_embedding_unavailable"
        return None
    return vector if squares else None


def _note_coverage(run: Run, vector: NDArray[np.float32] | None) -> None:
    if vector is None or not len(run.corpus.ids):
        return
    with_vector = run.corpus.with_vector
    if with_vector < run.corpus.living:
        run.notes["semantic"] = "partial_vector_coverage" if with_vector else "vectors_unavailable"
        run.notes["vectors"] = with_vector


def _ways(tx: Tx, run: Run) -> dict[int, GraphWay]:
    """What led to the chosen memories, in words."""
    found = {at: run.reached[at] for at in run.chosen if at in run.reached}
    if not found:
        return {}
    led = {at: reached.by for at, reached in found.items()}
    rows = {node for by in led.values() for node in by.path}
    names = {row: node.name for row, node in tx.graph.described(run.reach.org, rows).items()}
    return {
        at: GraphWay(
            seed=found[at].seeds[by.seed],
            path=tuple(names[node] for node in by.path),
            edge_confidences=by.edge_confidences,
            edge_type=by.type,
            hop_count=by.hop,
            activation=by.score,
            confidence=by.edge_confidence,
        )
        for at, by in led.items()
        if names.keys() >= set(by.path)  # one that was forgotten meanwhile leaves no way
    }


def _results(run: Run, memories: dict[str, Memory], ways: dict[int, GraphWay]) -> list[Result]:
    found = [at for at in run.chosen if run.corpus.ids[at] in memories]
    scores = rounded(run.rank_score[found].tolist())
    relevance = shown(run.relevance[found].tolist())
    return [
        Result(memories[run.corpus.ids[at]], relevant, score, rank, why, ways.get(at))
        for rank, (at, relevant, score, why) in enumerate(
            zip(found, relevance, scores, reasons(run, found), strict=True), 1
        )
    ]

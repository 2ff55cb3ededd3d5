"""Recall: a question in, memories out, each with the reasons it is there.

In: a query, what the caller may see, options. Out: rules, then up to three working memories, then long-term
ones, and a trace of what was left out where. Nothing is written, so running it twice answers the same.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from clew.errors import ClewError, InvalidInput
from clew.model.memory import LAYERS, TYPES, Memory
from clew.model.recalled import MODES, RETRIEVALS, Recalled, RecallOptions, Removed, Result, Stage, Trace, Why
from clew.model.scope import Reach
from clew.model.times import to_micros
from clew.ports import Embedder, Store
from clew.recall.analyse import query_terms
from clew.recall.corpus import Corpora, Corpus
from clew.recall.disk import corpus_of_candidates
from clew.recall.fuse import Evidence, lexical_relevance, rank_scores, relevance, semantic_relevance
from clew.recall.lexical import score_terms

MAX_QUERY_CHARS = 8_000  # beyond this a query is a document; its beginning says what it is about
MAX_LIMIT = 1_000
MAX_WORKING = 3
MAX_TRACED_IDS = 20

RULE, WORKING, LONG_TERM = (LAYERS.index(name) for name in ("rule", "working", "long_term"))


@dataclass(frozen=True, slots=True)
class Reader:
    """What recall reads from. Built once."""

    store: Store
    corpora: Corpora
    embedder: Embedder | None
    rules_limit: int = 50


@dataclass(slots=True, eq=False)
class Run:
    """One recall under way: the arrays each stage leaves to the next, aligned with the corpus."""

    query: str
    reach: Reach
    options: RecallOptions
    now: datetime
    corpus: Corpus
    evidence: Evidence
    allowed: NDArray[np.bool_]
    relevance: NDArray[np.float32]
    rank_score: NDArray[np.float32]
    chosen: list[int]
    stages: list[Stage]
    notes: dict[str, object]


def recall(query: str, reach: Reach, options: RecallOptions, *, reader: Reader, now: datetime) -> Recalled:
    run = search(query, reach, options, reader=reader, now=now)
    started = time.perf_counter()
    with reader.store.read() as tx:
        memories = tx.memories.get_many(reach, [run.corpus.ids[at] for at in run.chosen])
    results = _results(run, memories, reader.embedder)
    run.stages.append(_stage("read", len(run.chosen), len(results), started=started))
    return Recalled(results, Trace(tuple(run.stages), run.notes))


def search(query: str, reach: Reach, options: RecallOptions, *, reader: Reader, now: datetime) -> Run:
    """Every stage up to the choice; `why` looks at the arrays it leaves behind."""
    check(options)
    text = query[:MAX_QUERY_CHARS].replace("\x00", " ")
    notes: dict[str, object] = {"retrieval": options.retrieval}
    if len(query) > MAX_QUERY_CHARS:
        notes["query_cut_to"] = MAX_QUERY_CHARS
    started = time.perf_counter()
    vector = _query_vector(text, options, reader.embedder, notes)
    corpus = reader.corpora.get(reach) or corpus_of_candidates(text, vector, reach, reader, notes)
    evidence = gather(corpus, text, vector, options)
    found = int((evidence.any & corpus.alive).sum())
    stages = [_stage("gather", corpus.count, found, started=started)]
    started = time.perf_counter()
    allowed, stage = filter_memories(corpus, options, reach=reach, reader=reader, now=now)
    stages.append(_stage("filter", stage[0], int(allowed.sum()), stage[1], started))
    started = time.perf_counter()
    space = reader.embedder.space if reader.embedder else None
    run = Run(
        text, reach, options, now, corpus, evidence, allowed,
        relevance(evidence, space), rank_scores(evidence, allowed, space) * corpus.weight.astype(np.float32),
        [], stages, notes,
    )  # fmt: skip
    _note_coverage(run, vector)
    choose(run, reader.rules_limit, started)
    return run


def check(options: RecallOptions) -> None:
    for name, value, known in (("mode", options.mode, MODES), ("retrieval", options.retrieval, RETRIEVALS)):
        if value not in known:
            raise InvalidInput(
                f"'{value[:40]}' is not a {name}",
                code="RECALL_OPTION_INVALID",
                next=f"choose: {', '.join(known)}",
            )
    if not 1 <= options.limit <= MAX_LIMIT:
        raise InvalidInput(
            f"limit {options.limit} is out of range",
            code="RECALL_LIMIT_INVALID",
            next=f"ask for 1 to {MAX_LIMIT}",
        )
    unknown = [name for name in options.types if name not in TYPES]
    if unknown:
        raise InvalidInput(
            f"'{unknown[0][:40]}' is not a type",
            code="MEMORY_TYPE_INVALID",
            next=f"choose: {', '.join(TYPES)}",
        )


def gather(corpus: Corpus, text: str, vector: NDArray[np.float32] | None, options: RecallOptions) -> Evidence:
    terms = list(query_terms(text)) if options.retrieval != "semantic" else []
    lexical = score_terms(corpus, terms)
    if vector is None:
        cosine = np.zeros(len(corpus.ids), np.float32)
    else:
        cosine = np.concatenate([vector @ segment.vectors for segment in corpus.segments])
    return Evidence(lexical.score, lexical.covered, cosine)


def filter_memories(
    corpus: Corpus, options: RecallOptions, *, reach: Reach, reader: Reader, now: datetime, only: str = ""
) -> tuple[NDArray[np.bool_], tuple[int, list[Removed]]]:
    """What may be answered at all, and what was taken out for which reason, in this order.
    `only` follows a single memory."""
    allowed = corpus.alive.copy()
    if only:
        allowed &= np.fromiter((id == only for id in corpus.ids), np.bool_, len(corpus.ids))
    removed: list[Removed] = []
    into = int(allowed.sum())
    moment = to_micros(options.as_of or now)
    for reason, keep in _conditions(corpus, options, reach, reader, moment, to_micros(now)):
        lost = allowed & ~keep
        count = int(lost.sum())
        if count:
            ids = tuple(corpus.ids[at] for at in np.flatnonzero(lost)[:MAX_TRACED_IDS])
            removed.append(Removed(reason, count, ids))
            allowed &= keep
    return allowed, (into, removed)


def _conditions(
    corpus: Corpus, options: RecallOptions, reach: Reach, reader: Reader, moment: int, now: int
) -> Iterable[tuple[str, NDArray[np.bool_]]]:
    yield "expired", corpus.expires_at > now
    yield "not valid yet", corpus.valid_at <= moment
    if not options.include_superseded:
        yield "superseded", ~(corpus.superseded & (corpus.invalid_at <= moment))
    if not options.include_invalid:
        ended_by_another = corpus.superseded if options.include_superseded else np.False_
        yield "no longer valid", (corpus.invalid_at > moment) | ended_by_another
    if options.types:
        wanted = [TYPES.index(name) for name in options.types]
        yield "type", np.isin(corpus.type, wanted)
    if options.tags or options.agent or options.session or options.namespace:
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


def choose(run: Run, rules_limit: int, started: float) -> None:
    """Rules first, then working, then long-term; what is cut is counted."""
    corpus, options = run.corpus, run.options
    enough = run.allowed
    if run.query.strip():  # a shared word or some likeness, and the floor if one is asked for
        hit = (run.evidence.lexical > 0) | (run.relevance > 0)
        enough = enough & hit & (run.relevance >= options.floor)
    is_rule = corpus.layer == RULE
    rules: Iterable[int] = (
        np.flatnonzero(run.allowed & is_rule) if options.rules and options.mode in ("all", "rules_only") else []
    )
    ordered_rules = sorted(rules, key=lambda at: (-run.rank_score[at], -corpus.updated_at[at], corpus.ids[at]))
    working = _best(run, enough & (corpus.layer == WORKING), min(MAX_WORKING, options.limit), ("all", "working"))
    room = max(1, options.limit - len(working))
    long_term = _best(run, enough & (corpus.layer == LONG_TERM), room, ("all", "long_term"))
    run.chosen = [int(at) for at in ordered_rules[:rules_limit]] + working + long_term
    below = int((run.allowed & ~enough & ~is_rule).sum())
    candidates = int(run.allowed.sum())
    cut = candidates - below - len(run.chosen)
    removed = [Removed("below the floor", below)] if below else []
    removed += [Removed("beyond the limit", cut)] if cut > 0 else []
    run.stages.append(_stage("rank", candidates, len(run.chosen), removed, started))


def _best(run: Run, mask: NDArray[np.bool_], limit: int, modes: tuple[str, ...]) -> list[int]:
    if run.options.mode not in modes:
        return []
    found = np.flatnonzero(mask)
    key = run.rank_score if run.query.strip() else run.corpus.updated_at.astype(np.float64)
    if len(found) > 4 * limit:  # sort only what can win
        found = found[np.argpartition(-key[found], 2 * limit)[: 2 * limit]]
    ids, updated = run.corpus.ids, run.corpus.updated_at
    return [int(at) for at in sorted(found, key=lambda at: (-key[at], -updated[at], ids[at]))[:limit]]


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
        vector = embedder.embed([text])[0]
    except ClewError as error:  # an extra: degrade to words
        notes["semantic"] = "query_embedding_unavailable"
        notes["semantic_error"] = error.code
        return None
    return vector if vector.any() else None


def _note_coverage(run: Run, vector: NDArray[np.float32] | None) -> None:
    if vector is None or not len(run.corpus.ids):
        return
    with_vector = int((run.corpus.has_vector & run.corpus.alive).sum())
    if with_vector == 0:
        run.notes["semantic"] = "vectors_unavailable"
    elif with_vector < int(run.corpus.alive.sum()):
        run.notes["semantic"] = "partial_vector_coverage"
        run.notes["vectors"] = with_vector


def _results(run: Run, memories: dict[str, Memory], embedder: Embedder | None) -> list[Result]:
    found = [at for at in run.chosen if run.corpus.ids[at] in memories]
    return [
        Result(
            memory=memories[run.corpus.ids[at]],
            relevance=round(float(run.relevance[at]), 6),
            rank_score=round(float(run.rank_score[at]), 6),
            rank=rank,
            why=reasons(run, at, embedder),
        )
        for rank, at in enumerate(found, 1)
    ]


def reasons(run: Run, at: int, embedder: Embedder | None) -> tuple[Why, ...]:
    """Why one memory is in the answer."""
    evidence, why = run.evidence, []
    if run.corpus.layer[at] == RULE:
        why.append(Why("rule"))
    if run.corpus.layer[at] == WORKING:
        why.append(Why("working"))
    if evidence.lexical[at] > 0:
        words = float(lexical_relevance(evidence.covered[at : at + 1])[0])
        why.append(_why("lexical", evidence.lexical, at, run.allowed, words))
    if evidence.cosine[at] > 0 and embedder is not None:
        meaning = float(semantic_relevance(evidence.cosine[at : at + 1], embedder.space)[0])
        why.append(_why("semantic", evidence.cosine, at, run.allowed, meaning))
    if run.corpus.weight[at] != 1.0:
        why.append(Why("boost", raw=round(float(run.corpus.weight[at]), 6)))
    return tuple(why)


def _why(source: str, scores: NDArray[np.float32], at: int, allowed: NDArray[np.bool_], value: float) -> Why:
    rank = 1 + int((scores[allowed] > scores[at]).sum())
    return Why(source, rank=rank, raw=round(float(scores[at]), 6), relevance=round(value, 6))


def _stage(name: str, into: int, out: int, removed: Iterable[Removed] = (), started: float | None = None) -> Stage:
    ms = (time.perf_counter() - started) * 1000 if started is not None else 0.0
    return Stage(name, into, out, tuple(removed), ms)

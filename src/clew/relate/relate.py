"""Relate: what a memory has to do with others, found after its write.

In: jobs, each for a memory that is new or has changed. Out: one answer per job; what was found is saved in the
transaction that ends the job, and only if the memory still says what was looked at; what was found of another that
has changed since is left out, and the job is done once more. First come vectors, made up for where they are missing
and kept whatever follows; then the nearest memories, likeness, contradictions by rules, and what a language model
finds if there is one. Run twice, the second run changes nothing. Without an embedder there are rules alone; where
the model fails, or only vectors are new, what it said before stays. What is switched off finds nothing any more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from clew.errors import ClewError, Conflict, Misconfigured, Unavailable
from clew.model.job import BACKFILL, EDIT, NEIGHBOUR, Done, Failed, Job
from clew.model.memory import Filter, Memory
from clew.model.relation import LLM, RULE, SIMILAR, Finding, Issue, Neighbour
from clew.model.scope import Reach
from clew.relate.claims import Reading, read
from clew.relate.contradict import contradictions
from clew.relate.courtesy import Courtesy
from clew.relate.embed import RESPONSE_INVALID, packed
from clew.relate.endings import endings
from clew.relate.nearest import Asked, Floats, Near, is_current, nearest, sharing_words
from clew.relate.queue import enqueue
from clew.relate.similar import similar_findings
from clew.relate.statements import MAX_SIMILAR, replace_relations
from clew.remember.graph import SWITCHED_OFF, GraphPolicy, remap
from clew.remember.prepare import embedding_text
from clew.values import dataclass

if TYPE_CHECKING:
    from clew.ports import Clock, Embedder, Store, Tx
    from clew.recall.corpus import Corpora
    from clew.relate.llm import LlmRelations

NOT_ACTIVE = "MEMORY_NOT_ACTIVE"
REQUEST_FAILED = "EMBEDDING_REQUEST_FAILED"
MAX_THINGS = 8  # that the text names, and by which others are looked for
MAX_PER_THING = 8  # of the newest memories that name one


@dataclass(frozen=True, slots=True)
class RelatePolicy:
    """What the settings say. Defaults as documented (memories_sh.md 4)."""

    similarity_threshold: float = 0.85
    max_k: int = 20
    max_similar: int = MAX_SIMILAR
    rules: bool = True
    context_limit: int = 20  # of what a language model is shown


@dataclass(frozen=True, slots=True)
class Sources:
    """What is read from."""

    store: Store
    corpora: Corpora
    embedder: Embedder | None
    clock: Clock
    courtesy: Courtesy = field(default_factory=Courtesy)  # towards those who ask meanwhile


class Subject(NamedTuple):
    """A memory that a job is about."""

    job: Job
    memory: Memory
    row: int


class Found(NamedTuple):
    """What was found of a memory, by whom, and in what."""

    findings: list[Finding]
    looked_at: frozenset[str]
    seen: Mapping[str, tuple[Any, ...]]  # what each of the others said


class Relator:
    """The handler of jobs of kind `relate`. Holds nothing: one for all threads."""

    def __init__(
        self, sources: Sources, policy: RelatePolicy, *, graph: GraphPolicy, llm: LlmRelations | None = None
    ) -> None:
        self._sources = sources
        self._policy = policy
        self._graph = graph
        self._llm = llm

    def handle(self, jobs: Sequence[Job]) -> list[Done | Failed]:
        now = self._sources.clock.now()
        subjects = self._subjects(jobs, now)
        vectors, failures = self._vectors(subjects)  # also while no graph is written: recall needs them
        if not self._graph.write:
            return [failures.get(job.subject) or Done(skipped=SWITCHED_OFF) for job in jobs]
        asked = [Asked(one.memory, vectors[one.memory.id]) for one in subjects if one.memory.id in vectors]
        near = self._nearest(asked, now)
        answers: dict[str, Done | Failed] = {}
        readings = _Readings()
        for one in subjects:
            self._sources.courtesy.stand_back()
            id = one.memory.id
            answers[one.job.id] = failures.get(id) or self._related(one, near.get(id), readings, now)
        return [answers.get(job.id, Done(skipped=NOT_ACTIVE)) for job in jobs]

    # -- what the jobs are about -------------------------------------------------------------------

    def _subjects(self, jobs: Sequence[Job], now: datetime) -> list[Subject]:
        found = []
        with self._sources.store.read() as tx:
            for job in jobs:
                memory = tx.memories.get(Reach.everything(job.org), job.subject)
                if memory is not None and is_current(memory, now):
                    found.append(Subject(job, memory, tx.memories.row_of(memory)))
        return found

    def _vectors(self, subjects: Sequence[Subject]) -> tuple[dict[str, Floats], dict[str, Failed]]:
        """By id: the vectors, stored or made now, and why there is none."""
        if self._sources.embedder is None or not subjects:
            return {}, {}
        stored = self._stored(subjects)
        missing = [one for one in subjects if one.memory.id not in stored]
        if not missing:
            return stored, {}
        try:
            made = embed_memories(self._sources.store, self._sources.embedder, missing)
        except Exception as error:  # a plug-in: whatever it raises, the job is tried again
            failed = _embedding_failed(error)
            return stored, {one.memory.id: failed for one in missing}
        return stored | made, {}

    def _stored(self, subjects: Sequence[Subject]) -> dict[str, Floats]:
        found: dict[str, Floats] = {}
        with self._sources.store.read() as tx:
            for org in {one.memory.org for one in subjects}:
                ids = [one.memory.id for one in subjects if one.memory.org == org]
                segment = self._sources.corpora.load_ids(tx, Reach.everything(org), ids)
                has = segment.has_vector.tolist()
                vectors = segment.vectors.floats(slice(None))
                found |= {id: vectors[at] for at, id in enumerate(segment.ids) if has[at]}
        return found

    def _nearest(self, asked: Sequence[Asked], now: datetime) -> dict[str, list[Neighbour]]:
        embedder = self._sources.embedder
        if embedder is None or not asked:
            return {}
        near = Near(self._sources.store, self._sources.corpora, embedder.space)
        return nearest(asked, near, limit=self._policy.max_k, now=now)

    # -- one memory --------------------------------------------------------------------------------

    def _related(
        self,
        subject: Subject,
        near: Sequence[Neighbour] | None,
        readings: Callable[[Memory], Reading],
        now: datetime,
    ) -> Done:
        """What is switched off has looked, and found nothing: what it said before goes."""
        looked_at = {RULE}
        findings: list[Finding] = []
        others = [one.memory for one in near or ()]
        if near is not None or not self._policy.max_similar:
            looked_at.add(SIMILAR)
        if near and self._policy.max_similar:
            findings += similar_findings(near, threshold=self._policy.similarity_threshold)
        if self._policy.rules:
            ends = any(endings(one.part) for one in readings(subject.memory).said)
            others = self._comparable(subject, near, now, by_words=ends or not near)
            findings += contradictions(subject.memory, others, reading=readings)
        told, issues, recent = self._asked(subject, near or (), now)
        if issues is not None and not issues:  # what a model said before is not lost because it does not answer now
            looked_at.add(LLM)
        seen = {one.id: _said(one) for one in (*recent, *others)}
        found = Found(findings + told, frozenset(looked_at), seen)
        save = partial(_save, subject=subject, found=found, policy=self._policy, graph=self._graph, now=now)
        return Done(save=save, issues=tuple(issues or ()))

    def _asked(
        self, subject: Subject, near: Sequence[Neighbour], now: datetime
    ) -> tuple[list[Finding], list[Issue] | None, list[Memory]]:
        """What a language model finds, and what it was shown besides. No issues, not even none: it was not asked.
        A new vector alone is no reason to ask: it knows the texts."""
        if self._llm is None or subject.job.operation == BACKFILL:
            return [], None, []
        recent = self._recent(subject, now)
        return *self._llm.find(subject.memory, near, recent), recent

    def _comparable(
        self, subject: Subject, near: Sequence[Neighbour] | None, now: datetime, *, by_words: bool
    ) -> list[Memory]:
        """The nearest, by words where there are no vectors or something named is over, and the newest that name the
        same things."""
        memory, reach, most = subject.memory, Reach.of(subject.memory.scope), self._policy.max_k
        wordy = sharing_words(memory, self._sources.corpora, limit=most, now=now) if by_words else []
        near = near or ()
        with self._sources.store.read() as tx:
            nodes = _things(tx, memory, subject.row)
            linked = tx.graph.linked_at_many(reach, nodes, now=now, moment=now, limit=MAX_PER_THING)
            described = tx.graph.described(memory.org, {node for found in linked.values() for node in found})
            ids = {*wordy, *(node.key for node in described.values())}
            ids -= {memory.id, *(one.memory.id for one in near)}
            others = tx.memories.get_many(reach, sorted(ids))
        return [one.memory for one in near] + [others[id] for id in sorted(others) if is_current(others[id], now)]

    def _recent(self, subject: Subject, now: datetime) -> list[Memory]:
        limit = self._policy.context_limit
        if not limit:
            return []
        with self._sources.store.read() as tx:
            found = tx.memories.find(Reach.of(subject.memory.scope), Filter(), now=now, limit=limit + 1)
        return [one for one in found if one.id != subject.memory.id and is_current(one, now)][:limit]


class _Readings:
    """Memories written together have the same neighbours: each is read once per batch."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, int], Reading] = {}

    def __call__(self, memory: Memory) -> Reading:
        key = memory.id, memory.version
        if key not in self._known:
            self._known[key] = read(memory)
        return self._known[key]


def _things(tx: Tx, memory: Memory, row: int) -> list[int]:
    return [node for node, role in tx.graph.links_of(memory.org, row) if role == "mention"][:MAX_THINGS]


def _save(
    tx: Tx, *, subject: Subject, found: Found, policy: RelatePolicy, graph: GraphPolicy, now: datetime
) -> None:
    memory, row = _unchanged(tx, subject, now), subject.row
    own = tx.graph.self_nodes(memory.org, [row]).get(row)
    if own is None and not remap(tx, row, memory, graph, now):
        raise Unavailable(f"memory {memory.id} could not be mapped", code="GRAPH_MAPPING_SYNC_FAILED")
    changed = _changed(tx, memory, found, now)
    findings = [one for one in found.findings if one.target not in changed]
    looked_at, most = found.looked_at, policy.max_similar
    replace_relations(tx, memory, row, findings, now=now, looked_at=looked_at, max_similar=most)
    if changed:
        enqueue(tx, memory.org, [memory.id], operation=subject.job.operation)
    if own is not None and subject.job.operation == EDIT:
        others = tx.edges.found_by_others(memory.org, own, row, before=memory.updated_at)
        enqueue(tx, memory.org, others, operation=NEIGHBOUR)  # not as an edit: these ask nobody again


def _changed(tx: Tx, memory: Memory, found: Found, now: datetime) -> set[str]:
    """Those of whom something was found that they say no longer. Who is gone is not among them."""
    ids = sorted({one.target for one in found.findings if one.target in found.seen})
    present = tx.memories.get_many(Reach.everything(memory.org), ids) if ids else {}
    return {id for id, other in present.items() if is_current(other, now) and _said(other) != found.seen[id]}


def _unchanged(tx: Tx, subject: Subject, now: datetime) -> Memory:
    """The memory as it is now; its job is tried again if that is not what was looked at."""
    memory = tx.memories.get(Reach.everything(subject.memory.org), subject.memory.id)
    seen = subject.memory
    if memory is None or not is_current(memory, now) or _said(memory) != _said(seen):
        raise Conflict(
            f"memory {seen.id} changed meanwhile", code="MEMORY_CHANGED", next="nothing: it is tried again"
        )
    return memory


def _said(memory: Memory) -> tuple[Any, ...]:
    """What is compared with others, and for whom."""
    said = memory.title, memory.content, memory.paths, memory.author, memory.at
    return *said, memory.project, memory.user


# -- vectors ---------------------------------------------------------------------------------------


def embed_memories(store: Store, embedder: Embedder, subjects: Sequence[Subject]) -> dict[str, Floats]:
    """Made in one request, and kept in a transaction of their own: what follows may fail without costing them."""
    texts = [embedding_text(one.memory.title, one.memory.content) for one in subjects]
    vectors = packed(embedder, texts)
    store.write(partial(_keep, subjects=subjects, packed=vectors, space=embedder.space.key), durable=False)
    ids = [one.memory.id for one in subjects]
    return {id: np.frombuffer(row, "<f2").astype(np.float32) for id, row in zip(ids, vectors, strict=True)}


def _keep(tx: Tx, *, subjects: Sequence[Subject], packed: Sequence[bytes], space: str) -> None:
    for one, vector in zip(subjects, packed, strict=True):
        memory = one.memory
        tx.index.fill_vector(memory.org, one.row, version=memory.version, vector=vector, space=space)
        tx.changes.note(memory.org, memory.project, "memory", memory.id, "put")


def _embedding_failed(error: Exception) -> Failed:
    """A foreign error is told by its name: its message may quote the text."""
    if isinstance(error, ClewError) and error.code == RESPONSE_INVALID:
        return Failed(RESPONSE_INVALID, error.message, retryable=False)
    said = f"{error.code}: {error.message}" if isinstance(error, ClewError) else type(error).__name__
    return Failed(REQUEST_FAILED, said, retryable=not isinstance(error, Misconfigured))

"""Memories of one project for another: a store around a store (rensei.md 2.4, R-043).

In: a scope and a query, as any memory store takes them. Out: what the inner store found, then what other projects
of the same org have to say. Three things are needed, in this order: a grant for the pair, in this direction;
technology that is alike enough; a label public or internal, and Cedar's `transfer` for each row. What comes over is
marked and counts less. Nothing is written, and the source never learns of it. If any of this fails, what the inner
store found is the answer.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import TYPE_CHECKING

from clew.guard.trust import is_observed, why_not_injected
from clew.learn.fingerprint import jaccard, similarity_pct
from clew.model.inject import Observation
from clew.model.memory import Memory
from clew.model.scope import Scope
from clew.values import dataclass

if TYPE_CHECKING:
    from clew.inject.candidates import MemoryStore, RetrievalQuery

MAX_PEERS = 5
ROWS_PER_PEER = 5
SHARE_NUM, SHARE_DEN = 3, 10  # of all rows at most, unless the project has nothing of its own
LABELS = ("public", "internal")
# Abstract insights carry over, raw traces mislead (arXiv 2604.14004): at the same score these come first.
PREFERRED = ("decision", "skill", "fact")
RAW_ORIGINS = ("tool", "tool_output", "web", "mcp")

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferConfig:
    """What a transfer into one project needs to know. Grants and fingerprints are read when they are needed."""

    dest_project: str
    grants: Callable[[], Sequence[str]]  # the projects whose memories may be shown here
    components: Callable[[str], AbstractSet[str] | None]  # what a project is built with; None if nobody looked
    allowed: Callable[[Sequence[Memory], int], Sequence[bool]]  # Cedar: rows, and the likeness in per cent
    weights: Callable[[Sequence[str]], Mapping[str, float]] = lambda ids: {}  # what outcomes here made of them
    retired: Callable[[Sequence[str]], AbstractSet[str]] = lambda ids: frozenset()  # those they made worthless here
    threshold: float = 0.7
    ignore_versions: bool = False
    multiplier: float = 0.5
    apply_to: str = "both"  # C-18: relevance and weight, or the weight alone

    def wrap(self, store: MemoryStore) -> CrossProjectTransferStore:
        return CrossProjectTransferStore(store, self)


@dataclass(frozen=True, slots=True)
class Peer:
    project: str
    similarity: float
    percent: int


def create_cross_project_transfer_store(store: MemoryStore, config: TransferConfig) -> CrossProjectTransferStore:
    return CrossProjectTransferStore(store, config)


class CrossProjectTransferStore:
    """A memory store that answers for one project, with what others may add."""

    def __init__(self, inner: MemoryStore, config: TransferConfig) -> None:
        self._inner, self._config = inner, config

    def retrieve(self, scope: Scope, query: RetrievalQuery) -> list[Observation]:
        own = self._inner.retrieve(scope, query)
        if scope.project != self._config.dest_project or query.all_projects or query.session:
            return own  # asked for another place, or for one session's memories alone
        try:
            return own + self._brought_over(scope, query, own)
        except Exception as error:  # an extra: the project's own memories do without
            _log.warning("nothing was transferred: %s", getattr(error, "code", type(error).__name__))
            return own

    def _brought_over(self, scope: Scope, query: RetrievalQuery, own: Sequence[Observation]) -> list[Observation]:
        known = {one.id for one in own} | {one.memory.content_hash for one in own}
        found: list[Observation] = []
        for peer in peers_of(self._config):
            rows = self._rows_of(peer, scope, query)
            found += [self._discounted(one, peer) for one in rows if not known & {one.id, one.memory.content_hash}]
            known |= {key for one in rows for key in (one.id, one.memory.content_hash)}
        return best_first(self._with_own_weights(found))[: room_for(len(own), most=query.limit)]

    def _rows_of(self, peer: Peer, scope: Scope, query: RetrievalQuery) -> list[Observation]:
        """At most five, each allowed by the policies; what the org shares is not the peer's to give."""
        asked = replace(query, rules=False, refused=None)  # the transfer's own policy decides below
        found = self._inner.retrieve(Scope(scope.org, peer.project), asked)
        rows = [one for one in found if is_transferable(one, org=scope.org, source=peer.project)]
        allowed = self._config.allowed([one.memory for one in rows], peer.percent)
        kept = [one for one, may in zip(rows, allowed, strict=True) if may]
        return best_first(kept)[:ROWS_PER_PEER]

    def _discounted(self, one: Observation, peer: Peer) -> Observation:
        marks = {"source_project": peer.project, "transferred": True}
        factor = self._config.multiplier
        return replace(
            one,
            memory=replace(one.memory, metadata={**one.memory.metadata, **marks}),
            relevance=one.relevance * (factor if self._config.apply_to == "both" else 1.0),
            weight=one.weight * factor,
            transferred_from=peer.project,
        )

    def _with_own_weights(self, found: Sequence[Observation]) -> list[Observation]:
        """Outcomes here move a weight of their own; until then it is the source's, discounted."""
        ids = [one.id for one in found]
        learnt = self._config.weights(ids) if ids else {}
        retired = self._config.retired(list(learnt)) if learnt else frozenset()
        return [replace(one, weight=learnt.get(one.id, one.weight)) for one in found if one.id not in retired]


def peers_of(config: TransferConfig) -> list[Peer]:
    """Grant first, likeness second: whoever granted nothing is not even compared."""
    granted = [project for project in dict.fromkeys(config.grants()) if project != config.dest_project]
    own = config.components(config.dest_project) if granted else None
    if not own:
        return []
    compared = [compare(own, project, config.components(project), config) for project in granted]
    alike = [peer for peer in compared if peer.similarity >= config.threshold]
    return sorted(alike, key=lambda peer: (-peer.similarity, peer.project))[:MAX_PEERS]


def compare(own: AbstractSet[str], project: str, other: AbstractSet[str] | None, config: TransferConfig) -> Peer:
    sides = (own, other or frozenset())
    versions = config.ignore_versions
    percent = similarity_pct(*sides, ignore_versions=versions)
    return Peer(project, jaccard(*sides, ignore_versions=versions), percent)


def is_transferable(one: Observation, *, org: str, source: str) -> bool:
    """A shared insight of that very project. Never what is private, sensitive, short-lived, a rule of the house
    or a raw record of a tool."""
    memory = one.memory
    return (
        (memory.org, memory.project, memory.user) == (org, source, None)
        and memory.classification in LABELS
        and memory.layer == "long_term"
        and not one.retired
        and why_not_injected(memory) is None
        and not is_raw(memory)
    )


def is_raw(memory: Memory) -> bool:
    family = memory.origin.partition(":")[0].strip().lower()
    return is_observed(memory) or memory.tool_call is not None or family in RAW_ORIGINS


def best_first(found: Iterable[Observation]) -> list[Observation]:
    return sorted(found, key=lambda one: (-one.relevance * one.weight, one.memory.type not in PREFERRED, one.id))


def room_for(own: int, *, most: int) -> int:
    """How many others fit beside so many own ones, so that they are at most three in ten of all."""
    return own * SHARE_NUM // (SHARE_DEN - SHARE_NUM) if own else most

"""One recall under way."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from clew.model.memory import LAYERS
from clew.values import dataclass

if TYPE_CHECKING:
    from datetime import datetime

    import numpy as np
    from numpy.typing import NDArray

    from clew.model.recalled import RecallOptions, Stage
    from clew.model.scope import Reach
    from clew.model.space import VectorSpace
    from clew.recall.corpus import Corpus
    from clew.recall.fuse import Evidence, Scales
    from clew.recall.graph import Reached
    from clew.recall.lexical import Matches
    from clew.recall.question import Asked
    from clew.recall.settle import Rough
    from clew.rollout.decide import Decision

RULE, WORKING, LONG_TERM = (LAYERS.index(name) for name in ("rule", "working", "long_term"))


@dataclass(slots=True, eq=False)
class Run:
    """One recall under way: the arrays each stage leaves to the next, aligned with the corpus."""

    query: str
    reach: Reach
    options: RecallOptions
    now: datetime
    corpus: Corpus
    evidence: Evidence
    matches: Matches  # of the words of the question
    allowed: NDArray[np.bool_]
    words: NDArray[np.float32]  # relevance by words alone
    meaning: NDArray[np.float32]  # relevance by meaning alone
    relevance: NDArray[np.float32]
    rank_score: NDArray[np.float32]
    scales: Scales  # what the rank score is measured by
    space: VectorSpace | None
    stages: list[Stage]
    notes: dict[str, object]
    seeds: list[tuple[str, float]] = field(default_factory=list)  # where the graph was entered: id and score
    expanded: list[tuple[Reached, float]] = field(default_factory=list)  # found there, scored; in the shadow, too
    reached: dict[int, Reached] = field(default_factory=dict)  # by the graph
    chosen: list[int] = field(default_factory=list)
    stage: str = ""  # the rollout mode that the graph was walked under
    decision: Decision | None = None  # whether the graph was applied
    graph_error: str = ""  # its code
    rough: Rough | None = None  # most cosines are estimates; this makes others exact
    asked: Asked | None = None  # what the question says besides its words; set by who looks at that
    refined: NDArray[np.int64] | None = None  # the candidates of the last look
    brought: dict[int, str] = field(default_factory=dict)  # candidates that come in by more than their own evidence
    least_refined: float = 0.0  # no rank score is above it but those of candidates

"""Order candidates by relevance and by what outcomes made of them, and say where each stood in both orders.

Pure. The order never depends on the order of the input: ties go by relevance, then by id.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from clew.errors import InvalidInput
from clew.model.learning import Candidate, RankedCandidate

INFLUENCE = 0.3  # of a weight on a score in neutral ranking, the same as in the graph: rensei.md 2.2
RANKINGS = ("weight", "neutral")


def apply_feedback_ranking(
    candidates: Iterable[Candidate], *, weighting_enabled: bool = True, ranking: str = "weight"
) -> list[RankedCandidate]:
    """Best first. Both ranks are there whether or not weights decide, so that both orders can be compared.

    `weight` multiplies: a weight of at most 1 can only demote. `neutral` lets a weight above 0.5 lift as well.
    """
    if ranking not in RANKINGS:
        raise InvalidInput(
            f"there is no ranking '{ranking}'", code="RANKING_UNKNOWN", next=f"choose one of: {', '.join(RANKINGS)}"
        )
    found = list(candidates)
    scores = {one.id: one.relevance_score * factor(one.feedback_weight, ranking=ranking) for one in found}
    by_relevance = sorted(found, key=lambda one: (-one.relevance_score, one.id))
    by_weight = sorted(found, key=lambda one: (-scores[one.id], -one.relevance_score, one.id))
    unweighted, weighted = _places(by_relevance), _places(by_weight)
    return [
        RankedCandidate(
            id=one.id,
            relevance_score=one.relevance_score,
            feedback_weight=one.feedback_weight,
            weighted_score=scores[one.id],
            unweighted_rank=unweighted[one.id],
            weighted_rank=weighted[one.id],
        )
        for one in (by_weight if weighting_enabled else by_relevance)
    ]


def factor(weight: float, *, ranking: str = "weight") -> float:
    """What a weight makes of a relevance. Neutral: 0.7 at weight 0, 1 at 0.5, 1.3 at 1."""
    return weight if ranking == "weight" else 1 + INFLUENCE * (2 * weight - 1)


def _places(ordered: Sequence[Candidate]) -> Mapping[str, int]:
    return {one.id: place for place, one in enumerate(ordered)}

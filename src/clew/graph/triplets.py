"""How much a fact of the graph (source, relation, target) matters to a query. Pure.

The parts are Rensei's: how near both ends lie to the query, how important they are, how the fact fared before. How
they are put together is ours, as Rensei does not publish it.
"""

from __future__ import annotations

from typing import NamedTuple

FEEDBACK_INFLUENCE = 0.3  # Rensei's feedbackInfluence
HOP_PENALTY = 0.15  # of a node that only the walk found
# An importance of 0 takes a quarter off, of 1 adds a quarter.
IMPORTANCE_BASE, IMPORTANCE_SPAN = 0.75, 0.5


class Triplet(NamedTuple):
    source: str
    relation: str
    target: str
    importance: float
    confidence: float = 1.0

    @property
    def relevance_score(self) -> float:
        """Rensei's score, where lower is better."""
        return 1 - self.importance


def traversal_distance(nearest_seed: float, hop: int) -> float:
    """The distance of a node that has none of its own, because only the walk found it."""
    return min(1.0, _unit(nearest_seed) + HOP_PENALTY * max(0, hop))


def importance(
    d_source: float,
    d_target: float,
    importance_source: float,
    importance_target: float,
    feedback_weight: float,
    influence: float = FEEDBACK_INFLUENCE,
) -> float:
    """From 0 to 1, rising with everything but the distances. A feedback weight of 0.5 is neutral."""
    near = 1 - (_unit(d_source) + _unit(d_target)) / 2
    weighty = IMPORTANCE_BASE + IMPORTANCE_SPAN * (_unit(importance_source) + _unit(importance_target)) / 2
    influence = _unit(influence)
    feedback = 1 + influence * (2 * _unit(feedback_weight) - 1)
    most = (IMPORTANCE_BASE + IMPORTANCE_SPAN) * (1 + influence)  # 1.625 by default
    return near * weighty * feedback / most


def _unit(value: float) -> float:
    return min(1.0, max(0.0, value))

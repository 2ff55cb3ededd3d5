"""The settings of an activation, and how Engram bends the numbers it is given into shape."""

from __future__ import annotations

import math
from typing import Literal, TypeGuard

from clew.values import dataclass

Refinement = Literal["compat", "personalised"]

DEFAULT_FLOOR = 0.2


@dataclass(frozen=True, slots=True)
class Activation:
    """The defaults are Engram's, with the bounds that its documentation promises and its code leaves open."""

    max_steps: int = 3
    decay: float = 0.7
    confidence_floor: float = DEFAULT_FLOOR  # an edge below it is not followed
    iterations: int = 8  # of the refinement; 0 turns it off
    beta: float | None = 0.15  # of the lateral inhibition; None turns it off
    top_m: int = 7
    refinement: Refinement = "compat"
    fan_out: int | None = 64  # entries followed per node
    max_expanded: int | None = 30  # nodes expanded besides the seeds, and results kept

    def __post_init__(self) -> None:
        object.__setattr__(self, "max_steps", clamp_count(self.max_steps))
        object.__setattr__(self, "confidence_floor", clamp_floor(self.confidence_floor))
        object.__setattr__(self, "iterations", clamp_count(self.iterations))
        object.__setattr__(self, "top_m", clamp_count(self.top_m))
        for name in ("fan_out", "max_expanded"):
            if (value := getattr(self, name)) is not None:
                object.__setattr__(self, name, clamp_count(value))


def clamp_floor(value: object) -> float:
    """Not a finite number: the default. Otherwise into 0..1."""
    return clamp_unit(value, DEFAULT_FLOOR)


def clamp_count(value: object) -> int:
    """Steps, iterations, edges: not a finite number or negative: 0. Otherwise rounded down."""
    return max(0, math.floor(value)) if _is_finite(value) else 0


def clamp_confidence(value: object) -> float:
    """A confidence that is missing, as in edges of old, is 1."""
    return clamp_unit(value, 1.0)


def clamp_unit(value: object, default: float = 0.0) -> float:
    return min(1.0, max(0.0, float(value))) if _is_finite(value) else default


def _is_finite(value: object) -> TypeGuard[float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)

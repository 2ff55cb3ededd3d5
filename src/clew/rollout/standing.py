"""How far the graph is rolled out for whoever asks: a value that every read path is given. Pure."""

from __future__ import annotations

from typing import NamedTuple

from clew.model.rollout import DEFAULT_MODE, HYBRID_GRAPH
from clew.rollout.decide import Stage

UNAVAILABLE = "unavailable"


class GateSeen(NamedTuple):
    """What the quality gate said when it was last asked; what cannot be asked does not block."""

    status: str = UNAVAILABLE
    is_blocked: bool = False
    reason_codes: tuple[str, ...] = ()


class Standing(NamedTuple):
    """The org's mode, its default strategy and its gate; and whether the project has its memory on."""

    mode: str = DEFAULT_MODE
    default_strategy: str = HYBRID_GRAPH
    gate: GateSeen = GateSeen()
    memory_on: bool = True

    def stage(self, *, is_on: bool, in_shadow: bool = False) -> Stage:
        """`is_on`: what the settings say; `in_shadow`: that they keep the graph in the shadow whatever the mode."""
        is_on = is_on and self.memory_on
        mode = "shadow" if in_shadow and self.mode == "canary" else self.mode
        return Stage(is_on, mode if is_on else "off", self.gate.is_blocked)


CANARY = Standing()

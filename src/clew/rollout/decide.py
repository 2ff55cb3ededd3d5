"""Whether one request gets the graph: what was asked, what is switched on, what the gate says. Pure.

The rules of memories_sh.md 6.4 and 6.7. A walk that is not applied is a shadow: it runs, is counted, and changes
nothing. Whoever asked for the graph and did not get it is told one reason, the first that holds of
`model.rollout.FALLBACK_REASONS`; whoever did not ask is told none.
"""

from __future__ import annotations

from typing import NamedTuple

from clew.model.rollout import BASELINE, HYBRID_GRAPH


class Request(NamedTuple):
    """What was asked. `has_baseline`: something was found for the graph to start from. `fell_back`: nobody named a
    strategy, and the default is the baseline because the graph did badly. Such a request runs as a shadow as well:
    how else would anybody learn that the graph does well again?"""

    strategy: str
    depth: int
    limit: int
    has_baseline: bool
    fell_back: bool = False


class Stage(NamedTuple):
    """How far the graph is rolled out where it was asked for. `is_on`: every switch before the mode."""

    is_on: bool = True
    mode: str = "canary"
    is_blocked: bool = False


class Decision(NamedTuple):
    """`eligible`: the gate is about this request; the graph is applied, or would be but for the gate or a default
    that fell back."""

    run: bool
    apply: bool
    eligible: bool
    reason: str | None

    @property
    def shadow(self) -> bool:
        return self.run and not self.apply

    def after(self, error: str) -> Decision:
        """What it came to: a walk that was to be applied and failed leaves the baseline."""
        if error and self.apply:
            return self._replace(reason="graph_expansion_error")
        return self

    @property
    def applied(self) -> str:
        """The strategy of the answer."""
        return HYBRID_GRAPH if self.apply and self.reason is None else BASELINE


def decide(asked: Request, stage: Stage) -> Decision:
    wants = asked.strategy == HYBRID_GRAPH
    can = stage.is_on and stage.mode != "off" and asked.depth > 0 and asked.limit > 0 and asked.has_baseline
    run = can and (wants or asked.fell_back or stage.mode == "shadow")
    eligible = run and stage.mode == "canary"
    apply = eligible and wants and not stage.is_blocked
    return Decision(run, apply, eligible, _why_not(stage) if wants and not apply else None)


def _why_not(stage: Stage) -> str:
    if not stage.is_on:
        return "feature_flag_disabled"
    if stage.mode == "off":
        return "rollout_off"
    if stage.mode == "canary" and stage.is_blocked:
        return "quality_gate_blocked"
    if stage.mode == "shadow":
        return "shadow_mode"
    return "rollout_guardrail"

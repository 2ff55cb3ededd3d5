"""How the injector behaves on tool calls. Defaults and names are the documented ones (rensei.md R-090, R-091)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from clew.errors import InvalidInput
from clew.model.host import Limits
from clew.model.inject import InjectionResult, VerbEvent
from clew.values import dataclass

DOCUMENTED_NAMES = {
    "enabled": "enabled",
    "disabledForAgents": "disabled_for_agents",
    "latencyBudgetMs": "latency_ms",
    "minRelevanceScore": "floor",
    "budgetTokens": "budget_tokens",
    "workType": "work_type",
    "maxSuggestionsPerEvent": "max_suggestions",
    "skipTools": "skip_tools",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class InSessionConfig:
    """`budget_tokens` None: what the work type has. `skip_tools` replaces the list, `extra_skip_tools` adds to it;
    `threads` is how many calls are looked at at once."""

    enabled: bool = True
    disabled_for_agents: tuple[str, ...] = ()
    latency_ms: float = 100
    floor: float = 0.4
    budget_tokens: int | None = 200
    work_type: str = "feature"
    max_suggestions: int = 3
    skip_tools: tuple[str, ...] = ("TodoWrite", "BashOutput")
    extra_skip_tools: tuple[str, ...] = ()
    threads: int = 8

    @classmethod
    def of(cls, given: InSessionConfig | Mapping[str, Any] | None) -> InSessionConfig:
        """Only the given keys change something; documented and own names are understood."""
        if isinstance(given, InSessionConfig):
            return given
        known = {field.name for field in fields(cls)}
        changes = {DOCUMENTED_NAMES.get(name, name): value for name, value in (given or {}).items()}
        unknown = sorted(changes.keys() - known)
        if unknown:
            raise InvalidInput(
                f"'{unknown[0][:40]}' is no option of the injector",
                code="IN_SESSION_CONFIG_INVALID",
                next=f"choose: {', '.join(sorted(known))}",
            )
        return replace(DEFAULT_IN_SESSION_CONFIG, **{name: _frozen(value) for name, value in changes.items()})

    def within(self, limits: Limits) -> InSessionConfig:
        """Its budget is the situation's: a work type may have less than either."""
        return replace(
            self,
            floor=max(self.floor, limits.floor),
            latency_ms=min(self.latency_ms, limits.latency_ms),
            max_suggestions=min(self.max_suggestions, limits.max_suggestions),
        )

    def skips(self, tool: str) -> bool:
        return tool in self.skip_tools or tool in self.extra_skip_tools

    def is_off_for(self, agent: str | None) -> bool:
        return not self.enabled or (agent is not None and agent in self.disabled_for_agents)

    @property
    def disabled(self) -> InjectionResult:
        return InjectionResult("disabled", reason="agent" if self.enabled else "config")

    def refusal(self, event: VerbEvent) -> InjectionResult | None:
        """The answer to an event that is not to be looked at, whatever is known."""
        if self.is_off_for(event.agent):
            return self.disabled
        return InjectionResult("skipped", reason="tool") if self.skips(event.tool) else None


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list | set | frozenset) else value


DEFAULT_IN_SESSION_CONFIG = InSessionConfig()

"""How many tokens of observations a work type gets. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from types import MappingProxyType
from typing import Any

from clew.errors import Misconfigured
from clew.values import dataclass

DEFAULT_CONTEXT_BUDGET: Mapping[str, int] = MappingProxyType(
    {"bug_fix": 750, "feature": 400, "refactor": 600, "chore": 300}  # rensei.md R-031
)
OTHER_BUDGET = 500  # of any other work type


@dataclass(frozen=True, slots=True)
class ContextBudgetConfig:
    """Tokens by work type, and what single orgs have instead."""

    defaults: Mapping[str, int] = field(default_factory=lambda: DEFAULT_CONTEXT_BUDGET)
    org_overrides: Mapping[str, Mapping[str, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for budgets in (self.defaults, *self.org_overrides.values()):
            for work_type, tokens in budgets.items():
                if isinstance(tokens, bool) or not isinstance(tokens, int) or tokens < 0:
                    raise _invalid(f"the budget of '{work_type[:40]}' is no whole number of tokens")

    @classmethod
    def from_mapping(cls, given: Mapping[str, Any]) -> ContextBudgetConfig:
        """In the documented spelling: {"defaults": {...}, "orgOverrides": {...}}."""
        unknown = sorted(given.keys() - {"defaults", "orgOverrides"})
        if unknown:
            raise _invalid(f"'{str(unknown[0])[:40]}' is no part of it")
        return cls(given.get("defaults", DEFAULT_CONTEXT_BUDGET), given.get("orgOverrides", {}))

    def resolve(self, org_id: str, work_type: str | None) -> int:
        """The org's own, else the default, else 500."""
        own = self.org_overrides.get(org_id, {})
        return own.get(work_type or "", self.defaults.get(work_type or "", OTHER_BUDGET))


def _invalid(why: str) -> Misconfigured:
    return Misconfigured(
        f"the context budget cannot be used: {why}",
        code="CONTEXT_BUDGET_INVALID",
        next='write it as {"defaults": {"bug_fix": 750}, "orgOverrides": {"acme": {"bug_fix": 900}}}',
    )

"""Tokens by work type."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.errors import Misconfigured
from clew.guard.render import tokens
from clew.inject import DEFAULT_CONTEXT_BUDGET, ContextBudgetConfig


@pytest.mark.parametrize(
    ("work_type", "budget"),
    [("bug_fix", 750), ("feature", 400), ("refactor", 600), ("chore", 300), ("research", 500), (None, 500)],
)
def test_r031_the_documented_budgets(work_type: str | None, budget: int) -> None:
    assert ContextBudgetConfig().resolve("acme", work_type) == budget


def test_r032_the_orgs_own_wins_over_the_defaults_and_those_over_500() -> None:
    config = ContextBudgetConfig.from_mapping(
        {"defaults": {"bug_fix": 700}, "orgOverrides": {"acme": {"bug_fix": 900, "spike": 50}}}
    )
    asked = [("acme", "bug_fix"), ("other", "bug_fix"), ("acme", "spike"), ("other", "spike"), ("acme", "feature")]
    assert [config.resolve(*pair) for pair in asked] == [900, 700, 50, 500, 500]


def test_r033_one_override_leaves_the_orgs_other_work_types_alone() -> None:
    config = ContextBudgetConfig(org_overrides={"acme": {"bug_fix": 900}})
    assert {name: config.resolve("acme", name) for name in DEFAULT_CONTEXT_BUDGET} == {
        **DEFAULT_CONTEXT_BUDGET,
        "bug_fix": 900,
    }


@given(st.text())
def test_r034_c13_a_token_is_four_characters_rounded_up(text: str) -> None:
    assert 4 * tokens(text) - 3 <= max(len(text), 1) <= 4 * max(tokens(text), 1)


@pytest.mark.parametrize(
    "given",
    [{"default": {}}, {"defaults": {"bug_fix": -1}}, {"orgOverrides": {"a": {"bug_fix": "900"}}},
     {"defaults": {"bug_fix": True}}],
)  # fmt: skip
def test_what_is_no_budget_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(Misconfigured, match="context budget"):
        ContextBudgetConfig.from_mapping(given)

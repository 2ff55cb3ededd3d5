"""How much to recall for a prompt: the rules, their order, and what switches and callers change."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.errors import InvalidInput
from clew.recall.plan import (
    MAX_QUERY_CHARS,
    MODES,
    Intent,
    Plan,
    has_broad_graph_intent,
    infer_intent,
    plan,
    plan_mode,
)

SWITCHES = dict.fromkeys(("planner", "broad_intent", "graph_recall", "graph_write"), True)
ON: dict[str, Any] = {**SWITCHES, "limit": 10, "minimal_limit": 4}
GRAPH_PROMPT = "what happened in the timeline"
BROAD_PROMPT = "How did we get here with recall regressions?"


# -- the mode a prompt asks for --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "prompt", ["ok", "thanks", "ok.", "got it :)", "OK!!", "Sounds good", "yes 👍", "no…", " done "]
)
def test_an_acknowledgement_recalls_nothing(prompt: str) -> None:
    assert plan_mode(prompt) == "no_recall"


@pytest.mark.parametrize("prompt", [None, "", "  \n\t "])
def test_nothing_said_recalls_nothing(prompt: str | None) -> None:
    assert plan_mode(prompt) == "no_recall"


@pytest.mark.parametrize("value", [7, [], b"what happened"])
def test_what_is_no_text_recalls_nothing(value: Any) -> None:
    assert plan_mode(value) == "no_recall"


@pytest.mark.parametrize(
    "prompt",
    [
        GRAPH_PROMPT,
        "Show the History of the gateway",
        "root\ncause of the outage",
        "the chain of events",
        "sequence",
    ],
)
def test_a_graph_cue_asks_for_the_graph(prompt: str) -> None:
    assert plan_mode(prompt) == "graph_mode"


@pytest.mark.parametrize(
    "prompt", ["prehistory of the gateway", "timelines and sequences", "the root is the cause"]
)
def test_a_graph_cue_is_made_of_whole_words(prompt: str) -> None:
    assert plan_mode(prompt) == "full"


@pytest.mark.parametrize(
    "prompt",
    ["Summarize last week's key points", "What did we decide about Redis", "Is the gateway up?", "Write a parser"],
)
def test_questions_and_everything_else_are_recalled_fully(prompt: str) -> None:
    assert plan_mode(prompt) == "full"


@pytest.mark.parametrize(
    "prompt", ["Check gateway status", "Reload the gateway", "run", "FIX the typo in the readme"]
)
def test_a_short_command_is_recalled_minimally(prompt: str) -> None:
    assert plan_mode(prompt) == "minimal"


@pytest.mark.parametrize("prompt", ["Settings of the gateway", "Running late", "Fixtures for the parser"])
def test_a_word_that_only_begins_like_a_command_is_none(prompt: str) -> None:
    assert plan_mode(prompt) == "full"


# -- the order of the rules ------------------------------------------------------------------------------


def test_a_graph_cue_comes_before_a_command() -> None:
    assert plan_mode("show history") == "graph_mode"


@pytest.mark.parametrize(
    "prompt", ["check it?", "check the earlier run", "show the decision", "Update the summary"]
)
def test_a_question_or_a_memory_cue_comes_before_a_command(prompt: str) -> None:
    assert plan_mode(prompt) == "full"


def test_an_acknowledgement_comes_before_a_question() -> None:
    assert plan_mode("ok?") == "no_recall"


def test_an_acknowledgement_has_at_most_18_characters() -> None:
    assert (plan_mode("ok" + "!" * 16), plan_mode("ok" + "!" * 17)) == ("no_recall", "full")


def test_a_command_has_at_most_100_characters() -> None:
    assert (plan_mode("check " + "x" * 94), plan_mode("check " + "x" * 95)) == ("minimal", "full")


def test_an_acknowledgement_followed_by_another_script_is_none() -> None:
    assert plan_mode("ok, 为什么失败了") == "full"


# -- what any text does ----------------------------------------------------------------------------------


@given(st.text() | st.none())
def test_any_prompt_has_one_of_four_modes(prompt: str | None) -> None:
    assert plan_mode(prompt) in MODES
    assert isinstance(has_broad_graph_intent(prompt), bool)
    assert isinstance(infer_intent(prompt), Intent)


@given(st.text(), st.sampled_from([GRAPH_PROMPT, "ok", "check it", "why"]))
def test_blanks_around_a_prompt_change_nothing(text: str, words: str) -> None:
    assert plan_mode(f" \n{words} {text}\t ") == plan_mode(f"{words} {text}".strip())


def test_words_beyond_4000_characters_are_not_looked_at() -> None:
    near, far = "x" * (MAX_QUERY_CHARS - 9) + " ", "x" * MAX_QUERY_CHARS + " "
    assert (plan_mode(near + "timeline"), plan_mode(far + "timeline")) == ("graph_mode", "full")
    assert not has_broad_graph_intent(far + "what led to")
    assert infer_intent(far + "deploy the server") == Intent()


def test_leading_blanks_do_not_use_up_the_4000_characters() -> None:
    assert plan_mode(" " * 5_000 + "timeline") == "graph_mode"


# -- broad intent ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "prompt",
    [BROAD_PROMPT, "what changed", "Why did this happen", "what led to it", "cause chain", "dependency  chain",
     "a regression chain", "the failure chain"],
)  # fmt: skip
def test_a_question_how_things_came_about_is_broad(prompt: str) -> None:
    assert has_broad_graph_intent(prompt)


@pytest.mark.parametrize("prompt", [None, "", "what is new", "the supply chain", "somewhat changed"])
def test_other_prompts_are_not_broad(prompt: str | None) -> None:
    assert not has_broad_graph_intent(prompt)


@pytest.mark.parametrize("prompt", [BROAD_PROMPT, "check what changed"])
def test_broad_intent_leads_to_the_graph_whatever_was_planned(prompt: str) -> None:
    assert plan(prompt, **ON) == Plan("graph_mode", "graph_mode", None, True, 10)


def test_without_broad_intent_the_rules_decide() -> None:
    assert plan("check what changed", **ON | {"broad_intent": False}) == Plan("minimal", "minimal", None, False, 4)


# -- what switches and callers change --------------------------------------------------------------------


def test_with_everything_on_the_graph_is_used() -> None:
    assert plan(GRAPH_PROMPT, **ON) == Plan("graph_mode", "graph_mode", None, False, 10)


@pytest.mark.parametrize(
    ("off", "reason"),
    [
        ({"graph_recall": False}, "graph recall disabled by config"),
        ({"graph_write": False}, "multi-graph memory disabled by config"),
        ({"graph_recall": False, "graph_write": False}, "graph recall disabled by config"),
    ],
)
def test_without_the_graph_its_prompts_are_recalled_fully_and_the_reason_is_named(
    off: dict[str, bool], reason: str
) -> None:
    assert plan(GRAPH_PROMPT, **ON | off) == Plan("graph_mode", "full", reason, False, 10)
    assert plan(BROAD_PROMPT, **ON | off) == Plan("graph_mode", "full", reason, True, 10)


def test_switches_of_the_graph_do_not_concern_other_modes() -> None:
    assert plan("Check status", **ON | {"graph_recall": False}) == Plan("minimal", "minimal", None, False, 4)


@pytest.mark.parametrize("prompt", ["ok", None, "Check status", GRAPH_PROMPT, BROAD_PROMPT])
def test_without_the_planner_everything_is_recalled_fully(prompt: str | None) -> None:
    assert plan(prompt, **ON | {"planner": False}) == Plan("full", "full", None, False, 10)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("prompt", ["ok", GRAPH_PROMPT, BROAD_PROMPT])
def test_a_mode_that_the_caller_names_overrides_everything(mode: str, prompt: str) -> None:
    off = {"planner": False, "graph_recall": False, "graph_write": False}
    for switches in (ON, ON | off):
        made = plan(prompt, **switches, mode=mode)
        assert (made.planned, made.effective, made.reason, made.broad_intent) == (mode, mode, None, False)


def test_mode_auto_is_the_same_as_none() -> None:
    assert plan(GRAPH_PROMPT, **ON, mode="auto") == plan(GRAPH_PROMPT, **ON)


def test_an_unknown_mode_is_refused_with_the_known_ones() -> None:
    with pytest.raises(InvalidInput) as refused:
        plan("ok", **ON, mode="fully")
    assert "full" in refused.value.next and "auto" in refused.value.next


@pytest.mark.parametrize(("prompt", "limit"), [("ok", 0), ("Check status", 3), ("Write it", 3), (GRAPH_PROMPT, 3)])
def test_minimal_never_allows_more_than_full(prompt: str, limit: int) -> None:
    assert plan(prompt, **ON | {"limit": 3}).limit == limit


# -- what a query is about -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "goal", "action"),
    [
        ("debug the errors in login", "stabilize", "unknown"),
        ("Fix and deploy it", "stabilize", "execute"),
        ("publish the release", "release", "unknown"),
        ("design a roadmap", "plan", "plan"),
        ("audit the code for security", "review", "review"),
        ("recap the deal with the prospect", "close_deal", "summarize"),
        ("what happened", "unknown", "summarize"),
        ("decide", "unknown", "decide"),
        ("special planets", "unknown", "unknown"),
    ],
)
def test_goal_and_action_are_the_first_that_match(query: str, goal: str, action: str) -> None:
    found = infer_intent(query)
    assert (found.goal, found.action) == (goal, action)


def test_every_matching_kind_of_entity_is_named() -> None:
    assert infer_intent("the repo's README on LLM prompts").entity_types == ("repo", "ai", "docs")


@pytest.mark.parametrize("query", ["ship it", "Let's refactor", "we need to talk", "open a PR", "run the tests"])
def test_words_that_start_a_task_are_noticed(query: str) -> None:
    assert infer_intent(query).task_initiation


@pytest.mark.parametrize("query", [None, "", "the parser", "friendship"])
def test_a_query_without_a_signal_has_no_intent(query: str | None) -> None:
    assert infer_intent(query) == Intent("unknown", "unknown", (), False)

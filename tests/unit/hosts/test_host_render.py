"""What is printed is what the host accepts, whole or not at all."""

from __future__ import annotations

import json

import pytest

from clew.guard.render import HEADINGS
from clew.hosts.render import LABEL, budget_tokens, fits, rendered
from clew.hosts.strip import own_words
from clew.hosts.table import HOSTS


@pytest.mark.parametrize("host", HOSTS)
def test_the_answer_holds_the_text_and_nothing_else(host: str) -> None:
    assert json.loads(rendered(host, "SessionStart", '- a → b\n"q"')) == {
        "hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": '- a → b\n"q"'}
    }


@pytest.mark.parametrize("heading", sorted(HEADINGS))
def test_a_block_is_said_to_come_from_us_and_a_users_words_are_not(heading: str) -> None:
    def shown(text: str) -> str:
        return str(json.loads(rendered("codex", "SessionStart", text))["hookSpecificOutput"]["additionalContext"])

    assert shown(f"{heading}\n- a") == f"{LABEL}\n\n{heading}\n- a"
    assert shown(f"stop, see {heading}") == f"stop, see {heading}"


def test_the_label_counts_and_is_taken_out_of_what_comes_back() -> None:
    block = f"{min(HEADINGS)}\n- ".ljust(10_000 - len(LABEL) - 2, "x")
    assert fits("claude-code", block) and not fits("claude-code", block + "x")
    assert own_words(f"before\n> {LABEL}\n>\n> {min(HEADINGS)}\n> - a\n\nafter").split() == ["before", ">", "after"]


@pytest.mark.parametrize("host", HOSTS)
def test_nothing_to_say_prints_nothing(host: str) -> None:
    assert rendered(host, "SessionStart", "") == rendered(host, "SessionStart", None) == ""


@pytest.mark.parametrize("host", HOSTS)
def test_a_text_is_never_cut(host: str) -> None:
    assert rendered(host, "UserPromptSubmit", "x" * 10_000)
    assert rendered(host, "UserPromptSubmit", "x" * 10_001) == ""


def test_what_a_host_counts_twice_counts_twice() -> None:
    assert fits("claude-code", "😀" * 5_000)
    assert not fits("claude-code", "😀" * 5_001)


@pytest.mark.parametrize("host", HOSTS)
def test_a_block_within_the_budget_fits(host: str) -> None:
    assert budget_tokens(host) >= 2_000
    assert fits(host, "x" * 4 * budget_tokens(host))


@pytest.mark.parametrize(
    "event", ["PreToolUse", "Stop", "SubagentStop", "PreCompact", "SessionEnd", "Notification"]
)
def test_nothing_is_printed_where_it_would_be_lost_or_stop_the_agent(event: str) -> None:
    assert all(rendered(host, event, "text") == "" for host in HOSTS)


def test_an_event_that_codex_does_not_have_is_not_answered_there() -> None:
    assert rendered("codex", "PostToolBatch", "text") == ""
    assert rendered("claude-code", "PostToolBatch", "text")


def test_the_answer_is_ascii_whatever_it_says() -> None:
    assert rendered("codex", "SessionStart", "→ 😀 \u2028 \x00").isascii()

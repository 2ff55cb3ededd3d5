"""Where a text came from decides whether it may be injected; no summary or repetition launders it."""

from __future__ import annotations

import pytest

from clew.clew import Clew
from clew.guard.trust import is_observed, why_not_injected
from clew.model.scope import Identity
from clew.model.tool_call import ToolCall

AGENT = Identity(agent="coder", roles=("member",), user="jana")


@pytest.mark.parametrize(
    "origin", ["web", "web:https://x.example", "mcp:github", "tool_output", "tool", "import", "odd"]
)
def test_foreign_text_is_never_injected_as_fact(memory: Clew, origin: str) -> None:
    stored = memory.remember("The cache listens on port 6379", origin=origin).memory
    assert why_not_injected(stored) == "untrusted_origin"


@pytest.mark.parametrize("origin", ["user", "user_prompt", "agent", "agent_inference", "teammate"])
def test_what_users_and_agents_state_may_be_injected(memory: Clew, origin: str) -> None:
    stored = memory.remember("The cache listens on port 6379", origin=origin).memory
    assert why_not_injected(stored) is None
    assert not is_observed(stored)


def test_what_we_observed_may_be_injected_and_is_marked(memory: Clew) -> None:
    stored = memory.observe(ToolCall("Bash", command="npm ci", exit_status=1)).memory
    assert why_not_injected(stored) is None
    assert is_observed(stored)


def test_a_summary_of_web_text_stays_out_of_prompts(memory: Clew) -> None:
    page = memory.remember("The vendor says port 6379", origin="web")
    note = memory.remember("We use port 6379", origin="user", parents=(page.id,))
    again = memory.remember("The port is 6379", origin="agent", parents=(note.id,))
    assert why_not_injected(again.memory) == "untrusted_origin"


def test_a_merge_is_as_good_as_its_worst_parent(memory: Clew) -> None:
    good = memory.remember("Redis holds the locks", origin="user")
    bad = memory.remember("Redis holds the sessions too", origin="mcp:notes")
    merged = memory.remember("Redis holds locks and sessions", origin="user", parents=(good.id, bad.id))
    assert why_not_injected(merged.memory) == "untrusted_origin"


def test_repeating_web_text_as_a_summary_does_not_lift_it(memory: Clew) -> None:
    page = memory.remember("The vendor says port 6379", origin="web")
    memory.remember("The vendor says port 6379", origin="agent", parents=(page.id,))
    assert why_not_injected(memory.show(page.id)) == "untrusted_origin"


def test_asking_for_more_trust_than_the_origin_gives_is_in_vain(memory: Clew) -> None:
    stored = memory.remember("The vendor says port 6379", origin="web", trust="user").memory
    assert why_not_injected(stored) == "untrusted_origin"


def test_an_edit_of_web_text_leaves_it_untrusted(memory: Clew) -> None:
    page = memory.remember("The vendor says port 6379", origin="web")
    memory.edit(page.id, content="Our port is 6380")
    assert why_not_injected(memory.show(page.id)) == "untrusted_origin"

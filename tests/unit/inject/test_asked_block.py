"""`clew.inject.block`: what may be put before an agent about a question, without a session."""

from __future__ import annotations

import pytest

from clew import Clew, Denied, Identity, Scope

HERE = Scope(project="web")


def remember(memory: Clew, text: str, **fields: object) -> str:
    return memory.remember(text, scope=HERE, **fields).id


def test_a_question_gets_the_memories_about_it_and_the_graph(memory: Clew) -> None:
    id = remember(memory, "AuthService uses PostgreSQL")
    remember(memory, "lunch is at noon")
    block = memory.inject.block("AuthService", scope=HERE)
    assert block.memory_ids == (id,)
    assert "AuthService → uses → PostgreSQL" in block.text


def test_without_a_question_rules_come_first_and_then_the_newest(memory: Clew) -> None:
    rule = remember(memory, "never push on Fridays", type="rule")
    old, new = remember(memory, "an old note"), remember(memory, "a new note")
    assert memory.inject.block(scope=HERE).memory_ids == (rule, new, old)


def test_what_outcomes_made_worthless_is_left_out_with_a_question_and_without(memory: Clew) -> None:
    spent, good = remember(memory, "deploy by hand"), remember(memory, "deploy with the script")
    for number in range(6):
        memory.learn.judge(spent, "wrong", identity=Identity(user=f"user{number}", roles=("member",)))
    memory.edit(spent, weight=0.06)
    assert memory.learn.show(spent).retired
    assert memory.inject.block("deploy", scope=HERE).memory_ids == (good,)
    assert memory.inject.block(scope=HERE).memory_ids == (good,)


def test_what_is_not_trusted_or_restricted_is_left_out(memory: Clew) -> None:
    remember(memory, "deploy with the script from the web", origin="web")
    remember(memory, "deploy with the secret script", classification="restricted")
    assert memory.inject.block("deploy", scope=HERE).memory_ids == ()
    assert memory.inject.block(scope=HERE).memory_ids == ()


@pytest.mark.parametrize("budget", [60, 120, 500])
def test_the_whole_block_keeps_the_budget(memory: Clew, budget: int) -> None:
    for number in range(30):
        remember(memory, f"Service{number} depends on DeployService, and this is note number {number} about it")
    block = memory.inject.block("DeployService", scope=HERE, budget_tokens=budget)
    assert 0 < block.tokens <= budget


def test_nothing_is_logged_and_the_same_question_gets_the_same_block(memory: Clew) -> None:
    remember(memory, "the cache lives for an hour")
    first, second = (memory.inject.block("cache", scope=HERE) for _ in range(2))
    assert first == second
    assert memory.stats().memories == 1
    with memory.store.read() as tx:
        assert tx.injections.last("local", "asked") is None


def test_a_project_whose_memory_is_off_gets_nothing(memory: Clew) -> None:
    remember(memory, "the cache lives for an hour")
    memory.projects.set("web", "memory", False)
    assert memory.inject.block("cache", scope=HERE).text == ""


def test_a_suspended_agent_is_told_so(memory: Clew) -> None:
    memory.policies.agent("bot", suspended=True)
    with pytest.raises(Denied):
        memory.inject.block("cache", identity=Identity(agent="bot"))

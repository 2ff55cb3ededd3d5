"""`clew.inject.block`: what may be put before an agent about a question, without a session."""

from __future__ import annotations

import pytest

from clew import Clew, Denied, Identity, Scope
from findings import found

HERE = Scope(project="web")
NO_CONFIDENCES = """forbid (principal, action == Mem::Action::"inject", resource)
when { resource.classification == "confidential" };"""


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


def test_without_a_question_both_sides_of_a_conflict_say_so(memory: Clew) -> None:
    one, other = remember(memory, "login uses tokens"), remember(memory, "login uses cookies")
    found(memory, other, one)
    text = memory.inject.block(scope=HERE).text
    assert f"[{one}] [in conflict with {other}; " in text and f"[{other}] [in conflict with {one}; " in text


@pytest.mark.parametrize("question", ["cache", ""])
def test_what_outcomes_made_worthless_is_left_out(memory: Clew, question: str) -> None:
    remember(memory, "the cache lives in redis")
    for _time in range(16):
        session = memory.sessions.start(project="web", title="the cache")
        memory.sessions.claim(session.id, "w")
        memory.inject.start(session.id)
        memory.sessions.end(session.id, "rejected")
    good = remember(memory, "the cache lives for an hour")
    assert memory.inject.block(question, scope=HERE).memory_ids == (good,)


@pytest.mark.parametrize("question", ["the cache", ""])
@pytest.mark.parametrize("crowd", [{"origin": "web"}, {"classification": "restricted"}])
def test_what_may_not_be_told_keeps_nothing_else_out(memory: Clew, question: str, crowd: dict[str, object]) -> None:
    rule, note = remember(memory, "never flush the cache", type="rule"), remember(memory, "the cache is redis")
    for number in range(60):
        remember(memory, f"the cache, says page {number}, is the cache", **crowd)
    assert memory.inject.block(question, scope=HERE).memory_ids == (rule, note)


@pytest.mark.parametrize("question", ["the cache", ""])
def test_what_a_policy_denies_keeps_nothing_else_out(memory: Clew, question: str) -> None:
    rule = remember(memory, "never flush the cache", type="rule")
    note = remember(memory, "what the shop keeps for a while lies in the cache of its neighbour")
    for number in range(60):
        text = f"the cache, says page {number}, is the cache"
        remember(memory, text, classification="confidential", type="rule" if number % 2 else "note")
    memory.policies.load(NO_CONFIDENCES, name="none")
    assert memory.inject.block(question, scope=HERE).memory_ids == (rule, note)


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


@pytest.mark.parametrize("crowd", [{"origin": "web"}, {"classification": "restricted"}])
def test_facts_that_may_not_be_told_keep_no_other_out(memory: Clew, crowd: dict[str, object]) -> None:
    remember(memory, "AuthService uses PostgreSQL")
    for number in range(60):
        remember(memory, f"AuthService uses Aaa{number}Service", **crowd)
    block = memory.inject.block("AuthService", scope=HERE)
    assert block.text.count("→ uses →") == 1 and "AuthService → uses → PostgreSQL" in block.text


@pytest.mark.parametrize("crowd", [{"origin": "web"}, {"classification": "restricted"}])
def test_a_fact_is_told_however_many_state_it_that_may_not_be_told(memory: Clew, crowd: dict[str, object]) -> None:
    remember(memory, "AuthService uses PostgreSQL")
    for number in range(20):
        remember(memory, f"AuthService uses PostgreSQL, says page {number}", **crowd)
    assert "AuthService → uses → PostgreSQL" in memory.inject.block("AuthService", scope=HERE).text

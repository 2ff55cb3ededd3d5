"""What an agent has before it already is not in its start block."""

from __future__ import annotations

from clew.clew import Clew
from clew.model.inject import Block
from clew.model.scope import Scope
from clew.model.start import Held

ABOUT = Scope(project="shop")


def block(memory: Clew, held: Held | None = None, *, most_tokens: int = 0) -> Block:
    session = memory.sessions.start(project="shop", title="PaymentClient depends on GatewayPool and retries")
    memory.sessions.claim(session.id, "w")
    return memory.inject.start_report(session.id, held=held, most_tokens=most_tokens).block


def test_held_memories_are_left_out_with_their_reason(memory: Clew) -> None:
    ids = [memory.remember(f"GatewayPool retries {text}", scope=ABOUT).id for text in ("charges", "refunds")]
    assert set(block(memory).memory_ids) == set(ids)
    second = block(memory, Held(ids=frozenset(ids[:1])))
    assert second.memory_ids == (ids[1],)
    assert [(one.id, one.reason) for one in second.skipped] == [(ids[0], "held")]


def test_held_rules_are_left_out_too(memory: Clew) -> None:
    id = memory.remember("Always run the tests", type="rule", scope=ABOUT).id
    assert block(memory).memory_ids == (id,)
    assert block(memory, Held(ids=frozenset([id]))).text == ""


def test_held_facts_are_left_out_by_their_lines(memory: Clew) -> None:
    memory.remember("PaymentClient depends on GatewayPool", scope=ABOUT)
    lines = [line for line in block(memory).text.split("\n") if " → " in line]
    assert lines
    second = block(memory, Held(lines=frozenset(lines)))
    assert not any(line in second.text for line in lines)
    assert "held" in {one.reason for one in second.skipped}


def test_a_block_keeps_within_what_a_host_takes(memory: Clew) -> None:
    for number in range(12):
        memory.remember(f"GatewayPool retries case {number} " + "word " * 40, scope=ABOUT)
    assert block(memory).tokens > 150
    assert 0 < block(memory, most_tokens=150).tokens <= 150


def test_without_a_work_item_only_rules_are_told(memory: Clew) -> None:
    rule = memory.remember("Always run the tests", type="rule", scope=ABOUT).id
    session = memory.sessions.start(project="shop")
    memory.remember(f"{session.id} is quoted here, so that words find it", scope=ABOUT)
    memory.sessions.claim(session.id, "w")
    assert len(memory.inject.start_report(session.id, dry_run=True).block.memory_ids) == 2
    assert memory.inject.start_report(session.id, rules_only=True).block.memory_ids == (rule,)

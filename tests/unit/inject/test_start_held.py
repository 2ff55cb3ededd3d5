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


# -- a session that goes on ----------------------------------------------------------------------------


def going_on(first: Block, *more: str) -> Held:
    lines = frozenset(line for line in first.text.split("\n") if " → " in line)
    return Held(frozenset((*first.memory_ids, *first.session_summary_ids, *more)), lines, goes_on=True)


def test_who_has_the_whole_block_is_told_nothing_more(memory: Clew) -> None:
    for number in range(12):
        memory.remember(f"GatewayPool depends on Store{number}Db and retries " + "word " * 40, scope=ABOUT)
    first = block(memory, most_tokens=300)
    assert first.memory_ids and "over_budget" in {one.reason for one in first.skipped}
    second = block(memory, going_on(first), most_tokens=300)
    assert (second.text, second.memory_ids, second.triplets) == ("", (), ())
    assert {one.reason for one in second.skipped if one.id in first.memory_ids} == {"held"}


def test_rules_beyond_the_most_stay_untold(memory: Clew) -> None:
    for number in range(8):
        memory.remember(f"Always run the tests of part {number}", type="rule", scope=ABOUT)
    first = block(memory)
    assert len(first.memory_ids) == 5
    assert block(memory, going_on(first)).text == ""


def test_what_is_new_and_would_stand_in_the_block_is_told_alone(memory: Clew) -> None:
    for number in range(12):
        memory.remember(f"GatewayPool retries case {number} " + "word " * 40, scope=ABOUT)
    first = block(memory, most_tokens=300)
    new = memory.remember("PaymentClient depends on GatewayPool and retries", scope=ABOUT).id
    second = block(memory, going_on(first), most_tokens=300)
    assert second.memory_ids == (new,)
    assert block(memory, going_on(first, new), most_tokens=300).text == ""


def test_facts_alone_are_no_reason_to_speak_again(memory: Clew) -> None:
    memory.remember("PaymentClient depends on GatewayPool", scope=ABOUT)
    first = block(memory)
    memory.link("GatewayPool", "replaces", "PaymentClient", scope=ABOUT)
    assert "replaces" in block(memory).text
    assert block(memory, going_on(first)).text == ""
    memory.remember("GatewayPool retries charges", scope=ABOUT)
    assert "replaces" in block(memory, going_on(first)).text

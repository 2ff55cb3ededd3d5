"""The durable queue: the documented rules R-120..R-132, revocation, receipts, bounds."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from hashlib import sha256
from typing import Any
from uuid import uuid4

import apsw
import pytest
from desks import Desk

from clew.clew import Clew
from clew.deliver import ack_memory_inject, claim_pending_inject_for_session, enqueue_memory_inject, queue
from clew.errors import Conflict, InvalidInput, NotFound
from clew.learn import apply_feedback
from clew.model.ids import new_id
from clew.model.inject import ContextInjectionLog
from clew.model.memory import Draft
from clew.model.scope import Scope
from clew.model.session import InjectDraft
from toys import ToldClock

SECRET = "ghp_" + "a1B2c3D4e5" * 4


def file_of(desk: Desk) -> apsw.Connection:
    return apsw.Connection(str(desk.clew.store.path))  # type: ignore[attr-defined]


# -- R-120..R-132 --------------------------------------------------------------------------------------------


def test_r120_what_waits_survives_the_process_that_put_it_in(desk: Desk, clew_at: Callable) -> None:  # type: ignore[type-arg]
    desk.put("one")
    desk.clew.close()
    again = clew_at(desk.clew.store.path.parent)  # type: ignore[attr-defined]
    token = again.sessions.claim(desk.id, "w1")
    assert again.queue.claim(desk.id, "w1", token).text == "one"


def test_r121_an_inject_is_enqueued_claimed_and_acknowledged(desk: Desk) -> None:
    token = desk.claim_session()
    [delivery] = desk.put("one")
    assert desk.states() == ["pending"]
    assert desk.claim(token)
    assert desk.states() == ["delivered"]
    assert desk.ack(delivery, token)
    assert desk.states() == ["acked"]


def test_r122_the_same_text_is_enqueued_once_and_the_second_time_is_none(desk: Desk) -> None:
    first = desk.clew.queue.enqueue(desk.id, "one")
    assert first and first.content_hash == sha256(b"one").hexdigest()
    assert desk.clew.queue.enqueue(desk.id, "one") is None
    assert desk.clew.queue.offer(InjectDraft(desk.id, "one")).known == first
    assert desk.states() == ["pending"]


def test_r122_the_same_text_is_not_enqueued_again_after_it_was_acknowledged(desk: Desk) -> None:
    token = desk.claim_session()
    [delivery] = desk.put("one")
    desk.claim(token)
    desk.ack(delivery, token)
    assert desk.put("one") == []
    assert desk.claim(token) is None


def test_r123_one_is_in_flight_however_often_is_asked(desk: Desk) -> None:
    token = desk.claim_session()
    desk.put("one", "two", "three")
    for _ in range(5):
        desk.claim(token)
        assert desk.states() == ["delivered", "pending", "pending"]


def test_r123_the_database_itself_refuses_a_second_in_flight(desk: Desk) -> None:
    token = desk.claim_session()
    desk.put("one", "two")
    desk.claim(token)
    with pytest.raises(apsw.ConstraintError):
        file_of(desk).execute("UPDATE session_memory_injects SET state = 'delivered' WHERE state = 'pending'")


def test_r124_what_is_not_acknowledged_comes_on_every_beat_under_the_same_id(desk: Desk) -> None:
    token = desk.claim_session()
    [delivery] = desk.put("one")
    beats = [desk.clew.sessions.refresh(desk.id, "w1", token).inject for _ in range(4)]
    assert [(beat.delivery_id, beat.attempts) for beat in beats if beat] == [(delivery, n) for n in (1, 2, 3, 4)]


def test_r125_an_acknowledgement_unblocks_the_next_first_in_first_out(desk: Desk) -> None:
    token = desk.claim_session()
    put = desk.put(*"abcdef")
    got = []
    while delivery := desk.claim(token):
        got.append(delivery.delivery_id)
        assert desk.ack(delivery.delivery_id, token)
    assert got == put


def test_r126_a_worker_that_lost_the_lock_gets_nothing(desk: Desk) -> None:
    stale = desk.claim_session("w1")
    [delivery] = desk.put("one")
    desk.leases.pass_by(91)
    assert desk.claim(stale, "w1") is None
    fresh = desk.claim_session("w2")
    assert desk.claim(stale, "w1") is None
    assert desk.claim(fresh, "w2").delivery_id == delivery  # type: ignore[union-attr]
    assert not desk.ack(delivery, stale, "w1")
    assert desk.states() == ["delivered"]


def test_r127_r128_r129_the_documented_functions(desk: Desk) -> None:
    token = desk.claim_session()
    row = enqueue_memory_inject(
        desk.clew, org_id="local", session_id=desk.id, text="one", agent_id="a", observation_ids=["o1"]
    )
    assert row and (row.agent, row.observation_ids, row.state) == ("a", ("o1",), "pending")
    again = enqueue_memory_inject(desk.clew, org_id="local", session_id=desk.id, text="one")
    assert again is None
    holder = {"worker_id": "w1", "fencing_token": token}
    delivery = claim_pending_inject_for_session(desk.clew, desk.id, **holder)  # type: ignore[arg-type]
    assert delivery and (delivery.delivery_id, delivery.text) == (row.delivery_id, "one")
    assert ack_memory_inject(desk.clew, desk.id, row.delivery_id, **holder)  # type: ignore[arg-type]


def test_r130_no_provider_ability_is_needed_to_be_handed_an_inject(desk: Desk) -> None:
    stage = desk.clew.sessions.start(agent=None)
    token = desk.clew.sessions.claim(stage.id, "w1")
    desk.clew.queue.enqueue(stage.id, "one")
    assert desk.clew.queue.claim(stage.id, "w1", token)


def test_r131_two_sessions_may_carry_the_same_text(desk: Desk) -> None:
    other = desk.clew.sessions.start()
    assert desk.clew.queue.enqueue(desk.id, "one")
    assert desk.clew.queue.enqueue(other.id, "one")


def test_r132_whoever_enqueues_the_same_at_once_makes_one_row(desk: Desk) -> None:
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: desk.clew.queue.enqueue(desk.id, "one"), range(50)))
    assert sum(inject is not None for inject in made) == 1
    assert desk.states() == ["pending"]


def test_c12_a_claim_needs_worker_and_token(desk: Desk) -> None:
    token = desk.claim_session("w1")
    desk.put("one")
    assert desk.claim(token + 1, "w1") is None
    assert desk.claim(token, "w2") is None
    assert desk.claim(token, "w1")


# -- acknowledging -------------------------------------------------------------------------------------------


def test_acknowledging_twice_is_acknowledging_once(desk: Desk) -> None:
    token = desk.claim_session()
    [delivery] = desk.put("one")
    desk.claim(token)
    assert desk.ack(delivery, token)
    before = desk.clew.queue.list(desk.id)
    assert desk.ack(delivery, token)
    assert desk.clew.queue.list(desk.id) == before


def test_what_is_unknown_not_delivered_or_of_another_session_is_not_acknowledged(desk: Desk) -> None:
    token = desk.claim_session()
    [delivery] = desk.put("one")
    assert not desk.ack("inj_unknown", token)
    assert not desk.ack(delivery, token)
    other = desk.clew.sessions.start()
    held = desk.clew.sessions.claim(other.id, "w1")
    desk.claim(token)
    assert not desk.clew.queue.ack(other.id, delivery, "w1", held)
    with pytest.raises(NotFound):
        desk.clew.queue.ack("ses_unknown", delivery, "w1", token)


def test_receipts_begin_with_printed_and_only_rise(desk: Desk) -> None:
    token = desk.claim_session()
    [delivery] = desk.put("one")
    assert desk.clew.queue.list(desk.id)[0].receipt is None
    desk.claim(token)
    seen = [desk.clew.queue.list(desk.id)[0].receipt]
    for receipt in ("consumed", "confirmed", "recorded"):
        assert desk.ack(delivery, token, receipt=receipt)
        seen.append(desk.clew.queue.list(desk.id)[0].receipt)
    assert seen == ["printed", "consumed", "confirmed", "confirmed"]


def test_printing_does_not_acknowledge(desk: Desk) -> None:
    token = desk.claim_session()
    [delivery] = desk.put("one")
    desk.claim(token)
    for receipt in ("printed", "seen"):
        with pytest.raises(InvalidInput):
            desk.ack(delivery, token, receipt=receipt)
    assert desk.states() == ["delivered"]


def test_an_ended_session_cancels_what_waits_and_takes_late_acknowledgements_for_a_while(
    make_desk: Callable[..., Desk], clock: object
) -> None:
    desk = make_desk(late_ack_s=60)
    token = desk.claim_session()
    first, _second = desk.put("one", "two")
    desk.claim(token)
    desk.clew.sessions.end(desk.id)
    assert desk.states() == ["delivered", "cancelled"]
    assert desk.reasons()[1] == "session_ended"
    assert desk.claim(token) is None
    assert not desk.ack(first, token - 1)
    assert desk.ack(first, token)
    assert desk.states() == ["acked", "cancelled"]


def test_too_late_is_too_late_and_the_next_end_clears_it_away(make_desk: Callable[..., Desk], clock) -> None:  # type: ignore[no-untyped-def]
    desk = make_desk(late_ack_s=60)
    token = desk.claim_session()
    [delivery] = desk.put("one")
    desk.claim(token)
    desk.clew.sessions.end(desk.id)
    clock.pass_by(seconds=61)
    assert not desk.ack(delivery, token)
    desk.clew.sessions.stop(desk.clew.sessions.start().id)
    assert (desk.states(), desk.reasons()) == (["dead"], ["never_acknowledged"])


# -- giving up and taking back -------------------------------------------------------------------------------


def test_what_is_never_acknowledged_is_given_up_with_a_reason_and_the_next_comes(
    make_desk: Callable[..., Desk],
) -> None:
    desk = make_desk(max_attempts=3)
    token = desk.claim_session()
    poison, sound = desk.put("poison", "sound")
    got = [desk.claim(token).delivery_id for _ in range(4)]  # type: ignore[union-attr]
    assert got == [poison] * 3 + [sound]
    assert desk.reasons()[0] == "not acknowledged after 3 deliveries"
    assert [inject.delivery_id for inject in desk.clew.queue.dead()] == [poison]


def test_r086_switching_injection_off_cancels_what_memory_would_say_but_not_a_user(desk: Desk) -> None:
    token = desk.claim_session()
    memory, waiting = desk.put("from memory", "more from memory")
    [user] = desk.put("from a user", kind="user")
    assert desk.claim(token).delivery_id == memory  # type: ignore[union-attr]
    desk.clew.projects.set("shop", "runtime-inject", False)
    assert desk.claim(token).delivery_id == user  # type: ignore[union-attr]
    assert desk.states() == ["cancelled", "cancelled", "delivered"]
    assert desk.reasons()[:2] == ["injection_switched_off"] * 2
    assert not desk.ack(waiting, token)


def test_a_softly_forgotten_source_cancels_what_quotes_it(desk: Desk) -> None:
    token = desk.claim_session()
    memory = desk.clew.remember("the cache is redis")
    desk.put("quotes", observation_ids=(memory.id,))
    desk.put("does not")
    desk.clew.forget(memory.id)
    assert desk.claim(token).text == "does not"  # type: ignore[union-attr]
    assert desk.states() == ["cancelled", "delivered"]
    assert desk.reasons()[0] == "source_gone"


def test_a_delivery_in_flight_is_taken_back_when_its_source_is_forgotten(desk: Desk) -> None:
    token = desk.claim_session()
    memory = desk.clew.remember("the cache is redis")
    desk.put("quotes", observation_ids=(memory.id,))
    assert desk.claim(token)
    desk.clew.forget(memory.id)
    assert desk.claim(token) is None
    assert desk.states() == ["cancelled"]


def test_a_hard_forgotten_source_leaves_no_word_in_the_queue_or_on_the_disk(desk: Desk) -> None:
    token = desk.claim_session()
    memory = desk.clew.remember("zanzibar is the code name")
    acked, *_ = desk.put("1 zanzibar", "2 zanzibar", "3 zanzibar", observation_ids=(memory.id, "other"))
    desk.put("unrelated")
    desk.claim(token)
    desk.ack(acked, token)
    desk.claim(token)
    desk.clew.forget(memory.id, hard=True)
    assert desk.states() == ["acked", "cancelled", "cancelled", "pending"]
    texts = [inject.text for inject in desk.clew.queue.list(desk.id)]
    assert texts == ["[forgotten]"] * 3 + ["unrelated"]
    home = desk.clew.store.path.parent  # type: ignore[attr-defined]
    assert all(b"zanzibar" not in file.read_bytes() for file in home.glob("clew.db*"))


def test_a_queued_text_that_quotes_a_hard_forgotten_memory_without_naming_it_goes_too(desk: Desk) -> None:
    memory = desk.clew.remember("zanzibar is the code name", scope=Scope(project="shop"))
    desk.put("Remember: zanzibar is the code name", "the code name is known")
    desk.clew.forget(memory.id, hard=True)
    assert desk.states() == ["cancelled", "pending"]
    home = desk.clew.store.path.parent  # type: ignore[attr-defined]
    assert all(b"zanzibar" not in file.read_bytes() for file in home.glob("clew.db*"))


def test_a_hard_forget_leaves_the_same_words_that_others_queued_for_their_sessions(desk: Desk) -> None:
    bob = Scope(project="bobs", user="bob")
    session = desk.clew.sessions.start(project="bobs", user="bob", scope=bob)
    desk.clew.queue.enqueue(session.id, "Guardrail: never push to main without a review.")
    own = desk.clew.remember("never push to main without a review", scope=Scope(project="anns", user="ann"))
    desk.clew.forget(own.id, hard=True)
    assert [inject.state for inject in desk.clew.queue.list(session.id)] == ["pending"]


def test_a_block_that_arrives_after_its_source_was_hard_forgotten_is_not_delivered(desk: Desk) -> None:
    token = desk.claim_session()
    memory = desk.clew.remember("gone soon")
    desk.clew.forget(memory.id, hard=True)
    draft = InjectDraft(desk.id, "quotes", observation_ids=(memory.id,))
    assert desk.clew.queue.offer(draft).reason == "source_gone"
    assert desk.claim(token) is None and desk.reasons() == []


def test_a_block_that_was_rendered_while_an_imported_source_was_hard_forgotten_is_not_kept(desk: Desk) -> None:
    """Its id is not of our making: that of somebody else's memory may well be unknown here."""
    memory = desk.clew.remember(Draft(content="gone soon", id="note-1"))
    desk.clew.forget(memory.id, hard=True)
    draft = InjectDraft(desk.id, "quotes it", observation_ids=("note-1",))
    assert desk.clew.queue.offer(replace(draft, is_rendered=True)).reason == "source_gone"
    assert desk.clew.queue.offer(draft).inject is not None


def changed(desk: Desk, change: Callable[[str], object]) -> None:
    """A text that quotes a memory is put in, and the memory is changed."""
    memory = desk.clew.remember("the cache is redis")
    desk.put("quotes", observation_ids=(memory.id,))
    change(memory.id)


@pytest.mark.parametrize("fields", [{"classification": "restricted"}, {"content": "it is not"}, {"title": "x"}])
def test_a_source_that_was_edited_cancels_what_quotes_it(desk: Desk, fields: dict[str, str]) -> None:
    token = desk.claim_session()
    changed(desk, lambda id: desk.clew.edit(id, **fields))
    assert desk.claim(token) is None
    assert desk.reasons() == ["source_gone"]


@pytest.mark.parametrize("change", ["edit", "forget", "off"])
@pytest.mark.parametrize("is_in_flight", [False, True])
def test_what_a_user_says_is_handed_out_whatever_becomes_of_the_memories_it_names(
    desk: Desk, change: str, is_in_flight: bool
) -> None:
    token = desk.claim_session()
    memory = desk.clew.remember("the cache is redis", scope=Scope(project="bank"))
    [said] = desk.put("mind the cache", kind="user", observation_ids=(memory.id,))
    if is_in_flight:
        assert desk.claim(token)
    if change == "edit":
        desk.clew.edit(memory.id, content="it is not")
    elif change == "forget":
        desk.clew.forget(memory.id)
    else:
        desk.clew.projects.set("bank", "memory", False)
    assert desk.put("mind the cache", kind="user", observation_ids=(memory.id,)) == []
    delivery = desk.claim(token)
    assert delivery and (delivery.delivery_id, delivery.attempts) == (said, 1 + is_in_flight)
    assert desk.ack(said, token)


def test_a_superseded_source_cancels_what_quotes_it(desk: Desk) -> None:
    token = desk.claim_session()
    changed(desk, lambda id: desk.clew.remember("the cache is valkey", supersedes=id))
    assert desk.claim(token) is None
    assert desk.reasons() == ["source_gone"]


@pytest.mark.parametrize("end", ["expires_at", "invalid_at"])
def test_a_source_that_no_longer_holds_cancels_what_quotes_it(desk: Desk, clock: ToldClock, end: str) -> None:
    token = desk.claim_session()
    memory = desk.clew.remember("the cache is redis", **{end: clock.time + timedelta(hours=1)})
    desk.put("quotes", "says more", observation_ids=(memory.id,))
    assert desk.ack(desk.claim(token).delivery_id, token)  # type: ignore[union-attr]
    clock.pass_by(hours=2)
    desk.leases.pass_by(1)
    assert desk.claim(token) is None
    assert desk.reasons()[1] == "source_gone"


def test_a_weight_that_moves_cancels_nothing(desk: Desk) -> None:
    token = desk.claim_session()
    memory = desk.clew.remember("the cache is redis", scope=Scope(project="shop"))
    log = ContextInjectionLog(session_id="ses_other", observation_ids=(memory.id,), delivered=True)
    desk.clew.inject.record(log)
    desk.put("quotes", observation_ids=(memory.id,))
    apply_feedback(desk.clew, org_id="local", session_id="ses_other", outcome="rejected")
    assert desk.clew.show(memory.id).weight != memory.memory.weight
    assert desk.claim(token)


def test_a_suspended_agent_is_told_nothing_from_memory_but_by_its_user(desk: Desk) -> None:
    token = desk.claim_session()
    desk.put("from memory")
    [user] = desk.put("from a user", kind="user")
    desk.clew.policies.agent("agent", suspended=True)
    assert desk.claim(token).delivery_id == user  # type: ignore[union-attr]
    assert desk.reasons()[0] == "agent_suspended"


def test_what_was_cancelled_may_be_put_in_again_under_its_id(desk: Desk) -> None:
    token = desk.claim_session()
    [first] = desk.put("one")
    desk.clew.projects.set("shop", "runtime-inject", False)
    assert desk.claim(token) is None
    desk.clew.projects.set("shop", "runtime-inject", True)
    assert desk.put("one") == [first]
    assert (desk.states(), desk.reasons()) == (["pending"], [None])
    assert desk.claim(token).attempts == 1  # type: ignore[union-attr]


# -- bounds --------------------------------------------------------------------------------------------------


def test_memory_is_silent_when_there_is_no_room_and_a_user_is_told(make_desk: Callable[..., Desk]) -> None:
    desk = make_desk(max_pending=1, max_text_bytes=10)
    queue = desk.clew.queue
    assert queue.offer(InjectDraft(desk.id, "eleven chars")).reason == "text_too_long"
    desk.put("one")
    assert queue.offer(InjectDraft(desk.id, "two")).reason == "queue_full"
    assert queue.offer(InjectDraft(desk.id, "one")).deduplicated
    with pytest.raises(InvalidInput):
        queue.enqueue(desk.id, "eleven chars", kind="user")
    with pytest.raises(Conflict):
        queue.enqueue(desk.id, "two", kind="user")
    assert desk.states() == ["pending"]


def test_a_text_that_is_made_anew_finds_the_room_that_it_had(make_desk: Callable[..., Desk]) -> None:
    desk = make_desk(max_pending=1)
    token = desk.claim_session()
    memory = desk.clew.remember("the cache is redis")
    quotes = {"observation_ids": (memory.id,)}
    [delivery] = desk.put("quotes", **quotes)
    desk.clew.edit(memory.id, title="x")
    desk.leases.pass_by(1)
    assert desk.put("quotes", **quotes) == [delivery]
    assert desk.claim(token)


def test_a_text_that_is_made_anew_while_a_worker_holds_it_is_in_flight_again(desk: Desk) -> None:
    token = desk.claim_session()
    memory = desk.clew.remember("the cache is redis")
    quotes = {"observation_ids": (memory.id,)}
    [delivery] = desk.put("quotes", **quotes)
    assert desk.claim(token)
    desk.clew.edit(memory.id, title="x")
    desk.leases.pass_by(1)
    assert desk.put("quotes", **quotes) == [delivery]
    beat = desk.clew.sessions.refresh(desk.id, "w1", token, held=delivery)
    assert beat.inject and (beat.inject.delivery_id, desk.states()) == (delivery, ["delivered"])
    assert desk.ack(delivery, token)


def test_an_ended_session_takes_nothing_more(desk: Desk) -> None:
    desk.claim_session()
    desk.clew.sessions.end(desk.id)
    assert desk.clew.queue.offer(InjectDraft(desk.id, "one")).reason == "session_ended"
    with pytest.raises(Conflict):
        desk.clew.queue.enqueue(desk.id, "one", kind="user")


@pytest.mark.parametrize("bad", ["", " \n", "\ud800"])
def test_r042_an_empty_block_is_never_enqueued(desk: Desk, bad: str) -> None:
    with pytest.raises(InvalidInput):
        desk.put(bad)
    assert desk.states() == []


@pytest.mark.parametrize("fields", [{"kind": "other"}, {"phase": "end"}])
def test_an_inject_of_no_known_kind_is_refused(desk: Desk, fields: dict[str, str]) -> None:
    with pytest.raises(InvalidInput):
        desk.put("one", **fields)


def test_a_secret_is_masked_before_it_waits(desk: Desk) -> None:
    desk.put(f"use {SECRET} here")
    assert SECRET not in desk.clew.queue.list(desk.id)[0].text


def test_a_secret_in_the_names_of_an_inject_is_masked(desk: Desk) -> None:
    desk.put("one", agent=SECRET, observation_ids=(SECRET,), node_ids=(SECRET,), source_ids=(SECRET,))
    kept = file_of(desk).execute("SELECT * FROM session_memory_injects").fetchall()
    assert "[masked:github]" in str(kept) and SECRET not in str(kept)


def test_ids_of_our_own_are_as_they_were_and_others_are_looked_at_whoever_named_them() -> None:
    own = (new_id("mem"), str(uuid4()), new_id("ses"))
    draft = InjectDraft(new_id("ses"), "one", observation_ids=(*own, SECRET), source_ids=own, is_rendered=True)
    done = queue.prepared(draft)
    assert done.source_ids == own and done.observation_ids[:3] == own
    assert SECRET not in done.observation_ids[3]


def test_ids_that_the_renderer_named_cost_no_second_look(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[str] = []
    redact = queue.redact
    monkeypatch.setattr(queue, "redact", lambda text, **named: looked.append(text) or redact(text, **named))
    ids = (new_id("mem"), str(uuid4()))
    queue.prepared(InjectDraft(new_id("ses"), "one", observation_ids=ids, node_ids=ids, is_rendered=True))
    assert looked == ["one", ""]
    queue.prepared(InjectDraft(new_id("ses"), "one", observation_ids=ids))
    assert set(ids) <= set(looked)


def test_a_text_that_was_given_up_is_not_said_to_be_queued_again(make_desk: Callable[..., Desk]) -> None:
    desk = make_desk(max_attempts=1)
    token = desk.claim_session()
    desk.put("one")
    assert desk.claim(token) and desk.claim(token) is None and desk.states() == ["dead"]
    again = desk.clew.queue.offer(InjectDraft(desk.id, "one"))
    assert (again.inject, again.known, again.reason) == (None, None, "given_up_before")


def test_what_never_reached_the_agent_does_not_stay_delivered_in_the_log(desk: Desk) -> None:
    token = desk.claim_session()
    [first, second, third] = desk.put("one", "two", "three")
    for delivery in (first, second, third):
        row = ContextInjectionLog(session_id=desk.id, delivered=True, delivery_id=delivery, observation_ids=("x",))
        desk.clew.inject.record(row)
    desk.claim(token)
    desk.ack(first, token)
    desk.claim(token)
    desk.clew.sessions.refresh(desk.id, "w1", token, dead={second: "broken"})
    desk.clew.sessions.end(desk.id)  # cancels the third, whether it waits or is in flight
    told = {row.delivery_id: row.delivered for row in desk.clew.inject.log(desk.id)}
    assert (told[first], told[second]) == (True, False)


# -- what nobody can have meant ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "call",
    [
        lambda clew, bad: clew.sessions.show(bad),
        lambda clew, bad: clew.sessions.claim(bad, "w1"),
        lambda clew, bad: clew.sessions.refresh(bad, "w1", 1),
        lambda clew, bad: clew.sessions.end(bad),
        lambda clew, bad: clew.sessions.stop(bad),
        lambda clew, bad: clew.queue.enqueue(bad, "one"),
        lambda clew, bad: clew.queue.claim(bad, "w1", 1),
        lambda clew, bad: clew.queue.ack(bad, "inj_1", "w1", 1),
        lambda clew, bad: clew.queue.list(bad),
        lambda clew, bad: clew.inject.start(bad),
    ],
)
def test_a_session_whose_id_is_no_text_is_not_there(desk: Desk, call: Callable[[Clew, str], object]) -> None:
    with pytest.raises(NotFound) as error:
        call(desk.clew, "\ud800")
    assert error.value.code == "SESSION_NOT_FOUND"
    assert error.value.message.encode()


@pytest.mark.parametrize("token", [2**70, -1, "1", 1.5])
@pytest.mark.parametrize(
    "call",
    [
        lambda clew, id, token: clew.sessions.refresh(id, "w1", token),
        lambda clew, id, token: clew.sessions.finalize(id, "w1", token),
        lambda clew, id, token: clew.sessions.end(id, worker="w1", token=token),
        lambda clew, id, token: clew.queue.claim(id, "w1", token),
        lambda clew, id, token: clew.queue.ack(id, "inj_1", "w1", token),
    ],
)
def test_a_token_that_no_claim_gave_is_refused(
    desk: Desk, call: Callable[[Clew, str, Any], object], token: Any
) -> None:
    with pytest.raises(InvalidInput) as error:
        call(desk.clew, desk.id, token)
    assert error.value.code == "TOKEN_INVALID"


def test_what_is_told_of_a_delivery_is_text(desk: Desk) -> None:
    token = desk.claim_session()
    [delivery] = desk.put("one")
    desk.claim(token)
    with pytest.raises(InvalidInput, match="must be text"):
        desk.ack("\ud800", token)
    for told in ({"acked": [1]}, {"dead": {delivery: None}}, {"dead": {"\ud800": "broken"}}):
        with pytest.raises(InvalidInput) as error:
            desk.clew.sessions.refresh(desk.id, "w1", token, **told)  # type: ignore[arg-type]
        assert error.value.code == "DELIVERY_INVALID"
    assert desk.states() == ["delivered"]


@pytest.mark.parametrize("fields", [{"observation_ids": (1,)}, {"source_ids": ("\ud800",)}, {"agent": "\ud800"}])
def test_ids_of_an_inject_are_text(desk: Desk, fields: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput) as error:
        desk.put("one", **fields)
    assert error.value.code == "INJECT_INVALID"

"""Sessions: created with their work item, claimed under a lock with a growing token, ended in a legal way."""

from __future__ import annotations

import logging
from collections.abc import Callable

import pytest
from desks import Desk

from clew.errors import Conflict, Denied, InvalidInput, NotFound
from clew.model.scope import Identity
from clew.model.upkeep import Check
from toys import ToldClock

SECRET = "ghp_" + "a1B2c3D4e5" * 4


def test_r022_the_work_item_is_kept_with_the_session(desk: Desk) -> None:
    session = desk.clew.sessions.start(
        project="shop", work_type="bug_fix", issue="SHOP-8", issue_id="uuid-8", title="Slow", description="one\ntwo"
    )
    shown = desk.clew.sessions.show(session.id)
    assert shown == session
    assert (shown.issue, shown.issue_id, shown.title, shown.description) == ("SHOP-8", "uuid-8", "Slow", "one\ntwo")
    assert (shown.state, shown.work_type, shown.agent) == ("queued", "bug_fix", "agent")


def test_a_session_of_a_project_whose_name_holds_a_secret_is_refused(desk: Desk) -> None:
    with pytest.raises(InvalidInput) as refused:
        desk.clew.sessions.start(project=SECRET)
    assert refused.value.code == "SCOPE_NAME_SECRET"


def test_a_secret_in_the_work_item_is_masked(desk: Desk) -> None:
    session = desk.clew.sessions.start(title=f"token {SECRET}", description=f"use {SECRET}", issue=SECRET)
    assert SECRET not in str(desk.clew.sessions.show(session.id))


def test_a_long_description_is_cut_and_an_endless_one_refused(desk: Desk) -> None:
    session = desk.clew.sessions.start(description="word " * 10_000)
    assert len(desk.clew.sessions.show(session.id).description or "") == 4_000
    with pytest.raises(InvalidInput):
        desk.clew.sessions.start(description="x" * 1_000_000)


@pytest.mark.parametrize("bad", ["two\nlines", " ", "x" * 201, "\ud800"])
def test_names_are_one_line(desk: Desk, bad: str) -> None:
    with pytest.raises(InvalidInput):
        desk.clew.sessions.start(issue=bad)
    with pytest.raises(InvalidInput):
        desk.clew.sessions.claim(desk.id, bad)


def test_a_claim_makes_it_run_under_a_token(desk: Desk) -> None:
    token = desk.claim_session("w1", provider_session="agent-run-1")
    session = desk.clew.sessions.show(desk.id)
    assert (session.state, session.worker, session.fencing_token) == ("running", "w1", token)
    assert session.provider_session == "agent-run-1"
    assert session.claimed_at is not None


def test_a_session_that_is_held_cannot_be_claimed_by_another(desk: Desk) -> None:
    desk.claim_session("w1")
    with pytest.raises(Conflict) as refused:
        desk.claim_session("w2")
    assert refused.value.code == "SESSION_LOCKED"
    assert desk.clew.sessions.show(desk.id).worker == "w1"


def test_after_the_lock_ran_out_another_has_it_under_a_larger_token(desk: Desk) -> None:
    first = desk.claim_session("w1")
    desk.leases.pass_by(91)
    second = desk.claim_session("w2")
    assert second > first
    assert desk.clew.sessions.show(desk.id).state == "running"


def test_a_worker_that_claims_again_fences_itself_out(desk: Desk) -> None:
    old, new = desk.claim_session("w1"), desk.claim_session("w1")
    assert new > old
    assert not desk.clew.sessions.refresh(desk.id, "w1", old).refreshed
    assert desk.clew.sessions.refresh(desk.id, "w1", new).refreshed


def test_a_refresh_keeps_the_lock_for_another_lease(desk: Desk) -> None:
    token = desk.claim_session()
    for _ in range(5):
        desk.leases.pass_by(60)
        assert desk.clew.sessions.refresh(desk.id, "w1", token).refreshed
    with pytest.raises(Conflict):
        desk.claim_session("w2")


def test_a_refresh_after_the_lease_is_refused_even_if_nobody_else_came(desk: Desk) -> None:
    token = desk.claim_session()
    desk.leases.pass_by(91)
    assert desk.clew.sessions.refresh(desk.id, "w1", token).as_json() == {
        "refreshed": False,
        "stop": False,
        "inject": None,
    }


def test_a_token_in_another_workers_hands_is_worth_nothing(desk: Desk) -> None:
    token = desk.claim_session("w1")
    desk.put("one")
    assert not desk.clew.sessions.refresh(desk.id, "w2", token).refreshed
    assert desk.claim(token, "w2") is None


def test_a_refresh_acknowledges_buries_and_hands_out_at_most_one(desk: Desk) -> None:
    token = desk.claim_session()
    first, second, third = desk.put("one", "two", "three")
    refresh = desk.clew.sessions.refresh
    assert refresh(desk.id, "w1", token).inject.delivery_id == first  # type: ignore[union-attr]
    assert refresh(desk.id, "w1", token, acked=[first]).inject.delivery_id == second  # type: ignore[union-attr]
    beat = refresh(desk.id, "w1", token, dead={second: "agent  refused\nit"})
    assert beat.inject and beat.inject.delivery_id == third
    assert desk.states() == ["acked", "dead", "delivered"]
    assert desk.reasons()[1] == "agent refused it"


def test_a_stop_request_is_told_by_the_next_refresh_which_brings_nothing(desk: Desk) -> None:
    token = desk.claim_session()
    desk.put("one")
    assert desk.clew.sessions.stop(desk.id).stop_requested
    beat = desk.clew.sessions.refresh(desk.id, "w1", token)
    assert (beat.refreshed, beat.stop, beat.inject) == (True, True, None)
    assert desk.claim(token) is None
    assert desk.clew.sessions.end(desk.id, state="stopped", worker="w1", token=token).state == "stopped"


def test_a_session_that_nobody_holds_is_stopped_at_once(desk: Desk) -> None:
    queued = desk.clew.sessions.start()
    assert desk.clew.sessions.stop(queued.id).state == "stopped"
    desk.claim_session()
    desk.leases.pass_by(91)
    assert desk.clew.sessions.stop(desk.id).state == "stopped"
    with pytest.raises(Conflict):
        desk.clew.sessions.stop(desk.id)


def test_a_session_is_completed_once(desk: Desk) -> None:
    desk.claim_session()
    ended = desk.clew.sessions.end(desk.id, "accepted")
    assert (ended.state, ended.outcome) == ("completed", "accepted")
    assert desk.clew.sessions.show(desk.id) == ended
    for again in (desk.clew.sessions.end, desk.clew.sessions.stop, lambda id: desk.claim_session()):
        with pytest.raises(Conflict):
            again(desk.id)


def test_a_session_nobody_claimed_cannot_be_completed(desk: Desk) -> None:
    with pytest.raises(Conflict) as refused:
        desk.clew.sessions.end(desk.id)
    assert refused.value.code == "SESSION_TRANSITION_ILLEGAL"


def test_what_is_finalizing_gets_no_injects_and_can_still_fail(desk: Desk) -> None:
    token = desk.claim_session()
    desk.put("one")
    assert desk.clew.sessions.finalize(desk.id, "w1", token).state == "finalizing"
    assert desk.claim(token) is None
    with pytest.raises(Conflict):
        desk.claim_session("w1")
    assert desk.clew.sessions.end(desk.id, state="failed", worker="w1", token=token).state == "failed"


def test_a_worker_whose_name_is_masked_keeps_its_session(desk: Desk) -> None:
    worker = "https://ci:hunter22@host/run/5"
    token = desk.claim_session(worker)
    assert "hunter22" not in (desk.clew.sessions.show(desk.id).worker or "")
    [delivery] = desk.put("one")
    assert desk.claim(token, worker) and desk.ack(delivery, token, worker)
    assert desk.clew.sessions.refresh(desk.id, worker, token).refreshed
    assert desk.clew.sessions.finalize(desk.id, worker, token).state == "finalizing"
    assert desk.clew.sessions.end(desk.id, worker=worker, token=token).state == "completed"


def test_a_worker_that_lost_the_session_cannot_end_it(desk: Desk) -> None:
    stale = desk.claim_session("w1")
    desk.leases.pass_by(91)
    desk.claim_session("w2")
    with pytest.raises(Conflict) as refused:
        desk.clew.sessions.end(desk.id, "accepted", worker="w1", token=stale)
    assert refused.value.code == "LEASE_LOST"
    assert desk.clew.sessions.show(desk.id).state == "running"


@pytest.mark.parametrize(("state", "outcome"), [("running", None), ("done", None), ("completed", "fine")])
def test_an_end_or_outcome_that_does_not_exist_is_refused(desk: Desk, state: str, outcome: str | None) -> None:
    desk.claim_session()
    with pytest.raises(InvalidInput):
        desk.clew.sessions.end(desk.id, outcome, state=state)


def test_the_end_is_told_to_summary_and_feedback_with_a_masked_report(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = []
    for group in (type(desk.clew.inject), type(desk.clew.learn)):
        monkeypatch.setattr(
            group, "on_session_end", lambda self, session, report: told.append((session, report)), raising=False
        )
    desk.claim_session()
    session = desk.clew.sessions.end(
        desk.id, "rework", summary=f"did it with {SECRET}", errors=[{"message": SECRET, "tool": "Bash"}]
    )
    assert [each[0] for each in told] == [session, session]
    assert SECRET not in str(told)
    assert told[0][1].errors[0]["tool"] == "Bash"


def test_a_session_ends_even_if_what_hangs_on_it_fails(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(self: object, session: object, report: object) -> None:
        raise RuntimeError("a memory's text")

    for group in (type(desk.clew.inject), type(desk.clew.learn)):
        monkeypatch.setattr(group, "on_session_end", fail, raising=False)
    desk.claim_session()
    with caplog.at_level(logging.WARNING):
        assert desk.clew.sessions.end(desk.id, "accepted").state == "completed"
    assert [record.getMessage() for record in caplog.records] == [
        "summary failed: RuntimeError",
        "feedback failed: RuntimeError",
    ]


def test_a_session_of_another_org_is_not_found(desk: Desk) -> None:
    stranger = Identity(org="other")
    token = desk.claim_session()
    [delivery] = desk.put("one")
    sessions, queue = desk.clew.sessions, desk.clew.queue
    for attempt in (
        lambda: sessions.show(desk.id, identity=stranger),
        lambda: sessions.claim(desk.id, "w1", identity=stranger),
        lambda: sessions.refresh(desk.id, "w1", token, identity=stranger),
        lambda: sessions.end(desk.id, identity=stranger),
        lambda: sessions.stop(desk.id, identity=stranger),
        lambda: queue.enqueue(desk.id, "two", identity=stranger),
        lambda: queue.list(desk.id, identity=stranger),
        lambda: queue.claim(desk.id, "w1", token, identity=stranger),
        lambda: queue.ack(desk.id, delivery, "w1", token, identity=stranger),
    ):
        with pytest.raises(NotFound):
            attempt()
    assert sessions.list(identity=stranger) == []
    assert queue.dead(identity=stranger) == []


def test_another_users_session_is_for_whoever_runs_the_workers(desk: Desk) -> None:
    ann = Identity(user="ann", roles=("member",))
    session = desk.clew.sessions.start(user="ann", identity=ann)
    bob, operator = Identity(user="bob", roles=("member",)), Identity(user="ops", roles=("operator",))
    with pytest.raises(NotFound):
        desk.clew.sessions.show(session.id, identity=bob)
    assert desk.clew.sessions.show(session.id, identity=operator) == session
    with pytest.raises(Denied):
        desk.clew.sessions.start(user="ann", identity=bob)


def test_sessions_are_listed_newest_first_by_project_and_state(desk: Desk) -> None:
    other = desk.clew.sessions.start(project="other")
    desk.claim_session()
    listed = desk.clew.sessions.list
    assert [each.id for each in listed()] == [other.id, desk.id]
    assert [each.id for each in listed(project="shop")] == [desk.id]
    assert [each.id for each in listed(state="running")] == [desk.id]
    assert [each.id for each in listed(limit=1)] == [other.id]


def test_a_clock_that_jumps_back_lets_no_second_worker_in(make_desk: Callable[..., Desk]) -> None:
    desk = make_desk()
    token = desk.claim_session("w1")
    desk.leases.pass_by(-3_600)
    with pytest.raises(Conflict):
        desk.claim_session("w2")
    assert desk.clew.sessions.refresh(desk.id, "w1", token).refreshed
    desk.leases.pass_by(91)
    assert desk.claim_session("w2") > token


def test_an_outcome_that_was_told_before_the_end_stands(desk: Desk) -> None:
    desk.claim_session()
    desk.clew.learn.feedback(desk.id, "rework")
    assert desk.clew.sessions.end(desk.id).outcome == "rework"
    assert desk.clew.sessions.show(desk.id).outcome == "rework"


def test_a_session_that_is_stopped_before_anybody_claimed_it_leaves_its_traces_too(desk: Desk) -> None:
    assert desk.clew.sessions.stop(desk.id).state == "stopped"
    assert desk.clew.learn.diagnostics(desk.id) is not None


def test_a_session_whose_worker_died_has_failed_after_three_days(desk: Desk, clock: ToldClock) -> None:
    """Until then it may be claimed again, and what waits is handed out then."""
    desk.claim_session("w1")
    desk.put("a block")

    def after(*, days: int) -> tuple[str, list[str], list[str]]:
        clock.pass_by(days=days)
        desk.leases.pass_by(days * 86_400)
        desk.clew.hosts.capture_waiting()
        audited = [entry.action for entry in desk.clew.audit.list() if entry.id == desk.id]
        return desk.clew.sessions.show(desk.id).state, desk.states(), audited

    assert after(days=2) == ("running", ["pending"], [])
    desk.claim_session("w2")
    assert after(days=2) == ("running", ["pending"], [])
    assert after(days=2) == ("failed", ["cancelled"], ["abandon"])
    assert desk.clew.sessions.show(desk.id).outcome is None


def test_the_doctor_tells_of_a_session_whose_worker_is_silent(desk: Desk, clock: ToldClock) -> None:
    def told() -> Check:
        return next(check for check in desk.clew.doctor() if check.name == "sessions")

    desk.claim_session("w1")
    assert told().ok
    clock.pass_by(hours=2)
    desk.leases.pass_by(7_200)
    assert not told().ok and "clew session list" in told().next
    desk.claim_session("w2")
    assert told().ok

"""Outcomes move weights: once per session and target, corrected by replay, never at the price of a session."""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import apsw
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lessons import SHOP, an_edge, remembered, shown, tell, weight

from clew.clew import Clew
from clew.errors import Denied, InvalidInput, NotFound
from clew.learn import apply_feedback, feedback
from clew.model.config import AgentRights
from clew.model.learning import FeedbackReport
from clew.model.scope import Identity, Scope
from clew.model.session import OUTCOMES, SessionReport
from clew.remember import edit
from toys import ToldClock, open_toy


def edge_weight(clew: Clew, **log: Any) -> tuple[float, float]:
    """(edge, node) as the store has them."""
    [name] = log["graph_edge_keys"]
    with clew.store.read() as tx:
        edge = tx.learning.edge("local", (name.source_id, name.target_id, name.relationship_name), project="shop")
        node = tx.learning.node("local", log["graph_node_ids"][0])
    assert edge and node
    return edge.weight, node.weight


# -- documented numbers --------------------------------------------------------------------------------


@pytest.mark.parametrize(("outcome", "left"), [("accepted", 1.0), ("rework", 0.85), ("rejected", 0.85)])
def test_r074_an_outcome_moves_what_the_session_was_shown(memory: Clew, outcome: str, left: float) -> None:
    id, other = remembered(memory, "Redis holds sessions"), remembered(memory, "mail goes out at night")
    report = tell(memory, shown(memory, id), outcome)
    assert (report.memories, report.reason) == (1, "")
    assert weight(memory, id) == pytest.approx(left) and weight(memory, other) == 1.0


@pytest.mark.parametrize(("outcome", "left"), [("accepted", 0.55), ("rework", 0.50), ("rejected", 0.45)])
def test_r074_nodes_and_edges_of_the_log_move_by_the_documented_average(
    memory: Clew, outcome: str, left: float
) -> None:
    edge, node = an_edge(memory)
    log = {"graph_edge_keys": (edge,), "graph_node_ids": (node,)}
    report = tell(memory, shown(memory, **log), outcome)
    assert (report.memories, report.nodes, report.edges) == (0, 1, 1)
    assert edge_weight(memory, **log) == pytest.approx((left, left))


def test_ten_rejections_over_months_leave_a_fifth(memory: Clew, clock: ToldClock) -> None:
    id = remembered(memory, "Redis holds sessions")
    for _ in range(10):
        tell(memory, shown(memory, id), "rejected")
        clock.pass_by(days=20)
    assert weight(memory, id) == pytest.approx(0.85**10) == pytest.approx(0.197, abs=5e-4)


def test_ten_rejections_in_a_row_fall_faster_because_it_misleads(memory: Clew) -> None:
    id = remembered(memory, "Redis holds sessions")
    for _ in range(5):
        tell(memory, shown(memory, id), "rejected")
    assert weight(memory, id) == pytest.approx(0.85**3 * 0.7**2)


def test_the_settings_give_the_numbers(clew_at: Callable[..., Clew], tmp_path: Path) -> None:
    clew = clew_at(tmp_path, learn={"alpha_success": 0.5, "alpha_failure": 0.5, "rework_score": 0.5})
    id = remembered(clew, "Redis holds sessions", weight=0.2)
    tell(clew, shown(clew, id), "rework")
    assert weight(clew, id) == pytest.approx(0.35)


# -- once per session and target -----------------------------------------------------------------------


def test_feedback_twice_moves_once(memory: Clew) -> None:
    id = remembered(memory, "Redis holds sessions")
    session = shown(memory, id)
    tell(memory, session, "rejected")
    again = tell(memory, session, "rejected")
    assert (again.memories, again.unchanged) == (0, 1) and weight(memory, id) == 0.85


def test_an_id_in_several_rows_of_a_session_counts_once(memory: Clew) -> None:
    id = remembered(memory, "Redis holds sessions")
    session = shown(memory, id)
    shown(memory, id, session=session, phase="in_session")
    assert tell(memory, session, "rejected").memories == 1 and weight(memory, id) == 0.85


def test_what_was_shown_after_the_outcome_still_learns_from_it(memory: Clew) -> None:
    first, second = remembered(memory, "Redis holds sessions"), remembered(memory, "mail goes out at night")
    session = shown(memory, first)
    tell(memory, session, "rejected")
    shown(memory, second, session=session)
    again = tell(memory, session, "rejected")
    assert (again.memories, again.unchanged, weight(memory, second)) == (1, 1, 0.85)


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from(OUTCOMES), min_size=1, max_size=6), st.data())
def test_a_corrected_outcome_is_as_if_it_had_been_said_at_once(
    tmp_path: Path, outcomes: list[str], data: st.DataObject
) -> None:
    right = [data.draw(st.sampled_from(OUTCOMES)) for _ in outcomes]
    with open_toy(tmp_path / f"{len(list(tmp_path.iterdir()))}.db") as clew:
        wrong_first, direct = remembered(clew, "Redis holds sessions"), remembered(clew, "mail goes out at night")
        sessions = [shown(clew, wrong_first) for _ in outcomes]
        for session, outcome in zip(sessions, outcomes, strict=True):
            tell(clew, session, outcome)
        for at in data.draw(st.permutations(range(len(sessions)))):
            tell(clew, sessions[at], right[at])
        for outcome in right:
            tell(clew, shown(clew, direct), outcome)
        assert weight(clew, wrong_first) == weight(clew, direct)


def test_a_weight_that_a_person_set_since_is_not_touched_by_a_correction(memory: Clew) -> None:
    id = remembered(memory, "Redis holds sessions")
    session = shown(memory, id)
    tell(memory, session, "rejected")
    memory.edit(id, weight=3.0)
    tell(memory, session, "accepted")
    assert weight(memory, id) == 3.0


def test_every_change_is_in_the_history_with_its_reason(memory: Clew) -> None:
    id = remembered(memory, "Redis holds sessions")
    session = shown(memory, id)
    for outcome in ("rejected", "rejected", "accepted"):
        tell(memory, session, outcome)
    changes = [(one.outcome, one.previous, one.weight, one.alpha) for one in memory.learn.show(id).history]
    assert changes == [("rejected", 1.0, 0.85, 0.15), ("accepted", 0.85, 1.0, 0.1)]


# -- what was never delivered (C-10) -------------------------------------------------------------------


@pytest.mark.parametrize(("undelivered", "left"), [("full", 0.85), ("scaled", 1 - 0.15 / 4), ("off", 1.0)])
def test_c10_text_that_no_agent_saw_counts_as_the_setting_says(
    clew_at: Callable[..., Clew], tmp_path: Path, undelivered: str, left: float
) -> None:
    clew = clew_at(tmp_path, learn={"undelivered": undelivered})
    id = remembered(clew, "Redis holds sessions")
    tell(clew, shown(clew, id, delivered=False), "rejected")
    assert weight(clew, id) == pytest.approx(left)


def test_c10_one_delivery_in_any_row_counts_in_full(clew_at: Callable[..., Clew], tmp_path: Path) -> None:
    clew = clew_at(tmp_path, learn={"undelivered": "off"})
    id = remembered(clew, "Redis holds sessions")
    session = shown(clew, id, delivered=False)
    shown(clew, id, session=session)
    tell(clew, session, "rejected")
    assert weight(clew, id) == 0.85


# -- never raises --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("org", "session", "outcome", "reason"),
    [
        ("local", "ses_unknown", "accepted", "unknown_session"),
        ("local", "", "accepted", "no_session"),
        ("", "ses_unknown", "accepted", "no_org"),
        ("local", "ses_unknown", "splendid", "unknown_outcome"),
    ],
)
def test_what_cannot_be_learnt_from_has_a_reason(
    memory: Clew, org: str, session: str, outcome: str, reason: str
) -> None:
    report = apply_feedback(memory, org_id=org, session_id=session, outcome=outcome)
    assert report == FeedbackReport(session, outcome, reason=reason)


def test_a_session_without_a_log_has_a_reason(memory: Clew) -> None:
    assert tell(memory, memory.sessions.start().id, "accepted").reason == "no_log"


def test_an_unknown_outcome_is_ignored_with_a_warning(memory: Clew, caplog: pytest.LogCaptureFixture) -> None:
    id = remembered(memory, "Redis holds sessions")
    with caplog.at_level(logging.WARNING):
        tell(memory, shown(memory, id), "splendid")
    assert "outcome" in caplog.text and weight(memory, id) == 1.0


def test_a_store_that_fails_fails_no_session(clew_at: Callable[..., Clew], tmp_path: Path) -> None:
    clew = clew_at(tmp_path)
    session = shown(clew, remembered(clew, "Redis holds sessions"))
    clew.store.close()
    assert tell(clew, session, "accepted").reason == "error"


def test_what_is_gone_by_now_is_left_out(memory: Clew) -> None:
    gone, here = remembered(memory, "Redis holds sessions"), remembered(memory, "mail goes out at night")
    nowhere = {"graph_node_ids": ("no-uuid", "00000000-0000-0000-0000-000000000000")}
    session = shown(memory, gone, here, "mem_never", **nowhere)
    memory.forget(gone, hard=True)
    report = tell(memory, session, "rejected")
    assert (report.memories, report.nodes) == (1, 0)


def test_another_orgs_log_teaches_nothing(memory: Clew) -> None:
    id = remembered(memory, "Redis holds sessions")
    session = shown(memory, id)
    assert (
        apply_feedback(memory, org_id="other", session_id=session, outcome="rejected").reason == "unknown_session"
    )
    assert weight(memory, id) == 1.0


# -- memories as others see them -----------------------------------------------------------------------


def test_a_moved_weight_makes_no_version_and_is_in_the_change_log(memory: Clew) -> None:
    id = remembered(memory, "Redis holds sessions")
    with memory.store.read() as tx:
        before = tx.changes.last("local")
    tell(memory, shown(memory, id), "rejected")
    with memory.store.read() as tx:
        changes = tx.changes.since("local", before, 10)
    assert memory.show(id).version == 1
    assert changes and [(one.project, one.kind, one.id, one.op) for one in changes] == [
        ("shop", "memory", id, "put")
    ]


def test_a_recall_sees_the_moved_weight(memory: Clew) -> None:
    id = remembered(memory, "Redis holds sessions")
    memory.recall("Redis sessions", scope=SHOP)
    tell(memory, shown(memory, id), "rejected")
    assert memory.recall("Redis sessions", scope=SHOP).results[0].memory.weight == 0.85


def edit_what_was_read_before(clew: Clew, id: str, **changes: Any) -> None:
    """The memory is read, an outcome moves its weight, and only then is the edit written."""
    old = clew.show(id)
    tell(clew, shown(clew, id), "rejected")
    new = replace(old, updated_at=clew.now(), **changes)
    put = partial(edit.apply_edit, old=old, new=new, indexed=None, change="edited", graph=clew._graph_policy)
    clew.store.write(put)


def test_an_edit_based_on_an_older_read_keeps_the_moved_weight(memory: Clew) -> None:
    id = remembered(memory, "Redis holds sessions")
    edit_what_was_read_before(memory, id, category="storage")
    now = memory.show(id)
    assert (now.category, now.weight, now.version) == ("storage", 0.85, 2)
    assert [one.memory.weight for one in memory.history(id)] == [0.85, 0.85]


def test_an_edit_that_changes_nothing_makes_no_version_after_a_weight_moved(memory: Clew) -> None:
    id = remembered(memory, "Redis holds sessions")
    edit_what_was_read_before(memory, id)
    assert (memory.show(id).version, memory.show(id).weight) == (1, 0.85)


def test_an_edit_of_the_weight_itself_changes_it(memory: Clew) -> None:
    id = remembered(memory, "Redis holds sessions")
    tell(memory, shown(memory, id), "rejected")
    assert memory.edit(id, weight=2.0).weight == 2.0


def test_a_revert_keeps_what_outcomes_made_of_the_memory_and_later_corrections_count(memory: Clew) -> None:
    id = remembered(memory, "Redis holds sessions")
    tell(memory, shown(memory, id), "rejected")
    memory.edit(id, content="Valkey holds sessions")
    second = shown(memory, id)
    tell(memory, second, "rejected")
    assert memory.revert(id, 1).weight == pytest.approx(0.85**2)
    tell(memory, second, "accepted")
    assert weight(memory, id) == pytest.approx(0.85 * 0.9 + 0.1)


def test_forgetting_and_superseding_keep_the_moved_weight_in_history(memory: Clew) -> None:
    id = remembered(memory, "Redis holds sessions")
    tell(memory, shown(memory, id), "rejected")
    memory.forget(id)
    assert [one.memory.weight for one in memory.history(id)] == [0.85, 0.85]


# -- what people say -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("verdict", "left"), [("up", 0.55), ("outdated", 0.425), ("wrong", 0.35)])
def test_a_verdict_moves_a_memory_by_its_own_average(memory: Clew, verdict: str, left: float) -> None:
    id = remembered(memory, "Redis holds sessions", weight=0.5)
    learnt, counted = memory.learn.judge(id, verdict)
    assert counted and learnt.weight == pytest.approx(left) and learnt.samples == 1


def test_the_same_verdict_counts_once_for_each_person(memory: Clew) -> None:
    id = remembered(memory, "Redis holds sessions")
    kim, lee = (Identity(user=user, roles=("member",)) for user in ("kim", "lee"))
    counted = [memory.learn.judge(id, "wrong", identity=who)[1] for who in (kim, kim, lee)]
    assert counted == [True, False, True] and weight(memory, id) == pytest.approx(0.49)


def test_a_correction_leads_to_the_memory_that_is_right(memory: Clew) -> None:
    wrong, right = remembered(memory, "Redis holds sessions"), remembered(memory, "Valkey holds them since May")
    memory.learn.judge(wrong, "wrong", corrected_by=right)
    found = memory.graph.neighbors(right, edge_type="supersedes").neighbors
    assert [one.node.key for one in found] == [wrong] and weight(memory, wrong) == 0.7


@pytest.mark.parametrize("name", ["mem_00000000000000000000000000", "nonsense", "Redis", "symbol:x", "\udc80"])
def test_a_correction_by_a_memory_that_is_not_there_judges_nothing(memory: Clew, name: str) -> None:
    wrong = remembered(memory, "Redis holds sessions")
    before = memory.stats().graph
    with pytest.raises(NotFound) as refused:
        memory.learn.judge(wrong, "wrong", corrected_by=name)
    assert refused.value.code == "MEMORY_NOT_FOUND"
    assert (weight(memory, wrong), memory.stats().graph) == (1.0, before)


def test_verdicts_and_outcomes_are_in_the_audit_log(memory: Clew) -> None:
    id = remembered(memory, "Redis holds sessions")
    memory.learn.judge(id, "up", identity=Identity(user="kim"))
    memory.learn.feedback(shown(memory, id), "accepted")
    with memory.store.read() as tx:
        entries = tx.audit.latest("local", limit=10, action="feedback")
    assert [(one.actor, one.kind) for one in entries] == [("owner", "session"), ("user:kim", "memory")]


def test_an_agent_that_may_not_write_teaches_nothing(memory: Clew) -> None:
    id = remembered(memory, "Redis holds sessions")
    session = shown(memory, id)
    memory.store.write(
        lambda tx: tx.guarding.put_rights("local", "bot", AgentRights(suspended=True), by="kim", at=memory.now())
    )
    with pytest.raises(Denied):
        memory.learn.feedback(session, "rejected", identity=Identity(agent="bot", roles=()))
    assert weight(memory, id) == 1.0


def test_a_verdict_that_is_none_is_refused(memory: Clew) -> None:
    with pytest.raises(InvalidInput, match="'meh'"):
        memory.learn.judge(remembered(memory, "Redis holds sessions"), "meh")


def test_nobody_judges_what_they_cannot_see(memory: Clew) -> None:
    private = remembered(memory, "my own note", scope=Scope(project="shop", user="kim"))
    with pytest.raises(NotFound):
        memory.learn.judge(private, "wrong", identity=Identity(user="lee", roles=("member",)))


def test_feedback_on_a_session_keeps_its_outcome_and_can_correct_it(memory: Clew) -> None:
    id = remembered(memory, "Redis holds sessions")
    session = shown(memory, id)
    for outcome in ("accepted", "rework"):
        memory.learn.feedback(session, outcome)
        assert memory.sessions.show(session).outcome == outcome
    assert weight(memory, id) == 0.85


def test_feedback_on_a_session_of_another_org_is_not_found(memory: Clew) -> None:
    session = shown(memory, remembered(memory, "Redis holds sessions"))
    with pytest.raises(NotFound):
        memory.learn.feedback(session, "accepted", identity=Identity(org="other"))
    with pytest.raises(InvalidInput):
        memory.learn.feedback(session, "splendid")


def test_the_end_of_a_session_learns_from_its_outcome(memory: Clew) -> None:
    id = remembered(memory, "Redis holds sessions")
    session = shown(memory, id)
    ended = replace(memory.sessions.show(session), outcome="rejected")
    memory.learn.on_session_end(ended, SessionReport(summary="it did not work"))
    assert weight(memory, id) == 0.85 and memory.learn.diagnostics(session).outcome == "rejected"


def test_r074_a_session_from_its_block_to_its_outcome(memory: Clew) -> None:
    id = remembered(memory, "Redis holds sessions of the login form")
    session = memory.sessions.start(
        project="shop", work_type="bug_fix", issue="PROJ-7", title="Redis login sessions"
    )
    memory.sessions.claim(session.id, "worker")
    assert memory.inject.start(session.id).memory_ids == (id,)
    memory.sessions.end(session.id, "rework", errors=[{"message": "eslint is unhappy", "tool": "Bash"}])
    assert weight(memory, id) == 0.85
    assert memory.learn.diagnostics(session.id).failure_category == "style"


def test_a_crash_right_after_the_end_of_a_session_loses_no_outcome(
    memory: Clew, monkeypatch: pytest.MonkeyPatch
) -> None:
    id = remembered(memory, "Redis holds sessions")
    session = shown(memory, id)
    memory.sessions.claim(session, "worker")
    monkeypatch.setattr(memory.sessions.__class__, "_look_back", lambda *_told: None)
    memory.sessions.end(session, "rejected")
    assert weight(memory, id) == 0.85 and memory.learn.diagnostics(session).outcome == "rejected"


def test_a_session_ends_with_its_outcome_also_when_it_cannot_be_learnt_from(
    memory: Clew, monkeypatch: pytest.MonkeyPatch
) -> None:
    id, broken = remembered(memory, "Redis holds sessions"), feedback.put

    def fails_late(*told: Any, **options: Any) -> None:
        broken(*told, **options)
        raise RuntimeError

    session = shown(memory, id)
    memory.sessions.claim(session, "worker")
    monkeypatch.setattr(feedback, "put", fails_late)
    assert memory.sessions.end(session, "rejected").outcome == "rejected"
    assert (memory.sessions.show(session).state, weight(memory, id)) == ("completed", 1.0)
    monkeypatch.undo()
    memory.learn.feedback(session, "rejected")
    assert weight(memory, id) == 0.85


def test_an_outcome_that_is_corrected_right_after_the_end_stays_corrected(
    memory: Clew, monkeypatch: pytest.MonkeyPatch
) -> None:
    id = remembered(memory, "Redis holds sessions")
    session = shown(memory, id)
    memory.sessions.claim(session, "worker")
    look_back = memory.sessions.__class__._look_back

    def corrected(*told: Any) -> None:
        memory.learn.feedback(session, "rejected")
        look_back(*told)

    monkeypatch.setattr(memory.sessions.__class__, "_look_back", corrected)
    memory.sessions.end(session, "rework", summary="half done")
    assert weight(memory, id) == 0.85 and memory.learn.diagnostics(session).outcome == "rejected"


# -- between projects ----------------------------------------------------------------------------------


def grant(clew: Clew, source: str, dest: str) -> None:
    connection = apsw.Connection(str(clew.store.path))  # type: ignore[attr-defined]
    connection.execute(
        "INSERT INTO cross_project_transfer_grants VALUES ('local', ?, ?, 'kim', 0, NULL)", (source, dest)
    )
    connection.close()


def test_a_granted_memory_of_another_project_learns_here_and_its_home_does_not_pay(memory: Clew) -> None:
    id = remembered(memory, "Redis holds sessions", scope=Scope(project="bank"))
    grant(memory, "bank", "shop")
    tell(memory, shown(memory, id), "rejected")
    with memory.store.read() as tx:
        here = tx.learning.transferred("local", id, project="shop", multiplier=0.5)
    assert weight(memory, id) == 1.0 and here and here.weight == pytest.approx(0.5 * 0.85)


def test_a_memory_of_another_project_without_a_grant_learns_at_home(memory: Clew) -> None:
    """It was shown because the session looked at the whole org."""
    id = remembered(memory, "Redis holds sessions", scope=Scope(project="bank"))
    tell(memory, shown(memory, id), "rejected")
    assert weight(memory, id) == 0.85


# -- all at once ---------------------------------------------------------------------------------------


def test_outcomes_that_arrive_together_all_count(memory: Clew, clock: ToldClock) -> None:
    id = remembered(memory, "Redis holds sessions", weight=0.5)
    sessions = [shown(memory, id) for _ in range(24)]
    with ThreadPoolExecutor(8) as pool:
        reports = list(pool.map(lambda session: tell(memory, session, "accepted"), sessions * 2))
    assert sum(report.memories for report in reports) == 24
    assert weight(memory, id) == pytest.approx(1 - 0.5 * 0.9**24)


def test_a_long_ledger_is_corrected_at_its_beginning(memory: Clew, clock: ToldClock) -> None:
    """More entries than one page, over more time than the rule about what misleads looks back."""
    corrected, direct = remembered(memory, "Redis holds sessions"), remembered(memory, "mail goes out at night")
    first = shown(memory, corrected)
    tell(memory, first, "rejected")
    tell(memory, shown(memory, direct), "accepted")
    for at in range(300):
        clock.pass_by(days=1)
        tell(memory, shown(memory, corrected, direct), ("accepted", "rejected")[at % 9 == 0])
    tell(memory, first, "accepted")
    assert weight(memory, corrected) == pytest.approx(weight(memory, direct), abs=1e-12)


def test_the_summary_of_a_session_learns_like_a_memory(memory: Clew) -> None:
    told = memory.sessions.start(project="shop", issue="PROJ-7", title="Sessions get lost")
    memory.inject.on_session_end(replace(told, outcome="accepted"), SessionReport(summary="moved to Valkey"))
    with memory.store.read() as tx:
        summary = tx.injections.summary("local", told.id)
    assert summary
    report = tell(memory, shown(memory, session_summary_ids=(summary.id,)), "rejected")
    with memory.store.read() as tx:
        assert (report.summaries, tx.injections.summary("local", told.id).weight) == (1, 0.85)  # type: ignore[union-attr]


# -- retirement ----------------------------------------------------------------------------------------


def retired(clew: Clew, *ids: str) -> set[str]:
    with clew.store.read() as tx:
        return tx.learning.retired("local", ids, below=0.1, samples=5)


def test_a_memory_that_failed_often_is_retired_and_praise_brings_it_back(memory: Clew) -> None:
    id, fresh = remembered(memory, "Redis holds sessions"), remembered(memory, "mail goes out at night")
    for _ in range(10):
        tell(memory, shown(memory, id), "rejected")
    assert retired(memory, id, fresh) == {id} and memory.learn.show(id).retired
    assert memory.recall("Redis sessions", scope=SHOP).results[0].memory.id == id
    memory.learn.judge(id, "up")
    assert retired(memory, id, fresh) == set()


def test_a_low_weight_alone_does_not_retire(memory: Clew) -> None:
    id = remembered(memory, "Redis holds sessions", weight=0.01)
    for _ in range(4):
        tell(memory, shown(memory, id), "rejected")
    assert weight(memory, id) < 0.05 and retired(memory, id) == set()


def test_an_outcome_that_is_told_later_stands_in_the_summary_too(memory: Clew) -> None:
    session = memory.sessions.start(project="shop", issue="SHOP-7", title="Fix login")
    memory.sessions.claim(session.id, "w")
    memory.sessions.end(session.id, outcome="accepted")
    memory.learn.feedback(session.id, "rejected")
    other = memory.sessions.start(project="shop", issue="SHOP-7")
    with memory.store.read() as tx:
        [summary] = tx.injections.summaries(other, issue="SHOP-7", limit=2)
    assert (summary.outcome, "accepted" in summary.text) == ("rejected", False)

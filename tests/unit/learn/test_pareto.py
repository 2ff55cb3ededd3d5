"""What context costs and what it brings."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lessons import remembered, shown

from clew.clew import Clew
from clew.learn.pareto import Outcome, advised_tokens, dominates, points_of, wilson, zoned
from clew.model.reports import Point
from clew.model.start import InjectReport


def sessions(work_type: str, tokens: int, accepted: int, failed: int) -> list[Outcome]:
    went = ["accepted"] * accepted + ["rejected"] * failed
    return [Outcome(work_type, outcome, tokens) for outcome in went]


def point(name: str, tokens: float, success: float, count: int = 10) -> Point:
    return Point(name, count, tokens, success, 0.0, 1.0)


# -- points --------------------------------------------------------------------------------------------


def test_a_point_is_the_mean_cost_and_the_share_accepted() -> None:
    rows = [*sessions("bug_fix", 300, 3, 1), *sessions("bug_fix", 700, 3, 1)]
    [found] = points_of(rows)
    assert (found.tokens, found.success, found.sessions, found.is_valid) == (500, 0.75, 8, True)


@pytest.mark.parametrize(("count", "valid"), [(4, False), (5, True)])
def test_a_point_needs_five_sessions(count: int, valid: bool) -> None:
    [found] = points_of(sessions("bug_fix", 300, count, 0))
    assert found.is_valid is valid and bool(found.zone) is valid


@pytest.mark.parametrize(
    ("successes", "sessions", "low", "high"),
    [(8, 10, 0.4902, 0.9433), (0, 10, 0.0, 0.2775), (10, 10, 0.7225, 1.0), (0, 0, 0.0, 1.0)],
)
def test_the_interval_is_wilsons(successes: int, sessions: int, low: float, high: float) -> None:
    assert wilson(successes, sessions) == pytest.approx((low, high), abs=1e-4)


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_the_interval_holds_the_share_and_stays_within_zero_and_one(pair: tuple[int, int]) -> None:
    low, high = wilson(*pair)
    assert -1e-12 <= low - 1e-12 <= pair[0] / pair[1] <= high + 1e-12 <= 1 + 1e-12


# -- zones (C-20) --------------------------------------------------------------------------------------


def test_c20_zones_are_frontier_efficient_wasteful_and_underperforming() -> None:
    points = [
        point("best", 100, 0.9),
        point("dearer", 150, 0.85),
        point("dear", 900, 0.88),
        point("bad", 800, 0.3),
        point("worse", 850, 0.2),
    ]
    zones = {one.work_type: one.zone for one in zoned(points)}
    assert zones == {
        "best": "frontier",
        "dearer": "efficient",
        "dear": "wasteful",
        "bad": "underperforming",
        "worse": "underperforming",
    }


some_points = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0, 5), st.sampled_from((4, 9))), min_size=1, max_size=8
).map(lambda rows: [point(str(at), x, y / 5, n) for at, (x, y, n) in enumerate(rows)])


@given(some_points)
def test_the_frontier_is_exactly_what_nothing_dominates(points: list[Point]) -> None:
    valid = [one for one in points if one.is_valid]
    undominated = {one.work_type for one in valid if not any(dominates(other, one) for other in valid)}
    assert {one.work_type for one in zoned(points) if one.zone == "frontier"} == undominated
    assert bool(undominated) == bool(valid)


@given(some_points)
def test_a_point_with_too_few_sessions_has_no_zone_and_moves_no_other(points: list[Point]) -> None:
    valid = [one for one in points if one.is_valid]
    assert [one for one in zoned(points) if one.zone] == zoned(valid)


def test_equal_points_do_not_dominate_each_other() -> None:
    assert not dominates(point("a", 1, 0.5), point("b", 1, 0.5))


# -- advice --------------------------------------------------------------------------------------------


def test_advice_is_the_cheapest_bucket_that_does_nearly_as_well_as_the_best() -> None:
    rows = [*sessions("x", 150, 79, 21), *sessions("x", 450, 40, 10), *sessions("x", 50, 10, 10)]
    assert advised_tokens(rows) == 200


def test_a_bucket_of_fewer_than_ten_sessions_advises_nothing() -> None:
    assert advised_tokens(sessions("x", 150, 9, 0)) is None
    assert advised_tokens([*sessions("x", 150, 9, 0), *sessions("x", 350, 5, 5)]) == 400


# -- from the logs -------------------------------------------------------------------------------------


def test_r077_only_what_was_delivered_costs_tokens(memory: Clew) -> None:
    session = shown(memory, "mem_x", work_type="bug_fix", actual_tokens=300)
    shown(memory, "mem_x", session=session, actual_tokens=200)
    shown(memory, "mem_x", session=session, actual_tokens=900, delivered=False)
    memory.learn.feedback(session, "accepted")
    [found] = memory.learn.pareto().points
    assert (found.work_type, found.sessions, found.tokens) == ("bug_fix", 1, 500)


def claimed_again(memory: Clew, session: str) -> InjectReport:
    """What a worker is told that takes the session over, and gives its agent what there is."""
    token = memory.sessions.claim(session, "w")
    report = memory.inject.start_report(session)
    if delivery := memory.queue.claim(session, "w", token):
        memory.queue.ack(session, delivery.delivery_id, "w", token)
    return report


def test_what_the_agent_has_when_its_session_is_claimed_again_costs_nothing_more(memory: Clew) -> None:
    remembered(memory, "the gateway drops idle connections")
    gone = remembered(memory, "the gateway drops old connections")
    session = memory.sessions.start(project="shop", work_type="bug_fix", title="gateway drops connections").id
    tokens = claimed_again(memory, session).block.tokens
    memory.forget(gone)
    assert claimed_again(memory, session).reason == "known" and len(memory.inject.log(session)) == 2
    memory.sessions.end(session, "accepted")
    [found], done = memory.learn.pareto().points, memory.report()
    assert found.tokens == done.tokens == tokens
    assert (done.pushes["start"], done.delivered, done.receipts) == (1, 1, {"consumed": 1})


def test_a_session_without_an_outcome_is_no_point(memory: Clew) -> None:
    shown(memory, "mem_x", work_type="bug_fix")
    assert memory.learn.pareto().points == ()


def test_points_are_of_a_project_and_a_session_that_was_shown_nothing_costs_nothing(memory: Clew) -> None:
    memory.learn.feedback(memory.sessions.start(project="bank", work_type="chore").id, "accepted")
    assert [(one.work_type, one.tokens) for one in memory.learn.pareto(project="bank").points] == [("chore", 0)]
    assert memory.learn.pareto(project="shop").points == ()

"""The average that outcomes move, its documented numbers, and its replay."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.learn.feedback import FeedbackPolicy
from clew.learn.replay import misleads, moved, played, said
from clew.model.learning import VERDICTS, Entry
from clew.model.session import OUTCOMES
from toys import START

POLICY = FeedbackPolicy()


def entry(number: int, outcome: str, *, kind: str = "memory", days: float = 1) -> Entry:
    if outcome in VERDICTS:
        signal, alpha = VERDICTS[outcome]
    else:
        alpha, signal = POLICY.says(outcome, kind, delivered=True) or (0, 0)
    return Entry(f"s{number}", outcome, alpha, signal, START + timedelta(days=number * days), number)


def direct(outcomes: Sequence[str], *, start: float = 1.0, kind: str = "memory", days: float = 1) -> list[Entry]:
    """One after the other, each from what the one before left."""
    ledger: list[Entry] = []
    for number, outcome in enumerate(outcomes):
        previous = ledger[-1].weight if ledger else start
        new = replace(entry(number, outcome, kind=kind, days=days), previous=previous)
        ledger = played([*ledger, new], kind=kind, since=len(ledger))
    return ledger


def weight(outcomes: Sequence[str], **options: float | str) -> float:
    return direct(outcomes, **options)[-1].weight  # type: ignore[arg-type]


@pytest.mark.parametrize(("times", "left"), [(1, 0.85), (3, 0.614), (5, 0.444), (10, 0.197)])
def test_rejections_leave_a_memory_the_documented_weights(times: int, left: float) -> None:
    """Far enough apart, so that none of them counts twice."""
    for outcome in ("rejected", "rework"):
        reached = weight([outcome] * times, days=20)
        assert reached == pytest.approx(0.85**times) and reached == pytest.approx(left, abs=5e-4)


@given(st.floats(0.05, 1), st.integers(1, 30))
def test_acceptance_closes_the_gap_to_one(start: float, times: int) -> None:
    assert weight(["accepted"] * times, start=start) == pytest.approx(1 - (1 - start) * 0.9**times)


@pytest.mark.parametrize(("outcome", "left"), [("accepted", 0.55), ("rework", 0.50), ("rejected", 0.45)])
def test_c17_the_graph_moves_from_a_half_as_documented(outcome: str, left: float) -> None:
    assert weight([outcome], start=0.5, kind="edge") == pytest.approx(left)
    assert weight([outcome], start=0.5, kind="node") == pytest.approx(left)


def test_half_lives_are_as_documented() -> None:
    """Accepted 6.58 sessions, failed 4.27."""
    assert weight(["accepted"] * 7, start=0.5) > 0.75 > weight(["accepted"] * 6, start=0.5)
    assert weight(["rejected"] * 5, days=20) < 0.5 < weight(["rejected"] * 4, days=20)


@given(st.floats(0, 1e6), st.sampled_from(OUTCOMES), st.floats(0, 1))
def test_success_never_lowers_and_failure_never_lifts(start: float, outcome: str, alpha: float) -> None:
    signal = 1.0 if outcome == "accepted" else 0.0
    after = moved(start, alpha=alpha, signal=signal, least=0.05)
    slack = 1e-9 * max(1.0, start)
    assert after >= start - slack if signal else after <= start + slack
    assert min(0.05, start) <= after <= max(1.0, start) + slack


def test_a_weight_never_falls_below_the_least() -> None:
    assert weight(["rejected"] * 200) == 0.05
    assert weight(["rejected"] * 200, start=0.5, kind="node") == pytest.approx(0, abs=1e-9)


def test_a_weight_that_a_person_put_above_one_is_not_lowered_by_success() -> None:
    assert weight(["accepted"], start=5.0) == pytest.approx(5.0)
    assert weight(["rejected", "accepted"], start=5.0) == pytest.approx(4.25)


# -- what misleads -------------------------------------------------------------------------------------


def test_after_three_failed_sessions_of_a_month_a_failure_counts_twice() -> None:
    ledger = direct(["rejected", "rework", "rejected", "rejected"])
    assert [one.misleading for one in ledger] == [False, False, False, True]
    assert said(ledger[-1]) == (0.30, 0.0) and ledger[-1].weight == pytest.approx(0.85**3 * 0.7)


def test_success_is_never_counted_twice() -> None:
    assert not direct(["rejected"] * 3 + ["accepted"])[-1].misleading


def test_failures_of_long_ago_are_forgiven() -> None:
    assert not any(one.misleading for one in direct(["rejected"] * 8, days=15))


@pytest.mark.parametrize(("accepted", "expected"), [(0, True), (2, True), (3, False)])
def test_a_memory_misleads_only_if_most_of_its_sessions_failed(accepted: int, expected: bool) -> None:
    """3 of 5 are just enough, 3 of 6 are not."""
    before = [entry(at, outcome) for at, outcome in enumerate(["rejected"] * 3 + ["accepted"] * accepted)]
    assert misleads(before, before[-1].at) is expected


def test_verdicts_of_people_are_not_sessions() -> None:
    before = [entry(at, "wrong") for at in range(5)]
    assert not misleads(before, before[-1].at)


# -- corrections ---------------------------------------------------------------------------------------

outcomes = st.lists(st.sampled_from((*OUTCOMES, *VERDICTS)), min_size=1, max_size=14)
kinds = st.sampled_from(("memory", "node", "transferred"))


@given(outcomes, st.data(), kinds, st.floats(0.0, 3.0), st.sampled_from((1.0, 9.0)))
def test_a_correction_gives_what_the_right_outcome_would_have_given_at_once(
    given: list[str], data: st.DataObject, kind: str, start: float, days: float
) -> None:
    place = data.draw(st.integers(0, len(given) - 1))
    right = [*given]
    right[place] = data.draw(st.sampled_from(OUTCOMES))
    before = direct(given, start=start, kind=kind, days=days)
    told = entry(place, right[place], kind=kind, days=days)
    corrected = replace(told, previous=before[place].previous, weight=before[place].weight)
    replayed = played([*before[:place], corrected, *before[place + 1 :]], kind=kind, since=place)
    assert replayed == direct(right, start=start, kind=kind, days=days)


@given(outcomes, kinds)
def test_playing_a_ledger_again_changes_nothing(given: list[str], kind: str) -> None:
    ledger = direct(given, kind=kind)
    assert played(ledger, kind=kind) == ledger


def test_what_a_person_set_in_between_stands() -> None:
    first, second = direct(["rejected", "accepted"])
    second = replace(second, previous=0.4, weight=0.46)  # set to 0.4 after the first
    corrected = replace(entry(0, "accepted"), previous=first.previous, weight=first.weight)
    assert [one.weight for one in played([corrected, second], kind="memory")] == pytest.approx([1.0, 0.46])

"""What was spent, on every engine."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clew.model.llm import Usage
from clew.ports import Store

ROW = Usage("2026-03-01", "toy", "classification", calls=1, input_tokens=10, output_tokens=2, cost_micros=5)
COUNTED = ("calls", "failures", "withheld", "input_tokens", "output_tokens", "cost_micros")


def add(store: Store, *rows: Usage, org: str = "a") -> None:
    store.write(lambda tx: [tx.spend.add(org, row) for row in rows])


def rows(store: Store, org: str = "a", since: str = "") -> list[Usage]:
    with store.read() as tx:
        return tx.spend.since(org, since)


def test_rows_of_one_day_model_and_task_add_up(store: Store) -> None:
    add(store, ROW, replace(ROW, failures=1, input_tokens=-4, last_failure="LLM_STATUS"), ROW)
    assert rows(store) == [
        replace(
            ROW, calls=3, failures=1, input_tokens=16, output_tokens=6, cost_micros=15, last_failure="LLM_STATUS"
        )
    ]


def test_days_models_tasks_and_orgs_are_kept_apart_newest_day_first(store: Store) -> None:
    later = replace(ROW, day="2026-03-02")
    add(store, ROW, replace(ROW, model="other"), replace(ROW, task="semantic_extraction"), later)
    add(store, ROW, org="b")
    assert [(row.day, row.model, row.task) for row in rows(store)] == [
        ("2026-03-02", "toy", "classification"),
        ("2026-03-01", "other", "classification"),
        ("2026-03-01", "toy", "classification"),
        ("2026-03-01", "toy", "semantic_extraction"),
    ]
    assert rows(store, since="2026-03-02") == [later] and rows(store, "b") == [ROW]


def test_a_day_counts_all_models_and_tasks_and_no_other_day_or_org(store: Store) -> None:
    add(store, ROW, replace(ROW, model="other"), replace(ROW, day="2026-03-02"))
    add(store, ROW, org="b")
    with store.read() as tx:
        assert [tx.spend.used("a", day) for day in ("2026-03-01", "2026-03-02", "2026-03-03")] == [24, 12, 0]


def test_calls_are_counted_by_the_minute_and_minutes_that_are_over_go(store: Store) -> None:
    for minute in (7, 7, 8):
        store.write(lambda tx, minute=minute: tx.spend.count_call("a", minute))
    store.write(lambda tx: tx.spend.count_call("b", 7))
    with store.read() as tx:
        assert [tx.spend.calls_in("a", minute) for minute in (7, 8, 9)] == [0, 1, 0]
        assert tx.spend.calls_in("b", 7) == 1


@given(st.lists(st.tuples(*[st.integers(-(10**9), 10**9)] * len(COUNTED)), max_size=5))
@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_sums_are_exact(store: Store, numbers: list[tuple[int, ...]]) -> None:
    before = rows(store)[0] if rows(store) else replace(ROW, **dict.fromkeys(COUNTED, 0))
    add(store, *(replace(ROW, **dict(zip(COUNTED, row, strict=True))) for row in numbers))
    after = rows(store)[0] if rows(store) else before
    for at, name in enumerate(COUNTED):
        assert getattr(after, name) == getattr(before, name) + sum(row[at] for row in numbers)

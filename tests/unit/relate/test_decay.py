"""Edges that nothing reinforces fade by the window; nothing that happens meanwhile is lost."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import apsw
import pytest

from clew.clew import Clew
from clew.errors import Denied, Misconfigured, Unavailable
from clew.model.graph import Statement
from clew.model.scope import Identity, Scope
from clew.model.times import to_micros
from clew.ports import Tx
from clew.relate import decay as module
from clew.relate.decay import DecayPolicy, decay, decay_some, due, last_report, preview
from toys import ToldClock, open_toy

NOW = datetime(2026, 4, 25, tzinfo=UTC)
POLICY = DecayPolicy()


@pytest.fixture
def clew(tmp_path: Path) -> Iterator[Clew]:
    """Two memories that state nothing, so that the tests say which edges there are."""
    with open_toy(
        tmp_path / "clew.db", clock=ToldClock(NOW - timedelta(days=1000)), graph={"edge_decay": False}
    ) as opened:
        opened.remember("one thing")
        opened.remember("quite another")
        yield opened


def state(clew: Clew, label: str, confidence: float, age: timedelta, *, type: str = "entity") -> int:
    """An edge of that age, with the first memory as its witness; returns its row."""

    def write(tx: Tx) -> int:
        org = clew.list()[0].org
        nodes = tx.graph.self_nodes(org, [1, 2])
        said = Statement(label, nodes[1], nodes[2], type, 1, "entity", confidence, label=label)  # a project each
        tx.graph.state(org, [said], NOW)
        found = tx.edges.find(org, said.key)
        assert found
        made = NOW - age
        tx.edges.restore(org, found[0], confidence=confidence, base=confidence, anchor=made, created_at=made)
        return found[0]

    return clew.store.write(write)


def edges(clew: Clew) -> list[tuple[str, float, int]]:
    """(label, confidence, anchor) straight from the file."""
    connection = apsw.Connection(str(clew.store.path))  # type: ignore[attr-defined]
    try:
        rows = connection.execute("SELECT label, confidence, last_reinforced_at FROM graph_edges ORDER BY row")
        return rows.fetchall()
    finally:
        connection.close()


def last(clew: Clew) -> dict[str, Any] | None:
    with clew.store.read() as tx:
        return last_report(tx)


def three(clew: Clew) -> None:
    state(clew, "fresh", 0.9, timedelta(days=10))
    state(clew, "mid", 0.6, timedelta(days=100))
    state(clew, "stale", 0.1, timedelta(days=400))


def test_item_32_one_of_three_fades_and_one_is_below(clew: Clew) -> None:
    three(clew)
    report = decay(clew.store, POLICY, NOW).as_json()
    names = ("edges_total", "edges_decayed", "edges_below_visibility_threshold")
    assert [report[name] for name in names] == [3, 1, 1]
    assert report["top_decayed_entities"] == [{"label": "mid", "total_drop": 0.1, "edge_count": 1}]
    assert [(label, confidence) for label, confidence, _at in edges(clew)] == [
        ("fresh", 0.9), ("mid", 0.5), ("stale", 0.1),
    ]  # fmt: skip


def test_item_32_a_second_run_changes_nothing(clew: Clew) -> None:
    three(clew)
    decay(clew.store, POLICY, NOW)
    before = edges(clew)
    assert decay(clew.store, POLICY, NOW + timedelta(hours=1)).total.edges_decayed == 0
    assert edges(clew) == before


def test_item_32_a_dry_run_writes_nothing(clew: Clew) -> None:
    three(clew)
    before, changes = edges(clew), clew.stats().last_change
    report = preview(clew.store, POLICY, NOW)
    assert (report.total.edges_decayed, report.as_json()["dry_run"]) == (1, True)
    assert (edges(clew), clew.stats().last_change, last(clew)) == (before, changes, None)


def test_item_32_the_threshold_is_the_settings(clew: Clew) -> None:
    state(clew, "a", 0.45, timedelta(days=1))
    assert preview(clew.store, DecayPolicy(visibility_threshold=0.5), NOW).total == (1, 0, 1)
    assert preview(clew.store, POLICY, NOW).total == (1, 0, 0)


def test_item_32_every_org_is_looked_through(clew: Clew) -> None:
    other = Identity(org="acme")
    for text in ("The AuthService depends on Redis", "AuthService is slow"):
        clew.remember(text, scope=Scope(org="acme"), identity=other)
    three(clew)
    report = decay(clew.store, POLICY, NOW)
    assert report.per_type["depends_on"].edges_decayed == 1 and report.total.edges_decayed >= 2


def test_an_edge_that_sinks_counts_as_below(clew: Clew) -> None:
    state(clew, "sinking", 0.25, timedelta(days=100))
    assert decay(clew.store, POLICY, NOW).total == (1, 1, 1)


def test_anchors_move_by_whole_windows(clew: Clew) -> None:
    state(clew, "old", 0.9, timedelta(days=200))
    decay(clew.store, POLICY, NOW)
    [(_label, confidence, anchor)] = edges(clew)
    assert confidence == pytest.approx(0.7)
    assert anchor == to_micros(NOW - timedelta(days=20))


def test_the_report_is_kept_and_says_with_which_settings(clew: Clew) -> None:
    three(clew)
    report = decay(clew.store, DecayPolicy(decay_window_days=30, decay_per_window=0.2, decay_floor=0.05), NOW)
    document = report.as_json()
    assert last(clew) == json.loads(json.dumps(document))
    assert (document["window_ms"], document["per_window"], document["floor"]) == (30 * 86_400_000, 0.2, 0.05)
    assert document["per_type"]["entity"]["edges_total"] == 3
    assert document["ran_at"] == "2026-04-25T00:00:00.000Z" and document["duration_ms"] >= 0


def test_the_top_five_by_drop_then_by_name_without_nameless_ones(clew: Clew) -> None:
    for label in "gfedcba":
        state(clew, label, 0.9, timedelta(days=100))
    state(clew, "deep", 0.9, timedelta(days=300))
    state(clew, "", 0.9, timedelta(days=300))
    top = decay(clew.store, POLICY, NOW).top_decayed_entities
    assert [entity.label for entity in top] == ["deep", "a", "b", "c", "d"]


def test_drops_of_one_label_are_summed_over_types_and_pages(clew: Clew, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAGE", 1)
    for type_ in ("entity", "time", "causal"):
        state(clew, "shared", 0.9, timedelta(days=100), type=type_)
    [entity] = decay(clew.store, POLICY, NOW).as_json()["top_decayed_entities"]
    assert entity == {"label": "shared", "total_drop": 0.3, "edge_count": 3}


def test_what_a_person_linked_does_not_decay(clew: Clew) -> None:
    one, other = (memory.id for memory in clew.list())
    clew.link(one, "depends_on", other)
    report = decay(clew.store, POLICY, NOW)
    assert (report.total.edges_total, report.total.edges_decayed) == (1, 0)


def test_read_models_are_told_about_both_ends_and_only_of_edges_that_faded(clew: Clew) -> None:
    state(clew, "old", 0.9, timedelta(days=100))
    state(clew, "at the floor", 0.1, timedelta(days=100))
    before = clew.stats().last_change
    decay(clew.store, POLICY, NOW)
    with clew.store.read() as tx:
        noted = tx.changes.since("local", before, 100)
        nodes = tx.graph.self_nodes("local", [1, 2])
    assert noted is not None
    assert [(change.kind, change.id) for change in noted] == [("node", str(row)) for row in sorted(nodes.values())]


def test_an_edge_that_changed_since_it_was_read_is_left_alone(clew: Clew) -> None:
    row = state(clew, "old", 0.9, timedelta(days=100))
    page = module._read_page(clew.store, POLICY, NOW, [("local", 0)], 10)
    assert page and [edge.row for edge in page.aged] == [row]
    state(clew, "old", 0.95, timedelta(days=1))
    token = clew.store.write(module._claim)
    assert token
    so_far = clew.store.write(
        lambda tx: module._write_page(
            tx, page=page, so_far=module.SoFar(0), token=token, policy=POLICY, started=0.0
        )
    )
    assert so_far.types["entity"].edges_decayed == 0
    assert edges(clew)[0][1] == 0.95


def test_nothing_that_is_written_meanwhile_is_lost(clew: Clew, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAGE", 3)
    for number in range(20):
        state(clew, f"old {number}", 0.9, timedelta(days=100))

    def write() -> None:
        for number in range(20):
            state(clew, f"new {number}", 0.8, timedelta(0))
            state(clew, f"old {number}", 1.0, timedelta(0))

    writer = threading.Thread(target=write)
    writer.start()
    while writer.is_alive():
        decay(clew.store, POLICY, NOW)
    writer.join()
    now = {label: confidence for label, confidence, _at in edges(clew)}
    assert now == {f"new {n}": 0.8 for n in range(20)} | {f"old {n}": 1.0 for n in range(20)}


def test_a_pass_with_a_limit_goes_on_where_it_stopped(clew: Clew, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAGE", 2)
    for number in range(7):
        state(clew, f"e{number}", 0.9, timedelta(days=100))
    assert decay_some(clew.store, POLICY, NOW, limit=3)
    assert (sum(sure < 0.9 for _label, sure, _at in edges(clew)), last(clew)) == (3, None)
    assert decay_some(clew.store, POLICY, NOW, limit=3)
    assert not decay_some(clew.store, POLICY, NOW, limit=3)
    report = last(clew)
    assert report and (report["edges_total"], report["edges_decayed"]) == (7, 7)


def test_a_whole_run_starts_over_and_brings_everything_to_now(clew: Clew, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAGE", 2)
    for number in range(5):
        state(clew, f"e{number}", 0.9, timedelta(days=100))
    decay_some(clew.store, POLICY, NOW, limit=2)
    assert decay(clew.store, POLICY, NOW + timedelta(days=90)).total == (5, 5, 0)
    assert {round(sure, 9) for _label, sure, _at in edges(clew)} == {0.7}
    assert decay(clew.store, POLICY, NOW + timedelta(days=90)).total == (5, 0, 0)


def test_it_is_due_at_first_then_after_the_cadence_and_while_a_pass_is_under_way(clew: Clew) -> None:
    def is_due(now: datetime) -> bool:
        with clew.store.read() as tx:
            return due(tx, now, POLICY.cadence)

    assert is_due(NOW)
    decay(clew.store, POLICY, NOW)
    assert not is_due(NOW) and not is_due(NOW + timedelta(days=7, seconds=-1)) and is_due(NOW + timedelta(days=7))
    assert is_due(NOW - timedelta(days=1))  # the clock was set back: the pass lies in the future
    for number in range(3):
        state(clew, f"e{number}", 0.9, timedelta(days=100))
    decay_some(clew.store, POLICY, NOW, limit=2)
    assert is_due(NOW)


def test_one_at_a_time(clew: Clew) -> None:
    three(clew)
    clew.store.write(module._claim)
    with pytest.raises(Unavailable) as refused:
        decay(clew.store, POLICY, NOW)
    assert refused.value.code == "EDGE_DECAY_RUNNING"
    assert not decay_some(clew.store, POLICY, NOW)
    assert edges(clew)[1][1] == 0.6


@pytest.mark.parametrize("days", [1e-15, 1e300])
def test_a_window_that_makes_no_sense_changes_nothing(clew: Clew, days: float) -> None:
    three(clew)
    assert decay(clew.store, DecayPolicy(decay_window_days=days), NOW).total.edges_decayed == 0


def test_a_hard_forget_leaves_no_label_in_the_report(clew: Clew) -> None:
    state(clew, "service:secret", 0.9, timedelta(days=100))
    decay(clew.store, POLICY, NOW)
    state(clew, "service:other", 0.9, timedelta(days=100))
    state(clew, "service:third", 0.9, timedelta(days=100))
    decay_some(clew.store, POLICY, NOW + timedelta(days=100), limit=1)
    clew.forget(clew.list()[0].id, hard=True)
    with clew.store.read() as tx:
        kept = [tx.meta.get(key) or "" for key in (module.EDGE_DECAY, module.EDGE_DECAY_SO_FAR)]
    assert all(kept) and not any("service:" in text for text in kept)


def test_only_the_operator_may_ask_for_it(clew: Clew) -> None:
    with pytest.raises(Denied):
        clew.graph.decay(identity=Identity(org="acme"))


def test_switched_off_it_only_tells(clew: Clew) -> None:
    with pytest.raises(Misconfigured) as refused:
        clew.graph.decay()
    assert refused.value.code == "EDGE_DECAY_OFF"
    assert clew.graph.decay(dry_run=True).dry_run


def test_item_32_a_store_that_cannot_be_read_is_an_error_and_no_empty_report(clew: Clew) -> None:
    clew.store.close()
    with pytest.raises(Unavailable):
        preview(clew.store, POLICY, NOW)


def test_a_limited_pass_goes_on_within_an_org_and_then_in_the_next(
    clew: Clew, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PAGE", 2)
    for text in ("The AuthService depends on Redis", "AuthService is slow, and so is Redis"):
        clew.remember(text, scope=Scope(org="acme"), identity=Identity(org="acme"))
    three(clew)
    whole = preview(clew.store, POLICY, NOW).total
    portions = 1
    while decay_some(clew.store, POLICY, NOW, limit=1):
        portions += 1
    report = last(clew)
    assert report and portions == whole.edges_total + 1 and whole.edges_decayed > 2
    assert (report["edges_total"], report["edges_decayed"]) == whole[:2]


def test_a_pass_that_an_earlier_version_began_starts_over_and_its_labels_can_be_forgotten(clew: Clew) -> None:
    three(clew)
    began = json.dumps([to_micros(NOW), 2, 1.0, {"entity": [9, 9, 9]}, {"service:secret": [0.1, 1]}])
    clew.store.write(lambda tx: tx.meta.put(module.EDGE_DECAY_SO_FAR, began))
    clew.store.write(module.forget_labels)
    with clew.store.read() as tx:
        assert not tx.meta.get(module.EDGE_DECAY_SO_FAR)
    clew.store.write(lambda tx: tx.meta.put(module.EDGE_DECAY_SO_FAR, began))
    assert not decay_some(clew.store, POLICY, NOW)
    report = last(clew)
    assert report and report["edges_total"] == preview(clew.store, POLICY, NOW).total.edges_total

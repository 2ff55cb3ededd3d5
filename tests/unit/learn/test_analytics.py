"""Feedback impact over the logs, and the traps in it."""

from __future__ import annotations

import json
from datetime import timedelta

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lessons import an_edge, ranked, remembered, shown, tell

from clew.clew import Clew
from clew.errors import Denied, InvalidInput
from clew.learn.analytics import Placed, impact_by_memory, rank_impact
from clew.model.reports import weight_band
from clew.model.scope import Identity, Scope

# A retrieval of four, of which the two best by weight were injected: c rose, b fell.
CRAFTED = [
    Placed("r", "a", 0, 0, True),
    Placed("r", "b", 1, 3, False),
    Placed("r", "c", 2, 1, True),
    Placed("r", "d", 3, 2, False),
]


@given(st.lists(st.permutations(range(6)), min_size=1, max_size=5))
def test_r077_over_all_candidates_the_rank_delta_is_always_zero(retrievals: list[list[int]]) -> None:
    """The trap: that is why it is taken over injected rows."""
    rows = [
        Placed(f"r{at}", str(before), before, after, True)
        for at, ranks in enumerate(retrievals)
        for before, after in enumerate(ranks)
    ]
    assert sum(row.delta for row in rows) == 0
    found = rank_impact(rows)
    assert found.rank_delta == 0 and found.likelihood_before == found.likelihood_after == 1.0


def test_over_injected_rows_the_rank_delta_says_something() -> None:
    found = rank_impact(CRAFTED)
    assert (found.rows, found.rank_delta, found.mean_shift) == (2, 0.5, 0.5)
    assert (found.promoted, found.demoted, found.unchanged) == (1, 0, 1)


def test_likelihood_compares_who_is_within_the_first_k() -> None:
    """k is 2: without weights only one of both would have been there."""
    found = rank_impact(CRAFTED)
    assert (found.likelihood_before, found.likelihood_after) == (0.5, 1.0)


def test_each_memory_has_its_own_impact_and_the_most_moved_comes_first() -> None:
    by_memory = impact_by_memory(CRAFTED)
    assert [(id, one.rank_delta) for id, one in by_memory.items()] == [("c", 1.0), ("a", 0.0)]


def test_what_a_draw_put_there_is_no_impact_of_weights() -> None:
    rows = [*CRAFTED, Placed("r", "e", 9, 9, True, explored=True)]
    assert rank_impact(rows).rows == 2 and "e" not in impact_by_memory(rows)


def test_nothing_injected_is_no_division_by_zero() -> None:
    assert rank_impact([]).rows == 0 and rank_impact([Placed("r", "a", 0, 1, False)]).rank_delta == 0.0


@pytest.mark.parametrize(
    ("weight", "band"),
    [(5, "strong"), (0.8, "strong"), (0.5, "fair"), (0.2, "weak"), (0.1, "spent"), (-1, "spent")],
)
def test_weights_fall_into_bands(weight: float, band: str) -> None:
    assert weight_band(weight) == band


@pytest.mark.parametrize(("seen", "rate", "band"), [(4, 80.0, "high"), (2, 40.0, "middle"), (1, 20.0, "low")])
def test_the_injection_rate_is_over_the_memories_that_are_there(
    memory: Clew, seen: int, rate: float, band: str
) -> None:
    ids = [remembered(memory, f"fact number {at}") for at in range(6)]
    memory.forget(ids.pop())
    shown(memory, *ids[:seen])
    shown(memory, *ids[:seen])
    found = memory.learn.impact(project="shop")
    assert (found.injection_rate, found.band, found.memories) == (rate, band, 5)


def test_the_rate_of_a_project_leaves_out_what_others_lent_it(memory: Clew) -> None:
    own = [remembered(memory, text) for text in ("one", "two")]
    of_all, lent = (
        remembered(memory, text, scope=Scope(project=of)) for text, of in (("all", None), ("lent", "web"))
    )
    shown(memory, own[0], of_all, lent)
    found = memory.learn.impact(project="shop")
    assert (found.memories, found.matched, found.injected) == (3, 2, 2)
    assert memory.learn.impact().injection_rate == 75.0


def test_r077_what_was_not_delivered_is_matched_but_not_injected(memory: Clew) -> None:
    one, two = remembered(memory, "fact one"), remembered(memory, "fact two")
    shown(memory, one)
    shown(memory, one, two, delivered=False)
    found = memory.learn.impact()
    assert (found.matched, found.injected, found.injection_rate) == (2, 1, 50.0)


def test_impact_is_read_from_the_logs_of_a_window_and_a_project(memory: Clew) -> None:
    one, two = remembered(memory, "fact one"), remembered(memory, "fact two")
    session = memory.sessions.start(project="shop").id
    ranked(memory, session, [(one, 1, 0, True), (two, 0, 1, False)])
    found = memory.learn.impact()
    assert (found.retrievals, found.ranks.rank_delta, list(found.by_memory)) == (1, 1.0, [one])
    assert memory.learn.impact(project="bank").retrievals == 0
    later = memory.now() + timedelta(days=30)
    assert memory.learn.impact(since=later - timedelta(days=1), until=later).retrievals == 0


def test_where_weights_were_switched_off_they_are_reported_apart(memory: Clew) -> None:
    one, two = remembered(memory, "fact one"), remembered(memory, "fact two")
    session = memory.sessions.start(project="shop").id
    ranked(memory, session, [(one, 0, 1, True), (two, 1, 0, False)], weighting=False)
    found = memory.learn.impact()
    assert (found.retrievals, found.ranks.rows, found.unweighted.rank_delta) == (1, 0, -1.0)


def test_r073_the_documented_query_tells_what_of_the_graph_was_injected_last(memory: Clew) -> None:
    edge, node = an_edge(memory)
    session = shown(memory, graph_node_ids=(node,), graph_edge_keys=(edge,))
    asked = """SELECT graph_node_ids, graph_edge_keys, created_at FROM context_injection_logs
               WHERE session_id = ? ORDER BY created_at DESC LIMIT 1"""
    connection = apsw.Connection(str(memory.store.path))  # type: ignore[attr-defined]
    [(nodes, edges, _at)] = connection.execute(asked, (session,)).fetchall()
    assert json.loads(nodes) == [node] and json.loads(edges) == [edge.as_json()]
    shown(memory, session=session)
    assert connection.execute(asked, (session,)).fetchall()[0][0] == "[]"
    connection.close()


def test_the_most_shown_memories_come_with_how_their_sessions_went(memory: Clew) -> None:
    one, two = remembered(memory, "fact one"), remembered(memory, "fact two")
    for outcome, ids in (("accepted", (one, two)), ("rejected", (one,))):
        memory.learn.feedback(shown(memory, *ids), outcome)
    tops = [(top.id, top.sessions, top.accepted, top.failed) for top in memory.learn.impact().top]
    assert tops == [(one, 2, 1, 1), (two, 1, 1, 0)]


def test_a_report_never_counts_another_org(memory: Clew) -> None:
    id = remembered(memory, "fact one")
    tell(memory, shown(memory, id), "accepted")
    other = Identity(org="other", user="lee", roles=("owner",))
    memory.remember("theirs", scope=Scope(org="other"), identity=other)
    found = memory.learn.impact(identity=other)
    assert (found.memories, found.matched, found.top) == (1, 0, ())


def test_reports_are_for_those_who_look_after_the_org(memory: Clew) -> None:
    with pytest.raises(Denied):
        memory.learn.impact(identity=Identity(user="kim", roles=("member",)))


def test_a_window_that_ends_before_it_begins_is_refused(memory: Clew) -> None:
    with pytest.raises(InvalidInput):
        memory.learn.pareto(since=memory.now() + timedelta(days=1))

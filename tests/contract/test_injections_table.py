"""What was shown: log rows, ranks and summaries come back as they were written, each org its own."""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import apsw
import psycopg
from engines import opened
from memories import NOW
from sessions import a_session

from clew.model.graph import NodeRef, node_id, uuid_text
from clew.model.inject import Considered, ContextInjectionLog, EdgeKey
from clew.model.learning import Diagnostics, RankedCandidate
from clew.model.scope import Reach
from clew.model.session import AgentSession, InjectDraft
from clew.model.start import SessionSummary
from clew.ports import Store, Tx

LOG = ContextInjectionLog(
    session_id="ses_1", org_id="local", project_id="shop", agent_id="agent", phase="in_session", event_id="ev",
    work_type="chore", budget_tokens=1, graph_budget_tokens=2, actual_tokens=3, actual_observation_tokens=4,
    actual_graph_tokens=5, observation_ids=("mem_ü",), session_summary_ids=("sum_1",), graph_node_ids=("n",),
    graph_edge_keys=(EdgeKey("a", "b", "uses"),), query_text="q", graph_status="ok", outcome="injected",
    delivered=True, delivery_id="inj_1", ms=1.5,
)  # fmt: skip


def write(store: Store, log: ContextInjectionLog, *, seconds: int = 0) -> str:
    return store.write(lambda tx: tx.injections.put(log, at=NOW + timedelta(seconds=seconds)))


def test_every_field_of_a_row_comes_back(store: Store) -> None:
    id = write(store, LOG)
    with store.read() as tx:
        assert tx.injections.of_session("local", "ses_1") == [replace(LOG, id=id, timestamp=NOW)]
        assert tx.injections.of_session("acme", "ses_1") == []


def test_the_last_row_of_a_phase(store: Store) -> None:
    write(store, replace(LOG, phase="start", query_text="first"))
    write(store, replace(LOG, phase="start", query_text="second"), seconds=1)
    write(store, replace(LOG, query_text="other phase"), seconds=2)
    with store.read() as tx:
        found = tx.injections.last("local", "ses_1")
    assert found and found.query_text == "second"


def test_r073_the_documented_query_runs_as_written(place: Path | str) -> None:
    with closing(opened(place)) as store:
        write(store, replace(LOG, graph_node_ids=()))
        write(store, LOG, seconds=1)
        write(store, replace(LOG, session_id="ses_2", graph_node_ids=("other",)), seconds=2)
    documented = (
        "SELECT graph_node_ids, graph_edge_keys, created_at FROM context_injection_logs"
        " WHERE session_id = 'ses_1' ORDER BY created_at DESC LIMIT 1"
    )
    [(nodes, edges, _at)] = asked_by_hand(place, documented)
    assert listed(nodes) == ["n"]
    assert listed(edges) == [{"sourceId": "a", "targetId": "b", "relationshipName": "uses"}]


def asked_by_hand(place: Path | str, query: str) -> list[tuple[Any, ...]]:
    """As somebody with a shell of the database does; on PostgreSQL in the org it is about."""
    if isinstance(place, Path):
        with closing(apsw.Connection(str(place))) as connection:
            return connection.execute(query).fetchall()
    with psycopg.connect(place, options="-c search_path=clew -c clew.org=local") as link:
        return link.execute(query.encode()).fetchall()


def listed(column: Any) -> Any:
    return json.loads(column) if isinstance(column, str) else column


def test_ranks_are_kept_beside_what_they_come_from(place: Path | str, store: Store) -> None:
    ranks = [
        Considered(RankedCandidate("mem_b", 0.4, 1.0, 0.4, 1, 0), injected=True),
        Considered(RankedCandidate("mem_a", 0.9, 0.1, 0.09, 0, 1), explored=True),
    ]
    log = replace(LOG, id="log_1")
    store.write(lambda tx: tx.injections.put_ranks(log, ranks, weighting_enabled=True, at=NOW))
    columns = (
        "observation_id, relevance, weight, weighted_score, unweighted_rank, weighted_rank, injected, explored"
    )
    rows = asked_by_hand(place, f"SELECT {columns} FROM retrieval_ab_logs ORDER BY unweighted_rank DESC")
    assert [Considered(RankedCandidate(*row[:6]), *map(bool, row[6:])) for row in rows] == ranks


def summary(session: str, **changes: object) -> SessionSummary:
    made = SessionSummary(
        f"sum_{session}", "local", session, "shop", None, "agent", "chore", "SHOP-1", "accepted", "goal", "text",
        files=("a.py",), errors=("boom",), open_items=("later",), created_at=NOW,
    )  # fmt: skip
    return replace(made, **changes)  # type: ignore[arg-type]


def session(**changes: object) -> AgentSession:
    nothing = dict.fromkeys(AgentSession.__slots__)
    made = AgentSession(**nothing)  # type: ignore[arg-type]
    return replace(made, id="ses_now", org="local", project="shop", **changes)  # type: ignore[arg-type]


def test_a_session_has_one_summary_and_it_keeps_its_id(store: Store) -> None:
    store.write(lambda tx: tx.injections.put_summary(summary("ses_1"), at=NOW))
    again = summary("ses_1", id="sum_other", outcome="rework")
    store.write(lambda tx: tx.injections.put_summary(again, at=NOW))
    with store.read() as tx:
        assert tx.injections.summary("local", "ses_1") == summary("ses_1", outcome="rework")


def test_summaries_of_an_issue_and_of_a_project_but_of_nobody_else(store: Store) -> None:
    kept = [summary("ses_1"), summary("ses_2", issue="SHOP-2"), summary("ses_3", project="till"),
            summary("ses_4", user="kim"), summary("ses_5", org="acme"), summary("ses_now")]  # fmt: skip
    store.write(lambda tx: [tx.injections.put_summary(one, at=NOW) for one in kept])
    with store.read() as tx:
        about = tx.injections.summaries(session(), issue="SHOP-1", limit=9)
        newest = tx.injections.summaries(session(), limit=9)
        kims = tx.injections.summaries(session(user="kim"), limit=9)
    assert [one.session for one in about] == ["ses_1"]
    assert {one.session for one in newest} == {"ses_1", "ses_2"}
    assert {one.session for one in kims} == {"ses_1", "ses_2", "ses_4"}


def test_no_memories_hang_on_a_node_that_is_not_there(store: Store) -> None:
    node = uuid_text(node_id("local", "shop", NodeRef("service", "x")))
    with store.read() as tx:
        found = tx.injections.memories_at_nodes(Reach.everything("local"), [node], now=NOW, per_node=3)
    assert found == {node: []}


def test_of_a_long_log_the_newest_rows_come_back_in_their_order(store: Store) -> None:
    for second in range(5):
        write(store, replace(LOG, event_id=f"e{second}"), seconds=second)
    with store.read() as tx:
        assert [row.event_id for row in tx.injections.of_session("local", LOG.session_id, limit=2)] == ["e3", "e4"]


def queued(store: Store, text: str, ids: tuple[str, ...]) -> None:
    draft = InjectDraft("ses_1", text, observation_ids=ids)
    store.write(lambda tx: tx.injects.insert("local", f"inj_{text}", draft, content_hash=text, now=NOW))


def test_what_waits_counts_as_shown_and_what_leaves_the_queue_is_noticed(store: Store) -> None:
    write(store, LOG)
    write(store, replace(LOG, observation_ids=("mem_no",), graph_edge_keys=(), delivered=False))
    queued(store, "waits", ("mem_a", "mem_b"))
    with store.read() as tx:
        assert tx.injections.shown("local", "ses_1") == {"mem_ü", "mem_a", "mem_b"}
        assert tx.injections.shown_edges("local", "ses_1") == {EdgeKey("a", "b", "uses")}
        assert tx.injections.shown("acme", "ses_1") == tx.injections.shown_edges("acme", "ses_1") == set()
        before = tx.injections.taken_back("local", "ses_1")
    store.write(lambda tx: tx.injects.cancel_waiting("local", "ses_1", reason="test", now=NOW))
    with store.read() as tx:
        assert tx.injections.shown("local", "ses_1") == {"mem_ü"}
        assert tx.injections.taken_back("local", "ses_1") != before == tx.injections.taken_back("acme", "ses_1")


def test_which_memories_another_text_says(store: Store) -> None:
    queued(store, "first", ("mem_a", "mem_b"))
    with store.read() as tx:
        assert tx.injections.said("local", "ses_1", ["mem_b", "mem_c"], beside="second") == {"mem_b"}
        assert tx.injections.said("local", "ses_1", ["mem_b"], beside="first") == set()
        assert tx.injections.said("local", "ses_2", ["mem_b"], beside="second") == set()
        assert tx.injections.said("acme", "ses_1", ["mem_b"], beside="second") == set()


def test_a_row_is_found_by_its_id_and_by_its_event_and_delivery(store: Store) -> None:
    id = write(store, LOG)
    with store.read() as tx:
        assert tx.injections.is_there("local", id) and not tx.injections.is_there("acme", id)
        assert tx.injections.has_event(LOG, "inj_1") and not tx.injections.has_event(LOG, "inj_2")
        assert not tx.injections.has_event(replace(LOG, event_id="other"), "inj_1")
        assert not tx.injections.has_event(replace(LOG, event_id=""), "inj_1")


def test_what_found_nothing_goes_first_and_the_rest_after_its_session(store: Store) -> None:
    over, running = a_session(), a_session()
    for one in (over, running):
        store.write(lambda tx, one=one: tx.sessions.insert(one))  # type: ignore[misc]
        for log in (LOG, replace(LOG, outcome="no-match"), replace(LOG, phase="start", outcome="no-match")):
            write(store, replace(log, session_id=one.id))
    store.write(lambda tx: tx.sessions.move(over, "completed", outcome=None, ended_at=NOW))
    later, long_ago = NOW + timedelta(seconds=1), NOW - timedelta(days=1)

    def tidied(**before: datetime) -> list[list[tuple[str, str]]]:
        store.write(lambda tx: tx.injections.tidy("local", **before, limit=10))  # type: ignore[arg-type]
        with store.read() as tx:
            logs = [tx.injections.of_session("local", one.id) for one in (over, running)]
        return [sorted((log.phase, log.outcome) for log in found) for found in logs]

    kept = [("in_session", "injected"), ("start", "no-match")]
    assert tidied(quiet_before=later, before=long_ago) == [kept, kept]
    assert tidied(quiet_before=later, before=later) == [[], kept]


def test_how_a_session_of_somebody_elses_went_goes_with_its_log(store: Store) -> None:
    ours = a_session()
    store.write(lambda tx: tx.sessions.insert(ours))
    for id in (ours.id, "ses_theirs"):
        write(store, replace(LOG, session_id=id))
        told = Diagnostics(id, "shop", "rework")
        store.write(lambda tx, told=told: tx.learning.put_diagnostics("local", told, now=NOW))  # type: ignore[misc]
    store.write(lambda tx: tx.sessions.move(ours, "stopped", outcome=None, ended_at=NOW))
    later = NOW + timedelta(days=1)
    assert store.write(lambda tx: tx.injections.tidy("local", quiet_before=later, before=later, limit=9)) == 2
    with store.read() as tx:
        found = [tx.learning.diagnostics("local", id) is not None for id in (ours.id, "ses_theirs")]
    assert found == [True, False]


def test_only_the_log_of_the_org_is_tidied(store: Store) -> None:
    ids = {org: write(store, replace(LOG, org_id=org, outcome="no-match")) for org in ("local", "acme")}
    later = NOW + timedelta(days=1)
    assert store.write(lambda tx: tx.injections.tidy("acme", quiet_before=later, before=later, limit=9)) == 1
    with store.read() as tx:
        assert [tx.injections.is_there(org, id) for org, id in ids.items()] == [True, False]


def test_ranks_go_with_the_row_that_they_are_behind_and_no_more_than_a_portion(
    place: Path | str, store: Store
) -> None:
    ids = [write(store, replace(LOG, outcome="no-match"), seconds=late) for late in range(3)]
    found = [Considered(RankedCandidate("mem_b", 0.4, 1.0, 0.4, 1, 0))]
    for id in ids:
        log = replace(LOG, id=id)
        store.write(lambda tx, log=log: tx.injections.put_ranks(log, found, weighting_enabled=True, at=NOW))  # type: ignore[misc]
    later = NOW + timedelta(days=1)
    assert store.write(lambda tx: tx.injections.tidy("local", quiet_before=later, before=NOW, limit=2)) == 2
    assert asked_by_hand(place, "SELECT retrieval_id FROM retrieval_ab_logs") == [(ids[2],)]


def test_what_was_asked_for_is_forgotten_project_by_project(store: Store) -> None:
    for session, project in (("ses_shop", "shop"), ("ses_bank", "bank"), ("ses_none", "")):
        write(store, replace(LOG, session_id=session, project_id=project or None))
    write(store, replace(LOG, org_id="acme", session_id="ses_acme"))

    def texts() -> list[str]:
        with store.read() as tx:
            places = [("local", "ses_shop"), ("local", "ses_bank"), ("local", "ses_none"), ("acme", "ses_acme")]
            return [tx.injections.of_session(org, session)[0].query_text for org, session in places]

    store.write(lambda tx: tx.injections.forget_queries("local", "shop"))
    assert texts() == ["", "q", "", "q"]
    store.write(lambda tx: tx.injections.forget_queries("local", None))
    assert texts() == ["", "", "", "q"]


def test_the_texts_of_a_session_are_forgotten_and_those_of_others_stay(store: Store) -> None:
    for org, id in (("local", "ses_1"), ("local", "ses_2"), ("acme", "ses_1")):
        session = a_session(id=id, org=org, title="said", description="at length")
        store.write(lambda tx, session=session: tx.sessions.insert(session))
        kept = summary(id, org=org)
        store.write(lambda tx, kept=kept: tx.injections.put_summary(kept, at=NOW))
        found = Diagnostics(
            session_id=id, outcome="accepted", errors=({"said": 1},), tool_calls=({"tool": "Bash"},)
        )
        store.write(lambda tx, org=org, found=found: tx.learning.put_diagnostics(org, found, now=NOW))

    def forget(tx: Tx) -> None:
        tx.sessions.forget_texts("local", "ses_1")
        tx.injections.forget_summary("local", "ses_1")
        tx.learning.forget_diagnostics("local", "ses_1")

    store.write(forget)
    with store.read() as tx:
        for org, id in (("local", "ses_1"), ("local", "ses_2"), ("acme", "ses_1")):
            is_kept = (org, id) != ("local", "ses_1")
            session, diagnostics = tx.sessions.get(Reach.everything(org), id), tx.learning.diagnostics(org, id)
            assert session and diagnostics
            assert bool(session.title) == bool(session.description) == is_kept
            assert (tx.injections.summary(org, id) is not None) == is_kept
            assert bool(diagnostics.errors) == bool(diagnostics.tool_calls) == is_kept

"""The injection log: the documented query, and a write that never fails anybody."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from clew.clew import Clew
from clew.inject import record_context_injection
from clew.model.inject import ContextInjectionLog, EdgeKey
from clew.model.scope import Identity, Scope

DOCUMENTED = """SELECT graph_node_ids, graph_edge_keys, created_at FROM context_injection_logs
WHERE session_id = ? ORDER BY created_at DESC LIMIT 1"""


def documented(clew: Clew, session: str) -> tuple[list[str], list[dict[str, str]]]:
    path = str(clew.store.path)  # type: ignore[attr-defined]
    [(nodes, edges, _at)] = apsw.Connection(path).execute(DOCUMENTED, (session,)).fetchall()
    return json.loads(nodes), json.loads(edges)


def test_r072_r073_the_documented_query_answers_whether_the_graph_was_injected(memory: Clew) -> None:
    memory.remember("AuthService depends on PostgresDB", scope=Scope(project="shop"))
    session = memory.sessions.start(project="shop", work_type="bug_fix", title="Fix AuthService")
    memory.sessions.claim(session.id, "w")
    memory.inject.start(session.id)
    nodes, [edge] = documented(memory, session.id)
    assert edge == {"sourceId": nodes[0], "targetId": nodes[1], "relationshipName": "depends_on"}
    assert [str(uuid.UUID(node)) for node in nodes] == nodes

    memory.projects.set("shop", "graph", False)
    memory.inject.start(session.id)
    assert documented(memory, session.id) == ([], [])


def test_r070_a_row_comes_back_as_it_was_given(memory: Clew) -> None:
    session = memory.sessions.start(project="shop")
    log = ContextInjectionLog(
        session_id=session.id, project_id="shop", work_type="bug_fix", budget_tokens=750, actual_tokens=312,
        observation_ids=("mem_1",), session_summary_ids=("sum_1",), graph_node_ids=("n1", "n2"),
        graph_edge_keys=(EdgeKey("n1", "n2", "uses"),), query_text="SHOP-7", delivered=True, delivery_id="inj_1",
    )  # fmt: skip
    id = record_context_injection(memory, log)
    [found] = memory.inject.log(session.id)
    assert found.id == id and found.timestamp is not None and found.shown == log.shown
    assert found.as_json()["graph_edge_keys"] == [{"sourceId": "n1", "targetId": "n2", "relationshipName": "uses"}]


def test_r076_a_row_that_cannot_be_written_is_counted_and_told_to_nobody(
    clew_at: Callable[..., Clew], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    clew = clew_at(tmp_path)
    clew.close()
    assert record_context_injection(clew, ContextInjectionLog(session_id="ses_1", query_text="secret plan")) == ""
    assert clew.inject.failures == {"log": 1}
    assert "could not be logged" in caplog.text and "secret plan" not in caplog.text


def test_what_was_pushed_is_known_to_every_process(memory: Clew) -> None:
    for delivered, ids in ((True, ("mem_1", "mem_2")), (False, ("mem_3",)), (True, ("mem_2",))):
        log = ContextInjectionLog(session_id="ses_1", observation_ids=ids, delivered=delivered)
        record_context_injection(memory, log)
    with memory.store.read() as tx:
        assert tx.injections.shown("local", "ses_1") == {"mem_1", "mem_2"}
        assert tx.injections.shown("acme", "ses_1") == set()


def test_the_log_names_what_policies_withheld_to_those_who_may_read_it(memory: Clew) -> None:
    ada, bot = Identity(user="ada", roles=("member",)), Identity(agent="agent", roles=())
    shared = memory.remember("AuthService has a PCI scope", scope=Scope(project="shop")).id
    private = memory.remember("AuthService is bob's", scope=Scope(project="shop", user="bob")).id
    session = memory.sessions.start(project="shop", title="Fix AuthService")
    log = ContextInjectionLog(session_id=session.id, project_id="shop", denied_ids=(shared, private, "mem_gone"))
    record_context_injection(memory, log)
    told = {who: memory.inject.log(session.id, identity=who)[0].denied_ids for who in (None, ada, bot)}
    assert told == {None: (shared, private), ada: (shared,), bot: ()}

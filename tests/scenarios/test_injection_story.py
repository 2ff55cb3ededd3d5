"""The story of two agents and one worker crash, told with real processes on one real file.

Ada learns something. Ben starts on a related ticket; the worker that runs him is killed after it was handed the
block and before it could say so. Another worker takes over and gets the same block. Then a tool call brings one
more hint, the outcome moves weights, and the first worker's late word counts for nothing.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import apsw
import pytest

import clew
from clew.clew import Clew
from clew.model.inject import VerbEvent
from clew.model.scope import Scope
from clew.model.session import AgentSession

PROJECT = "shop"
SCOPE = Scope(project=PROJECT)

# Claims the session, starts it, takes the block, says which one it holds, and never comes to acknowledge it.
WORKER = """
import sys, clew
path, session = sys.argv[1:]
memory = clew.open(path, home=path + ".home")
token = memory.sessions.claim(session, "worker-1")
memory.inject.start(session)
beat = memory.sessions.refresh(session, "worker-1", token)
print(token, beat.inject.delivery_id, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Clew]:
    patient = {"latency_ms": 10_000}  # a busy machine must not make it miss the limit
    with clew.open(tmp_path / "clew.db", home=tmp_path / "home", inject=patient) as opened:
        yield opened


def ada_learns(memory: Clew) -> dict[str, str]:
    session = memory.sessions.start(project=PROJECT, work_type="bug_fix", issue="SHOP-12", agent="ada",
                                    title="Payments fail at midnight")  # fmt: skip
    memory.sessions.claim(session.id, "worker-0")
    learnt = {
        "cause": "The payment gateway closes idle connections after 60 seconds, so PaymentClient must reconnect",
        "relation": "PaymentClient depends on GatewayPool. GatewayPool lives in src/pay/pool.py",
        "hint": "src/pay/retry.py must not retry a charge without an idempotency key",
        "other": "The newsletter is rendered with mjml",
    }
    ids = {
        name: memory.remember(text, scope=Scope(project=PROJECT, agent="ada", session=session.id)).id
        for name, text in learnt.items()
    }
    memory.sessions.end(session.id, outcome="accepted")
    return ids


def ben_starts(memory: Clew) -> AgentSession:
    return memory.sessions.start(
        project=PROJECT, work_type="bug_fix", issue="SHOP-31", agent="ben",
        title="Payment gateway connections of PaymentClient time out",
        description="Since Monday idle connections to the payment gateway fail.\nSecond line.",
    )  # fmt: skip


def crash_a_worker(path: Path, session: str) -> tuple[int, str]:
    """A real process that is killed with the block in its hands."""
    worker = subprocess.Popen(
        [sys.executable, "-c", WORKER, str(path), session],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert worker.stdout is not None
    token, delivery = worker.stdout.readline().split()
    os.kill(worker.pid, signal.SIGKILL)
    worker.communicate()
    return int(token), delivery


def take_over(path: Path, memory: Clew, session: str) -> int:
    with pytest.raises(clew.Conflict):  # the dead one still holds the lock
        memory.sessions.claim(session, "worker-2")
    with closing(apsw.Connection(str(path))) as connection:  # 90 seconds go by
        connection.set_busy_timeout(5_000)
        connection.execute("UPDATE leases SET expires_at = 0 WHERE key LIKE 'session:%'")
    return memory.sessions.claim(session, "worker-2")


def test_two_agents_and_one_worker_crash(memory: Clew, tmp_path: Path) -> None:
    learnt = ada_learns(memory)
    session = ben_starts(memory)
    old_token, delivery = crash_a_worker(tmp_path / "clew.db", session.id)

    # The second worker is handed the very block the first one took with it.
    token = take_over(tmp_path / "clew.db", memory, session.id)
    assert token > old_token
    block = memory.inject.start(session.id)
    assert learnt["cause"] in block.memory_ids and learnt["other"] not in block.memory_ids
    beat = memory.sessions.refresh(session.id, "worker-2", token)
    assert beat.inject is not None and beat.inject.delivery_id == delivery
    assert beat.inject.text == block.text
    assert beat.inject.text.startswith("## Relevant Past Observations\n- [mem_")

    # The dead worker's word, should it come after all, counts for nothing.
    assert not memory.queue.ack(session.id, delivery, "worker-1", old_token)
    assert memory.sessions.refresh(session.id, "worker-2", token, acked=delivery).inject is None

    # A tool call brings one more hint, and nothing that Ben holds already.
    event = VerbEvent(
        session=session.id, tool="Edit", paths=("src/pay/retry.py",), query="retry the charge on timeout"
    )
    result = memory.inject.event(event)
    assert (result.outcome, result.memory_ids) == ("queued", (learnt["hint"],))
    hint = memory.sessions.refresh(session.id, "worker-2", token).inject
    assert hint is not None and hint.delivery_id == result.delivery_id
    assert memory.sessions.refresh(session.id, "worker-2", token, acked=hint.delivery_id).inject is None
    assert memory.inject.event(event).outcome == "no-match"

    # The outcome moves what was shown; a corrected one replaces it.
    memory.sessions.end(session.id, outcome="rework")
    assert memory.show(learnt["cause"]).weight == pytest.approx(0.85)
    memory.learn.feedback(session.id, "accepted")
    assert memory.show(learnt["cause"]).weight == pytest.approx(1.0)
    assert memory.show(learnt["other"]).weight == 1.0

    # Who looks into the log sees what the graph added, by the documented query.
    nodes, edges = documented_query(tmp_path / "clew.db", session.id, phase="start")
    assert set(nodes) == {edge[end] for edge in edges for end in ("sourceId", "targetId")} != set()
    assert memory.audit.verify().ok


def documented_query(path: Path, session: str, *, phase: str) -> tuple[list[str], list[dict[str, str]]]:
    query = (
        "SELECT graph_node_ids, graph_edge_keys, created_at FROM context_injection_logs"
        " WHERE session_id = ? AND phase = ? ORDER BY created_at DESC LIMIT 1"
    )
    with closing(apsw.Connection(str(path))) as connection:
        row = connection.execute(query, (session, phase)).fetchone()
    return json.loads(row[0]), json.loads(row[1])

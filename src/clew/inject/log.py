"""The injection log: one row for every block that was computed, whether or not it was delivered.

A row tells what was rendered, never what it said: ids of memories, nodes and edges, budgets, and why the graph's
part is as it is. It is what feedback learns from and what the analytics count.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from typing import Any, Protocol

from clew.model.inject import Block, Considered, ContextInjectionLog
from clew.model.session import AgentSession
from clew.ports import Tx


class HasInjection(Protocol):
    """An open Clew, as far as injecting goes."""

    @property
    def inject(self) -> Any: ...


def record_context_injection(clew: HasInjection, log: ContextInjectionLog) -> str:
    """The id of the new row; '' when it could not be written, which is counted and never raised (R-076)."""
    id: str = clew.inject.record(log)
    return id


def log_of(
    session: AgentSession, block: Block, *, query_text: str, work_type: str | None, ms: float = 0.0
) -> ContextInjectionLog:
    """What is to be said of a block at a session's start, before anybody knows whether it is delivered."""
    return ContextInjectionLog(
        session_id=session.id,
        org_id=session.org,
        project_id=session.project,
        agent_id=session.agent,
        work_type=work_type,
        budget_tokens=block.budget_tokens,
        graph_budget_tokens=block.graph_budget_tokens,
        actual_tokens=block.tokens,
        actual_observation_tokens=block.observation_tokens,
        actual_graph_tokens=block.graph_tokens,
        observation_ids=block.memory_ids,
        session_summary_ids=block.session_summary_ids,
        graph_node_ids=block.graph_node_ids,
        graph_edge_keys=block.graph_edge_keys,
        query_text=query_text,
        graph_status=block.graph_status,
        denied_ids=block.denied_ids,
        ms=ms,
    )


def write_log(
    tx: Tx,
    log: ContextInjectionLog,
    found: Iterable[Considered] = (),
    *,
    weighting_enabled: bool = True,
    now: datetime,
) -> ContextInjectionLog:
    """The row as it was written, with the ranks of every candidate beside it."""
    written = replace(log, id=tx.injections.put(log, at=now))
    tx.injections.put_ranks(written, found, weighting_enabled=weighting_enabled, at=now)
    return written

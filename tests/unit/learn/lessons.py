"""Sessions that were shown something, made by hand, so that learning can be tested without injecting."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from clew.clew import Clew
from clew.learn import apply_feedback
from clew.model.graph import NodeRef, node_id, uuid_text
from clew.model.inject import Considered, ContextInjectionLog, EdgeKey
from clew.model.learning import FeedbackReport, RankedCandidate
from clew.model.scope import Scope

SHOP = Scope(project="shop")


def remembered(clew: Clew, text: str, *, scope: Scope = SHOP, **fields: Any) -> str:
    return clew.remember(text, scope=scope, **fields).memory.id


def shown(clew: Clew, *ids: str, session: str = "", delivered: bool = True, **fields: Any) -> str:
    """A session to which these memories were shown; its id."""
    session = session or clew.sessions.start(project="shop", work_type=fields.pop("work_type", None)).id
    fields = {"project_id": "shop", "actual_tokens": 100} | fields
    log = ContextInjectionLog(session_id=session, observation_ids=ids, delivered=delivered, **fields)
    clew.store.write(lambda tx: tx.injections.put(log, at=clew.now()))
    return session


def tell(clew: Clew, session: str, outcome: str) -> FeedbackReport:
    return apply_feedback(clew, org_id="local", session_id=session, outcome=outcome)


def weight(clew: Clew, id: str) -> float:
    return clew.show(id).weight


def ranked(
    clew: Clew, session: str, rows: Iterable[tuple[str, int, int, bool]], *, weighting: bool = True, **more: Any
) -> None:
    """One retrieval: (memory, rank by relevance, rank by weight, injected) each."""
    placed = [
        Considered(RankedCandidate(id, 0.5, 1.0, 0.5, before, after), injected, **more)
        for id, before, after, injected in rows
    ]
    ids = tuple(one.ranked.id for one in placed if one.injected)
    log = ContextInjectionLog(session_id=session, project_id="shop", observation_ids=ids, delivered=True)

    def put(tx: Any) -> None:
        id = tx.injections.put(log, at=clew.now())
        kept = ContextInjectionLog(session_id=session, project_id="shop", id=id)
        tx.injections.put_ranks(kept, placed, weighting_enabled=weighting, at=clew.now())

    clew.store.write(put)


def an_edge(clew: Clew) -> tuple[EdgeKey, str]:
    """A stated edge and one of its nodes, as an injection log names them."""
    remembered(clew, "AuthService depends on PostgresDB")
    ends = [uuid_text(node_id("local", "shop", NodeRef("service", name))) for name in ("authservice", "postgresdb")]
    return EdgeKey(*ends, "depends_on"), ends[0]

"""A small project with a graph, ways to break it, and a look at what was counted of its requests."""

from __future__ import annotations

from typing import Any

import apsw
from measured import add

from clew.clew import Clew
from clew.model.scope import Scope
from counted import applied, failed

SHOP = Scope(project="shop")


def fill(clew: Clew) -> dict[str, str]:
    """The fixture of T33: what the question finds, and behind an edge between two topics one memory more."""
    ids = {
        "w1": clew.remember("login is being rewritten", layer="working", tags=("auth",), scope=SHOP).id,
        "l-base": clew.remember("login uses tokens", scope=SHOP).id,
        "l-graph": clew.remember("invoices are sent on Mondays", tags=("billing",), scope=SHOP).id,
    }
    clew.link("topic:auth", "mentions", "topic:billing", scope=SHOP)
    return ids


def counted(clew: Clew) -> list[dict[str, Any]]:
    """Every request that was counted, oldest first."""
    clew.rollout.flush()
    connection = apsw.Connection(str(clew.store.path))  # type: ignore[attr-defined]
    rows = connection.execute("SELECT * FROM graph_rollout_metrics ORDER BY created_at")
    return [dict(zip([name for name, *_ in rows.get_description()], row, strict=True)) for row in rows]


def break_graph(clew: Clew) -> None:
    apsw.Connection(str(clew.store.path)).execute("ALTER TABLE graph_edges RENAME TO gone")  # type: ignore[attr-defined]


def mend_graph(clew: Clew) -> None:
    apsw.Connection(str(clew.store.path)).execute("ALTER TABLE gone RENAME TO graph_edges")  # type: ignore[attr-defined]


def block(clew: Clew, errors: int = 4) -> None:
    """20 requests of the last minutes, some of which failed."""
    now = clew.now()
    add(clew.store, [failed(now) if number < errors else applied(now) for number in range(20)])

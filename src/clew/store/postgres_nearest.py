"""The nearest vectors by the server: through its index where that is the quicker way, otherwise each is compared.

The server compares what was rounded to float16. So a few more are taken than are wanted, and compared anew here:
the cosines are those that SQLite gives.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clew.store.nearest import Floats, nearest_in
from clew.store.session import HalfVector, Row, Session

SPARE = 20  # more than are wanted, besides a fifth: the server's order is nearly ours
WIDEST = 1_000  # pgvector's bound for how many it keeps in view
NARROWEST, IN_VIEW = 200, 2.0  # how many it keeps in view: at least, and for each that is wanted
WIDER = {256: 2.5}  # times as many, where the index has fewer neighbours of each: see setup/indices.sql
MOST = 200_000  # vectors looked at before the index is given up for the exact way
_INDEXED = {256: "nearest_static", 384: "nearest_minilm", 768: "nearest_base", 1536: "nearest_large"}


def nearest_by_server(
    session: Session, asked: Mapping[str, Any], vector: Floats, *, limit: int
) -> Mapping[int, float]:
    """`asked`: the reach and the space. Rows with their cosines."""
    if not vector.any():
        return {}
    query = _INDEXED.get(len(vector))
    if query and _is_large(session, asked, limit):
        found = _by_index(session, query, asked, vector, limit=limit)
        if len(found) >= limit:
            return found
    return _by_comparing(session, asked, vector, limit=limit)


def _is_large(session: Session, asked: Mapping[str, Any], limit: int) -> bool:
    few = int(session.value("nearest_few", org_id=asked["org_id"], limit=limit) or 0)
    return int(session.value("nearest_reached", **asked, few=few)) >= max(few, 1)


def _by_index(
    session: Session, query: str, asked: Mapping[str, Any], vector: Floats, *, limit: int
) -> Mapping[int, float]:
    """Fewer than asked for when the index was given up."""
    wanted = _with_spare(limit)
    breadth = min(WIDEST, round(max(NARROWEST, IN_VIEW * wanted) * WIDER.get(len(vector), 1.0)))
    session.all("nearest_by_index", breadth=str(breadth), most=str(MOST))
    return _compared(session.all(query, **asked, vector=_halved(vector), limit=wanted), vector, limit)


def _by_comparing(session: Session, asked: Mapping[str, Any], vector: Floats, *, limit: int) -> Mapping[int, float]:
    """More are read for as long as the last is as near as the last one wanted."""
    wanted = _with_spare(limit)
    while True:
        rows = session.all("nearest_exact", **asked, vector=_halved(vector), limit=wanted)
        found = _compared(rows, vector, limit)
        if len(rows) < wanted or len(found) < len(rows):
            return found
        wanted *= 4


def _compared(rows: list[Row], vector: Floats, limit: int) -> Mapping[int, float]:
    [found] = nearest_in([rows] if rows else [], vector[None], limit)
    return found


def _with_spare(limit: int) -> int:
    return limit + limit // 5 + SPARE


def _halved(vector: Floats) -> HalfVector:
    return HalfVector(vector.astype("<f2").tobytes())

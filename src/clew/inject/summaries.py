"""What a session leaves behind for the next: a few lines about its work and how it went.

Written when a session ends, by a template and without a model, so the same session gives the same text. Masked and
classified as memories are. In blocks only when asked for: those about the same issue first, then similar ones.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import NamedTuple

import numpy as np

from clew.guard.tripwire import trip
from clew.inject.query import compose_retrieval_query
from clew.model.ids import new_id
from clew.model.session import AgentSession, SessionReport
from clew.model.start import SessionSummary
from clew.ports import Embedder, Tx
from clew.recall.fuse import semantic_relevance
from clew.remember.classify import classify
from clew.remember.redact import redact

_log = logging.getLogger(__name__)

MAX_TEXT = 1_200  # rensei.md 2.6
MAX_LISTED = 5
MAX_ITEM = 120
MIN_SIMILARITY = 0.5
CONSIDERED = 50  # the newest of the project
_TOOL = re.compile(r"[\w.:-]{1,60}")


def summarise(
    session: AgentSession, report: SessionReport | None, *, now: datetime, strict_token_rule: bool = True
) -> SessionSummary | None:
    """None for a session that left nothing to tell."""
    report = report or SessionReport()
    goal = _one_line(compose_retrieval_query(identifier=session.issue, title=session.title))
    files = tuple(dict.fromkeys(map(_one_line, report.files_modified)))
    tools = tuple(dict.fromkeys(_tool(error.get("tool")) for error in report.errors))
    if not (goal or report.summary or files or tools):
        return None
    told = redact(_told(session, goal, report, files, tools))
    text = told.text[:MAX_TEXT]
    label = classify(text, paths=files, masked=bool(told.kinds), strict_token_rule=strict_token_rule)
    return SessionSummary(
        id=new_id("sum", at_ms=int(now.timestamp() * 1000)),
        org=session.org,
        session=session.id,
        project=session.project,
        user=session.user,
        agent=session.agent,
        work_type=session.work_type,
        issue=session.issue,
        outcome=session.outcome,
        goal=goal,
        text=text,
        files=files,
        errors=tools,
        classification=label,
        trust="untrusted" if trip(text) else "agent",
        created_at=now,
    )


def _told(
    session: AgentSession, goal: str, report: SessionReport, files: Sequence[str], tools: Sequence[str]
) -> str:
    """Short parts first, so that a long report is what is cut. Of errors only how many and whose: what a tool said
    may be the text of a page. The outcome stands beside the text, since it may be told or corrected later."""
    parts = [f"{goal or 'No work item'} ({session.state})."]
    if files:
        parts.append(f"Files: {_listed(files)}.")
    if tools:
        parts.append(f"Errors: {len(report.errors)} ({_listed(tools)}).")
    return " ".join([*parts, " ".join((report.summary or "").split())]).strip()


def _listed(items: Sequence[str]) -> str:
    more = len(items) - MAX_LISTED
    return ", ".join(items[:MAX_LISTED]) + (f" and {more} more" if more > 0 else "")


def _tool(name: object) -> str:
    """A name as tools have them; nothing else can pass for one."""
    masked = redact(str(name or "")).text
    return masked if _TOOL.fullmatch(masked) else "other"


def _one_line(text: str) -> str:
    return " ".join(redact(text).text.split())[:MAX_ITEM]


class Past(NamedTuple):
    """Summaries about the issue of a session, newest first, and others of its project."""

    same: list[SessionSummary]
    others: list[SessionSummary]


def past_of(tx: Tx, session: AgentSession, *, limit: int) -> Past:
    same = tx.injections.summaries(session, issue=session.issue, limit=limit) if session.issue else []
    if len(same) >= limit:
        return Past(same[:limit], [])
    known = {one.id for one in same}
    return Past(same, [one for one in tx.injections.summaries(session, limit=CONSIDERED) if one.id not in known])


def related_summaries(
    past: Past, query_text: str, *, embedder: Embedder | None, limit: int
) -> list[SessionSummary]:
    """About the same issue, then those similar enough to what is asked, the most similar first; what is similar
    needs a model, what is about the issue does not."""
    if embedder is None or not query_text:
        return past.same
    try:
        return (past.same + similar(query_text, past.others, embedder))[:limit]
    except Exception as error:  # a plug-in and an extra
        _log.warning("no similar summaries: %s", getattr(error, "code", type(error).__name__))
        return past.same


def similar(query_text: str, summaries: Iterable[SessionSummary], embedder: Embedder) -> list[SessionSummary]:
    found = list(summaries)
    if not found:
        return []
    vectors = embedder.embed([query_text, *(one.text for one in found)])
    cosine = np.asarray(vectors[1:] @ vectors[0], np.float32)
    likeness = semantic_relevance(cosine, embedder.space)
    near = [(float(value), one) for value, one in zip(likeness, found, strict=True) if value >= MIN_SIMILARITY]
    return [one for _value, one in sorted(near, key=lambda pair: (-pair[0], pair[1].id))]

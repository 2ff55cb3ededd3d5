"""How a session went: what it was shown, what it did, why it failed, what helped, what misled. No model is asked.

One row per session. Light when it was accepted: what was shown, which files changed. Full otherwise, also while the
outcome is not known. Texts are masked and cut; running it twice changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import takewhile
from typing import Any

from clew.learn.replay import looks_back, misleads
from clew.model.learning import FAILED, Diagnostics, Shown
from clew.model.scope import Reach
from clew.model.session import SessionReport
from clew.ports import Tx
from clew.remember.redact import redact

MAX_CALLS, MAX_FILES, MAX_ERRORS = 200, 500, 50
MAX_MESSAGE = 500  # characters of an error that are kept
_CHECKED = 4_000  # characters of a message that are looked at
_TEST_RUNNER = re.compile(
    r"(?<![a-z])(tests?|pytest|unittest|jest|vitest|mocha|rspec|phpunit|junit|ctest|tox|nox)(?![a-z])",
    re.IGNORECASE,
)
_STYLE = re.compile(r"lint|format|prettier|eslint", re.IGNORECASE)
_REGRESSION = re.compile(r"regression|broke|previously", re.IGNORECASE)


def classify_failure(
    *,
    tool_calls: Sequence[Mapping[str, Any]] = (),
    errors: Sequence[Mapping[str, Any]] = (),
    files_modified: Sequence[str] = (),
) -> str:
    """The first that fits, in the documented order: a failed test says more than a message about formatting."""
    failed = [str(call.get("tool", "")) for call in tool_calls if not call.get("success", True)]
    tools = failed + [str(error.get("tool", "")) for error in errors]
    told = [str(error.get("message", ""))[:_CHECKED] for error in errors]
    if any(_TEST_RUNNER.search(tool) for tool in tools):
        return "test_failure"
    if any(_STYLE.search(text) for text in (*told, *tools)):
        return "style"
    if any(_REGRESSION.search(text) for text in told):
        return "regression"
    if not files_modified:
        return "incomplete"
    return "wrong_approach" if errors else "other"


def session_diagnostics(
    session: str, outcome: str, shown: Sequence[Shown], report: SessionReport, *, project: str = ""
) -> Diagnostics:
    """What is known without looking at memories: pure."""
    found = Diagnostics(
        session_id=session,
        project=project or next((row.project for row in shown if row.project), ""),
        outcome=outcome,
        observation_ids=_each(row.observation_ids for row in shown),
        graph_node_ids=_each(row.graph_node_ids for row in shown),
        graph_edge_keys=_each(row.graph_edge_keys for row in shown),
        files_modified=tuple(_masked(file) for file in report.files_modified[:MAX_FILES]),
        tool_calls=tuple(_call(call) for call in report.tool_calls[-MAX_CALLS:]),
        errors=tuple(_error(error) for error in report.errors[-MAX_ERRORS:]),
    )
    return _judged(replace(found, tool_calls=(), errors=()) if outcome == "accepted" else found)


def helpful(files: Iterable[str], paths: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """The memories that are about a file that was changed. `paths`: what each memory is about."""
    changed = [_plain(file) for file in files]
    return tuple(
        id for id, about in paths.items() if any(_meet(_plain(path), file) for path in about for file in changed)
    )


def put_diagnostics(
    tx: Tx, org: str, session: str, outcome: str, report: SessionReport, *, project: str, now: datetime
) -> Diagnostics:
    """At the end of a session."""
    shown = tx.learning.shown(org, session)
    found = session_diagnostics(session, outcome, shown, report, project=project)
    return _put(tx, org, found, now)


def refreshed(
    tx: Tx, org: str, session: str, outcome: str, *, now: datetime, shown: Sequence[Shown]
) -> Diagnostics | None:
    """Under an outcome that was said later. What a session reported at its end stays; one that never ended has
    what it was shown. None for a session that nobody knows."""
    known = tx.learning.diagnostics(org, session)
    if known is None and not shown and tx.sessions.get(Reach.everything(org), session) is None:
        return None
    fresh = session_diagnostics(session, outcome, shown, SessionReport())
    if known is not None:
        kept = {name: getattr(known, name) for name in ("project", "tool_calls", "files_modified", "errors")}
        fresh = _judged(replace(fresh, **kept))
    return _put(tx, org, fresh, now)


def _put(tx: Tx, org: str, found: Diagnostics, now: datetime) -> Diagnostics:
    if found.outcome == "accepted" and found.files_modified:
        memories = tx.memories.get_many(Reach.everything(org), found.observation_ids)
        paths = {id: memories[id].paths for id in found.observation_ids if id in memories}
        found = replace(found, helpful_ids=helpful(found.files_modified, paths))
    if found.outcome in FAILED:
        found = replace(found, misleading_ids=_misleading(tx, org, found, now))
    tx.learning.put_diagnostics(org, found, now=now)
    return found


def _misleading(tx: Tx, org: str, found: Diagnostics, now: datetime) -> tuple[str, ...]:
    """Those that had misled before this session: the same rule by which the outcome counts twice for them."""
    ids = []
    for id in found.observation_ids:
        target = tx.learning.memory(org, id)
        before = tx.learning.ledger(org, target, since=looks_back(now)) if target else []
        if misleads(list(takewhile(lambda one: one.session != found.session_id, before)), now):
            ids.append(id)
    return tuple(ids)


def _judged(found: Diagnostics) -> Diagnostics:
    if found.outcome not in FAILED:
        return replace(found, failure_category="", failure_context="")
    category = classify_failure(
        tool_calls=found.tool_calls, errors=found.errors, files_modified=found.files_modified
    )
    return replace(found, failure_category=category, failure_context=_context(found))


def _context(found: Diagnostics) -> str:
    """The first thing that went wrong for good, else the first at all."""
    final = [error for error in found.errors if not error.get("recoverable")]
    return str((final or [*found.errors])[0].get("message", "")) if found.errors else ""


def _call(call: Mapping[str, Any]) -> dict[str, Any]:
    kept: dict[str, Any] = {"tool": _masked(call.get("tool", "")), "success": bool(call.get("success", True))}
    return kept | ({"file": _masked(call["file"])} if call.get("file") else {})


def _error(error: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "message": _masked(error.get("message", "")),
        "tool": _masked(error.get("tool", "")),
        "recoverable": bool(error.get("recoverable", False)),
    }


def _masked(text: Any) -> str:
    """Masked before it is cut: half a secret may no longer look like one."""
    return " ".join(redact(str(text)).text.split())[:MAX_MESSAGE]


def _each(lists: Iterable[Iterable[Any]]) -> tuple[Any, ...]:
    return tuple(dict.fromkeys(one for several in lists for one in several))


def _plain(path: str) -> str:
    return path.replace("\\", "/").removeprefix("./").rstrip("/")


def _meet(path: str, file: str) -> bool:
    """The same file, one written from further up than the other, or a folder around it."""
    if not path or not file:
        return False
    return path == file or file.endswith(f"/{path}") or path.endswith(f"/{file}") or file.startswith(f"{path}/")

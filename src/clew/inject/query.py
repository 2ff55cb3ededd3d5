"""What is asked at the start of a session: its work item in one line. Pure; nobody asks the tracker."""

from __future__ import annotations

MAX_CHARS = 2_000  # of a title or a line; beyond this it is a document


def compose_retrieval_query(
    *,
    identifier: str | None = None,
    title: str | None = None,
    description: str | None = None,
    issue_id: str | None = None,
    session_id: str | None = None,
) -> str:
    """Identifier, title and the first line of the description; of these whatever is known. Without any of them the
    tracker's own id, then the session's: never empty while there is one (rensei.md R-021..R-025)."""
    known = [_line(part) for part in (identifier, title, _first_line(description))]
    told = " ".join(part for part in known if part)
    return told or _line(issue_id) or _line(session_id)


def _first_line(text: str | None) -> str:
    lines = (text or "").strip().splitlines()
    return lines[0] if lines else ""


def _line(text: str | None) -> str:
    return " ".join((text or "")[:MAX_CHARS].split())

"""What a worker tells of a session that ended, fit to be kept; and the extras that want to hear of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from clew.model.session import SessionReport
from clew.remember.redact import redact

MAX_TEXT = 4_000
MAX_ENTRIES = 200
MAX_FIELD = 500


def session_report(
    summary: str | None,
    tool_calls: Iterable[Mapping[str, Any]] = (),
    files_modified: Iterable[str] = (),
    errors: Iterable[Mapping[str, Any]] = (),
) -> SessionReport:
    """Masked and bounded; of long lists the end is kept, which is where a session went right or wrong."""
    files = [files_modified] if isinstance(files_modified, str) else list(files_modified)  # not its letters
    return SessionReport(
        summary=redact(summary).text.strip()[:MAX_TEXT] or None if summary else None,
        tool_calls=tuple(_masked(entry) for entry in list(tool_calls)[-MAX_ENTRIES:]),
        files_modified=tuple(_short(path) for path in files[-MAX_ENTRIES:]),
        errors=tuple(_masked(entry) for entry in list(errors)[-MAX_ENTRIES:]),
    )


def attempt(what: str, extra: Callable[[], object]) -> bool:
    """Run an extra that must never fail what it hangs on; whether it went well."""
    try:
        extra()
    except Exception as error:  # extras fail open: a session has ended, or is claimed, whatever they say
        import logging

        # The kind of the error only: its text may quote a memory.
        logging.getLogger(__name__).warning("%s failed: %s", what, type(error).__name__)
        return False
    return True


def _masked(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    return {key: _short(value) if isinstance(value, str) else value for key, value in entry.items()}


def _short(text: str) -> str:
    return redact(text).text[:MAX_FIELD]

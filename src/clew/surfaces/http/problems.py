"""Errors as problem documents (RFC 9457). The one table from errors to statuses."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any

import msgspec

from clew.errors import (
    ClewError,
    Conflict,
    Denied,
    InvalidInput,
    Misconfigured,
    NotFound,
    StoreRefused,
    Unavailable,
)
from clew.model.address import scheme_of, without_password
from clew.surfaces.http.response import Response
from clew.wire.address import is_address

if TYPE_CHECKING:
    from clew import Clew

logger = logging.getLogger(__name__)

MEDIA_TYPE = "application/problem+json"
RETRY_AFTER_S = 1
STATUS: dict[type[ClewError], int] = {
    InvalidInput: 400,
    Denied: 403,
    NotFound: 404,
    Conflict: 409,
    Misconfigured: 503,
    StoreRefused: 503,
    Unavailable: 503,
}
CODES = {"DISK_FULL": 507, "IDEMPOTENCY_KEY_REUSED": 422}  # where the code says more than the class


class Refusal(ClewError):
    """What the server itself refuses, before any verb is asked."""

    def __init__(
        self, status: int, message: str, *, code: str, next: str = "", headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message, code=code, next=next)
        self.status = status
        self.headers = dict(headers or {})


class Problem(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What went wrong, and what to do about it (RFC 9457)."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    code: str
    next: str
    trace_id: str  # the server's log has it too, where there is anything to log
    details: dict[str, Any] | None = None


def status_of(error: ClewError, *, expects_version: bool = False) -> int:
    """`expects_version`: the request said which version it changes, so a change in between is its precondition."""
    if isinstance(error, Refusal):
        return error.status
    if expects_version and error.code == "MEMORY_CHANGED":
        return 412
    found = CODES.get(error.code)
    return found or next((STATUS[kind] for kind in type(error).__mro__ if kind in STATUS), 500)


def headers_of(error: ClewError, status: int) -> dict[str, str]:
    headers = error.headers if isinstance(error, Refusal) else {}
    if status == 401:
        headers = {"WWW-Authenticate": "Bearer", **headers}
    if status == 503:
        headers = {"Retry-After": str(RETRY_AFTER_S), **headers}
    return headers


def problem_of(error: ClewError, *, expects_version: bool = False) -> Response:
    status = status_of(error, expects_version=expects_version)
    document = {"type": "about:blank"} | msgspec.to_builtins(
        Problem(
            title=HTTPStatus(status).phrase,
            status=status,
            detail=error.message,
            code=error.code,
            next=error.next,
            trace_id=token_hex(8),
            details=dict(error.details) or None,
        ),
        enc_hook=str,
    )
    return Response(status, msgspec.json.encode(document), MEDIA_TYPE, headers_of(error, status))


def places_of(clew: Clew) -> list[str]:
    """Where this server keeps its files, or the address of its database as messages name it. The longest first: one
    may lie in the other."""
    url = clew.settings.store.url
    of_store = without_password(url) if is_address(url) else str(clew.store.location)
    if not scheme_of(of_store):
        of_store = str(Path(of_store).parent)
    return sorted({str(clew.home), of_store}, key=len, reverse=True)


def without_places(error: ClewError, places: Sequence[str]) -> ClewError:
    """The same for whoever need not know where this server keeps what it has. The log has it whole."""
    told = (error.message, error.next, *map(str, error.details.values()))
    if not any(_names(text, places) for text in told):
        return error
    if status_of(error) >= 500:
        logger.warning("%s: %s", error.code, error.message)
    hidden = type(error).__new__(type(error))
    hidden.__dict__.update(error.__dict__)
    hidden.message, hidden.next = _without(error.message, places), _without(error.next, places)
    hidden.details = {key: value for key, value in error.details.items() if not _names(str(value), places)}
    return hidden


def _names(text: str, places: Sequence[str]) -> bool:
    return any(place in text for place in places)


def _without(text: str, places: Sequence[str]) -> str:
    for place in places:
        text = text.replace(f"{place}{os.sep}", "").replace(place, "the store")
    return text


def unexpected(error: BaseException, where: str) -> Response:
    """A mistake of ours. The log gets its kind and place, never its text: that may quote what it was given."""
    trace_id = token_hex(8)
    logger.error("%s failed: %s at %s [%s]", where, type(error).__name__, _place(error), trace_id)
    problem = Problem(
        title="Internal Server Error",
        status=500,
        detail="the server failed",
        code="FAILED",
        next="try again; if it stays, tell whoever runs this Clew the trace_id",
        trace_id=trace_id,
    )
    document = {"type": "about:blank"} | msgspec.to_builtins(problem)
    return Response(500, msgspec.json.encode(document), MEDIA_TYPE)


def _place(error: BaseException) -> str:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}" if trace else "?"

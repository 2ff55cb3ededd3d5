"""Errors as problem documents (RFC 9457). The one table from errors to statuses."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

import msgspec
from starlette.responses import Response

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

STATUS: dict[type[ClewError], int] = {
    InvalidInput: 400,
    Denied: 403,
    NotFound: 404,
    Conflict: 409,
    Misconfigured: 503,
    StoreRefused: 503,
    Unavailable: 503,
}


def status_of(error: ClewError) -> int:
    return next((STATUS[kind] for kind in type(error).__mro__ if kind in STATUS), 500)


def problem_of(error: ClewError) -> Response:
    status = status_of(error)
    document: dict[str, Any] = {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": error.message,
        "code": error.code,
        "next": error.next,
    }
    if error.details:
        document["details"] = error.details
    return Response(msgspec.json.encode(document), status, media_type="application/problem+json")

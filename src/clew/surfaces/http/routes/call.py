"""Every verb under one path, for our own clients: `POST /v1/call/{verb}` with a JSON object of arguments.

It answers the verb's value field by field, not in the documents of the other routes, and errors with the class they
belong to, so that a client raises what the verb raised.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec

from clew.errors import ClewError
from clew.surfaces.http.route import Call, Envelope, Route
from clew.wire.calls import call as call_verb
from clew.wire.codec import error_document

MAX_BODY_KB = 16_384  # the longest memory, in the longest spelling


class WireError(msgspec.Struct, frozen=True, omit_defaults=True):
    """An error. `kind` is its class."""

    kind: str
    code: str
    message: str
    next: str
    details: dict[str, Any] = {}


class WireFailure(msgspec.Struct, frozen=True):
    error: WireError


class WireEnvelope(Envelope):
    """Values as they are, errors with their class."""

    failure = WireFailure

    def success(self, value: Any, *, at: datetime) -> Any:  # noqa: ARG002 - when is no part of it
        return value

    def error(self, error: ClewError, status: int, *, at: datetime) -> Any:  # noqa: ARG002
        return error_document(error)


def call(call: Call) -> Any:
    arguments = {name: bytes(raw) for name, raw in call.body.items()}
    return msgspec.Raw(call_verb(call.clew, call.path["verb"], arguments, identity=call.identity))


ROUTES = (
    Route(
        "POST", "/v1/call/{verb}", "call", "Any verb, for our own clients.", call,
        answer=Any, body=dict[str, msgspec.Raw], envelope=WireEnvelope(), max_body_kb=MAX_BODY_KB, also=(404, 409),
    ),
)  # fmt: skip

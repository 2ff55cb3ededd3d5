"""The tools for agents over MCP, behind the same checks as every other route. Only where the extra is installed.

One message in, one message out: what would have to be kept open is refused, as is whatever is no single message,
before the protocol's library looks at it.
"""

from __future__ import annotations

import asyncio
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from clew.errors import Misconfigured, Unavailable
from clew.model.scope import Identity
from clew.surfaces.http.request import Request
from clew.surfaces.http.response import AsgiReceive, AsgiSend, Message, Response
from clew.surfaces.http.route import JSON, Call, Route

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from clew import Clew

PATH = "/mcp"
DEADLINE_S = 60.0  # a verb answers or fails long before
_WHO = "clew.who"
_STREAMS = "subscriptions/"  # methods whose answer never ends
_PARSE_ERROR, _INVALID_REQUEST, _METHOD_NOT_FOUND = -32700, -32600, -32601  # of JSON-RPC 2.0


class _Message(msgspec.Struct, frozen=True):
    jsonrpc: Literal["2.0"]
    method: str
    id: str | int | msgspec.UnsetType = msgspec.UNSET  # null would be taken for a notification, and not be answered
    params: dict[str, msgspec.Raw] | None = None


async def answer(
    clew: Clew, identity: Identity, request: Request, body: bytes, connection: AsgiReceive
) -> Response:
    """Nothing outlives the request. `connection` is heard once the body is read: it tells that the client left."""
    if refused := _refused(body):
        return refused
    app = _app() if _app.cache_info().currsize else await asyncio.to_thread(_app)
    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": PATH,
        "query_string": b"",
        "headers": [(name.encode("latin-1"), value.encode("latin-1")) for name, value in request.headers.items()],
        _WHO: (clew, identity),
    }
    sent: list[Message] = []
    try:
        async with asyncio.timeout(DEADLINE_S):
            await app(scope, _receiving(body, connection), _noting(sent))
    except TimeoutError:
        raise Unavailable("the call took too long", code="MCP_TIMEOUT", next="try again, or ask for less") from None
    return _response(sent)


def _refused(body: bytes) -> Response | None:
    try:
        message = msgspec.json.decode(body, type=_Message)
    except msgspec.ValidationError:
        return _error(400, None, _INVALID_REQUEST, "the body must be one JSON-RPC request or notification")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _error(400, None, _PARSE_ERROR, "the body is not JSON")
    if message.method.startswith(_STREAMS):
        id = None if message.id is msgspec.UNSET else message.id
        return _error(404, id, _METHOD_NOT_FOUND, "this server keeps no streams: ask again instead")
    return None


def _error(status: int, id: str | int | None, code: int, message: str) -> Response:
    document = {"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}}
    return Response(status, msgspec.json.encode(document), JSON)


@cache
def _app() -> Callable[[Any, AsgiReceive, AsgiSend], Awaitable[None]]:
    from clew.surfaces.mcp.http import mount_mcp  # takes its time, and few servers are asked

    return mount_mcp(lambda scope: scope[_WHO])


def _receiving(body: bytes, connection: AsgiReceive) -> AsgiReceive:
    """The body once; then it waits for the client to leave. Who asks in a loop must not keep the loop busy."""
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Message:
        if waiting:
            return waiting.pop()
        while (message := await connection())["type"] != "http.disconnect":
            await asyncio.sleep(0)
        return message

    return receive


def _noting(sent: list[Message]) -> AsgiSend:
    async def send(message: Message) -> None:
        sent.append(message)

    return send


def _response(sent: list[Message]) -> Response:
    begin, *rest = sent
    headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in begin["headers"]}
    kept = {name: value for name, value in headers.items() if name not in ("content-type", "content-length")}
    body = b"".join(message.get("body", b"") for message in rest)
    return Response(begin["status"], body, headers.get("content-type", ""), kept)


def _never(_call: Call) -> Any:
    raise Misconfigured("MCP is answered on the event loop", code="INTERNAL")


ROUTES: tuple[Route, ...] = (
    (
        Route(
            "POST",
            PATH,
            "mcp",
            "The tools for agents: one JSON-RPC message of the Model Context Protocol.",
            _never,
            answer=dict[str, Any],
            body=bytes,
            also=(202, 404, 406),
            on_loop=answer,
        ),
    )
    if find_spec("mcp")
    else ()
)

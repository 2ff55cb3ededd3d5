"""The tools for agents over MCP, behind the same checks as every other route. Only where the extra is installed."""

from __future__ import annotations

import asyncio
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from clew.errors import Misconfigured
from clew.model.scope import Identity
from clew.surfaces.http.request import Request
from clew.surfaces.http.response import AsgiReceive, AsgiSend, Message, Response
from clew.surfaces.http.route import Call, Route

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from clew import Clew

PATH = "/mcp"
_WHO = "clew.who"


async def answer(clew: Clew, identity: Identity, request: Request, body: bytes) -> Response:
    """One message in, one message out: nothing outlives the request."""
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
    await app(scope, _receiving(body), _noting(sent))
    return _response(sent)


@cache
def _app() -> Callable[[Any, AsgiReceive, AsgiSend], Awaitable[None]]:
    from clew.surfaces.mcp.http import mount_mcp  # takes its time, and few servers are asked

    return mount_mcp(lambda scope: scope[_WHO])


def _receiving(body: bytes) -> AsgiReceive:
    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

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

"""MCP over HTTP: an ASGI application for POST /mcp behind the server's own checks of host, origin and credential.

Every request gets a transport of its own, which ends with it: no session, no stream that is kept, so that no answer
can reach another client. The older era works the same way: `initialize` is answered, and nothing is kept of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.types import ASGIApp, Receive, Scope, Send

from clew.surfaces.http.problems import places_of, without_places
from clew.surfaces.mcp.caller import Caller
from clew.surfaces.mcp.client import client_name
from clew.surfaces.mcp.server import Context, make_server

if TYPE_CHECKING:
    from clew import Clew, Identity

PATH = "/mcp"
_WHO = "clew.caller"


def mount_mcp(clew_for: Callable[[Scope], tuple[Clew, Identity]]) -> ASGIApp:
    """`clew_for` tells by the ASGI scope of a request who asks; it is called once for each and must not block."""
    server = make_server(_caller_of, shown=lambda error, clew: without_places(error, places_of(clew)))

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        scope = {**scope, _WHO: clew_for(scope)}
        most = scope[_WHO][0].settings.serve.max_body_kb << 10
        manager = StreamableHTTPSessionManager(
            server, json_response=True, stateless=True, max_request_body_size=most
        )
        async with manager.run():
            await manager.handle_request(scope, receive, send)

    return app


def _caller_of(context: Context) -> Caller:
    request: Any = context.request
    clew, identity = request.scope[_WHO]
    return Caller(clew, identity, client_name(context), answer_tokens=clew.settings.serve.answer_tokens)

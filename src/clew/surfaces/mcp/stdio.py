"""`clew mcp`: one client, on stdin and stdout. Nothing but the protocol is written to stdout; EOF ends it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
from mcp.server.stdio import stdio_server

from clew.surfaces.mcp.caller import Caller
from clew.surfaces.mcp.client import client_name
from clew.surfaces.mcp.held import Held
from clew.surfaces.mcp.server import Context, make_server

if TYPE_CHECKING:
    from clew import Identity


def serve_stdio(held: Held, identity: Identity, *, project: str | None, answer_tokens: int) -> None:
    def caller_of(context: Context) -> Caller:
        return Caller(held.clew, identity, client_name(context), project, answer_tokens)

    server = make_server(caller_of, project=project, reopened=held.reopened)

    async def serve() -> None:
        async with stdio_server() as (reads, writes):
            await server.run(reads, writes, server.create_initialization_options())

    anyio.run(serve)

"""`clew mcp`: one client, on stdin and stdout. Nothing but the protocol is written to stdout; EOF ends it.

Lines are read here, not by the library: it drops what is no message, and the client would wait for an answer.
"""

from __future__ import annotations

import io
import json
import os
from typing import TYPE_CHECKING, Any, BinaryIO

import anyio
import mcp_types as types
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage

from clew.surfaces.mcp.caller import Caller
from clew.surfaces.mcp.client import client_name
from clew.surfaces.mcp.held import Held
from clew.surfaces.mcp.server import Context, make_server

if TYPE_CHECKING:
    from anyio.streams.memory import MemoryObjectSendStream
    from mcp.shared._stream_protocols import WriteStream

    from clew import Identity


def serve_stdio(held: Held, identity: Identity, *, project: str | None, answer_tokens: int) -> None:
    def caller_of(context: Context) -> Caller:
        return Caller(held.clew, identity, client_name(context), project, answer_tokens)

    server = make_server(caller_of, project=project, reopened=held.reopened)

    async def serve() -> None:
        lines, nothing = anyio.wrap_file(_own_stdin()), anyio.wrap_file(io.StringIO())
        sends, reads = anyio.create_memory_object_stream[SessionMessage | Exception]()
        async with stdio_server(stdin=nothing) as (_reads, writes), anyio.create_task_group() as tasks:
            tasks.start_soon(_read, lines, sends, writes)
            await server.run(reads, writes, server.create_initialization_options())

    anyio.run(serve)


def _own_stdin() -> BinaryIO:
    """For the protocol alone: whoever else reads, such as a child, finds the end."""
    own, nothing = os.dup(0), os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return os.fdopen(own, "rb")


async def _read(
    lines: anyio.AsyncFile[bytes],
    sends: MemoryObjectSendStream[SessionMessage | Exception],
    writes: WriteStream[SessionMessage],
) -> None:
    async with sends:
        async for line in lines:
            if line.isspace():
                continue
            try:
                message = _message_of(line)
            except _Refused as refused:
                await writes.send(SessionMessage(refused.answer))
            else:
                await sends.send(SessionMessage(message))


class _Refused(Exception):
    """A line that is no message, with what is answered."""

    def __init__(self, id: Any, code: int, message: str) -> None:
        error = types.ErrorData(code=code, message=message)
        self.answer = types.JSONRPCError(jsonrpc="2.0", id=id if _is_id(id) else None, error=error)


def _message_of(line: bytes) -> types.JSONRPCMessage:
    """Half of a surrogate pair, as of an emoji that was cut, is replaced."""
    try:
        document = json.loads(line.decode("utf-8", "replace").removeprefix("\ufeff"))
    except (ValueError, RecursionError):
        raise _Refused(None, types.PARSE_ERROR, "the line is not JSON") from None
    id = document.get("id") if isinstance(document, dict) else None
    text = json.dumps(document, ensure_ascii=False).encode("utf-8", "replace")
    try:
        if id is None or _is_id(id):  # else the library takes a request for a notification
            return types.jsonrpc_message_adapter.validate_json(text, by_name=False)
    except ValueError:
        pass
    raise _Refused(id, types.INVALID_REQUEST, "the line must be one JSON-RPC message")


def _is_id(id: Any) -> bool:
    return type(id) in (str, int)

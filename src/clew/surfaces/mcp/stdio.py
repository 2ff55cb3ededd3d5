"""`clew mcp`: one client, on stdin and stdout. Nothing but the protocol is written to stdout; EOF ends it, once
what was asked before is answered.

Lines are read here, not by the library: it drops what is no message, and the client would wait for an answer.
"""

from __future__ import annotations

import asyncio
import io
import json
import os
import threading
from collections.abc import AsyncIterator
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from queue import SimpleQueue
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
    from types import TracebackType

    from anyio.streams.memory import MemoryObjectSendStream
    from mcp.shared._stream_protocols import WriteStream

    from clew import Identity

LAST_ANSWERS_S = 10.0  # after the end of stdin; work under way is finished in any case


def serve_stdio(held: Held, identity: Identity, *, project: str | None, answer_tokens: int) -> None:
    def caller_of(context: Context) -> Caller:
        return Caller(held.clew, identity, client_name(context), project, answer_tokens)

    server = make_server(caller_of, project=project, reopened=held.reopened)

    async def serve() -> None:
        lines, nothing = _lines_of(_own_stdin()), anyio.wrap_file(io.StringIO())
        sends, reads = anyio.create_memory_object_stream[SessionMessage | Exception]()
        async with stdio_server(stdin=nothing) as (_reads, writes), anyio.create_task_group() as tasks:
            answers = Answers(writes)
            tasks.start_soon(_read, lines, sends, answers)
            await server.run(reads, answers, server.create_initialization_options())

    async def serve_until_interrupted() -> None:
        try:
            await serve()
        except ExceptionGroup:
            task = asyncio.current_task()
            if task is None or not task.cancelling():
                raise
            raise asyncio.CancelledError from None  # the library stumbles over what it has closed: no news

    try:
        anyio.run(serve_until_interrupted)
    except ExceptionGroup as group:  # what went wrong, such as a client that is gone, is told like anywhere else
        raise _first(group) from None


def _first(error: Exception) -> Exception:
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    return error


def _own_stdin() -> BinaryIO:
    """For the protocol alone: whoever else reads, such as a child, finds the end."""
    own, nothing = os.dup(0), os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return os.fdopen(own, "rb")


async def _lines_of(stdin: BinaryIO) -> AsyncIterator[bytes]:
    """Read on a thread that nobody waits for: an interrupt must not wait until a silent client says something. Each
    line is asked for, so that nothing of it is left in the event loop when that ends."""
    asked = SimpleQueue[Future[bytes]]()

    def read() -> None:
        with suppress(InvalidStateError):  # nobody waits for this one any more
            while True:
                line = asked.get()
                try:
                    line.set_result(stdin.readline())
                except OSError:  # a terminal that is gone is an end, too
                    line.set_result(b"")

    threading.Thread(target=read, name="clew-mcp-stdin", daemon=True).start()
    while True:
        asked.put(line := Future[bytes]())
        if not (text := await asyncio.wrap_future(line)):
            return
        yield text


class Answers:
    """Where answers go. Knows which requests have none yet."""

    def __init__(self, writes: WriteStream[SessionMessage]) -> None:
        self._writes = writes
        self._waiting: set[str] = set()
        self._settled = anyio.Event()

    def expect(self, message: types.JSONRPCMessage) -> None:
        """One for a request; what is taken back is never answered."""
        if isinstance(message, types.JSONRPCRequest):
            self._waiting.add(str(message.id))
        elif isinstance(message, types.JSONRPCNotification) and message.method == "notifications/cancelled":
            self._settle((message.params or {}).get("requestId"))

    async def send(self, item: SessionMessage, /) -> None:
        await self._writes.send(item)
        if isinstance(item.message, types.JSONRPCResponse | types.JSONRPCError):
            self._settle(item.message.id)

    async def given(self) -> None:
        """Until every request has its answer."""
        while self._waiting:
            self._settled = anyio.Event()
            await self._settled.wait()

    def _settle(self, id: Any) -> None:
        self._waiting.discard(str(id))
        self._settled.set()

    async def aclose(self) -> None:
        await self._writes.aclose()

    async def __aenter__(self) -> Answers:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


async def _read(
    lines: AsyncIterator[bytes],
    sends: MemoryObjectSendStream[SessionMessage | Exception],
    answers: Answers,
) -> None:
    async with sends:
        async for line in lines:
            if line.isspace():
                continue
            try:
                message = _message_of(line)
            except _Refused as refused:
                await answers.send(SessionMessage(refused.answer))
            else:
                answers.expect(message)
                await sends.send(SessionMessage(message))
        with anyio.move_on_after(LAST_ANSWERS_S):  # the library drops what is under way when the stream ends
            await answers.given()


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
    is_request = isinstance(document, dict) and {"id", "method"} <= document.keys()
    text = json.dumps(document, ensure_ascii=False).encode("utf-8", "replace")
    try:
        if _is_id(id) or (id is None and not is_request):  # else the library takes a request for a notification
            return types.jsonrpc_message_adapter.validate_json(text, by_name=False)
    except ValueError:
        pass
    raise _Refused(id, types.INVALID_REQUEST, "the line must be one JSON-RPC message")


def _is_id(id: Any) -> bool:
    return type(id) in (str, int)

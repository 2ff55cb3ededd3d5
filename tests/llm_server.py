"""A language model's endpoint on this machine that answers by script: well, slowly, wrongly, not at all.

It speaks the interfaces of OpenAI (chat completions) and Anthropic (messages) and keeps what it was sent.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Lock, Thread
from typing import Any

PAIR, RELATIONS = "memory_pair", "memory_relations"  # names of the schemas
NAN = float("nan")


@dataclass(frozen=True)
class Request:
    path: str
    headers: dict[str, str]
    body: dict[str, Any]

    @property
    def is_anthropic(self) -> bool:
        return self.path.endswith("/messages")

    @property
    def schema_name(self) -> str:
        tools = self.body.get("tools") or [self.body.get("response_format", {}).get("json_schema", {})]
        return str(tools[0].get("name"))

    @property
    def schema(self) -> dict[str, Any]:
        if self.is_anthropic:
            return dict(self.body["tools"][0]["input_schema"])
        return dict(self.body["response_format"]["json_schema"]["schema"])

    @property
    def system(self) -> str:
        return str(self.body["system"] if self.is_anthropic else self.body["messages"][0]["content"])

    @property
    def user(self) -> str:
        return str(self.body["messages"][-1]["content"])


@dataclass(frozen=True)
class Reply:
    """`drop_after`: the connection breaks after so many bytes of the body. `after`: not before this happened."""

    body: bytes
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    drop_after: int | None = None
    after: Event | None = None


Answer = Callable[[Request], Reply]


# -- answers -------------------------------------------------------------------------------------------


def judged(relationship: str, confidence: Any = 0.9, evidence: str = "", explanation: str = "so it is") -> Answer:
    return says(
        {"relationship": relationship, "confidence": confidence, "evidence": evidence, "explanation": explanation}
    )


def edge(type: str, index: Any = 1, **changes: Any) -> dict[str, Any]:
    given = {"type": type, "target_memory_index": index, "condition_key": None, "direction": "from_new"}
    return given | {"confidence": 0.9, "evidence": "", "explanation": "so it is"} | changes


def related(*edges: Any) -> Answer:
    return says({"edges": list(edges)})


def says(data: Any, *, parts: int = 0, tokens: tuple[Any, Any] = (100, 20), ended: str = "") -> Answer:
    """`parts`: as a list of so many texts instead of one."""

    def answer(request: Request) -> Reply:
        make = _anthropic if request.is_anthropic else _openai
        return Reply(json.dumps(make(request, data, parts, tokens, ended)).encode())

    return answer


def _openai(request: Request, data: Any, parts: int, tokens: tuple[Any, Any], ended: str) -> dict[str, Any]:
    text = data if isinstance(data, str) else json.dumps(data)
    content: Any = text
    if parts:
        content = [{"type": "text", "text": piece} for piece in text.split(" ", parts - 1)]
    message = {"role": "assistant", "content": content}
    if ended == "refusal":
        message |= {"content": None, "refusal": "I would rather not"}
    choice = {"index": 0, "message": message, "finish_reason": ended or "stop"}
    usage = {"prompt_tokens": tokens[0], "completion_tokens": tokens[1]}
    return {"id": "c1", "object": "chat.completion", "model": "toy", "choices": [choice], "usage": usage}


def _anthropic(request: Request, data: Any, parts: int, tokens: tuple[Any, Any], ended: str) -> dict[str, Any]:
    used = {"type": "tool_use", "id": "t1", "name": request.schema_name, "input": data}
    content = [{"type": "text", "text": "Let me see."}, used] if not isinstance(data, str) else [_text(data)]
    usage = {"input_tokens": tokens[0], "output_tokens": tokens[1]}
    about = {"id": "m1", "type": "message", "role": "assistant", "model": "toy"}
    return about | {"content": content, "stop_reason": ended or "tool_use", "usage": usage}


def _text(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}


def fails(status: int, *, retry_after: str | None = None) -> Answer:
    """With words that no log or error may repeat."""
    headers = {"Retry-After": retry_after} if retry_after else {}
    return lambda request: Reply(b'{"error": {"message": "the server SAID this"}}', status, headers)


def garbage(body: bytes = b"<html>SAID</html>") -> Answer:
    return lambda _request: Reply(body)


def drops(answer: Answer) -> Answer:
    """The connection ends in the middle of the answer."""

    def cut(request: Request) -> Reply:
        body = answer(request).body
        return Reply(body, drop_after=len(body) // 2)

    return cut


def waits_for(event: Event, answer: Answer) -> Answer:
    return lambda request: Reply(answer(request).body, after=event)


def redirects(url: str) -> Answer:
    return lambda _request: Reply(b"", 307, {"Location": url})


# -- the server ----------------------------------------------------------------------------------------


class LlmServer:
    """Use as a context manager. `script` is worked off first, one answer a request; then the schema decides."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.script: list[Answer] = []
        self.answers: dict[str, Answer] = {PAIR: judged("unrelated"), RELATIONS: related()}
        self._lock = Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self._thread = Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def asked(self, schema_name: str) -> list[Request]:
        return [request for request in self.requests if request.schema_name == schema_name]

    def reply_to(self, request: Request) -> Reply:
        with self._lock:
            self.requests.append(request)
            answer = self.script.pop(0) if self.script else self.answers[request.schema_name]
        return answer(request)

    def __enter__(self) -> LlmServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def _handler(server: LlmServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            headers = {name.lower(): value for name, value in self.headers.items()}
            reply = server.reply_to(Request(self.path, headers, body))
            if reply.after is not None:
                reply.after.wait(timeout=30)
            try:
                self._give(reply)
            except OSError:  # the client had enough
                self.close_connection = True

        def _give(self, reply: Reply) -> None:
            self.send_response(reply.status)
            for name, value in {"Content-Type": "application/json", **reply.headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(reply.body)))
            self.end_headers()
            self.wfile.write(reply.body[: reply.drop_after])
            if reply.drop_after is not None:
                self.wfile.flush()
                self.connection.shutdown(socket.SHUT_RDWR)
                self.close_connection = True

        def log_message(self, *_: object) -> None:
            pass

    return Handler

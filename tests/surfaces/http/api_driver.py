"""Asks the application itself, as it would be asked over a socket, over loopback or from the network."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from clew.clew import Clew
from clew.surfaces.http.app import App, make_app
from clew.surfaces.http.auth import Authenticator
from clew.surfaces.http.gate import Gate
from clew.surfaces.http.request import LOOPBACK, NETWORK, SOCKET
from clew.surfaces.http.route import Route
from clew.surfaces.http.routes import all_routes

TOKEN = "clew_local_" + "x" * 43
UID = 1000


def until(claim: Callable[[], bool], seconds: float = 10.0) -> bool:
    end = time.monotonic() + seconds
    while not claim():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


@dataclass(frozen=True)
class Got:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> str:
        return str(self.json["code"])


class Asked:
    """`asked.get("/v1/stats", via=LOOPBACK, token=TOKEN)`. Without more: its owner, over the socket."""

    def __init__(
        self,
        clew: Clew,
        routes: Sequence[Route] | None = None,
        *,
        threads: int = 2,
        pool: Executor | None = None,
    ) -> None:
        self.clew = clew
        self._pool = pool or ThreadPoolExecutor(threads)
        authenticate = Authenticator(clew, local_token=TOKEN, owner_uid=UID)
        gate = Gate(hosts=frozenset(("memory.example",)))
        self.app: App = make_app(
            clew, all_routes() if routes is None else routes, authenticate, self._pool, gate=gate
        )

    def close(self) -> None:
        self._pool.shutdown()

    def get(self, path: str, **given: Any) -> Got:
        return self("GET", path, **given)

    def post(self, path: str, body: Any = None, **given: Any) -> Got:
        return self("POST", path, body, **given)

    def __call__(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        via: str = SOCKET,
        uid: int = UID,
        client: str = "127.0.0.1",
        token: str | None = None,
        pieces: Iterable[bytes] | None = None,
        again: Iterable[tuple[str, str]] = (),
        **headers: str,
    ) -> Got:
        content = [json.dumps(body).encode()] if body is not None else list(pieces or ())
        told = _headers(via, token, headers, length=len(content[0]) if body is not None else None)
        if pieces is not None and "content-type" not in dict(told):
            told.append(("content-type", "application/json"))
        scope = _scope(method, path, [*told, *again]) | {
            "client": (client, 1),
            "state": {"via": via, "peer_uid": uid},
        }
        return asyncio.run(_ask(self.app, scope, content))

    async def request(self, method: str, path: str, body: Any, *, via: str, token: str) -> Got:
        """One of several at the same time."""
        content = json.dumps(body).encode()
        scope = _scope(method, path, _headers(via, token, {}, length=len(content)))
        return await _ask(self.app, scope | {"client": ("127.0.0.1", 1), "state": {"via": via}}, [content])


def _headers(via: str, token: str | None, given: Mapping[str, str], *, length: int | None) -> list[tuple[str, str]]:
    host = {LOOPBACK: "127.0.0.1:7433", NETWORK: "memory.example"}.get(via, "localhost")
    told = {"host": host} | ({"authorization": f"Bearer {token}"} if token is not None else {})
    if length is not None:
        told |= {"content-type": "application/json", "content-length": str(length)}
    told |= {name.replace("_", "-"): value for name, value in given.items()}
    return list(told.items())


def _scope(method: str, path: str, headers: Iterable[tuple[str, str]]) -> dict[str, Any]:
    raw, _, query = path.partition("?")
    return {
        "type": "http",
        "method": method,
        "path": raw,
        "raw_path": raw.encode(),
        "query_string": query.encode(),
        "headers": [(name.encode(), value.encode()) for name, value in headers],
    }


async def _ask(app: App, scope: dict[str, Any], content: Sequence[bytes]) -> Got:
    waiting = [{"type": "http.request", "body": piece, "more_body": True} for piece in content]
    waiting.append({"type": "http.request", "body": b"", "more_body": False})
    sent: list[Any] = []

    async def receive() -> Any:
        return waiting.pop(0) if waiting else {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    await app(scope, receive, send)
    headers = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return Got(sent[0]["status"], headers, b"".join(message["body"] for message in sent[1:]))

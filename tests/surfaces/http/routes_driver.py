"""Asks the API in this process, without a socket, and holds every answer against what its route says it answers."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from functools import cache
from types import UnionType
from typing import Any, get_args, get_origin
from urllib.parse import quote, urlencode

import msgspec
from jsonschema import Draft202012Validator

from clew.clew import Clew
from clew.model.scope import Identity
from clew.surfaces.http.app import App, make_app
from clew.surfaces.http.problems import MEDIA_TYPE, Problem, Refusal
from clew.surfaces.http.request import Request
from clew.surfaces.http.route import JSON, Route
from clew.surfaces.http.routes import all_routes

LOCAL = Identity()
USUAL = {400, 401, 403, 405, 413, 415, 429, 503}  # any route may answer these


@dataclass(frozen=True)
class Got:
    """One answer. `json` is None where it is not JSON."""

    status: int
    json: Any
    body: bytes
    headers: Mapping[str, str]
    route: Route | None

    @property
    def code(self) -> str:
        """Of an error."""
        told = self.json.get("error") or self.json
        return str(told["code"])


class Inline(Executor):
    """Does the work at once: a test waits for it anyway."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except BaseException as error:
            future.set_exception(error)
        return future


class Api:
    """`api("GET", "/v1/sessions", who=..., limit=3)`. Query parameters are keyword arguments."""

    def __init__(self, clew: Clew, routes: Sequence[Route] | None = None) -> None:
        self.clew = clew
        self._who: Identity | None = Identity()
        self.app: App = make_app(clew, routes or all_routes(), self._authenticate, Inline())

    def _authenticate(self, request: Request) -> Identity:
        if self._who is None:
            raise Refusal(401, "no credential", code="UNAUTHENTICATED", next="send one")
        return self._who

    def __call__(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        who: Identity | None = LOCAL,
        content: tuple[str, bytes] | None = None,
        headers: Mapping[str, str] | None = None,
        **query: Any,
    ) -> Got:
        self._who = who
        kind, data = content or ((JSON, json.dumps(body).encode()) if body is not None else ("", b""))
        given = {"host": "localhost", **({"content-type": kind} if kind else {}), **(headers or {})}
        status, answered, sent = asyncio.run(self._asked(scope_of(method, path, query, given), data))
        route = route_of(method, path)
        document = json.loads(sent) if answered.get("content-type") in (JSON, MEDIA_TYPE) else None
        got = Got(status, document, sent, answered, route)
        check_answer(got)
        return got

    async def _asked(self, scope: dict[str, Any], data: bytes) -> tuple[int, dict[str, str], bytes]:
        waiting, sent = [{"type": "http.request", "body": data, "more_body": False}], []

        async def receive() -> Any:
            return waiting.pop() if waiting else await asyncio.Event().wait()

        async def send(message: Any) -> None:
            sent.append(message)

        await self.app(scope, receive, send)
        headers = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
        return sent[0]["status"], headers, b"".join(one.get("body", b"") for one in sent[1:])


def scope_of(method: str, path: str, query: Mapping[str, Any], headers: Mapping[str, str]) -> dict[str, Any]:
    spelled = {name.rstrip("_"): _spelled(value) for name, value in query.items() if value is not None}
    return {
        "type": "http",
        "method": method,
        "path": path,
        "raw_path": quote(path, safe="/%:").encode(),
        "query_string": urlencode(spelled, doseq=True).encode(),
        "headers": [(name.lower().encode(), value.encode()) for name, value in headers.items()],
        "client": ("127.0.0.1", 1),
    }


def _spelled(value: Any) -> Any:
    return str(value).lower() if isinstance(value, bool) else value


@cache
def _patterns() -> list[tuple[Route, re.Pattern[str]]]:
    """Fixed paths before those with a free part."""
    routes = sorted(all_routes(), key=lambda route: route.path.count("{"))
    return [(route, re.compile(re.sub(r"\{\w+\}", "[^/]+", route.path))) for route in routes]


def route_of(method: str, path: str) -> Route | None:
    return next((route for route, like in _patterns() if route.method == method and like.fullmatch(path)), None)


@cache
def validator(answer: Any) -> Draft202012Validator:
    several = get_args(answer) if get_origin(answer) is UnionType else (answer,)
    found, parts = msgspec.json.schema_components(several, ref_template="#/$defs/{name}")
    return Draft202012Validator({"anyOf": list(found), "$defs": parts})


def check_answer(got: Got) -> None:
    """The status is one that the route names, and the document is what it says for that status, to the field."""
    route = got.route
    if route is None:
        return
    assert got.status in {route.status, *route.also, *USUAL}, (route.name, got.status, got.json)
    if got.status < 400 and route.produces == JSON:
        validator(route.answer).validate(got.json)
    elif got.status >= 400:
        validator(route.envelope.failure if route.envelope else Problem).validate(got.json)

"""The API as an ASGI application: a list of routes, each called in a worker thread as whoever asks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route as StarletteRoute

from clew.errors import ClewError, InvalidInput
from clew.model.scope import Identity
from clew.surfaces.http.problems import problem_of
from clew.surfaces.http.route import Answer, Call, Route

if TYPE_CHECKING:
    from clew import Clew

Authenticate = Callable[[Request], Identity]


def make_app(clew: Clew, routes: Sequence[Route], authenticate: Authenticate, pool: Executor) -> Starlette:
    endpoint = partial(_endpoint, clew=clew, authenticate=authenticate, pool=pool)
    return Starlette(routes=[StarletteRoute(one.path, endpoint(one), methods=[one.method]) for one in routes])


def _endpoint(route: Route, *, clew: Clew, authenticate: Authenticate, pool: Executor) -> Any:
    async def endpoint(request: Request) -> Response:
        try:
            identity, body = authenticate(request), await request.body()
            work = partial(_answer, route, clew, identity, request, body)
            return await asyncio.get_running_loop().run_in_executor(pool, work)
        except ClewError as error:
            return problem_of(error)

    return endpoint


def _answer(route: Route, clew: Clew, identity: Identity, request: Request, body: bytes) -> Response:
    if route.for_operators:
        identity.check_operator()
    call = Call(clew, identity, request.path_params, _query(route, request.query_params), _body(route, body))
    answer = route.run(call)
    if not isinstance(answer, Answer):
        answer = Answer(answer)
    content = msgspec.json.encode(answer.value, enc_hook=_plain)
    headers = dict(answer.headers)
    return Response(content, answer.status or route.status, headers, media_type="application/json")


def _plain(value: Any) -> Any:
    return value.as_json()


def _query(route: Route, given: Mapping[str, str]) -> Any:
    try:
        return msgspec.convert(dict(given), route.query, strict=False)
    except msgspec.ValidationError as error:
        raise _invalid(f"a query parameter is wrong: {error}") from None


def _body(route: Route, body: bytes) -> Any:
    if route.body is None:
        return None
    try:
        return msgspec.json.decode(body, type=route.body)
    except msgspec.DecodeError as error:
        raise _invalid(f"the body is wrong: {error}") from None


def _invalid(message: str) -> InvalidInput:
    return InvalidInput(message, code="REQUEST_INVALID", next="see /openapi.json for what the route takes")

"""The API as an ASGI application: a list of routes, each called in a worker thread as whoever asks.

A request in, an answer out. The gate refuses what no program of ours sends; the route is found; whoever asks shows
a credential and is counted; the body is read up to its limit; then one hop to a worker thread does the rest: types,
the verb, JSON. What goes wrong becomes a problem document; what was not foreseen, one without any text.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from clew.errors import ClewError, Denied
from clew.model.scope import Identity
from clew.surfaces.http import bodies, sending
from clew.surfaces.http.acting import acting
from clew.surfaces.http.auth import needs_the_store
from clew.surfaces.http.gate import Gate, check_content
from clew.surfaces.http.idempotency import HEADER, once, request_hash
from clew.surfaces.http.limits import Rates
from clew.surfaces.http.problems import Refusal, folders_of, problem_of, status_of, unexpected, without_paths
from clew.surfaces.http.request import PROCESS, SOCKET, Request
from clew.surfaces.http.response import AsgiReceive, AsgiSend, Response
from clew.surfaces.http.route import JSON, Answer, Call, Credential, Envelope, Route, Stream, Written
from clew.surfaces.http.router import Router
from clew.surfaces.http.standing import Standing
from clew.surfaces.http.streams import Streams
from clew.surfaces.http.understand import body_of, query_of, version_expected
from clew.surfaces.http.workers import Workers, in_thread
from clew.verbs.serving import Serving

if TYPE_CHECKING:
    from clew import Clew

Authenticate = Callable[[Request], Identity | Credential]
access = logging.getLogger("clew.access")

T = TypeVar("T")
Sent = Response | tuple[Response, Stream | Written]
UNKNOWN = "unknown"
FROM_AFAR = 64 << 20  # bytes of a body at most, of whoever asks with a key
URGENT = 2  # threads for what is answered also while the others are stuck


def make_app(
    clew: Clew,
    routes: Sequence[Route],
    authenticate: Authenticate,
    pool: Executor,
    *,
    gate: Gate | None = None,
    standing: Standing | None = None,
) -> App:
    return App(clew, Router(routes), authenticate, pool, gate=gate or Gate(), standing=standing or Standing(clew))


class App:
    """Whoever stops the server calls `streams.close()` before it waits for connections."""

    def __init__(
        self,
        clew: Clew,
        router: Router,
        authenticate: Authenticate,
        pool: Executor,
        *,
        gate: Gate,
        standing: Standing,
    ) -> None:
        self._clew = clew
        self._router = router
        self._authenticate = authenticate
        self._pool = pool
        self._urgent = Workers(URGENT, name="clew-urgent")
        self._gate = gate
        self._serving = Serving(clew)
        serve = clew.settings.serve
        self._folders = folders_of(clew)
        self._rates = Rates(serve.rate_per_s, serve.burst)
        self._max_bytes = serve.max_body_kb << 10
        self.standing = standing
        self.tally = standing.tally
        self.streams = Streams()
        self.exports = sending.Exports()
        standing.open_streams = lambda: self.streams.count

    async def __call__(self, scope: Mapping[str, Any], receive: AsgiReceive, send: AsgiSend) -> None:
        if scope["type"] != "http":
            await _no_other_protocol(scope, receive, send)
            return
        began, state = perf_counter(), _State()
        response = await self._respond(scope, receive, state)
        status = await self._send(response, receive, send, state)
        took_s = perf_counter() - began
        self.tally.request(state.name, status, took_s)
        if access.isEnabledFor(logging.INFO):
            access.info("%s %d %.1f ms", state.name, status, 1e3 * took_s)

    async def _respond(self, scope: Mapping[str, Any], receive: AsgiReceive, state: _State) -> Sent:
        try:
            request = Request(scope)
            state.when_gone = (scope.get("state") or {}).get("when_gone")
            state.envelope = self._router.envelope_at(request)
            self._gate.check(request)
            state.route, values = self._router.find(request)
            return await self._call(state, request, values, receive)
        except Exception as error:  # the request boundary: whatever happened becomes an answer
            return self._failed(error, state)

    async def _call(self, state: _State, request: Request, values: Mapping[str, str], receive: AsgiReceive) -> Sent:
        route = state.the_route
        credential = state.credential = await self._credential(route, request)
        _check_rights(route, credential)
        max_bytes = self._most(route, credential)
        check_content(route, request, max_bytes)
        if route.to_file:
            run = partial(self._run, route)
            async with bodies.received(self._clew.home, request, receive, max_bytes=max_bytes, run=run) as file:
                return await self._run(route, lambda: self._answer(state, credential, request, values, b"", file))
        body = await bodies.read(receive, max_bytes) if route.has_body else b""
        if route.on_loop is not None:
            answered: Response = await route.on_loop(self._clew, credential.identity, request, body, receive)
            return answered
        return await self._run(route, lambda: self._answer(state, credential, request, values, body, None))

    def _most(self, route: Route, credential: Credential) -> int:
        most = self._max_bytes if route.max_body_kb is None else route.max_body_kb << 10
        return most if credential.is_local else min(most, FROM_AFAR)

    async def _credential(self, route: Route, request: Request) -> Credential:
        if route.is_open:
            return Credential(Identity(org="local", roles=()))
        if needs_the_store(request):
            found = await self._run(route, lambda: self._authenticate(request))
        else:
            found = self._authenticate(request)
        if isinstance(found, Identity):
            found = Credential(found, is_local=request.via == PROCESS)
        if request.via != SOCKET or not found.is_local:  # whoever has the socket has the machine
            self._rates.take(found.key)
        return acting(found, request)

    async def _run(self, route: Route, work: Callable[[], T]) -> T:
        pool = self._urgent if route.is_urgent else self._pool
        return await in_thread(pool, work)

    # -- in a worker thread ------------------------------------------------------------------------------

    def _answer(
        self,
        state: _State,
        credential: Credential,
        request: Request,
        values: Mapping[str, str],
        body: bytes,
        file: Path | None,
    ) -> Sent:
        route = state.the_route
        state.if_match = version_expected(route, request)
        call = Call(
            self._clew,
            credential.identity,
            values,
            query_of(route, request),
            body_of(route, body),
            state.if_match,
            request.headers.get("last-event-id"),
            self.streams,
            request.headers,
            credential.is_local,
            file,
            self.standing,
            partial(self._is_welcome, request, credential),
            credential.key,
        )
        if first := self.standing.before.get(route.name):
            first()
        key = request.headers.get(HEADER)
        if key is None or not route.is_idempotent:
            answer = route.run(call)
            state.gone = answer.gone if isinstance(answer, Answer) else None
            return self._rendered(route, answer)
        asked = request_hash(request.method, request.path, request.query_string, body)
        named = self._serving.key_of(call.identity, key, credential=credential.key)
        return once(self._serving, named, asked, lambda: self._whole(route, call))

    def _is_welcome(self, request: Request, credential: Credential) -> bool:
        """Whether the key that was shown is still valid; what shows none cannot be revoked."""
        if credential.is_local or request.token is None:
            return True
        return self._clew.keys.authenticate(request.token) is not None

    def _whole(self, route: Route, call: Call) -> Response:
        response = self._rendered(route, route.run(call))
        if not isinstance(response, Response):
            raise TypeError(f"{route.name} cannot be kept")
        return response

    def _rendered(self, route: Route, answer: Any) -> Sent:
        if not isinstance(answer, Answer):
            answer = Answer(answer)
        value = answer.value
        response = Response(answer.status or route.status, b"", route.produces, answer.headers)
        if isinstance(value, Stream | Written):
            return response, value
        if route.produces == JSON:
            if route.envelope:
                value = route.envelope.success(value, at=self._clew.now())
            response.body = msgspec.json.encode(value, enc_hook=_plain)
        else:
            response.body = value.encode() if isinstance(value, str) else value
        return response

    # -- the end -----------------------------------------------------------------------------------------

    def _failed(self, error: BaseException, state: _State) -> Response:
        if not isinstance(error, ClewError):
            return unexpected(error, state.name)
        if isinstance(error, Denied) or (isinstance(error, Refusal) and error.status in (401, 403)):
            self.tally.refused(error.code)
        if not (state.credential and state.credential.is_local):
            error = without_paths(error, self._folders)
        envelope = state.route.envelope if state.route else state.envelope
        if envelope is None:
            return problem_of(error, expects_version=state.if_match is not None)
        status = status_of(error)
        document = envelope.error(error, status, at=self._clew.now())
        return Response(status, msgspec.json.encode(document), JSON, problem_of(error).headers)

    async def _send(self, response: Sent, receive: AsgiReceive, send: AsgiSend, state: _State) -> int:
        if isinstance(response, Response):
            if state.gone is not None and state.when_gone is not None:
                state.when_gone(state.gone)
            await response.send(send)
            return response.status
        begin, rest = response
        if isinstance(rest, Stream):
            return await sending.send_stream(begin, rest, receive, send)
        take = partial(self.exports.take, state.credential.key if state.credential else "")
        return await sending.send_written(begin, rest, send, failed=partial(self._failed, state=state), take=take)


class _State:
    """What is known so far, for whoever has to say what went wrong."""

    __slots__ = ("credential", "envelope", "gone", "if_match", "route", "when_gone")

    def __init__(self) -> None:
        self.route: Route | None = None
        self.credential: Credential | None = None
        self.envelope: Envelope | None = None  # of the path, whatever is wrong with the request
        self.if_match: int | None = None
        self.gone: Callable[[], object] | None = None
        self.when_gone: Callable[[Callable[[], object]], None] | None = None  # the connection's own

    @property
    def name(self) -> str:
        return self.route.name if self.route else UNKNOWN

    @property
    def the_route(self) -> Route:
        assert self.route is not None
        return self.route


def _check_rights(route: Route, credential: Credential) -> None:
    if route.for_operators:
        credential.identity.check_operator()
    if route.only_local and not credential.is_local:
        raise Denied(
            "this looks at files of the machine that serves, and is for its owner alone",
            code="LOCAL_ONLY",
            next="ask over the socket of that machine",
        )


def _plain(value: Any) -> Any:
    return value.as_json()


async def _no_other_protocol(scope: Mapping[str, Any], receive: AsgiReceive, send: AsgiSend) -> None:
    if scope["type"] == "lifespan":
        while (message := await receive())["type"] != "lifespan.shutdown":
            await send({"type": f"{message['type']}.complete"})
        await send({"type": "lifespan.shutdown.complete"})
        return
    await send({"type": "websocket.close", "code": 1008})

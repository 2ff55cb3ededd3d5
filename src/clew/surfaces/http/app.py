"""The API as an ASGI application: a list of routes, each called in a worker thread as whoever asks.

A request in, an answer out. The gate refuses what no program of ours sends; the route is found; whoever asks shows
a credential and is counted; the body is read up to its limit; then one hop to a worker thread does the rest: types,
the verb, JSON. What goes wrong becomes a problem document; what was not foreseen, one without any text.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, Future
from contextlib import AbstractAsyncContextManager, nullcontext
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakValueDictionary

import msgspec

from clew.errors import ClewError, Denied
from clew.model.scope import Identity
from clew.surfaces.http import bodies, sending
from clew.surfaces.http.acting import acting
from clew.surfaces.http.asked import Asked
from clew.surfaces.http.auth import needs_the_store
from clew.surfaces.http.gate import Gate, check_content, too_large
from clew.surfaces.http.idempotency import HEADER, once, request_hash
from clew.surfaces.http.limits import Rates
from clew.surfaces.http.problems import Refusal, places_of, problem_of, status_of, unexpected, without_places
from clew.surfaces.http.request import PROCESS, SOCKET, Request
from clew.surfaces.http.response import AsgiReceive, AsgiSend, Response
from clew.surfaces.http.route import JSON, Answer, Call, Credential, Route, Stream, Written
from clew.surfaces.http.router import Router
from clew.surfaces.http.shares import Shares
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
        self._of_one = max(1, clew.settings.serve.threads // 2)
        self._shares = Shares(pool, self._of_one)
        self._turns: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()
        self._gate = gate
        self._serving = Serving(clew)
        serve = clew.settings.serve
        self._places = places_of(clew)
        self._rates = Rates(serve.rate_per_s, serve.burst)
        self._max_bytes = serve.max_body_kb << 10
        self.of_one_address = serve.connections_per_address
        self.standing = standing
        self.tally = standing.tally
        self.streams = Streams()
        self.exports = sending.Exports()
        standing.open_streams = lambda: self.streams.count

    async def __call__(self, scope: Mapping[str, Any], receive: AsgiReceive, send: AsgiSend) -> None:
        if scope["type"] != "http":
            await _no_other_protocol(scope, receive, send)
            return
        await self.go_on(self.begin(scope), receive, send)

    # -- a request whose body may be waited for ----------------------------------------------------------

    def begin(self, scope: Mapping[str, Any]) -> Asked:
        """What the head of a request tells. What is refused then is not raised: `go_on` sends it."""
        asked = Asked()
        try:
            request = asked.request = Request(scope)
            asked.when_gone = (scope.get("state") or {}).get("when_gone")
            asked.envelope = self._router.envelope_at(request)
            self._gate.check(request)
            asked.route, asked.values = self._router.find(request)
            if asked.route.is_open:
                self._let_in(asked, Credential(Identity(org="local", roles=())))
            elif not needs_the_store(request):
                self._let_in(asked, self._counted(request, self._authenticate(request)))
        except Exception as error:  # the request boundary: whatever happened becomes an answer
            asked.refused = self._failed(error, asked)
        return asked

    async def go_on(self, asked: Asked, receive: AsgiReceive, send: AsgiSend) -> None:
        """From the head of a request to its answer."""
        try:
            sent = asked.refused or await self._respond(asked, receive)
        except Exception as error:  # the request boundary, again
            sent = self._failed(error, asked)
        await self.send(asked, sent, receive, send)

    async def _respond(self, asked: Asked, receive: AsgiReceive) -> Sent:
        route, request = asked.the_route, asked.the_request
        if asked.credential is None:
            found = await self._run(route, lambda: self._authenticate(request))
            self._let_in(asked, self._counted(request, found))
        if route.to_file:
            run, most = partial(self._run, route), asked.max_bytes
            async with bodies.received(self._clew.home, request, receive, max_bytes=most, run=run) as file:
                return await in_thread(self._pool_for(asked), lambda: self._answer(asked, b"", file))
        body = await bodies.read(receive, asked.max_bytes) if route.has_body else b""
        if route.on_loop is not None:
            async with self._turn_of(asked.who):
                answered: Response = await route.on_loop(self._clew, asked.who.identity, request, body, receive)
            return answered
        return await in_thread(self._pool_for(asked), lambda: self._answer(asked, body, None))

    def _counted(self, request: Request, found: Identity | Credential) -> Credential:
        if isinstance(found, Identity):
            found = Credential(found, is_local=request.via == PROCESS)
        if request.via != SOCKET or not found.is_local:  # whoever has the socket has the machine
            self._rates.take(found.key)
        return acting(found, request)

    def _let_in(self, asked: Asked, credential: Credential) -> None:
        asked.credential = credential
        _check_rights(asked.the_route, credential)
        asked.max_bytes = self._most(asked.the_route, credential)
        check_content(asked.the_route, asked.the_request, asked.max_bytes)

    def _most(self, route: Route, credential: Credential) -> int:
        most = self._max_bytes if route.max_body_kb is None else route.max_body_kb << 10
        return most if credential.is_local else min(most, FROM_AFAR)

    async def _run(self, route: Route, work: Callable[[], T]) -> T:
        return await in_thread(self._pool_of(route), work)

    def _pool_of(self, route: Route) -> Executor:
        return self._urgent if route.is_urgent else self._pool

    def _pool_for(self, asked: Asked) -> Executor:
        """For an answer, which may take long: each credential has its share, the machine's owner all."""
        if asked.the_route.is_urgent or asked.who.is_local or not asked.who.key:
            return self._pool_of(asked.the_route)
        return self._shares.of(asked.who.key)

    def _turn_of(self, credential: Credential) -> AbstractAsyncContextManager[Any]:
        """The same share of what brings threads of its own."""
        if credential.is_local:
            return nullcontext()
        return self._turns.setdefault(credential.key, asyncio.Semaphore(self._of_one))

    # -- a request whose body is there: no task, two calls on the event loop ------------------------------

    def hand_over(self, asked: Asked, body: bytes, answered: Callable[[Sent], None]) -> None:
        """A worker answers what `needs_only_its_body`; `answered` is called in its thread. Where none is to be had
        that is the answer, at once or after some waiting."""

        def tell(done: Future[Sent]) -> None:
            refused = done.exception()
            answered(done.result() if refused is None else self._failed(refused, asked))

        try:
            answer = self._pool_for(asked).submit(self._answer_or_refusal, asked, body)
        except RuntimeError as refused:
            answered(self._failed(refused, asked))
        else:
            answer.add_done_callback(tell)

    def _answer_or_refusal(self, asked: Asked, body: bytes) -> Sent:
        try:
            if len(body) > asked.max_bytes:
                raise too_large(asked.max_bytes)
            return self._answer(asked, body, None)
        except BaseException as error:  # the request boundary; nobody else waits for this thread
            return self._failed(error, asked)

    # -- in a worker thread ------------------------------------------------------------------------------

    def _answer(self, asked: Asked, body: bytes, file: Path | None) -> Sent:
        route, request, credential = asked.the_route, asked.the_request, asked.who
        asked.if_match = version_expected(route, request)
        call = Call(
            self._clew,
            credential.identity,
            asked.values,
            query_of(route, request),
            body_of(route, body),
            asked.if_match,
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
            asked.gone = answer.gone if isinstance(answer, Answer) else None
            return self._rendered(route, answer)
        hashed = request_hash(request.method, request.path, request.query_string, body)
        named = self._serving.key_of(call.identity, key, credential=credential.key)
        return once(self._serving, named, hashed, lambda: self._whole(route, call))

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

    def _failed(self, error: BaseException, asked: Asked) -> Response:
        if not isinstance(error, ClewError):
            return unexpected(error, asked.name)
        if isinstance(error, Denied) or (isinstance(error, Refusal) and error.status in (401, 403)):
            self.tally.refused(error.code)
        if not (asked.credential and asked.credential.is_local):
            error = without_places(error, self._places)
        envelope = asked.route.envelope if asked.route else asked.envelope
        if envelope is None:
            return problem_of(error, expects_version=asked.if_match is not None)
        status = status_of(error)
        document = envelope.error(error, status, at=self._clew.now())
        return Response(status, msgspec.json.encode(document), JSON, problem_of(error).headers)

    async def send(self, asked: Asked, sent: Sent, receive: AsgiReceive, send: AsgiSend) -> None:
        self.is_answered(asked, await self._send(asked, sent, receive, send))

    async def _send(self, asked: Asked, sent: Sent, receive: AsgiReceive, send: AsgiSend) -> int:
        if isinstance(sent, Response):
            asked.note_leaving()
            await sent.send(send)
            return sent.status
        begin, rest = sent
        is_head = asked.the_request.is_head
        if isinstance(rest, Stream):
            return await sending.send_stream(begin, rest, receive, send, is_head=is_head)
        take = partial(self.exports.take, asked.credential.key if asked.credential else "")
        failed = partial(self._failed, asked=asked)
        return await sending.send_written(begin, rest, send, failed=failed, take=take, is_head=is_head)

    def is_answered(self, asked: Asked, status: int) -> None:
        took_s = perf_counter() - asked.began
        self.tally.request(asked.name, status, took_s)
        if access.isEnabledFor(logging.INFO):
            access.info("%s %d %.1f ms", asked.name, status, 1e3 * took_s)


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

"""The daemon of a machine whose Clew is elsewhere: it takes what hooks tell, looks around, and passes it on.

It is the same server with a Clew behind it that keeps nothing but the spool. An event that the other Clew does not
take in time is kept there, durably, and passed on later, in order; it has an id, so however often it is sent, it
counts once. While something waits, new events join the queue: none overtakes, and no hook waits for a network that
is down.
"""

from __future__ import annotations

import json
import logging
import os
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from clew import __version__
from clew.errors import ClewError, InvalidInput, Misconfigured, Unavailable
from clew.model.host import Around, HookAnswer
from clew.model.scope import Identity
from clew.surfaces.hooks.spool import Spool
from clew.surfaces.http import server
from clew.surfaces.http.app import App, make_app
from clew.surfaces.http.chores import LOOK_S, ingest
from clew.surfaces.http.gate import Gate
from clew.surfaces.http.health import Health, Reason
from clew.surfaces.http.routes import hooks, service
from clew.surfaces.http.standing import Standing
from clew.surfaces.http.watch import Watched
from clew.values import dataclass
from clew.wire.address import Address, address_of
from clew.wire.client import refusal_of
from clew.wire.transport import LOST, Transport

if TYPE_CHECKING:
    from clew import Clew
    from clew.settings import Settings
    from clew.surfaces.http.listen import Listening
    from clew.surfaces.http.route import Route
    from clew.surfaces.http.run_directory import RunDirectory

CONNECT_S = 0.3
PATIENT_S = 10.0  # for what was kept: nobody waits for it
IDLE_S = 60.0  # an event is safe to send twice, so a connection may have gone stale
_OWN_TROUBLE = (400, 413, 415, 422)  # another time, the answer would be the same
ROUTES: tuple[Route, ...] = (
    *(one for one in service.ROUTES if one.name in ("healthz", "readyz")),
    *(one for one in hooks.ROUTES if one.name in ("hooks.event", "hooks.seen")),
)

_log = logging.getLogger(__name__)


class Forwarding:
    """Stands where a server has its Clew. It knows one verb: what a hook tells."""

    def __init__(self, settings: Settings, transport: Transport) -> None:
        self.settings = settings
        self.home = settings.home
        self.spool = Spool(settings.home)
        self._transport = transport
        self.hosts = ForwardedHosts(transport, self.spool, answer_s=settings.hooks.answer_ms / 1_000)
        self.keys = NoKeys()

    def now(self) -> datetime:
        return datetime.now(UTC)

    def close(self) -> None:
        self._transport.close()


class NoKeys:
    """Keys are of the other Clew; here asks only who runs this machine's."""

    def authenticate(self, _token: str) -> Identity | None:
        return None


class ForwardedHosts:
    """`clew.hosts` of another Clew, as far as hooks need it."""

    def __init__(self, transport: Transport, spool: Spool, *, answer_s: float) -> None:
        self._transport = transport
        self._spool = spool
        self._answer_s = answer_s
        self._seen: deque[str] = deque(maxlen=hooks.MAX_SEEN)  # printed, and the other Clew does not know yet

    def seen(self, event_id: str, *, identity: Identity | None = None) -> None:  # noqa: ARG002 - there it is the token's
        """Passed on with the next event, which is the one that it matters to."""
        self._seen.append(event_id)

    def unseen(self, event_id: str) -> None:
        """The other Clew hears of it by hearing nothing."""

    def event(
        self,
        host: str,
        raw: Mapping[str, Any],
        *,
        event_id: str,
        around: Around,
        received_at: datetime | None = None,
        replayed: bool = False,
        identity: Identity | None = None,  # noqa: ARG002 - there it is the token's
    ) -> HookAnswer:
        """What the other Clew answers; nothing when it does not, and then the event is kept. What is switched off
        here does not leave this machine. Raises Unavailable for a kept event that still cannot be passed on.
        The other Clew has its own clock, so it is told how long ago a kept event was."""
        seen = list(self._seen)
        told = {"event": raw, "event_id": event_id, "around": asdict(around), "seen": seen, **_age(received_at)}
        body, again = (
            None if around.is_off else _body(told | {"replayed": is_again}) for is_again in (replayed, True)
        )
        if body is None or again is None:
            return HookAnswer()
        telling = _Telling(host, body, again, seen)
        if replayed:
            return self._passed_on(telling, PATIENT_S)
        if not self._spool.is_empty():
            return self._kept(host, raw, event_id)
        try:
            return self._passed_on(telling, self._answer_s)
        except Unavailable as error:
            _log.warning("an event is kept to be passed on later: %s", error.code)
            return self._kept(host, raw, event_id)
        except ClewError as error:  # a hook is answered whatever the other Clew thinks of what it told
            _log.warning("an event was refused: %s", error.code)
            return HookAnswer()

    def _passed_on(self, telling: _Telling, answer_s: float) -> HookAnswer:
        """A connection that broke may have taken an answer with it: then it is told `again`, so that what that
        answer carried does not count as seen."""
        path = f"/v1/hooks/{telling.host}/forwarded"
        try:
            reply = self._transport.post(path, telling.body, twice=False, answer_s=answer_s)
        except Unavailable as lost:
            if lost.code != LOST:
                raise
            reply = self._transport.post(path, telling.again, twice=False, answer_s=answer_s)
        if reply.status == 200:
            self._are_known(telling.seen)
            return HookAnswer(reply.body.decode("utf-8", "replace"))
        error = refusal_of(reply, self._transport)
        if reply.status in _OWN_TROUBLE:
            raise InvalidInput(error.message, code=error.code, next=error.next)
        raise Unavailable(error.message, code=error.code, next=error.next)

    def _are_known(self, seen: Sequence[str]) -> None:
        for one in seen:
            with suppress(ValueError):  # another event has taken it along, too
                self._seen.remove(one)

    def _kept(self, host: str, raw: Mapping[str, Any], event_id: str) -> HookAnswer:
        self._spool.append(event_id, host, _text(raw))
        return HookAnswer()


@dataclass(frozen=True, slots=True)
class _Telling:
    """What is sent, and what if its answer was lost."""

    host: str
    body: bytes
    again: bytes
    seen: Sequence[str]


def _age(received_at: datetime | None) -> Mapping[str, float]:
    if received_at is None:
        return {}
    age_s = (datetime.now(UTC) - received_at).total_seconds()
    return {"age_s": min(max(age_s, 0.0), hooks.MAX_AGE_S)}


def _body(told: Mapping[str, Any]) -> bytes | None:
    """None for an event that has no form in JSON: nobody could read it."""
    try:
        return _text(told)
    except (ValueError, RecursionError):
        return None


def _text(document: Mapping[str, Any]) -> bytes:
    return json.dumps(document, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace")


# -- the daemon --------------------------------------------------------------------------------------------


def make_forwarder(settings: Settings) -> Forwarding:
    """What stands in the place of a Clew. The token is that of CLEW_TOKEN."""
    address = address_of(settings.store.url)
    _check_elsewhere(address, settings)
    transport = Transport(address, token=os.environ.get("CLEW_TOKEN"), connect_s=CONNECT_S, idle_s=IDLE_S)
    return Forwarding(settings, transport)


def run(
    settings: Settings, where: Listening, directory: RunDirectory, told: Callable[[server.Started], None]
) -> None:
    """Until it is stopped. As `server.run`, for a store that is elsewhere."""
    if where.network:
        raise Misconfigured(
            "a Clew that passes events on is for this machine alone",
            code="FORWARDER_IS_LOCAL",
            next="leave out --listen, or serve where the store is",
        )
    forwarding = make_forwarder(settings)
    directory.clear()
    with closing(forwarding), server.listening(directory, where) as sockets:
        _Forwarder(cast("Clew", forwarding), where, directory, sockets).run(told)


class _Forwarder(server.Daemon):
    def _chores(self) -> list[Watched]:
        self._spool = cast("Forwarding", self._clew).spool  # one reader, who knows whether something waits
        return [Watched("forward", partial(ingest, self._clew, self._spool), every_s=LOOK_S)]

    def _made_app(self) -> App:
        standing = Standing(self._clew, threads=self._threads, version=__version__)
        standing.health = _Health(self._clew, self._threads)
        return make_app(self._clew, ROUTES, self._authenticator(), self._workers, gate=Gate(), standing=standing)

    def _warm_up(self) -> None:
        """There is no model here."""


class _Health(Health):
    """Ready while what was kept can be passed on."""

    def reasons(self) -> list[Reason]:
        return list(self._threads())


def _check_elsewhere(address: Address, settings: Settings) -> None:
    if address.scheme == "unix" and address.path == str(settings.home / "run" / "clew.sock"):
        raise Misconfigured(
            "this Clew would pass its events on to itself", code="FORWARDER_LOOP", next="unset CLEW_URL"
        )

"""Making the injector of an open Clew takes longer than a tool call may wait: imports, Cedar, the model.

So it is made on a thread of its own. Whoever comes before it is there waits for as long as an event may, and no
longer; the work goes on, and the next one finds it done.
"""

from __future__ import annotations

import logging
import threading
from concurrent.futures import Future
from functools import partial
from typing import TYPE_CHECKING

from clew.inject.config import InSessionConfig
from clew.inject.deadline import Ticket
from clew.model.host import Limits
from clew.model.inject import InjectionResult, VerbEvent
from clew.model.scope import Identity

if TYPE_CHECKING:
    from clew.clew import Clew
    from clew.inject.injector import InSessionMemoryInjector
    from clew.settings import InjectSettings

# Of the caller's time: what it imported to get here, before the clock ran, took 20 to 30 ms, and an import on the
# other thread may hold the interpreter for some more when the time is up.
SPARE_S = 0.04

_log = logging.getLogger(__name__)


class Making:
    """Thread-safe. An injector that could not be made is tried again by the next who asks."""

    def __init__(self, clew: Clew) -> None:
        self._clew = clew
        self._lock = threading.Lock()
        self._made: Future[InSessionMemoryInjector] | None = None
        self._closed = False

    @property
    def done(self) -> InSessionMemoryInjector | None:
        """What was made; never waits."""
        made = self._made
        return made.result() if made is not None and made.done() and not made.exception() else None

    def begin(self) -> Future[InSessionMemoryInjector]:
        with self._lock:
            if self._made is None or (self._made.done() and self._made.exception()):
                self._made = Future()
                make = partial(_make, self._clew, self._made)
                try:
                    threading.Thread(target=make, name="clew-inject-warm", daemon=True).start()
                except RuntimeError as error:  # no thread to be had: the next event tries again
                    self._made.set_exception(error)
            return self._made

    def answer(self, event: VerbEvent, *, identity: Identity, ticket: Ticket, limits: Limits) -> InjectionResult:
        """What the injector says, or that there is none yet."""
        injector = self.done
        if injector is None:
            refused = config_of(self._clew.settings.inject).refusal(event)
            if refused is not None:
                return refused
            made = self.begin()
            try:
                injector = made.result(timeout=max(0.0, ticket.remaining_s - SPARE_S))
            except TimeoutError:
                return self._warming(event, made, identity=identity, ticket=ticket)
            except Exception as error:  # an agent's tool call never fails because of its memory
                _log.warning("the injector cannot be made: %s", type(error).__name__)
                return InjectionResult("no-match", reason="error", error=type(error).__name__, ms=ticket.ms)
        return injector.handle_verb_event(event, identity=identity, ticket=ticket, limits=limits)

    def close(self) -> None:
        """One that is still being made is closed when it is done."""
        self._closed = True
        with self._lock:
            made = self._made
        if made is not None:
            made.add_done_callback(lambda made: None if made.exception() else made.result().close())

    def _warming(
        self, event: VerbEvent, made: Future[InSessionMemoryInjector], *, identity: Identity, ticket: Ticket
    ) -> InjectionResult:
        result = InjectionResult("budget-exceeded", reason="warming", ms=ticket.ms)

        def catch_up(made: Future[InSessionMemoryInjector]) -> None:
            if not self._closed and not made.exception():
                made.result().catch_up(event, result, identity=identity)

        made.add_done_callback(catch_up)
        return result


def config_of(inject: InjectSettings) -> InSessionConfig:
    return InSessionConfig(
        enabled=inject.enabled,
        disabled_for_agents=inject.disabled_for_agents,
        latency_ms=inject.latency_ms,
        floor=inject.floor,
        budget_tokens=inject.budget_tokens or None,
        work_type=inject.work_type,
        max_suggestions=inject.max_suggestions,
        skip_tools=inject.skip_tools,
        extra_skip_tools=inject.extra_skip_tools,
        threads=inject.threads,
    )


def _make(clew: Clew, made: Future[InSessionMemoryInjector]) -> None:
    try:
        from clew.verbs.inject_event import injector_of  # half of what takes the time

        injector = injector_of(clew)
    except BaseException as error:  # whatever it is belongs to whoever waits
        made.set_exception(error)
    else:
        made.set_result(injector)

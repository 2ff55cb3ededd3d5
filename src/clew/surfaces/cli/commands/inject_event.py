"""One tool call of a session, read from stdin: what is worth saying about it goes on the session's queue.

A process that answers one event would never answer it if it began with its clock running: it makes the injector
and reads the project first, and its limit is on the event alone. The answer is printed before the store is let go
of: a hook that waits for it does not wait for whoever else writes.
"""

from __future__ import annotations

import json
import sys
import threading
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from clew.errors import InvalidInput
from clew.model.inject import InjectionResult, VerbEvent
from clew.settings import Settings
from clew.surfaces.cli.context import here, settings_of
from clew.surfaces.cli.terminal import Style, answer, safe

if TYPE_CHECKING:
    from clew import Clew

CLOSE_S = 1.0
MAX_BYTES = 1 << 20  # of an event; only the first 4 kB of its text are looked at


def event(args: Namespace) -> None:
    told = VerbEvent.from_json(_within_project(_read()), session=args.session)
    with _opened(settings_of(args)) as memory:
        memory.inject.warm(told)
        result = memory.inject.event(told)
        answer(args, result.as_json(), lambda style: _lines(result, style))
        if sys.stdout:
            sys.stdout.flush()


@contextmanager
def _opened(settings: Settings) -> Iterator[Clew]:
    """Closed within a second: another process may hold the store for longer. What is lost then is a row of the log;
    what was queued is durable before it is answered."""
    from clew.surfaces.cli import daemon

    elsewhere = daemon.elsewhere(settings)
    if elsewhere is not None:
        with elsewhere as memory:
            yield memory
        return
    from clew.compose import compose, store_url  # brings numpy and apsw along

    memory = compose(settings, store_url(settings), in_background=False)
    try:
        yield memory
    finally:
        closing = threading.Thread(target=memory.close, name="clew-close", daemon=True)
        closing.start()
        closing.join(CLOSE_S)


def _read() -> dict[str, Any]:
    data = sys.stdin.buffer.read(MAX_BYTES + 1) if sys.stdin else b""
    if len(data) > MAX_BYTES:
        raise _invalid(f"it is longer than {MAX_BYTES:,} bytes")
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        raise _invalid("it is not valid JSON") from None
    if not isinstance(document, dict):
        raise _invalid("it is no JSON object")
    return document


def _within_project(document: dict[str, Any]) -> dict[str, Any]:
    """Paths below this directory as the project knows them: memories name files without the folders around it."""
    paths = document.get("paths")
    if not isinstance(paths, list):
        return document
    folder = f"{here().as_posix()}/"
    return document | {"paths": [path.removeprefix(folder) if isinstance(path, str) else path for path in paths]}


def _lines(result: InjectionResult, style: Style) -> Iterator[str]:
    if result.block:
        yield safe(result.block)
    why = f": {result.reason}" if result.reason else ""
    yield style("dim", f"{result.outcome}{why}; {result.tokens} tokens in {result.ms:.1f} ms")


def _invalid(why: str) -> InvalidInput:
    return InvalidInput(
        f"the event cannot be read: {why}",
        code="EVENT_INVALID",
        next='send one JSON object such as {"v": 1, "session": "ses_...", "phase": "pre", "tool": "Edit"}',
    )

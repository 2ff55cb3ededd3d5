"""What must be true of a queue whatever happens to it, and processes that something happens to."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import ClassVar

from queue_actors import cycles

from clew.clew import Clew
from lease_clock import LeaseClock

TESTS = Path(__file__).parents[1]

Promise = tuple[str, ...]
Entry = tuple[str, str, str, int, int]  # session, text, state, token, place


class Actor:
    """A process that does something to the queue."""

    _running: ClassVar[list[Actor]] = []

    def __init__(self, role: str, place: Path | str, seed: int, *rest: object) -> None:
        command = [sys.executable, str(TESTS / "crash" / "queue_actors.py"), role, str(place), str(seed)]
        self.process = subprocess.Popen(
            [*command, *(str(word) for word in rest)],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": f"{TESTS}{os.pathsep}{TESTS / 'crash'}"},
        )
        self.promises: list[Promise] = []
        self._running.append(self)

    @classmethod
    def end_all(cls) -> None:
        """Those that a test which failed left running."""
        while cls._running:
            with cls._running.pop().process as process:
                process.kill()

    def read(self, lines: int) -> None:
        """Wait for so many promises, or for its end."""
        assert self.process.stdout
        for _ in range(lines):
            self._take(self.process.stdout.readline())

    def read_fresh(self, lines: int) -> None:
        """Wait for promises made from now on: what lies in the pipe is of before."""
        assert self.process.stdout
        self.read(1 + self.process.stdout.buffer.peek().count(b"\n") + lines)  # type: ignore[attr-defined]

    def read_until_got(self) -> Promise:
        """Wait until it holds a delivery that it has not acknowledged yet, as far as it told."""
        self.read(1)
        while self.promises[-1][0] != "got":
            self.read(1)
        return self.promises[-1]

    def finish(self, *, kill: bool) -> list[Promise]:
        if kill:
            self.process.kill()
        assert self.process.stdout
        for line in self.process.stdout:
            self._take(line)
        self.process.stdout.close()
        assert self.process.wait(timeout=120) == (-signal.SIGKILL if kill else 0)
        return self.promises

    def _take(self, line: str) -> None:
        if line.endswith("\n"):  # a line that was cut off promises nothing
            self.promises.append(tuple(line.rstrip("\n").split(" ", 3)))

    def pause(self) -> None:
        self.process.send_signal(signal.SIGSTOP)
        os.waitpid(self.process.pid, os.WUNTRACED)

    def resume(self) -> None:
        self.process.send_signal(signal.SIGCONT)


def check_rows(rows: Mapping[str, Entry], promises: Iterable[Promise]) -> None:
    """By delivery."""
    assert len({(row[0], row[1]) for row in rows.values()}) == len(rows), "a text is there twice"
    flying = Counter(row[0] for row in rows.values() if row[2] == "delivered")
    assert all(count == 1 for count in flying.values()), "two in flight"
    acked_by: dict[str, str] = {}
    for kind, *key in promises:
        if kind == "put":
            session, delivery, text = key
            assert rows[delivery][:2] == (session, text), "an acknowledged enqueue was lost"
        if kind == "ack":
            _session, delivery, token = key
            assert rows[delivery][2] == "acked", "an acknowledged delivery was lost"
            assert str(rows[delivery][3]) == token, "someone acknowledged under a stale token"
            assert acked_by.setdefault(delivery, token) == token, "two workers acknowledged the same"
    _check_order(rows.values())


def _check_order(rows: Iterable[Entry]) -> None:
    """First in first out: nothing is acknowledged while something older of its session is not."""
    waiting: dict[str, int] = {}
    for session, _text, state, _token, seq in sorted(rows, key=lambda row: row[4]):
        if state in ("pending", "delivered"):
            waiting.setdefault(session, seq)
        assert state != "acked" or session not in waiting, "out of order"


def drain(clew: Clew, leases: LeaseClock) -> list[Promise]:
    """Work off what is left; afterwards everything is acknowledged."""
    leases.pass_by(10_000_000)
    promises: list[Promise] = []
    for session in clew.sessions.list(limit=10_000):
        token = clew.sessions.claim(session.id, "last")
        steps = cycles(clew, session.id, "last", token, beats=False)
        promises += [tuple(str(word) for word in step) for step in steps]
        assert {inject.state for inject in clew.queue.list(session.id)} <= {"acked"}
    return promises

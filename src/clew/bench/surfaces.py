"""What the surfaces cost: recall over the daemon's socket, requests per second, a hook's process, an MCP call.

The daemon is the real one, `clew serve`, in a process of its own; so are the hooks. A hook is measured beside an
interpreter that does nothing, in turns, so that a busy machine hits both alike.
"""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from clew.bench.metrics import percentile
from clew.bench.texts import questions

WAIT_S = 30.0
CONNECTIONS = 4
MAX_SOCKET_PATH = 100


class _OverSocket(http.client.HTTPConnection):
    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=WAIT_S)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(WAIT_S)
        self.sock.connect(str(self._path))

    def ask(self, method: str, path: str, body: Any = None) -> bytes:
        content = json.dumps(body).encode() if body is not None else None
        self.request(method, path, content, {"Content-Type": "application/json"} if content else {})
        answer = self.getresponse()
        data = answer.read()
        if answer.status >= 400:
            raise RuntimeError(f"{method} {path}: {answer.status} {data[:200]!r}")
        return data


def measure(home: Path, *, asks: int, runs: int, seconds: float) -> dict[str, Any]:
    """Of a store that is there: what asking through the daemon costs, and what hooks cost with it and without."""
    with serving(home) as connection:
        recall = _recall_ms(connection, asks)
        rate = _rate(home, seconds)
        hook = hook_process(home, runs=runs)
    return {"recall_ms": recall, "requests_per_second": rate, "hook": hook | spooling(home, runs=runs)}


@contextmanager
def serving(home: Path, *, core: int | None = None) -> Iterator[_OverSocket]:
    """A daemon for as long as the block lasts, on one core if the platform can."""
    daemon = subprocess.Popen(
        [sys.executable, "-m", "clew", "serve", "--quiet"],
        env={**os.environ, "CLEW_HOME": str(home)},
        stdout=subprocess.DEVNULL,
        preexec_fn=None if core is None or not hasattr(os, "sched_setaffinity") else _on_core(core),
    )
    try:
        yield _answering(home / "run" / "clew.sock", daemon)
    finally:
        daemon.send_signal(signal.SIGTERM)
        daemon.wait(timeout=WAIT_S)


def _on_core(core: int) -> Callable[[], None]:
    return lambda: os.sched_setaffinity(0, {core})


def _answering(path: Path, daemon: subprocess.Popen[bytes]) -> _OverSocket:
    """A connection, once somebody is there to answer."""
    until = time.monotonic() + WAIT_S
    while time.monotonic() < until and daemon.poll() is None:
        with suppress(OSError):
            connection = _OverSocket(path)
            connection.ask("GET", "/healthz")
            return connection
        time.sleep(0.02)
    raise RuntimeError("the daemon did not start")


def _recall_ms(connection: _OverSocket, asks: int) -> dict[str, float]:
    asked = [{"query": text, "project": "bench", "limit": 10} for text in questions(asks)]
    connection.ask("POST", "/v1/recall", asked[0])
    return _times([lambda body=body: connection.ask("POST", "/v1/recall", body) for body in asked])  # type: ignore[misc]


def _rate(home: Path, seconds: float) -> dict[str, float]:
    """Recalls over several connections at once, answered by a daemon that has one core to itself."""
    path, bodies = home / "run" / "clew.sock", questions(200)

    def drive(first: int) -> int:
        connection, done, until = _OverSocket(path), 0, time.monotonic() + seconds
        while time.monotonic() < until:
            text = bodies[(first + done) % len(bodies)]
            connection.ask("POST", "/v1/recall", {"query": text, "project": "bench", "limit": 10})
            done += 1
        return done

    with ThreadPoolExecutor(CONNECTIONS) as pool:
        total = sum(pool.map(drive, range(CONNECTIONS)))
    return {"connections": CONNECTIONS, "per_second": round(total / seconds)}


def hook_process(home: Path, *, runs: int) -> dict[str, Any]:
    """A hook that asks the daemon, beside an interpreter that does nothing."""
    return _beside_bare(home, "with_daemon", runs)


def spooling(home: Path, *, runs: int) -> dict[str, Any]:
    """The same with nobody to ask: the event goes to the spool. A marker keeps it from starting a daemon."""
    return _beside_bare(home, "without_daemon", runs)


def _beside_bare(home: Path, name: str, runs: int) -> dict[str, Any]:
    spec = find_spec("clew_hook")
    if spec is None or spec.origin is None:
        raise RuntimeError("clew_hook.py is not installed beside the package")
    hook = [sys.executable, "-I", "-S", spec.origin, "claude-code", str(home)]
    bare = [sys.executable, "-I", "-S", "-c", "pass"]
    event = json.dumps(_event()).encode()
    times: dict[str, list[float]] = {"hook": [], "bare": []}
    for _ in range(runs):
        for which, command in (("bare", bare), ("hook", hook)):
            started = time.perf_counter()
            subprocess.run(command, input=event, check=True, stdout=subprocess.DEVNULL)
            times[which].append(time.perf_counter() - started)
    ours, theirs = _summary(times["hook"]), _summary(times["bare"])
    ratios = {share: round(ours[share] / theirs[share], 2) for share in ("p50", "p99")}
    return {name: {"ms": ours, "bare_ms": theirs, "times_bare": ratios}}


def _event() -> dict[str, Any]:
    return {
        "session_id": "bench-session",
        "hook_event_name": "PreToolUse",
        "cwd": "/nowhere",
        "tool_name": "Read",
        "tool_input": {"file_path": "/nowhere/app.py"},
        "tool_use_id": "toolu_bench",
    }


def _times(actions: list[Callable[[], object]]) -> dict[str, float]:
    seconds = []
    for action in actions:
        started = time.perf_counter()
        action()
        seconds.append(time.perf_counter() - started)
    return _summary(seconds)


def _summary(seconds: list[float]) -> dict[str, float]:
    return {f"p{share}": round(percentile(seconds, share / 100) * 1000, 3) for share in (50, 99)}

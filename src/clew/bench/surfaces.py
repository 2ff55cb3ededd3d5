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
from contextlib import closing, contextmanager
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from clew.bench.metrics import percentile
from clew.bench.texts import questions

WAIT_S = 30.0
CONNECTIONS = 4
CAN_SERVE = hasattr(socket, "AF_UNIX")


class _OverSocket(http.client.HTTPConnection):
    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=WAIT_S)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)  # closed with the connection, also when nobody is there
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


def over_socket(home: Path, *, asks: int, seconds: float) -> dict[str, Any]:
    """Of a store that is there: what a recall through its daemon takes, one after the other and, with one core for
    the daemon, several at once; the second also for memories by id. Jobs are left alone meanwhile."""
    with serving(home) as connection:
        told = {"ms": _recall_ms(connection, asks)}
        id = json.loads(connection.ask("GET", "/v1/memories?limit=1&project=bench"))["memories"][0]["id"]
    with serving(home, core=0) as connection:
        connection.ask("POST", "/v1/recall", {"query": "warm up", "project": "bench"})
        recalls = [("POST", "/v1/recall", _recall_body(text)) for text in questions(200)]
        return told | {
            "rate": {
                "connections": CONNECTIONS,
                "recalls": _rate(home, seconds, recalls),
                "shows": _rate(home, seconds, [("GET", f"/v1/memories/{id}", None)]),
            }
        }


def plugged_in(home: Path, *, runs: int) -> dict[str, Any]:
    """What an agent's host waits for: a hook with a daemon and without, and a tool called over MCP."""
    with serving(home):
        told = _beside_bare(home, "hook_with_daemon", runs)
    return told | _without_daemon(home, runs) | mcp_call(home, calls=runs)


@contextmanager
def serving(home: Path, *, core: int | None = None) -> Iterator[_OverSocket]:
    """A daemon for as long as the block lasts, on one core if the platform can."""
    daemon = subprocess.Popen(
        [sys.executable, "-m", "clew", "serve", "--quiet"],
        env={**os.environ, "CLEW_HOME": str(home), "CLEW_RELATE__IN_PROCESS": "false"},
        stdout=subprocess.DEVNULL,
        preexec_fn=None if core is None or not hasattr(os, "sched_setaffinity") else _on_core(core),
    )
    try:
        with closing(_answering(home / "run" / "clew.sock", daemon)) as connection:
            yield connection
    finally:
        daemon.send_signal(signal.SIGTERM)
        daemon.wait(timeout=WAIT_S)


def _on_core(core: int) -> Callable[[], None]:
    return lambda: os.sched_setaffinity(0, {core})


def _answering(path: Path, daemon: subprocess.Popen[bytes]) -> _OverSocket:
    """A connection, once somebody is there to answer."""
    until = time.monotonic() + WAIT_S
    while time.monotonic() < until and daemon.poll() is None:
        connection = _OverSocket(path)
        try:
            connection.ask("GET", "/healthz")
            return connection
        except OSError:
            connection.close()
        time.sleep(0.02)
    raise RuntimeError("the daemon did not start")


def _recall_ms(connection: _OverSocket, asks: int) -> dict[str, float]:
    asked = [_recall_body(text) for text in questions(asks)]
    connection.ask("POST", "/v1/recall", asked[0])
    return _times([partial(connection.ask, "POST", "/v1/recall", body) for body in asked])


def _recall_body(text: str) -> dict[str, Any]:
    return {"query": text, "project": "bench", "limit": 10}


def _rate(home: Path, seconds: float, requests: list[tuple[str, str, Any]]) -> int:
    """Requests per second over several connections at once."""

    def drive(first: int) -> int:
        done, until = 0, time.monotonic() + seconds
        with closing(_OverSocket(home / "run" / "clew.sock")) as connection:
            while time.monotonic() < until:
                connection.ask(*requests[(first + done) % len(requests)])
                done += 1
        return done

    with ThreadPoolExecutor(CONNECTIONS) as pool:
        return round(sum(pool.map(drive, range(CONNECTIONS))) / seconds)


def _without_daemon(home: Path, runs: int) -> dict[str, Any]:
    """The event goes to the spool. A start that is said to be under way keeps hooks from starting a daemon."""
    marker = home / "spool" / "starting"
    marker.parent.mkdir(mode=0o700, exist_ok=True)
    marker.touch()
    return _beside_bare(home, "hook_without_daemon", runs, before=marker.touch)


def _beside_bare(
    home: Path, name: str, runs: int, *, before: Callable[[], object] = lambda: None
) -> dict[str, Any]:
    """A hook beside an interpreter that does nothing."""
    spec = find_spec("clew_hook")
    if spec is None or spec.origin is None:
        raise RuntimeError("clew_hook.py is not installed beside the package")
    hook = [sys.executable, "-I", "-S", spec.origin, "claude-code", str(home)]
    bare = [sys.executable, "-I", "-S", "-c", "pass"]
    times: dict[str, list[float]] = {"hook": [], "bare": []}
    for number in range(runs):
        before()
        event = json.dumps(_event(number)).encode()
        for which, command in (("bare", bare), ("hook", hook)):
            started = time.perf_counter()
            subprocess.run(command, input=event, check=True, stdout=subprocess.DEVNULL)
            times[which].append(time.perf_counter() - started)
    ours, theirs = _summary(times["hook"]), _summary(times["bare"])
    ratios = {share: round(ours[share] / theirs[share], 2) for share in ("p50", "p99")}
    return {name: {"ms": ours, "bare_ms": theirs, "times_bare": ratios}}


def mcp_call(home: Path, *, calls: int) -> dict[str, Any]:
    """A recall over stdio, by a client that only reads and writes lines. Nothing where the extra is missing."""
    if find_spec("mcp") is None:
        return {}
    command = [sys.executable, "-m", "clew", "mcp", "--project", "bench"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, env={**os.environ, "CLEW_HOME": str(home)}, stdin=pipe, stdout=pipe) as server:
        ask = _Lines(server).ask
        ask(
            "initialize",
            protocolVersion="2025-06-18",
            capabilities={},
            clientInfo={"name": "bench", "version": "1"},
        )
        asked = [{"name": "memory_recall", "arguments": {"query": text}} for text in questions(calls + 1)]
        ask("tools/call", **asked[0])
        seconds = _times([partial(ask, "tools/call", **params) for params in asked[1:]])
        server.stdin.close()  # type: ignore[union-attr]
    return {"mcp_recall": {"ms": seconds}}


class _Lines:
    """Requests and answers of MCP over stdio: one JSON document a line."""

    def __init__(self, server: subprocess.Popen[bytes]) -> None:
        self._server = server
        self._last = 0

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        self._last += 1
        request = {"jsonrpc": "2.0", "id": self._last, "method": method, "params": params}
        assert self._server.stdin and self._server.stdout
        self._server.stdin.write(json.dumps(request).encode() + b"\n")
        self._server.stdin.flush()
        while line := self._server.stdout.readline():
            answer: dict[str, Any] = json.loads(line)
            if answer.get("id") == self._last:
                if "error" in answer or answer["result"].get("isError"):
                    raise RuntimeError(f"{method}: {line[:200]!r}")
                return answer
        raise RuntimeError(f"{method}: no answer")


def _event(number: int) -> dict[str, Any]:
    """Each another: the same one told twice would be answered at once."""
    return {
        "session_id": "bench-session",
        "hook_event_name": "PreToolUse",
        "cwd": "/nowhere",
        "tool_name": "Read",
        "tool_input": {"file_path": f"/nowhere/app{number}.py"},
        "tool_use_id": f"toolu_{number}",
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


def lines(report: dict[str, Any]) -> Iterator[str]:
    """Of `plugged_in`, for people."""
    for name in ("hook_with_daemon", "hook_without_daemon"):
        if row := report.get(name):
            yield (
                f"{name.replace('_', ' ')}: p50 {row['ms']['p50']} ms = {row['times_bare']['p50']}x bare python, "
                f"p99 {row['ms']['p99']} ms = {row['times_bare']['p99']}x"
            )
    if row := report.get("mcp_recall"):
        yield f"recall over MCP, stdio: p50 {row['ms']['p50']} ms, p99 {row['ms']['p99']} ms"

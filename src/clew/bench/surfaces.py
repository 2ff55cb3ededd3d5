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
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from functools import partial
from importlib.util import find_spec
from itertools import count, islice
from pathlib import Path
from typing import Any

from clew.bench.speed_cold import environment
from clew.bench.speed_figures import Taken, figure, spread, timed, timed_process, times
from clew.bench.texts import questions

WAIT_S = 30.0
IDLE_S = 0.2
CONNECTIONS = 4
WARM_UP = 8  # questions: some lead to no memory from which the graph is walked
MCP, TOOL = (sys.executable, "-m", "clew", "mcp", "--project", "bench"), "memory_recall"
CAN_SERVE = hasattr(socket, "AF_UNIX")


class _OverSocket(http.client.HTTPConnection):
    def __init__(self, path: Path, *, pid: int = 0) -> None:
        super().__init__("localhost", timeout=WAIT_S)
        self._path = path
        self.pid = pid  # of who answers

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


def with_daemon(home: Path, *, asks: int, runs: int, starts: int) -> dict[str, Any]:
    """Of a store that is there: what a host waits for a hook when the daemon was just started (cold) and when it
    knows the session (warm), and what a recall through it takes. Jobs are left alone meanwhile."""
    numbers, first = count(), list[Taken]()
    for start in range(1, starts + 1):
        with serving(home) as daemon:
            first += _beside_bare(home, 1, numbers)["hook"]
            if start == starts:
                _beside_bare(home, 1, numbers)
                _settle(daemon.pid)
                warm = _hook_row(_beside_bare(home, runs, numbers))
                recall = _recalls(daemon, asks) | {"rate": _rates(home, daemon, seconds=asks / 100)}
    return {"hook": {"cold": figure(first), "warm": warm}, "daemon": {"recall": recall}}


def without_daemon(home: Path, *, runs: int) -> dict[str, Any]:
    """The event goes to the spool. A start that is said to be under way keeps hooks from starting a daemon."""
    marker = home / "spool" / "starting"
    marker.parent.mkdir(mode=0o700, exist_ok=True)
    marker.touch()
    others = count(1_000_000)  # not one that the daemon was told of already
    return _hook_row(_beside_bare(home, runs, others, before=marker.touch))


def _rates(home: Path, daemon: _OverSocket, *, seconds: float) -> dict[str, int]:
    """Several at once, with one core for the daemon: recalls, and memories by id."""
    id = json.loads(daemon.ask("GET", "/v1/memories?limit=1&project=bench"))["memories"][0]["id"]
    recalls = [("POST", "/v1/recall", _recall_body(text)) for text in questions(200)]
    _keep_to_one_core(daemon.pid)
    return {
        "connections": CONNECTIONS,
        "recalls": _rate(home, seconds, recalls),
        "shows": _rate(home, seconds, [("GET", f"/v1/memories/{id}", None)]),
    }


def _keep_to_one_core(pid: int) -> None:
    """All threads of a process, where the platform can; those that it starts later follow."""
    if hasattr(os, "sched_setaffinity"):
        core = min(os.sched_getaffinity(pid))
        for thread in Path(f"/proc/{pid}/task").iterdir():
            with suppress(ProcessLookupError):  # one that has ended meanwhile
                os.sched_setaffinity(int(thread.name), {core})


def _hook_row(taken: dict[str, list[Taken]]) -> dict[str, Any]:
    ours, bare = figure(taken["hook"]), figure(taken["bare"])
    return ours | {"bare_python_ms": bare["ms"], "times_bare_python": times(ours, bare)}


@contextmanager
def serving(home: Path) -> Iterator[_OverSocket]:
    """A daemon for as long as the block lasts."""
    daemon = subprocess.Popen(
        [sys.executable, "-m", "clew", "serve", "--quiet"],
        env=environment(home),
        stdout=subprocess.DEVNULL,
    )
    try:
        with closing(_answering(home / "run" / "clew.sock", daemon)) as connection:
            yield connection
    finally:
        daemon.send_signal(signal.SIGTERM)
        daemon.wait(timeout=WAIT_S)


def _answering(path: Path, daemon: subprocess.Popen[bytes]) -> _OverSocket:
    """A connection, once somebody is there to answer."""
    until = time.monotonic() + WAIT_S
    while time.monotonic() < until and daemon.poll() is None:
        connection = _OverSocket(path, pid=daemon.pid)
        try:
            connection.ask("GET", "/healthz")
            return connection
        except OSError:
            connection.close()
        time.sleep(0.02)
    raise RuntimeError("the daemon did not start")


def _recalls(daemon: _OverSocket, asks: int) -> dict[str, Any]:
    asked = [_recall_body(text) for text in questions(asks)]
    return _served([partial(daemon.ask, "POST", "/v1/recall", body) for body in asked], daemon.pid)


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


def _beside_bare(
    home: Path, runs: int, numbers: Iterator[int], *, before: Callable[[], object] = lambda: None
) -> dict[str, list[Taken]]:
    """A hook beside an interpreter that does nothing, in turns."""
    spec = find_spec("clew_hook")
    if spec is None or spec.origin is None:
        raise RuntimeError("clew_hook.py is not installed beside the package")
    bare = [sys.executable, "-I", "-S"]
    commands = {"bare": [*bare, "-c", "pass"], "hook": [*bare, spec.origin, "claude-code", str(home)]}
    taken: dict[str, list[Taken]] = {name: [] for name in commands}
    for number in islice(numbers, runs):
        before()
        told = json.dumps(_event(number)).encode()
        for name, command in commands.items():
            taken[name].append(timed_process(command, input=told))
    return taken


def mcp_call(home: Path, *, calls: int) -> dict[str, Any]:
    """A recall over stdio, by a client that only reads and writes lines. Nothing where the extra is missing."""
    if find_spec("mcp") is None:
        return {}
    pipe = subprocess.PIPE
    with subprocess.Popen(MCP, env=environment(home), stdin=pipe, stdout=pipe) as server:
        ask = _Lines(server).ask
        ask(
            "initialize",
            protocolVersion="2025-06-18",
            capabilities={},
            clientInfo={"name": "bench", "version": "1"},
        )
        asked = [{"name": TOOL, "arguments": {"query": text}} for text in questions(calls)]
        told = _served([partial(ask, "tools/call", **params) for params in asked], server.pid)
        server.stdin.close()  # type: ignore[union-attr]
    return told


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


def _served(actions: Sequence[Callable[[], object]], pid: int) -> dict[str, Any]:
    """What a client waits, and what processor time its server used for each: on average, since it is told in ticks
    of some ten milliseconds."""
    for action in actions[:WARM_UP]:  # the second one that walks the graph makes it load that
        action()
    _settle(pid)
    before = _cpu_s(pid)
    taken = [timed(action) for action in actions]
    after = _cpu_s(pid)
    told = {"runs": len(taken), "ms": spread([one.wall_s for one in taken])}
    if before is None or after is None:
        return told
    return told | {"cpu_ms": {"mean": round((after - before) / len(taken) * 1_000, 3)}}


def _settle(pid: int) -> None:
    """Wait until a server has done what it does behind its answers, where the platform tells: it is idle then."""
    until, before = time.monotonic() + WAIT_S, _cpu_s(pid)
    while before is not None and time.monotonic() < until:
        time.sleep(IDLE_S)
        after = _cpu_s(pid)
        if after is None or after - before < IDLE_S / 10:
            return
        before = after


def _cpu_s(pid: int) -> float | None:
    """Of another process; None where the platform does not tell."""
    file = Path(f"/proc/{pid}/stat")
    if not file.exists():
        return None
    user, system = file.read_text(encoding="utf-8").rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

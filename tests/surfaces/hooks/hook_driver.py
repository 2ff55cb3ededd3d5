"""The hook client as a host runs it, and something that listens where the daemon would."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

import clew_hook
from clew.surfaces.hooks.spool import Record, Spool

CLIENT = str(Path(clew_hook.__file__).resolve())
EVENT = b'{"hook_event_name": "PostToolUse", "session_id": "s1", "tool_name": "Bash"}'
EMPTY = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"


def answering(body: bytes, *, status: str = "200 OK") -> bytes:
    return b"HTTP/1.1 %s\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n%s" % (
        status.encode(), len(body), body,
    )  # fmt: skip


@dataclass
class Listener:
    """Takes requests and sends these bytes for each; None: it says nothing and keeps the line open."""

    home: Path
    answer: bytes | None = EMPTY
    is_tcp: bool = False
    requests: list[bytes] = field(default_factory=list)
    after: list[bytes] = field(default_factory=list)  # what came on each connection after the answer

    def __enter__(self) -> Listener:
        run = self.home / "run"
        run.mkdir(parents=True, exist_ok=True)
        self.server = socket.socket(socket.AF_INET if self.is_tcp else socket.AF_UNIX)
        if self.is_tcp:
            self.server.bind(("127.0.0.1", 0))
            (run / "tcp").write_text(f"127.0.0.1:{self.server.getsockname()[1]}\n")
            (run / "token").write_text("clew_local_secret\n")
        else:
            folder = os.open(run, os.O_RDONLY)  # a path of any length
            self.server.bind(f"/proc/self/fd/{folder}/clew.sock")
            os.close(folder)
        self.server.listen(64)
        self.kept: list[socket.socket] = []
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        with suppress(OSError):
            self.server.shutdown(socket.SHUT_RDWR)
        self.server.close()
        for link in self.kept:
            link.close()
        self.thread.join(5)

    def _serve(self) -> None:
        while True:
            try:
                link, _address = self.server.accept()
            except OSError:
                return
            self.requests.append(_whole(link))
            if self.answer is None:
                self.kept.append(link)
            else:
                with suppress(OSError):
                    link.sendall(self.answer)
                    link.shutdown(socket.SHUT_WR)
                    self.after.append(_rest(link))
                link.close()


def _rest(link: socket.socket) -> bytes:
    return b"".join(iter(lambda: link.recv(65_536), b""))


def _whole(link: socket.socket) -> bytes:
    data = b""
    while b"\r\n\r\n" not in data:
        data += link.recv(65_536)
    head, _, body = data.partition(b"\r\n\r\n")
    lengths = [line.split(b":")[1] for line in head.split(b"\r\n") if line.lower().startswith(b"content-length")]
    while len(body) < int(lengths[0]):
        body += link.recv(65_536)
    return head + b"\r\n\r\n" + body


def without_start(home: Path) -> Path:
    """As if a daemon had been started a moment ago: none is."""
    (home / "spool").mkdir(parents=True, exist_ok=True)
    (home / "spool" / "starting").touch()
    return home


def fire(
    home: Path, event: bytes = EVENT, *, host: str = "claude-code", **options: Any
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-I", "-S", CLIENT, host, str(home)],
        input=event, capture_output=True, check=False, timeout=30, **options,
    )  # fmt: skip


def is_silent(done: subprocess.CompletedProcess[bytes]) -> bool:
    return (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def spooled(home: Path) -> list[Record]:
    """What waits in the spool; it is taken out."""
    found: list[Record] = []
    Spool(home).ingest(found.append)
    return found


def until(claim: Callable[[], Any], *, seconds: float = 10.0) -> Any:
    deadline = time.monotonic() + seconds
    while not (value := claim()):
        assert time.monotonic() < deadline, "it did not come true in time"
        time.sleep(0.01)
    return value

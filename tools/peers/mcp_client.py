"""The least of an MCP client: start a server, call its tools over stdin and stdout."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

PROTOCOL = "2025-06-18"


class ToolFailed(Exception):
    """The server answered with an error, or no longer answers."""


class McpClient:
    def __init__(self, command: Sequence[str], *, environment: Mapping[str, str], log: Path) -> None:
        self._log = log.open("wb")
        self._server = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log, env=dict(environment)
        )
        self._last = 0
        hello = {"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
        self._ask("initialize", hello)
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    @property
    def pid(self) -> int:
        return self._server.pid

    def call(self, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        result = self._ask("tools/call", {"name": tool, "arguments": arguments})
        if result.get("isError"):
            raise ToolFailed(f"{tool}: {text_of(result)[:200]}")
        return result

    def close(self) -> None:
        if self._server.stdin:
            self._server.stdin.close()
        try:
            self._server.wait(10)
        except subprocess.TimeoutExpired:
            self._server.kill()
            self._server.wait()
        self._log.close()

    def _ask(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        self._last += 1
        self._send({"jsonrpc": "2.0", "id": self._last, "method": method, "params": params})
        assert self._server.stdout is not None
        for line in self._server.stdout:
            answer = json.loads(line)
            if answer.get("id") != self._last:
                continue  # a notification
            if "error" in answer:
                raise ToolFailed(f"{method}: {answer['error'].get('message', '')[:200]}")
            result: dict[str, Any] = answer["result"]
            return result
        raise ToolFailed(f"the server ended with status {self._server.poll()} during {method}")

    def _send(self, message: Mapping[str, Any]) -> None:
        assert self._server.stdin is not None
        try:
            self._server.stdin.write(json.dumps(message).encode() + b"\n")
            self._server.stdin.flush()
        except BrokenPipeError as error:
            raise ToolFailed(f"the server ended with status {self._server.poll()}") from error


def text_of(result: Mapping[str, Any]) -> str:
    return "".join(part.get("text", "") for part in result.get("content", ()))

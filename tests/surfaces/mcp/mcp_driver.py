"""A client of the official SDK as tests use it: one call, one answer, over stdio or over HTTP in this process."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import jsonschema
from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp_types import Implementation

from clew import Clew, Identity
from clew.surfaces.mcp.http import mount_mcp

LEGACY, MODERN = "legacy", "2026-07-28"
URL = "http://localhost/mcp"


@dataclass
class Agent:
    """Whoever calls the tools."""

    client: Client
    portal: BlockingPortal

    def raw(self, tool: str, **arguments: Any) -> Any:
        return self.portal.call(self.client.call_tool, tool, arguments)

    def __call__(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The answer, which must conform to the tool's schema and be there as text as well."""
        result = self.raw(tool, **arguments)
        [text] = result.content
        assert not result.is_error, text.text
        assert json.loads(text.text) == result.structured_content
        jsonschema.validate(result.structured_content, self.schemas[tool])
        answer: dict[str, Any] = result.structured_content
        return answer

    def refused(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The error, which a model can read."""
        result = self.raw(tool, **arguments)
        assert result.is_error, result
        error: dict[str, Any] = json.loads(result.content[0].text)["error"]
        assert error["code"]
        assert error["message"]
        return error

    @property
    def schemas(self) -> dict[str, Any]:
        return {tool.name: tool.output_schema for tool in self.tools}

    @property
    def tools(self) -> list[Any]:
        listed: list[Any] = self.portal.call(self.client.list_tools).tools
        return listed

    def read(self, uri: str) -> str:
        [content] = self.portal.call(self.client.read_resource, uri).contents
        text: str = content.text
        return text

    def prompt(self, name: str, **arguments: str) -> str:
        [message] = self.portal.call(self.client.get_prompt, name, arguments).messages
        text: str = message.content.text
        return text


@contextmanager
def connected(server: Callable[[], Any], mode: str) -> Iterator[Agent]:
    """`server` is made inside the event loop."""
    with start_blocking_portal() as portal:
        name = Implementation(name="test-client", version="1")
        client = Client(server(), mode=mode, client_info=name, cache=None)
        with portal.wrap_async_context_manager(client):
            yield Agent(client, portal)


@contextmanager
def over_http(
    clew: Clew, identity: Identity | Mapping[str, Identity], *, mode: str = MODERN, token: str = ""
) -> Iterator[Agent]:
    """`identity` may depend on the credential; then `token` is ours."""

    def clew_for(scope: Mapping[str, Any]) -> tuple[Clew, Identity]:
        if isinstance(identity, Identity):
            return clew, identity
        given = dict(scope["headers"])[b"authorization"].decode().removeprefix("Bearer ")
        return clew, identity[given]

    app = mount_mcp(clew_for)
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    http = httpx2.AsyncClient(transport=httpx2.ASGITransport(app), headers=headers)
    with connected(lambda: streamable_http_client(URL, http_client=http), mode) as agent:
        yield agent
        agent.portal.call(http.aclose)


@contextmanager
def over_stdio(home: Path, *words: str, mode: str = MODERN) -> Iterator[Agent]:
    environment = {"CLEW_HOME": str(home), "CLEW_EMBED__PROVIDER": "none"}
    command = StdioServerParameters(
        command=sys.executable, args=["-m", "clew", "mcp", *words], env=environment, cwd=home
    )
    with connected(lambda: command, mode) as agent:
        yield agent

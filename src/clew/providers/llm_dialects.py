"""Two interfaces of language models: how each is asked, and where in its answer things stand."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Protocol

from clew.model.llm import REFUSED, TRUNCATED

MAX_OUTPUT_TOKENS = 2_000
NO_KEY = "none"  # the libraries insist on one, and look for others' keys without; it is not sent


class Dialect(Protocol):
    """One interface: how it is asked, and where in its answer things stand."""

    library: str
    home: str  # where the provider's own endpoint is

    def base_of(self, path: str) -> str: ...
    def connect(self, library: Any, base_url: str, http_client: Any) -> Any: ...
    def send(
        self, client: Any, model: str, system: str, user: str, schema: Mapping[str, Any], name: str
    ) -> bytes: ...
    def tokens(self, usage: Mapping[str, Any]) -> tuple[Any, Any]: ...
    def ended_badly(self, answer: Mapping[str, Any]) -> str: ...
    def data(self, answer: Mapping[str, Any]) -> Any: ...


class OpenAiDialect:
    """POST <base>/chat/completions, with the schema as the response's format."""

    library = "openai"
    home = "https://api.openai.com/v1"

    def __init__(self) -> None:
        self._sampling: dict[str, Any] = {"temperature": 0}

    def base_of(self, path: str) -> str:
        return path.removesuffix("/chat/completions")

    def connect(self, library: Any, base_url: str, http_client: Any) -> Any:
        return library.OpenAI(api_key=NO_KEY, base_url=base_url, max_retries=0, http_client=http_client)

    def send(self, client: Any, model: str, system: str, user: str, schema: Mapping[str, Any], name: str) -> bytes:
        request = {
            "model": model,
            "messages": [{"role": "system", "content": system}, {"role": "user", "content": user}],
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": name, "schema": dict(schema), "strict": True},
            },
            "max_completion_tokens": MAX_OUTPUT_TOKENS,
        }
        try:
            return self._post(client, request | self._sampling)
        except Exception as error:
            if getattr(error, "param", None) != "temperature":
                raise
        self._sampling = {}  # models that reason refuse to be told one
        return self._post(client, request)

    def _post(self, client: Any, request: Mapping[str, Any]) -> bytes:
        return bytes(client.chat.completions.with_raw_response.create(**request).http_response.content)

    def tokens(self, usage: Mapping[str, Any]) -> tuple[Any, Any]:
        return usage.get("prompt_tokens"), usage.get("completion_tokens")

    def ended_badly(self, answer: Mapping[str, Any]) -> str:
        choice = answer["choices"][0]
        if choice["message"].get("refusal") or choice.get("finish_reason") == "content_filter":
            return REFUSED
        return TRUNCATED if choice.get("finish_reason") == "length" else ""

    def data(self, answer: Mapping[str, Any]) -> Any:
        """Content is a text, or a list of parts with texts (memories_sh.md 5)."""
        content = answer["choices"][0]["message"]["content"]
        if isinstance(content, list):
            content = "\n".join(part["text"] for part in content if isinstance(part.get("text"), str))
        return parsed(content) if isinstance(content, str) else None


class AnthropicDialect:
    """POST <base>/v1/messages, with a tool that the model has to use and whose input is the answer. Without a
    temperature: since version 2026-10-21 this interface refuses requests that name one."""

    library = "anthropic"
    home = "https://api.anthropic.com"

    def base_of(self, path: str) -> str:
        return path.removesuffix("/messages").removesuffix("/v1")

    def connect(self, library: Any, base_url: str, http_client: Any) -> Any:
        # Without telemetry: a variable of the environment could put whole prompts into its spans.
        return library.Anthropic(
            api_key=NO_KEY, base_url=base_url, max_retries=0, http_client=http_client, open_telemetry=False
        )

    def send(self, client: Any, model: str, system: str, user: str, schema: Mapping[str, Any], name: str) -> bytes:
        raw = client.messages.with_raw_response.create(
            model=model,
            system=system,
            messages=[{"role": "user", "content": user}],
            tools=[{"name": name, "description": "Give the answer.", "input_schema": dict(schema)}],
            tool_choice={"type": "tool", "name": name, "disable_parallel_tool_use": True},
            max_tokens=MAX_OUTPUT_TOKENS,
        )
        return bytes(raw.http_response.content)

    def tokens(self, usage: Mapping[str, Any]) -> tuple[Any, Any]:
        return usage.get("input_tokens"), usage.get("output_tokens")

    def ended_badly(self, answer: Mapping[str, Any]) -> str:
        return {"refusal": REFUSED, "max_tokens": TRUNCATED}.get(answer.get("stop_reason") or "", "")

    def data(self, answer: Mapping[str, Any]) -> Any:
        used = [block for block in answer["content"] if block.get("type") == "tool_use"]
        return used[0]["input"] if used else None


DIALECTS: Mapping[str, type[OpenAiDialect] | type[AnthropicDialect]] = {
    "openai": OpenAiDialect,
    "anthropic": AnthropicDialect,
}


def parsed(text: str | bytes) -> Any:
    """None for what is not JSON; a JSON null is no answer either."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):  # not UTF-8 is a ValueError, too
        return None

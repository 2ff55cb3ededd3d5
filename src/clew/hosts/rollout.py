"""Rollouts of Codex -> the hooks that would have told them. Pure; see `transcript.py`.

A record is `{"timestamp", "type", "payload"}`. What the user typed is told twice, as an event and as an item among
which instructions stand as well: once an event of that kind was seen, items are not believed any more.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from clew.hosts.events import is_session

Raw = Mapping[str, Any]
_CALLS = frozenset({"function_call", "custom_tool_call", "local_shell_call"})
_OUTPUTS = frozenset({"function_call_output", "custom_tool_call_output"})
_PATCH = "*** Begin Patch"


class RolloutReader:
    """One file is one session."""

    def __init__(self) -> None:
        self._session = ""
        self._cwd: object = None
        self._calls: dict[str, dict[str, Any]] = {}
        self._said: tuple[str, object] | None = None
        self._hears_events = False
        self._last: object = None

    def read(self, record: Mapping[str, Any]) -> Iterator[tuple[Raw, object]]:
        payload = record.get("payload")
        told: Mapping[str, Any] = payload if isinstance(payload, Mapping) else {}
        at = self._last = record.get("timestamp")
        if record.get("type") == "session_meta" and not self._session and is_session(told.get("id")):
            self._session, self._cwd = str(told["id"]), told.get("cwd")
            yield self._event("SessionStart", source="startup"), at
        elif record.get("type") == "turn_context":
            self._cwd = told.get("cwd") or self._cwd
        elif self._session and record.get("type") == "event_msg":
            yield from self._message(told, at)
        elif self._session and record.get("type") == "response_item":
            yield from self._item(told, at)

    def finish(self) -> Iterator[tuple[Raw, object]]:
        yield from self._stopped()
        if self._session:
            yield self._event("SessionEnd", reason="other"), self._last

    def _message(self, told: Mapping[str, Any], at: object) -> Iterator[tuple[Raw, object]]:
        if told.get("type") == "user_message" and isinstance(told.get("message"), str):
            self._hears_events = True
            yield from self._stopped()
            yield self._event("UserPromptSubmit", prompt=told["message"]), at
        elif told.get("type") == "agent_message" and isinstance(told.get("message"), str):
            self._said = (told["message"], at)

    def _item(self, told: Mapping[str, Any], at: object) -> Iterator[tuple[Raw, object]]:
        kind, call_id = told.get("type"), str(told.get("call_id") or told.get("id"))
        if kind == "message":
            yield from self._spoken(told, at)
        elif kind in _CALLS:
            self._calls[call_id] = _call(told)
        elif kind in _OUTPUTS and call_id in self._calls:
            call = self._calls.pop(call_id) | {"tool_use_id": call_id, "tool_response": _output(told.get("output"))}
            yield self._event("PostToolUse", **call), at

    def _spoken(self, told: Mapping[str, Any], at: object) -> Iterator[tuple[Raw, object]]:
        content = told.get("content")
        parts = [one for one in content if isinstance(one, Mapping)] if isinstance(content, list) else []
        text = "\n".join(one["text"] for one in parts if isinstance(one.get("text"), str)).strip()
        if text and told.get("role") == "assistant":
            self._said = (text, at)
        elif text and told.get("role") == "user" and not self._hears_events and not text.startswith("<"):
            yield from self._stopped()
            yield self._event("UserPromptSubmit", prompt=text), at

    def _stopped(self) -> Iterator[tuple[Raw, object]]:
        if self._said:
            yield self._event("Stop", last_assistant_message=self._said[0]), self._said[1]
        self._said = None

    def _event(self, name: str, **fields: Any) -> dict[str, Any]:
        return {"hook_event_name": name, "session_id": self._session, "cwd": self._cwd, **fields}


def _call(told: Mapping[str, Any]) -> dict[str, Any]:
    """Tool and input. A patch is an edit, however it was called."""
    if told.get("type") == "local_shell_call":
        action = told.get("action")
        return {"tool_name": "shell", "tool_input": dict(action) if isinstance(action, Mapping) else {}}
    given = _object(told.get("arguments")) if told.get("type") == "function_call" else {"input": told.get("input")}
    patch = next((text for text in _texts(given) if _PATCH in text), None)
    if patch:
        return {"tool_name": "apply_patch", "tool_input": {"patch": patch}}
    return {"tool_name": told.get("name"), "tool_input": given}


def _texts(given: Mapping[str, Any]) -> Iterator[str]:
    for value in given.values():
        yield from (one for one in (value if isinstance(value, list) else [value]) if isinstance(one, str))


def _output(output: object) -> object:
    """The output as an object with its exit code, where it is one."""
    if isinstance(output, str) and output.startswith("{"):
        return _object(output) or output
    return output


def _object(text: object) -> dict[str, Any]:
    try:
        value = json.loads(text) if isinstance(text, str) else text
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}

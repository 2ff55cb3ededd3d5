"""What a host sends -> one HookEvent. Pure; table-driven (`table.py`), one normaliser for every host.

A host may send anything: other fields, other types, broken characters, far too much. Nothing here raises for it.
What is no JSON object, or names no session, is no event (None); an event that nobody knows is of kind `other`.
Texts are cut before anything looks into them, at a line or a word where there is one, so that no half of a secret
is left over.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from hashlib import sha256
from typing import Any

from clew.hosts.table import HOSTS, Host
from clew.model.host import SOURCES, HookEvent
from clew.model.scope import is_encodable

MAX_BYTES = 4 << 20
MAX_TEXT = 32_000  # characters of a prompt, a message, an error, or one text of a tool's input or output
MAX_NAME = 200
MAX_PATH = 4_096
MAX_ITEMS = 64  # of a list or an object
MAX_DEPTH = 4
MAX_CALLS = 64  # of one batch
SLACK = 400  # so many characters more are given up to end at a line or a word
CUT = "\n[...]\n"
OF_AGENTS = ("agent_start", "agent_stop")
SPOKEN = ("cwd", "prompt", "error", "message")  # fields in which a path may stand

_SESSION = re.compile(r"[A-Za-z0-9_-]{1,128}")
# Codex tells it before the output, alone or below a few lines of its own.
_EXIT = re.compile(
    r"\A\W*(?:(?:chunk id|wall time|original token count)\b[^\n]{0,80}\n){0,3}"
    r"(?:process exited with|exit)[ _]code\W{1,3}(-?\d{1,5})\b",
    re.IGNORECASE,
)


def raw_of(raw: bytes | Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The JSON object in what came, or None. Broken characters become question marks."""
    if isinstance(raw, Mapping):
        return raw
    if len(raw) > MAX_BYTES:
        return None
    try:
        value = json.loads(raw.decode("utf-8", "replace").lstrip("\ufeff"))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def event_of(
    host: str, raw: bytes | Mapping[str, Any], *, event_id: str, at: datetime | None = None
) -> HookEvent | None:
    """None for what is no event of a host that we know."""
    table, told = HOSTS.get(host), raw_of(raw)
    if table is None or told is None:
        return None
    given = {field: _first(told, names) for field, names in table.fields.items()}
    name, session = _name(given["event"]), given["host_session"]
    if not name or not is_session(session):
        return None
    output, agent = cut_value(given["tool_output"]), _agent(given["agent_id"])
    kind = _kind(table, name, output)
    if kind in OF_AGENTS and agent is None:  # of whom? The main thread neither starts nor ends by it
        kind = "other"
    return HookEvent(
        host=host,
        kind=kind,
        event=name,
        host_session=session,
        event_id=event_id,
        agent_id=agent,
        agent_type=_name(given["agent_type"]),
        source=_source(kind, given["source"]),
        cwd=_path(given["cwd"]),
        transcript=_path(given["transcript"]),
        prompt=_text(given["prompt"]),
        tool=_name(given["tool"]),
        tool_input=_object(given["tool_input"]),
        tool_output=output,
        tool_use_id=_name(given["tool_use_id"]),
        calls=_calls(table, given["calls"]),
        error=_text(_spoken(given["error"])),
        message=_text(given["message"]),
        reason=_name(given["reason"]),
        is_interrupted=given["is_interrupted"] is True,
        at=at,
    )


def is_session(value: object) -> bool:
    """Whether this may name a session: it becomes part of keys and names, so it is letters, digits and two
    signs."""
    return isinstance(value, str) and _SESSION.fullmatch(value) is not None


def fingerprint(told: Mapping[str, Any]) -> str:
    """The same for the same event told twice under two ids, by a hook that is installed twice."""
    try:
        text = json.dumps(told, sort_keys=True, default=str)
    except (ValueError, RecursionError, TypeError):
        return ""
    return sha256(text.encode("utf-8", "replace")).hexdigest()[:32]


def respelled(event: HookEvent, *, linked: str, root: str) -> HookEvent:
    """The paths of an event as its repository spells them, where the host came there through a link."""
    spelled = partial(re.compile(rf"(?<![\w./-]){re.escape(linked)}(?![\w.-])").sub, lambda _found: root)
    texts: dict[str, Any] = {name: spelled(text) for name in SPOKEN if (text := getattr(event, name))}
    return replace(
        event,
        **texts,
        tool_input=_each_text(event.tool_input, spelled),
        tool_output=_each_text(event.tool_output, spelled),
    )


def _each_text(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {key: _each_text(one, change) for key, one in value.items()}
    return [_each_text(one, change) for one in value] if isinstance(value, list) else value


def exit_code(output: object) -> int | None:
    """What a command ended with, where its output says so."""
    if isinstance(output, Mapping):
        found = next((output[key] for key in ("exit_code", "exitCode", "code") if key in output), None)
        if found is None and isinstance(output.get("metadata"), Mapping):
            found = output["metadata"].get("exit_code")
        return found if isinstance(found, int) and not isinstance(found, bool) else None
    if isinstance(output, str) and (stated := _EXIT.match(output[:SLACK])):
        return int(stated[1])
    return None


# -- single fields -----------------------------------------------------------------------------------


def _first(told: Mapping[str, Any], names: Sequence[str]) -> Any:
    return next((told[name] for name in names if told.get(name) is not None), None)


def _kind(table: Host, name: str, output: object) -> str:
    kind = table.kinds.get(name, "other")
    return "tool_failure" if kind == "tool_end" and table.fails_in_output and _failed(output) else kind


def _failed(output: object) -> bool:
    if isinstance(output, Mapping) and (output.get("success") is False or output.get("is_error") is True):
        return True
    return exit_code(output) not in (None, 0)


def _agent(value: object) -> str | None:
    """A subagent whose name cannot be a key is still one: what is its must not be the main thread's."""
    if value is None or value == "":
        return None
    if isinstance(value, str) and is_session(value):
        return value
    return "x" + sha256(str(value)[:MAX_TEXT].encode("utf-8", "replace")).hexdigest()[:32]


def _source(kind: str, value: object) -> str | None:
    """A start of a kind that we do not know is treated as one that resumes: nothing comes twice."""
    if kind != "session_start":
        return None
    return value if isinstance(value, str) and value in SOURCES else "startup" if value is None else "resume"


def _name(value: object) -> str | None:
    if not isinstance(value, str):
        return None
    shown = "".join(char for char in _clean(value[:MAX_NAME]) if char.isprintable()).strip()
    return shown or None


def _path(value: object) -> str | None:
    if not isinstance(value, str) or len(value) > MAX_PATH or "\0" in value or not is_encodable(value):
        return None
    return value or None


def _text(value: object) -> str | None:
    return cut_text(value) or None if isinstance(value, str) else None


def _spoken(error: object) -> object:
    """An error as text, also where a host sends an object."""
    if isinstance(error, Mapping):
        return next((error[key] for key in ("message", "error", "type") if isinstance(error.get(key), str)), None)
    return error


def _object(value: object) -> Mapping[str, Any]:
    cut = cut_value(value)
    if isinstance(cut, dict):
        return cut
    return {"input": cut} if isinstance(cut, str) and cut else {}


def _calls(table: Host, value: object) -> tuple[Mapping[str, Any], ...]:
    """Each with `tool`, `tool_input`, `tool_output` and `tool_use_id`."""
    if not isinstance(value, list):
        return ()
    return tuple(_call(table, one) for one in value[:MAX_CALLS] if isinstance(one, Mapping))


def _call(table: Host, one: Mapping[str, Any]) -> Mapping[str, Any]:
    tool = _first(one, (*table.fields["tool"], "name"))
    return {
        "tool": _name(tool),
        "tool_input": _object(_first(one, (*table.fields["tool_input"], "input"))),
        "tool_output": cut_value(_first(one, (*table.fields["tool_output"], "response", "output"))),
        "tool_use_id": _name(_first(one, (*table.fields["tool_use_id"], "id"))),
    }


# -- cutting -----------------------------------------------------------------------------------------


def cut_text(text: str, most: int = MAX_TEXT) -> str:
    """Beginning and end: what went wrong stands at the end. Can be stored whatever came."""
    if len(text) > most:
        half = most // 2
        text = f"{_until_space(text[:half])}{CUT}{_from_space(text[-half:])}"
    return _clean(text)


def cut_value(value: Any, depth: int = MAX_DEPTH) -> Any:
    """JSON of any size, with a bounded number of bounded texts."""
    if isinstance(value, str):
        return cut_text(value)
    if isinstance(value, Mapping):
        pairs = list(value.items())[:MAX_ITEMS] if depth else []
        return {_clean(str(key)[:MAX_NAME]): cut_value(one, depth - 1) for key, one in pairs}
    if isinstance(value, list | tuple):
        return [cut_value(one, depth - 1) for one in value[:MAX_ITEMS]] if depth else []
    return value if value is None or isinstance(value, bool | int | float) else None


def _until_space(text: str) -> str:
    end = max(text.rfind("\n", len(text) - SLACK), text.rfind(" ", len(text) - SLACK))
    return text[:end] if end > 0 else text


def _from_space(text: str) -> str:
    starts = [at for at in (text.find("\n", 0, SLACK), text.find(" ", 0, SLACK)) if at >= 0]
    return text[min(starts) + 1 :] if starts else text


def _clean(text: str) -> str:
    return text if is_encodable(text) else text.encode("utf-8", "replace").decode("utf-8")

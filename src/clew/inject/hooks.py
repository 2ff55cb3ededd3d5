"""What an agent's hooks tell about a tool call, as a VerbEvent. Pure.

Every text is cut before a regular expression sees it: nobody may make the injector slow by a long command.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from itertools import islice
from typing import Any

from clew.model.inject import MAX_QUERY_BYTES, MEMORY_SCOPES, VerbEvent

# The documented names, of hooks and of the bus. An activity that carries an error is a failure whatever its kind.
PHASE_OF_KIND = {
    "pre-tool-use": "pre",
    "pre-verb": "pre",
    "post-tool-use": "post",
    "post-verb": "post",
    "tool-use-error": "failure",
    "verb-error": "failure",
}
PATH_KEYS = ("file_path", "path", "notebook_path")
QUERY_KEYS = ("pattern", "query", "command", "prompt")
TEXT_KEYS = ("command", "patch", "input", "diff")  # where paths may stand among other things
MAX_QUERY_CHARS = 200  # rensei.md 2.9
MAX_PATHS = 8

_PATCHED = re.compile(r"^(?:\*\*\* (?:Add|Update|Delete) File: |\+\+\+ (?:b/)?)(\S[^\n\t]*)", re.MULTILINE)
# Something with a folder or a known kind of ending; options and addresses are no paths. Whatever may stand in a
# path is in the look-behind too: else a long row of it is tried anew from each of its characters.
_PATH = re.compile(r"(?<![\w./:@=+-])((?:\.{0,2}/)?(?:[\w.@+-]+/)+[\w.@+-]+|[\w+-]+\.[A-Za-z]\w{0,5})(?![\w/:])")
_TROUBLE = re.compile(
    r"error|exception|fail|fatal|panic|denied|refused|not found|cannot|can't|undefined|unresolved", re.I
)


def event_of_hook(hook: Mapping[str, Any]) -> VerbEvent | None:
    """None for what is no tool call, or says too little to be one."""
    phase = PHASE_OF_KIND.get(_text(hook, "kind", "phase", "type"))
    session, tool = _text(hook, "sessionId", "session_id"), _text(hook, "toolName", "tool")
    if phase is None or not session or not tool:
        return None
    if hook.get("isError") is True and phase == "post":
        phase = "failure"
    given = hook.get("toolInput")
    tool_input: Mapping[str, Any] = given if isinstance(given, Mapping) else {}
    scope = _text(hook, "memoryScope")
    return VerbEvent(
        session=session,
        tool=tool,
        phase=phase,
        event_id=_text(hook, "toolUseId", "event_id"),
        agent=_text(hook, "agentId") or None,
        project=_text(hook, "projectId") or None,
        paths=_within(_text(hook, "cwd"), _listed(hook.get("paths")) or paths_of_input(tool_input)),
        query=_query(hook, tool_input, phase),
        ok=None if phase == "pre" else phase == "post",
        memory_scope=scope if scope in MEMORY_SCOPES else None,
        memory_namespace=_text(hook, "memoryNamespace") or None,
        at=_moment(hook.get("emittedAt")),
    )


def paths_of_input(tool_input: Mapping[str, Any]) -> tuple[str, ...]:
    """Named ones first, then those of a patch, then whatever looks like one in a command."""
    named = (value[:1_000] for key in PATH_KEYS if isinstance(value := tool_input.get(key), str) and value)
    found = [path for key in TEXT_KEYS for path in paths_in(cut(tool_input.get(key)))]
    return tuple(islice(dict.fromkeys([*named, *found]), MAX_PATHS))


def paths_in(text: str) -> Iterator[str]:
    patched = [path.strip() for path in _PATCHED.findall(text)]
    yield from patched or _PATH.findall(text)


def error_line(output: object) -> str | None:
    """The line that says what went wrong: the last one that sounds like it, else the last one."""
    text = output if isinstance(output, str) else " ".join(_strings(output))
    lines = [line.strip() for line in _tail(text).splitlines() if line.strip()]
    telling = [line for line in lines if _TROUBLE.search(line)] or lines
    return telling[-1][:MAX_QUERY_CHARS] if telling else None


def cut(text: object) -> str:
    """At most 4 kB that can be stored, never half a character."""
    if not isinstance(text, str):
        return ""
    if text.isascii():
        return text[:MAX_QUERY_BYTES]
    return text[:MAX_QUERY_BYTES].encode("utf-8", "ignore")[:MAX_QUERY_BYTES].decode("utf-8", "ignore")


def _query(hook: Mapping[str, Any], tool_input: Mapping[str, Any], phase: str) -> str | None:
    if phase == "failure" and (line := error_line(hook.get("error") or hook.get("toolOutput"))):
        return line
    given = [hook.get("query"), *(tool_input.get(key) for key in QUERY_KEYS)]
    told = (one[:MAX_QUERY_CHARS] for one in given if isinstance(one, str) and one.strip())
    return next((one for one in told if not _PATCHED.search(one)), None)  # of a patch its files are asked for


def _tail(text: str) -> str:
    return text[-MAX_QUERY_BYTES:]  # what went wrong stands at the end


def _strings(value: object) -> Iterable[str]:
    """The texts of a tool's structured output, one level deep."""
    if isinstance(value, Mapping):
        return [part for part in value.values() if isinstance(part, str)]
    return [part for part in value if isinstance(part, str)] if isinstance(value, list) else []


def _listed(value: object) -> tuple[str, ...]:
    if not isinstance(value, list | tuple):
        return ()
    return tuple(path[:1_000] for path in value[:MAX_PATHS] if isinstance(path, str) and path)


def _within(directory: str, paths: tuple[str, ...]) -> tuple[str, ...]:
    """As the project knows them, where the hook says in which directory it runs."""
    here = directory.rstrip("/\\") + "/"
    return tuple(path.removeprefix(here) if directory else path for path in paths)


def _text(hook: Mapping[str, Any], *names: str) -> str:
    return next((value[:1_000] for name in names if isinstance(value := hook.get(name), str)), "")


def _moment(value: object) -> datetime | None:
    """`emittedAt` is documented as milliseconds."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return datetime.fromtimestamp(value / 1_000, UTC)
    except (OverflowError, OSError, ValueError):
        return None

"""An event of a host -> the verb event that the injector looks at. Pure; None for what has nothing to look for."""

from __future__ import annotations

from clew.hosts.ignore import is_ignored
from clew.hosts.reduce import names_ignored, runs_outside, told_words, what_went_wrong
from clew.inject.hooks import event_of_hook
from clew.model.host import Around, HookEvent
from clew.model.inject import VerbEvent

MAX_ASKED = 400  # characters of a prompt
# Whoever asks Clew is answered by it: a hint about the question would say the same again.
OUR_TOOLS = ("mcp__clew__", "mcp__plugin_clew_")
_KIND = {"tool_start": "pre-tool-use", "tool_end": "post-tool-use", "tool_failure": "tool-use-error"}
LOOKED_AT = frozenset({"prompt", *_KIND})


def verb_event_of(event: HookEvent, session: str, around: Around) -> VerbEvent | None:
    """About our `session`. Nothing is looked for that touches an ignored path: what is asked is logged."""
    verb = _of_prompt(event, session, around) if event.kind == "prompt" else _of_tool(event, session, around)
    if verb is None or any(is_ignored(path, around.ignored) for path in verb.paths):
        return None
    return None if names_ignored(verb.query or "", event, around) else verb


def _of_prompt(event: HookEvent, session: str, around: Around) -> VerbEvent | None:
    asked = " ".join(told_words(event.prompt, event, around).split())[:MAX_ASKED]
    if not asked or asked.startswith("/"):
        return None
    return VerbEvent(session=session, tool=event.event, phase="pre", event_id=event.event_id, query=asked)


def _of_tool(event: HookEvent, session: str, around: Around) -> VerbEvent | None:
    if event.kind not in _KIND or not event.tool or _asks_clew(event) or runs_outside(event, around):
        return None
    return event_of_hook(
        {
            "kind": _KIND[event.kind],
            "sessionId": session,
            "toolName": event.tool,
            "toolUseId": event.tool_use_id or event.event_id,
            "toolInput": event.tool_input,
            # As it is remembered: what a test runner prints last is the same for every failure.
            "error": what_went_wrong(event) if event.kind == "tool_failure" else None,
            "cwd": around.root or event.cwd or "",
        }
    )


def _asks_clew(event: HookEvent) -> bool:
    command = event.tool_input.get("command")
    is_command = isinstance(command, str) and command[:100].lstrip().startswith("clew ")
    return is_command or (event.tool or "").startswith(OUR_TOOLS)

"""Our entries in the hooks of a host's file, put in and taken out. Pure: text in, text out.

Ours is what calls `clew_hook.py` or `clew hook`, wherever it stands. Nothing else is touched. What is as it should
be stays as it is, so a second time changes no byte; what only we had put there goes when we go.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any

from clew.errors import Conflict, InvalidInput
from clew.surfaces.hooks import json_text

CLIENT = "clew_hook.py"
HOOKS = "hooks"
NEW = "{}\n"


def with_hooks(text: str, groups: Mapping[str, dict[str, Any]]) -> str:
    """The text with exactly these entries of ours, one per event."""
    document = document_of(text)
    edited = text
    for event in dict.fromkeys([*document.get(HOOKS, {}), *groups]):
        wanted = groups.get(event)
        if not _is_as_wanted(_groups(document_of(edited), event), wanted):
            edited = _without_event(edited, event)
            edited = edited if wanted is None else _with_group(edited, event, wanted)
    _check(text, edited)
    return edited


def without_hooks(text: str) -> str:
    """The text without any entry of ours."""
    return with_hooks(text, {})


def has_hooks(text: str) -> bool:
    document = document_of(text)
    return any(_own(_groups(document, event)) for event in document.get(HOOKS, {}))


def has_hooks_in(text: str | None) -> bool:
    """The same of any text, also one that is no document."""
    try:
        return bool(text) and has_hooks(text or "")
    except (InvalidInput, Conflict):
        return False


def document_of(text: str) -> dict[str, Any]:
    """The file as a value, or a refusal: what is not understood is not changed."""
    try:
        document = json.loads(text.removeprefix("\ufeff"))
    except json.JSONDecodeError as error:
        raise _odd(f"is not valid JSON (line {error.lineno}, column {error.colno})") from None
    except (ValueError, RecursionError):
        raise _odd("is not valid JSON") from None
    if not isinstance(document, dict) or not isinstance(document.get(HOOKS, {}), dict):
        raise _odd("does not hold an object with an object 'hooks'")
    for event, groups in document.get(HOOKS, {}).items():
        if not isinstance(groups, list) or not all(isinstance(group, dict) for group in groups):
            raise _odd(f"has no list of entries for the event {event[:40]!r}")
    return document


def _odd(what: str) -> InvalidInput:
    return InvalidInput(
        f"the file {what}", code="HOST_FILE_ODD", next="correct the file or move it away, then run this again"
    )


# -- which are ours ----------------------------------------------------------------------------------


def is_ours(handler: Any) -> bool:
    if not isinstance(handler, dict) or not isinstance(handler.get("command"), str):
        return False
    words = words_of(handler)
    names = [PurePath(word.replace("\\", "/")).name for word in words]
    return CLIENT in names or (names[:1] in (["clew"], ["clew.exe"]) and words[1:2] == ["hook"])


def words_of(handler: Mapping[str, Any]) -> list[str]:
    """What a handler has the host run."""
    args = handler.get("args")
    if isinstance(args, list):
        return [handler["command"], *(str(word) for word in args)]
    try:
        return shlex.split(handler["command"])
    except ValueError:
        return list(handler["command"].split())


def _groups(document: Mapping[str, Any], event: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = document.get(HOOKS, {}).get(event, [])
    return found


def _own(groups: list[dict[str, Any]]) -> list[tuple[int, int]]:
    """(entry, handler) of each of ours."""
    return [
        (at, number)
        for at, group in enumerate(groups)
        for number, handler in enumerate(_handlers(group))
        if is_ours(handler)
    ]


def _handlers(group: Mapping[str, Any]) -> list[Any]:
    found = group.get("hooks")
    return found if isinstance(found, list) else []


def _is_as_wanted(groups: list[dict[str, Any]], wanted: dict[str, Any] | None) -> bool:
    own = _own(groups)
    return not own if wanted is None else len(own) == 1 and groups[own[0][0]] == wanted


# -- edits -------------------------------------------------------------------------------------------


def _with_group(text: str, event: str, group: dict[str, Any]) -> str:
    document = document_of(text)
    if HOOKS not in document:
        return json_text.add(text, (), HOOKS, {event: [group]})
    if event not in document[HOOKS]:
        return json_text.add(text, (HOOKS,), event, [group])
    return json_text.add(text, (HOOKS, event), None, group)


def _without_event(text: str, event: str) -> str:
    while own := _own(groups := _groups(document_of(text), event)):
        at, number = own[-1]
        is_alone = len(_handlers(groups[at])) == 1
        text = json_text.remove(text, (HOOKS, event, at) if is_alone else (HOOKS, event, at, "hooks", number))
        text = _without_empty(text, event)
    return text


def _without_empty(text: str, event: str) -> str:
    if not _groups(document_of(text), event):
        text = json_text.remove(text, (HOOKS, event))
        if not document_of(text)[HOOKS]:
            text = json_text.remove(text, (HOOKS,))
    return text


def _check(before: str, after: str) -> None:
    """Whatever the edit was, everybody else's entries are what they were."""
    if _others(document_of(before)) != _others(document_of(after)):
        raise Conflict(
            "the file cannot be edited without changing entries of others",
            code="HOST_FILE_ODD",
            next="add the entries by hand: clew install HOST --dry-run --json lists them",
        )


def _others(document: dict[str, Any]) -> dict[str, Any]:
    events = {event: list(_others_of(groups)) for event, groups in document.get(HOOKS, {}).items()}
    return {**document, HOOKS: {event: groups for event, groups in events.items() if groups}}


def _others_of(groups: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for group in groups:
        rest = [handler for handler in _handlers(group) if not is_ours(handler)]
        if rest or not _handlers(group):
            yield {**group, "hooks": rest} if _handlers(group) else group

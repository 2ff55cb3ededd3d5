"""Transcripts that hosts leave behind -> the hooks that would have told them -> the same facts and drafts.

In: the lines of a file (Claude Code: one record per line; Codex: a rollout). Out: drafts. What a line says is data:
no path in it is followed, nothing in it is run. Unknown records are passed over, so are broken ones and a last line
that was cut off; the same record twice counts once. Nothing here raises for what a file holds.

A transcript may have been written by anybody who can write files here, so it cannot vouch for its user: what it
says has the origin `import:...` and the trust of an imported file.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace
from datetime import datetime
from hashlib import sha256
from typing import Any

from clew.errors import InvalidInput
from clew.hosts.capture import Captured, Fact, drafts_of, facts_of, standing
from clew.hosts.events import event_of, is_session
from clew.hosts.rollout import RolloutReader
from clew.model.host import Around
from clew.model.memory import Draft
from clew.model.times import parse_time
from clew.values import dataclass

Raw = Mapping[str, Any]
CLAUDE_CODE, CODEX = "claude-code", "codex"
SNIFFED_LINES = 20
_RECORDS = frozenset(
    {"user", "assistant", "system", "summary", "file-history-snapshot", "queue-operation", "progress"}
)
_ITEMS = frozenset({"session_meta", "response_item", "event_msg", "turn_context", "compacted"})


def host_of(start: bytes) -> str | None:
    """Whose transcript a file is, by how it begins; None for any other file."""
    for line in start.split(b"\n")[:SNIFFED_LINES]:
        record = _record(line)
        kind = record.get("type")
        if kind in _RECORDS and any(
            isinstance(record.get(key), str) for key in ("sessionId", "leafUuid", "messageId")
        ):
            return CLAUDE_CODE
        if kind in _ITEMS and isinstance(record.get("payload"), dict):
            return CODEX
    return None


@dataclass(slots=True)
class Transcript:
    """One file, line by line. `add` what was read, then ask for the `drafts`."""

    host: str
    now: datetime
    around: Around = field(default_factory=Around)  # with a root, only sessions that began there are taken
    lines: int = 0
    broken: list[int] = field(default_factory=list)  # numbers of lines that hold no record
    elsewhere: set[str] = field(default_factory=set)  # sessions of other places
    _facts: dict[str, list[Fact]] = field(default_factory=dict)
    _roots: dict[str, str | None] = field(default_factory=dict)
    _reader: ClaudeReader | RolloutReader | None = None

    def add(self, number: int, line: bytes, *, is_last: bool = False) -> None:
        self.lines += 1
        record = _record(line)
        if not record:
            if not is_last:  # a host that still writes leaves half a line
                self.broken.append(number)
            return
        reader = self._reader = self._reader or (ClaudeReader() if self.host == CLAUDE_CODE else RolloutReader())
        self._take(reader.read(record))

    def drafts(self) -> list[Draft]:
        """Every session of the file ends with it."""
        if self._reader:
            self._take(self._reader.finish())
        made = ((session, one) for session, facts in self._facts.items() for one in standing(drafts_of(facts)))
        return [_imported(one, self.host, session) for session, one in made]

    @property
    def sessions(self) -> int:
        return len(self._facts)

    def _take(self, told: Iterable[tuple[Raw, object]]) -> None:
        for raw, at in told:
            event = event_of(self.host, raw, event_id="")
            if event is None:
                continue
            root = self._roots.setdefault(event.host_session, event.cwd)
            if not _is_within(root, self.around.root):
                self.elsewhere.add(event.host_session)
                continue
            known = self._facts.setdefault(event.host_session, [])
            if facts := facts_of(event, replace(self.around, root=self.around.root or root)):
                known.append(Fact(f"{len(known):032x}", self._moment(at, known), facts, event.agent_id))

    def _moment(self, value: object, known: list[Fact]) -> datetime:
        """A time that cannot be read is that of what came before; nothing happened in the future."""
        try:
            return min(parse_time(value), self.now) if isinstance(value, str) else _before(known, self.now)
        except InvalidInput:
            return _before(known, self.now)


def _imported(one: Captured, host: str, session: str) -> Draft:
    told = {**one.draft.metadata, "host": host, "host_session": session}
    return replace(one.draft, origin=f"import:{one.draft.origin}", metadata=told)


class ClaudeReader:
    """Claude Code: prompts, calls with their results by id, and the last thing said before the next prompt."""

    def __init__(self) -> None:
        self._seen: set[bytes] = set()
        self._calls: dict[str, Mapping[str, Any]] = {}
        self._said: dict[tuple[str, str], tuple[Raw, str, object]] = {}  # by session and agent
        self._started: set[str] = set()

    def read(self, record: Mapping[str, Any]) -> Iterator[tuple[Raw, object]]:
        session, kind = record.get("sessionId"), record.get("type")
        if kind not in ("user", "assistant") or not is_session(session) or self._is_known(record):
            return
        at = record.get("timestamp")
        common = self._common(record)
        if session not in self._started:
            self._started.add(str(session))
            yield {**common, "agent_id": None, "hook_event_name": "SessionStart", "source": "startup"}, at
        blocks = _blocks(record)
        if kind == "assistant":
            self._assistant(common, blocks, at)
        else:
            yield from self._user(record, common, blocks, at)

    def finish(self) -> Iterator[tuple[Raw, object]]:
        for raw, text, at in self._said.values():
            yield _stop(raw, text), at
        ended = {str(raw["session_id"]): at for raw, _text, at in self._said.values()}
        for session in sorted(self._started):
            yield {"session_id": session, "hook_event_name": "SessionEnd", "reason": "other"}, ended.get(session)
        self._said = {}

    def _is_known(self, record: Mapping[str, Any]) -> bool:
        uuid = record.get("uuid")
        if not isinstance(uuid, str):
            return False
        key = sha256(f"{record.get('sessionId')}\n{uuid}".encode("utf-8", "replace")).digest()[:16]
        known = key in self._seen
        self._seen.add(key)
        return known

    def _common(self, record: Mapping[str, Any]) -> dict[str, Any]:
        agent = record.get("agentId") or "sidechain" if record.get("isSidechain") is True else None
        return {"session_id": record["sessionId"], "cwd": record.get("cwd"), "agent_id": agent}

    def _assistant(self, common: dict[str, Any], blocks: list[Mapping[str, Any]], at: object) -> None:
        for block in blocks:
            if block.get("type") == "tool_use" and isinstance(block.get("id"), str):
                self._calls[block["id"]] = block
        text = _text_of(blocks)
        if text:
            self._said[(str(common["session_id"]), str(common["agent_id"] or ""))] = (common, text, at)

    def _user(
        self, record: Mapping[str, Any], common: dict[str, Any], blocks: list[Mapping[str, Any]], at: object
    ) -> Iterator[tuple[Raw, object]]:
        for block in blocks:
            if block.get("type") == "tool_result":
                call = self._calls.pop(str(block.get("tool_use_id")), None)
                if call is not None:
                    yield {**common, **_result(call, block)}, at
        text = _text_of(blocks)
        is_spoken = not (record.get("isMeta") or record.get("isCompactSummary") or common["agent_id"])
        if text and is_spoken:  # what a subagent is told are not the user's words
            said = self._said.pop((str(common["session_id"]), ""), None)
            if said:
                yield _stop(said[0], said[1]), said[2]
            yield {**common, "hook_event_name": "UserPromptSubmit", "prompt": text}, at


def _stop(common: Raw, text: str) -> Raw:
    name = "SubagentStop" if common.get("agent_id") else "Stop"
    return {**common, "hook_event_name": name, "last_assistant_message": text}


def _result(call: Mapping[str, Any], block: Mapping[str, Any]) -> dict[str, Any]:
    output = block.get("content")
    text = output if isinstance(output, str) else _text_of(_dicts(output))
    told = {"tool_name": call.get("name"), "tool_input": call.get("input"), "tool_use_id": call.get("id")}
    if block.get("is_error") is True:
        return told | {"hook_event_name": "PostToolUseFailure", "error": text}
    return told | {"hook_event_name": "PostToolUse", "tool_response": text}


def _blocks(record: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    message = record.get("message")
    content = message.get("content") if isinstance(message, Mapping) else None
    return [{"type": "text", "text": content}] if isinstance(content, str) else _dicts(content)


def _dicts(value: object) -> list[Mapping[str, Any]]:
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []


def _text_of(blocks: Iterable[Mapping[str, Any]]) -> str:
    texts = (block.get("text") for block in blocks if block.get("type") == "text")
    return "\n".join(text for text in texts if isinstance(text, str)).strip()


def _before(known: list[Fact], now: datetime) -> datetime:
    return known[-1].at if known else now


def _is_within(place: str | None, root: str | None) -> bool:
    return root is None or (place is not None and f"{place.rstrip('/')}/".startswith(f"{root.rstrip('/')}/"))


def _record(line: bytes) -> dict[str, Any]:
    try:
        value = json.loads(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}

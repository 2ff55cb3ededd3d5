"""The hosts that `clew install` knows: where their hooks are configured, which events, and how a hook is written.

Claude Code starts a program with arguments; no shell is asked, so no path needs quotes. Codex knows only one line
for the shell. Timeouts are in seconds. The client gives up before each of them; Codex allows a session's end 3 s.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from clew.values import dataclass

Handler = dict[str, Any]


@dataclass(frozen=True, slots=True)
class HostFiles:
    """`variable` names the directory of the user's configuration when it is not `folder` under the home."""

    name: str
    folder: str
    variable: str
    file: str
    timeouts: Mapping[str, int]
    handler: Callable[[Sequence[str], int], Handler]
    starts: str  # the matcher of a session's start

    def groups(self, words: Sequence[str]) -> dict[str, dict[str, Any]]:
        """For each event the entry that calls these words."""
        return {event: self._group(event, words, timeout) for event, timeout in self.timeouts.items()}

    def _group(self, event: str, words: Sequence[str], timeout: int) -> dict[str, Any]:
        matcher = {"matcher": self.starts} if event == "SessionStart" else {}
        return {**matcher, "hooks": [self.handler(words, timeout)]}


def _exec_form(words: Sequence[str], timeout: int) -> Handler:
    return {"type": "command", "command": words[0], "args": list(words[1:]), "timeout": timeout}


def _shell_form(words: Sequence[str], timeout: int) -> Handler:
    return {"type": "command", "command": shlex.join(words), "timeout": timeout}


_SHARED = {"SessionStart": 5, **dict.fromkeys(("UserPromptSubmit", "PreToolUse", "PostToolUse"), 2)}
_AGENTS = dict.fromkeys(("SubagentStart", "SubagentStop", "Stop", "PreCompact", "SessionEnd"), 2)
CLAUDE_CODE = HostFiles(
    name="claude-code",
    folder=".claude",
    variable="CLAUDE_CONFIG_DIR",
    file="settings.json",
    timeouts={**_SHARED, "PostToolUseFailure": 2, "PostToolBatch": 2, **_AGENTS},
    handler=_exec_form,
    starts="startup|resume|clear|compact|fork",
)
CODEX = HostFiles(
    name="codex",
    folder=".codex",
    variable="CODEX_HOME",
    file="hooks.json",
    timeouts={**_SHARED, **_AGENTS},
    handler=_shell_form,
    starts="startup|resume|clear|compact",
)
HOSTS: Mapping[str, HostFiles] = {host.name: host for host in (CLAUDE_CODE, CODEX)}

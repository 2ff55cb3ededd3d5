"""The hosts that Clew understands, each as one row of a table: what its events are to us, and what it accepts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from types import MappingProxyType

from clew.values import dataclass

# Where the fields of an event stand in what a host sends; the first name that is there counts. Both hosts use the
# same names so far, so one table serves both; a host that differs brings its own.
FIELDS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "event": ("hook_event_name",),
        "host_session": ("session_id",),
        "agent_id": ("agent_id",),
        "agent_type": ("agent_type",),
        "source": ("source",),
        "cwd": ("cwd",),
        "transcript": ("transcript_path",),
        "prompt": ("prompt",),
        "tool": ("tool_name",),
        "tool_input": ("tool_input",),
        "tool_output": ("tool_response", "tool_output"),
        "tool_use_id": ("tool_use_id",),
        "calls": ("tool_calls",),
        "error": ("error",),
        "message": ("last_assistant_message", "compact_summary"),
        "reason": ("reason", "trigger"),
        "is_interrupted": ("is_interrupt",),
    }
)
KINDS: Mapping[str, str] = MappingProxyType(
    {
        "SessionStart": "session_start",
        "UserPromptSubmit": "prompt",
        "PreToolUse": "tool_start",
        "PostToolUse": "tool_end",
        "SubagentStart": "agent_start",
        "SubagentStop": "agent_stop",
        "Stop": "stop",
        "PreCompact": "compact",
        "PostCompact": "compact",
        "SessionEnd": "session_end",
    }
)
# Kinds at which a host shows its agent what a hook says. Never where a tool starts: of 3,132 texts printed there
# none was seen by the model. Never where a turn ends: a text there makes the agent go on.
POINTS = frozenset({"session_start", "prompt", "tool_batch", "tool_end", "tool_failure", "agent_start"})


@dataclass(frozen=True, slots=True)
class Host:
    """One host. `kinds` by the names of its events. `batch` is its event after all tools of a turn, if it has one:
    where it fires, the end of a single tool is no place to say something. `max_chars` of a text that it shows in
    full. `shows` are the events that take a text. `transcripts`: (variable, folder) where its transcripts lie;
    without a variable from the home directory."""

    name: str
    kinds: Mapping[str, str]
    shows: frozenset[str]
    max_chars: int
    transcripts: tuple[tuple[str, str], ...]
    batch: str | None = None
    # A host without an event for failures says it in the output of the tool, or does not say it at all.
    fails_in_output: bool = False
    fields: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: FIELDS)


CLAUDE_CODE = Host(
    name="claude-code",
    kinds=MappingProxyType({**KINDS, "PostToolUseFailure": "tool_failure", "PostToolBatch": "tool_batch"}),
    shows=frozenset(
        {"SessionStart", "UserPromptSubmit", "PostToolUse", "PostToolUseFailure", "PostToolBatch", "SubagentStart"}
    ),
    max_chars=10_000,  # more is put into a file, of which the agent sees the beginning
    transcripts=(("CLAUDE_CONFIG_DIR", "projects"), ("", ".claude/projects")),
    batch="PostToolBatch",
)
CODEX = Host(
    name="codex",
    kinds=KINDS,
    shows=frozenset({"SessionStart", "UserPromptSubmit", "PostToolUse", "SubagentStart"}),
    max_chars=10_000,  # 2,500 tokens, then the same
    transcripts=(("CODEX_HOME", "sessions"), ("", ".codex/sessions")),
    fails_in_output=True,
)
HOSTS: Mapping[str, Host] = MappingProxyType({host.name: host for host in (CLAUDE_CODE, CODEX)})

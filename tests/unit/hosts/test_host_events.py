"""What hosts send becomes one kind of event, whatever they send."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.hosts.events import MAX_BYTES, MAX_TEXT, event_of, fingerprint, is_session, raw_of
from clew.hosts.table import HOSTS
from clew.model.host import KINDS, HookEvent
from fake_host import all_recorded, recorded

EXPECTED = {
    "SessionStart": "session_start", "UserPromptSubmit": "prompt", "PreToolUse": "tool_start",
    "PostToolUse": "tool_end", "PostToolUseFailure": "tool_failure", "PostToolBatch": "tool_batch",
    "SubagentStart": "agent_start", "SubagentStop": "agent_stop", "Stop": "stop", "PreCompact": "compact",
    "PostCompact": "compact", "SessionEnd": "session_end",
}  # fmt: skip
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


def normalised(host: str, raw: Any) -> HookEvent:
    event = event_of(host, raw, event_id="e1")
    assert event is not None
    return event


@pytest.mark.parametrize(("host", "name"), all_recorded())
def test_every_recorded_event_is_understood(host: str, name: str) -> None:
    raw = recorded(host, name)
    event = normalised(host, json.dumps(raw).encode())
    expected = "tool_failure" if ".failed" in name else EXPECTED.get(name.partition(".")[0], "other")
    assert (event.kind, event.event, event.host_session) == (expected, raw["hook_event_name"], raw["session_id"])
    assert event.cwd == "/home/dev/shop"
    assert event.agent_id == raw.get("agent_id")
    assert event.kind in KINDS


def test_a_tool_call_is_told_with_its_input_and_output() -> None:
    event = normalised("claude-code", recorded("claude-code", "PostToolUse"))
    assert (event.tool, event.tool_use_id) == ("Edit", "toolu_01A")
    assert event.tool_input["file_path"] == "/home/dev/shop/src/pay/retry.py"
    assert event.tool_output["success"] is True


def test_a_batch_is_told_call_by_call() -> None:
    event = normalised("claude-code", recorded("claude-code", "PostToolBatch"))
    assert [(call["tool"], call["tool_use_id"]) for call in event.calls] == [
        ("Edit", "toolu_01A"),
        ("Bash", "toolu_01B"),
    ]
    assert event.calls[1]["tool_output"] == "2 passed"
    assert event.calls[1]["tool_input"]["command"] == "pytest tests/pay -q"


def test_a_start_says_how_the_session_began() -> None:
    for name in ("startup", "resume", "clear", "compact", "fork"):
        assert normalised("claude-code", recorded("claude-code", f"SessionStart.{name}")).source == name


def test_a_start_of_an_unknown_kind_brings_nothing_twice() -> None:
    raw = recorded("claude-code", "SessionStart.startup") | {"source": "teleport"}
    assert normalised("claude-code", raw).source == "resume"


def test_a_subagent_without_a_name_starts_and_ends_nobody() -> None:
    for name in ("SubagentStart", "SubagentStop"):
        raw = recorded("claude-code", name) | {"agent_id": None}
        assert normalised("claude-code", raw).kind == "other"


def test_an_agent_id_that_cannot_be_a_key_is_still_that_of_a_subagent() -> None:
    raw = recorded("claude-code", "PostToolUse.subagent") | {"agent_id": "../../etc\n"}
    event = normalised("claude-code", raw)
    assert event.agent_id and is_session(event.agent_id)


@pytest.mark.parametrize("session", ["", "a/b", "../x", "a b", "x" * 129, 7, None, ["a"], "a\n", "ä"])
def test_a_session_that_cannot_be_a_key_is_no_event(session: object) -> None:
    assert event_of("claude-code", recorded("claude-code", "Stop") | {"session_id": session}, event_id="e") is None


@pytest.mark.parametrize(
    "raw", [b"", b"null", b"[]", b"7", b'{"a":', b"\xff\xfe", b"[" * 100_000, b'{"x":' + b"9" * 5_000]
)
def test_what_is_no_json_object_is_no_event(raw: bytes) -> None:
    assert event_of("claude-code", raw, event_id="e") is None


def test_broken_characters_do_not_break_the_event() -> None:
    raw = json.dumps(recorded("claude-code", "UserPromptSubmit") | {"prompt": "PLACE \ud800 here"}).encode()
    event = normalised("claude-code", b"\xef\xbb\xbf" + raw.replace(b"PLACE", b"\xff\xc3"))
    assert event.prompt is not None
    event.prompt.encode()
    assert event.prompt.endswith("here")


def test_more_than_four_mebibytes_are_not_read() -> None:
    raw = recorded("claude-code", "UserPromptSubmit")
    assert raw_of(json.dumps(raw | {"prompt": "x" * MAX_BYTES}).encode()) is None
    assert raw_of(json.dumps(raw | {"prompt": "x" * (MAX_BYTES - 2_000)}).encode()) is not None


def test_a_long_text_is_cut_between_words() -> None:
    words = " ".join(f"word{number}" for number in range(20_000))
    event = normalised("claude-code", recorded("claude-code", "UserPromptSubmit") | {"prompt": words})
    assert event.prompt is not None
    assert len(event.prompt) <= MAX_TEXT + 20
    kept = event.prompt.replace("[...]", "").split()
    assert set(kept) <= set(words.split())
    assert (kept[0], kept[-1]) == ("word0", "word19999")


def test_an_output_is_bounded_in_every_direction() -> None:
    deep: Any = "end"
    for _ in range(50):
        deep = {"in": deep}
    output = {"long": "x" * 1_000_000, "deep": deep, "wide": list(range(10_000))}
    event = normalised("claude-code", recorded("claude-code", "PostToolUse") | {"tool_response": output})
    assert len(json.dumps(event.tool_output)) < 2 * MAX_TEXT


@pytest.mark.parametrize(
    ("output", "kind"),
    [
        ("Chunk ID: 7f\nWall time: 0.4 seconds\nProcess exited with code 1\nOutput:\n1 failed", "tool_failure"),
        ("Chunk ID: 7f\nWall time: 0.4 seconds\nProcess exited with code 0\nOutput:\n1 passed", "tool_end"),
        ("1 passed\nProcess exited with code 1", "tool_end"),
    ],
)
def test_a_status_is_found_among_the_lines_that_codex_puts_before_the_output(output: str, kind: str) -> None:
    assert normalised("codex", recorded("codex", "PostToolUse.failed") | {"tool_response": output}).kind == kind


def test_a_tool_that_the_user_stopped_is_known_as_that() -> None:
    raw = recorded("claude-code", "PostToolUseFailure")
    assert not normalised("claude-code", raw).is_interrupted
    assert normalised("claude-code", raw | {"is_interrupt": True}).is_interrupted


def test_the_same_event_told_twice_has_one_fingerprint() -> None:
    raw = recorded("claude-code", "PostToolUse")
    turned = dict(reversed(list(raw.items())))
    assert fingerprint(raw) == fingerprint(turned)
    assert fingerprint(raw) != fingerprint(raw | {"tool_use_id": "other"})


@settings(max_examples=50, deadline=None)
@given(
    st.sampled_from(all_recorded()),
    st.dictionaries(
        st.sampled_from(
            sorted(
                {name for names in HOSTS["codex"].fields.values() for name in names}
                - {"session_id", "hook_event_name"}
            )
        ),
        ANYTHING,
    ),
)
def test_wrong_types_never_raise(fixture: tuple[str, str], wrong: dict[str, Any]) -> None:
    event = normalised(fixture[0], recorded(*fixture) | wrong)
    assert event.kind in KINDS
    json.dumps([event.tool_input, event.tool_output, list(event.calls), event.prompt, event.error, event.message])

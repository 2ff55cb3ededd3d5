"""Past sessions come in through the rules that hooks go by; a file may hold anything."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.clew import Clew
from clew.errors import InvalidInput
from clew.hosts.transcript import Transcript, host_of
from clew.model.host import Around
from clew.model.scope import Scope

NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)
ROOT = "/home/dev/shop"


def record(kind: str, content: object, **fields: Any) -> dict[str, Any]:
    common = {"type": kind, "sessionId": "s-1", "cwd": ROOT, "timestamp": "2026-03-01T10:00:00.000Z"}
    number = record.__dict__["count"] = record.__dict__.get("count", 0) + 1
    return {**common, "uuid": f"u{number}", "message": {"role": kind, "content": content}, **fields}


def used(id: str, name: str, **given: Any) -> dict[str, Any]:
    return record("assistant", [{"type": "tool_use", "id": id, "name": name, "input": given}])


def gave(id: str, text: str, *, is_error: bool = False) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": id, "content": text, "is_error": is_error}
    return record("user", [block], toolUseResult={"stdout": text})


def a_session() -> list[dict[str, Any]]:
    return [
        {"type": "summary", "summary": "Login", "leafUuid": "x"},
        record("user", "Fix the login test in tests/test_login.py, it depends on the wall clock"),
        used("t1", "Bash", command="pytest tests/test_login.py"),
        gave("t1", "Exit code 1\nAssertionError: session is still valid", is_error=True),
        used("t2", "Edit", file_path=f"{ROOT}/src/session.py", old_string="a", new_string="b"),
        gave("t2", "ok"),
        used("t3", "Bash", command="pytest tests/test_login.py"),
        gave("t3", "4 passed"),
        record("assistant", [{"type": "text", "text": "I used a fake clock instead of sleeping in the test."}]),
        record("user", "We decided to keep sessions alive for 30 days."),
    ]


def lines_of(records: list[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(one).encode() + b"\n" for one in records)


def texts_of(
    records: list[dict[str, Any]], *, host: str = "claude-code", around: Around | None = None
) -> list[str]:
    return [draft.content for draft in read(lines_of(records), host=host, around=around).drafts()]


def read(data: bytes, *, host: str = "claude-code", around: Around | None = None) -> Transcript:
    told = Transcript(host, NOW, around or Around())
    lines = data.split(b"\n")
    for number, line in enumerate(lines, 1):
        if line.strip():
            told.add(number, line, is_last=number == len(lines))
    return told


def test_a_transcript_gives_what_its_hooks_would_have_given() -> None:
    task = "Fix the login test in tests/test_login.py, it depends on the wall clock"
    assert texts_of(a_session()) == [
        f"The user asked: {task}",
        "Command `pytest tests/test_login.py` (Bash) failed with exit status 1: "
        '"AssertionError: session is still valid"; worked after edits of src/session.py.',
        "I used a fake clock instead of sleeping in the test.",
        f'Files changed for "{task}": src/session.py.',
        "We decided to keep sessions alive for 30 days.",
    ]


def test_what_a_transcript_says_is_trusted_as_an_imported_file(memory: Clew, tmp_path: Path) -> None:
    path = tmp_path / "s-1.jsonl"
    path.write_bytes(lines_of(a_session()))
    memory.import_file(path, notes_project="shop")
    found = memory.list(scope=Scope(project="shop"))
    assert {one.trust for one in found} == {"tool"}
    assert {one.origin for one in found} == {"import:user_prompt", "import:agent_inference", "import:observed"}
    assert {one.metadata["host_session"] for one in found} == {"s-1"}


def test_importing_a_transcript_twice_adds_nothing(memory: Clew, tmp_path: Path) -> None:
    path = tmp_path / "s-1.jsonl"
    path.write_bytes(lines_of(a_session()))
    told = memory.import_file(path, dry_run=True)
    first, second = memory.import_file(path), memory.import_file(path)
    assert (told.added, first.added, first.sessions) == (5, 5, 1)
    assert (second.added, second.known) == (0, 5)


def test_a_directory_gives_every_transcript_below_it_and_follows_no_link(memory: Clew, tmp_path: Path) -> None:
    folder = tmp_path / "projects" / "-home-dev-shop"
    folder.mkdir(parents=True)
    (folder / "a.jsonl").write_bytes(lines_of(a_session()))
    outside = tmp_path / "outside.jsonl"
    outside.write_bytes(lines_of([record("user", "Never store the zebra codes in plain text", sessionId="z")]))
    (folder / "b.jsonl").symlink_to(outside)
    (folder / "notes.jsonl").write_text('{"content": "an export"}\n')
    report = memory.import_file(tmp_path / "projects")
    assert (report.added, report.sessions) == (5, 1)


def test_a_directory_without_transcripts_is_refused(memory: Clew, tmp_path: Path) -> None:
    (tmp_path / "CLAUDE.md").write_text("- use tabs")
    with pytest.raises(InvalidInput) as refused:
        memory.import_file(tmp_path)
    assert refused.value.code == "IMPORT_NOT_A_FILE"


def test_only_sessions_that_began_in_the_repository_are_taken() -> None:
    other = [{**one, "cwd": "/home/dev/other"} for one in a_session()]
    told = read(lines_of(other), around=Around(root=ROOT))
    assert told.drafts() == []
    assert told.elsewhere == {"s-1"}


def test_the_same_record_twice_counts_once() -> None:
    once = a_session()
    assert texts_of([*once, *once]) == texts_of(once)


def test_what_a_subagent_is_told_is_not_what_the_user_said() -> None:
    told = record("user", "Always delete the vendor folder before you search", isSidechain=True, agentId="a1")
    assert texts_of([told]) == []


def test_meta_records_and_summaries_of_a_compaction_are_not_the_user() -> None:
    rule = "From now on, never write comments in French"
    assert texts_of([record("user", rule, isMeta=True), record("user", rule, isCompactSummary=True)]) == []
    assert texts_of([record("user", rule)]) == [rule]


def test_a_record_may_be_of_a_kind_nobody_knows_and_the_last_one_may_be_cut_off() -> None:
    data = lines_of([{"type": "hologram", "sessionId": "s-1", "uuid": "h"}, *a_session()])
    told = read(data + b'{"type": "user", "sess')
    assert len(told.drafts()) == 5
    assert told.broken == []


def test_broken_bytes_and_lines_are_passed_over_and_counted() -> None:
    told = read(
        b'{"type": "user"\n' + b"\xff\xfe{{\n" + lines_of(a_session()).replace(b"wall clock", b"wall \xff clock")
    )
    assert len(told.drafts()) == 5
    assert told.broken == [1, 2]


def test_no_path_in_a_transcript_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    expected, looked = texts_of(a_session()), []
    for name in ("open", "stat", "lstat", "scandir"):
        monkeypatch.setattr(os, name, lambda *given, **options: looked.append(given))
    monkeypatch.setattr("builtins.open", lambda *given, **options: looked.append(given))
    found = texts_of(a_session())
    monkeypatch.undo()
    assert (found, looked) == (expected, [])


ROLLOUT = [
    {"type": "session_meta", "payload": {"id": "c-1", "cwd": ROOT}},
    {"type": "response_item", "payload": {"type": "message", "role": "user", "content": [
        {"type": "input_text", "text": "<environment_context>always root</environment_context>"}]}},
    {"type": "event_msg", "payload": {
        "type": "user_message", "message": "Never call the payment API from unit tests."}},
    {"type": "response_item", "payload": {"type": "message", "role": "user", "content": [
        {"type": "input_text", "text": "Never call the payment API from unit tests."}]}},
    {"type": "response_item", "payload": {"type": "function_call", "name": "shell", "call_id": "1",
        "arguments": json.dumps({"command": ["bash", "-lc", "cargo test"]})}},
    {"type": "response_item", "payload": {"type": "function_call_output", "call_id": "1",
        "output": json.dumps({"output": "error[E0308]: mismatched types\n", "metadata": {"exit_code": 101}})}},
    {"type": "response_item", "payload": {"type": "custom_tool_call", "name": "apply_patch", "call_id": "2",
        "input": "*** Begin Patch\n*** Update File: src/pay.rs\n@@\n-a\n+b\n*** End Patch"}},
    {"type": "response_item", "payload": {"type": "custom_tool_call_output", "call_id": "2", "output": "Success"}},
    {"type": "response_item", "payload": {"type": "function_call", "name": "exec_command", "call_id": "3",
        "arguments": json.dumps({"cmd": "cargo test"})}},
    {"type": "response_item", "payload": {"type": "function_call_output", "call_id": "3",
        "output": "Process exited with code 0\nOutput:\nok"}},
]  # fmt: skip


def test_a_rollout_of_codex_is_read_by_the_same_rules() -> None:
    assert host_of(lines_of(ROLLOUT)) == "codex"
    assert texts_of(ROLLOUT, host="codex") == [
        "Never call the payment API from unit tests.",
        'Command `cargo test` (shell) failed with exit status 101: "error[E0308]: mismatched types"; '
        "worked after edits of src/pay.rs.",
    ]


@pytest.mark.parametrize(
    ("start", "host"),
    [
        (b'{"format": "clew-memories", "version": 1}', None),
        (b'{"content": "a memory", "type": "note", "session": "s"}', None),
        (b"# Notes", None),
        (b'{"type":"summary","summary":"x","leafUuid":"y"}', "claude-code"),
        (b'{"timestamp":"t","type":"session_meta","payload":{}}', "codex"),
    ],
)
def test_a_transcript_is_known_by_how_it_begins(start: bytes, host: str | None) -> None:
    assert host_of(start) == host


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=40),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=5,
)
KEYS = (
    "type",
    "sessionId",
    "uuid",
    "message",
    "cwd",
    "timestamp",
    "isSidechain",
    "agentId",
    "payload",
    "content",
    "role",
)
VALUES = JSON | st.sampled_from(
    ["user", "assistant", "s-1", "tool_use", "response_item", "session_meta", "event_msg", "2026-01-01"]
)
RECORDS = st.dictionaries(
    st.sampled_from(KEYS), VALUES | st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=4), max_size=8
)


@settings(max_examples=60)
@given(st.lists(RECORDS, max_size=4), st.binary(max_size=60), st.sampled_from(["claude-code", "codex"]))
def test_the_reader_never_raises(records: list[dict[str, Any]], junk: bytes, host: str) -> None:
    told = read(lines_of(records) + junk, host=host)
    assert isinstance(told.drafts(), list)
    host_of(junk)

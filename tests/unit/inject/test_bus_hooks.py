"""What hosts say of a tool call, as an event."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from injector_toys import quickest

from clew.inject.bus import VerbBus
from clew.inject.hooks import cut, error_line, event_of_hook, paths_in
from clew.model.inject import MAX_QUERY_BYTES, VerbEvent

PRE = {"kind": "pre-tool-use", "sessionId": "ses_1", "toolUseId": "t1", "toolName": "Edit"}


def read(**fields: Any) -> VerbEvent:
    found = event_of_hook(PRE | fields)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("kind", "phase"),
    [
        ("pre-tool-use", "pre"),
        ("post-tool-use", "post"),
        ("tool-use-error", "failure"),
        ("pre-verb", "pre"),
        ("post-verb", "post"),
    ],
)
def test_r084_hook_events_become_phases(kind: str, phase: str) -> None:
    assert read(kind=kind).phase == phase


def test_r107_every_documented_field_is_taken_over() -> None:
    found = read(
        agentId="bob",
        projectId="shop",
        paths=["a.py"],
        query="why",
        emittedAt=1_700_000_000_000,
        memoryScope="org",
        memoryNamespace="ops",
    )
    assert found == VerbEvent(
        session="ses_1",
        tool="Edit",
        event_id="t1",
        agent="bob",
        project="shop",
        paths=("a.py",),
        query="why",
        at=datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC),
        memory_scope="org",
        memory_namespace="ops",
    )


def test_a_post_hook_with_an_error_is_a_failure_and_asks_with_the_error_line() -> None:
    output = "collected 3 items\nE   KeyError: 'vat'\nshort summary"
    found = read(kind="post-tool-use", isError=True, toolOutput=output, toolInput={"command": "pytest"})
    assert (found.phase, found.query, found.ok) == ("failure", "E   KeyError: 'vat'", False)


@pytest.mark.parametrize("key", ["file_path", "path", "notebook_path"])
def test_paths_come_from_the_keys_that_name_files(key: str) -> None:
    assert read(toolInput={key: "src/pay.py"}).paths == ("src/pay.py",)


def test_paths_below_the_hooks_directory_are_told_as_the_project_knows_them() -> None:
    assert read(cwd="/home/kim/shop", toolInput={"file_path": "/home/kim/shop/src/pay.py"}).paths == ("src/pay.py",)


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("pytest tests/pay/test_vat.py -q", ["tests/pay/test_vat.py"]),
        ("cat README.md | head -20", ["README.md"]),
        ("*** Begin Patch\n*** Update File: src/a b.py\n+x", ["src/a b.py"]),
        ("--- a/src/old.py\n+++ b/src/new.py\n@@", ["src/new.py"]),
        ("curl https://example.com/a/b.json", []),
        ("git status", []),
    ],
)
def test_paths_are_found_in_commands_and_patches(text: str, paths: list[str]) -> None:
    assert list(paths_in(text)) == paths


def test_of_a_patch_its_files_are_asked_for_and_not_its_words() -> None:
    found = read(toolName="apply_patch", toolInput={"command": "*** Begin Patch\n*** Update File: src/a.py\n+x"})
    assert (found.paths, found.query) == (("src/a.py",), None)


@pytest.mark.parametrize("key", ["pattern", "query", "command", "prompt"])
def test_the_query_is_what_the_tool_is_asked_and_at_most_200_characters(key: str) -> None:
    assert read(toolInput={key: "x" * 500}).query == "x" * 200


@pytest.mark.parametrize(
    "hook", [{}, {"kind": "scope-resolved"}, PRE | {"toolName": None}, PRE | {"sessionId": 7}, PRE | {"kind": []}]
)
def test_what_is_no_tool_call_is_no_event(hook: dict[str, Any]) -> None:
    assert event_of_hook(hook) is None
    assert VerbBus().emit_hook(hook) == 0


def test_the_bus_tells_hooks_as_events() -> None:
    bus, told = VerbBus(), list[VerbEvent]()
    bus.subscribe(told.append)
    assert bus.emit_hook(PRE) == 1
    assert told[0].tool == "Edit"


@given(st.text() | st.text(alphabet="aé漢😀\ud800", min_size=1_000))
def test_a_text_is_cut_to_4_kb_and_never_in_the_middle_of_a_character(text: str) -> None:
    short = cut(text)
    assert len(short.encode("utf-8", "surrogatepass")) <= MAX_QUERY_BYTES
    assert text.encode("utf-8", "ignore").decode().startswith(short.encode("utf-8", "ignore").decode())


@given(st.dictionaries(st.text(), st.none() | st.booleans() | st.integers() | st.text() | st.lists(st.text())))
def test_no_hook_whatever_it_holds_raises(hook: dict[str, Any]) -> None:
    event_of_hook(PRE | {"kind": "tool-use-error", "toolInput": hook, "toolOutput": hook} | {"emittedAt": 1e300})


def test_a_failure_without_output_has_no_error_line() -> None:
    assert error_line(None) is None
    assert error_line({"stderr": "fatal: no such branch"}) == "fatal: no such branch"


@pytest.mark.parametrize("text", ["+/" * 2_048, "+" * 4_096, "+-" * 2_048, "a." * 2_048, "a/" * 2_047 + ":"])
def test_no_text_makes_reading_a_hook_slow(text: str) -> None:
    """It runs on the host's thread, before any clock."""
    given = dict.fromkeys(("command", "patch", "input", "diff"), text)
    assert quickest(lambda: read(toolInput=given)) < 0.05


def test_a_path_behind_a_plus_sign_is_no_path_of_its_own() -> None:
    assert list(paths_in("diff c++/main.cpp -x+src/a.py ok/b.py")) == ["c++/main.cpp", "-x+src/a.py", "ok/b.py"]


def test_a_named_path_is_cut_like_every_other_text() -> None:
    assert len(read(toolInput={"file_path": "a" * 5_000}).paths[0]) == 1_000

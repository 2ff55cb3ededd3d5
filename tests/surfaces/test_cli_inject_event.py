"""`clew inject event`: one tool call on stdin, one result on stdout."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import apsw
import pytest
from cli_driver import Cli

from clew import Clew

PATH = "src/pay/vat.py"
EVENT = {"v": 1, "event_id": "e1", "phase": "pre", "tool": "Edit", "paths": [PATH]}


@pytest.fixture
def session(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> str:
    """A claimed session in a project with a note; with time enough for a busy machine."""
    monkeypatch.setenv("CLEW_INJECT__LATENCY_MS", "10000")
    cli.remember("VAT is rounded per line", "--project", "shop", "--path", PATH)
    started = cli("session", "start", "--project", "shop", "--title", "fix the cookies", "--json")
    id = str(started.json["id"])
    assert cli("session", "claim", id, "--worker", "w1", "--json").code == 0
    return id


def tell(cli: Cli, session: str, event: Any, *words: str) -> Any:
    return cli("inject", "event", session, *words, stdin=json.dumps(event).encode())


def logged(cli: Cli, session: str) -> list[Any]:
    """What the log says of tool calls; the start of the session is in it, too."""
    return [row for row in cli("inject", "log", session, "--json").json if row["phase"] == "in_session"]


def test_the_result_is_one_document_with_the_documented_fields(cli: Cli, session: str) -> None:
    result = tell(cli, session, EVENT, "--json").json
    assert result["outcome"] == "queued"
    assert result["block"].startswith("## Relevant Past Observations\n- [mem_")
    assert {"tokens", "memory_ids", "triplets", "delivery_id", "deduplicated", "ms"} <= result.keys()


def test_what_was_said_is_on_the_queue_and_not_said_again(cli: Cli, session: str) -> None:
    first = tell(cli, session, EVENT, "--json").json
    [queued] = cli("queue", "list", session, "--json").json
    assert queued["delivery_id"] == first["delivery_id"]
    again = tell(cli, session, EVENT | {"event_id": "e2"}, "--json").json
    assert (again["outcome"], again["reason"]) == ("no-match", "seen")


def test_every_event_is_in_the_log_when_the_command_returns(cli: Cli, session: str) -> None:
    tell(cli, session, EVENT)
    tell(cli, session, {"tool": "Bash", "query": "ls -la"})
    assert [row["outcome"] for row in logged(cli, session)] == ["queued", "no-match"]


def test_paths_below_the_directory_are_taken_as_the_project_knows_them(cli: Cli, session: str) -> None:
    absolute = str(Path.cwd() / PATH)
    result = tell(cli, session, EVENT | {"paths": [absolute]}, "--json").json
    assert result["outcome"] == "queued"
    [row] = logged(cli, session)
    assert row["query_text"] == PATH


def test_people_read_the_block_and_the_outcome(cli: Cli, session: str) -> None:
    lines = tell(cli, session, EVENT).out.splitlines()
    assert lines[0] == "## Relevant Past Observations"
    assert lines[-1].startswith("queued; ")
    assert tell(cli, session, {"tool": "TodoWrite"}).out.startswith("skipped: tool; 0 tokens")


@pytest.mark.parametrize(
    "stdin",
    [b"", b"{", b"[]", b'{"phase": "pre"}', b'{"tool": "Edit", "phase": "later"}', b'{"tool": "Edit", "v": 2}',
     b'{"tool": "Edit", "paths": "a"}', b'{"tool": "Edit", "at": "noon"}', b'{"tool": "Edit", "session": "ses_x"}',
     b"\xff\xfe", b'{"tool": 7}'],
)  # fmt: skip
def test_an_event_that_cannot_be_read_is_a_usage_error_with_the_next_move(cli: Cli, stdin: bytes) -> None:
    refused = cli("inject", "event", "ses_1", "--json", stdin=stdin)
    assert (refused.code, refused.error["code"]) == (2, "EVENT_INVALID")
    assert "Next: send one JSON object" in refused.err


def test_an_unknown_session_is_not_found(cli: Cli) -> None:
    refused = tell(cli, "ses_nobody", EVENT, "--json")
    assert (refused.code, refused.error["code"]) == (3, "SESSION_NOT_FOUND")


def test_an_event_as_a_process(cli: Cli, session: str) -> None:
    done = cli.process("inject", "event", session, "--json", stdin=json.dumps(EVENT).encode())
    assert (done.code, done.json["outcome"]) == (0, "queued")


def test_r089_another_process_that_writes_holds_up_neither_the_answer_nor_the_end(
    cli: Cli, session: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLEW_INJECT__LATENCY_MS", "100")
    writer = apsw.Connection(str(cli.home / "clew.db"))
    writer.execute("BEGIN IMMEDIATE")
    try:  # far below the 30 seconds for which a writer waits
        done = cli.process("inject", "event", session, "--json", stdin=json.dumps(EVENT).encode(), timeout=20)
    finally:
        writer.execute("ROLLBACK")
    assert (done.code, done.json["outcome"], done.err) == (0, "budget-exceeded", "")


def test_the_answer_is_out_before_the_store_is_closed(
    cli: Cli, session: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    printed, close = list[str](), Clew.close
    monkeypatch.setattr(Clew, "close", lambda self: (printed.append(capsys.readouterr().out), close(self))[1])
    tell(cli, session, EVENT, "--json")
    assert json.loads(printed[-1])["outcome"] == "queued"

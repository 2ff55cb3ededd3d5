"""On the command line: what Clew did, past sessions brought in, and the probe of hooks."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cli_driver import Cli


def transcript(cwd: Path, *prompts: str) -> str:
    lines = [
        {"type": "user", "sessionId": "s-1", "uuid": str(at), "cwd": str(cwd), "timestamp": "2026-03-01T10:00:00Z",
         "message": {"role": "user", "content": text}}
        for at, text in enumerate(prompts)
    ]  # fmt: skip
    return "\n".join(json.dumps(line) for line in lines)


@pytest.fixture
def folder(cli: Cli) -> Path:
    """Transcripts as a host keeps them: of this directory and of another."""
    kept = cli.home.parent / "projects"
    for name, cwd, rule in (
        ("here", cli.directory, "Always run the linter before a commit"),
        ("there", Path("/elsewhere"), "Never use the production bucket in tests"),
    ):
        (kept / name).mkdir(parents=True)
        text = transcript(cwd, rule, "thanks", "We decided to ship on Mondays only.")
        (kept / name / "s.jsonl").write_text(text.replace("s-1", name))
    return kept


def test_transcripts_of_this_directory_come_in_once(cli: Cli, folder: Path) -> None:
    assert cli("import", str(folder), "--dry-run").out.startswith("would add 2 memories, 0 were known\nfrom 1 past")
    first = cli("import", str(folder), "--json").json
    assert (first["added"], first["sessions"], first["elsewhere"], first["read"]) == (2, 1, 1, 6)
    again = cli("import", str(folder))
    assert again.code == 0
    assert again.out.startswith(
        "added 0 memories, 2 were known\nfrom 1 past sessions, 1 of other projects left out"
    )


def test_a_named_project_takes_sessions_from_anywhere(cli: Cli, folder: Path) -> None:
    found = cli("import", str(folder), "--project", "shop", "--json").json
    assert (found["added"], found["sessions"], found["elsewhere"]) == (3, 2, 0)
    assert "production bucket" in cli("list", "--project", "shop").out


def test_what_the_repository_ignores_is_not_brought_in(cli: Cli, tmp_path: Path) -> None:
    (cli.directory / ".clewignore").write_text("internal/\n")
    path = tmp_path / "t.jsonl"
    path.write_text(transcript(cli.directory, "Always review internal/pricing.py with two people"))
    assert cli("import", str(path), "--json").json["added"] == 0


def test_the_report_tells_the_week_in_a_few_lines(cli: Cli) -> None:
    lines = cli("report").out.splitlines()
    assert [line.split()[0] for line in lines[1:]] == ["sessions", "pushes", "delivered", "captured", "hooks"]
    found = cli("report", "--since", "30d", "--project", "shop", "--json").json
    assert (found["sessions"], found["project"], found["captured"]) == (0, "shop", {})
    assert cli("report", "--format", "csv").out.startswith("figure,value\n")


def test_the_doctor_probes_a_store_without_a_daemon(cli: Cli) -> None:
    cli("remember", "the checkout talks to Stripe")
    told = cli("doctor", "--probe", "--json")
    probed = [check["detail"] for check in told.json["checks"] if check["name"] == "probe claude-code"]
    assert [line.partition(":")[0] for line in probed] == ["SessionStart", "UserPromptSubmit", "PostToolBatch"]
    assert told.code == 0


def test_the_doctor_names_what_a_transcript_holds(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text('{"content": "clewprobe-0123456789abcdef"}')
    cli("remember", "x is y")
    assert "clewprobe-0123456789abcdef is recorded" in cli("doctor", "--probe", "--transcript", str(path)).out
    missing = cli("doctor", "--probe", "--transcript", str(tmp_path / "none"))
    assert (missing.code, "cannot be read" in missing.out) == (1, True)


@pytest.fixture
def daemon(cli: Cli) -> Iterator[int]:
    environment = os.environ | {"CLEW_HOME": str(cli.home), "CLEW_EMBED__PROVIDER": "none"}
    process = subprocess.Popen(
        [sys.executable, "-m", "clew", "serve", "--json"], env=environment, stdout=-1, text=True
    )
    assert process.stdout
    started: dict[str, Any] = json.loads(process.stdout.readline() or "{}")
    assert started
    yield process.pid
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=30)


@pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="there are no unix sockets")
def test_the_probe_goes_the_real_way_where_a_daemon_runs(cli: Cli, daemon: int) -> None:
    told = cli("doctor", "--probe", "--json").json["checks"]
    assert [check["detail"] for check in told if check["name"] == "daemon"] == [f"answers, pid {daemon}"]
    probed = [check for check in told if check["name"] == "probe claude-code"]
    assert [check["detail"].partition(":")[2] for check in probed] == [" carried, receipt: consumed"] * 3

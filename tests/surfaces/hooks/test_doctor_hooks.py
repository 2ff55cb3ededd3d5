"""The doctor tells which hooks fire, what arrives, and what stands in the way."""

from __future__ import annotations

import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from wire_server import listening

import clew
from clew.clew import Clew
from clew.errors import Unavailable
from clew.hosts.checkup import check_hooks, receipts_check
from clew.hosts.named import allow_name
from clew.hosts.off import switch_off
from clew.model.host import Around
from clew.model.report import WorkReport
from clew.model.scope import Scope
from clew.model.upkeep import Check
from clew.surfaces.hooks.checkup import check_around
from clew.surfaces.hooks.hosts import CLAUDE_CODE
from clew.surfaces.hooks.install import carry_out, file_of, hook_words, plan_install
from clew.surfaces.hooks.offline import MAX_SPOOL
from clew.surfaces.hooks.probe import _run, plant, probe, recorded
from clew.surfaces.http.app import make_app
from clew.surfaces.http.auth import Authenticator
from clew.surfaces.http.health import Reason
from clew.surfaces.http.routes import service
from clew.surfaces.http.standing import Standing

START = datetime(2026, 3, 2, tzinfo=UTC)
_ids = (f"{number:032x}" for number in count(1))


def tell(to: Clew, event: str, **fields: Any) -> str:
    raw = {"hook_event_name": event, "session_id": "s-1", "cwd": "/home/dev/shop", **fields}
    event_id = next(_ids)
    text = to.hosts.event("claude-code", raw, event_id=event_id, around=Around(project="shop")).text
    to.hosts.seen(event_id)
    return text


def found(of: Clew) -> list[Check]:
    return list(check_hooks(of.store, org="local", now=of.now()))


def test_the_doctor_tells_when_each_hook_last_fired(memory: Clew) -> None:
    tell(memory, "SessionStart", source="startup")
    for _turn in range(2):
        tell(memory, "UserPromptSubmit", prompt="continue")
    told = [check.detail for check in found(memory) if check.name == "hooks claude-code"]
    assert [line.split(" (")[0] for line in told] == [
        "SessionStart: once, last 0 s ago",
        "UserPromptSubmit: 2 times, last 0 s ago",
    ]
    assert any(check.name == "hooks claude-code" for check in memory.doctor())


def test_a_store_without_hooks_says_how_to_get_them(memory: Clew) -> None:
    [only] = found(memory)
    assert only.ok
    assert "clew install" in only.detail


def test_receipts_that_arrived_are_counted(memory: Clew) -> None:
    memory.remember("The checkout talks to Stripe through the payments queue", scope=Scope(project="shop"))
    tell(memory, "SessionStart", source="startup")
    tell(memory, "UserPromptSubmit", prompt="Make the checkout retry when Stripe times out in the payments queue")
    tell(memory, "Stop")
    [check] = [one for one in found(memory) if one.name == "receipts"]
    assert (check.ok, check.detail) == (True, "1 blocks delivered in the last 7 days: 1 consumed")


def test_many_deliveries_and_no_receipt_is_a_finding() -> None:
    report = WorkReport(since=START, until=START, delivered=5, receipts={"none": 5})
    assert not receipts_check(report).ok
    assert receipts_check(replace(report, delivered=4)).ok
    assert receipts_check(replace(report, receipts={"none": 4, "consumed": 1})).ok


def test_each_channel_of_a_host_carries_the_canary(memory: Clew, tmp_path: Path) -> None:
    told = list(probe(memory, "claude-code", directory=tmp_path))
    assert [check.detail for check in told] == [
        f"{event}: carried, receipt: consumed" for event in ("SessionStart", "UserPromptSubmit", "PostToolBatch")
    ]
    assert all(check.ok for check in told)


def test_the_probe_of_codex_uses_its_own_channels(memory: Clew, tmp_path: Path) -> None:
    told = list(probe(memory, "codex", directory=tmp_path))
    assert [check.detail.partition(":")[0] for check in told] == ["SessionStart", "UserPromptSubmit", "PostToolUse"]
    assert all(check.ok for check in told)


def test_a_probe_leaves_no_memory(memory: Clew, tmp_path: Path) -> None:
    list(probe(memory, "claude-code", directory=tmp_path))
    while memory.hosts.capture_waiting():
        pass
    assert memory.list() == []


def test_a_probe_where_hooks_are_off_says_so(memory: Clew, tmp_path: Path) -> None:
    switch_off(memory.home, tmp_path)
    [check] = probe(memory, "claude-code", directory=tmp_path)
    assert not check.ok
    assert "clew on" in check.next


def test_a_canary_planted_in_a_real_session_is_found_in_its_transcript(memory: Clew, tmp_path: Path) -> None:
    tell(memory, "SessionStart", source="startup")
    assert plant(memory, "s-1").ok
    answer = tell(memory, "UserPromptSubmit", prompt="continue")
    transcript = tmp_path / "s-1.jsonl"
    transcript.write_text(json.dumps({"type": "attachment", "content": answer}))
    [check] = recorded(transcript)
    assert check.ok
    assert check.detail.split()[0] in answer


def test_a_transcript_without_a_canary_says_so(tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_text("{}")
    assert [check.ok for check in recorded(tmp_path / "t.jsonl")] == [False]


def test_a_canary_for_nobody_is_refused(memory: Clew) -> None:
    assert not plant(memory, "nobody").ok


# -- around the store --------------------------------------------------------------------------------


@pytest.fixture
def nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user without any configuration."""
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    return tmp_path


def around(home: Path, directory: Path) -> dict[str, Check]:
    return {check.name: check for check in check_around(home, directory)}


def test_nothing_is_said_of_what_was_never_used(nobody: Path) -> None:
    assert around(nobody / "home", nobody) == {}


def test_a_spool_that_waits_and_one_that_is_damaged_are_told(nobody: Path) -> None:
    spool = nobody / "home" / "spool"
    spool.mkdir(parents=True)
    (spool / "events.spool").write_bytes(b"x" * 10)
    assert around(nobody / "home", nobody)["spool"].detail == "10 bytes; it waits for the daemon"
    (spool / "damaged").mkdir()
    (spool / "damaged" / "1").write_bytes(b"x")
    assert not around(nobody / "home", nobody)["spool"].ok


def test_a_spool_that_is_nearly_full_and_lost_events_are_told(nobody: Path) -> None:
    spool = nobody / "home" / "spool"
    spool.mkdir(parents=True)
    with (spool / "events.spool").open("wb") as file:
        file.truncate(int(0.9 * MAX_SPOOL))
    assert not around(nobody / "home", nobody)["spool"].ok
    (spool / "events.spool").unlink()
    (spool / "dropped").write_bytes(b"..")
    lost = around(nobody / "home", nobody)["spool"]
    assert (lost.ok, lost.detail.split()[0]) == (False, "2")
    assert lost.next.endswith(f"rm {spool / 'dropped'}")  # no daemon brings them back


@pytest.mark.parametrize("reasons", [[], [Reason("forward", "it has failed for 20 s: UNAUTHENTICATED")]])
def test_the_daemon_itself_says_whether_it_does_its_work(memory: Clew, nobody: Path, reasons: list[Reason]) -> None:
    spool, run = memory.home / "spool", memory.home / "run"
    for folder in (spool, run):
        folder.mkdir(parents=True, exist_ok=True)
    (spool / "events.spool").write_bytes(b"x" * 10)
    standing = Standing(memory, threads=(), version="1")
    standing.health.reasons = lambda: reasons  # type: ignore[method-assign]
    with ThreadPoolExecutor(1) as pool:
        owner = Authenticator(memory, owner_uid=os.getuid())
        app = make_app(memory, service.ROUTES, owner, pool, standing=standing)
        with listening(app, uds=str(run / "clew.sock")):
            told = around(memory.home, nobody)
    assert told["daemon"].ok == (not reasons) and ("CLEW_TOKEN" in told["daemon"].next) == bool(reasons)
    assert all(reason.detail in told["daemon"].detail for reason in reasons)
    wait = "it waits for the daemon" if reasons else "the daemon takes it in now"
    assert told["spool"].detail == f"10 bytes; {wait}"


# -- what a host is configured to run ----------------------------------------------------------------


def install(home: Path, directory: Path, *, scope: str = "user", old: str = "", new: str = "") -> Path:
    """As `clew install` does it; then `old` in the file becomes `new`."""
    file = file_of(CLAUDE_CODE, scope, directory=directory)
    carry_out(plan_install("claude-code", file, words=hook_words("claude-code", home)), home=home)
    file.write_text(file.read_text().replace(old, new) if old else file.read_text())
    return file


def install_checks(home: Path, directory: Path) -> list[Check]:
    return [one for one in check_around(home, directory) if one.name == "install claude-code"]


def test_hooks_as_they_are_installed_are_well(nobody: Path) -> None:
    install(nobody / "home", nobody)
    assert [one.ok for one in install_checks(nobody / "home", nobody)] == [True]
    assert install_checks(nobody / "home", nobody)[0].detail.startswith("hooks are in the user configuration")


def test_why_hooks_are_silent_where_there_is_no_project_is_told(nobody: Path) -> None:
    install(nobody / "home", nobody)
    told = around(nobody / "home", nobody)["project"]
    assert told.ok
    assert told.detail.startswith("hooks neither bring nor keep anything here: no repository is around")
    assert "clew init --project NAME" in told.detail
    (nobody / ".clew.toml").write_text('project = "notes"\n')
    allow_name(nobody / "home", nobody, "notes")
    assert "project" not in around(nobody / "home", nobody)
    (nobody / ".clew.toml").unlink()
    (nobody / ".git").mkdir()
    assert "project" not in around(nobody / "home", nobody)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (sys.executable, "/gone/bin/python", "/gone/bin/python is not there or cannot be run"),
        ("clew_hook.py", "old/clew_hook.py", "is not there or cannot be read"),
        ("/home\"", "/elsewhere\"", "the hook tells another home"),
        ('"claude-code"', '"codex"', "does not name claude-code"),
        ('"timeout": 5', '"timeout": 50', "not as this version writes it: SessionStart"),
        ('"SessionEnd"', '"SessionOver"', "no hook for SessionEnd"),
        ("{", "{{", "is not valid JSON"),
    ],
)  # fmt: skip
def test_hooks_that_cannot_work_are_told_with_the_next_move(nobody: Path, old: str, new: str, told: str) -> None:
    install(nobody / "home", nobody, old=old, new=new)
    found = install_checks(nobody / "home", nobody)
    assert found and not any(one.ok for one in found)
    assert any(told in one.detail for one in found)
    assert all("clew install claude-code" in one.next or "correct the file" in one.next for one in found)


def test_hooks_that_are_installed_twice_are_told_unless_they_are_the_same(nobody: Path) -> None:
    home, project = nobody / "home", nobody / "project"
    project.mkdir()
    install(home, project)
    install(home, project, scope="project")
    assert [one.ok for one in install_checks(home, project)] == [True]
    install(home, project, scope="project", old='"-S"', new='"-S", "-X", "utf8"')
    twice = [one for one in install_checks(home, project) if "twice" in one.detail]
    assert [one.next for one in twice] == ["run: clew uninstall claude-code --scope project"]


def test_the_probe_runs_what_the_file_says(memory: Clew, nobody: Path) -> None:
    seen = nobody / "seen"
    client = nobody / "clew_hook.py"
    client.write_text(f"open({str(seen)!r}, 'a').write('x')")
    install(memory.home, nobody, old=str(Path(clew.__file__).parent.parent / "clew_hook.py"), new=str(client))
    [check] = probe(memory, "claude-code", directory=nobody, client_of=memory.home)
    assert (check.ok, seen.read_text()) == (False, "x")
    assert "did not begin" in check.detail


def test_the_probe_of_a_hook_that_is_gone_or_fails_says_so(memory: Clew, nobody: Path) -> None:
    client = nobody / "clew_hook.py"
    ours = str(Path(clew.__file__).parent.parent / "clew_hook.py")
    install(memory.home, nobody, old=ours, new=str(client))
    [gone] = probe(memory, "claude-code", directory=nobody, client_of=memory.home)
    client.write_text("raise SystemExit(3)")
    [failed] = probe(memory, "claude-code", directory=nobody, client_of=memory.home)
    for check, told in ((gone, "cannot be read"), (failed, "ended with status 3")):
        assert not check.ok and told in check.detail
        assert check.next == "run: clew install claude-code"


def test_a_hook_that_hangs_is_not_waited_for() -> None:
    with pytest.raises(Unavailable, match=r"did not end within 0\.2 s"):
        _run("codex", [sys.executable, "-I", "-S", "-c", "import time; time.sleep(60)"], b"", timeout_s=0.2)

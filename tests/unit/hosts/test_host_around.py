"""What the machine of a host knows besides, from files alone."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from clew.hosts.around import Directory, around_of, around_unseen, look_around
from clew.hosts.off import switch_off
from clew.model.host import Around
from fake_host import recorded

ID = "mem_01kjmma2g1yqh72m4yb90jvrp5"
OTHER = "mem_01kjmma2g1yqh72m4yb90jvrp6"
FACTS = "## Knowledge Graph Triplets\n- PaymentClient → depends_on → GatewayPool\n- a → b → c"


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    git = tmp_path / "shop" / ".git"
    git.mkdir(parents=True)
    (git / "config").write_text('[remote "origin"]\n\turl = git@github.com:acme/shop.git\n')
    (git / "HEAD").write_text("ref: refs/heads/fix/SHOP-31-retry\n")
    return tmp_path / "shop"


def look(where: Path, fixture: str = "SessionStart.startup", host: str = "claude-code", **changes: Any) -> Around:
    options = {name: changes.pop(name) for name in ("settings", "environ") if name in changes}
    raw = recorded(host, fixture) | {"cwd": str(where)} | changes
    base = where.parent.parent if where.name == "src" else where.parent
    return look_around(host, raw, home=base / "home", user_home=base / "user", **options)


def transcript(shop: Path, *records: Any, name: str = "s.jsonl") -> str:
    file = shop.parent / "user" / ".claude" / "projects" / "p" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(json.dumps(record) + "\n" for record in records))
    return str(file)


def test_a_repository_behind_a_link_is_known_by_both_names(shop: Path) -> None:
    (shop / "src").mkdir()
    (shop / "inner").symlink_to(shop / "src")
    (shop.parent / "code").symlink_to(shop.parent)
    (shop.parent / "store").symlink_to(shop)
    for link in ("code/shop", "store"):
        there = look(shop.parent / link), look(shop.parent / link / "src")
        assert [(one.root, one.linked) for one in there] == [(str(shop), str(shop.parent / link))] * 2
        assert around_of(asdict(there[0])) == there[0]
    assert [look(shop / name).linked for name in ("", "src", "inner")] == [None] * 3


def test_project_branch_and_root_come_from_git(shop: Path) -> None:
    (shop / "src").mkdir()
    around = look(shop / "src")
    assert (around.project, around.branch) == ("github.com/acme/shop", "fix/SHOP-31-retry")
    assert around.root == str(shop)
    assert not around.is_off


def test_a_worktree_has_its_own_branch_and_its_repositorys_project(shop: Path, tmp_path: Path) -> None:
    own = shop / ".git" / "worktrees" / "retry"
    own.mkdir(parents=True)
    (own / "commondir").write_text("../..\n")
    (own / "HEAD").write_text("ref: refs/heads/docs/retry\n")
    tree = tmp_path / "shop-retry"
    tree.mkdir()
    (tree / ".git").write_text(f"gitdir: {own}\n")
    around = look(tree)
    assert (around.project, around.branch, around.root) == ("github.com/acme/shop", "docs/retry", str(tree))


def test_between_branches_there_is_none(shop: Path) -> None:
    (shop / ".git" / "HEAD").write_text("4b825dc642cb6eb9a060e54bf8d69288fbee4904\n")
    assert look(shop).branch is None


def test_patterns_of_clewignore_are_read_from_the_root(shop: Path) -> None:
    (shop / ".clewignore").write_text("# secret\nprivate/\n\n*.sql\n")
    (shop / "src").mkdir()
    assert look(shop / "src").ignored == ("private/", "*.sql")


def test_a_directory_that_is_off_is_off_below(shop: Path) -> None:
    (shop / "src").mkdir()
    switch_off(shop.parent / "home", shop)
    assert look(shop / "src").is_off


def test_the_project_file_names_the_project_and_switches_off(shop: Path) -> None:
    around = look(shop, settings=lambda _path: Directory("shop-web", inject=False))
    assert (around.project, around.inject, around.capture) == ("shop-web", False, True)


def test_a_project_file_that_cannot_be_read_leaves_nothing_on(shop: Path) -> None:
    def broken(_path: Path) -> Directory:
        raise ValueError("no TOML")

    around = look(shop, settings=broken)
    assert (around.inject, around.capture) == (False, False)


@pytest.mark.parametrize("cwd", [None, 7, "relative/path", "/nowhere/at/all\0"])
def test_an_event_from_nowhere_is_not_kept(shop: Path, cwd: object) -> None:
    assert look(shop, cwd=cwd).capture is False


def test_a_resumed_transcript_tells_what_it_holds(shop: Path) -> None:
    path = transcript(shop, {"type": "user", "message": {"content": f"- [{ID}] text"}}, {"hook": FACTS})
    around = look(shop, "SessionStart.resume", transcript_path=path)
    assert around.held == (ID,)
    assert around.held_lines == ("- PaymentClient → depends_on → GatewayPool", "- a → b → c")
    assert around.saw_transcript


def test_facts_are_found_in_what_a_hook_printed(shop: Path) -> None:
    path = transcript(shop, {"stdout": json.dumps({"additionalContext": FACTS})})
    assert "- a → b → c" in look(shop, "SessionStart.fork", transcript_path=path).held_lines


def test_only_what_stands_after_the_last_compaction_is_held(shop: Path) -> None:
    records = [{"text": ID}, {"type": "system", "subtype": "compact_boundary"}, {"text": OTHER}]
    talk = {"type": "user", "text": "what is a compact_boundary?"}
    path = transcript(shop, *records, talk)
    assert look(shop, "SessionStart.resume", transcript_path=path).held == (OTHER,)


def test_a_codex_rollout_is_read_the_same_way(shop: Path) -> None:
    folder = shop.parent / "codex" / "sessions" / "2026"
    folder.mkdir(parents=True)
    file = folder / "rollout-1.jsonl"
    file.write_text(f'{{"type":"response_item","text":"{ID}"}}\n{{"type":"compacted"}}\n{{"text":"{OTHER}"}}\n')
    environ = {"CODEX_HOME": str(shop.parent / "codex")}
    around = look(shop, "SessionStart.resume", "codex", transcript_path=str(file), environ=environ)
    assert around.held == (OTHER,)


def test_a_start_without_a_past_reads_no_transcript(shop: Path) -> None:
    path = transcript(shop, {"text": ID})
    for name in ("startup", "clear", "compact"):
        assert not look(shop, f"SessionStart.{name}", transcript_path=path).saw_transcript


def _hostile(shop: Path, how: str) -> str:
    outside = shop.parent / "outside.jsonl"
    outside.write_text(f'{{"text":"{ID}"}}\n')
    inside = Path(transcript(shop, name="real.jsonl")).parent
    match how:
        case "outside":
            return str(outside)
        case "dots":
            return f"{inside}/../../../../outside.jsonl"
        case "link":
            (inside / "link.jsonl").symlink_to(outside)
            return str(inside / "link.jsonl")
        case "folder link":
            (inside / "folder").symlink_to(shop.parent)
            return str(inside / "folder" / "outside.jsonl")
        case "pipe":
            os.mkfifo(inside / "pipe.jsonl")
            return str(inside / "pipe.jsonl")
        case "folder":
            (inside / "d.jsonl").mkdir()
            return str(inside / "d.jsonl")
        case "ending":
            (inside / "x.txt").write_text(ID)
            return str(inside / "x.txt")
        case _:
            return how


@pytest.mark.parametrize(
    "how", ["outside", "dots", "link", "folder link", "pipe", "folder", "ending", "s.jsonl", "~/s.jsonl"]
)
def test_no_file_is_read_outside_the_hosts_transcripts(shop: Path, how: str) -> None:
    around = look(shop, "SessionStart.resume", transcript_path=_hostile(shop, how))
    assert (around.held, around.saw_transcript) == ((), False)


def test_of_a_long_transcript_the_end_is_read(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clew.hosts.held.MAX_BYTES", 400)
    path = transcript(shop, {"text": ID}, *({"filler": "x" * 40} for _ in range(20)), {"text": OTHER})
    assert look(shop, "SessionStart.resume", transcript_path=path).held == (OTHER,)


@pytest.mark.parametrize("told", [None, 7, [], {"project": 7, "held": "x", "ignored": [1, None], "root": {}}])
def test_what_another_machine_told_wrongly_counts_as_absent(told: object) -> None:
    assert around_of(told) == Around()


def test_what_another_machine_may_have_switched_off_is_off() -> None:
    around = around_of({"is_off": 1, "inject": "no", "capture": None, "project": "shop", "held": [ID]})
    assert (around.is_off, around.inject, around.capture) == (True, False, False)
    assert (around.project, around.held) == ("shop", (ID,))


@pytest.mark.parametrize("name", [".clewignore", ".git/HEAD", ".git/config"])
@pytest.mark.parametrize("trap", ["pipe", "device", "directory"])
def test_what_is_no_regular_file_is_not_waited_for(shop: Path, name: str, trap: str) -> None:
    (shop / name).unlink(missing_ok=True)
    if trap == "pipe":
        os.mkfifo(shop / name)
    elif trap == "device":
        (shop / name).symlink_to("/dev/zero")
    else:
        (shop / name).mkdir()
    around = look(shop)
    assert (around.ignored, around.root) == ((), str(shop))
    assert around.capture is (name != ".clewignore")  # what should be ignored is not known


@pytest.mark.parametrize("text", ["# \n" * 100_000 + "private/", "a\n" * 1_001])
def test_a_clewignore_that_is_too_long_to_be_heeded_leaves_nothing_to_be_kept(shop: Path, text: str) -> None:
    (shop / ".clewignore").write_text(text)
    assert not look(shop).capture


def test_a_git_file_that_leads_to_a_device_is_no_repository(tmp_path: Path) -> None:
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / ".git").write_text("gitdir: /dev/fd\n")
    assert look(tmp_path / "shop").project in (None, "shop")


def test_what_is_off_is_off_also_where_nobody_can_look(tmp_path: Path) -> None:
    switch_off(tmp_path / "home", tmp_path / "shop")
    for directory, is_off in (("shop/src", True), ("web", False)):
        around = around_unseen({"cwd": str(tmp_path / directory)}, home=tmp_path / "home")
        assert around == Around(is_known=False, is_off=is_off, inject=False, capture=False)
    assert not around_unseen({"cwd": 7}, home=tmp_path).is_off


def test_a_directory_that_cannot_be_looked_at_is_one_that_nobody_has_seen(shop: Path) -> None:
    around = look(shop, cwd=str(shop / ("x" * 300)))  # no disk takes such a name, and says so at every look
    assert (around.is_known, around.inject, around.capture) == (False, False, False)
    switch_off(shop.parent / "home", shop)
    assert look(shop, cwd=str(shop / ("x" * 300))).is_off


def test_that_nobody_could_look_is_told_elsewhere_too() -> None:
    assert not around_of(asdict(Around(is_known=False))).is_known
    assert around_of({}).is_known

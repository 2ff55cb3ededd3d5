"""Bad input: one line with a stable code and the next move, the right exit code, nothing half-written."""

from __future__ import annotations

import json
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from cli_driver import Cli

UNKNOWN = "mem_00000000000000000000000000"

REFUSED = [
    (["remember", ""], 2, "MEMORY_CONTENT_REQUIRED"),
    (["remember", "  \n\t "], 2, "MEMORY_CONTENT_REQUIRED"),
    (["remember", "x", "--type", "memo"], 2, "MEMORY_TYPE_INVALID"),
    (["remember", "x", "--layer", "deep"], 2, "MEMORY_LAYER_INVALID"),
    (["remember", "x", "--classification", "secret"], 2, "MEMORY_CLASSIFICATION_INVALID"),
    (["remember", "x", "--project", " "], 2, "PROJECT_ID_INVALID"),
    (["remember", "x", "--user", "u" * 121], 2, "USER_ID_INVALID"),
    (["remember", "x", "--agent", "a\nb"], 2, "AGENT_ID_INVALID"),
    (["remember", "x" * 500_001], 2, "MEMORY_TOO_LARGE"),
    (["remember", "x", "--title", "t" * 241], 2, "MEMORY_LABEL_TOO_LONG"),
    (["remember", "x", "--at", "yesterday"], 2, "TIME_INVALID"),
    (["remember", "x", "--expires-at", "7d"], 2, "TIME_INVALID"),
    (["remember", "x", "--expires-at", "2020-01-01"], 2, "MEMORY_EXPIRES_EARLY"),
    (["remember", "\u200b\u200d"], 2, "MEMORY_CONTENT_REQUIRED"),
    (["remember", "x", "--valid-at", "2026-02-01", "--invalid-at", "2026-01-01"], 2, "MEMORY_VALIDITY_INVALID"),
    (["remember", "x", "--confidence", "7"], 2, "MEMORY_NUMBER_INVALID"),
    (["remember", "x", "--confidence", "nan"], 2, "MEMORY_NUMBER_INVALID"),
    (["remember", "x", "--metadata", "{a: 1"], 2, "INVALID_JSON"),
    (["remember", "x", "--metadata", "[" * 100_000], 2, "INVALID_JSON"),
    (["remember", "x", "--metadata", "[1]"], 2, "MEMORY_METADATA_INVALID"),
    (["remember", "x", "--metadata", '{"a": NaN}'], 2, "MEMORY_METADATA_INVALID"),
    (["remember", "x", "--supersedes", UNKNOWN], 3, "MEMORY_NOT_FOUND"),
    (["remember", "bad \udcff byte"], 2, "INVALID_UTF8"),
    (["remember", "x", "--tag", "bad \udcff byte"], 2, "INVALID_UTF8"),
    (["recall", "x", "--mode", "some"], 2, "RECALL_OPTION_INVALID"),
    (["recall", "x", "--retrieval", "psychic"], 2, "RECALL_OPTION_INVALID"),
    (["recall", "x", "--type", "memo"], 2, "MEMORY_TYPE_INVALID"),
    (["recall", "x", "--limit", "100000"], 2, "RECALL_LIMIT_INVALID"),
    (["recall", "x", "--limit", "0"], 2, "USAGE"),
    (["recall", "x", "--floor", "1.5"], 2, "USAGE"),
    (["recall", "x", "--as-of", "soon"], 2, "TIME_INVALID"),
    (["recall", "two", "words"], 2, "USAGE"),
    (["recall", "x", "--project", "p", "--no-project"], 2, "USAGE"),
    (["recall", "x", "--home", ""], 2, "USAGE"),
    (["--home", " ", "recall", "x"], 2, "USAGE"),
    (["backup", "nowhere/b.db"], 3, "FILE_NOT_FOUND"),
    (["why", "x"], 2, "USAGE"),
    (["why", "x", "--expect", UNKNOWN], 3, "MEMORY_NOT_FOUND"),
    (["list", "--type", "memo"], 2, "MEMORY_TYPE_INVALID"),
    (["list", "--layer", "deep"], 2, "MEMORY_LAYER_INVALID"),
    (["list", "--older-than", "ages"], 2, "TIME_INVALID"),
    (["list", "--cursor", "zzz"], 2, "CURSOR_INVALID"),
    (["list", "--cursor", "';--"], 2, "CURSOR_INVALID"),
    (["list", "--cursor", "ses_00000000000000000000000000"], 2, "CURSOR_INVALID"),
    (["quarantine", "list", "--cursor", "zzz"], 2, "CURSOR_INVALID"),
    (["jobs", "list", "--cursor", "zzz"], 2, "CURSOR_INVALID"),
    (["key", "list", "--cursor", "zzz"], 2, "CURSOR_INVALID"),
    (["show", UNKNOWN], 3, "MEMORY_NOT_FOUND"),
    (["show", "'; drop table memories; --"], 3, "MEMORY_NOT_FOUND"),
    (["edit", UNKNOWN, "--title", "t"], 3, "MEMORY_NOT_FOUND"),
    (["history", UNKNOWN], 3, "MEMORY_NOT_FOUND"),
    (["revert", UNKNOWN, "1"], 3, "MEMORY_NOT_FOUND"),
    (["revert", UNKNOWN, "one"], 2, "USAGE"),
    (["forget", UNKNOWN], 3, "MEMORY_NOT_FOUND"),
    (["forget", UNKNOWN, "--hard"], 3, "MEMORY_NOT_FOUND"),
    (["forget"], 2, "BULK_FORGET_NO_FILTERS"),
    (["forget", "--all", "--tag", "x"], 2, "BULK_FORGET_INVALID_FILTERS"),
    (["forget", UNKNOWN, "--tag", "x"], 2, "USAGE"),
    (["config", "show", "recall.flor"], 3, "SETTING_UNKNOWN"),
    (["config"], 2, "USAGE"),
    (["completion", "tcsh"], 2, "USAGE"),
    (["bench", "speed", "--sizes", "10,many"], 2, "USAGE"),
    (["doctor", "--session", "s-1"], 2, "USAGE"),
    (["doctor", "--transcript", "t.jsonl"], 2, "USAGE"),
    (["init", "--project", " "], 2, "PROJECT_ID_INVALID"),
    (["import", "missing.jsonl"], 3, "FILE_NOT_FOUND"),
    (["export", "missing/x.jsonl"], 3, "FILE_NOT_FOUND"),
    (["graph", "export", "missing/x.jsonl"], 3, "FILE_NOT_FOUND"),
    (["recall", "--no-cache"], 2, "USAGE"),
    (["recall", "---"], 2, "USAGE"),
    (["nonsense"], 2, "USAGE"),
]  # fmt: skip


@pytest.mark.parametrize(("words", "code", "name"), REFUSED, ids=[" ".join(case[0])[:60] for case in REFUSED])
def test_refused_with_one_line_a_code_and_the_next_move(cli: Cli, words: list[str], code: int, name: str) -> None:
    before = cli.remember("already there")
    plain, document = cli(*words), cli(*words, "--json")
    assert (plain.code, document.code) == (code, code)
    assert plain.out == "" and plain.err.count("\n") == 1
    assert plain.err.startswith("clew: ") and f" [{name}]. Next: " in plain.err
    assert document.error["code"] == name and document.error["message"] and document.error["next"]
    listed = cli("list", "--deleted", "--superseded", "--all-projects", "--json").json["memories"]
    assert [entry["id"] for entry in listed] == [before]


def test_another_projects_memory_is_not_found(cli: Cli) -> None:
    id = cli.remember("private to the shop", "--project", "acme/shop")
    for words in (
        ["show", id],
        ["history", id],
        ["edit", id, "--title", "t"],
        ["forget", id],
        ["forget", id, "--hard"],
    ):
        outcome = cli(*words, "--project", "acme/other", "--json")
        assert (outcome.code, outcome.error["code"]) == (3, "MEMORY_NOT_FOUND")
    assert cli("show", id, "--project", "acme/shop", "--json").json["version"] == 1


@pytest.mark.parametrize("words", [["remember", "-"], ["recall", "-"], ["edit", UNKNOWN, "--content", "-"]])
def test_stdin_that_is_not_utf8(cli: Cli, words: list[str]) -> None:
    outcome = cli(*words, "--json", stdin=b"caf\xe9")
    assert (outcome.code, outcome.error["code"]) == (2, "INVALID_UTF8")
    assert not cli.home.exists()


def test_stdin_beyond_the_limit_is_not_read_to_its_end(cli: Cli) -> None:
    cli.patch.setenv("CLEW_REMEMBER__MAX_CHARS", "10")
    outcome = cli("remember", "-", "--json", stdin=b"x" * 1000)
    assert (outcome.code, outcome.error["code"]) == (2, "MEMORY_TOO_LARGE")


def test_words_that_are_not_utf8_as_a_process(cli: Cli) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "clew", "remember", b"caf\xe9"], capture_output=True, cwd=cli.directory
    )
    assert done.returncode == 2 and b"[INVALID_UTF8]" in done.stderr and b"Traceback" not in done.stderr


def test_a_home_that_cannot_be_written(cli: Cli) -> None:
    """A file where the directory should be: even root cannot write there."""
    (cli.directory / "file").write_text("in the way")
    outcome = cli.process("remember", "x", "--home", str(cli.directory / "file" / "home"))
    assert (outcome.code, outcome.err.count("\n")) == (5, 1)
    assert "[STORE_READ_ONLY]. Next: " in outcome.err


def test_a_home_whose_name_is_not_utf8_is_named_and_not_made(cli: Cli) -> None:
    home = cli.directory / "caf\udce9"
    refused = cli.process("remember", "x", "--json", environment={"CLEW_HOME": str(home)})
    assert (refused.code, refused.error["code"]) == (2, "PATH_NOT_UTF8")
    assert "CLEW_HOME" in refused.error["next"] and not home.exists()


def test_a_file_that_is_not_ours_is_left_alone(cli: Cli) -> None:
    cli.home.mkdir()
    (cli.home / "clew.db").write_text("shopping list")
    outcome = cli("remember", "x", "--json")
    assert (outcome.code, outcome.error["code"]) == (1, "STORE_FOREIGN")
    assert (cli.home / "clew.db").read_text() == "shopping list"


@pytest.mark.parametrize("words", [["export"], ["graph", "export"]])
def test_an_export_to_stdout_is_no_single_document(cli: Cli, words: list[str]) -> None:
    refused = cli(*words, "-", "--json")
    assert (refused.code, refused.error["code"]) == (2, "USAGE") and "leave --json out" in refused.error["next"]


def test_a_backup_where_nothing_can_be_written_says_to_name_another_file(cli: Cli) -> None:
    cli.remember("x")
    (cli.directory / "file").write_text("in the way")
    error = cli("backup", "file/copy.db", "--json").error
    assert error["code"] == "STORE_READ_ONLY" and "copy.db" in error["message"]
    assert "name a file" in error["next"] and "CLEW_HOME" not in error["next"]


def test_a_backup_over_a_file_names_the_option_that_allows_it(cli: Cli) -> None:
    cli.remember("x")
    cli("backup", "copy.db")
    again = cli("backup", "copy.db", "--json")
    assert (again.code, again.error["code"]) == (1, "BACKUP_EXISTS") and "--overwrite" in again.error["next"]


def test_a_setting_that_does_not_exist(cli: Cli) -> None:
    cli.patch.setenv("CLEW_RECALL__FLOR", "0.4")
    outcome = cli("recall", "x", "--json")
    assert (outcome.code, outcome.error["code"]) == (2, "SETTING_UNKNOWN")
    assert "recall.floor" in outcome.error["next"]


# A disk that takes no further byte, below SQLite, for everything the process does.
FULL_DISK = """
import sys
import apsw
from clew.surfaces.cli.main import main

below = apsw.vfs_names()[0]

class Full(apsw.VFS):
    def __init__(self):
        super().__init__("full", below, makedefault=True)
    def xOpen(self, name, flags):
        return FullFile(below, name, flags)

class FullFile(apsw.VFSFile):
    def xWrite(self, data, offset):
        raise apsw.FullError("no space left")

disk = Full()
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize(
    "words", [["remember", "one more"], ["edit", "ID", "--content", "changed"], ["forget", "ID"]]
)
def test_a_full_disk_keeps_what_was_there(cli: Cli, words: list[str]) -> None:
    id = cli.remember("already there")
    words = [id if word == "ID" else word for word in words]
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK, *words], capture_output=True, text=True, cwd=cli.directory
    )
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (5, "", 1)
    assert "[DISK_FULL]. Next: free some disk space" in done.stderr
    listed = cli("list", "--deleted", "--json").json["memories"]
    assert [(entry["id"], entry["content"], entry["version"]) for entry in listed] == [(id, "already there", 1)]


def _small_files_only() -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # so that the write fails instead of the process
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))


def test_a_file_size_limit_is_told_and_survived(cli: Cli) -> None:
    id = cli.remember("already there")
    refused = cli.process("remember", "-", stdin=b"y" * 50_000, preexec_fn=_small_files_only)
    assert (refused.code, refused.out, refused.err.count("\n")) == (5, "", 1)
    assert "[DISK_FULL]. Next: free some disk space" in refused.err
    assert [entry["id"] for entry in cli("list", "--json").json["memories"]] == [id]
    assert cli("remember", "works again").code == 0


ON_A_SMALL_DISK = """
set -e
mount -t tmpfs -o size=1m tmpfs "$1"
export CLEW_HOME="$1/home"
"$2" -m clew remember "already there" --no-project >&2
dd if=/dev/zero of="$1/fill" bs=1k >&2 || true
for words in "remember more" "list" "recall there" "export $1/out.jsonl" "forget --all --yes --no-project"; do
  "$2" -m clew $words --json || true
done
rm "$1/fill"
"$2" -m clew list --no-project --json
"""


def test_every_command_says_that_the_disk_is_full(tmp_path: Path) -> None:
    if subprocess.run(["sh", "-c", 'unshare -rm mount -t tmpfs tmpfs "$0" 2>/dev/null', tmp_path]).returncode:
        pytest.skip("this system lets nobody mount a small disk")
    words = ["unshare", "-rm", "sh", "-c", ON_A_SMALL_DISK, "sh", str(tmp_path), sys.executable]
    done = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path)
    *refused, listed = map(json.loads, done.stdout.splitlines())
    assert [document["error"]["code"] for document in refused] == ["DISK_FULL"] * 5
    assert [entry["content"] for entry in listed["memories"]] == ["already there"]


def test_a_full_disk_under_an_export(cli: Cli) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    cli.remember("x" * 1000)
    outcome = cli.process("export", "/dev/full", "--json")
    assert (outcome.code, outcome.error["code"]) == (5, "DISK_FULL")


def test_an_export_that_fails_leaves_nothing_behind(cli: Cli) -> None:
    cli.remember("x")
    (cli.directory / "file").write_text("in the way")
    outcome = cli("export", "file/out.jsonl", "--json")
    assert (outcome.code, outcome.error["code"]) == (3, "FILE_NOT_FOUND")
    assert [entry.name for entry in cli.directory.iterdir()] == ["file"]


@pytest.mark.parametrize("text", ["--no-cache", "---"])
def test_text_that_begins_with_a_dash_is_asked_for_behind_two(cli: Cli, text: str) -> None:
    assert f'Next: put -- before a text that begins with a dash: clew recall -- "{text}"' in cli("recall", text).err
    id = cli.remember("set it by --no-cache")
    found = cli("recall", "--json", "--", text)
    assert found.code == 0
    assert [one["id"] for one in found.json["results"]] == ([id] if text == "--no-cache" else [])


def test_an_export_names_the_directory_that_is_missing(cli: Cli) -> None:
    cli.remember("x")
    err = cli("export", "missing/x.jsonl").err
    assert err.startswith("clew: there is no directory ") and "/missing [FILE_NOT_FOUND]" in err


def test_a_page_goes_on_at_an_id_that_another_program_gave(cli: Cli) -> None:
    (cli.directory / "two.jsonl").write_text(
        "".join(f'{{"id": "note:{number}", "content": "note {number}"}}\n' for number in range(2))
    )
    assert cli("import", "two.jsonl").code == 0
    cursor = cli("list", "--all-projects", "--limit", "1", "--json").json["cursor"]
    rest = cli("list", "--all-projects", "--cursor", cursor, "--json").json["memories"]
    assert [one["id"] for one in rest] == ["note:0"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["install", "claude-code", "--scope", "galaxy"], "there is no scope 'galaxy'"),
        (["matrix", "set", "a", "b", "--graph", "maybe"], "--graph cannot be 'maybe'"),
        (["project", "set", "p", "graph", "maybe"], "value cannot be 'maybe'"),
        (["install", "emacs"], "there is no host 'emacs'"),
    ],
)
def test_a_choice_that_is_not_there_is_named_by_its_option(cli: Cli, words: list[str], told: str) -> None:
    outcome = cli(*words)
    assert outcome.code == 2 and outcome.err.startswith(f"clew: {told} [USAGE]. Next: choose one of ")


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (["list", "--limit", "0"], "a whole number from 1"),
        (["list", "--limit", "9" * 20], "a smaller number"),
        (["session", "refresh", "s", "--token", "x"], "a whole number from 0"),
        (["recall", "x", "--floor", "2"], "a number from 0 to 1"),
        (["retention", "set", "--project", "p", "soon"], "a number"),
        (["bench", "speed", "--sizes", "1,,2"], "whole numbers with commas between them, each from 1"),
    ],
)
def test_a_value_of_the_wrong_kind_is_told_which_kind_is_wanted(cli: Cli, words: list[str], wanted: str) -> None:
    outcome = cli(*words)
    assert (outcome.code, outcome.out) == (2, "")
    assert f" cannot be '{words[-1]}' [USAGE]. Next: give {wanted}; see clew " in outcome.err


@pytest.fixture
def gone(cli: Cli) -> Cli:
    """In a directory that was deleted meanwhile."""
    cli.directory.rmdir()
    return cli


@pytest.mark.parametrize(
    "words",
    [["stats"], ["remember", "x"], ["recall", "x"], ["list"], ["config", "show"], ["init"], ["doctor"]],
    ids=" ".join,
)
def test_a_directory_that_was_deleted_is_in_no_project(gone: Cli, words: list[str]) -> None:
    outcome = gone(*words, "--json")
    assert (outcome.code, outcome.err) == (0, "")


def test_notes_and_events_come_in_from_a_directory_that_was_deleted(gone: Cli) -> None:
    notes = gone.home.parent / "CLAUDE.md"
    notes.write_text("# Rules\n\n- Never deploy on Fridays\n")
    assert gone("import", str(notes), "--json").json["added"] == 1
    event = b'{"v": 1, "session": "ses_1", "phase": "pre", "tool": "Edit", "paths": ["/a.py"]}'
    assert "DIRECTORY_GONE" not in gone("inject", "event", "--json", stdin=event).out


@pytest.mark.parametrize(
    "words",
    [
        ["off"], ["on"], ["init", "--project", "p"], ["install", "claude-code", "--scope", "project"],
        ["stats", "--home", "here"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_what_needs_the_directory_that_was_deleted_says_so(gone: Cli, words: list[str]) -> None:
    outcome = gone(*words, "--json")
    assert (outcome.code, outcome.error["code"]) == (3, "DIRECTORY_GONE") and outcome.error["next"]


def test_an_edit_without_options_names_options(cli: Cli) -> None:
    outcome = cli("edit", cli.remember("a"), "--json")
    assert (outcome.code, outcome.error["code"]) == (2, "USAGE")
    assert "--content" in outcome.error["next"] and "clew edit --help" in outcome.error["next"]


def test_a_home_that_is_a_file_is_said_to_be_one(cli: Cli) -> None:
    (cli.directory / "file").touch()
    outcome = cli("list", "--home", "file", "--json")
    assert outcome.error["message"].startswith(f"{cli.directory / 'file'} is a file")


def test_an_empty_question_is_refused_with_the_way_to_what_is_newest(cli: Cli) -> None:
    cli.remember("a")
    for words in ([""], [" "]):
        outcome = cli("recall", *words, "--json")
        assert (outcome.code, outcome.error["code"]) == (2, "USAGE") and "clew list" in outcome.error["next"]


def test_stdin_with_a_nul_is_refused_and_not_kept_as_another_text(cli: Cli) -> None:
    outcome = cli("remember", "-", "--json", stdin=b"a\0b")
    assert (outcome.code, outcome.error["code"]) == (2, "INVALID_UTF8") and "(byte 1)" in outcome.error["message"]


@pytest.mark.parametrize(
    "words", [["remember", "a", "--tag", ""], ["remember", "a", "--path", " "], ["list", "--tag", ""]]
)
def test_a_blank_tag_is_not_dropped_without_a_word(cli: Cli, words: list[str]) -> None:
    outcome = cli(*words, "--json")
    assert (outcome.code, outcome.error["code"]) == (2, "USAGE") and "is blank" in outcome.error["message"]


def test_an_edit_takes_tags_away_by_a_blank_one(cli: Cli) -> None:
    id = cli.remember("a", "--tag", "x")
    assert cli("edit", id, "--tag", "", "--json").json.get("tags", []) == []

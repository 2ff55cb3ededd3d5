"""Memories in files, and looking after the store."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest
from cli_driver import Cli

from clew.clew import Clew
from clew.store import queries
from clew.store.sqlite import APPLICATION_ID


def contents(cli: Cli, *words: str) -> list[str]:
    listed = cli("list", "--all-projects", "--json", *words).json["memories"]
    return sorted(entry["content"] for entry in listed)


def test_export_and_import_carry_every_project_over(cli: Cli) -> None:
    ids = {cli.remember("of the shop", "--project", "acme/shop"), cli.remember("of nobody")}
    assert cli("export", "out.jsonl", "--json").json["count"] == 2
    other = ["--home", str(cli.home / "other")]
    told = cli("import", "out.jsonl", "--dry-run", *other, "--json")
    assert (told.code, told.json["added"], contents(cli, *other)) == (0, 2, [])
    assert cli("import", "out.jsonl", *other).out.startswith("added 2 memories, 0 were known\n")
    assert cli("import", "out.jsonl", *other).out.startswith("added 0 memories, 2 were known\n")
    listed = cli("list", "--all-projects", *other, "--json").json["memories"]
    assert {entry["id"] for entry in listed} == ids
    assert {entry.get("project") for entry in listed} == {"acme/shop", None}


def test_export_of_one_project_to_stdout(cli: Cli) -> None:
    cli.remember("of the shop: Grüße", "--project", "acme/shop")
    cli.remember("of the bank", "--project", "acme/bank")
    outcome = cli.process("export", "-", "--project", "acme/shop", environment={"PYTHONIOENCODING": "ascii"})
    header, *lines = [json.loads(line) for line in outcome.out.splitlines()]
    assert header["count"] == 1 and [line["content"] for line in lines] == ["of the shop: Grüße"]
    assert outcome.err == "exported 1 memory\n"


@pytest.mark.parametrize("has_files_in_memory", [True, False])
def test_what_export_writes_to_stdout_is_imported_from_stdin_and_as_trusted(
    cli: Cli, has_files_in_memory: bool
) -> None:
    if not has_files_in_memory:
        cli.patch.delattr("os.memfd_create", raising=False)
    known = cli.remember("of the shop", "--project", "acme/shop")
    other = ["--home", str(cli.home / "other")]
    written = cli.process("export", "-").out.encode()
    assert cli("import", "-", *other, stdin=written).out.startswith("added 1 memory, 0 were known\n")
    [entry] = cli("list", "--all-projects", *other, "--json").json["memories"]
    assert (entry["id"], entry["trust"]) == (known, "user")
    assert [path.name for path in (cli.home / "other").glob("stdin-*")] == []


@pytest.mark.parametrize("has_files_in_memory", [True, False])
def test_notes_from_stdin_are_said_to_come_from_there(cli: Cli, has_files_in_memory: bool) -> None:
    if not has_files_in_memory:
        cli.patch.delattr("os.memfd_create", raising=False)
    cli("import", "-", stdin=b"The database is PostgreSQL.\n")
    [entry] = cli("list", "--all-projects", "--json").json["memories"]
    assert entry["metadata"] == {"source": "stdin", "line": 1}
    refused = cli("import", "-", stdin=b"caf\xe9\n")
    assert refused.code == 2 and "stdin is not valid UTF-8" in refused.err and "/dev/fd" not in refused.err


def test_what_notes_say_no_more_is_told_and_forgotten_on_request(cli: Cli) -> None:
    notes = Path("CLAUDE.md")
    notes.write_text("- The API port is 8080.\n- Always run make lint.\n- Never push to main.\n")
    cli("import", "CLAUDE.md")
    notes.write_text("- The API port is 9090.\n- Always run make lint.\n")
    told = cli("import", "CLAUDE.md")
    assert (
        "2 memories that an earlier one of these notes said, and this one does not, are still current" in told.out
    )
    assert "forgot 2 memories" in cli("import", "CLAUDE.md", "--replace").out
    left = {entry["content"] for entry in cli("list", "--all-projects", "--json").json["memories"]}
    assert left == {"The API port is 9090.", "Always run make lint."}
    assert "earlier" not in cli("import", "CLAUDE.md", "--replace").out


def test_notes_take_the_place_of_those_of_the_same_file_alone(cli: Cli) -> None:
    for folder, port in (("api", 1), ("web", 2)):
        Path(folder).mkdir()
        Path(folder, "CLAUDE.md").write_text(f"- The {folder} port is {port}.\n")
        cli("import", f"{folder}/CLAUDE.md")
    [changed] = [one for one in cli("list", "--all-projects", "--json").json["memories"] if "api" in one["content"]]
    cli("edit", changed["id"], "--content", "The api port is 3, says Ann.")
    for folder in ("api", "web"):
        assert "gone" not in cli("import", f"{folder}/CLAUDE.md", "--replace", "--json").json
    Path("CLAUDE.md").write_text("- The root port is 4.\n")
    assert "gone" not in cli("import", "CLAUDE.md", "--replace", "--json").json


@pytest.mark.parametrize("now_said", ["", "# Notes\n", "- Something else altogether holds.\n"])
def test_notes_of_which_nothing_is_left_are_forgotten_only_on_confirmation(cli: Cli, now_said: str) -> None:
    Path("CLAUDE.md").write_text("- The API port is 8080.\n- Never push to main.\n")
    cli("import", "CLAUDE.md")
    Path("CLAUDE.md").write_text(now_said)
    refused = cli("import", "CLAUDE.md", "--replace")
    assert refused.code == 2 and "2 memories, all that CLAUDE.md said before" in refused.err
    assert "--yes" in refused.err and len(contents(cli)) == 2
    assert "forgot 2 memories" in cli("import", "CLAUDE.md", "--replace", "--yes").out


def test_a_line_whose_memory_was_edited_since_is_not_brought_in_beside_it(cli: Cli) -> None:
    Path("CLAUDE.md").write_text("- Use pnpm.\n- Always run make lint.\n")
    cli("import", "CLAUDE.md")
    [id] = [one["id"] for one in cli("list", "--json").json["memories"] if "pnpm" in one["content"]]
    cli("edit", id, "--content", "edited by hand: use pnpm 9")
    for words in (["--dry-run"], ["--replace"], []):
        told = cli("import", "CLAUDE.md", *words)
        assert "added 0" in told.out.replace("would add 0", "added 0")
        assert f"left out what 1 memory said before being edited: clew show {id}" in told.out
    assert sorted(contents(cli)) == ["Always run make lint.", "edited by hand: use pnpm 9"]
    assert cli("import", "CLAUDE.md", "--json").json["edited"] == [id]


def test_notes_that_somebody_edits_meanwhile_stay(cli: Cli) -> None:
    Path("CLAUDE.md").write_text("- The port is 1.\n- Always run make lint.\n")
    cli("import", "CLAUDE.md")
    Path("CLAUDE.md").write_text("- Never push on Fridays.\n")
    forget = Clew.forget

    def somebody_edits_it_first(memory: Clew, id: str, **named: Any) -> Any:
        if "port" in memory.show(id).content:
            memory.edit(id, content="The port is 3, says Ann.")
        return forget(memory, id, **named)

    cli.patch.setattr(Clew, "forget", somebody_edits_it_first)
    assert len(cli("import", "CLAUDE.md", "--replace", "--yes", "--json").json["gone"]) == 1
    left = {entry["content"] for entry in cli("list", "--all-projects", "--json").json["memories"]}
    assert left == {"The port is 3, says Ann.", "Never push on Fridays."}


def test_only_notes_that_lie_here_take_the_place_of_others(cli: Cli) -> None:
    cli.remember("x")
    cli("export", "all.jsonl")
    Path("here").mkdir()
    Path("CLAUDE.md").write_text("- The port is 1.\n")
    cli.patch.chdir("here")
    for file in ("../all.jsonl", "../CLAUDE.md"):
        refused = cli("import", file, "--replace")
        assert refused.code == 2 and "IMPORT_REPLACES_NOTHING" in refused.err


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["--project", "p"], {"of p"}),
        (["--user", "ann"], {"of ann", "of ann in p"}),
        (["--user", "ann", "--all-projects"], {"of ann", "of ann in p"}),
        (["--user", "ann", "--no-project"], {"of ann"}),
        (["--user", "ann", "--project", "p"], {"of ann in p"}),
        (["--no-project"], {"shared"}),
        ([], {"shared", "of p", "of ann", "of ann in p"}),
    ],
)
def test_an_export_holds_what_belongs_to_the_project_and_user(cli: Cli, words: list[str], found: set[str]) -> None:
    cli.remember("shared", "--no-project")
    cli.remember("of p", "--project", "p")
    cli.remember("of ann", "--no-project", "--user", "ann")
    cli.remember("of ann in p", "--project", "p", "--user", "ann")
    cli("export", "out.jsonl", *words)
    lines = (cli.directory / "out.jsonl").read_text().splitlines()[1:]
    assert {json.loads(line)["content"] for line in lines} == found


def test_an_export_of_one_project_and_of_all_is_refused(cli: Cli) -> None:
    assert cli("export", "out.jsonl", "--project", "p", "--all-projects", "--json").error["code"] == "USAGE"


def test_an_export_replaces_a_file_whole_and_keeps_it_private(cli: Cli) -> None:
    file = cli.directory / "out.jsonl"
    file.touch(0o644)
    for text in ("x", "y"):
        cli.remember(text)
        assert cli("export", "out.jsonl").code == 0
        assert text in file.read_text() and file.stat().st_mode & 0o077 == 0
    assert [entry.name for entry in cli.directory.iterdir()] == ["out.jsonl"]


@pytest.mark.parametrize("words", [["export", "--project", "nosuch"], ["graph", "export"]])
@pytest.mark.parametrize("name", ["clew.db", "clew.db-wal", "clew.db-shm", "clew.db-journal"])
def test_an_export_onto_the_store_is_refused(cli: Cli, words: list[str], name: str) -> None:
    cli.remember("to be kept")
    (cli.directory / "link").symlink_to(cli.home / name)
    for file in (str(cli.home / name), "link", str(cli.home / ".." / "home" / name)):
        outcome = cli(*words, file, "--json")
        assert (outcome.code, outcome.error["code"]) == (2, "EXPORT_ONTO_ITSELF") and outcome.error["next"]
    assert contents(cli) == ["to be kept"]


def test_an_export_onto_a_hard_link_of_the_store_is_refused(cli: Cli) -> None:
    cli.remember("to be kept")
    (cli.directory / "hard").hardlink_to(cli.home / "clew.db")
    assert cli("export", "hard", "--json").error["code"] == "EXPORT_ONTO_ITSELF"


@pytest.mark.parametrize(("words", "other"), [(["export"], ["graph", "export"]), (["graph", "export"], ["export"])])
def test_an_export_replaces_nothing_but_an_earlier_one_of_its_kind(
    cli: Cli, words: list[str], other: list[str]
) -> None:
    cli.remember("x")
    (cli.directory / "notes.txt").write_text("by hand")
    assert cli(*other, "other.jsonl").code == 0
    for name in ("notes.txt", "other.jsonl"):
        before = (cli.directory / name).read_bytes()
        outcome = cli(*words, name, "--json")
        assert (outcome.code, outcome.error["code"]) == (1, "EXPORT_EXISTS") and outcome.error["next"]
        assert (cli.directory / name).read_bytes() == before


def test_an_export_goes_through_a_device(cli: Cli) -> None:
    cli.remember("x")
    piped = cli.process("export", "/dev/stdout")
    assert piped.code == 0 and piped.out.startswith('{"format": "clew-memories"')
    assert cli("export", "/dev/null").code == 0


def test_an_import_tells_which_lines_did_not_come_in(cli: Cli) -> None:
    (cli.directory / "in.jsonl").write_bytes(
        b'{"content": "good"}\n{bad\n{"content": "caf\xe9"}\n{"content": ""}\n'
    )
    outcome = cli("import", "in.jsonl")
    assert outcome.code == 1 and "added 1 memory" in outcome.out
    assert all(f"line {number}: " in outcome.out for number in (2, 3, 4))
    assert outcome.err.startswith(
        "clew: not all of in.jsonl came in [IMPORT_INCOMPLETE]. Next: correct line 2, 3, 4"
    )
    assert outcome.err.count("\n") == 1
    assert contents(cli) == ["good"]


def test_an_export_cut_off_comes_with_the_next_move(cli: Cli) -> None:
    cli.remember("first")
    cli.remember("second")
    cli("export", "out.jsonl")
    file = cli.directory / "out.jsonl"
    file.write_bytes(file.read_bytes()[:-20])
    outcome = cli("import", "out.jsonl", "--home", str(cli.home / "other"), "--json")
    assert (outcome.code, outcome.json["added"], outcome.json["truncated"]) == (1, 1, True)
    assert outcome.json["next"] == "the file ends in line 3: import it again when it is complete"
    assert f"[IMPORT_INCOMPLETE]. Next: {outcome.json['next']}" in outcome.err


def test_short_notes_come_in_and_what_does_not_is_counted(cli: Cli) -> None:
    notes = "# Style\n\n- Use tabs\n- pnpm only\n- 使用四个空格缩进\n- テストは必須です\n- Testing\n"
    (cli.directory / "CLAUDE.md").write_text(notes, encoding="utf-8")
    outcome = cli("import", "CLAUDE.md")
    assert (outcome.code, len(contents(cli))) == (0, 4)
    assert "1 line that says nothing by itself was left out: 7\n" in outcome.out
    assert cli("import", "CLAUDE.md", "--json").json["left_out"] == [7]


def test_an_import_puts_all_into_the_project_it_is_told(cli: Cli) -> None:
    cli.remember("of the shop", "--project", "acme/shop")
    cli("export", "out.jsonl")
    assert cli("import", "out.jsonl", "--project", "new").out.startswith("added 1 memory, 0 were known\n")
    assert cli("import", "out.jsonl", "--project", "new").out.startswith("added 0 memories, 1 was known\n")
    assert contents(cli) == ["of the shop", "of the shop"]


def test_an_id_that_another_text_has_comes_with_the_next_move(cli: Cli) -> None:
    id = cli.remember("as it was")
    cli("export", "out.jsonl")
    cli("edit", id, "--content", "as it is")
    outcome = cli("import", "out.jsonl")
    assert outcome.code == 0 and "1 have an id or a key that another text has, and were left out\n" in outcome.out
    assert (
        f"next: compare with what is there: clew show {id}; to keep both, import with --project P\n" in outcome.out
    )


def test_notes_belong_to_the_project_they_lie_in(cli: Cli) -> None:
    (cli.directory / ".clew.toml").write_text('project = "acme/shop"')
    (cli.directory / "CLAUDE.md").write_text("# Rules\n\n- Never deploy on Fridays\n")
    assert cli("import", "CLAUDE.md").code == 0
    assert {entry["project"] for entry in cli("list", "--json").json["memories"]} == {"acme/shop"}


def test_an_export_keeps_its_places_whatever_its_file_is_called(cli: Cli) -> None:
    cli.remember("of the bank", "--project", "acme/bank")
    cli.remember("of nobody", "--no-project")
    (cli.directory / ".clew.toml").write_text('project = "acme/shop"')
    assert cli("export", "out.txt").code == 0
    for words, projects in (([], {"acme/bank", None}), (["--project", "acme/new"], {"acme/new"})):
        other = ["--home", str(cli.home / f"other{len(words)}")]
        assert cli("import", "out.txt", *words, *other).code == 0
        listed = cli("list", "--all-projects", *other, "--json").json["memories"]
        assert {entry.get("project") for entry in listed} == projects


def test_notes_go_where_the_options_say(cli: Cli) -> None:
    (cli.directory / ".clew.toml").write_text('project = "acme/shop"')
    for words, project in (["--no-project"], None), (["--project", "acme/bank"], "acme/bank"), ([], "acme/shop"):
        (cli.directory / "notes.txt").write_text(f"- Never deploy on Fridays ({project})\n")
        assert cli("import", "notes.txt", *words).code == 0
    listed = cli("list", "--all-projects", "--json").json["memories"]
    assert {(entry["content"].partition("(")[2], entry.get("project")) for entry in listed} == {
        ("None)", None),
        ("acme/bank)", "acme/bank"),
        ("acme/shop)", "acme/shop"),
    }
    both = cli("import", "notes.txt", "--no-project", "--project", "x", "--json")
    assert both.error["code"] == "USAGE"


def test_an_import_says_how_much_was_private(cli: Cli) -> None:
    (cli.directory / "CLAUDE.md").write_text(
        "- Said aloud here\n\n<private>\n- Not this\n\n- Nor this\n</private>\n"
    )
    outcome = cli("import", "CLAUDE.md")
    assert (outcome.code, contents(cli)) == (0, ["Said aloud here"])
    assert "1 private passage was left out" in outcome.out


def test_importing_a_directory_says_so_and_what_to_do(cli: Cli) -> None:
    error = cli("import", ".", "--json").error
    assert error["message"] == ". is a directory without transcripts" and "clew import CLAUDE.md" in error["next"]


@pytest.mark.parametrize("words", [("export", "x"), ("export", "-"), ("backup", "x"), ("graph", "export", "x")])
def test_of_a_store_that_is_not_there_nothing_is_taken_and_none_is_made(cli: Cli, words: tuple[str, ...]) -> None:
    outcome = cli(*words)
    assert outcome.code == 3 and "[STORE_NOT_FOUND]" in outcome.err and "CLEW_HOME" in outcome.err
    assert not (cli.home / "clew.db").exists() and not (cli.directory / "x").exists()


def test_backup_and_restore(cli: Cli) -> None:
    cli.remember("before")
    assert cli("backup", "copy.db", "--json").json["memories"] == 1
    assert cli("backup", "copy.db", "--json").error["code"] == "BACKUP_EXISTS"
    cli.remember("after")
    assert cli("restore", "copy.db", "--json").error["code"] == "USAGE"
    assert contents(cli) == ["after", "before"]
    assert cli("restore", "copy.db", "--yes").code == 0
    assert contents(cli) == ["before"]
    assert cli("backup", "copy.db", "--overwrite").code == 0


@pytest.mark.parametrize("name", ["missing.db", "notes.txt"])
def test_restore_of_what_is_no_backup_changes_nothing(cli: Cli, name: str) -> None:
    cli.remember("kept")
    (cli.directory / "notes.txt").write_text("not a store")
    outcome = cli("restore", name, "--yes", "--json")
    assert outcome.code in (1, 3) and outcome.error["next"]
    assert contents(cli) == ["kept"]


def test_a_backup_that_is_not_there_is_told_before_anything_is_asked(cli: Cli) -> None:
    cli.remember("a")
    outcome = cli("restore", "nowhere.db", "--json")
    assert (outcome.code, outcome.error["code"]) == (3, "FILE_NOT_FOUND")


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="a directory in which nobody makes files")
def test_an_export_that_cannot_be_written_names_the_file_that_was_asked_for(cli: Cli) -> None:
    cli.remember("a")
    assert cli("export", "/proc/out.jsonl", "--json").error["message"].startswith("/proc/out.jsonl")


def test_restore_from_a_directory_is_told_so(cli: Cli) -> None:
    (cli.directory / "backups").mkdir()
    outcome = cli("restore", "backups", "--yes", "--json")
    assert (outcome.code, outcome.error["code"]) == (2, "FILE_IS_DIRECTORY")


def test_stats_doctor_migrate_and_reindex(cli: Cli) -> None:
    cli.remember("one", "--project", "acme/shop")
    assert cli("stats", "--json").json["memories"] == 1
    assert "acme/shop" in cli("stats").out
    healthy = cli("doctor", "--json")
    assert healthy.code == 0 and healthy.json["ok"] and healthy.json["checks"]
    assert cli("migrate", "--json").json["migrated"] is False
    assert cli("reindex", "--json").json["memories"] == 1


def test_an_import_says_what_is_wrong_with_a_line(cli: Cli) -> None:
    lines = ['{"content": "one", "tags": "x"}', '{"content": "two", "at": 17}', "three", '{"content": "four"}', ""]
    (cli.directory / "in.jsonl").write_text("\n".join(lines))
    shown = cli("import", "in.jsonl")
    assert shown.code == 1 and "line 1: tags is not a list of texts [MEMORY_FIELD_INVALID]" in shown.out
    told = cli("import", "in.jsonl", "--json").json["skipped"]
    assert [entry["message"] for entry in told[1:]] == ["at is not text", "the line is not JSON"]


@pytest.mark.parametrize("kind", ["file", "dangling link"])
def test_doctor_of_a_home_that_can_hold_no_store_fails(cli: Cli, tmp_path: Path, kind: str) -> None:
    home = tmp_path / "no-directory"
    home.touch() if kind == "file" else home.symlink_to(tmp_path / "nowhere")
    outcome = cli("doctor", "--json", "--home", str(home))
    [file] = [check for check in outcome.json["checks"] if check["name"] == "file"]
    assert outcome.code == 1 and not file["ok"] and "CLEW_HOME" in file["next"]
    assert cli("doctor", "--home", str(tmp_path / "not" / "there" / "yet")).code == 0


def test_doctor_of_a_damaged_store_fails_and_names_the_remedy(cli: Cli) -> None:
    cli.home.mkdir()
    (cli.home / "clew.db").write_text("scribble")
    outcome = cli("doctor")
    assert outcome.code == 1 and "FAIL" in outcome.out and "next: " in outcome.out


def test_migrate_says_what_it_did(cli: Cli) -> None:
    outcome = cli("migrate", "--json").json
    assert outcome["from"] == 0 and outcome["to"] >= 1 and outcome["migrated"]


def test_migrate_says_what_it_did_also_while_others_use_the_store(cli: Cli) -> None:
    cli.home.mkdir()
    with closing(apsw.Connection(str(cli.home / "clew.db"))) as older:
        *former, (number, _slug, _sql) = queries.migrations("sqlite")
        for earlier, _slug, sql in former:
            older.execute(f"BEGIN; {sql}; PRAGMA application_id = {APPLICATION_ID}; COMMIT")
            older.pragma("user_version", earlier)
        older.pragma("journal_mode", "wal")
        older.execute("SELECT count(*) FROM memories").fetchall()
        for before, migrated in ((number - 1, True), (number, False)):
            outcome = cli("migrate", "--json").json
            assert (outcome["from"], outcome["to"], outcome["migrated"]) == (before, number, migrated)


def test_a_model_that_is_not_there(cli: Cli) -> None:
    outcome = cli("model", "prepare", "minilm", "--from", "nowhere", "--json")
    assert outcome.code == 2 and outcome.error["code"] in ("MODEL_MISSING", "EXTRA_MISSING")
    assert cli("model", "prepare", "gpt").code == 2


def tiny_corpus(folder: Path) -> str:
    corpus = {
        "corpus": "tiny",
        "units": [{"id": "u1", "text": "We chose PostgreSQL"}, {"id": "u2", "text": "Fridays are free"}],
        "questions": [{"id": "q1", "text": "PostgreSQL?", "gold": ["u1"], "category": "fact"}],
    }
    (folder / "tiny.jsonl").write_text(json.dumps(corpus) + "\n")
    return "tiny.jsonl"


def test_bench_recall_reads_its_arguments(cli: Cli) -> None:
    words = [tiny_corpus(cli.directory), "--embedder", "none", "--rankings", "ranked.jsonl", "--json"]
    assert cli("bench", "recall", *words).code == 0
    ranked = json.loads((cli.directory / "ranked.jsonl").read_text())
    assert (ranked["question"], ranked["ranked"][0]) == ("q1", "u1")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_figures_are_told_also_when_the_rankings_cannot_be_written(cli: Cli) -> None:
    words = ["bench", "recall", tiny_corpus(cli.directory), "--embedder", "none", "--rankings", "/dev/full"]
    shown = cli(*words)
    assert shown.code == 5 and "tiny.jsonl: 2 units" in shown.out
    assert (
        shown.err.startswith("clew: /dev/full was not written: No space left") and len(shown.err.splitlines()) == 1
    )
    told = cli(*words, "--json")
    assert told.code == 5 and told.json["files"]["tiny.jsonl"]["scores"]["all"]["recall@2"] == 1
    assert told.json["not_written"]["file"] == "/dev/full"


@pytest.mark.skipif(sys.platform == "win32", reason="signals differ")
def test_a_benchmark_that_is_terminated_leaves_no_store_behind(cli: Cli) -> None:
    stores = cli.directory / "stores"
    stores.mkdir()
    units = [{"id": at, "text": f"thing {at} is kept on shelf {at * 7}"} for at in range(5_000)]
    corpus = {"corpus": "things", "units": units, "questions": [{"id": "q", "text": "shelf", "gold": [7]}]}
    (cli.directory / "things.jsonl").write_text(json.dumps(corpus))
    words = ["bench", "recall", "things.jsonl", "--embedder", "none", "--rankings", "ranked.jsonl"]
    running = subprocess.Popen(
        [sys.executable, "-m", "clew", *words],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=cli.directory, env=os.environ | {"TMPDIR": str(stores)},
    )  # fmt: skip
    while not list(stores.glob("*/bench.db")):
        assert running.poll() is None
    running.terminate()
    assert running.communicate(timeout=60) == (b"", b"clew: interrupted\n") and running.returncode == 130
    assert not list(stores.iterdir()) and not (cli.directory / "ranked.jsonl").exists()


def test_a_missing_baseline_is_not_found(cli: Cli) -> None:
    words = ["bench", "recall", tiny_corpus(cli.directory), "--embedder", "none", "--baseline", "missing", "--json"]
    outcome = cli(*words)
    assert outcome.code == 3 and outcome.error["code"] == "FILE_NOT_FOUND"

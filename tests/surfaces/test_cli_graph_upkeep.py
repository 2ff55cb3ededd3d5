"""Linking, decay, and edges in files, as typed."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from cli_driver import Cli


def test_link_twice_and_unlink(cli: Cli) -> None:
    one = cli.remember("sessions live in memory")
    linked = cli("link", one[:14], "depends_on", "Redis")
    assert (linked.code, linked.out.splitlines()[0]) == (0, f"linked memory:{one} -depends_on-> service:redis")
    assert cli("link", one, "depends_on", "service:redis").out.startswith("already linked ")
    assert cli("unlink", one, "depends_on", "Redis").out.startswith("unlinked ")
    gone = cli("link", one, "depends_on", "Redis", "--unlink", "--json")
    assert (gone.code, gone.error["code"]) == (3, "LINK_NOT_FOUND")


def test_a_link_to_what_was_not_known_says_so_and_how_it_was_read(cli: Cli) -> None:
    one, other = cli.remember("sessions live in memory"), cli.remember("tokens do as well")
    linked = cli("link", one, "about", "typo_thing")
    assert "new: symbol:typothing was not known before" in linked.out and "clew unlink" in linked.out
    assert "new:" not in cli("link", other, "about", "typo_thing").out
    assert cli("link", other, "about", "Redis", "--json").json["new"] == ["service:redis"]
    assert "new" not in cli("link", one, "about", "Redis", "--json").json


def test_link_as_json_and_both_ways(cli: Cli) -> None:
    one, other = cli.remember("it is red", "--project", "shop"), cli.remember("it is blue", "--project", "shop")
    document = cli("link", one, "contradicts", other, "--json").json
    assert document == {
        "from": f"memory:{one}", "to": f"memory:{other}", "type": "contradicts", "project": "shop",
        "both_ways": True, "changed": True,
    }  # fmt: skip
    assert "-contradicts<-> " in cli("link", other, "contradicts", one).out


@pytest.mark.parametrize(
    ("words", "exit_code", "code"),
    [
        (["Depends On", "Redis"], 2, "RELATION_INVALID"),
        (["uses", "mem_0000000000"], 3, "MEMORY_NOT_FOUND"),
        (["uses", "nothing whatsoever"], 3, "NODE_NOT_FOUND"),
    ],
)
def test_a_link_that_cannot_be(cli: Cli, words: list[str], exit_code: int, code: str) -> None:
    one = cli.remember("sessions live in memory")
    outcome = cli("link", one, *words, "--json")
    assert (outcome.code, outcome.error["code"]) == (exit_code, code) and outcome.error["next"]


def test_a_link_looks_into_the_project_that_is_named(cli: Cli) -> None:
    one = cli.remember("sessions live in memory", "--project", "shop")
    assert cli("link", one, "uses", "Redis", "--project", "blog").code == 3
    assert cli("link", one, "uses", "Redis", "--project", "shop").code == 0


def test_decay_tells_first_and_then_does(cli: Cli) -> None:
    cli.remember("The AuthService depends on Redis")
    told = cli("graph", "decay", "--dry-run", "--json").json
    assert told["dry_run"] and (told["edges_total"], told["edges_decayed"]) == (1, 0)
    done = cli("graph", "decay")
    assert done.out == "0 of 1 edge lost confidence\n0 are below 0.2 and hardly counted\n"


def test_decay_lists_what_faded_most(cli: Cli) -> None:
    cli.remember("The AuthService depends on Redis")
    cli.patch.setenv("CLEW_GRAPH__DECAY_WINDOW_DAYS", "0.0000000001")
    lines = cli("graph", "decay").out.splitlines()
    assert lines[0] == "1 of 1 edge lost confidence" and lines[1].startswith("1 is below")
    assert lines[2].split() == ["depends", "on", "-0.85", "1", "edge"]


def test_decay_that_is_switched_off_says_so(cli: Cli) -> None:
    cli.patch.setenv("CLEW_GRAPH__EDGE_DECAY", "false")
    assert cli("graph", "decay", "--json").error["code"] == "EDGE_DECAY_OFF"
    assert cli("graph", "decay", "--dry-run").code == 0


def test_edges_go_to_another_store_after_their_memories(cli: Cli) -> None:
    one = cli.remember("sessions live in memory", "--project", "shop")
    cli("link", one, "uses", "Redis")

    assert cli("graph", "export", "edges.jsonl").code == 0
    exported = cli("graph", "export", "edges.jsonl", "--json").json  # over the earlier one
    cli("export", "memories.jsonl")
    other = ["--home", str(cli.home / "other")]
    early = cli("graph", "import", "edges.jsonl", *other)
    assert early.code == 1 and "MEMORY_NOT_FOUND" in early.out
    assert "[IMPORT_INCOMPLETE]. Next: first import the memories" in early.err
    cli("import", "memories.jsonl", *other)
    told = cli("graph", "import", "edges.jsonl", "--dry-run", *other)
    assert told.code == 0 and told.out.startswith("would add 1 edge, ")
    assert cli("graph", "import", "edges.jsonl", *other).out.startswith("added 1 edge, ")
    written = (cli.directory / "edges.jsonl").read_bytes()
    again = cli("graph", "import", "-", *other, "--json", stdin=written).json
    assert (again["added"], again["known"], again["checksum"]) == (0, exported["count"], "ok")


def test_edges_to_stdout_of_one_project(cli: Cli) -> None:
    cli("link", cli.remember("sessions", "--project", "shop"), "uses", "Redis")
    cli("link", cli.remember("articles", "--project", "blog"), "uses", "Kafka")
    outcome = cli.process("graph", "export", "-", "--project", "shop")
    header, *lines = [json.loads(line) for line in outcome.out.splitlines()]
    users = [line["to"] for line in lines if line["user"]]
    assert header["count"] == len(lines) and users == ["service:redis"]
    assert outcome.err.startswith("exported ")


def test_an_import_tells_which_lines_were_left_out_and_why(cli: Cli) -> None:
    one, other = cli.remember("first"), cli.remember("second")
    good = {"from": one, "to": other, "type": "entity", "weight": 1, "label": "x", "ts": "2026-01-01T00:00:00Z"}
    (cli.directory / "entity.jsonl").write_text(f"garbage\n{json.dumps(good)}\n{{}}\n")
    outcome = cli("graph", "import", "entity.jsonl")
    assert outcome.code == 1 and outcome.out.startswith("added 1 edge, 0 were known\n")
    assert "left out 1 edge: LINE_NOT_JSON" in outcome.out and "in line 1, 3" in outcome.out
    assert outcome.err.splitlines() == [
        "clew: not all of entity.jsonl came in [IMPORT_INCOMPLETE]. "
        "Next: correct line 1, 3 and import the file again"
    ]


def test_edges_are_not_looked_for_in_a_directory(cli: Cli) -> None:
    outcome = cli("graph", "import", ".", "--json")
    assert (outcome.code, outcome.error["code"]) == (2, "FILE_IS_DIRECTORY")


def test_reindex_and_stats_speak_of_the_graph(cli: Cli) -> None:
    cli.remember("The AuthService depends on Redis")
    assert cli("reindex", "--json").json["graph"] == 0
    assert cli("stats", "--json").json["graph"]["edges"] == 1
    assert "graph" in [check["name"] for check in cli("doctor", "--json").json["checks"]]


def test_a_recall_imports_nothing_of_this(cli: Cli) -> None:
    cli.remember("The AuthService depends on Redis")
    modules = (
        "clew.relate.decay", "clew.relate.upkeep", "clew.relate.edges_file", "clew.relate.edge_line",
        "clew.remember.link", "clew.store.edges", "clew.surfaces.cli.commands.graph_upkeep",
    )  # fmt: skip
    code = "import sys; from clew.surfaces.cli.main import main; main(('recall', 'Redis', '--json'))\n"
    code += f"print([name for name in {modules!r} if name in sys.modules], file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=cli.directory)
    assert "AuthService" in done.stdout and done.stderr.strip() == "[]"

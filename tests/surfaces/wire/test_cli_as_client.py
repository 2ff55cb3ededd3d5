"""The command line through the daemon of its home: the same output to the byte, the same exit codes, no waiting."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from cli_driver import Cli, Outcome
from raw_server import HEALTHY, answering, dies, says
from wire_server import daemon

from clew import Clew
from clew.compose import compose, database_path
from clew.hosts.named import may_name
from clew.settings import Settings, load_settings
from clew.wire.fingerprint import fingerprint_of, store_of

_VARYING = [
    (re.compile(r"(mem|ses|inj|job|run|key)_[0-9a-z]{26}"), r"\1_ID"),
    (re.compile(r"clew_ID_[\w-]{43}|clew_[0-9a-z]{26}_[\w-]{43}"), "TOKEN"),
    (re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z"), "TIME"),
    (re.compile(r'"(ms|\w+_ms|age_s|oldest_s)": [\d.]+'), r'"\1": 0'),
    (re.compile(r"[\d.]+ ms"), "0 ms"),
    (re.compile(r"\"fencing_token\": \d+"), "fencing_token"),
    (re.compile(r"[0-9a-f]{32,64}"), "HASH"),
]


def masked(outcome: Outcome) -> Outcome:
    out, err = outcome.out, outcome.err
    for pattern, name in _VARYING:
        out, err = pattern.sub(name, out), pattern.sub(name, err)
    return Outcome(outcome.code, out, err)


@contextmanager
def served(cli: Cli, home: Path | None = None) -> Iterator[list[str]]:
    """The daemon of a home, which a busy machine may make slow; yields the verbs that it was asked for."""
    asked: list[str] = []
    settings = load_settings(home=home or cli.home)
    cli.patch.setattr("clew.surfaces.cli.daemon.PROBE_S", 10.0)
    with compose(settings, database_path(settings), in_background=False) as memory, daemon(memory, asked=asked):
        yield asked


def rewritten(cli: Cli) -> list[Outcome]:
    """A day of work, by its commands; what each one prints."""
    done: list[Outcome] = []

    def run(*words: str, stdin: bytes = b"") -> Outcome:
        done.append(cli(*words, stdin=stdin))
        return done[-1]

    first = run(
        "remember", "We chose PostgreSQL for src/db.py.", "--type", "decision", "--tag", "db", "--json"
    ).json
    run("remember", "Backups run nightly.", "--at", "2026-01-02", "--project", "shop")
    run("remember", "-", "--metadata", '{"n": 1}', stdin="Grüße an 世界 aus PostgreSQL.".encode())
    run("remember", " ")
    for words in (
        ("recall", "PostgreSQL", "--json"),
        ("recall", "PostgreSQL", "--explain"),
        ("list",),
        ("show", first["id"]),
        ("show", "mem_unknown", "--json"),
        ("edit", first["id"], "--title", "The database", "--json"),
        ("edit", first["id"], "--title", "x", "--version", "1"),
        ("history", first["id"]),
        ("graph", "neighbors", "src/db.py"),
        ("jobs", "list", "--state", "dead"),
        ("jobs", "list", "--state", "odd"),
        ("key", "create", "ci", "--user", "ann", "--json"),
        ("key", "list"),
        ("forget", "--type", "decision", "--dry-run"),
        ("forget", first["id"], "--hard", "--yes", "--json"),
    ):
        run(*words)
    session = run("session", "start", "--project", "shop", "--title", "Cart", "--json").json["id"]
    token = str(run("session", "claim", session, "--worker", "w1", "--json").json["fencing_token"])
    run("queue", "enqueue", session, "Mind the locks.")
    taken = run("queue", "claim", session, "--worker", "w1", "--token", token, "--json").json
    run("queue", "ack", session, taken["delivery_id"], "--worker", "w1", "--token", token)
    run("session", "end", session, "--outcome", "accepted", "--worker", "w1", "--token", token, "--json")
    return done


def test_a_day_of_commands_prints_the_same_with_and_without_a_daemon(cli: Cli, tmp_path: Path) -> None:
    alone = [masked(one) for one in rewritten(cli)]
    cli.patch.setenv("CLEW_HOME", str(tmp_path / "served"))
    with served(cli, tmp_path / "served") as asked:
        through = [masked(one) for one in rewritten(cli)]
    assert len(asked) > 20 and {"remember", "recall", "graph.neighbors", "queue.ack", "forget"} <= set(asked)
    for one, other in zip(alone, through, strict=True):
        assert other == one
    assert {one.code for one in alone} == {0, 1, 2, 3}


def test_what_a_daemon_answers_is_what_the_store_holds_to_the_byte(cli: Cli) -> None:
    id = cli.remember("We chose PostgreSQL because of RLS.")
    reads = [("show", id), ("list", "--json"), ("history", id, "--json"), ("matrix", "show"), ("stats",)]
    before = [sized(cli(*words)) for words in reads]
    with served(cli) as asked:
        assert [sized(cli(*words)) for words in reads] == before and len(asked) >= len(reads)


def sized(outcome: Outcome) -> Outcome:
    """Without the size of the files, which changes while somebody has them open."""
    return Outcome(outcome.code, re.sub(r"(?m)^(file|log) bytes .*$|^bytes per .*$", "", outcome.out), outcome.err)


def test_a_recall_through_the_daemon_brings_no_numpy_and_no_database_along(cli: Cli) -> None:
    cli.remember("We chose PostgreSQL because of RLS.")
    program = (
        "import sys; from clew.surfaces.cli import daemon, main; daemon.PROBE_S = 10\n"
        "main.main(['recall', 'PostgreSQL', '--json'])\n"
        "print(sorted({'numpy', 'apsw', 'uvicorn', 'starlette'} & set(sys.modules)), file=sys.stderr)"
    )
    with served(cli) as asked:
        done = subprocess.run([sys.executable, "-c", program], cwd=cli.directory, capture_output=True, check=True)
    assert asked == ["recall"] and done.stderr == b"[]\n" and json.loads(done.stdout)["results"]


def test_a_project_with_settings_of_its_own_opens_the_store_itself(cli: Cli) -> None:
    with served(cli) as asked:
        (cli.directory / ".clew.toml").write_text("[recall]\nlimit = 1\n", encoding="utf-8")
        cli.remember("One.")
        cli.remember("One more.")
        assert len(cli("recall", "one", "--json").json["results"]) == 1 and asked == []


def test_a_daemon_has_no_settings_of_the_project_it_is_started_in(cli: Cli) -> None:
    started: list[Settings] = []
    cli.patch.setattr("clew.surfaces.http.server.run", lambda settings, *_rest: started.append(settings))
    (cli.directory / ".clew.toml").write_text('project = "shop"\n[recall]\nlimit = 1\n', encoding="utf-8")
    assert cli("serve").code == 0
    assert (started[0].recall.limit, started[0].project) == (10, None)
    assert fingerprint_of(started[0]) == fingerprint_of(load_settings(home=cli.home))
    assert fingerprint_of(started[0]) != fingerprint_of(load_settings(home=cli.home, directory=cli.directory))


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ("postgresql://ann:hunter2@h/clew", "postgres://ann@h/clew", True),
        ("postgresql://ann@h/clew", "postgresql://ann@h/other", False),
        ("postgresql://h/clew?options=-csearch_path=a", "postgresql://h/clew?options=-csearch_path=b", False),
        ("postgresql://ann:a@b@h/clew", "postgresql://ann:a@b@h/other", False),
        ("postgresql://ann:a@b@h/clew", "postgresql://ann:a@b@h/clew", True),
    ],
)
def test_a_store_is_told_without_its_password(tmp_path: Path, one: str, other: str, is_same: bool) -> None:
    told = [store_of(load_settings({"store": {"url": url}}, home=tmp_path)) for url in (one, other)]
    assert (told[0] == told[1]) is is_same and "hunter2" not in told[0] and "a@b" not in told[0]


def test_settings_of_another_section_are_no_reason_not_to_ask(cli: Cli) -> None:
    with served(cli) as asked:
        cli.patch.setenv("CLEW_SERVE__BURST", "7")
        assert cli("list").code == 0 and asked == ["list"]


def test_commands_about_the_file_itself_open_it(cli: Cli, tmp_path: Path) -> None:
    with served(cli) as asked:
        cli.remember("Kept.")
        asked.clear()
        for words in (
            ("export", str(tmp_path / "e.jsonl")),
            ("backup", str(tmp_path / "b.db")),
            ("reindex",),
            ("init",),
        ):
            assert cli(*words).code == 0, words
    assert asked == []


# -- daemons that are ill -----------------------------------------------------------------------------------


@pytest.fixture
def run(cli: Cli) -> Path:
    """The directory of a daemon whose settings are right."""
    directory = cli.home / "run"
    directory.mkdir(parents=True)
    told = {"fingerprint": fingerprint_of(load_settings(home=cli.home, directory=cli.directory))}
    (directory / "daemon.json").write_text(json.dumps(told), encoding="utf-8")
    return directory


def test_a_socket_that_nobody_answers_is_passed_by(cli: Cli, run: Path) -> None:
    with answering(run / "clew.sock", [dies]):
        pass  # the file of the socket is still there
    assert cli("remember", "Alone.").code == 0 and cli("list").out.count("Alone.") == 1


def test_a_daemon_that_hangs_is_not_waited_for(cli: Cli, run: Path) -> None:
    with answering(run / "clew.sock", [lambda connection: connection.recv(1 << 20) and connection.recv(1)]) as came:
        outcome = cli("remember", "Alone.")
    assert outcome.code == 0 and len(came) == 1


def test_a_daemon_that_dies_in_the_middle_is_one_line_and_exit_5(cli: Cli, run: Path) -> None:
    def half(connection: object) -> None:
        says(HEALTHY)(connection)  # type: ignore[arg-type]
        dies(connection)  # type: ignore[arg-type]

    with answering(run / "clew.sock", [half]):
        outcome = cli("remember", "Maybe.")
    assert outcome.code == 5 and outcome.out == "" and outcome.err.count("\n") == 1
    assert "[CONNECTION_LOST]" in outcome.err and "Next: look whether it was done" in outcome.err


@pytest.mark.parametrize("told", ["", "[]", "{}", "nonsense", '{"fingerprint": 7}'])
def test_a_daemon_that_tells_nothing_of_use_is_passed_by(cli: Cli, run: Path, told: str) -> None:
    (run / "daemon.json").write_text(told, encoding="utf-8")
    with answering(run / "clew.sock", [says(HEALTHY)]) as came:
        assert cli("list").code == 0 and came == []


# -- a Clew elsewhere ---------------------------------------------------------------------------------------


def test_the_doctor_looks_at_hooks_also_where_the_clew_is_elsewhere(
    cli: Cli, clew_at: Callable[..., Clew], tmp_path: Path
) -> None:
    far = clew_at(tmp_path / "far")
    far.orgs.create("Acme", id="acme", owner="otto")
    hooks, nowhere = "install claude-code", "project"  # a directory without one: hooks are silent there
    cli.patch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    assert cli("install", "claude-code").code == 0

    def looked() -> dict[str, bool]:
        return {check["name"]: check["ok"] for check in cli("doctor", "--json").json["checks"]}

    with daemon(far) as socket:
        cli.patch.setenv("CLEW_URL", f"unix://{socket}")
        cli.patch.setenv("CLEW_TOKEN", far.keys.create("ci", org="acme", user="ann").token)
        assert looked() == {"server": True, hooks: True, nowhere: True}
        assert "run: clew serve" in cli("doctor", "--probe").out  # whoever passes on what hooks tell
        cli.patch.setenv("CLEW_TOKEN", far.keys.create("own", roles=("owner",)).token)
        assert {"server", "schema", hooks} <= set(looked())  # its operator is told what it finds
        cli.patch.setenv("CLEW_TOKEN", "clew_" + "0" * 26 + "_" + "x" * 43)
        assert looked() == {"server": False, hooks: True, nowhere: True}
    assert looked() == {"server": False, hooks: True, nowhere: True}


def test_clew_url_makes_commands_clients_of_a_clew_elsewhere(
    cli: Cli, clew_at: Callable[..., Clew], tmp_path: Path
) -> None:
    far = clew_at(tmp_path / "far")
    far.orgs.create("Acme", id="acme", owner="otto")
    with ExitStack() as stack:
        socket = stack.enter_context(daemon(far))
        cli.patch.setenv("CLEW_URL", f"unix://{socket}")
        cli.patch.setenv("CLEW_TOKEN", far.keys.create("ci", org="acme", user="ann").token)
        id = cli.remember("Acme deploys on Mondays.")
        assert "Mondays" in cli("recall", "deploys").out
        assert cli("show", id).code == 0
        refused = cli("export", "-")
        assert refused.code == 2 and "[STORE_IS_REMOTE]" in refused.err and "CLEW_URL" not in refused.err
        cli.patch.setenv("CLEW_TOKEN", "clew_" + "0" * 26 + "_" + "x" * 43)
        assert cli("list").code == 4
    assert not (cli.home / "clew.db").exists()


@pytest.mark.parametrize(
    ("words", "readers"),
    [
        ([], "no project, private to ann"),
        (["--user", "ann"], "no project, private to ann"),
        (["--no-project"], "no project, shared by all of the org"),
        (["--project", "shop"], "project shop, shared by all who share the project"),
    ],
)
def test_what_is_remembered_elsewhere_outside_of_any_project_is_private_and_says_so(
    cli: Cli, clew_at: Callable[..., Clew], tmp_path: Path, words: list[str], readers: str
) -> None:
    far = clew_at(tmp_path / "far")
    far.orgs.create("Acme", id="acme", owner="otto")
    with daemon(far) as socket:
        cli.patch.setenv("CLEW_URL", f"unix://{socket}")
        tokens = {name: far.keys.create(name, org="acme", user=name).token for name in ("ann", "bob")}
        cli.patch.setenv("CLEW_TOKEN", tokens["ann"])
        said = cli("remember", "The vault is behind the shelf.", *words)
        assert f"(note, {readers})" in said.out
        assert "vault" in cli("list", "--all-projects").out
        cli.patch.setenv("CLEW_TOKEN", tokens["bob"])
        assert ("vault" in cli("list", "--all-projects").out) == ("shared" in readers)


@pytest.mark.parametrize(
    ("org", "project", "is_told"),
    [
        ("user:ann", "github.com/acme/web", True),
        ("user:ann", "shop", False),
        ("acme", "github.com/acme/web", False),
    ],
)
def test_what_ones_own_key_writes_stays_in_ones_own_org_and_says_where_the_route_leads(
    cli: Cli, clew_at: Callable[..., Clew], tmp_path: Path, org: str, project: str, is_told: bool
) -> None:
    far = clew_at(tmp_path / "far")
    far.orgs.create("Acme", id="acme", owner="ann")
    with daemon(far) as socket:
        cli.patch.setenv("CLEW_URL", f"unix://{socket}")
        cli.patch.setenv("CLEW_TOKEN", far.keys.create("laptop", org=org, user="ann", roles=("owner",)).token)
        said = cli("remember", "We deploy on Tuesdays.", "--project", project)
        assert ("leads this project to 'acme'" in said.out) == is_told
        assert ("--org acme" in said.out) == is_told
        routed = cli("remember", "And on Fridays.", "--project", project, "--json").json.get("routed_to")
        assert routed == ("acme" if is_told else None)
        assert ("--org acme" in cli("org", "route", project).out) == is_told
        assert "Tuesdays" in cli("recall", "when do we deploy?", "--project", project).out


def test_what_was_written_is_told_before_the_route_is_asked(
    cli: Cli, clew_at: Callable[..., Clew], tmp_path: Path
) -> None:
    """The server answers that only once somebody has read that the memory is there."""
    far, is_read = clew_at(tmp_path / "far"), threading.Event()
    with daemon(far, held={"orgs.route": is_read}) as socket:
        of_ann(cli, far, socket)
        with subprocess.Popen(patient("clew.surfaces.cli.commands.remember.ROUTE_S = 10", *TUESDAYS),
                              cwd=cli.directory, stdout=subprocess.PIPE, text=True) as writing:  # fmt: skip
            assert writing.stdout
            assert "remembered" in writing.stdout.readline()
            is_read.set()
            assert "leads this project to 'acme'" in writing.stdout.read()
        assert writing.returncode == 0


@pytest.mark.parametrize("words", [[], ["--json"]])
def test_a_route_that_is_not_told_keeps_no_write_waiting(
    cli: Cli, clew_at: Callable[..., Clew], tmp_path: Path, words: list[str]
) -> None:
    far, never = clew_at(tmp_path / "far"), threading.Event()
    with daemon(far, held={"orgs.route": never}) as socket:
        of_ann(cli, far, socket)
        cli.patch.setattr("clew.surfaces.cli.commands.remember.ROUTE_S", 0.1)
        said = cli(*TUESDAYS, *words)
        assert not never.is_set()
        never.set()
    assert said.code == 0 and "mem_" in said.out and "acme'" not in said.out and "routed_to" not in said.out
    assert not said.err


TUESDAYS = ("remember", "We deploy on Tuesdays.", "--project", "github.com/acme/web")


def of_ann(cli: Cli, far: Clew, socket: Path) -> None:
    """She writes with a key of her own, and is a member of the org that has the project."""
    far.orgs.create("Acme", id="acme", owner="ann")
    cli.patch.setenv("CLEW_URL", f"unix://{socket}")
    cli.patch.setenv("CLEW_TOKEN", far.keys.create("laptop", org="user:ann", user="ann", roles=("owner",)).token)


def patient(setting: str, *words: str) -> list[str]:
    program = (
        "import sys, clew.surfaces.cli.commands.remember, clew.surfaces.cli.main as main\n"
        f"{setting}\nsys.exit(main.main(sys.argv[1:]))"
    )
    return [sys.executable, "-c", program, *words]


def test_a_project_is_named_to_hooks_also_where_the_clew_is_elsewhere(
    cli: Cli, clew_at: Callable[..., Clew], tmp_path: Path
) -> None:
    place = tmp_path / "shop"
    place.mkdir()
    cli.patch.chdir(place)
    with daemon(clew_at(tmp_path / "far")) as socket:
        cli.patch.setenv("CLEW_URL", f"unix://{socket}")
        assert cli("init", "--project", "acme-shop", "--json").json["store"] == f"unix://{socket}"
    assert may_name(cli.home, place, "acme-shop") and not (cli.home / "clew.db").exists()
    (place / ".clew.toml").unlink()
    assert cli("init", "--project", "acme-shop").code == 5 and not (place / ".clew.toml").exists()


def test_a_clew_elsewhere_that_is_down_is_one_line_and_exit_5(cli: Cli, tmp_path: Path) -> None:
    cli.patch.setenv("CLEW_URL", f"unix://{tmp_path}/nobody.sock")
    outcome = cli("recall", "x")
    assert outcome.code == 5 and outcome.err.count("\n") == 1 and "[SERVER_UNREACHABLE]" in outcome.err


def test_a_tool_call_is_looked_at_by_the_daemon(cli: Cli) -> None:
    with served(cli) as asked:
        session = cli("session", "start", "--json").json["id"]
        event = json.dumps({"session": session, "tool": "Edit", "paths": ["src/db.py"]}).encode()
        outcome = cli("inject", "event", session, "--json", stdin=event)
    assert outcome.code == 0 and "outcome" in outcome.json and asked[-2:] == ["inject.warm", "inject.event"]

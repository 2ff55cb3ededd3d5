"""Commands whose store is a PostgreSQL database."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from cli_driver import Cli, Outcome

import clew
from clew.errors import StoreRefused, Unavailable

if TYPE_CHECKING:
    from clew.bench.postgres_server import PostgresServer

Run = Callable[..., Outcome]


@pytest.fixture
def empty_url(postgres: PostgresServer) -> Iterator[str]:
    """A database in which Clew never was, as its administrator."""
    with postgres.fresh_database(user="postgres", template="template0") as url:
        yield url


@pytest.fixture
def run(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> Run:
    def run(url: str, *words: str) -> Outcome:
        monkeypatch.setenv("CLEW_URL", url)
        monkeypatch.setenv("CLEW_PROJECT", "p")
        return cli(*words)

    return run


def told(done: Outcome) -> Any:
    assert done.code == 0, done.err
    return done.json


def test_what_one_process_remembers_another_recalls(cli: Cli, postgres_url: str) -> None:
    here = {"CLEW_URL": postgres_url, "CLEW_PROJECT": "p"}
    told(cli.process("remember", "the deploy needs a VPN", "--json", environment=here))
    found = told(cli.process("recall", "deploy vpn", "--json", environment=here))["results"]
    assert [result["content"] for result in found] == ["the deploy needs a VPN"]


def test_a_teams_repository_goes_by_its_remote_and_the_way_to_bring_over_what_it_knew_is_told(
    cli: Cli, postgres_url: str
) -> None:
    cli.patch.setenv("CLEW_URL", postgres_url)
    git = cli.directory / ".git"
    (git / "objects").mkdir(parents=True)
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    cli.remember("the deploy needs a VPN")
    (git / "config").write_text('[remote "origin"]\n\turl = git@github.com:Acme/Shop.git\n')
    first, second = cli("recall", "deploy"), cli("recall", "deploy")
    assert "VPN" not in first.out and second.err == ""
    moved = "clew export old.jsonl --project work, clew import old.jsonl --project github.com/acme/shop"
    assert moved in first.err
    for words in moved.split(", "):
        assert cli(*words.split()[1:]).code == 0
    assert "VPN" in cli("recall", "deploy").out


def test_migrate_makes_the_schema_once(run: Run, empty_url: str) -> None:
    first, second = told(run(empty_url, "migrate", "--json")), told(run(empty_url, "migrate", "--json"))
    assert (first["from"], first["to"]) == (0, second["to"])
    assert (first["migrated"], second["migrated"]) == (True, False)


def test_whoever_asks_hears_that_the_schema_is_the_present_one(run: Run, postgres_url: str) -> None:
    done = run(postgres_url, "migrate")
    assert (done.code, done.err) == (0, "")
    assert "is the present one" in done.out


def test_a_role_that_may_not_migrate_is_told_who_does(empty_url: str) -> None:
    with pytest.raises(StoreRefused) as refused:
        clew.open(empty_url.replace("postgres@", "clew_app@"))
    assert refused.value.code == "STORE_NOT_MIGRATED"
    assert "clew migrate" in refused.value.next


def test_a_server_that_is_not_there_is_named_without_the_password(run: Run, tmp_path: Path) -> None:
    done = run(f"postgresql://ann:s3cret@/db?host={tmp_path}", "stats")
    assert done.code == Unavailable.exit_code
    assert "s3cret" not in done.err
    assert "check that the server runs" in done.err


@pytest.mark.parametrize("password", ["s3/cret", "s3?cret", "1/s3cret"])
def test_a_password_that_breaks_the_address_is_not_told_either(run: Run, password: str) -> None:
    for words in (("stats",), ("doctor",), ("migrate",)):
        done = run(f"postgresql://ann:{password}@127.0.0.1:1/db", *words)
        assert done.code != 0
        assert "cret" not in done.err + done.out


def test_the_doctor_looks_at_the_server(run: Run, postgres_url: str) -> None:
    told(run(postgres_url, "remember", "x", "--json"))
    checks = {check["name"]: check for check in told(run(postgres_url, "doctor", "--json"))["checks"]}
    assert {"store", "server", "schema", "isolation", "index", "clock"} <= set(checks)
    assert [check for check in checks.values() if not check["ok"]] == []


def test_stats_tell_of_the_database(run: Run, postgres_url: str) -> None:
    told(run(postgres_url, "remember", "x", "--json"))
    stats = told(run(postgres_url, "stats", "--json"))
    assert stats["memories"] == 1
    assert stats["path"].startswith("postgresql://")
    assert stats["file_bytes"] > 0
    text = run(postgres_url, "stats").out
    assert "database bytes" in text
    assert "log bytes" not in text


def test_bytes_are_those_of_the_schema(run: Run, empty_url: str) -> None:
    told(run(empty_url, "migrate", "--json"))
    before = told(run(empty_url, "stats", "--json"))["file_bytes"]
    with psycopg.connect(empty_url, autocommit=True) as connection:
        connection.execute("CREATE TABLE of_others AS SELECT md5(g::text) FROM generate_series(1, 50000) g")
    assert 0 < told(run(empty_url, "stats", "--json"))["file_bytes"] < before + 1_000_000


def test_serve_says_what_it_serves(postgres_url: str) -> None:
    with TemporaryDirectory() as home:  # short: the address of a socket has room for little
        words = [sys.executable, "-m", "clew", "serve", "--home", home]
        url = postgres_url.replace("clew_app@", "clew_app:s3cret@")
        server = subprocess.Popen([*words, "--url", url], stdout=subprocess.PIPE, text=True)
        assert server.stdout
        line = server.stdout.readline()
        server.terminate()
        server.communicate(timeout=60)
    assert "s3cret" not in line
    assert line.startswith("serving postgresql://clew_app@") and f" at {home}/" in line


@pytest.mark.parametrize("words", [("backup", "b.db"), ("restore", "b.db")])
def test_what_needs_a_file_names_the_servers_own_tools(
    run: Run, postgres_url: str, words: tuple[str, ...], tmp_path: Path
) -> None:
    done = run(postgres_url, words[0], str(tmp_path / words[1]))
    assert done.code != 0
    assert "pg_dump" in done.err


def test_a_hard_forget_leaves_nothing_to_find(run: Run, postgres_url: str) -> None:
    id = told(run(postgres_url, "remember", "the code word is Xanadu", "--json"))["id"]
    told(run(postgres_url, "forget", id, "--hard", "--yes", "--json"))
    assert told(run(postgres_url, "recall", "Xanadu", "--json"))["results"] == []
    assert told(run(postgres_url, "stats", "--json"))["memories"] == 0


def test_an_index_that_was_dropped_is_named_and_made_again(run: Run, empty_url: str) -> None:
    from clew.store import postgres_schema

    told(run(empty_url, "migrate", "--json"))
    postgres_schema.drop_vector_indices(empty_url)
    done = run(empty_url, "doctor")
    assert done.code != 0
    assert "memory_embeddings_256 is missing" in done.out
    told(run(empty_url, "migrate", "--json"))
    assert run(empty_url, "doctor").code == 0


def test_a_store_that_its_owner_copied_has_its_indices(run: Run, empty_url: str, tmp_path: Path) -> None:
    file = str(tmp_path / "clew.db")
    told(run(file, "remember", "copied along", "--json"))
    told(run("", "copy", file, empty_url, "--json"))
    assert run(empty_url, "doctor").code == 0
    found = told(run(empty_url, "recall", "copied", "--json"))["results"]
    assert [result["content"] for result in found] == ["copied along"]

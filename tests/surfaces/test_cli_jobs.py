"""Jobs at the terminal: what waits, what failed, doing them, and the backfill of vectors."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import apsw
import pytest
from cli_driver import Cli

from clew.surfaces.cli.table_jobs import STATES


def sql(cli: Cli, statement: str) -> None:
    with apsw.Connection(str(cli.home / "clew.db")) as connection:
        connection.execute(statement)


def notes(cli: Cli, count: int) -> Path:
    file = cli.directory / "CLAUDE.md"
    lines = (f"- Service {number} listens on port {8000 + number}" for number in range(count))
    file.write_text("# Notes\n\n" + "\n".join(lines) + "\n")
    return file


@pytest.fixture
def waiting(cli: Cli) -> Cli:
    """Twenty-five memories that were imported, and whose jobs wait."""
    outcome = cli("import", str(notes(cli, 25)), "--project", "shop", "--json")
    assert outcome.json["jobs_waiting"] == 25
    return cli


def test_the_states_that_are_offered_are_those_there_are() -> None:
    from clew.model.job import STATES as KNOWN

    assert STATES == KNOWN


# -- after a write -------------------------------------------------------------------------------------------


def test_what_one_write_leaves_is_done_before_the_process_ends(cli: Cli) -> None:
    id = cli.remember("The billing service keeps its data in PostgreSQL", "--project", "shop")
    assert cli("jobs", "health", "--json").json["backlog"] == 0
    cli("edit", id, "--content", "The billing service keeps its data in MySQL")
    cli("revert", id, "1")
    assert cli("jobs", "health", "--json").json["last_day"] == {"success": 3}


def test_after_a_write_no_more_than_a_little_is_done(waiting: Cli) -> None:
    waiting.remember("One more", "--project", "shop")
    assert 10 <= waiting("jobs", "health", "--json").json["backlog"] <= 25  # as many as the time allows


def test_a_job_that_fails_does_not_fail_the_write_before_it(cli: Cli) -> None:
    cli.remember("first")
    sql(cli, "CREATE TRIGGER broken BEFORE UPDATE ON jobs BEGIN SELECT RAISE(ABORT, 'no'); END")
    outcome = cli("remember", "second")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.startswith("remembered")


def test_where_a_language_model_is_asked_nothing_is_done_after_a_write(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLEW_LLM__ENABLED", "true")
    cli.remember("first")
    assert cli("jobs", "health", "--json").json["backlog"] == 1


def test_an_import_says_what_waits_and_what_does_it(cli: Cli) -> None:
    outcome = cli("import", str(notes(cli, 3)), "--project", "shop")
    assert "3 memories wait to be related to others: clew jobs run --once" in outcome.out


# -- looking -------------------------------------------------------------------------------------------------


def test_jobs_are_listed_page_by_page(waiting: Cli) -> None:
    first = waiting("jobs", "list", "--limit", "20", "--json").json["jobs"]
    rest = waiting("jobs", "list", "--cursor", first[-1]["id"], "--json").json["jobs"]
    assert (len(first), len(rest)) == (20, 5)
    assert len({job["subject"] for job in (*first, *rest)}) == 25
    assert {job["state"] for job in first} == {"queued"}
    listed = waiting("jobs", "list").out
    assert first[0]["id"] in listed
    assert f"more: clew jobs list --cursor {first[-1]['subject']}" in listed
    assert "more:" not in waiting("jobs", "list", "--limit", "30").out


def test_an_empty_queue_says_so(cli: Cli) -> None:
    assert cli("jobs", "list").out == "nothing is left to be done\n"
    assert cli("jobs", "health").out.startswith("0 jobs to be done")
    assert cli("jobs", "retry", "--all").out == "nothing was given up\n"


def test_a_dead_letter_is_shown_explained_and_retried(waiting: Cli) -> None:
    sql(waiting, "UPDATE jobs SET state = 'dead', attempts = 5, code = 'JOB_WORKER_LOST', message = 'five times'")
    [job, *_rest] = waiting("jobs", "list", "--state", "dead", "--json").json["jobs"]
    explained = waiting("jobs", "explain", job["id"]).out
    assert "tried 5 times and is not tried again by itself" in explained
    assert "the process that worked on it ended each time before it was done [JOB_WORKER_LOST]" in explained
    assert f"clew jobs retry {job['id']}" in explained
    assert "25 jobs given up: clew jobs list --state dead" in waiting("jobs", "health").out
    assert waiting("doctor").code == 1
    assert waiting("jobs", "retry", job["id"], "--json").json == {"retried": 1}
    assert waiting("jobs", "retry", "--all").out == "24 jobs will be tried again: clew jobs run\n"


def test_what_is_not_there_is_not_found_and_nothing_named_is_a_usage_error(cli: Cli) -> None:
    assert cli("jobs", "explain", "job_0123456789").code == 3
    assert cli("jobs", "retry").code == 2
    for rest in (("job_0123456789", "--all"), ("job_0123456789", "--everything"), ("--all", "--everything")):
        refused = cli("jobs", "retry", *rest)
        assert refused.code == 2 and "not several" in refused.err
    assert cli("jobs", "list", "--state", "asleep").code == 2


# -- running -------------------------------------------------------------------------------------------------


def test_a_run_does_what_is_due_and_says_what_came_of_it(waiting: Cli) -> None:
    outcome = waiting("jobs", "run", "--limit", "5", "--json")
    assert (outcome.json["processed"], outcome.json["success"], outcome.json["left"]) == (5, 5, 20)
    assert waiting("jobs", "run", "--once").out == "20 jobs: 20 done\n"
    assert waiting("jobs", "run", "--once").out == "0 jobs\n"
    assert waiting("doctor").code == 0


def test_a_run_with_a_limit_ends_when_nothing_is_due(cli: Cli) -> None:
    cli.remember("One more")
    assert cli("jobs", "run", "--limit", "5").out == "0 jobs\n"


@pytest.mark.parametrize("seconds", ["-1", "nan", "soon"])
def test_a_time_that_is_none_is_refused(cli: Cli, seconds: str) -> None:
    assert cli("jobs", "run", "--seconds", seconds).code == 2


def test_everything_can_be_related_anew(cli: Cli) -> None:
    cli.remember("One more")
    assert cli("jobs", "retry", "--everything").out == "1 job will be tried again: clew jobs run\n"


def test_a_run_ends_when_its_time_is_over(waiting: Cli) -> None:
    outcome = waiting("jobs", "run", "--seconds", "0", "--json")
    assert (outcome.code, outcome.json["left"]) == (0, 0)  # a batch is finished


@pytest.mark.skipif(sys.platform == "win32", reason="signals differ")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_host_works_until_it_is_told_to_stop_and_ends_well(waiting: Cli, number: signal.Signals) -> None:
    host = subprocess.Popen(
        [sys.executable, "-m", "clew", "jobs", "run", "--json"],
        stdout=subprocess.PIPE,
        text=True,
        cwd=waiting.directory,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a suite in the background ignores it
    )
    while waiting("jobs", "health", "--json").json["backlog"]:
        assert host.poll() is None
    host.send_signal(number)
    told, _nothing = host.communicate(timeout=60)
    assert host.returncode == 0
    assert '"left": 0' in told  # how many it did is not counted yet when the signal comes right after their commit


# -- vectors -------------------------------------------------------------------------------------------------


def test_a_backfill_is_paused_resumed_and_told_of(waiting: Cli) -> None:
    waiting.patch.setenv("CLEW_EMBED__PROVIDER", "static")
    sql(waiting, "DELETE FROM memory_embeddings")
    assert "25 memories have none" in waiting("jobs", "backfill", "status").out
    assert waiting("jobs", "backfill", "pause", "--json").json["status"] == "paused"
    refused = waiting("jobs", "backfill", "run", "--json")
    assert (refused.code, refused.error["code"]) == (1, "BACKFILL_PAUSED")
    status = waiting("jobs", "backfill", "resume", "--json").json
    assert (status["status"], status["done"], status["remaining"]) == ("completed", 25, 0)
    assert "25 of 25 were made" in waiting("jobs", "backfill", "status").out

"""Feedback and reports on the command line."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from cli_driver import Cli

from clew.clew import Clew
from clew.model.inject import ContextInjectionLog
from clew.model.learning import VERDICTS
from clew.model.session import OUTCOMES
from clew.surfaces.cli import table_learn
from toys import open_toy

UNKNOWN = "mem_00000000000000000000000000"


@pytest.fixture
def known(cli: Cli) -> str:
    return cli.remember("Redis holds sessions", "--project", "shop")


def store(cli: Cli) -> Clew:
    [path] = Path(cli.home).rglob("*.db")
    return open_toy(path)


def a_session(cli: Cli, *ids: str) -> str:
    """One that was shown these memories."""
    with store(cli) as clew:
        session = clew.sessions.start(project="shop", work_type="bug_fix").id
        log = ContextInjectionLog(
            session_id=session, project_id="shop", observation_ids=ids, delivered=True, actual_tokens=120
        )
        clew.store.write(lambda tx: tx.injections.put(log, at=clew.now()))
    return session


def test_the_words_of_the_table_are_those_of_the_model() -> None:
    assert list(table_learn.OUTCOMES) == list(OUTCOMES)
    assert list(table_learn.VERDICTS) == list(VERDICTS)


def test_feedback_on_a_session_as_document_and_as_text(cli: Cli, known: str) -> None:
    session = a_session(cli, known)
    assert cli("feedback", session, "rejected").out == "rejected: moved the weight of 1 memory\n"
    assert "counted before" in cli("feedback", session, "rejected").out
    document = cli("feedback", session, "accepted", "--json").json
    assert (document["outcome"], document["memories"], document["unchanged"]) == ("accepted", 1, 0)
    assert cli("show", known, "--json").json["weight"] == 1.0


def test_feedback_on_a_session_that_was_shown_nothing_says_so(cli: Cli, known: str) -> None:
    assert "what it was shown is gone" in cli("feedback", a_session(cli, UNKNOWN), "accepted").out
    with store(cli) as clew:
        session = clew.sessions.start(project=clew.show(known).project).id
    assert "nothing was injected into it" in cli("feedback", session, "accepted").out


def test_feedback_on_a_memory_as_document_and_as_text(cli: Cli, known: str) -> None:
    document = cli("feedback", "--memory", known, "wrong", "--json").json
    assert document == {"id": known, "weight": 0.7, "samples": 1, "counted": True}
    assert "you said so before" in cli("feedback", "--memory", known[:12], "wrong").out
    assert cli("feedback", "outdated", "--memory", known, "--json").json["samples"] == 2


def test_the_history_of_a_weight_is_told_in_words(cli: Cli, known: str) -> None:
    session = a_session(cli, known)
    cli("feedback", session, "rejected")
    cli("feedback", "--memory", known, "up")
    text = cli("learn", "show", known).out
    assert "weighs 0.865 after 2 outcomes" in text and "praised by owner" in text
    assert f"1.000 -> 0.850  rejected in {session} (alpha 0.15)" in text
    document = cli("learn", "show", known, "--json").json
    assert [one["outcome"] for one in document["history"]] == ["rejected", "up"]


def test_how_a_session_went_is_told(cli: Cli, known: str) -> None:
    session = a_session(cli, known)
    cli("feedback", session, "rejected")
    assert "failed by incomplete" in cli("learn", "session", session).out
    assert cli("learn", "session", session, "--json").json["observation_ids"] == [known]


def test_reports_as_text_json_and_csv(cli: Cli, known: str) -> None:
    session = a_session(cli, known)
    cli("feedback", session, "accepted")
    text = cli("report", "--kind", "impact", "--since", "2020-01-01").out
    assert text.startswith("100.0 % injected (high)")
    told = " ".join(cli("show", known, "--json").json["content"].split())
    assert next(line for line in text.splitlines() if known in line).endswith(told)
    document = cli(
        "report", "--kind", "impact", "--since", "2020-01-01", "--format", "json", "--project", "shop"
    ).json
    assert (document["injected"], document["memories"], document["project"]) == (1, 1, "shop")
    text = cli("report", "--kind", "pareto", "--since", "2020-01-01").out
    assert "bug_fix" in text and "too few" in text
    [row] = csv.DictReader(
        io.StringIO(cli("report", "--kind", "pareto", "--since", "2020-01-01", "--format", "csv").out)
    )
    assert (row["work_type"], row["sessions"], row["tokens"], row["success"]) == ("bug_fix", "1", "120.0", "1.0")


def test_an_empty_report_is_no_error_and_its_csv_has_a_header(cli: Cli) -> None:
    assert cli("report", "--kind", "impact").out.startswith("0.0 % injected (low)")
    assert "clew feedback" in cli("report", "--kind", "pareto").out
    assert cli("report", "--kind", "impact", "--format", "csv").out.startswith("id,rows,rank_delta")


@pytest.mark.parametrize(
    ("words", "code", "name"),
    [
        (["feedback", "ses_none", "accepted"], 3, "SESSION_NOT_FOUND"),
        (["feedback", "ses_none", "splendid"], 2, "OUTCOME_UNKNOWN"),
        (["feedback", "ses_none"], 2, "USAGE"),
        (["feedback", "ses_none", "accepted", "--project", "p"], 2, "USAGE"),
        (["feedback", "--memory", UNKNOWN, "up"], 3, "MEMORY_NOT_FOUND"),
        (["feedback", "--memory", UNKNOWN, "meh"], 2, "VERDICT_UNKNOWN"),
        (["feedback", "--memory", UNKNOWN, "up", "wrong"], 2, "USAGE"),
        (["learn", "show", UNKNOWN], 3, "MEMORY_NOT_FOUND"),
        (["learn", "session", "ses_none"], 3, "SESSION_NOT_FOUND"),
        (["learn"], 2, "USAGE"),
        (["report", "--kind", "magic"], 2, "USAGE"),
        (["report", "--since", "soon"], 2, "TIME_INVALID"),
        (["report", "--since", "2026-02-01", "--until", "2026-01-01"], 2, "WINDOW_INVALID"),
    ],
)
def test_what_cannot_be_is_refused_with_a_code_and_the_next_move(
    cli: Cli, words: list[str], code: int, name: str
) -> None:
    outcome = cli(*words, "--json")
    assert (outcome.code, outcome.error["code"]) == (code, name) and outcome.error["next"]

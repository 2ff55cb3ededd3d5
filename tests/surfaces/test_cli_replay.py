"""`clew rollout replay` and `clew bench rollout` on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_driver import Cli

from clew.bench import rollout
from clew.clew import Clew
from clew.model.inject import ContextInjectionLog
from toys import open_toy

QUERY = "why does the login fail"


@pytest.fixture
def known(cli: Cli) -> list[str]:
    """Words lead to the first, the graph to the second."""
    texts = ("The login fails in AuthService", "AuthService needs PostgresDB with a pool of twenty")
    return [cli.remember(text, "--project", "shop") for text in texts]


def store(cli: Cli) -> Clew:
    [path] = Path(cli.home).rglob("*.db")
    return open_toy(path)


def asked(cli: Cli, *shown: str, outcome: str = "", query: str = QUERY) -> None:
    with store(cli) as clew:
        session = clew.sessions.start(project="shop").id
        log = ContextInjectionLog(
            session_id=session, project_id="shop", query_text=query, observation_ids=shown, delivered=bool(shown)
        )
        clew.store.write(lambda tx: tx.injections.put(log, at=clew.now()))
        if outcome:
            clew.learn.feedback(session, outcome)


def replay(cli: Cli, *words: str) -> str:
    outcome = cli("rollout", "replay", "--since", "2000-01-01", *words)
    assert outcome.code == 0, outcome.err
    return outcome.out


def test_a_replay_says_what_changed_and_how_sure_it_is(cli: Cli, known: list[str]) -> None:
    for _ in range(2):
        asked(cli, known[1], outcome="accepted")
    told = replay(cli)
    assert "1 query since 2000-01-01, asked 2 times" in told
    assert "with the graph 1 of 1 answers change: 1 memory came in, 0 fell out" in told
    assert "the graph helped: +1.000 of a score from -1 to 1 (95 % +1.000 to +1.000)" in told
    assert f"+   2  {known[1]}  AuthService needs" in told and "found by the mode of then" in told


@pytest.mark.parametrize(
    ("outcomes", "words"),
    [
        (("rejected", "rejected"), "the graph did harm: -1.000"),
        (("accepted", "rejected"), "no clear difference: the interval holds 0: +0.000"),
        (("accepted",), "too few for an interval: +1.000"),
        (("rework",), "whether it helped is not known"),
    ],
)
def test_what_is_not_sure_is_not_said_as_if_it_were(
    cli: Cli, known: list[str], outcomes: tuple[str, ...], words: str
) -> None:
    for outcome in outcomes:
        asked(cli, known[1], outcome=outcome)
    assert words in replay(cli)


def test_a_replay_as_a_document(cli: Cli, known: list[str]) -> None:
    asked(cli, known[1], outcome="accepted")
    document = cli("rollout", "replay", "--since", "2000-01-01", "--top", "1", "--json").json
    [question] = document["questions"]
    assert (question["query"], question["top"], question["hybrid"]) == (QUERY, 1, [known[0]])
    assert document["helped"]["interval"] is None and document["helped"]["pairs"] == 1


def test_options_narrow_a_replay(cli: Cli, known: list[str]) -> None:
    for number in range(3):
        asked(cli, query=f"login {number}")
    assert "2 queries" in replay(cli, "--limit", "2") and "beyond the limit" in replay(cli, "--limit", "2")
    assert "no query was recorded since" in replay(cli, "--project", "docs")


def test_a_store_without_sessions_says_how_queries_come_about(cli: Cli) -> None:
    assert "no query was recorded since" in replay(cli)


def test_hostile_text_does_not_reach_the_terminal(cli: Cli, known: list[str]) -> None:
    cli.remember("AuthService \x1b[31mred\x1b[0m needs a restart", "--project", "shop")
    asked(cli, query="why does the login\x1b[2J fail")
    assert "\x1b" not in replay(cli)


@pytest.mark.parametrize(("words", "code"), [(("--top", "500"), "REPLAY_TOP_INVALID"), (("--top", "0"), "USAGE")])
def test_what_cannot_be_compared_is_refused(cli: Cli, words: tuple[str, ...], code: str) -> None:
    outcome = cli("rollout", "replay", *words, "--json")
    assert (outcome.code, outcome.error["code"]) == (2, code)


def test_the_week_can_be_drawn(cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(rollout, "MEMORIES", 20)
    document = cli("bench", "rollout", "--requests", "40", "--plot", str(tmp_path / "week.svg"), "--json").json
    assert (document["requests"], len(document["hours"])) == (40, 168)
    assert (tmp_path / "week.svg").read_text(encoding="utf-8").startswith("<svg")

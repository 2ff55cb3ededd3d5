"""Sessions and their queue on the command line: the documented shapes, and what people read."""

from __future__ import annotations

import pytest
from cli_driver import Cli, Outcome

from clew.model import session as model
from clew.surfaces.cli import table_sessions as table


def start(cli: Cli, *words: str) -> str:
    outcome = cli("session", "start", "--project", "shop", "--issue", "SHOP-7", "--title", "T", *words, "--json")
    assert outcome.code == 0, outcome.err
    return str(outcome.json["id"])


def claim(cli: Cli, session: str, worker: str = "w") -> str:
    outcome = cli("session", "claim", session, "--worker", worker, "--json")
    assert outcome.code == 0, outcome.err
    return str(outcome.json["fencing_token"])


def refresh(cli: Cli, session: str, token: str, *words: str) -> Outcome:
    return cli("session", "refresh", session, "--worker", "w", "--token", token, *words, "--json")


def put(cli: Cli, session: str, text: str) -> str:
    return str(cli("queue", "enqueue", session, text, "--json").json["delivery_id"])


def test_a_session_starts_with_its_work_item(cli: Cli) -> None:
    session = start(cli, "--work-type", "bug_fix", "--description", "why\nnot", "--issue-id", "uuid")
    shown = cli("session", "show", session, "--json").json
    expected = {
        "id": session, "project": "shop", "issue": "SHOP-7", "title": "T", "work_type": "bug_fix",
        "state": "queued", "description": "why\nnot", "issue_id": "uuid",
    }  # fmt: skip
    assert expected.items() <= shown.items()


def test_a_whole_life_in_the_documented_shapes(cli: Cli) -> None:
    session = start(cli)
    token = claim(cli, session)
    first, second = put(cli, session, "one"), put(cli, session, "two")
    mine = ("--worker", "w", "--token", token, "--json")
    assert cli("queue", "claim", session, *mine).json == {"delivery_id": first, "text": "one"}
    assert cli("queue", "ack", session, first, *mine).json == {"acked": True}
    assert refresh(cli, session, token).json == {
        "refreshed": True, "stop": False, "inject": {"delivery_id": second, "text": "two"},
    }  # fmt: skip
    assert refresh(cli, session, token, "--acked", second).json["inject"] is None
    listed = cli("queue", "list", session, "--json").json
    assert [(row["delivery_id"], row["text"], row["state"]) for row in listed] == [
        (first, "one", "acked"),
        (second, "two", "acked"),
    ]
    assert cli("session", "end", session, "--outcome", "accepted", "--json").json["state"] == "completed"


def test_nothing_to_claim_is_null_and_says_nothing_to_people(cli: Cli) -> None:
    session = start(cli)
    token = claim(cli, session)
    words = ("queue", "claim", session, "--worker", "w", "--token", token)
    assert cli(*words, "--json").out == "null\n"
    assert cli(*words).out == ""


def test_a_dead_letter_names_its_reason(cli: Cli) -> None:
    session = start(cli)
    token = claim(cli, session)
    poison = put(cli, session, "one")
    refresh(cli, session, token)
    assert refresh(cli, session, token, "--dead", f"{poison}=agent gone").json["refreshed"]
    [row] = cli("queue", "dead", "--json").json
    assert (row["delivery_id"], row["reason"], row["state"]) == (poison, "agent gone", "dead")
    assert "agent gone" in cli("queue", "dead").out


@pytest.mark.parametrize("bad", ["inj_1", "inj_1=", "=why"])
def test_a_dead_letter_without_delivery_or_reason_is_a_usage_error(cli: Cli, bad: str) -> None:
    session = start(cli)
    assert refresh(cli, session, claim(cli, session), "--dead", bad).code == 2


def test_a_stale_worker_is_told_to_stop_and_acknowledges_nothing(cli: Cli) -> None:
    session = start(cli)
    stale = claim(cli, session)
    delivery = put(cli, session, "one")
    claim(cli, session)
    assert refresh(cli, session, stale).json == {"refreshed": False, "stop": False, "inject": None}
    words = ("queue", "ack", session, delivery, "--worker", "w", "--token", stale)
    assert cli(*words, "--json").json == {"acked": False}
    assert "not acknowledged" in cli(*words).out


def test_people_are_told_that_the_lock_is_lost(cli: Cli) -> None:
    session = start(cli)
    claim(cli, session)
    told = cli("session", "refresh", session, "--worker", "other", "--token", "1").out
    assert told == "lost: the lock is no longer held, stop the agent\n"


def test_another_workers_session_is_a_conflict_that_names_the_next_move(cli: Cli) -> None:
    session = start(cli)
    claim(cli, session, "w1")
    refused = cli("session", "claim", session, "--worker", "w2", "--json")
    assert (refused.code, refused.error["code"]) == (1, "SESSION_LOCKED")
    assert "90 s" in str(refused.error["next"])


def test_a_stop_is_told_on_the_next_refresh(cli: Cli) -> None:
    session = start(cli)
    token = claim(cli, session)
    assert cli("session", "stop", session, "--json").json["stop_requested"] is True
    assert refresh(cli, session, token).json == {"refreshed": True, "stop": True, "inject": None}
    assert "stop" in cli("session", "refresh", session, "--worker", "w", "--token", token).out


def test_a_worker_can_end_only_what_it_holds(cli: Cli) -> None:
    session = start(cli)
    stale = claim(cli, session)
    token = claim(cli, session)
    assert cli("session", "end", session, "--worker", "w", "--token", stale).code == 1
    assert cli("session", "end", session, "--worker", "w").code == 2
    assert cli("session", "end", session, "--worker", "w", "--token", token, "--state", "failed").code == 0
    assert cli("session", "end", session, "--json").error["code"] == "SESSION_ENDED"


def test_an_outcome_that_comes_after_the_end_is_led_to_feedback(cli: Cli) -> None:
    session = start(cli)
    cli("session", "end", session, "--worker", "w", "--token", claim(cli, session))
    late = cli("session", "end", session, "--outcome", "accepted", "--json")
    assert (late.code, late.error["message"]) == (1, f"session {session} has ended: it is completed")
    assert f"clew feedback {session} OUTCOME" in late.error["next"]


def test_the_same_text_is_already_there(cli: Cli) -> None:
    session = start(cli)
    first = cli("queue", "enqueue", session, "-", "--json", stdin=b"one").json
    again = cli("queue", "enqueue", session, "one", "--json").json
    assert first["enqueued"] and not first["deduplicated"]
    assert again == {**first, "enqueued": False, "deduplicated": True}
    assert "already there" in cli("queue", "enqueue", session, "one").out


@pytest.mark.parametrize("kind", ["memory", "user"])
def test_a_text_for_a_session_that_has_ended_is_refused(cli: Cli, kind: str) -> None:
    session = start(cli)
    cli("session", "end", session, "--worker", "w", "--token", claim(cli, session))
    outcome = cli("queue", "enqueue", session, "too late", "--kind", kind)
    assert (outcome.code, outcome.out) == (1, "")
    assert "has ended [SESSION_ENDED]" in outcome.err and "Next: start a new one" in outcome.err
    refused = cli("queue", "enqueue", session, "too late", "--kind", kind, "--json")
    assert refused.error["code"] == "SESSION_ENDED"


def test_what_quotes_a_forgotten_memory_is_not_delivered(cli: Cli) -> None:
    session = start(cli)
    token = claim(cli, session)
    memory = cli.remember("the cache is redis")
    cli("queue", "enqueue", session, "quotes it", "--memory", memory)
    cli("forget", memory, "--yes")
    assert cli("queue", "claim", session, "--worker", "w", "--token", token, "--json").json is None
    assert cli("queue", "list", session, "--state", "cancelled", "--json").json[0]["reason"] == "source_gone"


@pytest.mark.parametrize(
    "words",
    [
        ("session", "show", "ses_x"),
        ("session", "claim", "ses_x", "--worker", "w"),
        ("session", "end", "ses_x"),
        ("queue", "list", "ses_x"),
        ("queue", "enqueue", "ses_x", "text"),
        ("queue", "claim", "ses_x", "--worker", "w", "--token", "1"),
    ],
)
def test_an_unknown_session_is_not_found(cli: Cli, words: tuple[str, ...]) -> None:
    outcome = cli(*words, "--json")
    assert (outcome.code, outcome.error["code"]) == (3, "SESSION_NOT_FOUND")


def test_people_see_sessions_and_injects_in_lines(cli: Cli) -> None:
    session = start(cli)
    assert session in cli("session", "list").out
    assert "SHOP-7" in cli("session", "list", "--project", "shop").out
    assert cli("session", "list", "--state", "running").out.startswith("no such session")
    claim(cli, session)
    put(cli, session, "two\nlines\x1b[31m")
    listed = cli("queue", "list", session).out
    assert "two lines" in listed
    assert "\x1b[31m" not in listed


def test_the_table_names_what_the_model_knows() -> None:
    assert table.SESSION_STATES == model.STATES
    assert table.INJECT_STATES == model.INJECT_STATES
    assert table.OUTCOMES == model.OUTCOMES
    assert model.RECEIPTS[1:] == table.RECEIPTS

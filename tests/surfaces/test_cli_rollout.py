"""The rollout on the command line: what mode, why blocked, what would unblock it, what to do next."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from cli_driver import Cli

from clew.store.sqlite import open_engine
from clew.store.store import Store
from clew.surfaces.cli import table_rollout
from clew.surfaces.cli.render_rollout import FALLBACKS, MODES
from counted import applied, failed


@pytest.fixture
def shop(cli: Cli) -> Cli:
    cli.remember("login uses tokens", "--project", "shop", "--tag", "auth")
    cli.remember("invoices are sent on Mondays", "--project", "shop", "--tag", "auth")
    return cli


def block(cli: Cli) -> None:
    """A quarter of an hour ago the graph failed."""
    at = datetime.now(UTC) - timedelta(minutes=15)
    store = Store(open_engine(cli.home / "clew.db"))
    rows = [failed(at) for _ in range(5)] + [applied(at) for _ in range(15)]
    store.write(lambda tx: tx.rollout.add(rows))
    store.close()


def test_show_as_document_and_as_text(shop: Cli) -> None:
    document = shop("rollout", "show", "--json").json
    assert (document["rollout"]["mode"], document["qualityGate"]["canaryBlocked"]) == ("canary", False)
    text = shop("rollout", "show").out
    assert "rollout canary: the graph is used in answers" in text and "quality gate open" in text
    assert "next: " in text


def test_a_block_is_explained_with_its_reasons_and_the_way_out(shop: Cli) -> None:
    block(shop)
    text = shop("rollout", "show").out
    assert "quality gate blocks the graph" in text and "FALLBACK_RATE_ABOVE_LIMIT" in text
    assert "it opens by itself when the requests of the last 24 h are good again" in text
    assert "next: find out why the graph fails: clew doctor" in text


def test_a_canary_that_is_blocked_is_refused_with_the_next_move(shop: Cli) -> None:
    assert shop("rollout", "set", "shadow").out.startswith("shadow: the graph is walked and compared")
    block(shop)
    refused = shop("rollout", "set", "canary", "--json")
    assert (refused.code, refused.error["code"]) == (1, "CANARY_ROLLOUT_BLOCKED")
    assert refused.error["details"]["qualityStatus"] == "fail" and "clew rollout show" in refused.error["next"]
    assert shop("rollout", "show", "--json").json["rollout"]["mode"] == "shadow"


def test_plan_as_document_and_as_text(shop: Cli) -> None:
    shop("rollout", "set", "off")
    document = shop("rollout", "plan", "--json").json
    assert (document["currentMode"], document["recommendedMode"]) == ("off", "shadow")
    text = shop("rollout", "plan").out
    assert "ROLLOUT_MODE_OFF: the mode is off: clew rollout set shadow" in text
    assert "next: clew rollout set shadow" in text and "shadow_executions" in text


def test_a_goal_that_cannot_be_judged_yet_is_not_said_to_be_met(shop: Cli) -> None:
    text = shop("rollout", "plan").out
    [coverage] = [line for line in text.splitlines() if "expansion_coverage" in line]
    assert coverage.split(maxsplit=4)[1:] == ["0", ">=", "0.1", "too few answers to judge"]
    [errors] = [line for line in text.splitlines() if line.strip().startswith("graph_error_rate")]
    assert errors.endswith("met")


def test_a_process_that_asks_once_is_counted_when_it_ends(shop: Cli) -> None:
    shop("recall", "login", "--project", "shop")
    shop("trace", "login", "--project", "shop")
    shop("why", "login", "--expect", shop.remember("login again", "--project", "shop"), "--project", "shop")
    assert shop("rollout", "metrics", "--json").json["totalRequests"] == 2
    text = shop("rollout", "metrics", "--since", "2h").out
    assert "requests of the last 2 h" in text and "asked for the graph" in text


def test_trace_as_document_and_as_text(shop: Cli) -> None:
    words = ("trace", "login", "--project", "shop", "--limit", "1", "--graph-limit", "3", "--depth", "1")
    document = shop(*words, "--json").json
    assert [row["source"] for row in document["recall"]] == ["baseline", "graph_expansion"]
    text = shop(*words).out
    assert "asked for hybrid_graph, answered with hybrid_graph; mode canary" in text
    assert "by shared_node over topic:auth" in text


@pytest.mark.parametrize(
    ("words", "range_"),
    [(["--depth", "9"], "0 to 2"), (["--graph-limit", "51"], "1 to 50"), (["--limit", "51"], "1 to 50")],
)
def test_a_trace_refuses_what_is_out_of_range(shop: Cli, words: list[str], range_: str) -> None:
    outcome = shop("trace", "login", "--project", "shop", *words)
    assert outcome.code == 2 and "out of range [TRACE_LIMIT_INVALID]" in outcome.err and range_ in outcome.err


@pytest.mark.parametrize(
    ("words", "reason"),
    [(["--depth", "0"], "rollout_guardrail"), ([], "shadow_mode")],
)
def test_a_trace_tells_why_the_graph_was_not_used_and_what_to_do(shop: Cli, words: list[str], reason: str) -> None:
    if reason == "shadow_mode":
        shop("rollout", "set", "shadow")
    assert f"{reason}: {FALLBACKS[reason]}" in shop("trace", "login", "--project", "shop", *words).out


def test_a_trace_without_an_answer_says_so(shop: Cli) -> None:
    assert "nothing is known about that" in shop("trace", "zebra", "--project", "shop").out


def test_the_status_of_the_graph_tells_of_the_rollout(shop: Cli) -> None:
    block(shop)
    text = shop("graph", "status").out
    assert "rollout canary" in text and "quality gate blocks the graph" in text
    assert "HIGH_FALLBACK_RATE" in text
    document = shop("graph", "status", "--json").json
    assert document["qualityGate"]["canaryBlocked"] and document["alarms"][0]["code"] == "HIGH_FALLBACK_RATE"


def test_an_unknown_mode_is_refused_with_the_known_ones(shop: Cli) -> None:
    refused = shop("rollout", "set", "on", "--json")
    assert (refused.code, refused.error["code"]) == (2, "ROLLOUT_MODE_INVALID")
    assert "off, shadow, canary" in refused.error["next"]


def test_output_is_safe_to_print(cli: Cli) -> None:
    cli.remember("login \x1b[31m uses tokens", "--tag", "au\x1b[31mth")
    assert "\x1b" not in cli("trace", "login").out


def test_the_words_of_the_help_are_those_of_the_model() -> None:
    from clew.model.recalled import MODES as LAYERS
    from clew.model.rollout import FALLBACK_REASONS, STRATEGIES
    from clew.model.rollout import MODES as KNOWN

    assert table_rollout.MODES == KNOWN == tuple(MODES)
    assert set(table_rollout.STRATEGIES) == set(STRATEGIES) and table_rollout.LAYERS == LAYERS
    assert set(FALLBACKS) == set(FALLBACK_REASONS)

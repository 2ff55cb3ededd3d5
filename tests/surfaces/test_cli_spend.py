"""What language models cost, as `clew jobs spend` tells it; their settings."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from cli_driver import Cli

from clew.relate.spend import Spend, SpendPolicy
from toys import open_toy


def spent(home: Path) -> None:
    """Two calls, one of which failed, just now."""
    from clew.compose import SystemClock

    with open_toy(home / "clew.db") as clew:
        spend = Spend(clew.store, SpendPolicy(input_price=2.0), now=SystemClock().now)
        for failure in ("", "LLM_STATUS: it answered with status 503"):
            reserved = spend.reserve("local", "toy-model", "classification", input_tokens=1, output_tokens=1)
            spend.settle(reserved, input_tokens=1_000, output_tokens=10, failure=failure)
        spend.withhold("local", "toy-model", "semantic_extraction", 4)


def test_spend_is_one_json_document(cli: Cli) -> None:
    spent(cli.home)
    document = cli("jobs", "spend", "--json").json
    assert document["today"] == {"used": 2_020, "limit": 1_000_000, "left": 997_980}
    assert (document["total"]["calls"], document["total"]["failures"], document["total"]["cost"]) == (2, 1, 0.004)
    assert [row["task"] for row in document["rows"]] == ["classification", "semantic_extraction"]


def test_spend_in_words_tells_today_the_rows_and_why_it_failed(cli: Cli) -> None:
    spent(cli.home)
    outcome = cli("jobs", "spend")
    assert outcome.code == 0
    assert "today: 2,020 of 1,000,000 tokens, 997,980 left" in outcome.out
    assert "toy-model  classification       2 calls, 1 failed  2,000 in, 20 out" in outcome.out
    assert "4 withheld by their label" in outcome.out
    assert "status 503" in outcome.out and "0.0040 at the configured prices" in outcome.out
    assert "llm.enabled is off" in outcome.out


def test_spend_of_nothing_says_so(cli: Cli) -> None:
    assert "nothing was asked since" in cli("jobs", "spend").out


def test_spend_since_a_bad_time_is_refused(cli: Cli) -> None:
    assert cli("jobs", "spend", "--since", "yesterday-ish").code == 2


def test_config_shows_the_section_and_the_name_of_the_key_alone(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLEW_LLM_KEY", "sk-very-secret")
    outcome = cli("config", "show", "llm")
    assert outcome.code == 0 and "llm.max_classification" in outcome.out and "CLEW_LLM_KEY" in outcome.out
    assert "sk-very-secret" not in outcome.out


def test_the_doctor_names_the_next_move(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLEW_LLM__ENABLED", "1")
    cli.remember("a note")
    outcome = cli("doctor")
    assert outcome.code == 1 and "set llm.model" in outcome.out + outcome.err


def test_commands_that_ask_no_model_load_no_library_for_it(cli: Cli) -> None:
    program = (
        "import sys; from clew.surfaces.cli.main import main;"
        "main(['remember', 'a note']); main(['recall', 'note']);"
        "print([name for name in ('openai', 'anthropic', 'httpx2', 'clew.providers.llm') if name in sys.modules])"
    )
    wanted = {"CLEW_HOME": str(cli.home), "CLEW_LLM__ENABLED": "1", "CLEW_LLM__MODEL": "toy", "CLEW_LLM_KEY": "sk"}
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env={**os.environ, **wanted}
    )
    assert done.stdout.splitlines()[-1] == "[]"

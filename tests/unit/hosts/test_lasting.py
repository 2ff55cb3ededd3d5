"""What holds beyond its prompt, told by weights: how much of it is found, and what the weights are."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.hosts.lasting import KINDS, NOTHING, TABLE, Weights, evidence, features, learnt, read, written
from clew.hosts.said import MAX_SENTENCE, understood_prompt

sys.path.insert(0, str(Path(__file__).parents[3] / "tools"))

from lasting import DAYS, authors, learn, main, measured, taught


def test_of_what_ordinary_days_hold_half_is_kept_and_most_of_what_is_kept_is_right() -> None:
    """By prompts of authors from whom nothing was learnt: a rate, not a promise for any one sentence."""
    found = measured((one for each in authors(DAYS).values() for one in each), learnt())
    assert found.prompts >= 480
    assert found.found.total() >= 0.45 * found.useful.total(), "\n".join(found.missed)
    assert len(found.junk) <= 0.25 * found.kept, "\n".join(found.junk)


@pytest.mark.torture
def test_the_weights_are_those_that_the_prompts_give() -> None:
    again = learn(taught(authors()))
    for kind, weights in (("holds", again.holds), *again.kinds.items()):
        shipped = learnt().holds if kind == "holds" else learnt().kinds[kind]
        assert weights.keys() ^ shipped.keys() <= {one for one, weight in weights.items() if abs(weight) < 0.02}
        assert all(abs(weight - shipped.get(one, 0)) < 0.02 for one, weight in weights.items())


@pytest.mark.parametrize(
    ("prompt", "kind"),
    [
        ("pnpm only here, no npm", "rule"),
        ("no deploys on fridays", "rule"),
        ("tabs, not spaces, in this repo", "rule"),
        ("redux is out, zustand from now on", "decision"),
        ("redux is out", "decision"),
        ("clerk it is", "decision"),
        ("no celery, we threw that out last year", "decision"),
        ("we're dropping next-auth, clerk it is", "decision"),
        ("the staging db gets wiped every night", "fact"),
        ("maria owns the billing service", "fact"),
    ],
)
def test_what_is_said_in_passing_and_in_any_words_is_kept(prompt: str, kind: str) -> None:
    found = understood_prompt(prompt)
    assert [len(one) for one in found.lasting] == [one == kind for one in KINDS]


@pytest.mark.parametrize(
    "sentence",
    [
        "修复登录页面在移动端的超时问题",
        "Die Staging-Datenbank wird jede Nacht gelöscht",
        "Никогда не пушь в main напрямую",
        "zxq vbn wrt plk",
    ],
)
def test_of_what_it_cannot_read_nothing_is_told(sentence: str) -> None:
    assert evidence([sentence], 0) == NOTHING
    assert understood_prompt(sentence).lasting == ((), (), ())


def test_what_is_asked_for_beside_a_fact_keeps_it_and_a_rule_leaves_the_task() -> None:
    told = understood_prompt(
        "ci has no docker. Rewrite the smoke test in tests/smoke.py so that it runs without it"
    )
    assert told.facts == ("ci has no docker.",)
    assert told.task.startswith("ci has no docker. Rewrite the smoke test")
    ruled = understood_prompt("No default exports in this repo. Rewrite the exports of src/cart.ts and src/pay.ts")
    assert ruled.rules == ("No default exports in this repo.",)
    assert ruled.task == "Rewrite the exports of src/cart.ts and src/pay.ts"


def test_a_request_behind_a_rule_is_no_part_of_it() -> None:
    told = understood_prompt("ci secrets never leave the release workflow, so move the login out of check.yaml")
    assert told.rules == ("ci secrets never leave the release workflow",)
    assert told.task == "so move the login out of check.yaml"


@given(st.text(max_size=2 * MAX_SENTENCE), st.text(max_size=80))
def test_any_text_has_evidence_that_is_a_number(sentence: str, beside: str) -> None:
    assert -100 < evidence([beside, sentence, beside], 1) < 100
    assert features([sentence], 0) == features([sentence], 0)


@given(st.dictionaries(st.text("ab ^$:.", min_size=1), st.integers(-900, 900).filter(bool)))
def test_what_is_written_is_read_again(numbers: dict[str, int]) -> None:
    weights = {one: number / 100 for one, number in numbers.items()}
    again = read(written(Weights(weights, dict.fromkeys(KINDS, weights))))
    assert {one: round(100 * weight) for one, weight in again.holds.items()} == numbers
    assert again.kinds["fact"] == again.holds


def test_from_days_that_are_only_measured_nothing_is_learnt(monkeypatch: pytest.MonkeyPatch) -> None:
    before = TABLE.read_bytes()
    monkeypatch.setattr(sys, "argv", ["lasting.py", "--learn", "--days"])
    with pytest.raises(SystemExit):
        main()
    assert TABLE.read_bytes() == before


def test_the_table_is_small_enough_to_be_read_when_a_prompt_comes() -> None:
    assert TABLE.stat().st_size < 300_000


def test_of_orders_in_other_languages_with_english_names_of_programs_nothing_is_told() -> None:
    said = """
        bitte alle tests in tests/ laufen lassen und dann commit und push auf main
        merge den PR und lösch dann den branch
        die tests auf ci sind rot seit dem merge
        kein force push auf main
        no hagas commit en main todavia
        corre los tests y luego haz push
        les tests dans src/ ne passent pas en ci
        pas de commit sur main
        fai commit e push su main
        faça commit e push na main
        draai de tests en push naar main
        geen commits op main
        commit og push til main
        kör testerna och pusha till main
        tylko pnpm, bez npm
    """
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    assert [line for line in lines if any(understood_prompt(line).lasting)] == []


def test_english_with_a_word_that_others_have_too_is_english() -> None:
    for said in ("every visible string goes through i18n, de + en + fr", "the e2e tests never run on main"):
        assert evidence([said], 0) > NOTHING

"""What holds beyond its prompt, told by weights: how much of it is found, and what the weights are."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.hosts.lasting import KINDS, NOTHING, TABLE, Weights, evidence, features, learnt, read, written
from clew.hosts.said import MAX_SENTENCE, is_certain, understood_prompt

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


NAMES = (
    ("rspec", "minitest"), ("pydantic", "marshmallow"), ("cassandra", "mongo"), ("mocha", "ava"), ("black", "yapf"),
    ("lima", "vagrant"), ("deno", "yarn"), ("hono", "koa"), ("crossplane", "ansible"), ("swiftlint", "tailor"),
)  # fmt: skip


@pytest.mark.parametrize(
    "form",
    [
        "don't use {0}",
        "Do not use {0}.",
        "please do not use {0} in this project",
        "you must not use {0}",
        "{0} is forbidden",
        "{0} is not allowed here",
        "stay away from {0}",
        "it's {1} now, not {0}",
        "we're using {1} now",
        "we went back to {1}",
        "we're switching to {1}",
        "{0} was replaced by {1}",
        "{0} has been replaced by {1} as of this week",
        "correction: {1} instead of {0}",
        "{0} is allowed again",
        "ok {0} is allowed now",
    ],
)
def test_a_prohibition_or_a_change_of_mind_is_kept_and_told_whatever_it_names(form: str) -> None:
    told = [understood_prompt(form.format(*names)) for names in NAMES]
    certain = [one for one in told if any(map(is_certain, (*one.rules, *one.decisions)))]
    kept = [one for one in told if any(one.lasting)]
    assert len(kept) >= 8
    assert len(certain) >= 2 or "correction" in form  # of which only what is said instead is left


@pytest.mark.parametrize(
    "said",
    [
        "deploying on fridays is fine again, we have canaries now",
        "the friday rule is gone, deploy whenever you want",
        "I changed my mind about the regression tests: only for bugs that a customer reported",
        "Atlantis has been replaced by Spacelift as of this week.",
        "we don't use atlantis anymore, it's spacelift now",
        "correction: spacelift instead of atlantis",
        "ok default exports are allowed now",
        "line length is 100 now, not 120",
        "we're on node 22 now",
        "scratch mongo, events go to postgres",
        "the mongodb decision was reverted, events are in postgres now",
        "commits can be in english again",
        "you may push to main again",
        "writing to prod from scripts is no longer forbidden",
    ],
)
def test_who_changes_their_mind_is_heard_by_every_later_session(said: str) -> None:
    told = understood_prompt(said)
    assert [is_certain(one) for one in (*told.rules, *told.decisions)] == [True]


@pytest.mark.parametrize(
    "said",
    [
        "it's 403 now, not 404",
        "it's slower now, not faster",
        "the border is blue now, not grey",
        "the modal replaces the page header",
        "the avatar was replaced by a grey box",
        "we went back to the login and it crashed",
        "we're on the settings page now",
        "we're using the wrong branch now",
        "we're switching to the next step",
        "the linter is fine again",
        "the tests are ok now",
        "the lock is gone",
        "the friday build is gone from the dashboard",
        "don't use the loop here",
        "do not use the emulator for this test",
        "you must not use the second index in this query",
        "avoid the extra call in save()",
        "the endpoint is forbidden for guests, fix the check",
        "correction: the null comes from the mapper, not the view",
        "is deploying on fridays fine again?",
    ],
)
def test_what_only_sounds_like_a_change_of_mind_or_a_prohibition_is_not_kept(said: str) -> None:
    assert not any(understood_prompt(said).lasting)


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

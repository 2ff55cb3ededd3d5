"""What is asked about a tool call, and which answers are sure enough to be said."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from injector_toys import MEMORY, event

from clew.inject.asking import asked_of_rules, command_words, name_words, project_path, questions_of
from clew.inject.precision import CANDIDATES, background_of, is_sure
from clew.model.inject import Observation


def candidate(text: str, relevance: float = 0.9, *, paths: tuple[str, ...] = ()) -> Observation:
    return Observation(replace(MEMORY, content=text, paths=paths), relevance, 1.0)


def sure(one: Observation, *, background: float = 0.0, path: str | None = None, **asked: object) -> bool:
    given = event(**({"paths": (path,)} if path else {}) | asked)
    [question] = questions_of(given)
    return is_sure(one, question, path=path, background=background, floor=0.4)


@pytest.mark.parametrize(
    ("path", "asked"),
    [
        ("src/pay/vat.py", "src/pay/vat.py"),
        ("./src/pay/vat.py", "src/pay/vat.py"),
        ("/home/kim/work/shop/src/pay/vat.py", "shop/src/pay/vat.py"),
        ("C:\\work\\shop\\src\\pay\\vat.py", "shop/src/pay/vat.py"),
    ],
)
def test_a_path_is_asked_for_as_the_project_knows_it(path: str, asked: str) -> None:
    assert project_path(path) == asked


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("tests/pay/test_vat_rates.py", {"vat", "rate"}),
        ("web/TrackingPage.tsx", {"track", "page"}),
        ("src/pay/__init__.py", set()),
        ("web/index.ts", set()),
        ("src/pay", set()),
    ],
)
def test_a_files_name_says_what_is_in_it_unless_every_project_has_one(path: str, words: set[str]) -> None:
    assert name_words(path) == words


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("git status", "status"),
        ("env | sort", ""),
        ("ls -la", ""),
        ("TZ=UTC pytest tests/pay -q && echo done", "tests/pay done"),
        ("docker build -t parcel .", "build parcel ."),
        ("git checkout -b outbox-retries", ""),
        ("git switch -c outbox-retries && pytest tests/outbox.py", "tests/outbox.py"),
        ("git checkout outbox-retries", "checkout outbox-retries"),
        ("uv run pytest -q", ""),
        ("cd web && CI=1 timeout 60 npx tsc --noEmit", "web"),
        ("docker compose exec -T api pytest tests/pay", "tests/pay"),
        ("uv run --with httpx python -m pytest tests/pay", "tests/pay"),
        ("docker compose exec api uv run pytest", ""),
        ("poetry run alembic upgrade head", "upgrade head"),
    ],
)
def test_of_a_command_only_its_arguments_count(command: str, words: str) -> None:
    assert command_words(command) == words


def test_a_command_without_arguments_asks_nothing() -> None:
    assert questions_of(event(tool="Bash", query="ls -la | sort")) == ()


def test_a_memory_that_lists_the_file_is_sure() -> None:
    assert sure(candidate("rounding", paths=("src/pay/vat.py",)), path="src/pay/vat.py")


def test_a_memory_that_lists_other_files_is_about_those() -> None:
    assert not sure(candidate("vat is rounded", paths=("src/pay/fx.py",)), path="src/pay/vat.py")


def test_a_memory_without_files_must_use_every_word_of_the_name() -> None:
    assert sure(candidate("VAT rates change in July"), path="src/pay/vat_rates.py")
    assert not sure(candidate("VAT changes in July"), path="src/pay/vat_rates.py")


def test_a_memory_found_by_the_text_must_stand_out() -> None:
    one = candidate("VAT is rounded per line", 0.7)
    assert sure(one, query="where is VAT rounded", background=0.25)
    assert not sure(one, query="where is VAT rounded", background=0.35)


def test_a_memory_found_by_its_meaning_alone_is_not_sure() -> None:
    assert not sure(candidate("taxes are summed up late"), query="where is VAT rounded")


def test_a_single_word_is_enough_only_if_it_is_a_name_and_stands_out_by_more() -> None:
    assert sure(candidate("samesite is lax", 0.51), query="samesite")
    assert not sure(candidate("samesite is lax", 0.49), query="samesite")
    assert not sure(candidate("it is round", 0.9), query="round")


def test_another_ticket_shares_neither_prefix_nor_number() -> None:
    assert sure(candidate("INV-63: the retry waits longer", 0.51), query="go on with INV-63 please")
    assert not sure(candidate("INV-63: one of 71 retries waits longer", 0.9), query="go on with INV-71 please")


def test_a_command_needs_two_words_in_any_case() -> None:
    assert not sure(candidate("samesite is lax"), tool="Bash", query="grep samesite")
    assert sure(candidate("samesite cookies are lax"), tool="Bash", query="grep samesite cookies.py")


def test_an_error_line_of_a_shell_is_no_command() -> None:
    assert sure(candidate("ENOSPC: prune the runner"), tool="Bash", phase="failure", query="ENOSPC")


def named(rule: str, command: str, *, type: str = "rule") -> bool:
    """Whether a rule is sure for one of the questions that a command asks of rules."""
    one = replace(candidate(rule), memory=replace(MEMORY, content=rule, type=type))
    asked = asked_of_rules(event(tool="Bash", query=command))
    return any(is_sure(one, question, path=None, background=1.0, floor=0.4) for question in asked)


@pytest.mark.parametrize(
    ("rule", "command"),
    [
        ("Always use pnpm, never npm.", "npm install stripe"),
        ("Always use pnpm, never npm.", "cd web && NODE_ENV=test npm run build"),
        ("Use uv instead of pip", "pip3 install lxml"),
        ("Don't run `alembic` by hand.", "uv run alembic upgrade head"),
        ("Always run terraform plan before terraform apply", "terraform apply"),
        ("Never add dependencies without asking me first", "pip install lxml"),
        ("No new packages without a reason in the ADR", "npm i --save-dev left-pad"),
    ],
)
def test_a_rule_that_names_what_a_command_runs_or_adds_is_sure(rule: str, command: str) -> None:
    assert named(rule, command)
    assert not named(rule, command, type="note")


def test_a_decision_against_the_program_of_a_command_is_sure_and_no_other() -> None:
    for decision in ("We chose pnpm over npm in March.", "We moved from npm to pnpm.", "pnpm instead of npm"):
        assert named(decision, "npm install left-pad", type="decision"), decision
        assert not named(decision, "pnpm add left-pad", type="decision"), decision
        assert not named(decision, "npm install left-pad", type="fact"), decision
    for other in ("npm install takes a minute in CI", "We chose npm over pnpm", "left-pad was added by npm"):
        assert not named(other, "npm install left-pad", type="decision"), other


@pytest.mark.parametrize(
    ("rule", "command"),
    [
        ("Always use pnpm, never npm.", "pnpm add stripe"),
        ("Always use pnpm, never npm.", "grep -rn npm docs"),
        ("Celery tasks get ids as arguments, never objects", "celery -A src.platform inspect active"),
        ("Never merge without a green pytest run", "pytest -q"),
        ("Never add dependencies without asking me first", "pip install -r requirements.txt"),
        ("Never add dependencies without asking me first", "npm install"),
        ("Never add dependencies without asking me first", "pip install -e ."),
        ("Migrations add columns nullable first", "uv add lxml"),
    ],
)
def test_a_rule_about_something_else_is_not(rule: str, command: str) -> None:
    assert not named(rule, command)


def test_that_a_command_works_is_no_news_to_whoever_runs_it() -> None:
    works = candidate("Command `npm install stripe` (Bash) succeeded.")
    captured = replace(works, memory=replace(works.memory, metadata={"captured": "command"}))
    assert sure(works, tool="Bash", query="npm install stripe")
    assert not sure(captured, tool="Bash", query="npm install stripe")
    assert sure(captured, query="how do I install stripe")


def noted(captured: str, command: str, rest: str) -> Observation:
    one = candidate(f"Command `{command}` (Bash) failed with exit status 1: {rest}")
    return replace(one, memory=replace(one.memory, metadata={"captured": captured}))


HEADS = '"Multiple head revisions are present"; later fixed by `alembic merge heads -m merge`.'


@pytest.mark.parametrize(
    ("captured", "command", "query", "is_said"),
    [
        ("fix", "uv run alembic upgrade head", "uv run alembic upgrade head", True),
        ("fix", "uv run alembic upgrade head", "cd /home/kim/shop && uv run alembic upgrade head 2>&1", True),
        ("fix", "cd api && alembic upgrade head", "cd api && alembic upgrade head", True),
        ("fix", "cd api && alembic upgrade head", "alembic upgrade head", True),  # it may be there already
        ("fix", "cd api && alembic upgrade head", "cd billing && alembic upgrade head", False),
        ("fix", "alembic upgrade head", "cd billing && alembic upgrade head", False),
        ("fix", "alembic upgrade head", "alembic upgrade head --sql", False),
        ("fix", "alembic upgrade head", "alembic -c test.ini upgrade head", False),
        ("failure", "alembic upgrade head", "alembic upgrade head", False),
        ("fix", "alembic upgrade head", "alembic merge heads -m 'multiple revisions'", True),
        ("failure", "alembic upgrade head", "alembic merge heads -m 'multiple revisions'", True),
    ],
)
def test_what_failed_once_is_said_before_the_same_or_what_asks_about_more_than_the_command(
    captured: str, command: str, query: str, is_said: bool
) -> None:
    assert sure(noted(captured, command, HEADS), tool="Bash", query=query) == is_said


def test_what_failed_once_is_not_said_of_a_command_that_has_run_and_is_when_it_fails() -> None:
    one, command = noted("fix", "alembic upgrade head", HEADS), "alembic upgrade head"
    assert not sure(one, tool="Bash", phase="post", query=command)
    assert sure(one, tool="Bash", phase="failure", query="Multiple head revisions are present")
    assert sure(one, query="why does alembic upgrade head fail")


KUBE = "Error: kube context 'parcel-staging' not found. Run `make kube-login` first."


def test_words_that_every_error_has_make_no_memory_sure() -> None:
    asked = {"tool": "Bash", "phase": "failure", "query": KUBE}
    assert not sure(candidate("`pytest` failed with ModuleNotFoundError; fixed by `uv add fakeredis`"), **asked)
    assert not sure(candidate("always run the tests with `make check`, it starts minio"), **asked)
    assert sure(candidate("kube context 'parcel-prod' not found; later fixed by `make kube-login`"), **asked)


@given(st.lists(st.floats(0, 1), max_size=40))
def test_the_background_is_what_the_last_of_those_asked_for_has(relevances: list[float]) -> None:
    background = background_of([candidate("x", relevance) for relevance in relevances])
    assert sum(relevance > background for relevance in relevances) < CANDIDATES
    assert background == 0 or len(relevances) >= CANDIDATES


@given(st.text(max_size=300), st.text(max_size=300), st.sampled_from(("Bash", "Edit")))
def test_no_event_whatever_it_says_breaks_the_questions(path: str, query: str, tool: str) -> None:
    for question in questions_of(event(tool=tool, paths=(path,), query=query)):
        assert question.text
        question.text.encode()

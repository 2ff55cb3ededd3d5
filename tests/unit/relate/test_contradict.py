"""Contradictions by rules: sure when they speak, and always with the words that show it."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from datetime import timedelta
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from measure_conflicts import labelled, measure, memory_of

from clew.clew import Clew
from clew.model.relation import Finding
from clew.model.scope import Scope
from clew.relate import claims, contradict, endings, frames, valued, wording
from clew.relate.claims import MAX_CHARS, read
from clew.relate.contradict import contradictions
from told_relations import SHOP, OpenAt, both_ways, edges, open_told, remember
from toys import START


def judge(new: str, old: str) -> Finding | None:
    found = contradictions(memory_of(new), [memory_of(old)])
    return found[0] if found else None


def test_the_rules_are_precise_on_pairs_they_were_not_tuned_on() -> None:
    figures = measure(held_out=True)
    assert figures.pairs >= 90
    assert figures.precision >= 0.95
    assert figures.recall >= 0.8


def test_the_rules_find_what_they_were_tuned_on() -> None:
    figures = measure(held_out=False)
    assert figures.precision >= 0.98
    assert figures.recall >= 0.95


def test_half_of_the_labelled_pairs_are_tempting_and_no_conflict() -> None:
    labels = [pair["label"] for half in (True, False) for pair in labelled(held_out=half)]
    assert 0.4 <= labels.count("none") / len(labels) <= 0.6


@pytest.mark.parametrize(
    ("new", "old", "type", "rule"),
    [
        ("The gateway timeout is 60 s.", "The gateway timeout is 30 s.", "contradicts", "different_value"),
        ("Never commit generated files.", "Always commit generated files.", "contradicts", "opposite"),
        ("We no longer use Jenkins for CI.", "We use Jenkins for CI.", "supersedes", "no_longer"),
        ("Billing migrated from MySQL to Postgres.", "Billing runs on MySQL.", "supersedes", "changed_over"),
        ("UserRepo replaces UserDao.", "UserDao reads users.", "supersedes", "replaced"),
        ("We upgraded to Python 3.12.", "We use Python 3.10.", "supersedes", "newer_version"),
        ("Use npm instead of pnpm.", "Use pnpm instead of npm.", "supersedes", "turned_round"),
        ("poetry from now on, uv is gone.", "we're on uv, dont use pip directly", "supersedes", "ended"),
        ("Round the total now, not per line.", "round per line", "supersedes", "ended"),
    ],
)
def test_a_finding_names_its_rule_and_shows_the_sentence(new: str, old: str, type: str, rule: str) -> None:
    found = judge(f"An introduction comes first. {new}", old)
    assert found is not None
    assert (found.type, found.rule, found.origin, found.sentence) == (type, rule, "rule", new)
    assert found.explanation.startswith(f"rule {rule}: ")
    assert 0.4 <= found.confidence <= 0.6


def test_an_explanation_never_quotes_a_memory() -> None:
    one, other = (judge(f"The {name} timeout is 60 s.", f"The {name} timeout is 30 s.") for name in ("a1", "b2"))
    assert one and other
    assert one.explanation == other.explanation


def test_a_change_supersedes_only_what_was_said_before_it() -> None:
    change, fact = memory_of("We no longer use Jenkins for CI."), memory_of("We use Jenkins for CI.")
    later = memory_of("We use Jenkins for CI.", at=START + timedelta(days=1))
    assert contradictions(change, [fact])
    assert not contradictions(change, [later])


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("Use npm instead of pnpm in this repo.", "Always use pnpm instead of npm in this repo."),
        ("We prefer inheritance over composition.", "We prefer composition over inheritance."),
        ("Use requests rather than httpx.", "Use httpx, not requests."),
        ("We chose MongoDB over PostgreSQL for orders.", "We chose PostgreSQL over MongoDB for orders."),
        ("Use the dark theme instead of the light theme.", "Use the light theme instead of the dark theme."),
    ],
)
def test_whoever_turns_a_choice_round_takes_the_old_one_back(new: str, old: str) -> None:
    found = judge(new, old)
    assert found is not None and found.rule == "turned_round"
    assert judge(old, old) is None


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("Prefer threads over async in the worker.", "Prefer async over threads in the gateway."),
        ("We chose MongoDB over PostgreSQL for events.", "We chose PostgreSQL over MongoDB for orders."),
        ("Use npm instead of yarn.", "Use pnpm instead of npm."),
        ("Use tabs instead of spaces.", "Use main instead of master."),
        ("We used npm instead of pnpm.", "Use pnpm instead of npm."),
        ("Should we use npm instead of pnpm?", "Use pnpm instead of npm."),
        ("Do not use npm instead of pnpm.", "Use pnpm instead of npm."),
    ],
)
def test_another_choice_is_none_turned_round(new: str, old: str) -> None:
    assert judge(new, old) is None


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("Use pnpm instead of npm.", "Use npm."),
        ("We dropped Redis for sessions in favor of Postgres.", "We use Redis for sessions."),
        ("We dropped Redis in favour of Postgres.", "We use Redis for sessions."),
        ("Drop Redis for sessions and use Postgres instead.", "We use Redis for sessions."),
    ],
)
def test_what_is_dropped_for_something_else_is_over(new: str, old: str) -> None:
    found = judge(new, old)
    assert found is not None and found.rule == "replaced"


@pytest.mark.parametrize(
    ("new", "old"),
    [
        (
            "Let's use Postgres for the upload sessions instead of Redis.",
            "Let's use Redis for the upload sessions.",
        ),
        ("Let's use Postgres for the upload sessions instead of Redis.", "Upload sessions are stored in Redis."),
        ("Use biome for linting instead of eslint.", "We run eslint for linting."),
        ("From now on use pnpm instead of yarn.", "We use yarn in this repo."),
        ("We switched from yarn to pnpm.", "We use yarn in this repo."),
    ],
)
def test_what_is_used_for_something_instead_takes_the_place_of_what_was(new: str, old: str) -> None:
    found = judge(new, old)
    assert found is not None and found.type == "supersedes"


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("Let's use Postgres for the upload sessions instead of Redis.", "Let's use Redis for the job queue."),
        ("Use memcached for the page cache instead of Redis.", "We use Redis for rate limits."),
        ("From now on use pnpm instead of yarn.", "We use yarn in the docs project."),
        ("From now on use pnpm instead of yarn.", "Never use yarn in this repo."),
    ],
)
def test_what_is_used_for_something_else_stays(new: str, old: str) -> None:
    assert judge(new, old) is None


@pytest.mark.parametrize(
    "frame",
    [
        "We use {} for the job queue.",
        "We decided to use {} for the job queue.",
        "We've decided on {} for the job queue.",
        "We decided that we use {} for the job queue.",
        "We chose {} for the job queue.",
        "We're going with {} for the job queue.",
        "Let's use {} for the job queue.",
        "From now on we use {} for the job queue.",
        "Final decision: we use {} for the job queue.",
        "We switched to {} for the job queue.",
    ],
)
def test_what_was_decided_is_compared_in_whatever_words_it_was_decided(frame: str) -> None:
    old = "We decided to use Redis for the job queue."
    found = judge(frame.format("RabbitMQ"), old)
    assert found is not None and (found.type, found.rule) == ("contradicts", "different_value")
    assert judge(frame.format("Redis"), old) is None
    assert judge(frame.format("RabbitMQ"), "We decided to use Redis for the rate limits.") is None


@pytest.mark.parametrize("frame", ["Last year we decided", "We had decided", "We have not decided", "Did we"])
def test_a_report_of_a_decision_or_a_question_about_it_decides_nothing(frame: str) -> None:
    assert judge(f"{frame} to use RabbitMQ for the job queue.", "We use Redis for the job queue.") is None


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("We no longer use black, we moved to ruff for formatting.", "Always use black for formatting."),
        ("We're not using Redis anymore for sessions, it's Valkey now.", "We use Redis for sessions."),
        ("We dropped Redis for sessions.", "We use Redis for sessions."),
        (
            "We dropped exponential backoff for the payment gateway.",
            "We retry the payment gateway with exponential backoff.",
        ),
    ],
)
def test_what_is_told_to_be_over_is_over_whatever_else_the_sentence_says(new: str, old: str) -> None:
    found = judge(new, old)
    assert found is not None and (found.type, found.rule) == ("supersedes", "no_longer")


def test_what_is_over_for_one_purpose_goes_on_for_another() -> None:
    assert judge("We no longer use Redis, we use Valkey for sessions.", "We use Redis for locks.") is None
    assert judge("We dropped Redis for sessions.", "We use Redis for locks.") is None
    assert judge("When traffic grows, we no longer use Redis.", "We use Redis.") is None


@pytest.mark.parametrize(
    "new",
    [
        "lingui is out, i18next from now on",
        "lingui is gone",
        "we switch from lingui to i18next",
        "btw we drop lingui, its macro breaks w/ swc",
        "no more lingui",
        "lingui was replaced by i18next",
        "we dont use lingui anymore",
        "react-intl it is, lingui is history",
    ],
)
def test_a_name_that_ended_is_no_longer_to_be_used_in_whatever_words_it_was_said(new: str) -> None:
    for old in ("texts go through lingui", "texts live in lingui", "we use lingui for the texts", "lingui, always"):
        found = judge(new, old)
        assert found is not None and found.type == "supersedes"
    for old in (
        "lingui needs a macro",
        "we had trouble with lingui",
        "never use lingui",
        "lingui catalogs are big",
    ):
        assert judge(new, old) is None


@pytest.mark.parametrize(
    "new",
    [
        "lingui is gone from the cache dir",
        "the lingui catalog is out of date",
        "lingui is out of memory",
        "lingui is gone, cant start the app",
        "lingui 5 is out",
        "lingui is gone next week",
        "when lingui is gone we can delete the macro",
        "the docs team dropped lingui",
        "drop lingui catalogs",
        "is lingui gone?",
        "lingui isnt gone yet",
        "60 is out",
        "lets drop lingui from the dev image",
    ],
)
def test_what_is_said_of_a_name_besides_ends_nothing(new: str) -> None:
    assert judge(new, "texts go through lingui") is None


def test_what_there_is_one_of_ends_the_others_where_it_is_said_to_be_so_now() -> None:
    for new in ("spaces now, prettier config changed", "we are back on spaces", "spaces it is"):
        assert judge(new, "tabs, always")
    for new in ("spaces before the brace", "the tabs now have icons", "spaces in the docs now have no width"):
        assert judge(new, "tabs, always") is None
    assert judge("we are back on npm", "use pnpm in the docs project") is None


def test_what_may_be_done_is_the_opposite_of_what_must_not() -> None:
    for new in (
        "Deploying on Fridays is fine from now on.",
        "It's okay to deploy on Fridays.",
        "Deploy on Fridays.",
    ):
        found = judge(new, "Never deploy on Fridays.")
        assert found is not None and found.rule == "opposite"
    assert judge("Deploying on Fridays is fine with two approvals.", "Never deploy on Fridays.") is None
    assert judge("Deploying on Fridays is not fine.", "Never deploy on Fridays.") is None


def test_to_use_something_is_asked_for_more_than_once() -> None:
    """A task is what happened, but a choice that was asked for is made."""
    old = "The user asked: Use snake_case for JSON fields."
    assert judge("The user asked: Use camelCase for JSON fields.", old)
    assert not judge("The user asked: Use camelCase for these JSON fields.", old)
    assert not judge("The user asked: Set the gateway timeout to 5 s.", "The gateway timeout is 3 s.")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Build takes 3 minutes", "Deploy takes 5 minutes"),
        ("Reads time out after 2 seconds", "Writes time out after 10 seconds"),
        ("The build uses npm", "The deploy uses yarn"),
        ("Builds run on Jenkins", "Deploys run on GitHub Actions"),
        ("CI runs builds in 3 minutes", "CI runs deploys in 5 minutes"),
        ("Java 17 is required", "Java 21 is required for the build"),
        ("Reads are limited to 100 per second", "Writes are limited to 20 per second"),
        ("Deploys start at 09:00", "Builds start at 07:30"),
        ("The API listens on port 8080", "The admin UI listens on port 9090"),
        ("Tests run in 3 minutes", "Lint runs in 10 seconds"),
        ("Alice owns billing", "Bob owns search"),
        ("Alice owns the deploy pipeline", "Bob owns the build pipeline"),
        ("Use Jenkins for nightly builds", "Use CircleCI for nightly deploys"),
        ("It takes 3 minutes", "It takes 5 minutes"),
    ],
)
def test_what_is_said_of_two_things_is_no_contradiction(one: str, other: str) -> None:
    """`Build` and `deploy` are verbs as well as things: as what a sentence is about, they count."""
    assert judge(one, other) is None
    assert judge(other, one) is None


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("Build takes 3 minutes", "Build takes 5 minutes"),
        ("## Test suite\nIt takes 3 minutes", "## Test suite\nIt takes 5 minutes"),
        ("Always use default exports.", "Avoid default exports."),
        ("User tokens are not kept in Vault.", "User tokens are stored in Vault."),
    ],
)
def test_what_is_said_of_one_thing_is_compared_whatever_verb_it_is_said_with(new: str, old: str) -> None:
    assert judge(new, old) is not None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Python 3.11 is required", "Python 3.12 is required"),
        ("Go 1.21 is mandatory", "Go 1.23 is mandatory"),
        ("The CLI requires Python 3.10", "The CLI needs Python 3.12"),
        ("Node 18 is required by the docs site", "The docs site requires Node 20"),
    ],
)
def test_two_versions_of_one_product_are_not_both_required(one: str, other: str) -> None:
    assert judge(one, other) is not None
    assert judge(other, one) is not None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Python 3.11 is required", "Node 20 is required"),
        ("Python 3.11 is required", "Python 3.11.4 is required"),
        ("Python 3.11 is required", "We run Python 3.12"),
        ("Python 3.11 or later is required", "Python 3.12 is required"),
        ("The CLI requires Python 3.10", "The server requires Python 3.12"),
        ("CI requires Python 3.10", "CI requires Python 3.12"),
        ("Section 3.1 is required", "Section 3.2 is required"),
    ],
)
def test_what_is_required_besides_or_at_least_is_no_contradiction(one: str, other: str) -> None:
    assert judge(one, other) is None
    assert judge(other, one) is None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The deploy target is AWS", "The deploy target is GCP"),
        ("The API is REST", "The API is GraphQL"),
        ("The admin panel is Svelte", "The admin panel is Angular now"),
        ("The issue tracker is Jira", "The issue tracker is Linear"),
        ("The tech lead is Priya", "The tech lead is Tomas"),
    ],
)
def test_one_thing_is_one_of_a_kind_and_a_role_is_held_by_one(one: str, other: str) -> None:
    assert judge(one, other) is not None
    assert judge(other, one) is not None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The API is REST", "The API is fast"),
        ("The deploy target is AWS", "The build target is GCP"),
        ("The deploy target is AWS", "The deploy target is Kubernetes"),
        ("The frontend is React", "The frontend is TypeScript"),
        ("The API is mostly REST", "The API is GraphQL"),
        ("The API is REST", "The API is GraphQL for partners"),
        ("The test runner is pytest", "The test runner is vitest"),
        ("One of the clients is Go", "One of the clients is Rust"),
        ("The next step is AWS", "The next step is GCP"),
        ("Our SDK is Python", "Our SDK is Go"),
        ("The service is Go", "The service is Rust"),
        ("The team is Anna", "The team is great"),
        ("The tech lead is Priya", "The tech lead is OOO"),
        ("The CTO is Anna", "The CTO is German"),
        ("The CTO is Anna", "The CTO is Anna Kowalska"),
        ("The lead is Acme", "The lead is Initech"),
        ("The lead time is Fibonacci", "The lead time is Prime"),
    ],
)
def test_what_a_thing_is_besides_is_no_contradiction(one: str, other: str) -> None:
    assert judge(one, other) is None
    assert judge(other, one) is None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("We use pnpm for the frontend", "We use npm for the frontend, not pnpm"),
        ("We use RabbitMQ for the order queue", "We use Kafka and not RabbitMQ for the order queue"),
        ("The timeout of the gateway is 30 seconds", "The timeout of the gateway is 60 seconds, not 30"),
        ("Python 3.11 is required", "Python 3.12 is required, not 3.11"),
    ],
)
def test_what_is_used_and_not_another_is_what_is_used(one: str, other: str) -> None:
    assert judge(one, other) is not None
    assert judge(other, one) is not None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("We use npm for the frontend", "We use npm for the frontend, not pnpm"),
        ("We use pnpm for the frontend", "We use npm for the backend, not pnpm"),
        ("We use pnpm for the frontend", "We use npm but not pnpm workspaces for the frontend"),
        ("Uploads are disabled", "Uploads are enabled, not for guests"),
        ("The API is REST", "The API is GraphQL, not yet"),
        ("We use Kafka for the order queue", "We used RabbitMQ for the order queue, not Kafka"),
        ("We use Kafka for the order queue", "We used RabbitMQ for the order queue"),
    ],
)
def test_an_exception_or_a_report_is_not_what_is_used_instead(one: str, other: str) -> None:
    assert judge(one, other) is None
    assert judge(other, one) is None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Staging is wiped nightly", "Staging is never wiped"),
        ("The cache is flushed every hour", "The cache is never flushed"),
        ("Invoices are archived every 3 months", "Never archive invoices"),
        ("The demo tenant is reset hourly", "The demo tenant is never reset"),
    ],
)
def test_what_is_never_done_is_not_done_ever_so_often(one: str, other: str) -> None:
    assert judge(one, other) is not None
    assert judge(other, one) is not None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Staging is wiped nightly", "Production is never wiped"),
        ("Staging is wiped nightly", "Staging is wiped weekly"),
        ("The cache is flushed every hour", "The cache is never flushed by hand"),
        ("The cache is flushed every hour", "The cache is never flushed during imports"),
        ("The nightly build is signed", "The build is never signed"),
        ("Tests on nightly are skipped", "Tests are never skipped"),
        ("Logs are deleted weekly", "Audit logs are never deleted"),
    ],
)
def test_what_is_never_done_otherwise_may_be_done_so(one: str, other: str) -> None:
    assert judge(one, other) is None
    assert judge(other, one) is None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Never force push to main", "Force pushing to main is allowed"),
        ("Do not merge without review", "Merging without review is permitted"),
        ("We allow force pushing to main", "Never force push to main"),
        ("We do not allow squash merges to develop", "Squash merges to develop are allowed"),
        ("Users are allowed to delete their own posts", "Users cannot delete their own posts"),
        ("Contractors are not allowed to approve releases", "Contractors can approve releases"),
    ],
)
def test_what_is_forbidden_is_not_allowed(one: str, other: str) -> None:
    assert judge(one, other) is not None
    assert judge(other, one) is not None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Never force push to main", "Force pushing to feature branches is allowed"),
        ("Never force push to main", "Force pushing to main is allowed for admins"),
        ("Never force push to main", "Force pushing to main is allowed only after an incident"),
        ("Never force push to main", "Force pushing to main was allowed"),
        ("Never force push to main", "Force pushing to main is not allowed"),
        ("Never force push to main", "Pushing to main is allowed"),
        ("Never commit the lock file", "The lock file is allowed to change"),
        ("Forks are allowed to read secrets", "Forks must not write secrets"),
    ],
)
def test_an_exception_to_what_is_forbidden_is_no_contradiction(one: str, other: str) -> None:
    assert judge(one, other) is None
    assert judge(other, one) is None


def test_two_things_that_one_may_use_are_no_contradiction() -> None:
    assert judge("You can use npm for the frontend", "You can use pnpm for the frontend") is None


def test_an_exception_of_one_project_or_person_is_no_contradiction() -> None:
    general = memory_of("The line length is 88 characters.", project=None)
    own = memory_of("The line length is 88 characters.", user="ada")
    for other in (general, own):
        assert not contradictions(memory_of("The line length is 100 characters."), [other])


def test_what_two_people_say_of_themselves_is_no_contradiction() -> None:
    ada, bob = (memory_of(f"My favourite port is {port}.", author=name) for name, port in (("a", 1), ("b", 2)))
    assert not contradictions(ada, [bob])
    assert contradictions(ada, [memory_of("My favourite port is 2.", author="a")])


def test_other_files_have_other_values() -> None:
    one, two = (memory_of(f"The pool size is {size}.", paths=(f"{size}.py",)) for size in (1, 2))
    assert not contradictions(one, [two])


def test_of_a_long_text_the_beginning_is_read() -> None:
    long = memory_of("The gateway timeout is 30 s. " * 15_000)
    assert contradictions(long, [memory_of("The gateway timeout is 60 s.")] * 3)


LABELLED = "{name}: the rate limit is {value}."
HEADED = "# {name}\n- the rate limit is {value}"
LISTED = "In the {name}:\n- the rate limit is {value}"
NESTED = "- {name}\n  - the rate limit is {value}"
OPENED = "{name} settings\nThe rate limit is {value}."
FOLLOWED = "This is about {name}. The rate limit is {value}."
POINTED = "We run the {name} service. Its rate limit is {value}."


@pytest.mark.parametrize("form", [LABELLED, HEADED, LISTED, NESTED, OPENED, FOLLOWED, POINTED])
def test_what_stands_around_a_sentence_says_what_it_is_about(form: str) -> None:
    importer, exporter = form.format(name="importer", value=10), form.format(name="exporter", value=20)
    assert not judge(exporter, importer)
    assert judge(form.format(name="importer", value=20), importer)


def test_a_label_that_names_nothing_is_no_difference() -> None:
    assert judge("Note: the gateway timeout is 60 s.", "Decided today: the gateway timeout is 30 s.")


def test_a_heading_holds_until_the_next_and_a_list_until_its_end() -> None:
    text = (
        "# importer\n\nSizes:\n- the chunk size is 1\n\nThe flush interval is 2 s.\n# exporter\nThe page size is 3."
    )
    near = [sorted(one.around.near) for one in read(memory_of(text)).said if one.claims]
    assert near == [["import", "size"], ["import"], ["export"]]


@pytest.mark.parametrize("mark", ["{}:", "- {}", "- {}:", "## {}"])
def test_one_section_ends_where_the_next_begins(mark: str) -> None:
    sections = "\n".join(
        f"{mark.format(name)}\n  - the chunk size is {at}" for at, name in enumerate(("a1", "b2", "c3"))
    )
    said = read(memory_of(f"It says how chunks are cut.\n\n{sections}")).said
    assert [one.around.near for one in said if one.claims] == [{"a1"}, {"b2"}, {"c3"}]


def test_a_text_that_gives_two_values_tells_of_a_change_and_claims_neither() -> None:
    history = "The flush interval is 9 s. The flush interval is 5 s."
    assert not judge(history, "The flush interval is 2 s.")
    assert not judge("The flush interval is 2 s.", history)


@pytest.mark.parametrize("quote", ['"{}"', "“{}”", 'The 24" panel says "{}"'])
def test_what_is_quoted_is_not_stated(quote: str) -> None:
    old = "We use Jenkins for CI."
    assert judge("Kim: We no longer use Jenkins for CI.", f"Kim: {old}")
    assert not judge(quote.format("We no longer use Jenkins for CI."), old)


def test_a_lone_quotation_mark_before_a_long_stretch_is_read_at_once() -> None:
    """Trying every pair of blanks after it took ten seconds, in which nothing else ran."""
    began = time.process_time()
    assert not read(memory_of('the panel is 24" wide ' + "word " * 800)).said
    assert time.process_time() - began < 2


@given(unit=st.text(' \n"“”.:;-#>`~=1av,', min_size=1, max_size=6), tail=st.sampled_from(("", "!", "is 5", '"')))
def test_no_more_than_the_beginning_is_read_however_it_repeats(unit: str, tail: str) -> None:
    text = unit * (20_000 // len(unit)) + tail
    whole, start = (replace(memory_of("x"), content=content) for content in (text, text[:MAX_CHARS]))
    assert read(whole) == read(start)


@pytest.mark.parametrize("module", [claims, contradict, endings, frames, valued, wording])
def test_every_pattern_takes_time_linear_in_the_text(module: ModuleType) -> None:
    """What repeats without a bound comes last and once: there is nothing to go back for."""
    values = [one for value in vars(module).values() for one in (value if isinstance(value, tuple) else (value,))]
    patterns = [value for value in values if isinstance(value, re.Pattern)]
    assert patterns
    parse = import_module("re._parser").parse
    assert not [pattern.pattern for pattern in patterns if _goes_back(parse(pattern.pattern, pattern.flags))]


def test_a_pattern_that_goes_back_is_told_from_one_that_does_not() -> None:
    parse = import_module("re._parser").parse
    assert all(_goes_back(parse(bad)) for bad in (r"a+b", r"(a+)+", r"(?:a+ ){1,3}", r"x|a*\s+", r"(?:a+|b)c"))
    assert not any(_goes_back(parse(good)) for good in (r"ab+", r"a{1,3}b+|c+", r"(?:a{1,9} ){0,3}b"))


def _goes_back(tokens: Any) -> bool:
    """Whether an unbounded repeat has anything after it, or stands in another repeat."""
    *earlier, last = tokens or [None]
    return any(_unbounded(token) for token in earlier) or any(_goes_back(part) for part in _parts(last))


def _unbounded(token: Any) -> bool:
    return _repeats(token) or any(_unbounded(one) for part in _parts(token) for one in part)


def _repeats(token: Any) -> bool:
    return "REPEAT" in str(token[0]) and token[1][1] == import_module("re._constants").MAXREPEAT


def _parts(token: Any) -> list[Any]:
    """The sequences inside of one token."""
    if token is None:
        return []
    name, inner = str(token[0]), token[1]
    if name == "BRANCH":
        return list(inner[1])
    if "REPEAT" in name:
        return [[*inner[2], *inner[2]]]  # what follows a round is the next one
    return [inner[-1]] if name in ("SUBPATTERN", "ASSERT", "ASSERT_NOT") else []


def test_a_rule_adds_an_edge_and_a_conflict_and_supersedes_nothing(memory: Clew) -> None:
    [old, new] = remember(memory, "We use Jenkins for CI.", "We no longer use Jenkins for CI.")
    memory.jobs.run()
    assert edges(memory, "supersedes") == {
        ("We no longer use Jenkins for CI.", "supersedes", "We use Jenkins for CI.")
    }
    assert memory.show(old, scope=SHOP).superseded_by is None
    [dispute] = memory.conflicts.list(scope=SHOP)
    assert (dispute.a.id, dispute.b.id, dispute.conflict.rule) == (old, new, "no_longer")
    assert dispute.conflict.sentence == "We no longer use Jenkins for CI."


def test_decisions_that_changed_are_told_as_conflicts(memory: Clew) -> None:
    for what, before, after in (("pro plan", 3, 5), ("free plan", 1, 2), ("team plan", 10, 20)):
        remember(memory, f"The {what} has {before} seats.", f"The {what} has {after} seats.")
    memory.jobs.run()
    pairs = {(one.a.content, one.b.content) for one in memory.conflicts.list(scope=SHOP)}
    assert len(pairs) == 3 and ("The pro plan has 3 seats.", "The pro plan has 5 seats.") in pairs


def test_a_contradiction_is_noted_once_in_the_words_of_who_spoke_last(memory: Clew) -> None:
    remember(memory, "The gateway timeout is 30 s.", "The gateway timeout is 60 s.")
    memory.jobs.run()
    assert edges(memory, "contradicts") == both_ways(
        "contradicts", "The gateway timeout is 30 s.", "The gateway timeout is 60 s."
    )
    [dispute] = memory.conflicts.list(scope=SHOP)
    assert dispute.conflict.sentence == "The gateway timeout is 60 s."


def test_one_that_is_far_in_meaning_is_found_by_what_both_name(memory: Clew) -> None:
    """By the things that both name, without looking near."""
    texts = ("AuthService listens on port 8443.", "AuthService listens on port 9443.")
    for text in texts:
        remember(memory, text)
    quiet = memory.jobs._relator
    quiet._policy = type(quiet._policy)(max_k=0)
    memory.jobs.run()
    assert edges(memory, "contradicts") == both_ways("contradicts", *texts)


def test_what_ended_is_found_by_its_name_however_many_are_nearer_in_meaning(
    clew_at: OpenAt, tmp_path: Path
) -> None:
    new, old, near = "uv is gone", "we're on python 3.12 and uv, dont use pip directly", "the cache is warm"
    clew = open_told(clew_at, tmp_path, {new: (1.0, 0.0), old: (0.0, 1.0), near: (1.0, 0.1)})
    remember(clew, old, near)
    quiet = clew.jobs._relator
    quiet._policy = type(quiet._policy)(max_k=1)
    remember(clew, new)
    clew.jobs.run()
    assert edges(clew, "supersedes") == {(new, "supersedes", old)}


def test_a_private_contradiction_is_not_told_to_others(memory: Clew) -> None:
    remember(memory, "The gateway timeout is 30 s.")
    remember(memory, "The gateway timeout is 60 s.", scope=Scope(project="shop", user="ada"))
    memory.jobs.run()
    assert not edges(memory, "contradicts")

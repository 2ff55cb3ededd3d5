"""Contradictions by rules: sure when they speak, and always with the words that show it."""

from __future__ import annotations

from datetime import timedelta

import pytest
from measure_conflicts import labelled, measure, memory_of

from clew.clew import Clew
from clew.model.relation import Finding
from clew.model.scope import Scope
from clew.relate.contradict import contradictions
from told_relations import SHOP, both_ways, edges, remember
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


def test_a_private_contradiction_is_not_told_to_others(memory: Clew) -> None:
    remember(memory, "The gateway timeout is 30 s.")
    remember(memory, "The gateway timeout is 60 s.", scope=Scope(project="shop", user="ada"))
    memory.jobs.run()
    assert not edges(memory, "contradicts")

"""Facts of the graph that matter to a question."""

from __future__ import annotations

import pytest

from clew import Clew, InvalidInput, Scope
from clew.graph.triplets import importance, traversal_distance

SHOP = Scope(project="acme/shop")


@pytest.fixture
def shop(memory: Clew) -> Clew:
    memory.remember("AuthService depends on PostgresDB", scope=SHOP, tags=("auth",), category="backend")
    memory.remember("PostgresDB uses ReplicaStore", scope=SHOP)
    memory.remember("QueueWorker uses KafkaBroker", scope=SHOP)
    return memory


def texts(clew: Clew, query: str | None = None, **options: object) -> list[str]:
    return [fact.text for fact in clew.graph.triplets(query, scope=SHOP, **options).facts]  # type: ignore[arg-type]


def test_a_fact_is_source_relation_target_with_its_evidence(shop: Clew) -> None:
    fact = shop.graph.triplets("AuthService", scope=SHOP).facts[0]
    assert fact.text == "AuthService → depends_on → PostgresDB"
    assert fact.sentence == "AuthService depends on PostgresDB" and len(fact.evidence) == 1
    assert fact.relevance_score == 1 - fact.importance and 0 < fact.importance <= 1


def test_what_the_question_names_comes_first(shop: Clew) -> None:
    assert texts(shop, "KafkaBroker")[0] == "QueueWorker → uses → KafkaBroker"
    assert texts(shop, "what about AuthService?")[0] == "AuthService → depends_on → PostgresDB"


def test_a_node_that_only_the_walk_finds_is_farther_with_every_hop(memory: Clew) -> None:
    """Asked for a name that no text of a memory shares a word with, so that only the walk has distances."""
    memory.remember("AuthService depends on PostgresDB", scope=SHOP)
    memory.remember("PostgresDB uses ReplicaStore", scope=SHOP)
    near, far = memory.graph.triplets("auth-service", scope=SHOP).facts
    assert far.importance == pytest.approx(
        importance(min(traversal_distance(0.0, 1), 1.0), traversal_distance(0.0, 2), 0.5, 0.5, 0.5), abs=0.2
    )
    assert near.importance > far.importance and far.text == "PostgresDB → uses → ReplicaStore"


def test_the_best_recalled_memories_seed_what_they_name(shop: Clew) -> None:
    shop.remember("Deploys stall since FrostGateway calls LegacyMailer", scope=SHOP)
    assert texts(shop, "why do deploys stall")[0] == "FrostGateway → calls → LegacyMailer"


def test_without_a_question_the_surest_facts_come_newest_first(memory: Clew) -> None:
    for text in (
        "AuthService uses RedisCache",
        "AuthService depends on PostgresDB",
        "QueueWorker depends on KafkaBroker",
    ):
        memory.remember(text, scope=SHOP)
    facts = memory.graph.triplets(scope=SHOP).facts
    assert [fact.confidence for fact in facts] == sorted((fact.confidence for fact in facts), reverse=True)
    assert [fact.target.label for fact in facts] == ["KafkaBroker", "PostgresDB", "RedisCache"]


def test_structure_is_no_fact(shop: Clew) -> None:
    relations = {
        fact.relation for fact in shop.graph.triplets("AuthService auth backend", scope=SHOP, limit=100).facts
    }
    assert relations <= {"depends_on", "uses"}
    assert {fact.relation for fact in shop.graph.triplets(scope=SHOP, limit=100).facts} <= {"depends_on", "uses"}


def test_memories_that_share_a_thing_or_a_thread_are_no_fact_but_a_cause_is(memory: Clew) -> None:
    memory.remember("The disk of the build machine ran full", scope=SHOP, thread="INC-1", title="Disk full")
    memory.remember("Nightly builds failed because of that", scope=SHOP, thread="INC-1", title="Builds red")
    found = memory.graph.triplets("why did nightly builds fail", scope=SHOP).facts
    assert [fact.text for fact in found] == ["Disk full → causal → Builds red"]


def test_the_order_does_not_depend_on_the_run(shop: Clew) -> None:
    assert texts(shop, "AuthService and KafkaBroker") == texts(shop, "AuthService and KafkaBroker")


def test_a_question_about_nothing_known_has_no_facts(memory: Clew) -> None:
    assert texts(memory, "anything at all?") == [] and texts(memory) == []


def test_the_limit_holds_and_is_bounded(shop: Clew) -> None:
    assert len(texts(shop, "AuthService", limit=1)) == 1
    with pytest.raises(InvalidInput):
        texts(shop, "AuthService", limit=101)


@pytest.mark.parametrize("query", [None, "VaultService", "what does AuthService call?", "secret tunnel"])
def test_private_facts_and_those_of_other_projects_stay_where_they_are(shop: Clew, query: str | None) -> None:
    shop.remember(
        "AuthService calls VaultService, the secret tunnel", scope=Scope(project="acme/shop", user="alice")
    )
    shop.remember("AuthService uses HiddenCache, the secret tunnel", scope=Scope(project="other"))
    bob = Scope(project="acme/shop", user="bob")
    assert not [
        fact.text
        for fact in shop.graph.triplets(query, scope=bob).facts
        if "Vault" in fact.text or "Hidden" in fact.text
    ]
    alice = shop.graph.triplets(query, scope=Scope(project="acme/shop", user="alice")).facts
    assert "AuthService → calls → VaultService" in [fact.text for fact in alice]

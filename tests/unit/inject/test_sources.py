"""What a block rests on: when one of its memories is gone or changed, it is not delivered, and a new one is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from builders import asker, end, fact, memory
from injector_toys import said

from clew.clew import Clew
from clew.inject.graph_block import graph_block_of
from clew.inject.match import match
from clew.inject.matcher import matched_triplets
from clew.model.memory import Memory
from clew.model.scope import Scope
from clew.model.session import AgentSession
from toys import ToyEmbedder

SHOP = Scope(project="shop")
FILLER = "Filler words about the settlement path. " * 12


@pytest.fixture
def shop(clew_at: Callable[..., Clew], tmp_path: Path) -> Clew:
    """Events wait for a slow machine."""
    return clew_at(tmp_path / "home", embedder=ToyEmbedder(), inject={"latency_ms": 10_000})


def started(clew: Clew, title: str) -> tuple[AgentSession, int]:
    session = clew.sessions.start(project="shop", work_type="feature", title=title, agent="bob")
    return session, clew.sessions.claim(session.id, "w")


def told(clew: Clew, session: AgentSession, token: int) -> str | None:
    delivery = clew.queue.claim(session.id, "w", token)
    return delivery.text if delivery else None


def stated_alone(clew: Clew) -> tuple[Memory, AgentSession, int]:
    """A session whose block has a fact of a memory that itself did not fit."""
    stated = clew.remember("BillingService depends on ZorgonVault. " + FILLER, scope=SHOP).memory
    clew.remember("BillingService ok", scope=SHOP)
    clew.matrix.set("feature", observation_budget=30)
    session, token = started(clew, "BillingService ZorgonVault")
    block = clew.inject.start(session.id)
    assert "→ ZorgonVault" in block.text and stated.id not in block.memory_ids
    return stated, session, token


# -- facts -----------------------------------------------------------------------------------------


def test_a_fact_names_its_witnesses_and_who_spells_its_ends() -> None:
    witness, spells, other = (
        memory(text, id=id) for text, id in (("a uses B", "mem_w"), ("A here", "mem_a"), ("A too", "mem_o"))
    )
    stated = replace(fact(witness=witness), source=end("A", spells, other), target=end("B", witness, other))
    assert graph_block_of([stated], asker(), budget_tokens=99).source_ids == ("mem_w", "mem_a")
    assert matched_triplets([stated], asker(), budget_tokens=99).source_ids == ("mem_w", "mem_a")


def test_a_fact_that_a_person_made_rests_on_a_memory_at_each_end() -> None:
    one, two = memory("only a", id="mem_1"), memory("speaks of B", id="mem_2")
    made = replace(fact(), source=end("A", one), target=end("B", two), witnesses=(), by_user=True)
    assert graph_block_of([made], asker(), budget_tokens=99).source_ids == ("mem_1", "mem_2")


def test_facts_that_did_not_fit_leave_no_source() -> None:
    facts = [fact("A", importance=0.9), fact("C" * 90, importance=0.1)]
    assert graph_block_of(facts, asker(), budget_tokens=15).source_ids == ("mem_A_B",)


# -- the start block -------------------------------------------------------------------------------


def test_a_fact_whose_only_memory_is_forgotten_is_not_delivered(shop: Clew) -> None:
    stated, session, token = stated_alone(shop)
    [inject] = shop.queue.list(session.id)
    assert stated.id in inject.source_ids and stated.id not in inject.observation_ids
    shop.forget(stated.id)
    assert told(shop, session, token) is None


def test_a_hard_forgotten_memory_leaves_no_fact_in_the_queue(shop: Clew) -> None:
    stated, session, token = stated_alone(shop)
    shop.forget(stated.id, hard=True)
    assert told(shop, session, token) is None
    assert [inject.text for inject in shop.queue.list(session.id)] == ["[forgotten]"]


def test_a_corrected_block_reaches_the_agent(shop: Clew) -> None:
    wrong = shop.remember("the checkout cache is redis", scope=SHOP)
    session, token = started(shop, "checkout cache redis")
    shop.inject.start(session.id)
    shop.edit(wrong.id, content="the checkout cache is mango")
    assert told(shop, session, token) is None
    shop.inject.start(session.id)
    assert "mango" in (told(shop, session, token) or "")


def test_a_block_that_says_the_same_after_a_change_reaches_the_agent(shop: Clew) -> None:
    note = shop.remember("the checkout cache is redis", scope=SHOP)
    session, token = started(shop, "checkout cache redis")
    text = shop.inject.start(session.id).text
    shop.edit(note.id, tags=("cache",))
    assert told(shop, session, token) is None
    report = shop.inject.start_report(session.id)
    assert report.delivered and report.delivery_id
    assert told(shop, session, token) == text


def test_a_block_that_says_the_same_after_a_change_is_told_also_if_nobody_asked_in_between(shop: Clew) -> None:
    note = shop.remember("the checkout cache is redis", scope=SHOP)
    session, token = started(shop, "checkout cache redis")
    text = shop.inject.start(session.id).text
    shop.edit(note.id, tags=("cache",))
    assert shop.inject.start_report(session.id).delivered
    assert told(shop, session, token) == text
    assert [entry.delivered for entry in shop.inject.log(session.id)] == [False, True]


def test_a_change_while_the_block_is_computed_counts(shop: Clew) -> None:
    note = shop.remember("the checkout cache is redis", scope=SHOP)
    session, token = started(shop, "checkout cache redis")
    starter, retrieve = shop.inject.starter, shop.inject.memories.retrieve

    class Slow:
        def retrieve(self, *question: object) -> object:
            found = retrieve(*question)  # type: ignore[arg-type]
            shop.edit(note.id, content="the checkout cache is mango")
            return found

    replace(starter, memories=Slow()).start(shop.sessions.show(session.id))  # type: ignore[arg-type]
    assert shop.queue.list(session.id) == [] and told(shop, session, token) is None


class Slow(ToyEmbedder):
    """Something happens while it is asked."""

    def __init__(self) -> None:
        super().__init__()
        self.meanwhile: list[Callable[[], object]] = []

    def embed(self, texts: Any, *rest: Any, **options: Any) -> Any:
        if self.meanwhile:
            self.meanwhile.pop()()
        return super().embed(texts, *rest, **options)


def test_a_block_that_is_put_in_while_a_change_is_embedded_is_not_told(
    clew_at: Callable[..., Clew], tmp_path: Path
) -> None:
    embedder = Slow()
    clew = clew_at(tmp_path / "home", embedder=embedder)
    note = clew.remember("the checkout cache is redis", scope=SHOP)
    session, token = started(clew, "checkout cache redis")
    embedder.meanwhile.append(lambda: clew.inject.start(session.id))
    clew.edit(note.id, content="the checkout cache is mango")
    [waiting] = clew.queue.list(session.id)
    assert "redis" in waiting.text and told(clew, session, token) is None


def test_the_log_names_the_block_that_is_on_the_queue(shop: Clew) -> None:
    note = shop.remember("the checkout cache is redis", scope=SHOP)
    session, token = started(shop, "checkout cache redis")
    shop.inject.start(session.id)
    shop.edit(note.id, content="the checkout cache is mango")
    told(shop, session, token)
    delivery = shop.inject.start_report(session.id).delivery_id
    assert shop.inject.log(session.id)[-1].delivery_id == delivery


# -- on tool calls ---------------------------------------------------------------------------------


def test_a_hint_rests_on_the_memories_of_its_facts_too(shop: Clew) -> None:
    stated = shop.remember("BillingService depends on ZorgonVault. " + FILLER, scope=SHOP)
    session, token = started(shop, "something else")
    result = said(shop, session, query="BillingService ZorgonVault")
    [inject] = shop.queue.list(session.id)
    assert result.triplets or result.memory_ids
    assert stated.id in inject.source_ids
    shop.forget(stated.id)
    assert told(shop, session, token) is None


def test_a_change_while_a_hint_is_looked_for_counts(shop: Clew, monkeypatch: pytest.MonkeyPatch) -> None:
    note = shop.remember("the checkout cache is redis", scope=SHOP, paths=("src/cache.py",))
    session, token = started(shop, "something else")

    def slow(*question: Any) -> Any:
        found = match(*question)
        shop.edit(note.id, content="the checkout cache is mango")
        return found

    monkeypatch.setattr("clew.inject.injector.match", slow)
    outcome = said(shop, session, paths=("src/cache.py",))
    assert (outcome.outcome, outcome.reason) == ("suppressed", "source_gone")
    assert shop.queue.list(session.id) == [] and told(shop, session, token) is None

"""What a person takes back, a fact or a conflict, is not said by what waits; the next start says the rest."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clew.clew import Clew
from clew.inject.start import draft_of
from clew.model.inject import Block
from clew.model.scope import Scope
from clew.model.session import AgentSession, InjectDraft
from clew.model.start import InjectReport
from findings import found
from toys import ToyEmbedder

SHOP = Scope(project="shop")
FACT = ("BillingService", "depends_on", "ZorgonVault")


@pytest.fixture
def shop(clew_at: Callable[..., Clew], tmp_path: Path) -> Clew:
    return clew_at(tmp_path / "home", embedder=ToyEmbedder(), deliver={"redeliver_on_new_epoch": True})


def started(clew: Clew, title: str) -> tuple[AgentSession, int]:
    session = clew.sessions.start(project="shop", title=title, agent="bob")
    return session, clew.sessions.claim(session.id, "w", provider_session="first")


def told(clew: Clew, session: AgentSession, token: int) -> str | None:
    delivery = clew.queue.claim(session.id, "w", token)
    return delivery.text if delivery else None


def reasons(clew: Clew, session: AgentSession) -> list[str | None]:
    return [inject.reason for inject in clew.queue.list(session.id)]


def linked(clew: Clew) -> None:
    clew.remember("BillingService ok", scope=SHOP)
    clew.remember("ZorgonVault ok", scope=SHOP)
    clew.link(*FACT, scope=SHOP)


def disputed(clew: Clew) -> str:
    one, other = (clew.remember(f"login uses {what}", scope=SHOP).id for what in ("tokens", "cookies"))
    found(clew, other, one)
    return clew.conflicts.list()[0].conflict.id


@pytest.mark.parametrize("is_in_flight", [False, True])
def test_a_fact_that_is_taken_back_is_not_told(shop: Clew, is_in_flight: bool) -> None:
    linked(shop)
    session, token = started(shop, "BillingService ZorgonVault")
    assert "→ ZorgonVault" in shop.inject.start(session.id).text
    if is_in_flight:
        assert told(shop, session, token)
    shop.unlink(*FACT, scope=SHOP)
    assert told(shop, session, token) is None and reasons(shop, session) == ["taken_back"]
    shop.inject.start(session.id)
    again = told(shop, session, token)
    assert again and "BillingService ok" in again and "→" not in again


def test_a_block_without_the_fact_that_is_taken_back_stays(shop: Clew) -> None:
    linked(shop)
    shop.remember("the checkout cache is redis", scope=SHOP)
    session, token = started(shop, "checkout cache redis")
    assert "→" not in shop.inject.start(session.id).text
    shop.unlink(*FACT, scope=SHOP)
    assert told(shop, session, token)


def test_another_agent_process_is_not_handed_the_fact_that_was_taken_back(shop: Clew) -> None:
    linked(shop)
    session, token = started(shop, "BillingService ZorgonVault")
    shop.inject.start(session.id)
    delivery = shop.queue.claim(session.id, "w", token)
    assert delivery and shop.queue.ack(session.id, delivery.delivery_id, "w", token)
    shop.unlink(*FACT, scope=SHOP)
    token = shop.sessions.claim(session.id, "w", provider_session="second")
    assert told(shop, session, token) is None
    shop.inject.start(session.id)
    assert "→" not in (told(shop, session, token) or "→")


@pytest.mark.parametrize("keep", ["a", "b", "both", "neither"])
def test_a_conflict_that_is_decided_is_not_told(shop: Clew, keep: str) -> None:
    conflict = disputed(shop)
    session, token = started(shop, "login")
    assert "in conflict" in shop.inject.start(session.id).text
    shop.conflicts.resolve(conflict, keep)
    assert told(shop, session, token) is None and reasons(shop, session) == ["taken_back"]
    shop.inject.start(session.id)
    assert "in conflict" not in (told(shop, session, token) or "")


def test_a_contradiction_that_is_taken_back_is_not_told(shop: Clew) -> None:
    one, other = (shop.remember(f"login uses {what}", scope=SHOP).id for what in ("tokens", "cookies"))
    shop.link(one, "contradicts", other)
    session, token = started(shop, "login")
    assert "in conflict" in shop.inject.start(session.id).text
    shop.unlink(one, "contradicts", other)
    assert told(shop, session, token) is None
    shop.inject.start(session.id)
    assert "in conflict" not in (told(shop, session, token) or "in conflict")


def test_a_block_that_names_no_conflict_stays_when_one_is_decided(shop: Clew) -> None:
    one, other = (shop.remember(f"login uses {what}", scope=SHOP).id for what in ("tokens", "cookies"))
    session, token = started(shop, "login")
    assert "in conflict" not in shop.inject.start(session.id).text
    found(shop, other, one)
    shop.conflicts.resolve(shop.conflicts.list()[0].conflict.id, "both")
    assert told(shop, session, token)


@pytest.mark.parametrize("what", ["fact", "conflict"])
def test_what_is_taken_back_while_the_block_is_computed_counts(
    shop: Clew, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    linked(shop)
    conflict = disputed(shop)
    session, token = started(shop, "BillingService ZorgonVault login")

    def slow(of: AgentSession, block: Block) -> InjectDraft:
        if what == "fact":
            shop.unlink(*FACT, scope=SHOP)
        else:
            shop.conflicts.resolve(conflict, "both")
        return draft_of(of, block)

    monkeypatch.setattr("clew.inject.start.draft_of", slow)
    assert shop.inject.start_report(session.id).reason == "taken_back"
    assert told(shop, session, token) is None


FORBID = 'forbid (principal, action == Mem::Action::"inject", resource);'


@pytest.mark.parametrize("what", ["fact", "conflict", "policy", "dropped", "agent"])
def test_a_block_that_is_computed_while_a_change_waits_for_its_turn_to_write_is_not_put_in(
    shop: Clew, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    linked(shop)
    conflict = disputed(shop)
    shop.policies.load("permit (principal, action, resource);", name="all")
    session, token = started(shop, "BillingService ZorgonVault login")
    change = {
        "fact": lambda: shop.unlink(*FACT, scope=SHOP),
        "conflict": lambda: shop.conflicts.resolve(conflict, "both"),
        "policy": lambda: shop.policies.load(FORBID, name="none"),
        "dropped": lambda: shop.policies.drop("all"),
        "agent": lambda: shop.policies.agent("bob", clearance=0),
    }[what]
    store = type(shop.store)
    write, reports = store.write, list[InjectReport]()

    def written_late(own: Any, action: Any, **options: Any) -> Any:
        """When it is this one's turn, a block has been computed from what was so before."""
        monkeypatch.setattr(store, "write", write)
        done: list[Any] = []

        def computed(of: AgentSession, block: Block) -> InjectDraft:
            done.append(write(own, action, **options))
            return draft_of(of, block)

        monkeypatch.setattr("clew.inject.start.draft_of", computed)
        reports.append(shop.inject.start_report(session.id))
        return done[0]

    monkeypatch.setattr(store, "write", written_late)
    change()
    assert [one.reason for one in reports] == ["taken_back" if what in ("fact", "conflict") else "rights_changed"]
    assert told(shop, session, token) is None

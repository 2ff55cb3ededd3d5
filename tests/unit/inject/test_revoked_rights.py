"""What waits to be said when rights are taken away is not handed out; the next start says what is allowed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from clew.clew import Clew
from clew.inject.start import draft_of
from clew.model.inject import Block
from clew.model.scope import Scope
from clew.model.session import AgentSession, InjectDraft
from toys import ToyEmbedder

SHOP, PAY = Scope(project="shop"), Scope(project="pay")
NONE = 'forbid (principal, action == Mem::Action::"inject", resource);'
MORE = 'permit (principal, action == Mem::Action::"inject", resource);'
STACK = {"package.json": '{"dependencies": {"react": "18.0.0", "express": "4.0.0"}}'}
NOTE = "the checkout cache is redis"


@pytest.fixture
def shop(clew_at: Callable[..., Clew], tmp_path: Path) -> Clew:
    return clew_at(tmp_path / "home", embedder=ToyEmbedder())


def queued(clew: Clew, agent: str = "bob") -> tuple[AgentSession, int]:
    """A session whose block waits."""
    session = clew.sessions.start(project="shop", title="checkout cache redis", agent=agent)
    token = clew.sessions.claim(session.id, "w")
    assert NOTE in clew.inject.start(session.id).text
    return session, token


def told(clew: Clew, session: AgentSession, token: int) -> str | None:
    delivery = clew.queue.claim(session.id, "w", token)
    return delivery.text if delivery else None


def reasons(clew: Clew, session: AgentSession) -> list[str | None]:
    return [inject.reason for inject in clew.queue.list(session.id)]


@pytest.mark.parametrize("is_in_flight", [False, True])
@pytest.mark.parametrize("org", [None, "*"])
def test_a_policy_takes_back_what_it_forbids(shop: Clew, org: str | None, is_in_flight: bool) -> None:
    shop.remember(NOTE, scope=SHOP)
    session, token = queued(shop)
    if is_in_flight:
        assert told(shop, session, token)
    shop.policies.load(NONE, name="none", org=org)
    assert told(shop, session, token) is None
    assert reasons(shop, session) == ["rights_changed"]
    assert shop.inject.start(session.id).text == ""
    shop.policies.drop("none", org=org)
    shop.inject.start(session.id)
    assert NOTE in (told(shop, session, token) or "")


def test_a_dropped_policy_takes_back_what_it_allowed(shop: Clew) -> None:
    shop.remember(NOTE, scope=SHOP)
    shop.policies.load('permit (principal, action == Mem::Action::"inject", resource);', name="all")
    session, token = queued(shop)
    shop.policies.drop("all")
    assert told(shop, session, token) is None
    shop.inject.start(session.id)
    assert NOTE in (told(shop, session, token) or "")


def test_an_agent_with_less_clearance_is_not_handed_what_it_may_no_longer_see(shop: Clew) -> None:
    shop.remember(NOTE, scope=SHOP, classification="confidential")
    (bobs, token), (anns, anns_token) = queued(shop), queued(shop, agent="ann")
    shop.policies.agent("bob", clearance=1)
    assert told(shop, bobs, token) is None
    assert reasons(shop, bobs) == ["rights_changed"]
    assert NOTE in (told(shop, anns, anns_token) or "")


def test_a_revoked_grant_takes_back_what_it_brought_over(shop: Clew) -> None:
    for project in ("pay", "shop"):
        shop.transfer.fingerprint(project, STACK)
    shop.transfer.grant("pay", "shop")
    shop.remember(NOTE, scope=PAY)
    session, token = queued(shop)
    shop.transfer.revoke("pay", "shop")
    assert told(shop, session, token) is None
    assert reasons(shop, session) == ["rights_changed"]


def test_a_policy_that_comes_while_the_block_is_computed_counts(
    shop: Clew, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.remember(NOTE, scope=SHOP)
    session = shop.sessions.start(project="shop", title="checkout cache redis", agent="bob")
    token = shop.sessions.claim(session.id, "w")

    def slow(of: AgentSession, block: Block) -> InjectDraft:
        shop.policies.load(NONE, name="none")
        return draft_of(of, block)

    monkeypatch.setattr("clew.inject.start.draft_of", slow)
    assert shop.inject.start_report(session.id).reason == "rights_changed"
    assert told(shop, session, token) is None


def test_a_policy_that_goes_while_the_block_is_computed_counts(shop: Clew, monkeypatch: pytest.MonkeyPatch) -> None:
    shop.remember(NOTE, scope=SHOP)
    shop.policies.load(MORE, name="more")
    session = shop.sessions.start(project="shop", title="checkout cache redis", agent="bob")
    token = shop.sessions.claim(session.id, "w")

    def slow(of: AgentSession, block: Block) -> InjectDraft:
        shop.policies.drop("more")
        return draft_of(of, block)

    monkeypatch.setattr("clew.inject.start.draft_of", slow)
    assert shop.inject.start_report(session.id).reason == "rights_changed"
    assert told(shop, session, token) is None

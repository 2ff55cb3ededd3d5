"""What a user may not read is not put before an agent that works for them, whichever way a block is asked for."""

from __future__ import annotations

from typing import Any

import pytest

from clew import Identity, Scope
from clew.clew import Clew
from clew.guard.engine import Engine
from clew.model.inject import VerbEvent

SHOP = Scope(project="shop")
CAROL = Identity(user="carol", roles=("member",))
CAROLS_ROBO = Identity(user="carol", agent="robo", roles=("member",))
OLGA = Identity(user="olga", roles=("owner",))
OPERATOR = Identity(roles=("operator",))
HIDDEN = "VostokDB takes over in region nine"
UNREAD = """@id("unread") forbid (principal is Mem::User, action == Mem::Action::"read", resource)
when { resource.classification == "confidential" && !principal.roles.contains("owner") };"""


@pytest.fixture
def filled(memory: Clew) -> Clew:
    memory.remember(HIDDEN, scope=SHOP, classification="confidential")
    memory.remember("region nine is in Irkutsk", scope=SHOP)
    return memory


def block(memory: Clew, who: Identity, scope: Scope = SHOP) -> Any:
    return memory.inject.block("region nine", scope=scope, identity=who)


def started(memory: Clew, who: Identity, user: str | None = None, by: Identity | None = None) -> Any:
    session = memory.sessions.start(project="shop", user=user, title="region nine", agent="robo", identity=who)
    memory.sessions.claim(session.id, "w", identity=by or who)
    return memory.inject.start(session.id, identity=by or who)


@pytest.mark.parametrize("who", [CAROL, CAROLS_ROBO])
def test_a_block_holds_nothing_its_user_may_not_read_and_names_nothing_of_it(filled: Clew, who: Identity) -> None:
    assert HIDDEN in block(filled, who).text and HIDDEN in started(filled, who).text
    filled.policies.load(UNREAD, name="unread")
    [hidden] = [one.id for one in filled.list(scope=SHOP) if one.content == HIDDEN]
    for made in (block(filled, who), block(filled, who, Scope(project="shop", user="carol")), started(filled, who)):
        assert "Irkutsk" in made.text and HIDDEN not in made.text
        assert hidden not in str(made.for_agents().as_json())


def test_whoever_may_read_it_still_gets_it(filled: Clew) -> None:
    filled.policies.load(UNREAD, name="unread")
    assert HIDDEN in block(filled, OLGA).text and HIDDEN in block(filled, Identity()).text
    assert HIDDEN in started(filled, OLGA, user="olga").text


def test_a_worker_hands_out_nothing_that_the_sessions_user_may_not_read(filled: Clew) -> None:
    filled.policies.load(UNREAD, name="unread")
    made = started(filled, CAROL, user="carol", by=OPERATOR)
    session = filled.sessions.list(identity=CAROL)[0]
    said = [one.text for one in filled.queue.list(session.id, identity=CAROL)]
    assert HIDDEN not in made.text and said and HIDDEN not in "".join(said)


def test_a_hint_on_a_tool_call_holds_nothing_its_user_may_not_read(filled: Clew) -> None:
    filled.remember("VostokDB must be primed first", scope=SHOP, paths=["nine.py"], classification="confidential")
    session = filled.sessions.start(project="shop", agent="robo", identity=CAROL)
    filled.sessions.claim(session.id, "w", identity=CAROL)
    filled.policies.load(UNREAD, name="unread")
    event = VerbEvent(session=session.id, tool="Edit", paths=("nine.py",), event_id="e1")
    assert filled.inject.event(event, identity=CAROL).memory_ids == ()
    filled.policies.drop("unread")
    event = VerbEvent(session=session.id, tool="Edit", paths=("nine.py",), event_id="e2")
    assert len(filled.inject.event(event, identity=CAROL).memory_ids) == 1


ONLY_READ = 'forbid ({}, action {}, resource) when {{ resource.classification == "confidential" }};'


@pytest.mark.parametrize(
    ("principal", "action", "warned"),
    [
        ("principal", '== Mem::Action::"read"', True), ("principal is Mem::Agent", '== Mem::Action::"read"', True),
        ('principal == Mem::Agent::"local/robo"', '== Mem::Action::"read"', True),
        ("principal", 'in Mem::Action::"read"', False), ("principal is Mem::User", '== Mem::Action::"read"', False),
        ('principal == Mem::User::"local/bob"', '== Mem::Action::"read"', False),
        ("principal", 'in [Mem::Action::"read"]', False),
        ("principal is Mem::Agent", '== Mem::Action::"inject"', False),
    ],
)  # fmt: skip
def test_a_forbid_of_reading_that_leaves_prompts_open_is_warned_of(
    memory: Clew, principal: str, action: str, warned: bool
) -> None:
    text = "// first\n" + ONLY_READ.format(principal, action)
    found = memory.policies.check(text, name="mine")
    assert [(one.level, one.line, one.policy) for one in found] == ([("warning", 2, "#1")] if warned else [])
    assert memory.policies.load(text, name="mine").version == 1


def test_a_permit_is_warned_of_never() -> None:
    assert Engine().warnings('permit (principal, action == Mem::Action::"read", resource);') == []

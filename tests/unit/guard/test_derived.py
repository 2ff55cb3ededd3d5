"""What is derived from a memory is as secret as that, and does not name it to those who may not read it."""

from __future__ import annotations

from typing import Any

import pytest

from clew import Identity, Scope
from clew.clew import Clew

SHOP = Scope(project="shop")
BOB, EVE = Identity(user="bob", roles=("member",)), Identity(user="eve", roles=("member",))
UNREAD = """@id("unread") forbid (principal is Mem::User, action in Mem::Action::"read", resource)
when { resource.classification == "restricted" && !principal.roles.contains("owner") };"""
BOT = Identity(agent="bot", roles=())


def told_to(memory: Clew, who: Identity, id: str) -> list[Any]:
    """A memory by every way that tells its parents."""
    context = memory.context("ceremony", scope=SHOP, identity=who)
    return [
        memory.show(id, identity=who),
        *(one for one in memory.list(scope=SHOP, identity=who) if one.id == id),
        *(one.memory for one in memory.recall("ceremony", scope=SHOP, identity=who).results if one.memory.id == id),
        *(one.memory for one in (*context.working, *context.long_term) if one.memory.id == id),
        memory.history(id, identity=who)[-1].memory,
    ]


def test_a_summary_of_restricted_text_is_restricted_and_kept_from_agents(memory: Clew) -> None:
    source = memory.remember("the ceremony is in vault B", classification="restricted", scope=SHOP)
    derived = memory.remember("the ceremony is at 06:10", parents=(source.id,), scope=SHOP, identity=BOB).memory
    assert derived.classification == "restricted"
    assert memory.list(scope=SHOP, identity=BOT) == []
    assert "06:10" not in memory.inject.block("ceremony", scope=SHOP, identity=BOB).text
    again = memory.edit(derived.id, content="the ceremony is at 06:20", identity=BOB)
    assert again.classification == "restricted"


def test_who_configures_the_org_may_say_that_a_summary_is_harmless(memory: Clew) -> None:
    source = memory.remember("the ceremony is in vault B", classification="restricted", scope=SHOP)
    said = {"content": "there is a ceremony", "parents": (source.id,), "classification": "internal", "scope": SHOP}
    assert memory.remember(**said, identity=BOB).memory.classification == "restricted"
    assert memory.remember(**said | {"content": "there is one ceremony"}).memory.classification == "internal"


def test_a_known_text_that_is_told_as_derived_gets_the_label_as_well(memory: Clew) -> None:
    id = memory.remember("the ceremony is at 06:10", scope=SHOP, identity=BOB).id
    source = memory.remember("the ceremony is in vault B", classification="restricted", scope=SHOP)
    again = memory.remember("the ceremony is at 06:10", parents=(source.id,), scope=SHOP, identity=BOB)
    assert (again.id, memory.show(id).classification) == (id, "restricted")


@pytest.mark.parametrize("who", [EVE, BOT])
def test_parents_that_one_may_not_read_are_not_named(memory: Clew, who: Identity) -> None:
    hidden = memory.remember("the ceremony is in vault B", scope=SHOP).id
    shared = memory.remember("the ceremony as all saw it", scope=SHOP, identity=BOB).id
    id = memory.remember("the ceremony is at 06:10", parents=(hidden, shared), scope=SHOP).id
    assert {one.parents for one in told_to(memory, who, id)} == {(hidden, shared)}
    memory.edit(hidden, classification="restricted")
    memory.policies.load(UNREAD, name="unread")
    found = told_to(memory, who, id)
    assert len(found) == 5 and {one.parents for one in found} == {(shared,)}
    assert memory.show(id).parents == (hidden, shared)


def test_an_edit_and_a_revert_do_not_name_them_either(memory: Clew) -> None:
    hidden = memory.remember("the ceremony is in vault B", scope=SHOP).id
    id = memory.remember("the ceremony is at 06:10", parents=(hidden,), author="eve", scope=SHOP).id
    memory.edit(hidden, classification="restricted")
    memory.policies.load(UNREAD, name="unread")
    assert memory.edit(id, title="when", identity=EVE).parents == ()
    assert memory.revert(id, 1, identity=EVE).parents == ()
    assert memory.show(id).parents == (hidden,)

"""Orgs in the store: found by two names, members with one role each, routing that belongs to one user."""

from __future__ import annotations

import pytest
from memories import NOW

from clew.errors import Conflict
from clew.guard.routing import route
from clew.model.org import Member, Membership, Org, Routing
from clew.model.scope import Identity
from clew.ports import Store

ACME = Org("org_1", "acme", "Acme Inc", NOW, "otto")


def create(store: Store, org: Org = ACME, *members: Member) -> None:
    store.write(lambda tx: tx.orgs.insert(org))
    for member in members:
        store.write(lambda tx, member=member: tx.orgs.put_member(org.id, member))


def test_an_org_is_found_by_its_id_and_by_its_slug(store: Store) -> None:
    create(store)
    with store.read() as tx:
        assert tx.orgs.find("org_1") == tx.orgs.find("acme") == ACME
        assert tx.orgs.find("Acme Inc") is None and "org_1" in tx.config.orgs()


def test_no_two_orgs_have_one_slug(store: Store) -> None:
    create(store)
    with pytest.raises(Conflict):
        create(store, Org("org_2", "acme", "Other", NOW, "otto"))


def test_a_member_has_one_role_and_the_owner_of_the_machine_has_no_name(store: Store) -> None:
    create(store, ACME, Member(None, "owner"), Member("ann", "member"), Member("ann", "admin"))
    with store.read() as tx:
        assert tx.orgs.members("org_1") == [Member(None, "owner"), Member("ann", "admin")]
        assert (tx.orgs.role("org_1", None), tx.orgs.role("org_1", "ann")) == ("owner", "admin")
        assert tx.orgs.role("org_1", "bob") is None and tx.orgs.owners("org_1") == 1


def test_a_removed_member_is_gone_and_others_stay(store: Store) -> None:
    create(store, ACME, Member("ann", "owner"), Member("bob", "member"))
    store.write(lambda tx: tx.orgs.drop_member("org_1", "bob"))
    with store.read() as tx:
        assert tx.orgs.members("org_1") == [Member("ann", "owner")]
        assert tx.orgs.routing("bob").memberships == ()


@pytest.mark.parametrize(("org", "role"), [("org_1", "king"), ("nowhere", "member")])
def test_the_database_refuses_an_unknown_role_and_an_unknown_org(store: Store, org: str, role: str) -> None:
    create(store)
    with pytest.raises(Conflict):
        store.write(lambda tx: tx.orgs.put_member(org, Member("ann", role)))


def test_a_user_of_whom_nothing_is_known_is_routed_automatically(store: Store) -> None:
    with store.read() as tx:
        assert tx.orgs.routing("ann") == tx.orgs.routing(None) == Routing("auto", None, (), ())


def test_routing_comes_back_and_belongs_to_one_user(store: Store) -> None:
    create(store, ACME, Member("ann", "admin"))
    store.write(lambda tx: tx.orgs.put_routing("ann", mode="active_workspace", active="org_1"))
    store.write(lambda tx: tx.orgs.map("ann", "acme-labs", "elsewhere"))
    store.write(lambda tx: tx.orgs.map("ann", "acme-labs", "org_1"))
    own = Routing("active_workspace", "org_1", (("acme-labs", "org_1"),), (Membership("org_1", "acme", "admin"),))
    with store.read() as tx:
        assert tx.orgs.routing("ann") == own
        assert tx.orgs.routing("bob") == tx.orgs.routing(None) == Routing()


def test_a_mapping_is_taken_back_once(store: Store) -> None:
    store.write(lambda tx: tx.orgs.map("ann", "acme", "org_1"))
    assert not store.write(lambda tx: tx.orgs.unmap("bob", "acme"))
    assert [store.write(lambda tx: tx.orgs.unmap("ann", "acme")) for _ in range(2)] == [True, False]


def test_t47_t48_the_documented_routes_follow_from_what_is_stored(store: Store) -> None:
    create(store, Org("org_web", "webrenew", "Web Renew", NOW, "otto"), Member("ann", "owner"))
    create(store, Org("org_platform", "platform", "Platform", NOW, "otto"), Member("ann", "member"))
    store.write(lambda tx: tx.orgs.map("ann", "acme-platform", "org_platform"))
    store.write(lambda tx: tx.orgs.map("ann", "webrenew", "org_gone"))
    store.write(lambda tx: tx.orgs.put_routing("ann", mode="auto", active="org_platform"))
    assert routed(store, "github.com/webrenew/memories") == ("org_web", "slug")  # the mapping leads nowhere
    assert routed(store, "github.com/acme-platform/api") == ("org_platform", "mapping")
    assert routed(store, "github.com/stranger/x") == ("user:ann", "personal")
    store.write(lambda tx: tx.orgs.put_routing("ann", mode="active_workspace", active="org_platform"))
    assert routed(store, "github.com/webrenew/memories") == ("org_platform", "active_workspace")


def routed(store: Store, project: str) -> tuple[str, str]:
    with store.read() as tx:
        found = route(Identity("user:ann", "ann"), tx.orgs.routing("ann"), project=project)
    return found.org, found.reason

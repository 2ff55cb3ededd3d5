"""Orgs, their members and the way to them: who may do what, and that memberships alone open an org."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from clew import Conflict, Denied, Identity, InvalidInput, NotFound, Scope
from clew.clew import Clew
from clew.model.org import Member

OPERATOR = Identity()
ANN, BOB = Identity("user:ann", "ann"), Identity("user:bob", "bob")
BOUND = Identity("acme", "ann", roles=("owner",))  # a credential that the org acme gave to a user
SHOP = "github.com/acme/shop"


@pytest.fixture
def team(memory: Clew) -> Clew:
    """Acme, which ann owns and in which bob is a member."""
    memory.orgs.create("Acme", owner="ann")
    memory.orgs.add_member("acme", "bob", identity=ANN)
    return memory


def org_of(memory: Clew, project: str | None, identity: Identity) -> str:
    return memory.orgs.route(project, identity=identity).org


# -- creating ----------------------------------------------------------------------------------------


def test_the_owner_of_the_machine_creates_an_org_and_owns_it(memory: Clew) -> None:
    org = memory.orgs.create("Web Renew", slug="webrenew", id="org_7")
    assert (org.id, org.slug, org.name) == ("org_7", "webrenew", "Web Renew")
    assert memory.orgs.members("webrenew") == (Member(None, "owner"),)
    assert memory.orgs.list() == ["local", "org_7"]


@pytest.mark.parametrize(
    "identity", [ANN, BOUND, Identity(user="mia", roles=("member",)), Identity(agent="bot", roles=())]
)
def test_only_operators_create_orgs(memory: Clew, identity: Identity) -> None:
    with pytest.raises(Denied):
        memory.orgs.create("Evil", slug="acme", identity=identity)
    assert memory.orgs.list() == ["local"]


@pytest.mark.parametrize("names", [{"slug": "acme"}, {"slug": "other", "id": "acme"}, {"slug": "org-1", "id": "x"}])
def test_no_name_leads_to_two_orgs(memory: Clew, names: dict[str, str]) -> None:
    memory.orgs.create("First", slug="acme", id="org-1")
    with pytest.raises(Conflict):
        memory.orgs.create("Second", **names)


@pytest.mark.parametrize(
    "names", [{"id": "local"}, {"id": "user:ann"}, {"slug": "A B"}, {"slug": "local"}, {"owner": " "}]
)
def test_a_personal_org_and_what_is_no_name_cannot_be_created(memory: Clew, names: dict[str, str]) -> None:
    with pytest.raises(InvalidInput):
        memory.orgs.create("Acme", **names)


@pytest.mark.parametrize(
    "id",
    ["User:bob", " user:bob", "user:bob ", "LOCAL", " local", "acme ", "Acme", "ac me", "ac\u00a0me", "ｕser:bob"],
)
def test_an_id_that_reads_like_another_is_refused_with_one_clear_error(memory: Clew, id: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        memory.orgs.create("Team", slug="team", id=id)
    assert refused.value.code == "ORG_ID_INVALID" and "lower-case" in refused.value.next
    assert memory.orgs.list() == ["local"]


@pytest.mark.parametrize("names", [{"slug": "local", "id": "team"}, {"name": "Local", "id": "team"}])
def test_the_slug_local_is_reserved(memory: Clew, names: dict[str, str]) -> None:
    with pytest.raises(InvalidInput) as refused:
        memory.orgs.create(**{"name": "Team"} | names)
    assert refused.value.code == "ORG_SLUG_INVALID"


def test_an_operator_without_a_user_must_say_who_owns_the_org(memory: Clew) -> None:
    machine = Identity("ops", roles=("operator",))
    with pytest.raises(InvalidInput):
        memory.orgs.create("Acme", identity=machine)
    memory.orgs.create("Acme", owner="ann", identity=machine)
    assert memory.orgs.members("acme", identity=ANN) == (Member("ann", "owner"),)


# -- members -----------------------------------------------------------------------------------------


def test_owners_admins_and_the_operator_look_after_members(team: Clew) -> None:
    team.orgs.add_member("acme", "amy", "admin", identity=BOUND)
    for identity in (ANN, BOUND, OPERATOR, Identity("user:amy", "amy"), Identity("acme", "amy", roles=("admin",))):
        team.orgs.add_member("acme", "eve", "reviewer", identity=identity)
        team.orgs.remove_member("acme", "eve", identity=identity)
        assert {one.user for one in team.orgs.members("acme", identity=identity)} == {"amy", "ann", "bob"}


@pytest.mark.parametrize(
    "identity", [BOB, Identity("acme", "bob", roles=("member",)), Identity("acme", agent="bot", roles=())]
)
def test_members_and_agents_do_not(team: Clew, identity: Identity) -> None:
    asks: tuple[Callable[[], object], ...] = (
        lambda: team.orgs.members("acme", identity=identity),
        lambda: team.orgs.add_member("acme", "eve", identity=identity),
        lambda: team.orgs.remove_member("acme", "ann", identity=identity),
    )
    for ask in asks:
        with pytest.raises(Denied):
            ask()


@pytest.mark.parametrize("org", ["acme", "nowhere"])
def test_to_a_stranger_an_org_is_not_there(team: Clew, org: str) -> None:
    stranger = Identity("user:eve", "eve")
    with pytest.raises(NotFound) as refused:
        team.orgs.members(org, identity=stranger)
    assert refused.value.code == "ORG_NOT_FOUND" and team.orgs.list(identity=stranger) == ["user:eve"]
    assert team.orgs.list(identity=BOB) == ["acme", "user:bob"]


def test_an_admin_makes_and_unmakes_no_owner(team: Clew) -> None:
    team.orgs.add_member("acme", "bob", "admin", identity=ANN)
    for user, role in (("bob", "owner"), ("eve", "owner"), ("ann", "member")):
        with pytest.raises(Denied):
            team.orgs.add_member("acme", user, role, identity=BOB)
    with pytest.raises(Denied):
        team.orgs.remove_member("acme", "ann", identity=BOB)


def test_the_last_owner_can_neither_be_removed_nor_get_another_role(team: Clew) -> None:
    for identity in (ANN, OPERATOR):
        with pytest.raises(Conflict):
            team.orgs.remove_member("acme", "ann", identity=identity)
        with pytest.raises(Conflict):
            team.orgs.add_member("acme", "ann", "admin", identity=identity)
    team.orgs.add_member("acme", "bob", "owner", identity=ANN)
    team.orgs.remove_member("acme", "ann", identity=BOB)
    assert team.orgs.members("acme", identity=BOB) == (Member("bob", "owner"),)


def test_a_role_that_does_not_exist_and_a_member_who_is_none_are_refused(team: Clew) -> None:
    with pytest.raises(InvalidInput):
        team.orgs.add_member("acme", "eve", "king", identity=ANN)
    with pytest.raises(NotFound):
        team.orgs.remove_member("acme", "eve", identity=ANN)


def test_every_change_is_audited_where_it_belongs(team: Clew) -> None:
    team.orgs.remove_member("acme", "bob", identity=ANN)
    team.orgs.use("acme", identity=ANN)
    with team.store.read() as tx:
        entries = tx.audit.latest("acme", limit=5)
        [routed] = tx.audit.latest("user:ann", limit=5)
    assert [(one.actor, one.action, one.kind) for one in entries] == [
        ("user:ann", "configure", "org"), ("user:ann", "configure", "org"), ("owner", "configure", "org")
    ]  # fmt: skip
    assert (routed.kind, routed.id) == ("routing", "ann")


# -- routing -----------------------------------------------------------------------------------------


def test_t47_the_documented_examples(memory: Clew) -> None:
    memory.orgs.create("Web Renew", slug="webrenew", id="org_web", owner="ann")
    memory.orgs.create("Platform", slug="platform", id="org_platform", owner="ann")
    memory.orgs.map("acme-platform", "platform", identity=ANN)
    memory.orgs.use("org_web", mode="auto", identity=ANN)
    assert org_of(memory, "github.com/webrenew/memories", ANN) == "org_web"
    assert org_of(memory, "https://github.com/Acme-Platform/api.git", ANN) == "org_platform"
    assert org_of(memory, "github.com/stranger/x", ANN) == "user:ann"
    memory.orgs.use("platform", identity=ANN)
    assert org_of(memory, "github.com/webrenew/memories", ANN) == "org_platform"


def test_t47_a_mapping_to_an_org_one_has_left_falls_back_to_the_slug(team: Clew) -> None:
    team.orgs.create("Labs", owner="ann")
    team.orgs.add_member("labs", "bob", identity=ANN)
    team.orgs.map("acme", "labs", identity=BOB)
    assert org_of(team, SHOP, BOB) == "labs"
    team.orgs.remove_member("labs", "bob", identity=ANN)
    routed = team.orgs.route(SHOP, identity=BOB)
    assert (routed.org, routed.reason) == ("acme", "slug") and "'labs'" in routed.passed[0]


def test_t48_an_org_in_which_nothing_is_stored_is_kept(team: Clew) -> None:
    """Orgs share one store, so none lacks a database; there is nothing to fall back from."""
    team.orgs.use("acme", identity=BOB)
    assert team.stats(identity=Identity("acme")).memories == 0
    assert org_of(team, None, BOB) == org_of(team, SHOP, BOB) == "acme"


def test_t48_a_named_org_is_refused_and_never_replaced_by_the_personal_one(team: Clew) -> None:
    team.orgs.remove_member("acme", "bob", identity=ANN)
    with pytest.raises(NotFound):
        team.orgs.enter(SHOP, org="acme", identity=BOB)


def test_who_was_given_a_key_without_being_a_member_is_removed_with_it(team: Clew) -> None:
    made = [team.keys.create(f"laptop {number}", user="zed", org="acme", identity=OPERATOR) for number in (1, 2)]
    assert not made[0].is_of_member and made[0].as_json()["is_of_member"] is False
    team.orgs.remove_member("acme", "zed", identity=ANN)
    assert [team.keys.authenticate(one.token) for one in made] == [None, None]
    assert all(one.key.id in str(team.audit.list(identity=BOUND)[0].detail) for one in made)
    with pytest.raises(NotFound) as refused:
        team.orgs.remove_member("acme", "zed", identity=ANN)
    assert refused.value.code == "MEMBER_NOT_FOUND"


def test_an_admin_ends_no_key_of_an_owner_who_is_no_member(team: Clew) -> None:
    made = team.keys.create("laptop", user="zed", org="acme", roles=("owner",), identity=OPERATOR)
    team.orgs.add_member("acme", "amy", "admin", identity=ANN)
    with pytest.raises(Denied):
        team.orgs.remove_member("acme", "zed", identity=Identity("user:amy", "amy"))
    assert team.keys.authenticate(made.token) is not None


@pytest.mark.parametrize(("org", "user"), [("acme", "bob"), ("acme", None), ("user:ann", "ann"), ("local", "zed")])
def test_a_key_of_a_member_or_of_ones_own_org_needs_no_word(team: Clew, org: str, user: str | None) -> None:
    made = team.keys.create("laptop", user=user, org=org, roles=() if user else ("admin",))
    assert made.is_of_member and "is_of_member" not in made.as_json()


def test_i13_a_named_org_beats_what_the_project_says(team: Clew) -> None:
    assert team.orgs.enter(SHOP, org="user:bob", identity=BOB) == BOB
    assert team.orgs.enter("github.com/stranger/x", org="acme", identity=BOB).org == "acme"


def test_work_goes_where_it_is_routed_and_only_members_find_it(team: Clew) -> None:
    inside = team.orgs.enter(SHOP, identity=ANN)
    team.remember("deploys are frozen on Fridays", scope=Scope(inside.org, SHOP), identity=inside)
    bob, eve = (team.orgs.enter(SHOP, identity=one) for one in (BOB, Identity("user:eve", "eve")))
    found = [len(team.list(scope=Scope(who.org, SHOP), identity=who)) for who in (bob, eve, ANN)]
    assert found == [1, 0, 0] and (bob.roles, eve.org) == (("member",), "user:eve")


def test_who_is_removed_is_routed_there_no_more_however_it_was_chosen(team: Clew) -> None:
    team.orgs.map("acme-labs", "acme", identity=BOB)
    team.orgs.use("acme", mode="auto", identity=BOB)
    team.orgs.remove_member("acme", "bob", identity=ANN)
    for project in (SHOP, "github.com/acme-labs/x", None):
        assert team.orgs.enter(project, identity=BOB) == BOB


def test_one_can_neither_map_to_nor_use_an_org_one_is_not_in(team: Clew) -> None:
    team.orgs.create("Secret")
    for org in ("secret", "nowhere", "user:ann"):
        with pytest.raises(NotFound):
            team.orgs.map("acme", org, identity=BOB)
        with pytest.raises(NotFound):
            team.orgs.use(org, identity=BOB)
    assert team.orgs.routing(identity=BOB).mappings == ()


def test_fifty_owners_can_be_mapped_and_each_of_them_again(team: Clew) -> None:
    for number in range(50):
        team.orgs.map(f"owner-{number}", "acme", identity=BOB)
    with pytest.raises(Conflict):
        team.orgs.map("one-more", "acme", identity=BOB)
    team.orgs.map("@Owner-7", "acme", identity=BOB)
    team.orgs.map("one-more", "acme", identity=ANN)
    assert len(team.orgs.unmap("owner-7", identity=BOB).mappings) == 49
    team.orgs.map("one-more", "acme", identity=BOB)


def test_what_is_not_mapped_cannot_be_taken_back_and_an_unknown_mode_is_refused(team: Clew) -> None:
    with pytest.raises(NotFound):
        team.orgs.unmap("acme", identity=BOB)
    with pytest.raises(InvalidInput):
        team.orgs.use("acme", mode="sometimes", identity=BOB)


def test_the_personal_org_can_be_chosen_for_everything(team: Clew) -> None:
    team.orgs.use("user:bob", identity=BOB)
    assert team.orgs.route(SHOP, identity=BOB).reason == "personal"


def test_a_credential_of_an_org_chooses_nothing_for_its_user(team: Clew) -> None:
    with pytest.raises(Denied):
        team.orgs.use("acme", identity=BOUND)
    with pytest.raises(Denied):
        team.orgs.map("acme", "acme", identity=BOUND)
    assert team.orgs.routing(identity=BOUND).memberships == ()


def test_an_agent_without_its_users_rights_chooses_nothing(team: Clew) -> None:
    with pytest.raises(Denied):
        team.orgs.use("acme", identity=Identity("user:bob", "bob", "bot", roles=()))


def test_operators_look_and_choose_for_others_and_nobody_else_does(team: Clew) -> None:
    team.orgs.map("acme-labs", "acme", user="bob")
    assert team.orgs.route("github.com/acme-labs/x", user="bob").org == "acme"
    asks: tuple[Callable[[], object], ...] = (
        lambda: team.orgs.route(SHOP, user="bob", identity=ANN),
        lambda: team.orgs.routing(user="bob", identity=ANN),
        lambda: team.orgs.use("acme", user="bob", identity=ANN),
    )
    for ask in asks:
        with pytest.raises(Denied):
            ask()

"""Which org work belongs to: the documented precedence, and that no way leads into an org one is not in."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew import Identity, InvalidInput, NotFound
from clew.guard.routing import acting, owner_named, owner_of, route, slug_of
from clew.model.org import ROLES, Membership, Routed, Routing

ANN, OWNER = Identity("user:ann", "ann"), Identity()
WEB, ACME = Membership("org_1", "webrenew", "member"), Membership("org_2", "acme", "admin")
BOTH = Routing(memberships=(WEB, ACME))


def where(routing: Routing, project: str | None, identity: Identity = ANN) -> tuple[str, str]:
    routed = route(identity, routing, project=project)
    return routed.org, routed.reason


# -- owners ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "project",
    ["github.com/Acme/shop", "https://github.com/acme/shop.git", "git@github.com:acme/shop.git",
     " github.com/acme/a/b ", "ssh://git@github.com:22/ACME/shop", "github.com:acme/shop/",
     "https://ann:pw@github.com/acme/shop"],
)  # fmt: skip
def test_every_way_to_write_a_repository_has_the_same_owner(project: str) -> None:
    assert owner_of(project) == "acme"


@pytest.mark.parametrize(
    "project",
    ["shop", "github.com/acme", "github.com/acme/", "github.com/acme/.git", "gitlab.com/acme/shop", "acme/shop",
     "github.com.evil.org/acme/shop", "https://github.com@evil.org/acme/shop", "github.com/-acme/shop",
     "github.com/ac_me/shop", f"github.com/{'a' * 40}/shop", "github.com/\u212acme/shop", "x/github.com/acme/shop"],
)  # fmt: skip
def test_other_projects_have_no_owner_and_are_personal(project: str) -> None:
    assert owner_of(project) is None
    assert where(replace(BOTH, active="org_1"), project) == ("user:ann", "personal")


@pytest.mark.parametrize("text", ["acme", "@Acme", "https://github.com/acme", "github.com/acme/shop", " ACME "])
def test_an_owner_is_understood_as_people_write_it(text: str) -> None:
    assert owner_named(text) == "acme"


@pytest.mark.parametrize("text", ["", "@", "a b", "gitlab.com/acme", "-acme", "a" * 40, "github.com/"])
def test_what_is_no_owner_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput):
        owner_named(text)


def test_a_slug_is_made_from_the_name() -> None:
    assert slug_of("Acme & Söhne, Inc.") == "acme-s-hne-inc"
    with pytest.raises(InvalidInput):
        slug_of("東京")


# -- precedence --------------------------------------------------------------------------------------


def test_t47_the_org_whose_slug_is_the_owner() -> None:
    assert where(BOTH, "github.com/webrenew/memories") == ("org_1", "slug")


def test_t47_a_mapping_is_used() -> None:
    mapped = replace(BOTH, mappings=(("acme-platform", "org_1"),))
    assert where(mapped, "github.com/acme-platform/api") == ("org_1", "mapping")


def test_t47_an_invalid_mapping_falls_back_to_the_slug_and_says_so() -> None:
    routed = route(ANN, replace(BOTH, mappings=(("webrenew", "org_9"),)), project="github.com/webrenew/memories")
    assert (routed.org, routed.reason) == ("org_1", "slug") and "'org_9'" in routed.passed[0]


def test_t47_an_unknown_owner_is_personal_even_if_an_org_is_active() -> None:
    assert where(replace(BOTH, active="org_1"), "github.com/stranger/x") == ("user:ann", "personal")
    assert where(BOTH, "github.com/stranger/x", OWNER) == ("local", "personal")


def test_t47_the_active_workspace_is_used_whatever_the_project() -> None:
    active = replace(BOTH, mode="active_workspace", active="org_2", mappings=(("webrenew", "org_1"),))
    for project in ("github.com/webrenew/memories", "shop", None):
        assert where(active, project) == ("org_2", "active_workspace")
    assert where(replace(active, active="org_9"), "github.com/acme/x") == ("user:ann", "personal")


@pytest.mark.parametrize("project", [None, "", " "])
def test_without_a_project_auto_takes_the_active_org(project: str | None) -> None:
    assert where(replace(BOTH, active="org_1"), project) == ("org_1", "active_workspace")
    assert where(BOTH, project) == ("user:ann", "personal")


def test_i13_a_named_org_beats_the_project() -> None:
    mapped = replace(BOTH, mappings=(("webrenew", "org_1"),))
    routed = route(ANN, mapped, project="github.com/webrenew/memories", org="org_2")
    assert (routed.org, routed.reason, routed.role) == ("org_2", "explicit", "admin")
    assert route(ANN, mapped, project="github.com/webrenew/memories", org="user:ann").org == "user:ann"


def test_i13_a_mapping_beats_the_slug_and_the_slug_the_personal_org() -> None:
    assert where(replace(BOTH, mappings=(("acme", "org_1"),)), "github.com/acme/x") == ("org_1", "mapping")
    assert where(BOTH, "github.com/acme/x") == ("org_2", "slug")
    assert where(Routing(), "github.com/acme/x") == ("user:ann", "personal")


def test_i13_a_named_org_must_match_the_credential() -> None:
    bound = Identity("acme", "ann")
    assert route(bound, BOTH, org="acme").reason == "explicit"
    for identity, org in ((bound, "org_1"), (ANN, "org_9"), (ANN, "user:bob")):
        with pytest.raises(NotFound):
            route(identity, BOTH, org=org)


@pytest.mark.parametrize(
    "identity",
    [Identity("acme", "ann"), Identity("user:bob", "ann"), Identity("acme"), Identity(agent="bot", roles=())],
)
def test_a_credential_that_is_not_the_users_own_stays_where_it_is(identity: Identity) -> None:
    everything = Routing("auto", "org_1", (("acme", "org_1"),), (WEB, ACME))
    assert where(everything, "github.com/acme/x", identity) == (identity.org, "credential")
    assert where(replace(everything, mode="active_workspace"), None, identity) == (identity.org, "credential")


# -- rights ------------------------------------------------------------------------------------------

ORGS, OWNERS = ("org_1", "org_2", "org_3"), ("acme", "beta", "gamma")
routings = st.builds(
    Routing,
    st.sampled_from(("auto", "active_workspace")),
    st.sampled_from((None, *ORGS)),
    st.dictionaries(st.sampled_from(OWNERS), st.sampled_from(ORGS)).map(lambda found: tuple(found.items())),
    st.sets(st.integers(0, 2)).map(
        lambda found: tuple(Membership(ORGS[at], OWNERS[at], ROLES[at]) for at in sorted(found))
    ),
)
identities = st.builds(
    Identity,
    st.sampled_from(("local", "user:ann", "user:bob", *ORGS)),
    st.sampled_from((None, "ann")),
    st.sampled_from((None, "bot")),
    st.sets(st.sampled_from((*ROLES, "operator"))).map(lambda found: tuple(sorted(found))),
)
projects = st.sampled_from((None, "shop", *(f"github.com/{owner}/x" for owner in (*OWNERS, "stranger"))))


@given(identities, routings, projects, st.sampled_from((None, *ORGS)))
def test_nobody_is_routed_to_an_org_without_being_a_member(
    identity: Identity, routing: Routing, project: str | None, org: str | None
) -> None:
    try:
        routed = route(identity, routing, project=project, org=org)
    except NotFound:
        assert org != identity.org
        return
    assert routed.org == identity.org or routed.org in {one.org for one in routing.memberships}
    assert org in (None, routed.org)


@given(routings, st.sampled_from(OWNERS))
def test_i13_the_precedence_holds_for_every_routing(routing: Routing, owner: str) -> None:
    routing = replace(routing, mode="auto")
    mine = {one.org for one in routing.memberships}
    wanted = (dict(routing.mappings).get(owner), ORGS[OWNERS.index(owner)], "user:ann")
    expected = next(org for org in wanted if org in mine or org == "user:ann")
    assert route(ANN, routing, project=f"github.com/{owner}/x").org == expected


@given(identities, routings, projects)
def test_a_role_in_an_org_is_the_memberships_and_no_more_than_the_credentials(
    identity: Identity, routing: Routing, project: str | None
) -> None:
    routed = route(identity, routing, project=project)
    inside = acting(identity, routed)
    assert (inside.org, inside.user, inside.agent) == (routed.org, identity.user, identity.agent)
    if routed.org == identity.org:
        assert inside == identity
    else:
        given_roles = {one.role for one in routing.memberships if one.org == routed.org}
        worth = set(ROLES) if "owner" in identity.roles else set(identity.roles)
        assert set(inside.roles) == given_roles & worth


def test_an_agents_credential_does_not_become_its_users_role() -> None:
    bot = Identity("user:ann", "ann", "bot", roles=())
    assert acting(bot, Routed("org_2", "slug", "", "admin")).roles == ()

"""A scope says what may be seen; an identity says which scopes may be asked for."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.errors import Denied, InvalidInput, NotFound
from clew.model.scope import Identity, Reach, Scope

NAMES = st.sampled_from([None, "a", "b"])


@given(NAMES, NAMES, NAMES, NAMES)
def test_a_reach_sees_what_lacks_a_name_or_has_its_own(
    project: str | None, user: str | None, of_project: str | None, of_user: str | None
) -> None:
    seen = Reach.of(Scope(project=project, user=user)).sees(of_project, of_user)
    assert seen == (of_project in (None, project) and of_user in (None, user))


@given(NAMES, NAMES)
def test_the_places_of_a_reach_are_exactly_what_it_sees(project: str | None, user: str | None) -> None:
    reach = Reach.of(Scope(project=project, user=user))
    every = [(p, u) for p in ("", "a", "b") for u in ("", "a", "b")]
    assert sorted(reach.places() or []) == sorted(place for place in every if reach.sees(*place))


@given(NAMES, NAMES, NAMES)
def test_the_whole_org_still_hides_other_users(
    user: str | None, of_project: str | None, of_user: str | None
) -> None:
    assert Reach.across_projects(Scope(user=user)).sees(of_project, of_user) == (of_user in (None, user))


def test_a_reach_over_all_projects_cannot_list_its_places() -> None:
    assert Reach.across_projects(Scope()).places() is None
    assert Reach.everything("local").places() is None


@pytest.mark.parametrize("name", ["org", "project", "user", "agent", "session", "namespace"])
@pytest.mark.parametrize("value", ["", "  ", "two\nlines", "nul\x00", "x" * 241, "line\u2028sep"])
def test_a_name_is_one_short_line(name: str, value: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        Scope(**{name: value})
    assert refused.value.code == f"{name.upper()}_ID_INVALID"


def test_another_org_is_not_found_rather_than_denied() -> None:
    with pytest.raises(NotFound):
        Identity(org="acme").check(Scope(org="rival"))


def test_only_an_owner_may_act_as_someone_else() -> None:
    member = Identity(user="ann", roles=("member",))
    member.check(Scope(user="ann"))
    member.check(Scope())
    with pytest.raises(Denied):
        member.check(Scope(user="bob"))
    replace(member, roles=("owner",)).check(Scope(user="bob"))


@pytest.mark.parametrize(
    ("project", "trouble"), [("p" * 241, "240 characters"), ("a\tb", "control character"), ("a\udcff", "UTF-8")]
)
def test_what_is_wrong_with_a_name_is_told(project: str, trouble: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        Scope(project=project)
    assert trouble in refused.value.message
    assert ("shorten" in refused.value.next) == (trouble == "240 characters")


@pytest.mark.parametrize(
    ("identity", "who"),
    [
        (Identity(user="bob", roles=()), "user 'bob'"),
        (Identity(agent="ci", roles=()), "agent 'ci'"),
        (Identity(roles=()), "a credential without a user"),
    ],
)
def test_who_may_not_act_as_another_is_named(identity: Identity, who: str) -> None:
    with pytest.raises(Denied) as refused:
        identity.check(Scope(user="ann"))
    assert refused.value.message == f"{who} may not act as user 'ann'"

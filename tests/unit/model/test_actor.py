"""Who did it, as the audit log says it: users and agents of one name are not one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew import Identity

NAMES = st.text(alphabet="ab% :/via", min_size=1, max_size=12)
WHO = st.builds(Identity, st.just("acme"), st.none() | NAMES, st.none() | NAMES, st.just(()))


@pytest.mark.parametrize(
    ("identity", "actor"),
    [
        (Identity(), "owner"), (Identity(agent="robo"), "owner via agent:robo"),
        (Identity("acme", "ann", roles=("member",)), "user:ann"),
        (Identity("acme", agent="ann", roles=()), "agent:ann"),
        (Identity("acme", "bob", "bobbot", ()), "user:bob via agent:bobbot"),
        (Identity("acme", roles=("operator",), key="night shift"), "key:night%20shift"),
        (Identity("acme", roles=("operator",)), "operator"), (Identity("acme", roles=()), "nobody"),
        (Identity("acme", agent="ci", roles=("admin",), key="ci"), "key:ci via agent:ci"),
        (Identity("acme", "ann", roles=("owner",), key="laptop"), "user:ann"),
    ],
)  # fmt: skip
def test_the_log_tells_users_agents_and_keys_apart(identity: Identity, actor: str) -> None:
    assert identity.actor == actor


@given(WHO, WHO)
def test_no_two_are_logged_alike(one: Identity, other: Identity) -> None:
    assert (one.actor == other.actor) == ((one.user, one.agent) == (other.user, other.agent))


def test_the_key_it_came_by_makes_nobody_somebody_else() -> None:
    assert Identity("acme", "ann", key="laptop") == Identity("acme", "ann", key="phone")

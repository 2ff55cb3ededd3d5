"""Keys of the API: who makes them, what they may, when they end, and that their secret is nowhere."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from datetime import timedelta

import pytest

from clew import Clew, Denied, Identity, InvalidInput, NotFound
from clew.model.key import NewKey
from toys import START, ToldClock

ADMIN = Identity("acme", "ada", None, ("admin",))
OWNER = Identity("acme", "otto", None, ("owner",))
MEMBER = Identity("acme", "ann", None, ("member",))
OPERATOR = Identity("ops", "oscar", None, ("operator",))


@pytest.fixture
def acme(memory: Clew) -> Clew:
    memory.orgs.create("Acme", id="acme", owner="otto")
    memory.orgs.create("Other", id="other", owner="olga")
    return memory


def code_of(refused: pytest.ExceptionInfo[Exception]) -> str:
    return str(getattr(refused.value, "code", ""))


def test_a_token_stands_for_whom_its_key_names(acme: Clew) -> None:
    made = acme.keys.create("ci", user="ann", identity=OWNER)
    assert re.fullmatch(r"clew_[0-9a-z]{26}_[\w-]{43}", made.token)
    assert acme.keys.authenticate(made.token) == MEMBER


def test_a_key_of_an_agent_has_no_roles_and_may_act_for_a_user(acme: Clew) -> None:
    made = acme.keys.create("bot", agent="helper", user="otto", identity=OWNER)
    assert acme.keys.authenticate(made.token) == Identity("acme", "otto", "helper", ())
    with pytest.raises(InvalidInput) as refused:
        acme.keys.create("bot", agent="helper", roles=("admin",), identity=OWNER)
    assert code_of(refused) == "KEY_OF_AGENT"


@pytest.mark.parametrize("token", ["", "clew_", "clew_x_y", "\ud800", "clew_" + "a" * 5_000, "Bearer x"])
def test_what_is_no_token_of_ours_stands_for_nobody(acme: Clew, token: str) -> None:
    assert acme.keys.authenticate(token) is None


def test_a_token_with_one_other_character_stands_for_nobody(acme: Clew) -> None:
    token = acme.keys.create("ci", user="ann", identity=OWNER).token
    for place in (6, len(token) - 1):
        other = "a" if token[place] != "a" else "b"
        assert acme.keys.authenticate(token[:place] + other + token[place + 1 :]) is None
    assert acme.keys.authenticate(token + " ") is None


def test_a_key_ends_at_the_very_moment_it_expires(acme: Clew, clock: ToldClock) -> None:
    made = acme.keys.create("ci", user="ann", expires=START + timedelta(days=90), identity=OWNER)
    clock.time = START + timedelta(days=90) - timedelta(milliseconds=2)
    assert acme.keys.authenticate(made.token) == MEMBER
    clock.time = START + timedelta(days=90) - timedelta(milliseconds=1)
    assert acme.keys.authenticate(made.token) is None


def test_a_key_that_would_have_expired_already_is_not_made(acme: Clew) -> None:
    for expires in (START - timedelta(days=1), START.replace(tzinfo=None) + timedelta(days=1)):
        with pytest.raises(InvalidInput):
            acme.keys.create("ci", user="ann", expires=expires, identity=OWNER)
    assert acme.keys.list(identity=OWNER) == []


def test_a_revoked_key_is_refused_with_the_next_request(acme: Clew) -> None:
    made = acme.keys.create("ci", user="ann", identity=OWNER)
    assert acme.keys.authenticate(made.token) == MEMBER
    ended = acme.keys.revoke(made.key.id, identity=OWNER)
    assert ended.revoked_at is not None and acme.keys.authenticate(made.token) is None
    assert acme.keys.revoke(made.key.id, identity=OWNER) == ended


@pytest.mark.parametrize(
    ("maker", "roles"),
    [(ADMIN, ("owner",)), (ADMIN, ("operator",)), (OWNER, ("operator",)), (ADMIN, ("member", "owner"))],
)
def test_nobody_makes_a_key_with_more_rights_than_its_own(
    acme: Clew, maker: Identity, roles: tuple[str, ...]
) -> None:
    with pytest.raises(Denied) as refused:
        acme.keys.create("more", user=maker.user, roles=roles, identity=maker)
    assert code_of(refused) == "ROLE_ESCALATION" and acme.keys.list(identity=OWNER) == []


def test_an_admin_makes_no_key_for_another_user_whose_private_memories_it_cannot_see(acme: Clew) -> None:
    with pytest.raises(Denied) as refused:
        acme.keys.create("spy", user="ann", identity=ADMIN)
    assert code_of(refused) == "USER_DENIED"
    assert acme.keys.create("mine", user="ada", roles=("admin",), identity=ADMIN).key.roles == ("admin",)
    assert acme.keys.create("hers", user="ann", identity=OWNER).key.user == "ann"


def test_an_admin_does_not_revoke_the_key_of_an_owner(acme: Clew) -> None:
    made = acme.keys.create("root", roles=("owner",), identity=OWNER)
    with pytest.raises(Denied):
        acme.keys.revoke(made.key.id, identity=ADMIN)
    assert acme.keys.authenticate(made.token) is not None


@pytest.mark.parametrize(
    "who",
    [MEMBER, Identity("acme", None, "bot", ()), Identity("acme", "otto", "bot", ("owner",)), Identity("acme", "u")],
)
def test_members_and_agents_neither_make_see_nor_revoke_keys(acme: Clew, who: Identity) -> None:
    if who.user == "u":
        who = Identity("acme", "u", None, ())
    made = acme.keys.create("ci", user="ann", identity=OWNER)
    with pytest.raises(Denied):
        acme.keys.create("more", user=who.user, agent=None if who.user else "x", identity=who)
    with pytest.raises(Denied):
        acme.keys.list(identity=who)
    with pytest.raises(Denied):
        acme.keys.revoke(made.key.id, identity=who)


def test_the_keys_of_another_org_are_not_there(acme: Clew) -> None:
    made = acme.keys.create("ci", user="olga", org="other")
    for call in (
        lambda: acme.keys.revoke(made.key.id, identity=OWNER),
        lambda: acme.keys.revoke("key_unknown", identity=OWNER),
        lambda: acme.keys.revoke(made.key.id, org="other", identity=OWNER),
        lambda: acme.keys.list(org="other", identity=OWNER),
        lambda: acme.keys.create("x", user="x", org="other", identity=OWNER),
    ):
        with pytest.raises(NotFound):
            call()
    assert acme.keys.list(identity=OWNER) == [] and acme.keys.authenticate(made.token) is not None


def test_an_org_that_is_not_there_gets_no_key(acme: Clew) -> None:
    for who in (Identity(), OPERATOR):
        with pytest.raises(NotFound) as refused:
            acme.keys.create("ci", user="ann", org="acmee", identity=who)
        assert code_of(refused) == "ORG_NOT_FOUND"
    assert acme.keys.create("mine", user="ann", org="user:ann", roles=("owner",)).key.org == "user:ann"


def test_an_operator_makes_keys_for_every_org_and_names_it_by_its_slug(acme: Clew) -> None:
    made = acme.keys.create("first", user="otto", org="acme", roles=("owner",), identity=OPERATOR)
    assert acme.keys.authenticate(made.token) == OWNER
    assert [one.id for one in acme.keys.list(org="acme", identity=OPERATOR)] == [made.key.id]


def test_whoever_leaves_the_org_or_loses_a_role_loses_the_keys_that_had_it(acme: Clew) -> None:
    acme.orgs.add_member("acme", "ada", "admin", identity=OWNER)
    powerful = acme.keys.create("admin", user="ada", roles=("admin",), identity=OWNER)
    plain = acme.keys.create("plain", user="ada", identity=OWNER)
    other = acme.keys.create("other", user="ann", identity=OWNER)

    def valid() -> list[bool]:
        return [acme.keys.authenticate(made.token) is not None for made in (powerful, plain, other)]

    acme.orgs.add_member("acme", "ada", "member", identity=OWNER)
    assert valid() == [False, True, True]
    acme.orgs.remove_member("acme", "ada", identity=OWNER)
    assert valid() == [False, False, True]
    assert powerful.key.id in acme.audit.list(action="configure", identity=OWNER)[1].detail


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        ({"name": " "}, "KEY_NAME_INVALID"),
        ({"name": "a\nb"}, "KEY_NAME_INVALID"),
        ({"roles": ("king",)}, "ROLE_INVALID"),
        ({"user": None}, "KEY_OF_NOBODY"),
        ({"user": "a\x00b"}, "USER_ID_INVALID"),
    ],
)
def test_a_key_that_makes_no_sense_is_refused(acme: Clew, wrong: dict[str, object], code: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        acme.keys.create(**{"name": "ci", "user": "ann", "identity": OWNER} | wrong)  # type: ignore[arg-type]
    assert code_of(refused) == code


def test_making_and_revoking_is_audited_without_the_token(acme: Clew) -> None:
    made = acme.keys.create("ci", user="ann", identity=OWNER)
    acme.keys.revoke(made.key.id, identity=OWNER)
    told = [entry for entry in acme.audit.list(identity=OWNER) if entry.kind == "key"]
    assert [(entry.actor, entry.id) for entry in told] == [("user:otto", made.key.id)] * 2
    assert "revoked" in told[0].detail and '"user":"ann"' in told[1].detail.replace(" ", "")
    assert acme.audit.verify(identity=OWNER).ok


def test_the_last_use_is_noted_once_a_minute(acme: Clew, clock: ToldClock) -> None:
    made = acme.keys.create("ci", user="ann", identity=OWNER)
    moments = [last_used(acme, made) for _ in uses(acme, made, clock)]
    assert moments[0] is not None and moments[0] == moments[1] and moments[2] > moments[1]


def uses(acme: Clew, made: NewKey, clock: ToldClock) -> Iterator[None]:
    for seconds in (0, 30, 31):
        clock.pass_by(seconds=seconds)
        assert acme.keys.authenticate(made.token) == MEMBER
        yield


def last_used(acme: Clew, made: NewKey) -> object:
    acme.store.write(lambda tx: None)  # behind what was handed over before
    [found] = acme.keys.list(identity=OWNER)
    return found.last_used_at


def test_the_secret_is_in_no_file_of_the_store_and_in_no_log(acme: Clew, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    made = acme.keys.create("ci", user="ann", identity=OWNER)
    secret = made.token.rpartition(made.key.id[-26:])[2].removeprefix("_")
    acme.keys.authenticate(made.token)
    acme.keys.revoke(made.key.id, identity=OWNER)
    assert acme.keys.authenticate(made.token) is None
    acme.close()
    held = b"".join(file.read_bytes() for file in acme.home.rglob("*") if file.is_file())
    assert made.key.id.encode() in held and secret.encode() not in held and secret not in caplog.text
    assert secret not in repr(made)

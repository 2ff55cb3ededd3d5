"""Keys of the API over HTTP and on the command line: made, shown once, listed, revoked."""

from __future__ import annotations

import json

import pytest
from cli_driver import Cli
from routes_driver import Api

from clew.clew import Clew
from clew.model.scope import Identity

OWNER = Identity("acme", "otto", None, ("owner",))
ADMIN = Identity("acme", "ada", None, ("admin",))
MEMBER = Identity("acme", "ann", None, ("member",))


@pytest.fixture
def api(memory: Clew) -> Api:
    memory.orgs.create("Acme", id="acme", owner="otto")
    return Api(memory)


def test_a_token_is_answered_once_and_lets_in(api: Api, memory: Clew) -> None:
    made = api("POST", "/v1/keys", {"name": "ci", "user": "ann", "expires_at": "2027-01-01T00:00:00Z"}, who=OWNER)
    assert made.status == 201 and memory.keys.authenticate(made.json["token"]) == MEMBER
    shown = api("GET", "/v1/keys", who=OWNER)
    assert [one["id"] for one in shown.json["keys"]] == [made.json["id"]] and b"clew_" not in shown.body


def test_keys_are_listed_page_by_page(api: Api) -> None:
    for number in range(3):
        api("POST", "/v1/keys", {"name": f"key {number}", "user": "ann"}, who=OWNER)
    first = api("GET", "/v1/keys", who=OWNER, limit=2).json
    rest = api("GET", "/v1/keys", who=OWNER, limit=2, cursor=first["next_cursor"]).json
    assert [one["name"] for one in first["keys"] + rest["keys"]] == ["key 0", "key 1", "key 2"]
    assert "next_cursor" not in rest


def test_a_revoked_key_lets_nobody_in(api: Api, memory: Clew) -> None:
    made = api("POST", "/v1/keys", {"name": "ci", "user": "ann"}, who=OWNER).json
    ended = api("DELETE", f"/v1/keys/{made['id']}", who=OWNER)
    assert ended.status == 200 and "revoked_at" in ended.json
    assert memory.keys.authenticate(made["token"]) is None


def test_more_rights_than_ones_own_are_denied_and_members_make_none(api: Api) -> None:
    more = {"name": "root", "user": "ada", "roles": ["owner"]}
    assert api("POST", "/v1/keys", more, who=ADMIN).code == "ROLE_ESCALATION"
    assert api("POST", "/v1/keys", {"name": "mine", "user": "ann"}, who=MEMBER).status == 403
    assert api("GET", "/v1/keys", who=MEMBER).status == 403


def test_a_key_of_another_org_is_answered_like_one_that_is_not_there(api: Api, memory: Clew) -> None:
    made = memory.keys.create("local", user="ann")
    there, nowhere = (api("DELETE", f"/v1/keys/{id}", who=OWNER) for id in (made.key.id, "key_" + "0" * 26))
    assert there.status == nowhere.status == 404 and there.code == nowhere.code
    assert api("GET", "/v1/keys", who=OWNER, org="local").status == 404


@pytest.mark.parametrize(
    "body", [{}, {"name": ""}, {"name": "x", "roles": ["king"]}, {"name": "x", "token": "mine"}, {"name": "x"}]
)
def test_a_key_that_makes_no_sense_is_refused(api: Api, body: dict[str, object]) -> None:
    assert api("POST", "/v1/keys", body, who=OWNER).status == 400


# -- on the command line -----------------------------------------------------------------------------------


def test_a_key_is_made_listed_and_revoked_on_the_command_line(cli: Cli) -> None:
    made = cli("key", "create", "ci", "--user", "ann", "--expires", "90d", "--json").json
    assert made["roles"] == ["member"] and made["token"].startswith("clew_")
    told = cli("key", "list").out
    assert made["id"] in told and "user ann, member" in told and "expires in 90 d" in told
    assert made["token"] not in told + json.dumps(cli("key", "list", "--json").json)
    assert cli("key", "revoke", made["id"]).out.startswith("revoked") and "revoked" in cli("key", "list").out


def test_a_key_for_somebody_who_is_no_member_is_told_so(cli: Cli) -> None:
    cli("org", "create", "Acme")
    assert (
        "zed is no member of acme: clew org members acme --add zed"
        in cli("key", "create", "x", "--user", "zed", "--org", "acme").out
    )
    cli("org", "members", "acme", "--add", "zed")
    assert "no member" not in cli("key", "create", "x", "--user", "zed", "--org", "acme").out


def test_a_new_key_is_told_with_what_to_do_with_it(cli: Cli) -> None:
    lines = cli("key", "create", "ops", "--role", "operator").out.splitlines()
    assert lines[0].startswith("created key_") and lines[1].startswith("clew_") and "CLEW_TOKEN" in lines[2]


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("create", "ci"), 2),
        (("create", "ci", "--user", "ann", "--expires", "soon"), 2),
        (("create", "ci", "--user", "ann", "--expires", "2020-01-01"), 2),
        (("create", "ci", "--user", "ann", "--org", "nowhere"), 3),
        (("revoke", "key_unknown"), 3),
        (("list", "--org", "nowhere"), 3),
    ],
)
def test_what_makes_no_sense_has_its_exit_code(cli: Cli, words: tuple[str, ...], code: int) -> None:
    outcome = cli("key", *words)
    assert outcome.code == code and outcome.err.count("\n") == 1

"""Orgs on the command line: creating, members, mappings, and where a project belongs."""

from __future__ import annotations

import pytest
from cli_driver import Cli

from clew.model.org import ROLES
from clew.surfaces.cli import table_inject


@pytest.fixture
def acme(cli: Cli) -> Cli:
    assert cli("org", "create", "Acme Inc", "--slug", "acme").code == 0
    return cli


def test_an_org_is_created_and_listed(acme: Cli) -> None:
    created = acme("org", "create", "Labs", "--id", "org-1", "--owner", "ann", "--json").json
    assert (created["id"], created["slug"], created["name"]) == ("org-1", "labs", "Labs")
    assert acme("org", "list", "--json").json["orgs"] == ["acme", "local", "org-1"]


def test_members_are_added_shown_and_removed(acme: Cli) -> None:
    acme("org", "members", "acme", "--add", "ann", "--role", "owner")
    shown = acme("org", "members", "acme", "--add", "bob", "--json").json["members"]
    assert shown == [{"role": "owner"}, {"user": "ann", "role": "owner"}, {"user": "bob", "role": "member"}]
    acme("org", "members", "acme", "--remove", "")
    text = acme("org", "members", "acme", "--remove", "bob").out
    assert text.split() == ["ann", "owner"]


def test_a_project_is_routed_by_slug_by_mapping_or_stays_personal(acme: Cli) -> None:
    assert acme("org", "map", "@Acme-Labs", "acme").code == 0
    routed = [acme("org", "route", f"github.com/{owner}/x", "--json").json for owner in ("acme", "acme-labs", "z")]
    assert [(one["org"], one["reason"]) for one in routed] == [
        ("acme", "slug"), ("acme", "mapping"), ("local", "personal")
    ]  # fmt: skip
    assert "acme  slug: its slug is the owner 'acme'" in acme("org", "route", "github.com/acme/x").out


def test_mappings_are_listed_and_taken_back(acme: Cli) -> None:
    acme("org", "map", "acme-labs", "acme")
    assert acme("org", "map", "--json").json["mappings"] == [{"owner": "acme-labs", "org": "acme"}]
    assert "no owner is mapped" in acme("org", "map", "acme-labs", "--remove").out


def test_the_active_org_is_chosen_and_left(acme: Cli) -> None:
    assert "always the active org" in acme("org", "use", "acme").out
    assert acme("org", "route", "shop", "--json").json["reason"] == "active_workspace"
    assert acme("org", "use", "--auto", "--json").json["mode"] == "auto"
    assert acme("org", "route", "shop", "--json").json["org"] == "local"
    assert "acme" in acme("org", "use").out


@pytest.mark.parametrize("words", [("use", "labs"), ("map", "labs-gh", "labs")])
def test_an_org_that_is_seen_and_not_ones_own_is_denied_with_the_way_in(acme: Cli, words: tuple[str, ...]) -> None:
    acme("org", "create", "Labs", "--owner", "ann")
    denied = acme("org", *words, "--json")
    assert (denied.code, denied.error["code"]) == (4, "MEMBERS_ONLY")
    assert denied.error["next"].endswith("clew org members labs --add ''")
    assert acme("org", *words, "--user", "bob", "--json").error["next"].endswith("--add bob")
    acme("org", "members", "labs", "--add", "")
    assert acme("org", *words).code == 0
    assert acme("org", words[0], *words[1:-1], "nowhere").code == 3


def test_the_operator_looks_where_another_user_is_led(acme: Cli) -> None:
    acme("org", "members", "acme", "--add", "ann")
    users = [
        acme("org", "route", "github.com/acme/x", "--user", user, "--json").json["org"] for user in ("ann", "eve")
    ]
    assert users == ["acme", "user:eve"]


def test_a_mapping_that_no_longer_counts_is_marked_and_passed_over(acme: Cli) -> None:
    acme("org", "members", "acme", "--add", "ann", "--role", "owner")
    acme("org", "map", "acme", "acme")
    acme("org", "members", "acme", "--remove", "")
    assert "not used" in acme("org", "map").out
    assert "passed over" in acme("org", "route", "github.com/acme/x").out


@pytest.mark.parametrize(
    "words",
    [("map", "acme"), ("map", "--remove"), ("map", "acme", "acme", "--remove"), ("map", "a b", "acme"),
     ("members", "acme", "--role", "admin"), ("members", "acme", "--add", "x", "--role", "king"),
     ("members", "acme", "--add", "x", "--remove", "y"), ("create", "local"), ("create", " ")],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(acme: Cli, words: tuple[str, ...]) -> None:
    outcome = acme("org", *words)
    assert outcome.code == 2 and "Next:" in outcome.err


@pytest.mark.parametrize(
    ("words", "code"),
    [(("members", "nowhere"), 3), (("use", "nowhere"), 3), (("map", "x", "nowhere"), 3), (("create", "acme"), 1),
     (("members", "acme", "--remove", ""), 1)],
)  # fmt: skip
def test_refusals_have_their_exit_codes(acme: Cli, words: tuple[str, ...], code: int) -> None:
    assert acme("org", *words).code == code


def test_a_role_that_does_not_exist_is_called_a_role_and_the_roles_are_listed(acme: Cli) -> None:
    err = acme("org", "members", "acme", "--add", "x", "--role", "boss").err
    assert "there is no role 'boss'" in err and all(role in err for role in ROLES)


@pytest.mark.parametrize("words", [("create", "Labs"), ("use", "acme"), ("use", "--auto")])
def test_it_is_said_that_commands_stay_in_local_and_who_follows_the_routing(
    acme: Cli, words: tuple[str, ...]
) -> None:
    out = acme("org", *words).out
    assert "commands on this machine keep working in 'local'" in out and "clew.orgs.enter" in out


def test_the_table_offers_the_roles_of_the_model() -> None:
    assert table_inject.ROLES == ROLES


def test_the_personal_org_is_there_and_has_no_members(cli: Cli) -> None:
    cli("remember", "x")
    assert cli("org", "list").out.splitlines() == ["local"]
    outcome = cli("org", "members", "local", "--json")
    assert (outcome.code, outcome.error["code"]) == (3, "ORG_WITHOUT_MEMBERS")
    assert outcome.error["message"] == "org 'local' has no members, it is your own"

"""Who asks: identity comes from the credential alone."""

from __future__ import annotations

import pytest
from api_driver import TOKEN, UID, Asked

from clew.clew import Clew
from clew.model.scope import Identity
from clew.surfaces.http.limits import Failures, Rates
from clew.surfaces.http.problems import Refusal
from clew.surfaces.http.request import LOOPBACK, NETWORK

OWNER = Identity()


def key_of(memory: Clew, **fields: object) -> str:
    given = {"roles": ("member",), "user": "ann"} | fields
    return memory.keys.create("test", identity=OWNER, **given).token  # type: ignore[arg-type]


@pytest.fixture
def acme(memory: Clew) -> str:
    """The token of a member of another org."""
    org = memory.orgs.create("acme", identity=OWNER)
    return key_of(memory, org=getattr(org, "id", "acme"))


def test_the_socket_needs_no_credential_of_its_owner(asked: Asked) -> None:
    assert asked.get("/v1/stats").json["org"] == "local"


def test_another_user_at_the_socket_needs_one(asked: Asked) -> None:
    got = asked.get("/v1/stats", uid=UID + 1)
    assert (got.status, got.code, got.headers["www-authenticate"]) == (401, "UNAUTHENTICATED", "Bearer")


def test_loopback_needs_the_token_of_this_installation(asked: Asked) -> None:
    assert asked.get("/v1/stats", via=LOOPBACK).status == 401
    assert asked.get("/v1/stats", via=LOOPBACK, token=TOKEN).status == 200
    assert asked.get("/v1/stats", via=LOOPBACK, token=TOKEN[:-1] + "y").status == 401


def test_that_token_is_worth_nothing_on_the_network(asked: Asked) -> None:
    assert asked.get("/v1/stats", via=NETWORK, token=TOKEN).status == 401


@pytest.mark.parametrize("header", ["Basic dXNlcjpwYXNz", "Bearer", "Bearer ", "clew_x", "Bearer \xe4"])
def test_a_header_that_is_no_bearer_is_refused(asked: Asked, header: str) -> None:
    assert asked.get("/v1/stats", authorization=header).status == 401


def test_a_key_gives_the_identity_that_it_was_made_for(memory: Clew, asked: Asked, acme: str) -> None:
    assert asked.get("/v1/stats", via=NETWORK, token=acme).json["org"] != "local"


def test_a_key_wins_over_the_owner_of_the_socket(asked: Asked, acme: str) -> None:
    assert asked.get("/v1/stats", token=acme).json["org"] != "local"


def test_an_id_of_another_org_is_as_unknown_as_one_that_never_was(asked: Asked, acme: str) -> None:
    known = asked.post("/v1/memories", {"content": "ours alone"}).json["id"]
    never = known[:-4] + "0000"
    answers = [asked.get(f"/v1/memories/{id}", via=NETWORK, token=acme).json for id in (known, never)]
    told = [
        {**one, "trace_id": "", "detail": one["detail"].replace(id, "")}
        for one, id in zip(answers, (known, never), strict=True)
    ]
    assert told[0] == told[1] and told[0]["status"] == 404


def test_ten_wrong_keys_in_a_minute_are_enough(asked: Asked) -> None:
    wrong = [asked.get("/v1/stats", via=NETWORK, token=f"clew_{number}", client="6.6.6.6") for number in range(11)]
    assert [got.status for got in wrong] == [401] * 10 + [429]
    assert int(wrong[-1].headers["retry-after"]) > 0
    assert asked.get("/v1/stats", via=NETWORK, token="clew_1", client="7.7.7.7").status == 401


def test_others_who_guess_do_not_lock_out_the_owner(asked: Asked) -> None:
    for number in range(11):
        asked.get("/v1/stats", via=LOOPBACK, token=f"clew_{number}")
    assert asked.get("/v1/stats", via=LOOPBACK, token=TOKEN).status == 200


def test_others_who_guess_do_not_lock_out_a_key_of_the_same_address(asked: Asked, acme: str) -> None:
    """A whole office may have one address, and one user may run several programs."""
    for number in range(12):
        asked.get("/v1/stats", via=NETWORK, token=f"clew_{number}", client="6.6.6.6")
    assert asked.get("/v1/stats", via=NETWORK, token=acme, client="6.6.6.6").status == 200
    assert asked.get("/v1/stats", via=NETWORK, token="clew_1", client="6.6.6.6").status == 429


def test_wrong_ones_are_forgotten_after_a_minute() -> None:
    now = [0.0]
    failures = Failures(now=lambda: now[0])
    for _ in range(10):
        failures.note("a")
    with pytest.raises(Refusal):
        failures.note("a")
    now[0] = 60.1
    failures.note("a")


def test_a_credential_gets_its_burst_and_then_its_rate() -> None:
    now = [0.0]
    rates = Rates(2.0, 3, now=lambda: now[0])
    for _ in range(3):
        rates.take("a")
    with pytest.raises(Refusal) as refused:
        rates.take("a")
    assert refused.value.headers["Retry-After"] == "1"
    rates.take("b")
    now[0] = 0.5
    rates.take("a")


def test_what_concerns_the_whole_store_is_for_operators(asked: Asked, acme: str) -> None:
    for path in ("/metrics", "/v1/doctor"):
        assert asked.get(path).status == 200
        got = asked.get(path, via=NETWORK, token=acme)
        assert (got.status, got.code) == (403, "OPERATOR_ONLY")


def test_a_member_is_told_nothing_of_the_whole_file(asked: Asked, acme: str) -> None:
    assert "file_bytes" in asked.get("/v1/stats").json
    assert not {"path", "file_bytes", "bytes_per_memory"} & set(asked.get("/v1/stats", token=acme).json)


def test_a_key_may_not_have_files_of_this_machine_looked_at(asked: Asked, acme: str) -> None:
    got = asked.post("/v1/hooks/claude-code", {}, token=acme, clew_event_id="0" * 32)
    assert (got.status, got.code) == (403, "LOCAL_ONLY")


def test_only_the_sign_of_life_and_this_document_are_open_to_all(asked: Asked) -> None:
    from clew.surfaces.http.routes import all_routes

    found = {route.path for route in all_routes() if asked(route.method, route.path, via=LOOPBACK).status < 300}
    assert found == {"/healthz", "/openapi.json"}

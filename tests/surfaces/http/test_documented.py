"""The documented graph routes: their envelope, their errors, and that they do what /v1/graph does (T46)."""

from __future__ import annotations

from typing import Any

import pytest
from routes_driver import Api

from clew.clew import Clew
from clew.model.scope import Identity, Scope
from counted import applied, failed

STATUS, ROLLOUT = "/api/sdk/v1/graph/status", "/api/sdk/v1/graph/rollout"
TRACE, EXPLORE = "/api/sdk/v1/graph/trace", "/api/graph/explore"
SHOP = Scope(project="shop")


@pytest.fixture
def api(memory: Clew) -> Api:
    memory.remember("CheckoutService depends on LedgerService", scope=SHOP, tags=("billing",))
    return Api(memory)


def block(clew: Clew) -> None:
    """Twenty requests of the last minutes, four of which failed."""
    now = clew.now()
    rows = [failed(now) if number < 4 else applied(now) for number in range(20)]
    clew.store.write(lambda tx: tx.rollout.add(rows))


def test_an_answer_has_the_documented_envelope(api: Api) -> None:
    told = api("GET", STATUS).json
    assert (told["ok"], told["error"], set(told)) == (True, None, {"ok", "data", "error", "meta"})
    assert (told["meta"]["version"], told["meta"]["endpoint"]) == ("2026-02-11", STATUS)
    assert told["meta"]["requestId"].startswith("req_") and told["meta"]["timestamp"].endswith("Z")
    assert told["data"]["counts"]["nodes"] > 0


@pytest.mark.parametrize(
    ("method", "path"), [("GET", STATUS), ("PATCH", ROLLOUT), ("POST", TRACE), ("GET", EXPLORE)]
)
def test_t46_a_missing_key_is_401_in_the_envelope(api: Api, method: str, path: str) -> None:
    got = api(method, path, {} if method != "GET" else None, who=None)
    assert (got.status, got.json["ok"], got.json["data"]) == (401, False, None)
    assert (got.json["error"]["type"], got.json["error"]["retryable"]) == ("auth_error", False)
    assert got.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [("POST", TRACE, {"query": ""}), ("POST", TRACE, {"query": "x", "limit": 51}), ("POST", TRACE, {"q": "x"}),
     ("POST", TRACE, {"query": "x" * 501}), ("PATCH", ROLLOUT, {"mode": "on"}), ("POST", STATUS, [])],
)  # fmt: skip
def test_t46_an_invalid_body_is_400_in_the_envelope(api: Api, method: str, path: str, body: Any) -> None:
    got = api(method, path, body)
    error = got.json["error"]
    assert (got.status, got.json["ok"], error["status"], error["type"]) == (400, False, 400, "validation_error")


def test_t46_an_omitted_strategy_is_the_default_of_the_policy(api: Api) -> None:
    api.clew.rollout.set_default("baseline")
    asked = {"query": "CheckoutService", "scope": {"projectId": "shop"}}
    omitted, named = (
        api("POST", TRACE, body).json["data"] for body in (asked, asked | {"strategy": "hybrid_graph"})
    )
    assert omitted["trace"]["retrievalPolicySelection"] == "policy_default"
    assert (omitted["strategy"]["requested"], named["strategy"]["requested"]) == ("baseline", "hybrid_graph")


@pytest.mark.parametrize("method", ["POST", "PATCH"])
def test_t46_a_blocked_canary_is_409_and_nothing_is_written(api: Api, method: str) -> None:
    api.clew.rollout.set("shadow")
    block(api.clew)
    got = api(method, ROLLOUT, {"mode": "canary"})
    error = got.json["error"]
    assert (got.status, error["code"], error["type"]) == (409, "CANARY_ROLLOUT_BLOCKED", "conflict_error")
    assert "FALLBACK_RATE_ABOVE_LIMIT" in error["details"]["reasonCodes"]
    assert api("GET", ROLLOUT).json["data"]["rollout"]["mode"] == "shadow"


@pytest.mark.parametrize("path", [STATUS, ROLLOUT, TRACE, EXPLORE])
def test_t46_options_is_refused_because_there_is_no_cors(api: Api, path: str) -> None:
    got = api("OPTIONS", path, headers={"access-control-request-method": "POST"})
    assert (got.status, got.json["ok"]) == (405, False)
    assert not any(name.startswith("access-control") for name in got.headers)


def test_t46_a_page_of_another_origin_is_refused_in_the_envelope(api: Api) -> None:
    got = api("POST", TRACE, {"query": "x"}, headers={"origin": "https://evil.example"})
    assert (got.status, got.json["error"]["code"]) == (403, "ORIGIN_DENIED")


def test_the_mode_that_is_set_names_who_set_it(api: Api) -> None:
    ada = Identity(user="ada", roles=("admin",))
    told = api("POST", ROLLOUT, {"mode": "off"}, who=ada).json["data"]["rollout"]
    assert (told["mode"], told["updatedBy"]) == ("off", "ada")


def test_another_tenant_is_not_found(api: Api) -> None:
    got = api("GET", STATUS, tenantId="globex")
    assert (got.status, got.json["error"]["type"]) == (404, "not_found_error")


def test_the_explorer_shows_a_node_and_answers_nothing_for_one_that_is_not_there(api: Api) -> None:
    shown = api("GET", EXPLORE, nodeType="topic", nodeKey="billing").json["data"]
    assert (shown["node"]["nodeKey"], len(shown["memories"])) == ("billing", 1)
    nothing = api("GET", EXPLORE, nodeType="topic", nodeKey="nothing").json["data"]
    assert nothing == {"node": None, "nodes": [], "edges": [], "memories": []}


def test_both_families_of_routes_answer_the_same(api: Api) -> None:
    ours, theirs = api("GET", "/v1/graph/rollout").json, api("GET", ROLLOUT).json["data"]
    assert (ours["rollout"], ours["retrievalPolicy"]) == (theirs["rollout"], theirs["retrievalPolicy"])
    ours, theirs = api("GET", "/v1/graph/explore").json, api("GET", EXPLORE).json["data"]
    assert ours == theirs

"""What single routes of the topics take and tell, beyond their shape."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from routes_driver import Api

from clew.clew import Clew
from clew.model.scope import Identity, Scope
from toys import open_toy

AGENT = Identity(agent="codex", roles=())
EDGES = "/v1/graph/edges"


@pytest.fixture
def api(memory: Clew) -> Api:
    return Api(memory)


# -- sessions and their queue --------------------------------------------------------------------------


def test_a_session_from_start_to_feedback(api: Api) -> None:
    session = api("POST", "/v1/sessions", {"project": "web", "title": "fix the ledger"}).json["id"]
    one = f"/v1/sessions/{session}"
    held = {"worker": "w1", "token": api("POST", f"{one}/claim", {"worker": "w1"}).json["fencing_token"]}
    queued = api("POST", f"{one}/queue", {"text": "mind the gap"}).json
    beat = api("POST", f"{one}/refresh", held).json
    assert beat == {
        "refreshed": True, "stop": False,
        "inject": {"delivery_id": queued["delivery_id"], "text": "mind the gap"},
    }  # fmt: skip
    assert api("POST", f"{one}/refresh", held | {"acked": [queued["delivery_id"]]}).json["inject"] is None
    [inject] = api("GET", f"{one}/queue").json["injects"]
    assert (inject["state"], inject["receipt"]) == ("acked", "consumed")
    assert api("POST", f"{one}/end", held | {"outcome": "accepted"}).json["state"] == "completed"
    assert api("POST", f"{one}/feedback", {"outcome": "rework"}).json["outcome"] == "rework"


def test_a_worker_without_the_token_gets_nothing(api: Api) -> None:
    session = api("POST", "/v1/sessions", {}).json["id"]
    api("POST", f"/v1/sessions/{session}/claim", {"worker": "w1"})
    api("POST", f"/v1/sessions/{session}/queue", {"text": "mind the gap"})
    stale = {"worker": "w1", "token": 0}
    assert api("POST", f"/v1/sessions/{session}/queue/claim", stale).json is None
    assert api("POST", f"/v1/sessions/{session}/refresh", stale).json["refreshed"] is False


def test_a_session_that_is_held_is_a_conflict_for_another_worker(api: Api) -> None:
    session = api("POST", "/v1/sessions", {}).json["id"]
    api("POST", f"/v1/sessions/{session}/claim", {"worker": "w1"})
    got = api("POST", f"/v1/sessions/{session}/claim", {"worker": "w2"})
    assert (got.status, got.code) == (409, "SESSION_LOCKED")


def test_an_event_of_another_session_than_the_path_names_is_refused(api: Api) -> None:
    session = api("POST", "/v1/sessions", {}).json["id"]
    path = f"/v1/sessions/{session}/inject/event"
    assert api("POST", path, {"tool": "Edit", "session": "ses_other"}).code == "EVENT_INVALID"
    assert api("POST", path, {"tool": "Edit", "session": session}).status == 200


def test_looking_ahead_queues_nothing(api: Api) -> None:
    session = api("POST", "/v1/sessions", {"project": "web"}).json["id"]
    assert api("POST", f"/v1/sessions/{session}/inject/start", {"dry_run": True}).status == 200
    assert api("POST", f"/v1/sessions/{session}/inject/start", {}).code == "SESSION_NOT_CLAIMED"
    assert api("GET", f"/v1/sessions/{session}/queue").json == {"injects": []}


def test_a_suspended_agent_is_denied(api: Api) -> None:
    api("PATCH", "/v1/agents/codex", {"suspended": True})
    got = api("GET", "/v1/sessions", who=AGENT)
    assert (got.status, api("PATCH", "/v1/agents/codex", {"suspended": False}).json["suspended"]) == (403, False)


def test_an_agent_with_its_owners_credential_changes_no_policies(api: Api) -> None:
    agent = Identity(agent="codex")
    text = {"text": "permit (principal, action, resource);"}
    refused = [
        api("PUT", "/v1/policies/open", text, who=agent),
        api("DELETE", "/v1/policies/open", who=agent),
        api("PATCH", "/v1/agents/codex", {"clearance": 3}, who=agent),
    ]
    assert {(got.status, got.code) for got in refused} == {(403, "POLICIES_NOT_FOR_AGENTS")}
    assert api("GET", "/v1/policies", who=agent).json["added"] == []
    assert api("PUT", "/v1/policies/open", text).status == 200


# -- the graph -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", ["0", "-3", "1.5", "fifty", ""])
def test_engram_33_a_limit_that_is_no_number_of_edges_is_400(api: Api, limit: str) -> None:
    assert api("GET", EDGES, limit=limit).status == 400


@pytest.mark.parametrize("query", [{"since": "yesterday"}, {"categories": "nonsense"}, {"categories": ""}])
def test_engram_33_what_else_cannot_be_read_is_400(api: Api, query: dict[str, Any]) -> None:
    assert api("GET", EDGES, **query).status == 400


def test_engram_33_edges_by_categories_that_are_named_twice(api: Api) -> None:
    one, two = api.clew.remember("plain one", type="fact").id, api.clew.remember("plain two", type="skill").id
    api.clew.link(one, "near", two)
    assert len(api("GET", EDGES, categories=["fact", "skill"]).json["edges"]) == 1
    assert api("GET", EDGES, categories=["fact"], limit=9_999).json["edges"] == []


def test_edges_go_out_and_come_back_in(api: Api, tmp_path: Path) -> None:
    id = api.clew.remember("CheckoutService depends on LedgerService").id
    lines = api("GET", "/v1/graph/export").body
    assert lines.startswith(b'{"format": "clew-edges"') and id.encode() in lines
    got = api("POST", "/v1/graph/import", content=("application/x-ndjson", lines))
    assert (got.json["added"], got.json["known"] > 0, got.json["checksum"]) == (0, True, "ok")


def test_a_path_that_is_not_there_is_not_found(api: Api) -> None:
    api.clew.remember("CheckoutService depends on LedgerService")
    api.clew.remember("MailService depends on QueueService")
    got = api("GET", "/v1/graph/path", **{"from": "CheckoutService", "to": "MailService"})
    assert (got.status, got.code) == (404, "GRAPH_PATH_NOT_FOUND")


# -- configuration -------------------------------------------------------------------------------------


def test_a_name_may_hold_a_slash(api: Api) -> None:
    path = "/v1/projects/github.com%2Facme%2Fweb"
    switched = api("PUT", f"{path}/switches/memory", {"on": False}).json
    assert (switched["project"], switched["memory_enabled"]) == ("github.com/acme/web", False)
    assert api("GET", path).json["gates"]["memory"]["open"] is False


@pytest.mark.parametrize("ask", [("GET",), ("PATCH", {"kg_enabled": True})])
def test_an_org_that_is_not_there_is_not_found(api: Api, ask: tuple[Any, ...]) -> None:
    method, *body = ask
    got = api(method, "/v1/orgs/NOPE/features", *body)
    assert (got.status, got.code) == (404, "ORG_NOT_FOUND")
    assert "NOPE" not in api("GET", "/v1/orgs").json["orgs"]


def test_a_switch_that_nobody_knows_is_refused(api: Api) -> None:
    assert api("PUT", "/v1/projects/web/switches/turbo", {"on": True}).code == "SWITCH_INVALID"
    assert api("PUT", "/v1/projects/web/switches/memory", {"on": None}).code == "SWITCH_INVALID"


def test_settings_show_no_password(tmp_path: Path) -> None:
    with open_toy(tmp_path / "clew.db", embed={"url": "https://ada:hunter2@models.example/v1"}) as clew:
        got = Api(clew)("GET", "/v1/settings")
    assert b"hunter2" not in got.body
    assert {"path": "embed.url", "value": "https://***@models.example/v1"}.items() <= next(
        one for one in got.json["settings"] if one["path"] == "embed.url"
    ).items()


@pytest.mark.parametrize("url", ["postgresql://ada@h/db?password=hunter2", "postgresql://ada:hunter2/x@h/db"])
def test_settings_show_no_password_of_a_database(tmp_path: Path, url: str) -> None:
    with open_toy(tmp_path / "clew.db", store={"url": url}) as clew:
        got = Api(clew)("GET", "/v1/settings")
    assert b"postgresql://" in got.body
    assert b"hunter2" not in got.body


def test_a_field_that_nobody_knows_is_refused(api: Api) -> None:
    assert api("POST", "/v1/sessions", {"org": "globex"}).status == 400
    assert api("GET", "/v1/sessions", org="globex").status == 400


# -- paging --------------------------------------------------------------------------------------------


def test_lists_go_on_at_their_cursor_and_end_without_one(api: Api) -> None:
    ids = [api.clew.remember(f"words {number}").id for number in range(3)]
    first = api("GET", "/v1/jobs", limit=2).json
    rest = api("GET", "/v1/jobs", limit=2, cursor=first["next_cursor"]).json
    assert [job["subject"] for job in first["jobs"] + rest["jobs"]] == ids
    assert "next_cursor" not in rest


@pytest.mark.parametrize("path", ["/v1/memories", "/v1/jobs", "/v1/quarantine", "/v1/keys"])
def test_a_cursor_that_no_page_named_is_refused(api: Api, path: str) -> None:
    got = api("GET", path, cursor="zzz")
    assert (got.status, got.code) == (400, "CURSOR_INVALID")


def test_the_audit_log_goes_on_at_its_cursor(api: Api) -> None:
    for mode in ("off", "shadow", "canary"):
        api("PATCH", "/v1/graph/rollout", {"mode": mode})
    first = api("GET", "/v1/audit", limit=2).json
    rest = api("GET", "/v1/audit", limit=2, cursor=first["next_cursor"]).json
    seqs = [entry["seq"] for entry in first["entries"] + rest["entries"]]
    assert seqs == sorted(seqs, reverse=True) and len(set(seqs)) == 3
    assert api("GET", "/v1/audit/verify", head=api("GET", "/v1/audit/head").json["head"]).json["ok"] is True


# -- rights --------------------------------------------------------------------------------------------


def test_an_id_of_another_org_and_one_that_is_not_there_look_alike(api: Api) -> None:
    stranger = Identity("globex", "gus", roles=("owner",))
    real = api("POST", "/v1/sessions", {"title": "secret"}).json["id"]
    fake = "ses_" + "0" * 26
    answers = [api("GET", f"/v1/sessions/{id}", who=stranger) for id in (real, fake)]
    told = [{**got.json, "trace_id": "", "detail": got.json["detail"].replace(id, "ID")}
            for got, id in zip(answers, (real, fake), strict=True)]  # fmt: skip
    assert told[0] == told[1]


def test_what_is_private_to_one_user_is_not_there_for_another(api: Api) -> None:
    mia, bob = (Identity(user=name, roles=("member",)) for name in ("mia", "bob"))
    id = api.clew.remember("bob alone", scope=Scope(user="bob"), identity=bob).id
    for path in (f"/v1/memories/{id}/feedback", f"/v1/memories/{id}/corroboration"):
        assert (api("GET", path, who=bob).status, api("GET", path, who=mia).status) == (200, 404)

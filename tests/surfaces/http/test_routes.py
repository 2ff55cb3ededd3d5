"""Every route of the topics, asked once as somebody who may: it answers what it says it answers, to the field. Then
as somebody who may not, and from another org, to whom nothing of it is there."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec
import pytest
from routes_driver import Api
from toys_api import (
    ADMIN,
    AGENT,
    MEMBER,
    OPERATOR,
    ORG,
    OTHER_PROJECT,
    OWNER,
    QUIET,
    STRANGER,
    WORKER,
    opened,
    seeded,
)

from clew.model.scope import Identity
from clew.surfaces.http.routes import (
    config,
    documented,
    govern,
    graph,
    guard,
    inject,
    jobs,
    learn,
    orgs,
    queue,
    relate,
    rollout,
    sessions,
)

MODULES = (config, documented, govern, graph, guard, inject, jobs, learn, orgs, queue, relate, rollout, sessions)
Names = dict[str, str]


@dataclass(frozen=True)
class Ask:
    """`path` and `body` may name what the store holds: {running}. `refused`: who is denied it, with 403.
    `hidden`: to another org it is not there."""

    path: str = ""
    body: Any = None
    query: dict[str, Any] | None = None
    who: Identity = OWNER
    refused: Identity | None = None
    hidden: bool = False
    lines: bytes | None = None


HELD = {"worker": WORKER, "token": "{token}"}
EDGE_CASE = {"edges": [{"from": "a", "to": "b", "type": "entity"}], "seeds": ["a"]}

ASKS: dict[str, Ask] = {
    # -- sessions, queue, injection, learning
    "sessions.start": Ask(body={"project": "web", "title": "t", "issue": "WEB-1", "work_type": "feature"}),
    "sessions.list": Ask(query={"project": "web", "limit": 2}),
    "sessions.show": Ask("{running}", hidden=True),
    "sessions.claim": Ask("{waiting}", {"worker": "w9"}, refused=None, hidden=True),
    "sessions.refresh": Ask("{running}", HELD | {"acked": ["{delivery}"]}, hidden=True),
    "sessions.finalize": Ask("{running}", HELD, hidden=True),
    "sessions.end": Ask("{running}", HELD | {"outcome": "accepted", "errors": [{"message": "m"}]}, hidden=True),
    "sessions.stop": Ask("{waiting}", hidden=True),
    "queue.enqueue": Ask("{running}", {"text": "one more", "kind": "user"}, hidden=True),
    "queue.list": Ask("{running}", query={"state": "pending"}, hidden=True),
    "queue.claim": Ask("{running}", HELD, hidden=True),
    "queue.ack": Ask("{running}/{delivery}", HELD, hidden=True),
    "queue.dead": Ask(),
    "inject.start": Ask("{running}", {"dry_run": True}, hidden=True),
    "inject.block": Ask(body={"query": "PaymentService", "project": "web", "budget_tokens": 200}),
    "inject.event": Ask("{running}", {"tool": "Edit", "paths": ["src/pay/ledger.py"], "new": 1}, hidden=True),
    "inject.log": Ask("{running}", hidden=True),
    "learn.feedback": Ask("{ended}", {"outcome": "rework"}, hidden=True),
    "learn.diagnostics": Ask("{ended}", hidden=True),
    "learn.judge": Ask("{memory}", {"verdict": "up"}, hidden=True),
    "learn.show": Ask("{memory}", hidden=True),
    "report": Ask(query={"since": "30d"}, refused=AGENT),
    "learn.impact": Ask(query={"since": "30d"}, refused=MEMBER),
    "learn.pareto": Ask(query={"since": "2026-02-01", "until": "2026-12-01T00:00:00Z"}, refused=AGENT),
    # -- the graph
    "graph.status": Ask(query={"top": 3}),
    "graph.neighbors": Ask(query={"node": "LedgerService", "depth": 2}, hidden=True),
    "graph.path": Ask(query={"from": "PaymentService", "to": "LedgerService"}, hidden=True),
    "graph.explore": Ask(query={"node": "{memory}"}, hidden=True),
    "graph.triplets": Ask(query={"query": "what does PaymentService need"}),
    "graph.edges": Ask(query={"focus": "LedgerService", "limit": 9_999}, hidden=True),
    "graph.activate": Ask(body=EDGE_CASE),
    "graph.decay": Ask(body={"dry_run": True}, who=OPERATOR, refused=OWNER),
    "graph.export": Ask(refused=AGENT),
    "graph.import_file": Ask(query={"dry_run": True}, lines=b'{"format": "clew-edges", "version": 1}\n'),
    "graph.last_recall": Ask(who=OPERATOR, refused=OWNER),
    "rollout.status": Ask(query={"project": "web"}),
    "rollout.show": Ask(),
    "rollout.set": Ask(body={"mode": "shadow"}, refused=MEMBER),
    "rollout.post": Ask(body={"mode": "off"}, refused=AGENT),
    "rollout.set_default": Ask(body={"strategy": "baseline"}, refused=MEMBER),
    "rollout.plan": Ask(),
    "rollout.metrics": Ask(query={"since": "2h"}),
    "rollout.replay": Ask(query={"since": "7d"}, refused=MEMBER),
    "rollout.trace": Ask(body={"query": "PaymentService", "project": "web"}),
    "documented.status": Ask(query={"tenantId": ORG, "topNodesLimit": 2}),
    "documented.status_post": Ask(body={"scope": {"projectId": "web"}}),
    "documented.rollout": Ask(),
    "documented.rollout_post": Ask(body={"mode": "shadow"}, refused=MEMBER),
    "documented.rollout_patch": Ask(body={"mode": "off", "scope": {"tenantId": ORG}}, refused=AGENT),
    "documented.trace": Ask(body={"query": "PaymentService", "scope": {"projectId": "web"}, "graphDepth": 2}),
    "documented.explore": Ask(query={"nodeType": "topic", "nodeKey": "billing"}),
    # -- configuration and orgs
    "projects.list": Ask(),
    "projects.show": Ask("web"),
    "projects.set": Ask("shop%2Fapi/graph", {"on": None}, refused=MEMBER),
    "matrix.show": Ask(query={"org": "acme"}, hidden=True),
    "matrix.resolve": Ask("feature"),
    "matrix.set": Ask("chore", {"top_k": 3, "org": "acme"}, who=OPERATOR, refused=OWNER),
    "settings.show": Ask(who=OPERATOR, refused=OWNER),
    "orgs.list": Ask(),
    "orgs.create": Ask(body={"name": "Initech", "owner": "ina"}, who=OPERATOR, refused=OWNER),
    "orgs.features": Ask("acme", hidden=True),
    "orgs.set_features": Ask("acme", {"feedback_weighting": False}, refused=MEMBER, hidden=True),
    "orgs.members": Ask("acme", refused=MEMBER, hidden=True),
    "orgs.add_member": Ask("acme", {"user": "ben", "role": "admin"}, refused=MEMBER, hidden=True),
    "orgs.remove_member": Ask("acme", query={"user": "mia"}, refused=MEMBER, hidden=True),
    "orgs.routing": Ask(who=OPERATOR),
    "orgs.use": Ask(body={"mode": "auto"}, who=OPERATOR, refused=OWNER),
    "orgs.route": Ask(query={"project": "github.com/acme/web"}, who=OPERATOR),
    "orgs.map": Ask(body={"owner": "acme-inc", "org": "mine"}, who=OPERATOR, refused=OWNER),
    "orgs.unmap": Ask(query={"owner": "mapped"}, who=OPERATOR, refused=OWNER),
    # -- governance
    "policies.show": Ask(query={"shipped": True}, refused=MEMBER),
    "policies.check": Ask(body={"text": "permit (nobody"}, refused=AGENT),
    "policies.load": Ask("closed", {"text": QUIET.replace("quiet", "closed")}, refused=MEMBER),
    "policies.drop": Ask("quiet", who=OPERATOR, refused=MEMBER, hidden=True),
    "policies.agent": Ask("codex", refused=AGENT),
    "policies.set_agent": Ask("codex", {"clearance": 1}, refused=MEMBER),
    "quarantine.list": Ask(query={"limit": 1}, refused=AGENT),
    "quarantine.show": Ask("{held}", refused=MEMBER, hidden=True),
    "quarantine.release": Ask("{held}", refused=AGENT, hidden=True),
    "quarantine.drop": Ask("{held}", refused=MEMBER, hidden=True),
    "transfer.list": Ask(refused=MEMBER),
    "transfer.grant": Ask(body={"source": "web", "dest": "app"}, refused=AGENT),
    "transfer.revoke": Ask(query={"source": "web", "dest": OTHER_PROJECT}, refused=MEMBER, hidden=True),
    "transfer.fingerprint": Ask("web", {"files": {"requirements.txt": "django==5.0\n"}}, refused=AGENT),
    "transfer.fingerprint_of": Ask("web"),
    "audit.list": Ask(query={"limit": 2, "since": "2026-01-01"}, refused=MEMBER),
    "audit.head": Ask(refused=AGENT),
    "audit.verify": Ask(refused=MEMBER),
    "retention.list": Ask(refused=MEMBER),
    "retention.set": Ask(body={"ttl_days": 7, "type": "note"}, refused=AGENT),
    "retention.drop": Ask("{retention}", refused=MEMBER, hidden=True),
    "retention.run": Ask(body={"dry_run": True}, refused=MEMBER),
    "conflicts.list": Ask(),
    "conflicts.show": Ask("{conflict}", hidden=True),
    "conflicts.resolve": Ask("{conflict}", {"keep": "b"}, refused=MEMBER, hidden=True),
    "merges.list": Ask(),
    "merges.suggest": Ask(),
    "merges.merge": Ask(body={"keep": "{twin}", "others": ["{twins}"]}, refused=MEMBER, hidden=True),
    "merges.undo": Ask("{merge}", refused=MEMBER, hidden=True),
    "merges.corroboration": Ask("{memory}", hidden=True),
    # -- jobs
    "jobs.list": Ask(query={"limit": 1, "state": "queued"}, refused=MEMBER),
    "jobs.show": Ask("{job}", refused=AGENT, hidden=True),
    "jobs.retry": Ask("{job}", refused=MEMBER, hidden=True),
    "jobs.retry_all": Ask(body={}, refused=MEMBER),
    "jobs.run": Ask(body={"limit": 1}, who=OPERATOR, refused=OWNER),
    "jobs.health": Ask(refused=MEMBER),
    "jobs.spend": Ask(query={"since": "2026-01-01"}, refused=AGENT),
    "jobs.backfill.status": Ask(who=OPERATOR, refused=OWNER),
    "jobs.backfill.run": Ask(who=OPERATOR, refused=OWNER),
    "jobs.backfill.pause": Ask(who=OPERATOR, refused=OWNER),
    "jobs.backfill.resume": Ask(who=OPERATOR, refused=OWNER),
}  # fmt: skip
ROUTES = {route.name: route for module in MODULES for route in module.ROUTES}
CONFLICTS = {"jobs.retry"}  # a job that is not dead is not tried again


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Names]:
    path = tmp_path_factory.mktemp("seed") / "clew.db"
    return path, seeded(path)


@pytest.fixture
def api(filled: tuple[Path, Names], tmp_path: Path) -> Iterator[Api]:
    """A store of its own: what one test changes, the next does not see."""
    shutil.copy(filled[0], tmp_path / "clew.db")
    with opened(tmp_path / "clew.db") as clew:
        yield Api(clew)


@pytest.fixture(scope="module")
def shared(filled: tuple[Path, Names], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """For those who change nothing, because they look or are refused."""
    path = tmp_path_factory.mktemp("shared") / "clew.db"
    shutil.copy(filled[0], path)
    with opened(path) as clew:
        yield Api(clew)


@pytest.fixture
def names(filled: tuple[Path, Names]) -> Names:
    return filled[1]


def asked(name: str, names: Names) -> tuple[str, str, Any, dict[str, Any]]:
    """Method, path, body and query of an entry, with ids in place of their names."""
    route, ask = ROUTES[name], ASKS[name]
    given = iter(_filled(ask.path, names).split("/"))
    path = "/".join(next(given) if part.startswith("{") else part for part in route.path.split("/"))
    return route.method, path, _filled(ask.body, names), _filled(ask.query or {}, names)


def _filled(value: Any, names: Names) -> Any:
    if isinstance(value, str):
        found = value.format(**names)
        return int(found) if value == "{token}" else found
    if isinstance(value, dict):
        return {key: _filled(item, names) for key, item in value.items()}
    return [_filled(item, names) for item in value] if isinstance(value, list) else value


def send(api: Api, name: str, names: Names, who: Identity | None) -> Any:
    method, path, body, query = asked(name, names)
    lines = ASKS[name].lines
    content = ("application/x-ndjson", lines) if lines is not None else None
    if body is None and ROUTES[name].has_body and content is None:
        body = {}
    return api(method, path, body, who=who, content=content, **query)


def test_every_route_of_these_topics_is_asked() -> None:
    assert set(ASKS) == set(ROUTES)


READS = [name for name, route in ROUTES.items() if route.method == "GET" or route.reads_only]


@pytest.mark.parametrize("name", READS)
def test_a_route_that_reads_answers_what_it_says(shared: Api, names: Names, name: str) -> None:
    got = send(shared, name, names, ASKS[name].who)
    assert got.status == ROUTES[name].status, got.json


@pytest.mark.parametrize("name", sorted(ROUTES.keys() - set(READS)))
def test_a_route_that_changes_something_answers_what_it_says(api: Api, names: Names, name: str) -> None:
    prepare(api, name)
    got = send(api, name, names, ASKS[name].who)
    expected = 409 if name in CONFLICTS else ROUTES[name].status
    assert got.status == expected, got.json


def prepare(api: Api, name: str) -> None:
    """What one entry alone needs."""
    if name in ("orgs.map", "orgs.unmap"):
        api.clew.orgs.create("Mine", slug="mine", identity=OPERATOR)
        api.clew.orgs.map("mapped", "mine", identity=OPERATOR)


@pytest.mark.parametrize("name", [name for name, ask in ASKS.items() if ask.refused])
def test_who_has_not_the_right_is_denied(shared: Api, names: Names, name: str) -> None:
    got = send(shared, name, names, ASKS[name].refused)
    assert got.status == 403, got.json


@pytest.mark.parametrize("name", [name for name, ask in ASKS.items() if ask.hidden])
def test_to_another_org_it_is_not_there(shared: Api, names: Names, name: str) -> None:
    got = send(shared, name, names, STRANGER)
    assert got.status == 404, got.json
    assert not any(
        secret in got.body.decode() for secret in ("PaymentService depends", "cache lives", "fridays", "olga")
    )


@pytest.mark.parametrize("name", ASKS)
def test_without_a_credential_nothing_is_answered(shared: Api, names: Names, name: str) -> None:
    assert send(shared, name, names, None).status == 401


def test_an_admin_looks_after_the_org_like_its_owner(shared: Api, names: Names) -> None:
    for name in ("jobs.list", "audit.list", "policies.show", "quarantine.list", "orgs.members"):
        assert send(shared, name, names, ADMIN).status == 200


# -- odd values ---------------------------------------------------------------------------------------

ODD_TEXTS = ("\x00", "a\u2028b", "x" * 5_000, "\U0001f9f6\u202e..", " ")
ODD_NUMBERS = (-1, 2**63, 10**30)


@pytest.mark.parametrize("odd", ODD_TEXTS, ids=("nul", "separator", "long", "signs", "blank"))
def test_odd_texts_are_refused_or_taken_but_never_break_anything(api: Api, names: Names, odd: str) -> None:
    """The driver holds every answer against what the route says it answers, so that no 500 gets through."""
    for name, ask in ASKS.items():
        method, _path, body, query = asked(name, names)
        odd_path = re.sub(r"\{\w+\}", lambda _: quote(odd, safe=""), ROUTES[name].path)
        strange = _with(body, odd) if body is not None or not ROUTES[name].has_body else {}
        got = api(method, odd_path, strange, who=ask.who, content=_lines(ask, odd), **_with(query, odd))
        assert got.status < 500 or got.status == 503


@pytest.mark.parametrize("odd", ODD_NUMBERS)
def test_odd_numbers_are_refused_or_taken_but_never_break_anything(api: Api, names: Names, odd: int) -> None:
    for name, ask in ASKS.items():
        method, path, body, query = asked(name, names)
        spelled = _query_of(name)
        numbers = {field: odd for field in spelled if spelled[field] is int}
        strange = _with(body, odd, of=int) if body is not None or not ROUTES[name].has_body else {}
        got = api(method, path, strange, who=ask.who, content=_lines(ask, ""), **(query | numbers))
        assert got.status < 500 or got.status == 503


def _lines(ask: Ask, odd: str) -> tuple[str, bytes] | None:
    return None if ask.lines is None else ("application/x-ndjson", ask.lines + odd.encode())


def _with(value: Any, odd: Any, of: type = str) -> Any:
    """With something odd in place of every text or number."""
    if isinstance(value, dict):
        return {key: _with(item, odd, of) for key, item in value.items()}
    if isinstance(value, list):
        return [_with(item, odd, of) for item in value]
    return odd if isinstance(value, of) and not isinstance(value, bool) else value


def _query_of(name: str) -> dict[str, Any]:
    fields = msgspec.structs.fields(ROUTES[name].query)
    return {field.encode_name: int for field in fields if "int" in str(field.type)}

"""Nobody learns anything of another org, over any route, tool or verb: neither a word nor that something is there.

Each request is sent twice: about what the first org has, and about what nobody has. Both answers have to be the
same, byte for byte, apart from the id that was asked for, the trace id and the time; and no word of the first org
may stand anywhere in them.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import apsw
import pytest
from api_driver import Asked
from routes_driver import Api, Got
from test_routes import ASKS, Ask, Names, _filled
from toys_api import ADMIN, MEMBER, OPERATOR, ORG, OWNER, opened
from toys_tenants import COLLEAGUES, NAMED, OTHERS, PRIVATE, RUNS_IT, SAID, SECRETS, two_orgs

from clew.model.scope import Identity
from clew.surfaces.http.request import LOOPBACK, NETWORK
from clew.surfaces.http.route import Route
from clew.surfaces.http.routes import all_routes
from clew.surfaces.mcp import route as mcp
from clew.surfaces.mcp.table import BY_NAME
from clew.wire.calls import arguments_of
from clew.wire.client import method_named
from clew.wire.verbs import VERBS

ROUTES: dict[str, Route] = {route.name: route for route in (*all_routes(), *mcp.ROUTES)}
EVENT = {"hook_event_name": "SessionStart", "session_id": "s1", "cwd": f"/src/{SAID}", "source": "startup"}
PLACE = {"project": "web", "session": "{running}"}
OURS = {"project": "ops", "session": "{running}"}
MESSAGE = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}

# The routes besides those of test_routes.
MORE: dict[str, Ask] = {
    "remember": Ask(body={"content": "ours", "project": "web", "supersedes": "{memory}", "session": "{running}"}),
    "memories.batch": Ask(body={"memories": [{"content": "ours", "parents": ["{memory}"]}], **PLACE}),
    "observe": Ask(
        body={"tool": "Bash", "command": "make {memory}", "exit_status": 2, "error_line": "no rule", **OURS}
    ),
    "memories.list": Ask(query={"project": "web", "cursor": "{memory}", "session": "{running}"}),
    "memories.forget": Ask(body={"project": "web", "pattern": SAID, "hard": True}),
    "show": Ask("{memory}"),
    "edit": Ask("{memory}", {"content": "ours now"}),
    "forget": Ask("{memory}", query={"hard": True}),
    "history": Ask("{memory}"),
    "revert": Ask("{memory}", {"version": 1}),
    "link": Ask(body={"source": "{memory}", "relation": "contradicts", "target": "{newer}", "project": "web"}),
    "unlink": Ask(body={"source": "{newer}", "relation": "contradicts", "target": "{older}", "project": "web"}),
    "recall": Ask(body={"query": f"{SAID} cache", **PLACE}),
    "context": Ask(body={"query": f"{SAID} cache", "project": "web", "strategy": "hybrid_graph"}),
    "why": Ask(body={"query": f"{SAID} cache", "expect": "{memory}", "project": "web"}),
    "xray": Ask(body={"query": f"{SAID} cache", "project": "web"}),
    "export": Ask(query={"project": "web"}),
    "import": Ask(query={"project": "web", "dry_run": True}, lines=b'{"id": "x", "content": "ours"}\n'),
    "stats": Ask(),
    "doctor": Ask(),
    "keys.list": Ask(query={"org": "acme", "cursor": "{key}"}),
    "keys.create": Ask(body={"name": "ours", "org": "acme", "user": "olga", "roles": ["owner"]}),
    "keys.revoke": Ask("{key}", query={"org": "acme"}),
    "hooks.event": Ask("claude-code", EVENT),
    "hooks.seen": Ask("claude-code"),
    "hooks.forwarded": Ask("claude-code", {"event": EVENT, "event_id": "0" * 32, "around": {"project": "web"}}),
    "call": Ask("show", {"id": "{memory}", "scope": {"org": "acme", "project": "web"}}),
    "mcp": Ask(body=MESSAGE | {"params": {"name": "memory_show", "arguments": {"ids": ["{memory}"]}}}),
    "healthz": Ask(),
    "readyz": Ask(),
    "metrics": Ask(),
    "openapi": Ask(),
}
ENDLESS = {"graph.changes"}  # a stream: asked as a verb below
ALL = ASKS | MORE
HEADERS = {
    "mcp": {"accept": "application/json, text/event-stream", "mcp-protocol-version": "2025-06-18"},
    **{name: {"clew-event-id": "0" * 32} for name in ("hooks.event", "hooks.seen")},
}
# What the first org calls its things, and what nothing is called.
WORDS = {
    "acme": "acne", "web": "wob", "shop": "shap", "quiet": "quiat", "codex": "codax", "olga": "olgo",
    "LedgerService": "LadgerService", "PaymentService": "PaymantService", "billing": "bulling", "mia": "mio",
}  # fmt: skip
_WORD = re.compile(r"\b(" + "|".join(WORDS) + r")\b")
_BACK = {other: word for word, other in WORDS.items()}
_BACKWARDS = re.compile(r"\b(" + "|".join(_BACK) + r")\b")
# What those who run the store do to any org; they read nothing that was said in it.
RUN = {
    "keys.list", "keys.create", "keys.revoke", "matrix.show", "matrix.set", "matrix.resolve", "metrics",
    "graph.decay", "jobs.run", "doctor",
}  # fmt: skip
_TABLES = """select t.name from sqlite_master t, pragma_table_info(t.name) c
    where t.type = 'table' and c.name = 'org_id' and t.sql not like 'create virtual%'"""
_IDS = re.compile(r"\b([a-z]{2,4})_[0-9a-z]{12,32}\b")
_HASHES = re.compile(r"\b(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{64})\b")  # of names and texts
_TIMES = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d)|\b1[67]\d{11}\b")
_TRACES = re.compile(r'"(trace_id|traceId|requestId|request_id|snapshotId|snapshot_id)":"[^"]*"')
_CHANGES = re.compile(r'"(ms|\w+_ms|\w+Ms|oldest_s|version)":[\d.]+')  # from one call to the next


# -- what verbs and tools are asked --------------------------------------------------------------------

SCOPE = {"project": "web", "user": "olga"}
IDS = {
    "sessions": "running", "quarantine": "held", "jobs": "job", "conflicts": "conflict", "merges": "merge",
    "keys": "key", "retention": "retention",
}  # fmt: skip
ARGUMENTS: dict[str, Any] = {
    "scope": SCOPE, "project": "web", "org": "acme", "user": "olga", "owner": "acme", "slug": "acme",
    "cursor": "{memory}", "session": "{running}", "session_id": "{running}", "memory_id": "{memory}",
    "delivery": "{delivery}", "worker": "w1", "token": "{token}", "node": "{memory}", "start": "{memory}",
    "goal": "{newer}", "focus": "{memory}", "source": "{memory}", "target": "{newer}", "relation": "contradicts",
    "query": f"{SAID} cache", "expect": "{memory}", "keep": "{twin}", "others": ["{twins}"],
    "supersedes": "{memory}",
    "version": 1, "content": "ours", "outcome": "accepted", "verdict": "up", "name": "quiet", "text": "x",
    "switch": "graph", "on": True, "work_type": "feature", "role": "member", "dest": "shop/api", "ttl_days": 9,
    "files": {}, "mode": "shadow", "strategy": "baseline", "all_projects": True, "after": 0, "everything": False,
    "draft": {"session": "{running}", "text": "ours"}, "drafts": [{"content": "ours", "parents": ["{memory}"]}],
    "call": {"tool": "Bash", "command": "make {memory}", "exit_status": 2, "error_line": "no rule"},
    "event": {"v": 1, "session": "{running}", "tool": "Edit", "paths": ["src/pay/ledger.py"], "new": 1},
    "parents": ["{memory}"], "corrected_by": "{newer}",
}  # fmt: skip
ESPECIALLY: dict[str, dict[str, Any]] = {
    "recall": {"mode": "all"}, "xray": {"mode": "all"}, "why": {"mode": "all"}, "context": {"mode": "all"},
    "orgs.create": {"name": "Acme"}, "orgs.use": {"mode": "auto"}, "transfer.grant": {"source": "web"},
    "transfer.revoke": {"source": "web"}, "conflicts.resolve": {"keep": "a"}, "rollout.trace": {"mode": "all"},
    "policies.load": {"text": "permit (x"}, "sessions.refresh": {"acked": ["{delivery}"]},
    "retention.set": {"project": "ops"}, "merges.corroboration": {"id": "{memory}"}, "learn.judge": {"scope": None},
    "sessions.start": {"user": None}, "observe": {"scope": {"project": "ops"}},
    "inject.warm": {"event": {"session": "{running}", "tool": "Edit"}},
    "orgs.route": {"project": "web", "org": "acme", "user": "olga"},
}  # fmt: skip
TOOLS: dict[str, dict[str, Any]] = {
    "memory_recall": {"query": f"{SAID} cache", **PLACE},
    "memory_show": {"ids": ["{memory}", "{newer}"]},
    "memory_remember": {"content": "ours", "supersedes": "{memory}", **PLACE},
    "memory_edit": {"id": "{memory}", "content": "ours", "project": "web"},
    "memory_forget": {"id": "{memory}", "project": "web"},
    "memory_timeline": {"id": "{memory}", **PLACE},
    "memory_context": {"query": f"{SAID} cache", **PLACE},
    "graph_query": {"kind": "neighbors", "node": "{memory}", "project": "web"},
    "queue_claim": {"session": "{running}", "worker": "w1", "token": "{token}"},
    "queue_ack": {"session": "{running}", "delivery_id": "{delivery}", "worker": "w1", "token": "{token}"},
}


def verb_asks() -> Iterator[tuple[str, Ask]]:
    """Every verb that can be called from afar, with all the arguments by which it could be led astray."""
    for name, verb in VERBS.items():
        if verb.is_value:
            continue
        method = method_named(name)
        taken = [argument for argument in arguments_of(verb, method) if argument in (*ARGUMENTS, "id")]
        id = "{" + IDS.get(name.partition(".")[0], "memory") + "}"
        given = {argument: ARGUMENTS.get(argument, id) for argument in taken} | ESPECIALLY.get(name, {})
        yield name, Ask(name, given)


def tool_asks() -> Iterator[tuple[str, Ask]]:
    for name, arguments in TOOLS.items():
        yield name, Ask(body=MESSAGE | {"params": {"name": name, "arguments": arguments}})


TRY_ALL = (OTHERS[0], OTHERS[-1], RUNS_IT)  # of the many roles those who may most and least


# -- asking ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Probe:
    """One question about what is there and about what is not, by one who may see neither."""

    name: str
    who: Identity
    asked: str
    there: Got
    nowhere: Got


def send(api: Api, route: Route, ask: Ask, names: Names, who: Identity | None, *, other: bool = False) -> Got:
    told = [_filled(part, names) for part in (ask.path, ask.body, ask.query or {})]
    parts, body, query = _swapped(told) if other else told
    given = iter(parts.split("/"))
    path = "/".join(next(given) if part.startswith("{") else part for part in route.path.split("/"))
    content = None if ask.lines is None else ("application/x-ndjson", ask.lines)
    if body is None and route.has_body and content is None:
        body = {}
    headers = HEADERS.get(route.name)
    return api(route.method, path, body, who=who, content=content, headers=headers, **query)


def _swapped(value: Any) -> Any:
    return json.loads(_WORD.sub(lambda found: WORDS[found[0]], json.dumps(value)))


def nothing(names: Names) -> Names:
    """Ids that look the same and that nobody has."""
    return {name: id if id.isdigit() else id[:-4] + "0000" for name, id in names.items()}


def probe(api: Api, name: str, route: Route, ask: Ask, names: Names, who: Identity, *, other: bool = True) -> Probe:
    """`other`: not only other ids, but also other names of projects, orgs, agents and things."""
    nowhere = send(api, route, ask, nothing(names), who, other=other)
    asked = json.dumps([ask.path, ask.body, ask.query])
    return Probe(name, who, asked.lower(), send(api, route, ask, names, who), nowhere)


def probes(api: Api, names: Names, whose: Sequence[Identity]) -> Iterator[Probe]:
    for who in whose:
        for name, ask in ALL.items():
            yield probe(api, name, ROUTES[name], ask, names, who)
    for who in (one for one in whose if one in TRY_ALL):
        for name, ask in verb_asks():
            yield probe(api, f"call {name}", ROUTES["call"], ask, names, who)
        for name, ask in tool_asks():
            yield probe(api, f"tool {name}", ROUTES["mcp"], ask, names, who)


def plain(got: Got) -> tuple[int, Mapping[str, str], str]:
    text = got.body.decode("utf-8", "replace")
    for pattern, put in (
        (_IDS, r"\1_ID"),
        (_HASHES, "HASH"),
        (_TIMES, "TIME"),
        (_TRACES, r"\1"),
        (_CHANGES, r"\1"),
    ):
        text = pattern.sub(put, text)
    headers = {name: value for name, value in got.headers.items() if name != "content-length"}
    return got.status, headers, _BACKWARDS.sub(lambda found: _BACK[found[0]], text)


def leaks(probe: Probe, secrets: Sequence[str]) -> list[str]:
    """Words that the request did not hold itself."""
    answered = f"{probe.there.headers} {probe.there.body.decode('utf-8', 'replace')}".lower()
    return [word for word in secrets if word in answered and word not in probe.asked]


def rows_of(path: Path, org: str) -> dict[str, list[str]]:
    """All that the store has of an org. With its own library: a second one would undo the locks of the first."""
    with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)) as db:
        tables = [name for (name,) in db.execute(_TABLES)]
        return {
            one: sorted(map(repr, db.execute(f'select * from "{one}" where org_id = ?', (org,)))) for one in tables
        }


# -- the store, and what was answered about it -----------------------------------------------------------


@dataclass(frozen=True)
class Told:
    """What everybody was told, and the rows of the first org before and after."""

    others: list[Probe]
    operator: list[Probe]
    before: dict[str, list[str]]
    after: dict[str, list[str]]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tenants") / "clew.db"


@pytest.fixture(scope="module")
def names(path: Path) -> Names:
    """What the first org has, its most telling things first."""
    found = two_orgs(path)
    said = {"memory": "said", "running": "working", "token": "working_token", "delivery": "waits"}
    said |= {"held": "said_held", "job": "said_job", "ended": "done"}
    return found | {name: found[other] for name, other in said.items()}


@pytest.fixture(scope="module")
def api(path: Path, names: Names) -> Iterator[Api]:
    with opened(path) as clew:
        yield Api(clew, tuple(ROUTES.values()))


@pytest.fixture(scope="module")
def told(api: Api, names: Names, path: Path) -> Told:
    before = rows_of(path, ORG)
    others = list(probes(api, names, OTHERS))
    after = rows_of(path, ORG)
    return Told(others, list(probes(api, names, (RUNS_IT,))), before, after)


# -- other orgs --------------------------------------------------------------------------------------


def test_every_route_verb_and_tool_is_asked() -> None:
    """A new one belongs into the tables above, with what it could be asked about another org."""
    assert set(ALL) == set(ROUTES) - ENDLESS
    assert set(TOOLS) == set(BY_NAME)
    for name, ask in verb_asks():
        check_complete(name, ask.body)


def check_complete(name: str, given: Mapping[str, Any]) -> None:
    inspect.signature(method_named(name)).bind(None, **given)


def test_no_word_of_an_org_reaches_another(told: Told) -> None:
    assert not [(probe.name, probe.who, leaks(probe, SECRETS)) for probe in told.others if leaks(probe, SECRETS)]


def test_what_is_not_ones_own_looks_like_what_is_not_there(told: Told) -> None:
    for probe in told.others:
        assert plain(probe.there) == plain(probe.nowhere), (probe.name, probe.who)


def test_nobody_changes_a_row_of_another_org(told: Told) -> None:
    assert len(told.before) > 20 and told.before["memories"]
    assert told.after == told.before


def test_most_of_what_was_asked_was_understood(told: Told) -> None:
    """A request that is refused as malformed proves nothing."""
    malformed = [probe.name for probe in told.others if probe.there.status in (400, 415, 422)]
    assert len(malformed) < len(told.others) / 20, sorted(set(malformed))


def test_who_runs_the_store_reads_nothing_that_was_said_in_it(told: Told) -> None:
    said = [word for word in SECRETS if word != NAMED]
    assert not [(probe.name, leaks(probe, said)) for probe in told.operator if leaks(probe, said)]


def test_who_runs_the_store_sees_of_an_org_only_how_it_is_set_up(told: Told) -> None:
    for probe in told.operator:
        name = probe.name.removeprefix("call ")
        if name not in RUN and not name.startswith("orgs."):
            assert plain(probe.there) == plain(probe.nowhere), probe.name
            assert not leaks(probe, (NAMED,)), probe.name


def test_there_were_enough_probes(told: Told) -> None:
    assert 2 * (len(told.others) + len(told.operator)) >= 2_000


# -- colleagues --------------------------------------------------------------------------------------

OF_ONE = {
    "show", "edit", "forget", "history", "revert", "why", "learn.show", "learn.judge", "graph.explore",
    "merges.corroboration", "call", "mcp",
}  # fmt: skip


@pytest.fixture(scope="module")
def hers(names: Names) -> Names:
    """What is private to the owner."""
    return names | {"memory": names["private"], "running": names["private_session"]}


def test_what_is_private_stays_so_among_colleagues(api: Api, hers: Names) -> None:
    found = set()
    for who, (name, ask) in product(COLLEAGUES, ALL.items()):
        got = send(api, ROUTES[name], ask, hers, who)
        found |= {(name, who)} if leaks(Probe(name, who, "", got, got), (PRIVATE,)) else set()
    assert not found


@pytest.mark.parametrize("name", sorted(OF_ONE))
def test_what_is_private_looks_like_what_is_not_there(api: Api, hers: Names, name: str) -> None:
    for who in COLLEAGUES:
        one = probe(api, name, ROUTES[name], ALL[name], hers, who, other=False)
        assert plain(one.there) == plain(one.nowhere), who


# -- who may ask at all ------------------------------------------------------------------------------

OPEN = {"healthz", "openapi"}
FOR_OPERATORS = {
    "doctor", "metrics", "settings.show", "matrix.set", "graph.decay", "graph.last_recall", "jobs.run",
    "jobs.backfill.status", "jobs.backfill.run", "jobs.backfill.pause", "jobs.backfill.resume", "orgs.create",
}  # fmt: skip
ON_THIS_MACHINE = {"hooks.event", "hooks.seen"}


@pytest.fixture(scope="module")
def door(path: Path, api: Api) -> Iterator[Asked]:
    """With the credentials of the real server."""
    asked = Asked(api.clew, tuple(ROUTES.values()))
    yield asked
    asked.close()


def knock(door: Asked, name: str, **given: Any) -> Any:
    route = ROUTES[name]
    path = re.sub(r"\{\w+\}", "x", route.path)
    return door(route.method, path, {} if route.has_body else None, **given)


def test_each_route_says_who_may_ask() -> None:
    """What is new here is a decision: it belongs into the sets above, or asks for a credential of an org."""
    assert {name for name, route in ROUTES.items() if route.is_open} == OPEN
    assert {name for name, route in ROUTES.items() if route.for_operators} == FOR_OPERATORS
    assert {name for name, route in ROUTES.items() if route.only_local} == ON_THIS_MACHINE


@pytest.mark.parametrize("via", [LOOPBACK, NETWORK])
def test_without_a_credential_only_what_is_open_is_answered(door: Asked, via: str) -> None:
    for name in ROUTES.keys() - OPEN:
        got = knock(door, name, via=via)
        assert (got.status, got.headers["www-authenticate"]) == (401, "Bearer"), name
    assert {knock(door, name, via=via).status for name in OPEN} == {200}


def test_a_wrong_credential_is_as_good_as_none(door: Asked) -> None:
    for number, name in enumerate(sorted(ROUTES.keys() - OPEN)):
        got = knock(door, name, via=LOOPBACK, token=f"clew_{'0' * 26}_{'x' * 43}", client=f"10.0.0.{number}")
        assert got.status == 401, name


def test_what_concerns_the_whole_store_is_for_its_operators(api: Api, names: Names) -> None:
    for name in FOR_OPERATORS:
        for who in (*OTHERS, OWNER, ADMIN, MEMBER):
            got = send(api, ROUTES[name], ALL[name], names, who)
            assert (got.status, got.json["code"]) == (403, "OPERATOR_ONLY"), (name, who)


def test_hooks_that_look_at_files_are_for_this_machine_alone(door: Asked) -> None:
    token = door.clew.keys.create("all", user="opal", roles=("owner", "operator"), identity=OPERATOR).token
    for name in ON_THIS_MACHINE:
        assert knock(door, name, via=LOOPBACK, token=token).code == "LOCAL_ONLY"


# -- identity is no argument -------------------------------------------------------------------------

GUESSES = {"org": ORG, "org_id": ORG, "tenant": ORG, "tenantId": ORG, "user_id": "olga", "identity": {"org": ORG}}


@pytest.mark.parametrize("guess", GUESSES)
def test_a_body_that_names_somebody_else_is_refused(api: Api, names: Names, guess: str) -> None:
    for name, route in ROUTES.items():
        if not (route.has_body and isinstance(ALL[name].body, dict)) or name in {"mcp", *ON_THIS_MACHINE}:
            continue
        ask = replace(ALL[name], body=ALL[name].body | {guess: GUESSES[guess]})
        got = send(api, route, ask, names, OTHERS[0])
        assert got.status in (400, 403, 404, 409), (name, got.status)


@pytest.mark.parametrize("guess", ["org", "user_id", "tenantId", "as", "impersonate"])
def test_a_query_that_names_somebody_else_is_refused(api: Api, names: Names, guess: str) -> None:
    for name in ("memories.list", "sessions.list", "stats", "export", "graph.status", "audit.list", "jobs.list"):
        ask = replace(ALL[name], query=(ALL[name].query or {}) | {guess: ORG})
        assert send(api, ROUTES[name], ask, names, OTHERS[0]).status == 400, name


@pytest.mark.parametrize(
    "header", ["x-org", "x-user", "x-forwarded-user", "x-clew-org", "clew-user", "remote-user"]
)
def test_a_header_that_names_somebody_else_is_ignored(api: Api, header: str) -> None:
    got = api("GET", "/v1/stats", who=OTHERS[0], headers={header: ORG})
    assert got.json["org"] == OTHERS[0].org


def test_where_the_file_of_the_store_lies_is_told_to_its_operators_alone(api: Api) -> None:
    """Its size grows with what all the orgs write."""
    told = api("POST", "/v1/call/stats", {}, who=OTHERS[0]).json
    assert (told["path"], told["file_bytes"], told["bytes_per_memory"]) == ("", 0, 0)
    assert api("POST", "/v1/call/stats", {}, who=OPERATOR).json["file_bytes"] > 0

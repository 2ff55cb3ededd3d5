"""What went wrong in systems like this one does not go wrong here. One test per kind of incident; those that other
files prove are named in docs/parity.md."""

from __future__ import annotations

import ast
import asyncio
import json
import pickle
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

sys.path.append(str(Path(__file__).parent / "http"))  # its drivers serve here, too

from routes_driver import Api, Inline, scope_of
from test_routes import _with
from test_tenants import ALL, HEADERS, ROUTES
from toys_api import OWNER, opened, seeded

from clew.clew import Clew
from clew.model.scope import Identity, Scope
from clew.surfaces.http.app import make_app
from clew.surfaces.http.openapi import document
from toys import open_toy

SOURCE = Path(__file__).parents[2] / "src"
XSS = '"><img src=x onerror=alert(1)>'
SQL = "' OR 1=1 --"


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    path = tmp_path_factory.mktemp("peers") / "clew.db"
    seeded(path)
    with opened(path) as clew:
        yield Api(clew, tuple(ROUTES.values()))


# -- configuration: secrets out, addresses in --------------------------------------------------------


def test_settings_are_shown_without_secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """mem0 #6081, claude-mem #3680: the configuration told keys in the clear."""
    monkeypatch.setenv("CLEW_LLM_KEY", "sk-live-abc123")
    with open_toy(tmp_path / "clew.db", llm={"url": "https://me:hunter2@llm.example/v1"}) as clew:
        got = Api(clew)("GET", "/v1/settings")
    assert "llm.example" in got.body.decode()
    assert not [secret for secret in ("hunter2", "sk-live-abc123") if secret in got.body.decode()]


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_settings_cannot_be_changed_over_the_network(api: Api, method: str) -> None:
    assert api(method, "/v1/settings", {"llm.base_url": "http://169.254.169.254/"}).status == 405


def test_no_request_names_an_address_that_the_server_would_ask() -> None:
    """mem0 #6081: a base url of the caller's choice made the server ask it."""
    words = re.compile(r"ur[li]|endpoint|webhook|callback|proxy|hook_?to", re.IGNORECASE)
    assert not [name for name in taken_names() if words.search(name)]


def taken_names() -> set[str]:
    """Everything that any operation takes by name."""
    told, found = document(), set()
    for path in told["paths"].values():
        for operation in path.values():
            found |= {one["name"] for one in operation["parameters"]}
            found |= properties(operation.get("requestBody", {}), told["components"]["schemas"])
    return found


def properties(node: Any, known: dict[str, Any], seen: frozenset[str] = frozenset()) -> set[str]:
    if isinstance(node, list):
        return set().union(*(properties(one, known, seen) for one in node))
    if not isinstance(node, dict):
        return set()
    name = str(node.get("$ref", "")).rpartition("/")[2]
    found = set(node.get("properties", {}))
    if name and name not in seen:
        found |= properties(known[name], known, seen | {name})
    return found.union(*(properties(one, known, seen) for one in node.values()))


# -- files -------------------------------------------------------------------------------------------


def test_no_route_and_no_tool_reads_a_file_that_the_caller_names(api: Api, tmp_path: Path) -> None:
    """claude-mem #3680: a tool read ~/.ssh/id_rsa."""
    secret = tmp_path / "id_rsa"
    secret.write_text("-----BEGIN marmalade PRIVATE KEY-----\n")
    for name, ask in ALL.items():
        route = ROUTES[name]
        path = re.sub(r"\{\w+\}", lambda _: quote(str(secret), safe=""), route.path)
        body = _with(ask.body, str(secret)) if ask.body is not None else {} if route.has_body else None
        content = None if ask.lines is None else ("application/x-ndjson", str(secret).encode())
        query = _with(ask.query or {}, str(secret))
        got = api(route.method, path, body, who=OWNER, content=content, headers=HEADERS.get(name), **query)
        assert b"marmalade" not in got.body and got.status != 500, name


def test_a_hook_reads_no_transcript_outside_its_hosts_folders(memory: Clew, tmp_path: Path) -> None:
    secret = tmp_path / "notes.jsonl"
    secret.write_text(json.dumps({"type": "user", "message": {"role": "user", "content": "marmalade"}}) + "\n")
    event = {
        "hook_event_name": "SessionEnd",
        "session_id": "s1",
        "cwd": str(tmp_path),
        "transcript_path": str(secret),
    }
    got = Api(memory)("POST", "/v1/hooks/claude-code", event, headers={"Clew-Event-Id": "0" * 32})
    memory.hosts.capture_waiting(limit=100)
    assert got.status == 200 and b"marmalade" not in got.body
    assert "marmalade" not in " ".join(one.content for one in memory.list(all_projects=True))


# -- text that is more than text ---------------------------------------------------------------------


@pytest.mark.parametrize("field", ["type", "layer", "classification"])
def test_a_closed_field_takes_no_other_word_and_no_answer_is_a_page(api: Api, field: str) -> None:
    """opencode-mem #135: markup in `memoryType` ran in the viewer."""
    got = api("POST", "/v1/memories", {"content": "x", field: XSS}, who=OWNER)
    assert (got.status, got.headers["content-type"]) == (400, "application/problem+json")
    assert got.headers["x-content-type-options"] == "nosniff"


def test_markup_in_any_field_is_answered_as_json_alone(api: Api) -> None:
    made = api("POST", "/v1/memories", {"content": XSS, "title": XSS, "tags": [XSS], "category": XSS}, who=OWNER)
    got = api("GET", f"/v1/memories/{made.json['id']}", who=OWNER)
    assert got.json["title"] == XSS and got.headers["content-type"] == "application/json"


@pytest.mark.parametrize("name", [SQL, "tag[$ne]", "metadata.x')) OR 1=1 --", "order_by", "json_extract(x,'$')"])
def test_a_filter_that_is_none_of_ours_is_refused(api: Api, name: str) -> None:
    """LangGraph CVE-2025-67644: names of filters became SQL."""
    assert api("GET", "/v1/memories", who=OWNER, **{name: "1"}).status == 400
    assert api("POST", "/v1/recall", {"query": "cache", name: "1"}, who=OWNER).status == 400


@pytest.mark.parametrize(
    "value", [SQL, "') UNION SELECT token FROM api_keys --", 'x" OR NEAR(', "%", "a AND NOT b"]
)
def test_values_are_never_more_than_values(api: Api, value: str) -> None:
    """MemOS #1314, Graphiti #1317: values and labels became queries."""
    for field in ("tag", "session", "agent", "namespace", "pattern"):
        assert api("GET", "/v1/memories", who=OWNER, **{field: value}).json["memories"] == []
    assert api("POST", "/v1/link", {"source": "a", "relation": value, "target": "b"}, who=OWNER).status == 400
    assert api("POST", "/v1/recall", {"query": value, "project": value}, who=OWNER).status in (200, 400)


def test_names_in_metadata_stay_text(api: Api) -> None:
    named = {SQL: 1, "$.x": [2], "__proto__": {"a": 1}, "constructor": None}
    made = api("POST", "/v1/memories", {"content": "about names", "metadata": named}, who=OWNER)
    assert api("GET", f"/v1/memories/{made.json['id']}", who=OWNER).json["metadata"] == named


# -- code that comes as data -------------------------------------------------------------------------


class Boom:
    def __reduce__(self) -> Any:
        return (Path.touch, (Path("/nowhere"),))


@pytest.mark.parametrize("kind", ["application/x-pickle", "application/octet-stream", "application/x-yaml",
                                  "application/msgpack", "application/xml"])  # fmt: skip
def test_only_json_is_read(api: Api, kind: str) -> None:
    """LangGraph CVE-2026-28277 and -48775, Langflow CVE-2025-3248: what came was run."""
    assert api("POST", "/v1/recall", who=OWNER, content=(kind, pickle.dumps(Boom()))).status == 415
    assert api("POST", "/v1/import", who=OWNER, content=(kind, pickle.dumps(Boom()))).status == 415


MODULES = {"pickle", "marshal", "shelve", "dill", "yaml", "jsonpickle", "cloudpickle"}
CALLS = {"eval", "exec", "compile", "__import__"}


def test_nothing_in_the_program_can_run_what_it_was_sent() -> None:
    """The client of hooks runs files that lie beside it, and `dataclass` the names of fields; nothing else."""
    hooks = SOURCE / "clew" / "surfaces" / "hooks"
    known = {
        SOURCE / "clew_hook.py": {"exec"},
        hooks / "client.py": {"exec", "compile"},
        SOURCE / "clew" / "values.py": {"exec"},
    }
    for file in SOURCE.rglob("*.py"):
        text = file.read_text(encoding="utf-8")
        if any(word in text for word in (*MODULES, *(f"{call}(" for call in CALLS))):  # to parse all takes long
            found = dangerous(ast.parse(text))
            assert not found - known.get(file, set()), file


def dangerous(tree: ast.AST) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {one.name for one in node.names} & MODULES
        elif isinstance(node, ast.ImportFrom):
            found |= {node.module or ""} & MODULES
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            found |= {node.func.id} & CALLS
    return found


# -- answers that go astray --------------------------------------------------------------------------


def test_answers_of_clients_that_ask_at_once_do_not_cross(memory: Clew) -> None:
    """MCP TypeScript SDK CVE-2026-25536: with one transport for all, an answer reached another client."""
    whose = {name: Identity(name, "ann", roles=("owner",)) for name in ("acme", "globex", "initech")}
    for name, who in whose.items():
        memory.remember(f"the word of {name} is {name}-{name}", scope=Scope(org=name), identity=who)
    asked = [name for name in whose for _ in range(8)]
    app = make_app(memory, tuple(ROUTES.values()), lambda request: whose[request.token or ""], Inline())

    async def everybody() -> list[str]:
        return await asyncio.gather(*(recalled(app, name, number) for number, name in enumerate(asked)))

    for number, (name, answer) in enumerate(zip(asked, asyncio.run(everybody()), strict=True)):
        assert json.loads(answer)["id"] == number and f"{name}-{name}" in answer
        assert not [other for other in whose if other != name and other in answer]


async def recalled(app: Any, name: str, number: int) -> str:
    arguments = {"name": "memory_recall", "arguments": {"query": "word"}}
    body = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": arguments}
    headers = HEADERS["mcp"] | {
        "host": "localhost",
        "authorization": f"Bearer {name}",
        "content-type": "application/json",
    }
    waiting, sent = [json.dumps(body).encode()], []

    async def receive() -> Any:
        await asyncio.sleep(0)
        return {"type": "http.request", "body": waiting.pop(), "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message.get("body", b""))

    await app(scope_of("POST", "/mcp", {}, headers), receive, send)
    return b"".join(sent).decode()

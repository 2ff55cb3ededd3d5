"""What the API says of itself holds: requests are made up from its document and sent to it, good ones and bad ones.

No answer is a mistake of ours, has a status, type or shape that its operation does not name, or takes what the
document forbids; and what the document allows is not refused as malformed.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import schemathesis
from api_driver import TOKEN
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from routes_driver import Inline
from schemathesis import Case, GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi import checks
from toys_api import OPERATOR, ORG, OTHER_PROJECT, OWNER, PROJECT, QUIET, WORKER, opened
from toys_tenants import OTHERS, two_orgs

from clew.model.scope import Identity
from clew.surfaces.http.app import App, make_app
from clew.surfaces.http.auth import Authenticator
from clew.surfaces.http.openapi import document
from clew.surfaces.http.request import LOOPBACK
from clew.surfaces.http.route import JSON
from clew.surfaces.http.routes import all_routes

LAST = {"forget", "memories.forget", "quarantine.drop", "policies.load"}  # they take from the others what is there
ENDLESS = {"graph.changes"}  # a stream; tests of its own read it
CHECKS = [
    not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_headers_conformance,
    checks.response_schema_conformance,
    checks.negative_data_rejection,
]
GOOD, BAD = GenerationMode.POSITIVE, GenerationMode.NEGATIVE
ROUTES = {route.name: route for route in all_routes()}
Names = dict[str, str]
Question = tuple[Case, Identity, bool]


@schemathesis.serializer("application/x-ndjson")
def lines(_context: Any, value: Any) -> bytes:
    return str(value).encode("utf-8", "replace")


def without_credentials() -> dict[str, Any]:
    """The server of these tests adds them; what happens without is another test's."""
    told = copy.deepcopy(document())
    del told["security"], told["components"]["securitySchemes"]
    for path in told["paths"].values():
        for operation in path.values():
            operation.pop("security", None)
    return told


SCHEMA = schemathesis.openapi.from_dict(without_credentials())
SCHEMA.config.checks.negative_data_rejection.expected_statuses = ["400", "403", "404", "409", "413", "415", "422"]
OPERATIONS = {
    operation.definition.raw["operationId"]: operation
    for operation in (found.ok() for found in SCHEMA.get_all_operations())
}


class Served:
    """The API over loopback, asked by whoever `token` stands for."""

    def __init__(self, app: App, tokens: Mapping[Identity, str]) -> None:
        self._app = app
        self.tokens = tokens
        self.who = OWNER

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            ours = [(b"host", b"localhost"), (b"authorization", f"Bearer {self.tokens[self.who]}".encode())]
            names = {name for name, _ in ours}
            headers = [*ours, *((name, value) for name, value in scope["headers"] if name not in names)]
            scope = {**scope, "headers": headers, "state": {"via": LOOPBACK}}
        await self._app(scope, receive, send)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, Names]]:
    path = tmp_path_factory.mktemp("schema") / "clew.db"
    names = two_orgs(path)
    with opened(path) as clew:
        tokens = {
            who: clew.keys.create("test", user=who.user, roles=who.roles, org=who.org, identity=OPERATOR).token
            for who in (OWNER, OTHERS[0])
        }
        app = make_app(clew, all_routes(), Authenticator(clew, local_token=TOKEN), Inline())
        yield Served(app, tokens | {OPERATOR: TOKEN}), names


def places(path: str, names: Names) -> list[dict[str, str]]:
    """Path parameters that name something. An empty one leaves them to chance."""
    ids = {
        "/memories/": [names["memory"], names["newer"], names["said"]],
        "/sessions/": [names["running"], names["waiting"], names["working"], names["ended"]],
        "/jobs/": [names["job"]],
        "/conflicts/": [names["conflict"]],
        "/merges/": [names["merge"]],
        "/quarantine/": [names["held"]],
        "/retention/": [names["retention"]],
        "/keys/": [names["key"]],
    }
    found = [{"id": id} for part, some in ids.items() if part in path for id in some if "{id}" in path]
    fixed = {"{project}": PROJECT, "{org}": ORG, "{work_type}": "feature", "{switch}": "graph", "{verb}": "recall"}
    fixed |= {"{host}": "claude-code", "{agent}": "codex", "{name}": "quiet", "{delivery}": names["delivery"]}
    known = {name[1:-1]: value for name, value in fixed.items() if name in path}
    return [known | one for one in found or ([{}] if known else [])] + [{}]


def known(names: Names) -> dict[str, Any]:
    """Fields of a body or query by what they could well name."""
    return {
        "project": PROJECT, "source": names["memory"], "target": names["newer"], "relation": "contradicts",
        "expect": names["memory"], "keep": names["twin"], "others": [names["twins"]], "supersedes": names["older"],
        "node": names["memory"], "from": names["memory"], "to": "LedgerService", "focus": "LedgerService",
        "worker": WORKER, "token": int(names["token"]), "session": names["running"], "org": ORG, "user": "mia",
        "owner": "acme-inc", "name": "some", "roles": [], "agent": None, "dest": OTHER_PROJECT, "text": QUIET,
        "slug": "some-org", "files": {"requirements.txt": "django==5.0"}, "limit": 3, "cursor": None,
        "tool": "Bash", "command": "make", "exit_status": 2, "error_line": "no rule", "outcome": "accepted",
        "event_id": "0" * 32,
    }  # fmt: skip


def asked(name: str, mode: GenerationMode, names: Names) -> st.SearchStrategy[Question]:
    """A request, who sends it, and whether it names what is there."""
    operation, route = OPERATIONS[name], ROUTES[name]
    cases = st.sampled_from(places(operation.path, names)).flatmap(
        lambda path: operation.as_strategy(generation_mode=mode, **({"path_parameters": path} if path else {}))
    )
    who = [OPERATOR, OWNER] if route.for_operators or route.only_local else [OWNER, OPERATOR, OTHERS[0]]
    return st.tuples(cases, st.sampled_from(who), st.booleans())


def naming(value: Any, names: Names) -> Any:
    """With known things in the place of chance, where it has such fields."""
    if not isinstance(value, dict):
        return value
    some = known(names)
    return {key: some.get(key, item) for key, item in value.items() if some.get(key, "") is not None}


def can_be_wrong(name: str) -> bool:
    """A text file may say anything, and a path is a text."""
    route = ROUTES[name]
    if route.has_body:
        return route.consumes == JSON and route.body is not bytes
    return any(one["in"] != "path" for one in OPERATIONS[name].definition.raw["parameters"])


def whole(value: Any) -> Any:
    """3.0 is an integer for a schema, but not for those who read our JSON."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**63:
        return int(value)
    if isinstance(value, dict):
        return {key: whole(item) for key, item in value.items()}
    return [whole(item) for item in value] if isinstance(value, list) else value


def hold_to(question: Question, app: Served, names: Names) -> None:
    case, app.who, is_known = question
    is_good = case.meta is not None and case.meta.generation.mode is GOOD
    if isinstance(case.body, dict | list):
        case.body = whole(case.body)
    if is_good and is_known:
        case.body, case.query = naming(case.body, names), naming(case.query, names)
    response = case.call(app=app)
    assert response.status_code not in (401, 429), "then nothing is looked at"
    case.validate_response(response, checks=CHECKS)
    if is_good and response.status_code == 400:
        assert b"REQUEST_INVALID" not in response.content, response.text


def run(name: str, mode: GenerationMode, examples: int, served: tuple[Served, Names], *, fixed: bool) -> None:
    app, names = served

    @settings(
        max_examples=examples,
        derandomize=fixed,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate] if fixed else [Phase.generate, Phase.shrink],
    )
    @given(asked(name, mode, names))
    def holds(question: Question) -> None:
        hold_to(question, app, names)

    holds()


ASKED = sorted(OPERATIONS.keys() - ENDLESS, key=lambda name: (name in LAST, name))
WRONG = [name for name in OPERATIONS if can_be_wrong(name) and name not in ENDLESS]


def test_every_operation_but_a_stream_is_asked() -> None:
    assert set(OPERATIONS) == set(ROUTES) and len(WRONG) > len(OPERATIONS) / 2


@pytest.mark.parametrize("name", ASKED)
def test_an_operation_answers_as_its_document_says(served: tuple[Served, Names], name: str) -> None:
    run(name, GOOD, 2, served, fixed=True)


@pytest.mark.parametrize("name", sorted(WRONG))
def test_what_the_document_forbids_is_refused(served: tuple[Served, Names], name: str) -> None:
    run(name, BAD, 1, served, fixed=True)


@pytest.mark.torture
@pytest.mark.parametrize("name", ASKED)
def test_an_operation_answers_as_its_document_says_at_length(served: tuple[Served, Names], name: str) -> None:
    run(name, GOOD, 200, served, fixed=False)
    if name in WRONG:
        run(name, BAD, 200, served, fixed=False)

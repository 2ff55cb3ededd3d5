"""Every verb from afar, and every tool, with odd values in the place of each argument: refused or taken, never a
mistake of ours."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from routes_driver import Api
from test_routes import _filled
from test_tenants import HEADERS, MESSAGE, ROUTES, TOOLS, verb_asks
from toys_api import OPERATOR, OWNER, opened
from toys_tenants import two_orgs

from clew.wire.calls import arguments_of
from clew.wire.client import method_named
from clew.wire.verbs import VERBS

Names = dict[str, str]
ODD: tuple[Any, ...] = (
    None, "", " ", "\x00", "a\u2028b", "x" * 5_000, "\U0001f9f6\u202e..", "' OR 1=1 --", "../../etc/passwd", True,
    0, -1, 2**31, 2**63, 10**30, 1e308, -0.0, [], {}, [None], [[]], {"a": None}, {"": {"": ""}}, ["\x00"] * 3,
    "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "2026-01-01",
)  # fmt: skip
BASES = dict(verb_asks())


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Api, Names]]:
    path: Path = tmp_path_factory.mktemp("odd") / "clew.db"
    names = two_orgs(path)
    with opened(path) as clew:
        yield Api(clew, tuple(ROUTES.values())), names


def call(api: Api, name: str, arguments: dict[str, Any]) -> None:
    """The driver holds the answer against what the route says; a 500 is none of it."""
    who = OPERATOR if len(arguments) % 2 else OWNER
    got = api("POST", f"/v1/call/{name}", arguments, who=who)
    assert got.status in (200, 400, 403, 404, 409), (name, arguments, got.json)


def odd_calls(name: str, names: Names) -> Iterator[dict[str, Any]]:
    base = _filled(BASES[name].body, names)
    for argument in arguments_of(VERBS[name], method_named(name)):
        for value in ODD:
            yield base | {argument: value}


@pytest.mark.parametrize("start", range(3))
def test_no_verb_breaks_on_an_odd_argument(filled: tuple[Api, Names], start: int) -> None:
    """Some here, the others at length."""
    api, names = filled
    for name in list(BASES)[start::3]:
        for arguments in list(odd_calls(name, names))[start :: len(ODD) + 7]:
            call(api, name, arguments)


@pytest.mark.torture
@pytest.mark.parametrize("name", BASES)
def test_no_verb_breaks_on_any_odd_argument(filled: tuple[Api, Names], name: str) -> None:
    api, names = filled
    for arguments in odd_calls(name, names):
        call(api, name, arguments)


@pytest.mark.parametrize("name", TOOLS)
def test_no_tool_breaks_on_an_odd_argument(filled: tuple[Api, Names], name: str) -> None:
    api, names = filled
    base = _filled(TOOLS[name], names)
    for argument in base:
        for value in ODD[len(argument) % 5 :: 5]:
            message = MESSAGE | {"params": {"name": name, "arguments": base | {argument: value}}}
            got = api("POST", "/mcp", message, headers=HEADERS["mcp"])
            assert got.status == 200 and got.json["result"], (name, argument, value)
            assert "FAILED" not in got.body.decode() and "internal" not in got.body.decode().lower()


@pytest.mark.parametrize("floor", [1e308, -1, 1.5])
def test_no_relevance_lies_beyond_0_and_1(filled: tuple[Api, Names], floor: float) -> None:
    got = filled[0]("POST", "/v1/call/recall", {"query": "cache", "floor": floor})
    assert (got.status, got.code) == (400, "RECALL_OPTION_INVALID")

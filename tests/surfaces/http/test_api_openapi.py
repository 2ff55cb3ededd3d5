"""The document that describes the API is made from its routes, and the copy in the repository is current."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from api_driver import Asked

from clew.surfaces.http.openapi import copy_path, document, text
from clew.surfaces.http.route import Route
from clew.surfaces.http.routes import all_routes


def operations() -> list[tuple[Route, dict[str, Any]]]:
    return [(route, document()["paths"][route.path][route.method.lower()]) for route in all_routes()]


def references(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        yield from (value for key, value in node.items() if key == "$ref")
        for value in node.values():
            yield from references(value)
    elif isinstance(node, list):
        for value in node:
            yield from references(value)


def test_the_copy_in_the_repository_is_current() -> None:
    assert copy_path().read_text(encoding="utf-8") == text(), "renew it: python -m clew.surfaces.http.openapi"


def test_the_server_hands_it_out_without_a_credential(asked: Asked) -> None:
    assert asked.get("/openapi.json", via="loopback").json == json.loads(text())


def test_every_operation_has_a_name_of_its_own() -> None:
    names = [operation["operationId"] for _route, operation in operations()]
    assert len(names) == len(set(names)) == len(all_routes())


def test_every_reference_leads_somewhere() -> None:
    known = document()["components"]["schemas"]
    assert {name.rsplit("/", 1)[1] for name in references(document())} <= set(known)


def test_every_parameter_of_a_path_is_described() -> None:
    for route, operation in operations():
        named = {one["name"] for one in operation["parameters"] if one["in"] == "path"}
        assert named == {part[1:-1] for part in route.path.split("/") if part.startswith("{")}, route.name


@pytest.mark.parametrize("status", [400, 429, 503])
def test_every_operation_says_what_its_errors_look_like(status: int) -> None:
    for route, operation in operations():
        assert operation["responses"][str(status)]["content"], route.name


def test_only_what_is_open_needs_no_credential() -> None:
    assert document()["security"] == [{"bearer": []}]
    opened = {route.path for route, operation in operations() if operation.get("security") == []}
    assert opened == {"/healthz", "/openapi.json"}


def test_a_conditional_change_and_a_creation_name_their_headers() -> None:
    headers = {
        route.name: {one["name"] for one in operation["parameters"] if one["in"] == "header"}
        for route, operation in operations()
    }
    assert headers["edit"] == {"If-Match"} and headers["remember"] == {"Idempotency-Key"}
    assert headers["hooks.event"] == {"Clew-Event-Id"}

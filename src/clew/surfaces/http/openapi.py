"""The API as an OpenAPI 3.1 document, made from the routes. `python -m clew.surfaces.http.openapi` renews the copy
under docs/."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from http import HTTPStatus
from inspect import cleandoc
from pathlib import Path
from types import UnionType
from typing import Any, Union, get_args, get_origin

import msgspec

from clew.surfaces.http.problems import MEDIA_TYPE, Problem
from clew.surfaces.http.route import JSON, Route
from clew.surfaces.http.routes import all_routes

Document = dict[str, Any]
REFS = "#/components/schemas/{name}"
_PARAMETER = re.compile(r"\{(\w+)\}")
_ALWAYS = (400, 421, 429, 500, 503)
_ABOUT = """Memory for coding agents. Identity comes from the credential alone; an id it may not see is not found.
Errors are problem documents (RFC 9457) with `code`, `next` and `trace_id`. Lists go on at `next_cursor`. A memory's
ETag is its version; If-Match on a change makes it conditional. A POST that creates takes an Idempotency-Key."""


@cache
def document() -> Document:
    from clew import __version__

    return openapi(all_routes(), version=__version__)


def openapi(routes: Sequence[Route], *, version: str) -> Document:
    schemas = _Schemas(routes)
    paths: dict[str, Document] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, schemas)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Clew", "version": version, "description": " ".join(_ABOUT.split())},
        "servers": [{"url": "/"}],
        "security": [{"bearer": []}],
        "paths": dict(sorted(paths.items())),
        "components": {
            "schemas": dict(sorted(schemas.components.items())),
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
        },
    }


class _Schemas:
    """The types of all routes by what they are in the document."""

    def __init__(self, routes: Sequence[Route]) -> None:
        kinds = [kind for route in routes for kind in _kinds(route)]
        parts = list(dict.fromkeys(part for kind in kinds for part in _alternatives(kind)))
        found, self.components = msgspec.json.schema_components(parts, ref_template=REFS)
        for schema in self.components.values():
            if "description" in schema:  # a docstring, which Python has indented or not
                schema["description"] = cleandoc(schema["description"])
        self._found = {repr(part): schema for part, schema in zip(parts, found, strict=True)}

    def of(self, kind: Any) -> Document:
        several = [self._found[repr(part)] for part in _alternatives(kind)]
        return several[0] if len(several) == 1 else {"anyOf": several}

    def fields_of(self, kind: type[msgspec.Struct]) -> Document:
        reference = self.of(kind)
        return dict(self.components[reference["$ref"].rsplit("/", 1)[1]]) if "$ref" in reference else reference


def _kinds(route: Route) -> Iterator[Any]:
    yield from (route.answer, route.query, Problem)
    if route.body not in (None, bytes):
        yield route.body
    if route.envelope is not None:
        yield route.envelope.failure


def _alternatives(kind: Any) -> tuple[Any, ...]:
    """Structs that stand beside each other in a union are described one by one."""
    if get_origin(kind) in (Union, UnionType):
        parts = get_args(kind)
        if sum(isinstance(part, type) and issubclass(part, msgspec.Struct) for part in parts) > 1:
            return parts
    return (kind,)


def _operation(route: Route, schemas: _Schemas) -> Document:
    operation: Document = {
        "operationId": route.name,
        "summary": route.summary,
        "tags": [route.name.partition(".")[0]],
        "parameters": [*_path_parameters(route), *_query_parameters(route, schemas), *_headers(route)],
        "responses": dict(sorted(_responses(route, schemas))),
    }
    if route.is_open:
        operation["security"] = []
    if route.has_body:
        operation["requestBody"] = _request_body(route, schemas)
    return operation


def _path_parameters(route: Route) -> list[Document]:
    text = {"type": "string", "minLength": 1}
    return [
        {"name": name, "in": "path", "required": True, "schema": text} for name in _PARAMETER.findall(route.path)
    ]


def _query_parameters(route: Route, schemas: _Schemas) -> list[Document]:
    fields = schemas.fields_of(route.query)
    required = fields.get("required", ())
    return [
        {"name": name, "in": "query", "required": name in required, "schema": _without_null(schema)}
        for name, schema in fields.get("properties", {}).items()
    ]


def _without_null(schema: Document) -> Document:
    """An address has no way to say null: the parameter is left out."""
    kinds = [kind for kind in schema.get("anyOf", ()) if kind != {"type": "null"}]
    rest = {
        key: value for key, value in schema.items() if key != "anyOf" and not (key == "default" and value is None)
    }
    return rest | (kinds[0] if len(kinds) == 1 else {"anyOf": kinds} if kinds else {})


def _headers(route: Route) -> list[Document]:
    found = []
    if route.is_idempotent:
        schema = {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[ -~]+$"}
        found.append({"name": "Idempotency-Key", "in": "header", "required": False, "schema": schema})
    if route.takes_if_match:
        schema = {"type": "string", "pattern": '^"[0-9]{1,18}"$'}
        found.append({"name": "If-Match", "in": "header", "required": False, "schema": schema})
    if route.needs_header is not None:
        name, pattern = route.needs_header
        found.append(
            {"name": name, "in": "header", "required": True, "schema": {"type": "string", "pattern": pattern}}
        )
    return found


def _request_body(route: Route, schemas: _Schemas) -> Document:
    is_typed = route.consumes == JSON and route.body is not bytes
    schema = (
        schemas.of(route.body) if is_typed else {"type": "object"} if route.consumes == JSON else {"type": "string"}
    )
    kinds = (route.consumes, *route.also_consumes)
    return {"required": True, "content": {kind: {"schema": schema} for kind in kinds}}


def _responses(route: Route, schemas: _Schemas) -> Iterator[tuple[str, Document]]:
    media = route.produces.partition(";")[0]
    schema = schemas.of(route.answer) if route.produces == JSON else {"type": "string"}
    for status in {route.status, *(one for one in route.also if one < 400)}:
        told: Document = {"description": _phrase(status), "content": {media: {"schema": schema}}}
        yield str(status), told
    failure = (JSON, route.envelope.failure) if route.envelope else (MEDIA_TYPE, Problem)
    problem = {failure[0]: {"schema": schemas.of(failure[1])}}
    for status in _failures(route):
        yield str(status), {"description": _phrase(status), "content": problem}


def _phrase(status: int) -> str:
    """As RFC 9110 has it, whichever Python tells."""
    return {413: "Content Too Large", 422: "Unprocessable Content"}.get(status) or HTTPStatus(status).phrase


def _failures(route: Route) -> list[int]:
    """Every status that is no success and that the route can give."""
    found = {*_ALWAYS, 403, *(status for status in route.also if status >= 400)}
    if not route.is_open:
        found |= {401}
    if "{" in route.path:
        found |= {404}
    if route.has_body:
        found |= {408, 413, 415}
    if route.takes_if_match:
        found |= {412}
    if route.is_idempotent:
        found |= {409, 422}
    if route.method != "GET" and not route.reads_only:
        found |= {507}
    return sorted(found)


def text() -> str:
    return json.dumps(document(), indent=1, ensure_ascii=False) + "\n"


def copy_path() -> Path:
    return Path(__file__).parents[4] / "docs" / "openapi.json"


if __name__ == "__main__":
    copy_path().write_text(text(), encoding="utf-8")
    sys.stdout.write(f"{copy_path()} is current\n")

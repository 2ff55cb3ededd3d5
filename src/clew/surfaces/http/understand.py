"""A request becomes a call: query and body as the route's types, the version it expects. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from functools import cache
from typing import Any

import msgspec

from clew.errors import InvalidInput
from clew.surfaces.http.request import Request, not_utf8
from clew.surfaces.http.route import JSON, Route
from clew.surfaces.whole import with_whole_numbers

_ETAG = re.compile(r'(?:W/)?"?(\d{1,18})"?')
_MANY = (
    msgspec.inspect.VarTupleType,
    msgspec.inspect.TupleType,
    msgspec.inspect.ListType,
    msgspec.inspect.SetType,
    msgspec.inspect.FrozenSetType,
)


def query_of(route: Route, request: Request) -> Any:
    """A parameter that takes several values is written several times."""
    given: dict[str, Any] = {}
    many = _lists(route.query)
    for name, value in request.parameters:
        if name in many:
            given.setdefault(name, []).append(value)
        elif name in given:
            raise _invalid("a query parameter is there twice")
        else:
            given[name] = value
    try:
        query = msgspec.convert(given, route.query, strict=False)
    except msgspec.ValidationError as error:
        raise _invalid(f"a query parameter is wrong: {error}") from None
    _check_given(query, given)
    return query


def _check_given(query: Any, given: Mapping[str, Any]) -> None:
    """The converter takes the word null for nothing and a number for a moment. An address says nothing by leaving
    a parameter out, and moments as RFC 3339."""
    for field in msgspec.structs.fields(query) if given else ():
        name = field.encode_name
        value = getattr(query, field.name)
        if name in given and (value is None or (isinstance(value, datetime) and ":" not in given[name])):
            raise _invalid(f"query parameter '{name}' is wrong: leave it out, or see what it takes")


@cache
def _lists(query: type[msgspec.Struct]) -> frozenset[str]:
    info = msgspec.inspect.type_info(query)
    fields = info.fields if isinstance(info, msgspec.inspect.StructType) else ()
    return frozenset(field.encode_name for field in fields if isinstance(_plain(field.type), _MANY))


def _plain(found: msgspec.inspect.Type) -> msgspec.inspect.Type:
    """Without the `None` of a union, and without what annotates it."""
    if isinstance(found, msgspec.inspect.Metadata):
        return _plain(found.type)
    if isinstance(found, msgspec.inspect.UnionType):
        kinds = [_plain(one) for one in found.types if not isinstance(one, msgspec.inspect.NoneType)]
        return kinds[0] if len(kinds) == 1 else found
    return found


@cache
def _decoder(body: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(body)


def body_of(route: Route, body: bytes) -> Any:
    if not route.has_body or route.to_file:
        return None
    if route.body is bytes or route.consumes != JSON:
        return body
    try:
        return _decoded(route, body)
    except msgspec.DecodeError as error:
        raise _invalid(f"the body is wrong: {error}") from None
    except UnicodeDecodeError:
        raise not_utf8("the body") from None
    except RecursionError:
        raise _invalid("the body is not JSON that can be read") from None


def _decoded(route: Route, body: bytes) -> Any:
    try:
        return _decoder(route.body).decode(body)
    except msgspec.ValidationError:
        return msgspec.convert(with_whole_numbers(msgspec.json.decode(body)), route.body)


def version_expected(route: Route, request: Request) -> int | None:
    given = request.headers.get("if-match")
    if given is None or not route.takes_if_match or given.strip() == "*":
        return None
    found = _ETAG.fullmatch(given.strip())
    if found is None:
        raise _invalid("If-Match is not the ETag of a memory")
    return int(found[1])


def _invalid(message: str) -> InvalidInput:
    return InvalidInput(message, code="REQUEST_INVALID", next="see /openapi.json for what the route takes")

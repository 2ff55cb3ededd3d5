"""What each tool takes: a type, of which both the schema that clients see and the check of what they send are made.

Schemas are kept short, because every session pays for them: no titles, no defaults of nothing.
"""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any, Literal, TypeAlias, TypeVar

import msgspec
from msgspec import Meta

from clew.errors import InvalidInput
from clew.surfaces.whole import with_whole_numbers

MAX_LIMIT = 50
MIN_TOKENS, MAX_TOKENS = 200, 20_000
MAX_WHOLE = 1 << 53  # what JSON can say of a number everywhere, and every store can hold

Type: TypeAlias = Literal["rule", "decision", "fact", "note", "skill"]
Origin: TypeAlias = Literal["agent", "user", "tool_output:local", "web", "mcp"]
Limit: TypeAlias = Annotated[int, Meta(ge=1, le=MAX_LIMIT)]
Tokens: TypeAlias = Annotated[int, Meta(ge=MIN_TOKENS, le=MAX_TOKENS, description="size of the answer")]
Project: TypeAlias = Annotated[str, Meta(description="'' for what all projects share")]
Session: TypeAlias = Annotated[str, Meta(description="only of this session")]
OfSession: TypeAlias = Annotated[str, Meta(description="the session it was learnt in")]
Texts: TypeAlias = Annotated[list[str], Meta(max_length=50)]

S = TypeVar("S", bound=msgspec.Struct)


class _Arguments(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    project: Project | None = None


class Recall(_Arguments, frozen=True, kw_only=True):
    query: str
    session: Session | None = None
    types: list[Type] | None = None
    tags: Texts | None = None
    limit: Limit | None = None
    explain: Annotated[bool, Meta(description="also ranks, scores and stages")] = False
    max_tokens: Tokens | None = None


class Show(_Arguments, frozen=True, kw_only=True):
    ids: Annotated[list[str], Meta(min_length=1, max_length=20)]
    offset: Annotated[
        int, Meta(ge=0, le=MAX_WHOLE, description="characters to skip, to go on with a long text")
    ] = 0
    max_tokens: Tokens | None = None


class Remember(_Arguments, frozen=True, kw_only=True):
    content: Annotated[str, Meta(description="one self-contained statement")]
    type: Type = "note"
    title: str | None = None
    tags: Texts | None = None
    paths: Annotated[list[str], Meta(max_length=50, description="files it is about")] | None = None
    session: OfSession | None = None
    origin: Annotated[Origin, Meta(description="who said it first; say web or mcp for fetched text")] = "agent"
    supersedes: Annotated[str, Meta(description="id of the memory that it replaces")] | None = None


class Edit(_Arguments, frozen=True, kw_only=True):
    id: str
    content: str | None = None
    title: str | None = None
    type: Type | None = None
    tags: Texts | None = None
    expected_version: Annotated[int, Meta(ge=1, le=MAX_WHOLE)] | None = None


class Forget(_Arguments, frozen=True, kw_only=True):
    id: str


class Timeline(_Arguments, frozen=True, kw_only=True):
    id: Annotated[str, Meta(description="the history of this memory instead")] | None = None
    session: Session | None = None
    types: list[Type] | None = None
    before: Annotated[str, Meta(description="2026-05-01, RFC 3339, or an age such as 7d")] | None = None
    cursor: Annotated[str, Meta(description="`cursor` of the page before")] | None = None
    limit: Limit = 20
    max_tokens: Tokens | None = None


class Context(_Arguments, frozen=True, kw_only=True):
    query: Annotated[str, Meta(description="the task; rules and news without it")] | None = None
    session: Annotated[str, Meta(description="the block of this session's work item")] | None = None
    max_tokens: Tokens | None = None


class Graph(_Arguments, frozen=True, kw_only=True):
    kind: Literal["neighbors", "path", "triplets"]
    node: Annotated[str, Meta(description="AuthService, topic:dashboard or a memory id")] | None = None
    to: Annotated[str, Meta(description="end of the path")] | None = None
    query: Annotated[str, Meta(description="triplets about this")] | None = None
    depth: Annotated[int, Meta(ge=1, le=3)] = 1
    limit: Limit = 20
    max_tokens: Tokens | None = None


class Claim(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    session: str
    worker: str
    token: Annotated[int, Meta(ge=0, le=MAX_WHOLE, description="fencing token of the session's claim")]
    max_tokens: Tokens | None = None


class Ack(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    session: str
    delivery_id: str
    worker: str
    token: Annotated[int, Meta(ge=0, le=MAX_WHOLE)]


@cache
def schema_of(arguments: type[msgspec.Struct]) -> dict[str, Any]:
    """JSON Schema 2020-12 of what a tool takes, without references."""
    [_reference], components = msgspec.json.schema_components([arguments], ref_template="{name}")
    schema: dict[str, Any] = _short(components[arguments.__name__])
    return schema


def _short(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_short(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    if "enum" in schema:
        schema = {"type": "string", **schema}  # some clients insist
    if "anyOf" in schema:  # something or null: what is optional may be left out
        [given] = [one for one in schema["anyOf"] if one != {"type": "null"}]
        schema = {**given, **{key: value for key, value in schema.items() if key != "anyOf"}}
    kept = {
        key: value
        for key, value in schema.items()
        if not (key == "title" and isinstance(value, str))
        and (key, value) != ("required", [])
        and not (key == "default" and value in (None, False, 0))
        and (key, value) != ("maximum", MAX_WHOLE)  # nobody gets there by trying
        and key != "additionalProperties"  # refused all the same, with the names that there are
    }
    return {key: _properties(value) if key == "properties" else _short(value) for key, value in kept.items()}


def _properties(given: dict[str, Any]) -> dict[str, Any]:
    """An argument may be called title or default."""
    return {name: _short(value) for name, value in given.items()}


def understood(arguments: type[S], given: dict[str, Any] | None) -> S:
    try:
        return msgspec.convert(with_whole_numbers(given or {}), arguments)
    except msgspec.ValidationError as error:
        raise InvalidInput(
            f"an argument is wrong: {error}",
            code="ARGUMENTS_INVALID",
            next=f"arguments: {', '.join(field.name for field in msgspec.structs.fields(arguments))}",
        ) from None

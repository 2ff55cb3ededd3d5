"""The lines of an export, read with suspicion: bytes in, a draft and its place out. Pure.

Whatever is wrong with a line is an `InvalidInput` whose code goes into the import's report; nothing else is
raised. Fields this version does not know are passed over, so a later one may add some.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from hashlib import sha256
from typing import Any, BinaryIO, NoReturn

from clew.errors import InvalidInput
from clew.model.ids import stable_id
from clew.model.memory import Draft, Past
from clew.model.scope import Scope
from clew.model.times import parse_time, to_micros
from clew.remember.prepare import GIVEN_ID, content_hash
from clew.remember.trust import TRUSTS, trust_of, trust_of_origin

_TEXTS = ("title", "category", "author", "thread", "tool_call", "upsert_key", "classification", "layer")
_TIMES = ("at", "valid_at", "invalid_at", "expires_at")
_LISTS = ("tags", "paths", "parents")
_NUMBERS = ("confidence", "weight")
_PLACE = ("project", "user", "agent", "session", "namespace")
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
MAX_VERSION = 1_000_000_000
BOM = b"\xef\xbb\xbf"


def numbered_lines(file: BinaryIO, max_bytes: int) -> Iterator[tuple[int, int, bytes, bool]]:
    """(line number, bytes so far, line without its end, ends without one); blank lines are passed over."""
    number = position = 0
    while raw := file.readline(max_bytes + 2):
        number += 1
        position += len(raw)
        line = raw.rstrip(b"\r\n")
        while not raw.endswith(b"\n") and len(raw) > max_bytes:
            raw = file.readline(max_bytes + 2)  # what is too long is passed over, not kept
            position += len(raw)
        if number == 1:
            line = line.removeprefix(BOM)
        if line.strip():
            yield number, position, line, not raw.endswith(b"\n")


def parse_object(raw: bytes) -> dict[str, Any]:
    """The JSON object on a line. NaN, endless numbers, deep nesting and broken text are refused."""
    try:
        text = raw.decode("utf-8")
        value = json.loads(text, parse_constant=_refuse_constant)
        if _SURROGATE.search(text):  # half a character has no UTF-8 form and could not be stored
            value = json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
    except UnicodeDecodeError:
        raise _invalid("the line is not UTF-8", "LINE_NOT_UTF8") from None
    except (ValueError, RecursionError):
        raise _invalid("the line is not JSON", "LINE_NOT_JSON") from None
    if not isinstance(value, dict):
        raise _invalid("the line is not a JSON object", "LINE_NOT_AN_OBJECT")
    return value


def place_of(fields: Mapping[str, Any]) -> dict[str, str | None]:
    """Project, user and provenance. The org is never taken from a file."""
    return {name: _text(fields, name) or None for name in _PLACE}


def draft_of(fields: Mapping[str, Any], *, keeps_trust: bool, now: datetime) -> Draft:
    """The draft a line stands for. Unless it `keeps_trust`, it is trusted no more than any imported file."""
    content = _text(fields, "content")
    if not content or not content.strip():
        raise _invalid("content is missing", "MEMORY_CONTENT_REQUIRED")
    origin = _text(fields, "origin") or "import"
    values: dict[str, Any] = {
        **{name: _text(fields, name) for name in _TEXTS},
        **{name: _time(fields, name) for name in _TIMES},
        **{name: _list(fields, name) for name in _LISTS},
        **{name: _number(fields, name) for name in _NUMBERS},
    }
    past = _past(fields, now)
    if (
        past.superseded_by and values["invalid_at"] is None
    ):  # replaced is over, though the file does not say since when
        values["invalid_at"] = max(past.updated_at, values["valid_at"] or values["at"] or past.updated_at)
    return Draft(
        content=content,
        type=_text(fields, "type") or "note",
        origin=origin,
        trust=_trust(fields, origin, keeps_trust),
        metadata=_metadata(fields),
        id=_text(fields, "id") or _stable_id(fields, content),
        past=past,
        **values,
    )


def id_in_place(draft: Draft, scope: Scope, *by: str) -> str:
    """The id for what has one already in another place, or that of another importer: the same on every run."""
    digest = sha256(json.dumps([draft.id, scope.project, scope.user, *by]).encode()).digest()
    return stable_id("mem", at_ms=to_micros(draft.at) // 1000 if draft.at else 0, digest=digest)


def _past(fields: Mapping[str, Any], now: datetime) -> Past:
    created_at = _time(fields, "created_at") or now
    version = fields.get("version", 1)
    if type(version) is not int or not 1 <= version <= MAX_VERSION:
        raise _invalid("version is not a positive number", "MEMORY_NUMBER_INVALID")
    return Past(
        created_at=created_at,
        updated_at=_time(fields, "updated_at") or created_at,
        version=version,
        superseded_by=_id("superseded_by", _text(fields, "superseded_by")),
    )


def _trust(fields: Mapping[str, Any], origin: str, keeps_trust: bool) -> str:
    stated = _text(fields, "trust") or trust_of_origin(origin)
    if stated not in TRUSTS:
        raise _invalid("trust is not one Clew knows", "MEMORY_TRUST_INVALID")
    return stated if keeps_trust else trust_of(stated, [trust_of_origin("import")])


def _stable_id(fields: Mapping[str, Any], content: str) -> str:
    """A line without an id gets the same one on every run, or a second run would add it again."""
    began = _time(fields, "created_at") or _time(fields, "at")
    key = [fields.get("project"), fields.get("user"), fields.get("type") or "note", content_hash(content)]
    digest = sha256(json.dumps(key).encode()).digest()
    return stable_id("mem", at_ms=to_micros(began) // 1000 if began else 0, digest=digest)


def _text(fields: Mapping[str, Any], name: str) -> str | None:
    value = fields.get(name)
    if value is not None and not isinstance(value, str):
        raise _invalid(f"{name} is not text", "MEMORY_FIELD_INVALID")
    return value


def _time(fields: Mapping[str, Any], name: str) -> datetime | None:
    text = _text(fields, name)
    return parse_time(text) if text else None


def _list(fields: Mapping[str, Any], name: str) -> tuple[str, ...]:
    values = fields.get(name)
    if values is None:
        return ()
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise _invalid(f"{name} is not a list of texts", "MEMORY_FIELD_INVALID")
    if name == "parents":
        return tuple(id for value in values if (id := _id(name, value)))
    return tuple(values)


def _number(fields: Mapping[str, Any], name: str) -> float:
    value = fields.get(name, 1.0)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _invalid(f"{name} is not a number", "MEMORY_NUMBER_INVALID")
    try:
        return float(value)
    except OverflowError:
        raise _invalid(f"{name} is too large", "MEMORY_NUMBER_INVALID") from None


def _metadata(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """How large and how deep it may be is for `prepare` to say, as for any other draft."""
    metadata = fields.get("metadata") or {}
    if not isinstance(metadata, dict):
        raise _invalid("metadata is not a JSON object", "MEMORY_METADATA_INVALID")
    return metadata


def _id(name: str, id: str | None) -> str | None:
    if id and not GIVEN_ID.fullmatch(id):
        raise _invalid(f"{name} is not an id", "MEMORY_ID_INVALID")
    return id or None


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(name)


def _invalid(message: str, code: str) -> InvalidInput:
    return InvalidInput(message, code=code, next="correct the line and import the file again")

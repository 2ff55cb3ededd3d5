"""From a draft to a memory that may be stored: checked, masked, classified, hashed, analysed. Pure."""

from __future__ import annotations

import json
import re
import sys
import unicodedata
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import lru_cache, reduce
from hashlib import sha256
from os import PathLike, fspath
from types import MappingProxyType
from typing import Any, NamedTuple

from clew import native
from clew.errors import Denied, InvalidInput
from clew.model import numbers
from clew.model.choice import one_of
from clew.model.ids import new_id
from clew.model.memory import CLASSIFICATIONS, LAYERS, NOTHING, TYPES, Draft, Indexed, Memory, Past
from clew.model.metadata import metadata_text
from clew.model.scope import Scope
from clew.model.times import zoned
from clew.recall import marks
from clew.recall.analyse import packed_hashes
from clew.remember.assigned import NAME_WORDS
from clew.remember.classify import classify, highest, holds_data
from clew.remember.plain import is_plain
from clew.remember.redact import redact, redact_together
from clew.remember.trust import TRUSTS, trust_of, trust_of_origin
from clew.values import dataclass

_SPACES = re.compile(r"\s+")
GIVEN_ID = re.compile(r"[\w.:@-]{1,120}")  # ids that callers and files bring along
MAX_LABEL_CHARS = 240
NEW_WEIGHT = 1.0  # outcomes take from it and bring it back, never beyond
SHORTEST_SECRET = 12  # no key format is shorter than this
MAX_LIST_ITEMS = 64
MAX_METADATA_CHARS = 16_000
MAX_METADATA_DEPTH = 32  # objects and lists within each other: deeper trees are attacks on whoever walks them


@dataclass(frozen=True, slots=True)
class WritePolicy:
    """The few settings the write path needs."""

    max_chars: int = 500_000
    working_ttl_hours: float = 24.0
    working_max: int = 200
    strict_token_rule: bool = True
    may_lower: bool = False  # whoever writes may give a laxer label than the words of a text ask for
    may_weigh: bool = False  # and a weight above what a new memory has, which outcomes do not give either


def draft_memory(
    draft: Draft,
    scope: Scope,
    *,
    now: datetime,
    policy: WritePolicy,
    parents: Sequence[Memory] = (),
    trust: str = "user",
    new: str | None = None,
) -> tuple[Memory, tuple[str, ...]]:
    """The memory to store, and which kinds of secret were masked in it.

    What is derived is never trusted more than its `parents`, nor than `trust`, which is that of whoever says it;
    its label is at least the strictest of theirs. `new` is an id for a draft that brings none.
    """
    masked: set[str] = set()
    content = _checked_text(draft.content, policy.max_chars)
    plain = is_plain(content)
    if not plain:
        content = _mask(content, masked)
    if not content:
        raise _empty("nothing is left of the content once private parts are removed")
    type_ = one_of("type", draft.type, TYPES)
    layer = _layer(draft, type_)
    begun = _begun(now)
    past = draft.past or begun.past
    at = now if draft.at is None else zoned("at", draft.at) or now
    # What is to happen, or was told by a clock ahead of ours, is known from now on.
    valid_at = zoned("valid_at", draft.valid_at) or min(at, now)
    title, tags = _label("title", draft.title, masked), _labels("tag", draft.tags, masked)
    category, paths = _label("category", draft.category, masked), _labels("path", draft.paths, masked)
    author, thread = _label("author", draft.author, masked), _label("thread", draft.thread, masked)
    origin = "user" if draft.origin == "user" else _label("origin", draft.origin, masked) or "user"
    tool_call, upsert_key = (
        _label("tool_call", draft.tool_call, masked),
        _label("upsert_key", draft.upsert_key, masked),
    )
    metadata = _metadata(draft.metadata, masked)
    if masked and (whole := _masked_together(draft)) is not None:
        memory, more = draft_memory(whole, scope, now=now, policy=policy, parents=parents, trust=trust, new=new)
        return memory, tuple(sorted(masked.union(more)))
    trusted = _trusted(draft.origin, draft.trust, (trust, *(parent.trust for parent in parents)))
    # In the order of its fields: naming 35 of them takes as long as making the memory.
    memory = Memory(
        _given_id(draft.id) or new or new_id("mem", at_ms=begun.ms),
        scope.org, scope.project, scope.user, scope.agent, scope.session, scope.namespace,
        type_, layer, title, content, tags, category, paths, author, thread, at, origin, tool_call,
        tuple(draft.parents),
        trusted,
        _classification(
            draft, content, paths, type_, masked, policy, trust=trusted, plain=plain,
            above=[parent.classification for parent in parents],
        ),
        numbers.confidence(draft.confidence),
        _weight(draft.weight, policy),
        upsert_key,
        content_hash(content),
        valid_at,
        _after("invalid_at", zoned("invalid_at", draft.invalid_at), valid_at),
        past.superseded_by,
        expiry(layer, zoned("expires_at", draft.expires_at), now, policy),
        now if past is begun.past else min(past.created_at, now),
        now if past is begun.past else min(past.updated_at, now),
        None,
        past.version,
        metadata,
    )  # fmt: skip
    return memory, tuple(sorted(masked)) if masked else ()


_TOGETHER = ("title", "category", "author", "thread")


def _masked_together(draft: Draft) -> Draft | None:
    """What is secret in one part of a memory is so in the others; None where that changes nothing."""
    tags, paths = _labels("tag", draft.tags, set()), _labels("path", draft.paths, set())
    named = [name for name in _TOGETHER if getattr(draft, name)]
    values: list[str] = []
    _each_text(draft.metadata, values.append)
    told = (draft.content, *(str(getattr(draft, name)) for name in named), *tags, *paths, *values)
    masked = [one.text for one in redact_together(told)]
    if masked == [redact(one).text for one in told]:
        return None
    texts = iter(masked)
    content = next(texts)
    labels: dict[str, Any] = {name: next(texts) for name in named}
    tags, paths = tuple(next(texts) for _ in tags), tuple(next(texts) for _ in paths)
    metadata = _each_text(draft.metadata, lambda _text: next(texts))
    return replace(draft, content=content, tags=tags, paths=paths, metadata=metadata, **labels)


def _each_text(value: Any, told: Callable[[str], Any]) -> Any:
    """The same with what is made of each text in it, in order."""
    if isinstance(value, str):
        return told(value)
    if isinstance(value, Mapping):
        return {name: _each_text(inner, told) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_each_text(inner, told) for inner in value]
    return value


def content_hash(content: str) -> str:
    """The same text in another encoding form or spacing has the same hash."""
    text = content.strip()
    if not text.isprintable() or "  " in text:  # otherwise a single blank is all that parts its words
        text = " ".join(text.split())
    if not text.isascii():
        text = " ".join(unicodedata.normalize("NFC", text).split())
    return sha256(text.encode()).hexdigest()


class _Begun(NamedTuple):
    """What the new memories of a batch have behind them, which is nothing, and when that was in milliseconds."""

    past: Past
    ms: int


@lru_cache(maxsize=1)
def _begun(now: datetime) -> _Begun:
    return _Begun(Past(created_at=now, updated_at=now), int(now.timestamp() * 1000))


def index_terms(memory: Memory, vector: bytes | None = None, space: str = "") -> Indexed:
    """What the indices keep: the terms of everything one would search a memory by, and its vector."""
    hashes = packed_hashes(_searchable(memory))
    asked = marks.asking(memory.content)
    asking = array("I", asked).tobytes() if asked else b""
    if native.compiled is None or sys.byteorder != "little":
        terms = _tally(hashes, asking)
    else:
        terms = native.compiled.tally(hashes, marks.times_in_order(), marks.TELLS_TIME, asking)
    return Indexed(len(hashes) // 4, terms, vector, space)


def _tally(hashes: bytes, asking: bytes) -> bytes:
    """The distinct terms in their order, each in four bytes, then how often each occurs, in one."""
    found = array("I", hashes + asking).tolist()
    if not marks.times().isdisjoint(found):
        found.append(marks.TELLS_TIME)
    distinct = sorted(set(found))
    terms = array("I", distinct)
    if sys.byteorder == "big":
        terms.byteswap()
    is_often = len(distinct) < len(found)  # not so in most short texts
    return terms.tobytes() + (_often(Counter(found), distinct) if is_often else b"\x01" * len(found))


def _often(counts: Mapping[int, int], terms: list[int]) -> bytes:
    try:
        return bytes(map(counts.__getitem__, terms))
    except ValueError:  # one occurs more often than a byte can tell
        return bytes([min(counts[term], 255) for term in terms])


def _searchable(memory: Memory) -> str:
    if not (memory.title or memory.author or memory.category or memory.tags or memory.paths):
        return memory.content
    parts = (memory.title, memory.content, memory.author, memory.category, *memory.tags, *memory.paths)
    return "\n".join([part for part in parts if part])


def embedding_text(title: str | None, content: str) -> str:
    """What a memory's vector is made of: no names or labels, which would drown the meaning."""
    return f"{title}\n{content}" if title else content


def expiry(layer: str, asked: datetime | None, now: datetime, policy: WritePolicy) -> datetime | None:
    """Working memories live for a day unless the caller says sooner or later; others only end if asked."""
    if layer != "working":
        return asked
    return asked or now + timedelta(hours=policy.working_ttl_hours)


def _layer(draft: Draft, type_: str) -> str:
    if draft.layer is not None:
        return one_of("layer", draft.layer, LAYERS)
    return "rule" if type_ == "rule" else "long_term"


def _checked_text(text: str, max_chars: int) -> str:
    if not isinstance(text, str):
        raise InvalidInput("content must be text", code="MEMORY_CONTENT_REQUIRED", next="pass a string")
    if not _can_be_seen(text.strip()):
        raise _empty("the content is empty")
    if len(text) > max_chars:
        raise InvalidInput(
            f"the content has {len(text):,} characters; the limit is {max_chars:,}",
            code="MEMORY_TOO_LARGE",
            next="split it into several memories, or raise remember.max_chars",
        )
    return _storable(text)


def _can_be_seen(text: str) -> bool:
    """Of a text without white space around it. Most show it at once."""
    if not text or text[0].isprintable():
        return text != ""
    return any(char.isprintable() and not char.isspace() for char in text)


def _storable(text: str) -> str:
    """No NUL (SQLite would cut the text there) and no lone surrogates (they have no UTF-8 form)."""
    if text.isascii() and "\x00" not in text:
        return text.strip()
    clean = text.replace("\x00", "").encode("utf-8", "replace").decode("utf-8")
    return clean.strip()


def _mask(text: str, masked: set[str]) -> str:
    redacted = redact(text)
    masked.update(redacted.kinds)
    return redacted.text.strip()


def _label(name: str, value: str | None, masked: set[str]) -> str | None:
    """A one-line text about the memory; masked like its content."""
    if value is None:
        return None
    if type(value) is str and len(value) < SHORTEST_SECRET and value.isascii() and value.isalnum():
        return value  # a plain word, as most labels are
    text = fspath(value) if isinstance(value, PathLike) else value
    if not isinstance(text, str):
        raise InvalidInput(f"{name} must be text", code="MEMORY_LABEL_INVALID", next="pass a string")
    line = _SPACES.sub(" ", _storable(text)).strip()
    if len(line) > MAX_LABEL_CHARS:
        raise InvalidInput(
            f"{name} has {len(line)} characters; the limit is {MAX_LABEL_CHARS}",
            code="MEMORY_LABEL_TOO_LONG",
            next=f"shorten {name}",
        )
    return _mask(line, masked) or None


def _labels(name: str, values: Iterable[str], masked: set[str]) -> tuple[str, ...]:
    """Distinct and in order; a lone text is one label, not its letters."""
    if not values:
        return ()
    values = (values,) if isinstance(values, str) else values
    labels = [label for value in values if (label := _label(name, value, masked))]
    if len(labels) > MAX_LIST_ITEMS:
        raise InvalidInput(
            f"{len(labels)} {name}s; the limit is {MAX_LIST_ITEMS}",
            code="MEMORY_LABEL_TOO_MANY",
            next=f"keep the {name}s that matter",
        )
    return tuple(dict.fromkeys(labels))


@lru_cache(maxsize=256)  # most memories come from a few origins
def _trusted(origin: str, trust: str | None, limits: tuple[str, ...]) -> str:
    by_origin = trust_of_origin(origin)
    asked = one_of("trust", trust or by_origin, TRUSTS)
    return trust_of(asked, [by_origin, *limits])  # asking for more than the origin gives is in vain


def _classification(
    draft: Draft,
    content: str,
    paths: tuple[str, ...],
    type_: str,
    masked: set[str],
    policy: WritePolicy,
    *,
    trust: str,
    plain: bool = False,
    above: Sequence[str] = (),
) -> str:
    """Computed, and not below the labels it is derived from; a caller may ask for a stricter one. A laxer one takes
    the right to lower it, words that are trusted as a user's own, and a text that only speaks of such data."""
    text = content if not draft.title else f"{draft.title}\n{content}"
    of_text = classify(
        text,
        paths=paths,
        type=type_,
        masked=bool(masked),
        strict_token_rule=policy.strict_token_rule,
        plain=plain and not draft.title,
    )
    computed = reduce(highest, above, of_text)
    if draft.classification is None:
        return computed
    asked = one_of("classification", draft.classification, CLASSIFICATIONS)
    is_lowered = policy.may_lower and trust == "user" and not holds_data(text, masked=bool(masked))
    return asked if is_lowered else highest(computed, asked)


def _weight(given: float, policy: WritePolicy) -> float:
    """It multiplies a rank: given freely, one writer's words would stand first for everybody."""
    weight = numbers.weight(given)
    if weight > NEW_WEIGHT and not policy.may_weigh:
        raise Denied(
            f"a weight above {NEW_WEIGHT:g} is given by those who configure the org",
            code="WEIGHT_DENIED",
            next="leave the weight out, or ask an owner or admin of the org",
        )
    return weight


def _metadata(metadata: Mapping[str, Any], masked: set[str]) -> Mapping[str, Any]:
    if not metadata:
        return NOTHING
    text = metadata_text(metadata)
    if len(text) > MAX_METADATA_CHARS:
        raise InvalidInput(
            f"metadata has {len(text):,} characters; the limit is {MAX_METADATA_CHARS:,}",
            code="MEMORY_METADATA_INVALID",
            next="keep large data elsewhere and link to it",
        )
    plain = json.loads(text)
    if _is_deeper(plain, MAX_METADATA_DEPTH):
        raise InvalidInput(
            f"metadata is nested more than {MAX_METADATA_DEPTH} levels deep",
            code="MEMORY_METADATA_INVALID",
            next="flatten it",
        )
    return MappingProxyType(_mask_values(plain, masked))


def _is_deeper(value: Any, limit: int) -> bool:
    level = [value]
    for _depth in range(limit):
        level = [item for outer in level for item in _inner(outer) if isinstance(item, dict | list)]
        if not level:
            return False
    return True


def _inner(value: dict[str, Any] | list[Any]) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value


def _mask_values(value: Any, masked: set[str]) -> Any:
    match value:
        case str():
            return _mask(_storable(value), masked)
        case dict():
            named = [(_storable(key), item) for key, item in value.items()]
            return {_mask(key, masked): _mask_named(_called(value, key), item, masked) for key, item in named}
        case list():
            return [_mask_values(item, masked) for item in value]
        case _:
            return value


def _called(pairs: Mapping[str, Any], key: str) -> str:
    """Of {"name": "DB_PASSWORD", "value": "..."} the value is that of the name."""
    name = (pairs.get("name") or pairs.get("key")) if key == "value" else None
    return _storable(name) if isinstance(name, str) else key


def _mask_named(name: str, value: Any, masked: set[str]) -> Any:
    """A value may be a secret by its name alone: {"password": "..."}."""
    plain = _mask_values(value, masked)
    if not isinstance(plain, str) or not any(word in name.lower() for word in NAME_WORDS):
        return plain
    if "assigned" not in redact(json.dumps({name: plain}, ensure_ascii=False)).kinds:
        return plain
    masked.add("assigned")
    return "[masked:assigned]"


def _given_id(id: str | None) -> str | None:
    if id is not None and not GIVEN_ID.fullmatch(id):
        raise InvalidInput(
            f"'{id[:40]}' cannot be an id", code="MEMORY_ID_INVALID", next="use letters, digits, . _ : @ -"
        )
    return id


def _after(name: str, end: datetime | None, start: datetime) -> datetime | None:
    if end is not None and end < start:
        raise InvalidInput(f"{name} lies before valid_at", code="MEMORY_VALIDITY_INVALID", next="give a later time")
    return end


def _empty(why: str) -> InvalidInput:
    return InvalidInput(why, code="MEMORY_CONTENT_REQUIRED", next="pass some text, or '-' to read it from stdin")

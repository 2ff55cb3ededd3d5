"""Memories for contract tests: one to start from, and any that hypothesis can think of."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

from hypothesis import strategies as st

from clew.model.ids import new_id
from clew.model.memory import CLASSIFICATIONS, LAYERS, NOTHING, TYPES, Memory
from clew.remember.trust import TRUSTS

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def a_memory(content: str = "a text", **fields: Any) -> Memory:
    plain: dict[str, Any] = dict.fromkeys(Memory.__slots__) | {
        "id": new_id("mem"), "org": "local", "type": "note", "layer": "long_term", "content": content, "tags": (),
        "paths": (), "at": NOW, "origin": "user", "parents": (), "trust": TRUSTS[-1], "classification": "internal",
        "confidence": 1.0, "weight": 1.0, "content_hash": sha256(content.encode()).hexdigest(), "valid_at": NOW,
        "created_at": NOW, "updated_at": NOW, "version": 1, "metadata": NOTHING,
    }  # fmt: skip
    return Memory(**plain | fields)


texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1, max_size=60)
maybe_texts = st.none() | texts
lists = st.lists(texts, max_size=4).map(tuple)
moments = st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1), timezones=st.just(UTC))
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)


def _with_expiry(memory: Memory) -> Memory:
    return replace(memory, expires_at=memory.expires_at or NOW) if memory.layer == "working" else memory


any_memory = st.builds(
    Memory,
    id=st.builds(new_id, st.just("mem")),
    org=texts,
    **dict.fromkeys("project user agent session namespace title category author thread".split(), maybe_texts),
    **dict.fromkeys("tool_call upsert_key superseded_by".split(), maybe_texts),
    **dict.fromkeys(("tags", "paths", "parents"), lists),
    **dict.fromkeys(("at", "valid_at", "created_at", "updated_at"), moments),
    **{name: st.none() | moments for name in ("invalid_at", "expires_at", "deleted_at")},
    content=texts,
    content_hash=st.uuids().map(str),
    origin=texts,
    type=st.sampled_from(TYPES),
    layer=st.sampled_from(LAYERS),
    trust=st.sampled_from(TRUSTS),
    classification=st.sampled_from(CLASSIFICATIONS),
    confidence=st.floats(0, 1),
    weight=st.floats(0, 1e6),
    version=st.integers(1, 2**31),
    metadata=st.dictionaries(texts, json_values, max_size=4),
).map(_with_expiry)

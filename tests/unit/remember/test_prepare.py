"""From a draft to a memory that may be stored."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.errors import InvalidInput
from clew.model.memory import CLASSIFICATIONS, Draft, Memory
from clew.model.scope import Scope
from clew.recall.analyse import hash_term, terms
from clew.remember.prepare import WritePolicy, content_hash, draft_memory, index_terms

NOW = datetime(2026, 3, 1, tzinfo=UTC)
KEY = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


PLAIN = WritePolicy()


def drafted(content: str = "some text", *, policy: WritePolicy = PLAIN, **fields: Any) -> Memory:
    return draft_memory(Draft(content=content, **fields), Scope(), now=NOW, policy=policy)[0]


# -- type, layer, expiry -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "layer"),
    [
        ({}, "long_term"),
        ({"type": "rule"}, "rule"),
        ({"type": "rule", "layer": "long_term"}, "long_term"),
        ({"type": "skill"}, "long_term"),
        ({"layer": "working"}, "working"),
    ],
)
def test_a_rule_goes_to_the_rules_and_the_rest_to_long_term_unless_told(fields: Any, layer: str) -> None:
    assert drafted(**fields).layer == layer


@pytest.mark.parametrize("field", ["type", "layer", "classification", "trust"])
def test_an_unknown_word_is_refused_and_the_known_ones_are_named(field: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        drafted(**{field: "nonsense"})
    assert refused.value.code == f"MEMORY_{field.upper()}_INVALID" and "choose one of" in refused.value.next


def test_only_working_memories_expire_by_themselves() -> None:
    assert drafted(layer="working").expires_at == NOW + timedelta(hours=24)
    assert drafted().expires_at is None


def test_an_expiry_that_was_asked_for_is_kept() -> None:
    soon = NOW + timedelta(minutes=5)
    assert drafted(layer="working", expires_at=soon).expires_at == soon
    assert drafted(expires_at=soon).expires_at == soon


# -- content -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("content", ["", "  \n\t", "\x00", "<private>all of it</private>", None, 7])
def test_content_must_be_text_and_something_must_be_left_of_it(content: Any) -> None:
    with pytest.raises(InvalidInput) as refused:
        drafted(content)
    assert refused.value.code == "MEMORY_CONTENT_REQUIRED"


def test_content_beyond_the_limit_is_refused_with_both_numbers() -> None:
    with pytest.raises(InvalidInput) as refused:
        draft_memory(Draft(content="x" * 11), Scope(), now=NOW, policy=WritePolicy(max_chars=10))
    assert refused.value.code == "MEMORY_TOO_LARGE" and "11" in refused.value.message


@given(st.text(st.characters(exclude_categories=()), min_size=1, max_size=200))
def test_whatever_is_accepted_can_be_written_as_utf8_without_nul(text: str) -> None:
    try:
        memory = drafted(text)
    except InvalidInput as refused:
        assert refused.code == "MEMORY_CONTENT_REQUIRED"
        return
    assert memory.content and b"\x00" not in memory.content.encode()


@given(st.text(min_size=1, max_size=60))
def test_the_hash_ignores_spacing(text: str) -> None:
    assert content_hash(text) == content_hash("  " + "\n\t ".join(text.split(" ")) + "\n")


def test_the_hash_ignores_how_accents_are_encoded_but_not_case() -> None:
    assert content_hash("Caf\u00e9") == content_hash("Cafe\u0301")
    assert content_hash("Port") != content_hash("port")


# -- secrets and labels --------------------------------------------------------------------------------

LABELS = ("title", "category", "author", "thread", "tool_call", "upsert_key")


@pytest.mark.parametrize("field", LABELS)
def test_a_secret_is_masked_in_every_label(field: str) -> None:
    memory, masked = draft_memory(
        Draft(content="x", **{field: f"key {KEY}"}), Scope(), now=NOW, policy=WritePolicy()
    )
    assert KEY not in str(memory) and masked
    assert memory.classification == "restricted"


@pytest.mark.parametrize(
    "fields",
    [{"tags": (KEY,)}, {"paths": (f"a/{KEY}",)}, {"metadata": {"a": [{"b": KEY}]}}, {"metadata": {KEY: 1}}],
)
def test_a_secret_is_masked_in_lists_and_metadata(fields: dict[str, Any]) -> None:
    memory, masked = draft_memory(Draft(content="x", **fields), Scope(), now=NOW, policy=WritePolicy())
    assert KEY not in str(memory) and masked
    assert memory.classification == "restricted"


def test_a_value_of_metadata_is_a_secret_by_its_name() -> None:
    given = {"password": "hunter2abc!", "env": {"DB_PASSWORD": "Tr0ub4dor"}, "port": 5432, "key": "sort order"}
    memory, masked = draft_memory(Draft(content="x", metadata=given), Scope(), now=NOW, policy=WritePolicy())
    hidden = "[masked:assigned]"
    assert memory.metadata == {
        "password": hidden,
        "env": {"DB_PASSWORD": hidden},
        "port": 5432,
        "key": "sort order",
    }
    assert masked == ("assigned",) and memory.classification == "restricted"


def test_a_name_in_metadata_is_made_storable_before_it_tells_of_a_secret() -> None:
    memory = drafted(metadata={"pa\x00ssword": "hunter2abc!", "half \ud800": 1})
    assert memory.metadata == {"password": "[masked:assigned]", "half ?": 1}


def test_a_value_in_metadata_is_a_secret_by_the_name_beside_it() -> None:
    memory = drafted(
        metadata={"env": [{"name": "DB_PASSWORD", "value": "hunter2abc!"}, {"key": "a", "value": "b"}]}
    )
    assert memory.metadata["env"] == [
        {"name": "DB_PASSWORD", "value": "[masked:assigned]"},
        {"key": "a", "value": "b"},
    ]


def test_of_a_text_in_metadata_only_the_secret_is_masked() -> None:
    memory = drafted(metadata={"note": "the old one was password=hunter2abc! until May"})
    assert memory.metadata == {"note": "the old one was password=[masked:assigned] until May"}


def test_labels_are_one_line_and_lists_are_distinct_in_order() -> None:
    memory = drafted(title="two\n lines", tags=("b", "a", "b", " "), paths=("x.py", "x.py"))
    assert (memory.title, memory.tags, memory.paths) == ("two lines", ("b", "a"), ("x.py",))


def test_a_lone_tag_is_one_tag_and_not_its_letters() -> None:
    assert drafted(tags="auth").tags == ("auth",)


@pytest.mark.parametrize("fields", [{"title": "x " * 200}, {"tags": [f"tag {n}" for n in range(65)]}])
def test_labels_have_limits(fields: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        drafted(**fields)


@pytest.mark.parametrize("metadata", [{"a": object()}, {"a": float("nan")}, {"a": "x" * 20_000}, [1]])
def test_metadata_must_be_a_json_object_of_reasonable_size(metadata: Any) -> None:
    with pytest.raises(InvalidInput) as refused:
        drafted(metadata=metadata)
    assert refused.value.code == "MEMORY_METADATA_INVALID"


@pytest.mark.parametrize(
    "fields",
    [
        {"confidence": 1.1},
        {"confidence": float("nan")},
        {"weight": -1.0},
        {"weight": float("inf")},
        {"weight": "2"},
    ],
)
def test_numbers_out_of_range_are_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput) as refused:
        drafted(**fields)
    assert refused.value.code == "MEMORY_NUMBER_INVALID"


# -- classification, trust, time -----------------------------------------------------------------------


def test_a_caller_may_ask_for_a_stricter_label_but_not_for_a_laxer_one() -> None:
    assert drafted("plain", classification="restricted").classification == "restricted"
    assert drafted("the password policy", classification="public").classification == "confidential"


LOWERING = WritePolicy(may_lower=True)


@pytest.mark.parametrize("text", ["PCI scope: never open 5432", "PII must never be logged", "the password policy"])
def test_who_may_lower_a_label_overrules_the_words_of_a_text(text: str) -> None:
    assert drafted(text, classification="internal", policy=LOWERING).classification == "internal"
    assert drafted(text, policy=LOWERING).classification != "internal"


@pytest.mark.parametrize("text", [f"PCI: {KEY}", "ssn 123-45-6789", "the card 4111 1111 1111 1111"])
def test_nobody_overrules_what_a_text_holds(text: str) -> None:
    assert drafted(text, classification="internal", policy=LOWERING).classification == "restricted"


@pytest.mark.parametrize("origin", ["agent", "web", "import"])
def test_words_of_others_are_no_statement_of_who_may_lower_a_label(origin: str) -> None:
    lowered = drafted("PCI scope", classification="internal", origin=origin, policy=LOWERING)
    assert lowered.classification == "restricted"


def test_the_label_is_computed_on_the_masked_text() -> None:
    masked = drafted(f"deploy with {KEY}")
    assert masked.classification == "restricted" and "[masked:" in masked.content


@given(
    st.sampled_from(["user", "agent", "tool", "web"]),
    st.lists(st.sampled_from(["untrusted", "tool", "agent", "user"])),
)
def test_what_is_derived_is_never_trusted_more_than_any_parent(origin: str, parents: list[str]) -> None:
    levels = ("untrusted", "tool", "agent", "user")
    known = [replace(drafted(), trust=trust) for trust in parents]
    draft = Draft(content="x", origin=origin, parents=tuple(parent.id for parent in known))
    memory, _ = draft_memory(draft, Scope(), now=NOW, policy=WritePolicy(), parents=known)
    assert all(levels.index(memory.trust) <= levels.index(trust) for trust in parents)


@given(st.sampled_from([None, *CLASSIFICATIONS]), st.lists(st.sampled_from(CLASSIFICATIONS)))
def test_what_is_derived_has_at_least_the_label_of_every_parent(given_label: str | None, labels: list[str]) -> None:
    known = [replace(drafted(), classification=label) for label in labels]
    draft = Draft(content="x", classification=given_label)
    memory, _ = draft_memory(draft, Scope(), now=NOW, policy=WritePolicy(), parents=known)
    assert all(CLASSIFICATIONS.index(memory.classification) >= CLASSIFICATIONS.index(label) for label in labels)


def test_a_memory_is_valid_from_when_it_happened() -> None:
    then = NOW - timedelta(days=3)
    assert drafted(at=then).valid_at == then and drafted().valid_at == NOW


def test_what_lies_ahead_by_the_callers_clock_is_known_at_once() -> None:
    later = NOW + timedelta(hours=9)
    memory = drafted(at=later)
    assert (memory.at, memory.valid_at) == (later, NOW)
    assert drafted(at=later, valid_at=later).valid_at == later


def test_validity_may_not_end_before_it_begins() -> None:
    with pytest.raises(InvalidInput):
        drafted(valid_at=NOW, invalid_at=NOW - timedelta(days=1))


@pytest.mark.parametrize("field", ["at", "valid_at", "invalid_at", "expires_at"])
def test_a_time_without_a_zone_is_refused_as_input(field: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        drafted(**{field: datetime(2030, 1, 1)})
    assert refused.value.code == "TIME_INVALID" and field in refused.value.message


# -- index ---------------------------------------------------------------------------------------------


def unpacked(blob: bytes) -> dict[int, int]:
    size = len(blob) // 5
    return dict(zip(np.frombuffer(blob[: 4 * size], "<u4").tolist(), blob[4 * size :], strict=True))


@given(st.text(st.sampled_from("ab c.é漢"), min_size=1, max_size=30))
def test_the_index_holds_every_term_with_its_count(text: str) -> None:
    indexed = index_terms(replace(drafted(), content=text))
    expected = Counter(map(hash_term, terms(text)))
    assert unpacked(indexed.terms) == dict(expected)
    assert indexed.length == expected.total()


def test_a_term_that_occurs_more_often_than_a_byte_holds_is_counted_as_255() -> None:
    assert unpacked(index_terms(drafted("gateway " * 300)).terms) == {hash_term("gateway"): 255}


@pytest.mark.parametrize("field", ["title", "author", "category", "tags", "paths"])
def test_a_memory_is_found_by_its_labels_too(field: str) -> None:
    value: Any = ("zebra",) if field in ("tags", "paths") else "zebra"
    assert hash_term("zebra") in unpacked(index_terms(drafted(**{field: value})).terms)


def _nested(depth: int) -> dict[str, Any]:
    inner: dict[str, Any] = {}
    for _ in range(depth):
        inner = {"in": inner}
    return inner


@pytest.mark.parametrize(
    "fields",
    [{"weight": 10**400}, {"weight": float("nan")}, {"confidence": 10**400}, {"metadata": _nested(5_000)}],
    ids=["huge weight", "no number", "huge confidence", "deep metadata"],
)
def test_numbers_without_end_and_objects_without_bottom_are_refused(fields: Any) -> None:
    with pytest.raises(InvalidInput):
        drafted(**fields)


@pytest.mark.parametrize("fields", [{"tags": (b"x",)}, {"tags": (1,)}, {"title": b"x"}, {"author": 5}], ids=str)
def test_a_label_that_is_no_text_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput) as refused:
        drafted("Labels are text", **fields)
    assert refused.value.code == "MEMORY_LABEL_INVALID"


def test_a_path_may_be_given_as_one() -> None:
    assert drafted("Look there", paths=(Path("src/a.py"),)).paths == ("src/a.py",)

"""JSON edited as text: only what is meant changes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.surfaces.hooks.json_text import add, remove

LEAVES = st.none() | st.booleans() | st.integers() | st.text(max_size=8)
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
)
LAYOUTS: list[dict[str, Any]] = [
    {"indent": 2}, {"indent": 4}, {"indent": "\t"}, {}, {"separators": (",", ":")},
    {"indent": 2, "ensure_ascii": False},
]  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(
    st.dictionaries(st.text(max_size=4), VALUES, min_size=1, max_size=4),
    VALUES,
    st.sampled_from(LAYOUTS),
    st.booleans(),
)
def test_what_was_added_is_removed_without_a_trace(
    document: dict[str, Any], value: Any, layout: dict[str, Any], has_crlf: bool
) -> None:
    text = json.dumps(document, **layout).replace("\n", "\r\n" if has_crlf else "\n")
    added = add(text, (), "a new key", value)
    assert json.loads(added) == {**document, "a new key": value}
    assert remove(added, ("a new key",)) == text


@settings(max_examples=40, deadline=None)
@given(st.lists(VALUES, min_size=1, max_size=4), st.sampled_from(LAYOUTS), st.data())
def test_an_element_goes_and_its_neighbours_stay(
    document: list[Any], layout: dict[str, Any], data: st.DataObject
) -> None:
    at = data.draw(st.integers(0, len(document) - 1))
    edited = remove(json.dumps({"x": document}, **layout), ("x", at))
    assert json.loads(edited) == {"x": document[:at] + document[at + 1 :]}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("{}\n", '{\n  "k": [\n    1\n  ]\n}\n'),
        ('{\n    "a": 1\n}', '{\n    "a": 1,\n    "k": [\n        1\n    ]\n}'),
        ('{\r\n\t"a": 1\r\n}', '{\r\n\t"a": 1,\r\n\t"k": [\r\n\t\t1\r\n\t]\r\n}'),
        ('{"a": {"b":1}}', '{"a": {"b":1}, "k": [1]}'),
        ('\ufeff{ "a" : 1 }', '\ufeff{ "a" : 1, "k": [1] }'),
    ],
)
def test_what_is_added_looks_like_what_is_there(before: str, after: str) -> None:
    assert add(before, (), "k", [1]) == after


def test_of_two_keys_of_one_name_the_last_counts_as_for_every_reader() -> None:
    assert add('{"h": [], "h": [1]}', ("h",), None, 2) == '{"h": [], "h": [1, 2]}'

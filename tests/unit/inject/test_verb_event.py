"""A tool call as it is read: what is refused, what counts as absent, what can be stored."""

from __future__ import annotations

from typing import Any

import pytest
from injector_toys import SHOP, logged, running, said

from clew.clew import Clew
from clew.errors import InvalidInput
from clew.model.inject import VerbEvent

LONE = "\ud800"  # half of a character: valid in JSON, and in no database
PATH = "src/pay/vat.py"


def read(**fields: Any) -> VerbEvent:
    return VerbEvent.from_json({"session": "ses_1", "tool": "Edit"} | fields)


@pytest.mark.parametrize("name", ["event_id", "agent", "project", "query", "memory_scope", "memory_namespace"])
def test_an_empty_text_counts_as_absent(name: str) -> None:
    assert read(**{name: ""}) == read()


def test_an_unknown_memory_scope_is_refused() -> None:
    with pytest.raises(InvalidInput) as refused:
        read(memory_scope="galaxy")
    assert refused.value.code == "EVENT_INVALID"


@pytest.mark.parametrize("name", ["session", "tool", "event_id", "agent", "project", "memory_namespace"])
def test_half_a_character_in_a_name_can_be_stored_and_stays_told_apart(name: str) -> None:
    first, second = (getattr(read(**{name: f"x{half}"}), name) for half in ("\ud800", "\ud801"))
    assert first.encode() != second.encode()


def test_an_event_whose_id_is_half_a_character_is_answered_and_logged(memory: Clew) -> None:
    memory.remember("VAT is rounded per line", scope=SHOP, paths=(PATH,))
    memory.inject.warm()
    session = running(memory)
    assert said(memory, session, event_id=LONE, paths=(PATH,)).outcome == "queued"
    [row] = logged(memory, session)
    assert (row.outcome, bool(row.event_id)) == ("queued", True)

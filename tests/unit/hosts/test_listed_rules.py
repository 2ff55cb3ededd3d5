"""What somebody lists as their rules is told to every session, in whatever words it is said."""

from __future__ import annotations

from datetime import UTC, datetime

from clew.hosts.capture import Fact, drafts_of
from clew.hosts.reduce import reduced
from clew.model.host import Around, HookEvent

LISTED = "Our conventions for this repo:\n- squash merges\n- snake_case columns in postgres"


def test_what_is_listed_as_a_rule_is_certain() -> None:
    event = HookEvent("claude-code", "prompt", "UserPromptSubmit", "s", "e", cwd="/work/shop", prompt=LISTED)
    told = reduced(event, Around(project="shop", root="/work/shop", ignored=()))
    assert told is not None
    rules = drafts_of([Fact("e", datetime(2026, 3, 1, tzinfo=UTC), told)])
    assert [one.draft.content for one in rules] == ["squash merges", "snake_case columns in postgres"]
    assert not any("unsure" in one.draft.metadata for one in rules)

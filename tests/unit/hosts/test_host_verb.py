"""What the injector is asked about an event of a host."""

from __future__ import annotations

import pytest

from clew.hosts.verb import verb_event_of
from clew.model.host import Around, HookEvent


@pytest.mark.parametrize(
    ("prompt", "asked"),
    [
        (
            "forget what i said about the legacy tests, philip left. Delete the folder",
            "Delete the folder",
        ),
        ("hm, forget what we decided about the pro plan.\nwebhooks go to everyone", "webhooks go to everyone"),
        ("forget what I said about the pro plan", None),
        ("fix the legacy tests", "fix the legacy tests"),
    ],
)
def test_what_a_prompt_says_to_forget_is_not_looked_for(prompt: str, asked: str | None) -> None:
    event = HookEvent("claude-code", "prompt", "UserPromptSubmit", "s", "e", prompt=prompt, cwd="/home/dev/shop")
    found = verb_event_of(event, "ses_1", Around(project="shop", root="/home/dev/shop"))
    assert (found and found.query) == asked

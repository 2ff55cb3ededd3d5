"""Hooks go on with what is known when a repository gets its first remote."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import Any

from clew.clew import Clew
from clew.hosts.off import switch_off
from clew.model.scope import Scope
from clew.surfaces.hooks.telling import around, tell

_ids = (f"{number:032x}" for number in count(1))


def event(place: Path, name: str, **fields: Any) -> dict[str, Any]:
    return {"hook_event_name": name, "session_id": "s-1", "cwd": str(place), **fields}


def test_a_session_after_the_first_push_is_told_what_was_known_before(memory: Clew, tmp_path: Path) -> None:
    shop = tmp_path / "shop"
    (shop / ".git" / "objects").mkdir(parents=True)
    (shop / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    start = event(shop, "SessionStart", source="startup")
    assert around("claude-code", start, home=memory.home, of=memory).project == "shop"
    memory.remember("Never deploy on Fridays.", type="rule", scope=Scope(project="shop"))
    (shop / ".git" / "config").write_text('[remote "origin"]\n\turl = git@github.com:acme/shop.git\n')
    answer = tell(memory, "claude-code", start, event_id=next(_ids))
    assert "Never deploy on Fridays." in answer.text
    assert around("claude-code", start, home=memory.home).project == "shop"


def test_where_hooks_are_off_no_repository_is_marked(memory: Clew, tmp_path: Path) -> None:
    shop = tmp_path / "shop"
    (shop / ".git" / "objects").mkdir(parents=True)
    (shop / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    switch_off(memory.home, shop)
    tell(memory, "claude-code", event(shop, "SessionStart", source="startup"), event_id=next(_ids))
    assert not (shop / ".git" / "clew").exists()

"""Values as JSON: absent fields are left out, times are RFC 3339."""

from __future__ import annotations

import json
from pathlib import Path

from clew import Scope
from toys import open_toy


def test_every_value_a_caller_gets_is_json_all_the_way_down(tmp_path: Path) -> None:
    with open_toy(tmp_path / "c.db") as memory:
        saved = memory.remember("Ports start at 8000", tags=("net",), metadata={"n": [1, {"a": None}]})
        memory.edit(saved.id, title="Ports")
        values = (saved, memory.recall("ports"), memory.why("ports", saved.id), *memory.history(saved.id))
        documents = [json.loads(json.dumps(value.as_json())) for value in values]
    assert documents[0]["memory"]["at"].endswith("Z")
    assert documents[0]["memory"]["metadata"] == {"n": [1, {"a": None}]}


def test_what_is_absent_is_left_out_of_the_json(tmp_path: Path) -> None:
    with open_toy(tmp_path / "c.db") as memory:
        plain = memory.remember("No project, no user").memory.as_json()
        scoped = memory.remember("Both", scope=Scope(project="p", user="u")).memory.as_json()
    assert not {"project", "user", "title", "invalid_at", "deleted_at"} & plain.keys()
    assert (scoped["project"], scoped["user"]) == ("p", "u")

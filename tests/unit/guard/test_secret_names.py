"""What is kept by its name is not kept by a secret: tables, indices and the audit log would hold it for good."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from clew.clew import Clew
from clew.errors import InvalidInput, NotFound
from clew.model.scope import Scope
from toys import open_toy

KEY = "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
NAMING: dict[str, Callable[[Clew], object]] = {
    "a switched project": lambda clew: clew.projects.set(KEY, "memory", False),
    "a project that lends": lambda clew: clew.transfer.grant(KEY, "web"),
    "a project that borrows": lambda clew: clew.transfer.grant("web", KEY),
    "a described project": lambda clew: clew.transfer.fingerprint(KEY, {"go.mod": "module x\n"}),
    "a project with a time limit": lambda clew: clew.retention.set(3, project=KEY),
    "a work type": lambda clew: clew.matrix.set(KEY, top_k=3),
    "an org": lambda clew: clew.orgs.create(f"ours {KEY}", slug="ours"),
    "an owner": lambda clew: clew.orgs.create("ours", owner=KEY),
    "a member": lambda clew: clew.orgs.add_member("acme", KEY),
    "a key": lambda clew: clew.keys.create(f"ci {KEY}", user="bob"),
    "the user of a key": lambda clew: clew.keys.create("ci", user=KEY),
    "the agent of a key": lambda clew: clew.keys.create("ci", agent=KEY),
    "a policy": lambda clew: clew.policies.load("permit (principal, action, resource);", name=KEY),
}


def on_disk(path: Path) -> bool:
    return KEY.encode() in b"".join(file.read_bytes() for file in path.iterdir())


@pytest.mark.parametrize("name", NAMING)
def test_a_name_that_holds_a_secret_is_refused_wherever_one_is_given(tmp_path: Path, name: str) -> None:
    with open_toy(tmp_path / "c.db") as clew:
        clew.orgs.create("acme")
        with pytest.raises(InvalidInput) as refused:
            NAMING[name](clew)
    assert refused.value.code.endswith("_SECRET") and KEY not in str(refused.value)
    assert not on_disk(tmp_path)


def test_who_was_added_by_such_a_name_before_is_looked_for_when_removed(memory: Clew) -> None:
    memory.orgs.create("acme")
    with pytest.raises(NotFound):
        memory.orgs.remove_member("acme", KEY)


@pytest.mark.parametrize("verb", ["recall", "context"])
def test_the_place_that_a_question_names_is_masked_where_questions_are_counted(tmp_path: Path, verb: str) -> None:
    with open_toy(tmp_path / "c.db") as clew:
        clew.remember("the ledger listens on 8000")
        getattr(clew, verb)("ledger", scope=Scope(project=f"https://x:{KEY}@example.com/shop", user=KEY))
    assert not on_disk(tmp_path)

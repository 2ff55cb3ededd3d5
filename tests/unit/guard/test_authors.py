"""Whose words they are: policies go by it, so nobody says them in another's name but who looks after the org."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from clew import Denied, Draft, Identity, Scope
from clew.clew import Clew

SHOP = Scope(project="shop")
BOB, ANN = Identity(user="bob", roles=("member",)), Identity(user="ann", roles=("member",))
BOBS_BOT, BOT = Identity(user="bob", agent="bot", roles=("member",)), Identity(agent="bot", roles=())
AMY, OWNER, OWNERS_BOT = Identity(user="amy", roles=("admin",)), Identity(), Identity(agent="bot")


@pytest.mark.parametrize(
    ("who", "given", "author"),
    [
        (BOB, "ann", "bob"), (BOB, "bob", "bob"), (BOB, None, "bob"),
        (BOBS_BOT, "ann", "bob"), (BOT, "ann", None), (BOT, None, None), (OWNERS_BOT, "ann", "ann"),
        (AMY, "ann", "ann"), (OWNER, "ann", "ann"), (OWNER, None, None),
    ],
)  # fmt: skip
def test_anothers_name_counts_only_from_who_looks_after_the_org(
    memory: Clew, who: Identity, given: str | None, author: str | None
) -> None:
    assert memory.remember("gateway is red", author=given, scope=SHOP, identity=who).memory.author == author
    drafts = [Draft(content=f"gateway is {colour}", author=given) for colour in ("blue", "teal")]
    stored = memory.remember_many(drafts, scope=SHOP, identity=who)
    assert [one.memory.author for one in stored] == [author] * 2


def test_in_a_private_memory_a_name_that_is_not_ones_own_is_left_out(memory: Clew) -> None:
    place = Scope(project="shop", user="bob")
    assert memory.remember("gateway", author="ann", scope=place, identity=BOB).memory.author is None
    assert memory.remember("gateway is red", author="bob", scope=place, identity=BOB).memory.author == "bob"


def test_nobody_edits_their_words_into_anothers(memory: Clew) -> None:
    id = memory.remember("gateway is red", scope=SHOP, identity=BOB).id
    for who in (BOB, BOBS_BOT):
        with pytest.raises(Denied) as refused:
            memory.edit(id, author="ann", identity=who)
        assert refused.value.code == "AUTHOR_DENIED"
    assert memory.edit(id, content="gateway is blue", author="bob", identity=BOB).author == "bob"
    assert memory.edit(id, author="ann", identity=AMY).author == "ann"


def test_the_owners_agent_names_authors_until_something_was_said_of_it_or_a_policy_added(memory: Clew) -> None:
    id = memory.remember("gateway is red", scope=SHOP, identity=BOB).id
    assert memory.edit(id, author="ann", identity=OWNERS_BOT).author == "ann"
    memory.policies.load("forbid (principal, action, resource) when { false };", name="nothing")
    assert memory.remember("gateway is teal", author="ann", scope=SHOP, identity=OWNERS_BOT).memory.author is None
    with pytest.raises(Denied) as refused:
        memory.edit(id, author="bob", identity=OWNERS_BOT)
    assert refused.value.code == "AUTHOR_DENIED"
    memory.policies.drop("nothing")
    memory.policies.agent("bot", clearance=1)
    assert memory.remember("gateway is blue", author="ann", scope=SHOP, identity=OWNERS_BOT).memory.author is None


@pytest.fixture
def file(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "in.jsonl"
    path.write_text(json.dumps({"content": "gateway is red", "author": "ann", "project": "shop"}) + "\n")
    yield path


@pytest.mark.parametrize(("who", "author"), [(OWNER, "ann"), (AMY, "ann"), (BOB, None)])
def test_an_import_keeps_names_for_who_looks_after_the_org(
    memory: Clew, file: Path, who: Identity, author: str
) -> None:
    report = memory.import_file(file, identity=who)
    assert (report.added, report.authors_left_out) == (1, int(author is None))
    assert report.as_json().get("authors_left_out", 0) == report.authors_left_out
    assert [one.author for one in memory.list(scope=SHOP)] == [author]


def test_an_import_counts_only_the_names_that_are_left_out(memory: Clew, tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    lines = [{"content": f"gateway {n}", "author": name} for n, name in enumerate(("bob", None, "ann", "amy"))]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert memory.import_file(path, scope=SHOP, identity=BOB, dry_run=True).authors_left_out == 2
    assert memory.import_file(path, scope=SHOP, identity=BOB).authors_left_out == 2
    assert memory.import_file(path, scope=SHOP, identity=OWNERS_BOT, dry_run=True).authors_left_out == 0


def test_a_policy_on_whose_words_they_are_cannot_be_talked_around(memory: Clew) -> None:
    memory.policies.load(
        'forbid (principal, action in Mem::Action::"read", resource)'
        ' unless { resource has writtenBy && resource.writtenBy == Mem::User::"local/ann" };',
        name="anns",
    )
    memory.remember("gateway is red", author="ann", scope=SHOP, identity=ANN)
    memory.remember("gateway is green", author="ann", scope=SHOP, identity=BOB)
    assert [one.content for one in memory.list(scope=SHOP, identity=ANN)] == ["gateway is red"]

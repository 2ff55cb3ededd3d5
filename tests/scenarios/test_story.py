"""The story of a project told through the Python API: what was learnt comes back, to those who may see it."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from clew import Clew, NotFound, Scope
from toys import ToldClock, ToyEmbedder, contents, open_toy

SYNONYMS = {"database": "postgresql", "mysql": "postgresql", "store": "postgresql", "hosted": "kept"}
SHOP = Scope(project="shop")
KEY = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


class Desk:
    """One machine: every session opens the store anew, days pass in between."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "memories.db"
        self.clock = ToldClock()

    def session(self) -> Clew:
        self.clock.pass_by(days=1)
        return open_toy(self.path, clock=self.clock, embedder=ToyEmbedder(dim=256, synonyms=SYNONYMS))


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


@pytest.fixture
def told(desk: Desk) -> dict[str, str]:
    """Three sessions of a project, as an agent would leave them behind."""
    ids: dict[str, str] = {}
    with desk.session() as memory:
        ids["mysql"] = memory.remember("We chose MySQL for orders.", type="decision", scope=SHOP).id
        ids["rule"] = memory.remember("Never deploy on Fridays after 14:00.", type="rule", scope=SHOP).id
    with desk.session() as memory:
        text = "AuthService keeps sessions in Redis, see src/auth/session.py."
        ids["auth"] = memory.remember(text, type="fact", scope=SHOP, paths=("src/auth/session.py",)).id
        ids["step"] = memory.remember("Now moving orders to the new schema.", layer="working", scope=SHOP).id
    with desk.session() as memory:
        new = memory.remember(
            "We chose PostgreSQL because orders need transactions.",
            type="decision",
            scope=SHOP,
            supersedes=ids["mysql"],
        )
        ids["postgres"] = new.id
    return ids


def first(recalled: Any) -> str:
    return next(result.memory.content for result in recalled.results if result.memory.layer != "rule")


def test_a_later_session_knows_what_earlier_ones_learnt(desk: Desk, told: dict[str, str]) -> None:
    with desk.session() as memory:
        answer = memory.recall("where are auth_service sessions kept?", scope=SHOP, limit=3)
        assert answer.results[0].memory.id == told["rule"]  # rules come with every answer
        assert first(answer).startswith("AuthService keeps sessions")
        assert all(result.why for result in answer.results)


def test_meaning_finds_what_other_words_ask_for(desk: Desk, told: dict[str, str]) -> None:
    with desk.session() as memory:
        assert "PostgreSQL" in first(memory.recall("which database ?", scope=SHOP, retrieval="semantic"))


def test_the_newer_decision_answers_and_the_older_one_is_what_held_then(desk: Desk, told: dict[str, str]) -> None:
    with desk.session() as memory:
        assert "PostgreSQL" in first(memory.recall("what did we choose for orders?", scope=SHOP))
        second_day: datetime = memory.show(told["auth"]).created_at
        assert "MySQL" in first(memory.recall("what did we choose for orders?", scope=SHOP, as_of=second_day))
        lost = memory.why("what did we choose for orders?", told["mysql"], scope=SHOP)
        assert (lost.lost_at, lost.reason) == ("filter", "superseded")


def test_what_was_only_for_the_day_is_gone_the_day_after(desk: Desk, told: dict[str, str]) -> None:
    with desk.session() as memory:
        assert told["step"] not in {entry.id for entry in memory.list(scope=SHOP)}
        assert not any("new schema" in text for text in contents(memory.recall("moving orders", scope=SHOP)))


def test_history_tells_how_a_memory_came_to_be_and_a_mistake_is_undone(desk: Desk, told: dict[str, str]) -> None:
    with desk.session() as memory:
        memory.edit(told["auth"], content="AuthService keeps sessions in memory.")
        memory.revert(told["auth"], 1)
        changes = [state.change for state in memory.history(told["auth"])]
    assert changes == ["created", "edited", "reverted"]
    with desk.session() as memory:
        assert "Redis" in memory.show(told["auth"]).content


def test_saying_the_same_again_in_another_session_stores_it_once(desk: Desk, told: dict[str, str]) -> None:
    with desk.session() as memory:
        again = memory.remember("Never deploy on  Fridays after 14:00.", type="rule", scope=SHOP)
        assert again.deduplicated and again.id == told["rule"]


def test_what_is_forgotten_is_gone_for_every_session_and_from_the_disk(desk: Desk, told: dict[str, str]) -> None:
    with desk.session() as one, desk.session() as other:
        one.recall("auth sessions", scope=SHOP), other.recall("auth sessions", scope=SHOP)
        receipt = one.forget(told["auth"], hard=True)
        assert receipt.ids == (told["auth"],)
        assert not any("AuthService" in text for text in contents(other.recall("auth sessions", scope=SHOP)))
        with pytest.raises(NotFound):
            other.history(told["auth"])
    raw = b"".join(file.read_bytes() for file in desk.path.parent.glob("memories.db*"))
    assert b"AuthService keeps" not in raw and b"PostgreSQL" in raw


def test_two_users_share_a_project_and_keep_their_own_notes(desk: Desk, told: dict[str, str]) -> None:
    ann, bob = Scope(project="shop", user="ann"), Scope(project="shop", user="bob")
    with desk.session() as memory:
        memory.remember("Ann prefers short answers about orders.", scope=ann)
        memory.remember("Bob prefers long answers about orders.", scope=bob)
    with desk.session() as memory:
        for_ann = contents(memory.recall("answers about orders", scope=ann))
        for_bob = contents(memory.recall("answers about orders", scope=bob))
    assert any("Ann" in text for text in for_ann) and not any("Bob" in text for text in for_ann)
    assert any("Bob" in text for text in for_bob) and not any("Ann" in text for text in for_bob)
    assert all(any("PostgreSQL" in text for text in texts) for texts in (for_ann, for_bob))


def test_two_projects_do_not_meet_but_share_what_belongs_to_neither(desk: Desk, told: dict[str, str]) -> None:
    bank = Scope(project="bank")
    with desk.session() as memory:
        memory.remember("We chose Oracle for orders.", type="decision", scope=bank)
        memory.remember("Orders are written in euros.", type="fact")
    with desk.session() as memory:
        in_shop, in_bank = (contents(memory.recall("orders", scope=scope)) for scope in (SHOP, bank))
    assert not any("Oracle" in text for text in in_shop) and not any("PostgreSQL" in text for text in in_bank)
    assert all("Orders are written in euros." in texts for texts in (in_shop, in_bank))


def test_a_secret_in_a_session_never_reaches_a_later_one(desk: Desk) -> None:
    with desk.session() as memory:
        memory.remember(f"Deploy with {KEY}. <private>I doubt it works.</private>", scope=SHOP)
    with desk.session() as memory:
        [result] = memory.recall("deploy", scope=SHOP).results
    assert KEY not in result.memory.content and "doubt" not in result.memory.content
    assert result.memory.classification == "restricted"

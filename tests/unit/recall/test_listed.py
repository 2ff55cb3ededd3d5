"""The graph as a list of edges (engram.md 16, 33), and what changed in it."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from clew.clew import Clew
from clew.errors import InvalidInput, NotFound
from clew.model.listed import GraphListed
from clew.model.scope import Identity, Scope
from toys import ToldClock

MIA = Identity(user="mia", roles=("member",))
PRIVATE = Scope(user="bob")
BOB = Identity(user="bob", roles=("member",))


@pytest.fixture
def four(memory: Clew, clock: ToldClock) -> dict[str, str]:
    """Four memories and three edges, a minute apart: alpha - beta, alpha - gamma, gamma - delta."""
    kinds = {"alpha": "fact", "beta": "fact", "gamma": "fact", "delta": "decision"}
    ids = {name: memory.remember(f"plain words {name}", type=kind).id for name, kind in kinds.items()}
    for source, relation, target in (
        ("alpha", "entity", "beta"),
        ("alpha", "entity", "gamma"),
        ("gamma", "causal", "delta"),
    ):
        clock.pass_by(minutes=1)
        memory.link(ids[source], relation, ids[target])
    return ids


def ends(found: GraphListed) -> list[tuple[str, str]]:
    labels = {node.node.id: node.node.label.removeprefix("plain words ") for node in found.nodes}
    return [(labels[edge.source], labels[edge.target]) for edge in found.edges]


def test_engram_33_the_newest_edges_come_first_with_the_nodes_at_their_ends(memory: Clew, four: Any) -> None:
    found = memory.graph.edges()
    assert ends(found) == [("gamma", "delta"), ("alpha", "gamma"), ("alpha", "beta")]
    assert [(node.node.label[12:], node.kind, node.score) for node in found.nodes][-1] in (
        ("beta", "fact", 1.0), ("delta", "decision", 1.0),
    )  # fmt: skip
    assert sorted(node.score for node in found.nodes) == [1.0, 1.0, 2.0, 2.0]


def test_engram_33_a_limit_of_one_gives_one_edge(memory: Clew, four: Any) -> None:
    found = memory.graph.edges(limit=1)
    assert (ends(found), len(found.nodes)) == ([("gamma", "delta")], 2)


def test_engram_33_a_focus_gives_the_edges_of_a_node(memory: Clew, four: dict[str, str]) -> None:
    assert ends(memory.graph.edges(focus=four["alpha"])) == [("alpha", "gamma"), ("alpha", "beta")]


def test_engram_33_categories_ask_for_both_ends(memory: Clew, four: Any) -> None:
    found = memory.graph.edges(categories=["fact"])
    assert [edge.kind for edge in found.edges] == ["entity", "entity"]


def test_engram_33_since_includes_its_moment(memory: Clew, four: Any) -> None:
    [newest, *_older] = memory.graph.edges().edges
    [found] = memory.graph.edges(since=newest.updated_at).edges
    assert found.kind == "causal"
    assert memory.graph.edges(since=newest.updated_at + timedelta(seconds=1)).edges == ()


def test_engram_33_newer_edges_that_do_not_match_hide_none_that_does(memory: Clew, four: dict[str, str]) -> None:
    note = memory.remember("plain words of a note").id
    for number in range(50):
        memory.link(note, "near", f"file:src/{number}.py")
    found = memory.graph.edges(categories=["fact", "decision"], limit=1, focus=four["delta"])
    assert ends(found) == [("gamma", "delta")]
    assert len(memory.graph.edges(categories=["fact"], limit=2).edges) == 2


@pytest.mark.parametrize("limit", [0, -3, 1.5, "50", True, None])
def test_engram_33_a_limit_that_is_no_number_of_edges_is_refused(memory: Clew, limit: Any) -> None:
    with pytest.raises(InvalidInput) as refused:
        memory.graph.edges(limit=limit)
    assert refused.value.code == "GRAPH_LIMIT_INVALID"


def test_engram_33_a_limit_above_5000_counts_as_5000(memory: Clew, four: Any) -> None:
    assert memory.graph.edges(limit=10**30).edges == memory.graph.edges(limit=5_000).edges


@pytest.mark.parametrize("categories", [[], ["nonsense"]])
def test_categories_nobody_knows_are_refused(memory: Clew, categories: list[str]) -> None:
    with pytest.raises(InvalidInput, match="kind of node"):
        memory.graph.edges(categories=categories)


def test_engram_33_what_looks_like_a_path_is_never_read(memory: Clew, tmp_path: Path) -> None:
    secret = tmp_path / "secret.py"
    secret.write_text("TOP SECRET", encoding="utf-8")
    link = tmp_path / "link.py"
    link.symlink_to(secret)
    id = memory.remember("plain words").id
    for name in (secret, link, f"../{secret.name}"):
        memory.link(id, "near", f"file:{name}")
    told = memory.graph.edges().as_json()
    assert len(told["edges"]) == 3 and "TOP SECRET" not in str(told)
    secret.unlink()
    assert memory.graph.edges().as_json()["edges"] == told["edges"]


def test_what_others_keep_private_is_not_listed_and_not_dated(memory: Clew, clock: ToldClock) -> None:
    text = "LedgerService depends on CacheService"
    memory.remember(f"{text} since spring", scope=Scope())
    before = memory.graph.edges(identity=MIA).as_json()
    clock.pass_by(days=1)
    memory.remember(f"{text}, and SecretService depends on LedgerService", scope=PRIVATE, identity=BOB)
    after = memory.graph.edges(identity=MIA).as_json()
    assert (after["edges"], after["nodes"]) == (before["edges"], before["nodes"])
    assert "secretservice" in str(memory.graph.edges(scope=PRIVATE, identity=BOB).as_json()).lower()


def test_a_focus_on_what_others_keep_private_is_not_found(memory: Clew) -> None:
    memory.remember("SecretService depends on VaultService", scope=PRIVATE, identity=BOB)
    with pytest.raises(NotFound):
        memory.graph.edges(focus="SecretService", identity=MIA)


# -- changes -----------------------------------------------------------------------------------------


def told(memory: Clew, after: int, identity: Identity | None = None, **more: Any) -> list[tuple[str, str, str]]:
    found = memory.graph.changes(after, identity=identity, **more)
    return [(one.kind, one.op, one.id) for one in found.changes]


def test_without_a_number_it_begins_now(memory: Clew) -> None:
    memory.remember("before")
    begun = memory.graph.changes()
    assert (begun.changes, begun.next > 0, begun.more) == ((), True, False)
    id = memory.remember("after").id
    assert ("memory", "put", id) in told(memory, begun.next)


def test_nodes_are_told_by_their_ids(memory: Clew) -> None:
    id = memory.remember("plain words").id
    begun = memory.graph.changes().next
    memory.link(id, "near", "file:b.py")
    nodes = {node.node.id for node in memory.graph.edges().nodes}
    assert {id for kind, _op, id in told(memory, begun) if kind == "node"} == nodes


def test_a_change_of_what_one_may_not_read_is_not_told(memory: Clew) -> None:
    begun = memory.graph.changes().next
    memory.remember("VaultService depends on SecretService", scope=PRIVATE, identity=BOB)
    memory.remember("restricted words", classification="restricted")
    assert told(memory, begun, Identity(agent="codex", roles=())) == []
    assert told(memory, begun, BOB) != [] and told(memory, begun) != []


def test_forgetting_is_told_to_those_who_could_read_it(memory: Clew) -> None:
    shared = memory.remember("shared words").id
    hidden = memory.remember("hidden words", scope=PRIVATE, identity=BOB).id
    begun = memory.graph.changes().next
    memory.forget(shared)
    memory.forget(hidden)
    drops = [("memory", "drop", shared), ("memory", "drop", hidden)]
    assert (told(memory, begun, MIA), told(memory, begun, BOB)) == (drops[:1], drops)


def test_erasing_is_told_to_the_owner_alone(memory: Clew) -> None:
    id = memory.remember("shared words").id
    begun = memory.graph.changes().next
    memory.forget(id, hard=True)
    assert told(memory, begun, MIA) == []
    assert ("memory", "drop", id) in told(memory, begun)


def test_what_is_in_another_org_is_not_told(memory: Clew) -> None:
    acme = Identity("acme", roles=("owner",))
    begun = memory.graph.changes(identity=acme).next
    memory.remember("local words")
    assert (told(memory, begun, acme), memory.graph.changes(identity=acme).next) == ([], begun)


def test_pages_go_on_where_the_one_before_ended(memory: Clew) -> None:
    begun = memory.graph.changes().next
    ids = [memory.remember(f"words {number}").id for number in range(5)]
    first = memory.graph.changes(begun, limit=2)
    assert first.more
    rest = [id for kind, _op, id in told(memory, first.next) if kind == "memory"]
    assert [one.id for one in first.changes if one.kind == "memory"] + rest == ids


@pytest.mark.parametrize("after", [10**9, 0])
def test_a_number_that_is_not_known_any_more_is_a_reset(
    memory: Clew, monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    monkeypatch.setattr("clew.store.ledger.CHANGES_KEPT", 2)
    for number in range(6):
        memory.remember(f"words {number}")
    assert told(memory, after) == [("reset", "reset", "")]

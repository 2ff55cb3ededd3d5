"""The documented functions, and the batches that blocks use."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import clew.guard
from clew.clew import Clew
from clew.guard.access import (
    allowed_memories,
    allowed_triplets,
    enforce_cross_project_transfer,
    enforce_graph_access,
    enforce_graph_access_many,
    percent,
)
from clew.guard.pep import Pep
from clew.model.access import AccessContext, Resource
from clew.model.scope import Identity, Scope

BOT = Identity("acme", agent="bot", roles=())
WHERE = AccessContext("acme", "shop")
NODE = Resource("node", "n1", "acme", "shop", classification="internal")


@dataclass(frozen=True)
class Edge:
    source_node_id: str
    target_node_id: str


def test_the_documented_names_are_importable_from_the_package() -> None:
    assert clew.guard.enforce_graph_access is enforce_graph_access
    assert set(clew.guard.__all__) >= {"Pep", "enforce_graph_access_many", "enforce_cross_project_transfer"}
    with pytest.raises(AttributeError):
        _ = clew.guard.enforce_nothing


def test_r055_a_node_is_read_by_its_own_org_alone() -> None:
    assert enforce_graph_access(BOT, NODE) and enforce_graph_access(BOT, NODE, "inject", context=WHERE)
    assert not enforce_graph_access(replace(BOT, org="rival"), NODE)
    assert enforce_graph_access(BOT, None).reason == "missing_entity"
    assert enforce_graph_access_many(BOT, [NODE, None, replace(NODE, org="rival")], "read") == [True, False, False]


@pytest.mark.parametrize(
    ("similarity", "grants", "label", "allowed"),
    [
        (0.70, ("blog",), "internal", True), (7 / 10, ("blog",), "public", True),
        (0.699, ("blog",), "public", False), (1.0, (), "public", False), (1.0, ("other",), "public", False),
        (1.0, ("blog",), "confidential", False), (1.0, ("blog",), "", False),
    ],
)  # fmt: skip
def test_a_transfer_needs_a_grant_alike_projects_and_an_open_label(
    similarity: float, grants: tuple[str, ...], label: str, allowed: bool
) -> None:
    row = Resource("memory", "mem_1", "acme", "blog", classification=label)
    decision = enforce_cross_project_transfer(
        BOT, row, source_project_id="blog", dest_project_id="shop", similarity=similarity, grants=grants
    )
    assert decision.allowed is allowed


def test_a_transfer_from_elsewhere_than_was_said_is_denied() -> None:
    row = Resource("memory", "mem_1", "acme", "third", classification="public")
    for source in ("blog", "shop"):
        decision = enforce_cross_project_transfer(
            BOT, row, source_project_id=source, dest_project_id="shop", similarity=1.0, grants=("blog", "third")
        )
        assert not decision


@given(st.integers(0, 200), st.integers(1, 200))
def test_percent_is_the_whole_number_below(shared: int, all_of_them: int) -> None:
    assert percent(min(shared, all_of_them) / all_of_them) == 100 * min(shared, all_of_them) // all_of_them


def test_r115_memories_are_checked_before_they_reach_a_prompt(memory: Clew) -> None:
    pep, who, where = memory._pep, Identity("local", agent="bot", roles=()), AccessContext("local", "shop")
    scope = Scope(project="shop")
    texts = ("we deploy on Mondays", "her social security number is on file")
    stored = [memory.remember(text, scope=scope).memory for text in texts]
    stored.append(memory.remember("ann likes tabs", scope=Scope(project="shop", user="ann")).memory)
    allowed = [entry.allowed for entry in allowed_memories(pep, who, stored, where)]
    assert allowed == [True, False, False]
    for_ann = allowed_memories(pep, who, stored, replace(where, user="ann"))
    assert [entry.allowed for entry in for_ann] == [True, False, True]


def test_fc06_a_triplet_needs_both_ends() -> None:
    nodes = {"a": NODE, "b": replace(NODE, id="b"), "x": replace(NODE, id="x", org="rival")}
    edges = [Edge("a", "b"), Edge("a", "x"), Edge("x", "b"), Edge("a", "gone"), Edge("b", "b")]
    assert allowed_triplets(Pep(), BOT, edges, nodes, WHERE) == [True, False, False, False, True]


def test_fc06_when_policies_cannot_be_asked_no_triplet_is_left() -> None:
    def unreadable(org: str) -> None:
        raise OSError

    pep = Pep(unreadable)  # type: ignore[arg-type]
    assert allowed_triplets(pep, BOT, [Edge("a", "a")], {"a": NODE}, WHERE) == [False]


NODES = st.builds(
    Resource, st.just("node"), st.sampled_from("abcdef"), st.sampled_from(["acme", "rival", "third"]),
    st.sampled_from([None, "shop"]), classification=st.sampled_from(["public", "internal"]),
    shared_with=st.sampled_from([(), ("acme",), ("acme", "rival")]),
)  # fmt: skip
SHARED_PEP = Pep()


@given(
    st.lists(NODES, max_size=6),
    st.lists(st.tuples(st.sampled_from("abcdef"), st.sampled_from("abcdef")), max_size=8),
)
def test_r056_no_triplet_with_a_foreign_end_gets_through(
    rows: list[Resource], pairs: list[tuple[str, str]]
) -> None:
    nodes = {row.id: row for row in rows}
    edges = [Edge(*pair) for pair in pairs]
    for edge, allowed in zip(edges, allowed_triplets(SHARED_PEP, BOT, edges, nodes, WHERE), strict=True):
        ends = [nodes.get(edge.source_node_id), nodes.get(edge.target_node_id)]
        assert allowed == all(end is not None and end.org == "acme" for end in ends)

"""The graph's part of a block: only what may be shown, only what fits, never an exception."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import pytest
from builders import AGENT, Broken, Facts, NoMan, YesMan, asker, end, fact, memory
from hypothesis import given
from hypothesis import strategies as st

from clew.clew import Clew
from clew.errors import InvalidInput, Misconfigured
from clew.guard.pep import Pep
from clew.guard.render import tokens, triplet_line
from clew.inject import GraphSearchEngine, build_graph_context_block
from clew.inject.graph_block import graph_block_of
from clew.model.graph_fact import GraphContextBlock, GraphFact
from clew.model.inject import Triplet
from clew.model.scope import Identity, Scope

SHOP = Scope(project="shop")
PEP = Pep()


def block(facts: Sequence[GraphFact], *, budget: int = 500, pep: Any = None) -> GraphContextBlock:
    return graph_block_of(facts, asker(pep=pep or PEP), budget_tokens=budget)


def test_r050_the_documented_format() -> None:
    assert block([fact("AuthService", "depends_on", "PostgresDB")]).block == (
        "## Knowledge Graph Triplets\n- AuthService → depends_on → PostgresDB"
    )


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_r051_c01_descending_importance_is_ascending_relevance_score(importances: list[float]) -> None:
    facts = [fact(f"S{at}", importance=value) for at, value in enumerate(importances)]
    scores = [one.relevance_score for one in block(facts, budget=10_000, pep=YesMan()).triplets]
    assert scores == sorted(scores) and len(scores) == len(facts)


@given(st.lists(st.text("abcdefgh ", min_size=1, max_size=60), min_size=1, max_size=12), st.integers(0, 120))
def test_r052_r053_never_over_budget_and_nothing_skipped_that_fits(names: list[str], budget: int) -> None:
    facts = [fact(f"{at}{name}", importance=1 - at / 100) for at, name in enumerate(names)]
    found = block(facts, budget=budget, pep=YesMan())
    assert found.actual_tokens == tokens(found.block) <= budget
    text = "## Knowledge Graph Triplets"
    for one in (each.triplet for each in facts):
        grown = f"{text}\n{triplet_line(one.source_entity, one.relationship, one.target_entity)}"
        text = grown if tokens(grown) <= budget else text
    assert found.block == (text if found.triplets else "")


def test_r052_r054_the_documented_defaults() -> None:
    graph = Facts([fact(f"Service{at}", importance=at / 100) for at in range(99)])
    found = build_graph_context_block(identity=AGENT, scope=SHOP, engine=graph, query_text="login", pep=YesMan())
    assert graph.asked == [{"query": "login", "scope": SHOP, "top_k": 10, "depth": 2}]
    assert 490 <= found.actual_tokens <= 500


def test_r055_both_ends_must_be_allowed() -> None:
    class NotB(YesMan):
        def decide(self, identity: Any, action: Any, resources: Any, *rest: Any, **options: Any) -> Any:
            allowed = super().decide(identity, action, resources, *rest, **options)
            return [replace(one, allowed=row.id != "node-B") for one, row in zip(allowed, resources, strict=True)]

    found = block([fact("A", target="B"), fact("C", target="D")], pep=NotB())
    assert [one.source_entity for one in found.triplets] == ["C"]
    assert [one.reason for one in found.skipped] == ["denied"]


def test_r055_a_triplet_needs_a_witness_that_may_itself_be_injected() -> None:
    linked = memory("A and B", id="mem_linked")
    for hidden in ({"classification": "restricted"}, {"trust": "untrusted"}):
        witness = memory("A uses B", id="mem_hidden", **hidden)
        stated = replace(fact(witness=witness), source=end("A", linked), target=end("B", linked))
        assert block([stated]).status == "all_denied"
    assert block([replace(stated, witnesses=(), by_user=True)]).status == "ok"


def test_c15_a_node_carries_the_lowest_label_among_the_memories_that_may_be_injected() -> None:
    secret = memory("A", id="mem_1", classification="restricted")
    known = memory("A uses B", id="mem_2", classification="confidential")
    public = memory("A", id="mem_3", classification="public")
    assert end("A", secret, known, public).resource.classification == "public"
    assert end("A", secret).resource.classification == end("A").resource.classification == "restricted"
    stated = replace(fact(witness=known), source=end("A", secret, known))
    assert block([stated]).status == "ok"


def test_names_are_spelled_as_memories_spell_them_that_may_be_injected() -> None:
    witness = memory("authservice uses b", id="mem_plain")
    secret = memory("AuthService-PRIVATE-NAME", id="mem_secret", classification="restricted")
    source = replace(end("AuthService-PRIVATE-NAME", secret, witness), key="authservice")
    assert "PRIVATE" not in block([replace(fact(witness=witness), source=source)]).block


def test_a_memorys_own_node_is_shown_only_if_that_memory_may_be_injected() -> None:
    secret = memory("the vault is behind the picture", id="mem_s", classification="restricted")
    witness = memory("see mem_s", id="mem_w")
    own = replace(end("the vault is behind the picture", secret), type="memory", key="mem_s")
    assert block([replace(fact(witness=witness), target=own)]).status == "all_denied"


def test_r056_c02_a_triplet_of_another_org_is_never_shown_even_if_policies_would() -> None:
    foreign = fact(witness=memory("A uses B", org="acme", id="mem_f"))
    mixed = replace(fact(), target=foreign.target)
    assert block([foreign, mixed], pep=YesMan()).block == ""


@pytest.mark.parametrize("broken", ["engine", "pep"])
def test_r057_any_error_gives_an_empty_block(broken: str) -> None:
    parts: dict[str, Any] = {"engine": Facts([fact()]), "pep": YesMan()} | {broken: Broken()}
    found = build_graph_context_block(identity=AGENT, scope=SHOP, query_text="login", **parts)
    assert (found.block, found.triplets, found.actual_tokens, found.status) == ("", (), 0, "error")


def test_r057_c16_an_identity_without_an_agent_is_denied() -> None:
    found = build_graph_context_block(
        identity=Identity(roles=()), scope=SHOP, engine=Facts([fact()]), query_text="login", pep=PEP
    )
    assert (found.block, found.status) == ("", "all_denied")


@pytest.mark.parametrize(
    ("facts", "budget", "pep", "status"),
    [([], 500, YesMan(), "no_match"), ([fact()], 500, NoMan(), "all_denied"),
     ([fact()], 3, YesMan(), "over_budget"), ([fact()], 500, YesMan(), "ok")],
)  # fmt: skip
def test_c15_the_status_says_why(facts: list[GraphFact], budget: int, pep: Any, status: str) -> None:
    assert block(facts, budget=budget, pep=pep).status == status


def test_r058_only_what_is_in_the_text_is_reported() -> None:
    found = block([fact("A"), fact("C" * 120, importance=0.4)], budget=12, pep=YesMan())
    assert [one.source_entity for one in found.triplets] == ["A"]
    assert found.node_ids == ("node-A", "node-B") and len(found.edge_keys) == 1


def test_r059_the_documented_fields() -> None:
    [triplet] = block([fact(importance=0.25)]).triplets
    assert isinstance(triplet, Triplet)
    document = triplet.as_json()
    assert set(document) == {
        "sourceEntity", "relationship", "targetEntity", "relevanceScore", "sourceNodeId", "targetNodeId",
        "provenance",
    }  # fmt: skip
    assert document["relevanceScore"] == 0.75 and document["provenance"]["observationId"] == "mem_A_B"


def test_two_facts_that_differ_in_nothing_shown_are_one_line() -> None:
    assert block([fact(), fact(importance=0.2)]).block.count("\n") == 1


# -- the engine over a real store ----------------------------------------------------------------------


@pytest.fixture
def graph(memory: Clew) -> GraphSearchEngine:
    for text in (
        "AuthService depends on PostgresDB",
        "PostgresDB uses ReplicaStore",
        "ReplicaStore needs DiskPool",
    ):
        memory.remember(text, scope=SHOP)
    return memory.inject.engine


def told(facts: Sequence[GraphFact]) -> set[tuple[str, str, str]]:
    return {(one.source.label, one.relation, one.target.label) for one in facts}


def test_r054_depth_is_live(graph: GraphSearchEngine) -> None:
    found = [len(graph.facts("AuthService", SHOP, top_k=1, depth=depth)) for depth in range(3)]
    assert found == [0, 2, 3]  # the memory about AuthService also leads to PostgresDB


def test_r054_top_k_is_live(memory: Clew) -> None:
    for name in ("Alpha", "Beta", "Gamma", "Delta"):
        memory.remember(f"At login {name}Service uses {name}Store", scope=SHOP)
    found = [len(memory.inject.engine.facts("at login", SHOP, top_k=top_k, depth=1)) for top_k in (1, 4)]
    assert found == [1, 4]


def test_neighbors_and_path(graph: GraphSearchEngine) -> None:
    near = graph.facts("PostgresDB", SHOP, mode="NEIGHBORS", depth=1)
    assert {one[0] for one in told(near)} == {"AuthService", "PostgresDB"}
    way = graph.facts("AuthService -> ReplicaStore", SHOP, mode="PATH", depth=3)
    assert [one.target.label for one in way] == ["PostgresDB", "ReplicaStore"]


@pytest.mark.parametrize("mode", ["NATURAL_LANGUAGE", "SUMMARY"])
def test_modes_that_need_a_model_are_refused(graph: GraphSearchEngine, mode: str) -> None:
    with pytest.raises(Misconfigured, match="language model"):
        graph.facts("AuthService", SHOP, mode=mode)
    with pytest.raises(InvalidInput):
        graph.facts("AuthService", SHOP, mode="GUESS")


def test_without_an_embedder_words_find_the_seeds(clew_at: Any, tmp_path: Any) -> None:
    clew = clew_at(tmp_path)
    clew.remember("the login page: AuthService depends on PostgresDB", scope=SHOP)
    assert told(clew.inject.engine.facts("login page", SHOP)) == {("AuthService", "depends_on", "PostgresDB")}


def test_search_asks_policies_in_every_mode(memory: Clew, graph: GraphSearchEngine) -> None:
    shown = [
        graph.search(query, identity=AGENT, scope=SHOP, mode=mode, pep=memory._pep)
        for mode, query in (("GRAPH_COMPLETION", "AuthService"), ("NEIGHBORS", "AuthService"),
                            ("PATH", "AuthService -> PostgresDB"))
    ]  # fmt: skip
    assert all(shown) and all(isinstance(one, Triplet) for found in shown for one in found)
    assert not graph.search("AuthService", identity=AGENT, scope=SHOP, pep=NoMan())


def test_a_persons_own_link_is_a_fact(memory: Clew, graph: GraphSearchEngine) -> None:
    memory.link("AuthService", "replaces", "ReplicaStore", scope=SHOP)
    facts = graph.facts("AuthService", SHOP)
    assert ("AuthService", "replaces", "ReplicaStore") in told(facts)
    assert "AuthService → replaces → ReplicaStore" in graph_block_of(facts, asker(pep=PEP), budget_tokens=500).block


def test_how_memories_hang_together_is_no_fact_for_a_prompt(memory: Clew, graph: GraphSearchEngine) -> None:
    one, other = (memory.remember(f"the login of {name} is slow", scope=SHOP).id for name in ("ann", "ben"))
    for relation in ("similar_to", "caused_by"):
        memory.link(one, relation, other, scope=SHOP)
    asked = (("GRAPH_COMPLETION", "login is slow"), ("NEIGHBORS", one))
    assert [graph.facts(query, SHOP, mode=mode) for mode, query in asked] == [[], []]
    assert graph.facts_from("login", SHOP, [(one, 0.9)]) == []
    assert "similar_to" in {fact.relation for fact in memory.graph.triplets("login is slow", scope=SHOP).facts}


def test_many_alike_memories_leave_room_for_facts(memory: Clew, graph: GraphSearchEngine) -> None:
    ids = [memory.remember(f"PostgresDB login case {number}", scope=SHOP).id for number in range(9)]
    for one, other in combinations(ids, 2):
        memory.link(one, "similar_to", other, scope=SHOP)
    few = GraphSearchEngine(memory._reader, memory.now, limit=5)
    assert ("AuthService", "depends_on", "PostgresDB") in told(few.facts("PostgresDB login", SHOP))


def test_a_relation_of_a_private_or_restricted_memory_is_nobody_elses(memory: Clew) -> None:
    kim = Identity(user="kim")
    memory.remember("VaultService uses KeyRing", scope=Scope(project="shop", user="kim"), identity=kim)
    memory.remember("VaultService mounts SafeDisk", scope=SHOP, classification="restricted")
    memory.remember("VaultService is old", scope=SHOP)
    facts = memory.inject.engine.facts("VaultService", SHOP)
    assert "KeyRing" not in str(told(facts))
    assert graph_block_of(facts, asker(pep=PEP), budget_tokens=500).block == ""

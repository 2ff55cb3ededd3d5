"""Looking around in the graph: what is found, in which order, and never without a memory to see it by."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from clew import Clew, Identity, InvalidInput, NotFound, Scope
from clew.model.graph import NodeDraft, NodeRef, Statement
from clew.ports import Tx
from toys import ToldClock

SHOP = Scope(project="acme/shop")
BOB = Scope(project="acme/shop", user="bob")
ALICE = Scope(project="acme/shop", user="alice")
VERBS: dict[str, Callable[[Clew, Scope], Any]] = {
    "neighbors": lambda clew, scope: clew.graph.neighbors("AuthService", scope=scope, depth=3),
    "neighbors of a topic": lambda clew, scope: clew.graph.neighbors("topic:auth", scope=scope, depth=3),
    "explore": lambda clew, scope: clew.graph.explore(scope=scope, limit=100),
    "explore a node": lambda clew, scope: clew.graph.explore("AuthService", scope=scope),
    "path": lambda clew, scope: clew.graph.path("AuthService", "PostgresDB", scope=scope),
    "triplets": lambda clew, scope: clew.graph.triplets(scope=scope),
    "triplets of a query": lambda clew, scope: clew.graph.triplets("AuthService in secret", scope=scope),
    "status": lambda clew, scope: clew.graph.status(scope=scope, top=50),
}


def labels(neighborhood: Any) -> list[tuple[str, str, str]]:
    return [(one.direction, one.edge_type, one.node.label) for one in neighborhood.neighbors]


@pytest.fixture
def shop(memory: Clew) -> Clew:
    memory.remember("AuthService depends on PostgresDB. PostgresDB uses ReplicaStore.", scope=SHOP, tags=("auth",))
    memory.remember("BillingService depends on AuthService", scope=SHOP)
    return memory


# -- neighbors ---------------------------------------------------------------------------------------


def test_neighbors_tell_direction_type_confidence_and_who_says_so(shop: Clew) -> None:
    found = shop.graph.neighbors("AuthService", scope=SHOP)
    assert (found.node.type, found.node.key, found.node.label) == ("service", "authservice", "AuthService")
    assert set(labels(found)) == {
        ("outbound", "depends_on", "PostgresDB"),
        ("inbound", "depends_on", "BillingService"),
    }
    said = next(one for one in found.neighbors if one.direction == "outbound")
    assert said.evidence[0].sentence == "AuthService depends on PostgresDB."
    assert 0 < said.confidence <= 1 and said.weight == 1.0
    assert [memory.role for memory in found.memories] == ["mention", "mention"]


@pytest.mark.parametrize(
    "name", ["AuthService", "auth-service", "auth_service", "service:authservice", "service:AuthService"]
)
def test_a_thing_is_found_by_any_of_its_names(shop: Clew, name: str) -> None:
    assert shop.graph.neighbors(name, scope=SHOP).node.key == "authservice"


def test_a_topic_is_found_by_its_bare_name_too(shop: Clew) -> None:
    assert shop.graph.neighbors("auth", scope=SHOP).node.name == "topic:auth"


def test_a_memory_is_found_by_the_beginning_of_its_id_and_tells_what_it_hangs_on(shop: Clew) -> None:
    id = shop.remember("RedisCache caches AuthService tokens", scope=SHOP, title="Token cache").memory.id
    found = shop.graph.neighbors(id[:22], scope=SHOP)
    assert (found.node.name, found.node.label) == (f"memory:{id}", "Token cache")
    assert ("mention", "service:authservice") in [(role, node.name) for role, node in found.links]
    assert found.memories == ()


def test_more_hops_reach_farther_and_say_from_where(shop: Clew) -> None:
    found = shop.graph.neighbors("AuthService", scope=SHOP, depth=2)
    [far] = [one for one in found.neighbors if one.hop == 2]
    assert (far.near.label, far.edge_type, far.node.label) == ("PostgresDB", "uses", "ReplicaStore")


def test_neighbors_of_one_type_only(shop: Clew) -> None:
    assert labels(shop.graph.neighbors("PostgresDB", scope=SHOP, edge_type="uses")) == [
        ("outbound", "uses", "ReplicaStore")
    ]


def test_at_most_three_witnesses_are_shown_the_newest_first(memory: Clew) -> None:
    ids = [
        memory.remember(f"AuthService depends on PostgresDB. Note {at}.", scope=SHOP).memory.id for at in range(5)
    ]
    [neighbor] = memory.graph.neighbors("AuthService", scope=SHOP).neighbors
    assert [witness.memory_id for witness in neighbor.evidence] == ids[:1:-1]


def test_the_same_name_in_several_projects_is_several_nodes(memory: Clew) -> None:
    memory.remember("AuthService depends on PostgresDB", scope=Scope(project="a"))
    memory.remember("AuthService uses RedisCache", scope=Scope(project="b"))
    found = memory.graph.neighbors("AuthService")
    assert [node.project for node in found.nodes] == ["a", "b"]
    assert {node for _direction, _type, node in labels(found)} == {"PostgresDB", "RedisCache"}


@pytest.mark.parametrize("options", [{"limit": 0}, {"limit": 101}, {"depth": 0}, {"depth": 4}])
def test_bounds_are_told(shop: Clew, options: dict[str, int]) -> None:
    with pytest.raises(InvalidInput) as refused:
        shop.graph.neighbors("AuthService", scope=SHOP, **options)
    assert refused.value.code == "GRAPH_LIMIT_INVALID"


def test_an_unknown_name_is_answered_with_names_like_it(shop: Clew) -> None:
    with pytest.raises(NotFound) as refused:
        shop.graph.neighbors("AuthServise", scope=SHOP)
    assert refused.value.code == "GRAPH_NODE_NOT_FOUND" and "'AuthService'" in refused.value.next


def test_a_memory_that_is_not_in_the_graph_yet_says_so(clew_at: Callable[..., Clew], tmp_path: Path) -> None:
    clew = clew_at(tmp_path, graph={"write": False})
    id = clew.remember("AuthService depends on PostgresDB").memory.id
    with pytest.raises(NotFound) as refused:
        clew.graph.neighbors(id)
    assert refused.value.code == "GRAPH_NODE_NOT_FOUND" and "clew graph status" in refused.value.next


# -- path --------------------------------------------------------------------------------------------


def test_a_path_tells_nodes_types_confidences_and_their_product(shop: Clew) -> None:
    found = shop.graph.path("BillingService", "ReplicaStore", scope=SHOP)
    assert [node.label for node in found.nodes] == ["BillingService", "AuthService", "PostgresDB", "ReplicaStore"]
    assert [step.edge_type for step in found.steps] == ["depends_on", "depends_on", "uses"]
    product = 1.0
    for step in found.steps:
        product *= step.confidence
    assert found.confidence == pytest.approx(product)


def test_a_path_leads_against_edges_and_says_so(shop: Clew) -> None:
    found = shop.graph.path("PostgresDB", "BillingService", scope=SHOP)
    assert [step.direction for step in found.steps] == ["inbound", "inbound"]


def test_what_is_stated_comes_before_what_is_only_named_together(memory: Clew) -> None:
    memory.remember("AuthService depends on PostgresDB. PostgresDB uses ReplicaStore.", scope=SHOP)
    found = memory.graph.path("AuthService", "ReplicaStore", scope=SHOP)
    assert [step.edge_type for step in found.steps] == ["depends_on", "uses"]


def test_things_that_one_memory_names_are_connected_through_it(memory: Clew) -> None:
    id = memory.remember("Look at AuthService and at RedisCache", scope=SHOP).memory.id
    found = memory.graph.path("AuthService", "RedisCache", scope=SHOP)
    assert [node.key for node in found.nodes] == ["authservice", id, "rediscache"]
    assert {step.edge_type for step in found.steps} == {"shared_node"}


def test_from_a_node_to_itself_it_takes_no_step(shop: Clew) -> None:
    found = shop.graph.path("AuthService", "AuthService", scope=SHOP)
    assert (len(found.nodes), found.steps, found.confidence) == (1, (), 1.0)


def test_no_path_is_not_found(shop: Clew) -> None:
    shop.remember("QueueWorker uses KafkaBroker", scope=SHOP)
    with pytest.raises(NotFound) as refused:
        shop.graph.path("AuthService", "QueueWorker", scope=SHOP)
    assert refused.value.code == "GRAPH_PATH_NOT_FOUND" and "--max-hops" in refused.value.next


# -- explore: the documented payload -----------------------------------------------------------------


def test_without_a_node_the_payload_lists_the_most_connected(shop: Clew) -> None:
    payload = shop.graph.explore(scope=SHOP).as_json()
    assert (payload["node"], payload["edges"], payload["memories"]) == (None, [], [])
    assert list(payload["nodes"][0]) == ["nodeType", "nodeKey", "label", "memoryLinks", "edgeCount"]
    degrees = [node["memoryLinks"] + node["edgeCount"] for node in payload["nodes"]]
    assert degrees == sorted(degrees, reverse=True)


def test_with_a_node_the_payload_has_its_edges_and_memories(shop: Clew) -> None:
    payload = shop.graph.explore("PostgresDB", scope=SHOP).as_json()
    assert payload["node"] == {"nodeType": "service", "nodeKey": "postgresdb", "label": "PostgresDB"}
    assert list(payload["edges"][0]) == [
        "id", "edgeType", "weight", "confidence", "expiresAt", "evidenceMemoryId", "direction", "from", "to",
    ]  # fmt: skip
    assert {(edge["direction"], edge["from"]["label"]) for edge in payload["edges"]} == {
        ("inbound", "AuthService"),
        ("outbound", "PostgresDB"),
    }
    assert list(payload["memories"][0]) == ["memoryId", "role", "type", "content", "updatedAt"]


def test_edges_of_the_payload_come_newest_first(memory: Clew) -> None:
    for name in ("PostgresDB", "RedisCache", "KafkaBroker"):
        memory.remember(f"AuthService depends on {name}", scope=SHOP)
    edges = memory.graph.explore("AuthService", scope=SHOP).as_json()["edges"]
    assert [edge["to"]["label"] for edge in edges] == ["KafkaBroker", "RedisCache", "PostgresDB"]


def test_a_forgotten_memory_is_in_no_payload(shop: Clew) -> None:
    id = shop.remember("AuthService uses VaultService", scope=SHOP).memory.id
    shop.forget(id)
    assert "vault" not in str([verb(shop, SHOP).as_json() for verb in VERBS.values()]).lower()


# -- status ------------------------------------------------------------------------------------------


def put_documented_graph(tx: Tx, row: int, other_row: int, now: Any) -> None:
    """Three nodes, an active and an expired edge, three links."""
    refs = [NodeRef("topic", key) for key in ("a", "b", "c")]
    rows = tx.graph.nodes("local", {("", ref): NodeDraft(ref, ref.key) for ref in refs}, {}, now)
    a, b, c = (rows["", ref] for ref in refs)
    tx.graph.link("local", [(row, a, "tag"), (other_row, a, "tag"), (row, b, "tag")])
    past = int((now - timedelta(days=1)).timestamp() * 1_000_000)
    active = Statement("", a, b, "depends_on", row, "stated")
    tx.graph.state("local", [active, active._replace(target=c, expires_at=past)], now)


def test_status_counts_active_and_expired_edges_apart(
    clew_at: Callable[..., Clew], tmp_path: Path, clock: ToldClock
) -> None:
    """T43 of memories.sh."""
    clew = clew_at(tmp_path, graph={"write": False})
    one, two = (clew.remember(text).memory for text in ("first a", "second a"))
    clew.store.write(
        lambda tx: put_documented_graph(tx, tx.memories.row_of(one), tx.memories.row_of(two), clock.now())
    )
    found = clew.graph.status().as_json()
    assert found["counts"] == {
        "nodes": 3, "edges": 2, "memory_links": 3, "active_edges": 1, "expired_edges": 1, "orphan_nodes": 1,
    }  # fmt: skip
    top = found["top_connected_nodes"][0]
    assert (top["node_key"], top["memory_links"], top["outbound_edges"], top["degree"]) == ("a", 2, 1, 3)
    assert [error["code"] for error in found["recent_errors"]] == ["ORPHAN_NODES_DETECTED", "EXPIRED_EDGES_PRESENT"]
    assert clew.graph.status(scope=Scope()).as_json()["counts"] == found["counts"]


def test_status_of_an_empty_store_is_healthy_and_zero(memory: Clew) -> None:
    found = memory.graph.status().as_json()
    assert found["health"] == "ok" and not any(found["counts"].values())
    assert found["flags"] == {"mappingEnabled": True, "retrievalEnabled": True, "llmExtractionEnabled": False}


def test_status_tells_what_is_pending_and_why(clew_at: Callable[..., Clew], tmp_path: Path) -> None:
    clew = clew_at(tmp_path, graph={"write": False})
    memory = clew.remember("AuthService depends on PostgresDB").memory
    found = clew.graph.status()
    assert (found.health, found.as_json()["pending"]) == ("ok", {"GRAPH_WRITE_OFF": 1})
    clew.store.write(
        lambda tx: tx.graph.put_pending(
            "local", tx.memories.row_of(memory), "GRAPH_MAPPING_SYNC_FAILED", clew.now(), attempts=1
        )
    )
    found = clew.graph.status()
    assert found.health == "degraded" and found.errors[0].code == "GRAPH_MAPPING_SYNC_FAILED"


def test_an_owners_status_counts_the_org_and_a_members_only_what_the_member_sees(shop: Clew) -> None:
    shop.remember("VaultService uses SecretStore", scope=ALICE)
    owner = shop.graph.status().counts
    bob = shop.graph.status(identity=Identity(user="bob", roles=("member",))).counts
    alice = shop.graph.status(identity=Identity(user="alice", roles=("member",))).counts
    assert owner == alice and owner["nodes"] > bob["nodes"] and owner["edges"] > bob["edges"]


def test_most_connected_nodes_are_bounded(shop: Clew) -> None:
    assert len(shop.graph.status(top=2).top) == 2
    with pytest.raises(InvalidInput):
        shop.graph.status(top=51)


# -- rights ------------------------------------------------------------------------------------------


@pytest.fixture
def secretive(shop: Clew) -> Clew:
    """Alice keeps a relation to herself, another project has one, and so has one that has expired."""
    shop.remember("AuthService calls VaultService through a secret tunnel", scope=ALICE, tags=("auth", "hush"))
    shop.remember("AuthService uses HiddenCache by secret means", scope=Scope(project="other"), tags=("auth",))
    shop.remember(
        "AuthService uses VanishedStore in secret", scope=SHOP, expires_at=shop.now() + timedelta(hours=1)
    )
    return shop


@pytest.mark.parametrize("name", VERBS)
def test_no_verb_shows_what_only_others_may_see(secretive: Clew, clock: ToldClock, name: str) -> None:
    clock.pass_by(hours=2)
    seen = str(VERBS[name](secretive, BOB).as_json()).lower()
    secrets = ("vault", "hidden", "vanished", "tunnel", "hush", "alice", "other")
    assert [word for word in secrets if word in seen] == []


@pytest.mark.parametrize(
    "name", ["VaultService", "HiddenCache", "VanishedStore", "topic:hush", "user:alice", "repo:other"]
)
def test_a_node_that_only_others_see_is_not_found(secretive: Clew, clock: ToldClock, name: str) -> None:
    clock.pass_by(hours=2)
    calls: list[Callable[[], Any]] = [
        lambda: secretive.graph.neighbors(name, scope=BOB),
        lambda: secretive.graph.explore(name, scope=BOB),
        lambda: secretive.graph.path("AuthService", name, scope=BOB),
    ]
    for call in calls:
        with pytest.raises(NotFound) as refused:
            call()
        assert refused.value.code == "GRAPH_NODE_NOT_FOUND"
        assert name.split(":")[-1].lower() not in refused.value.next.lower()


def test_names_like_a_private_one_are_not_offered(secretive: Clew) -> None:
    with pytest.raises(NotFound) as refused:
        secretive.graph.neighbors("VaultServic", scope=BOB)
    assert "VaultService" not in refused.value.next
    with pytest.raises(NotFound) as refused:
        secretive.graph.neighbors("VaultServic", scope=ALICE)
    assert "'VaultService'" in refused.value.next


def test_those_who_may_see_it_do(secretive: Clew) -> None:
    assert ("outbound", "calls", "VaultService") in labels(secretive.graph.neighbors("AuthService", scope=ALICE))
    other = secretive.graph.neighbors("HiddenCache", scope=Scope(project="other"))
    assert labels(other) == [("inbound", "uses", "AuthService")]


def test_another_users_private_memory_is_not_found_by_its_id(secretive: Clew) -> None:
    id = secretive.list(scope=ALICE)[1].id
    private = next(entry.id for entry in secretive.list(scope=ALICE, limit=9) if entry.user == "alice")
    assert secretive.graph.neighbors(id, scope=ALICE)
    for text in (private, private[:24], f"memory:{private}"):
        with pytest.raises(NotFound) as refused:
            secretive.graph.neighbors(text, scope=BOB)
        assert refused.value.code == "GRAPH_NODE_NOT_FOUND"


def test_a_shared_edge_shows_only_the_sentences_of_memories_in_reach(shop: Clew) -> None:
    shop.remember("AuthService depends on PostgresDB, which Alice broke", scope=ALICE)
    [bob] = [one for one in shop.graph.neighbors("PostgresDB", scope=BOB).neighbors if one.direction == "inbound"]
    [alice] = [
        one for one in shop.graph.neighbors("PostgresDB", scope=ALICE).neighbors if one.direction == "inbound"
    ]
    assert [witness.sentence for witness in bob.evidence] == ["AuthService depends on PostgresDB."]
    assert len(alice.evidence) == 2


def test_a_label_is_not_spelled_as_only_a_private_memory_spells_it(memory: Clew) -> None:
    memory.remember("authSERVICE calls VaultService", scope=ALICE)
    memory.remember("auth_service depends on PostgresDB", scope=SHOP)
    assert memory.graph.neighbors("AuthService", scope=BOB).node.label == "authservice"
    assert memory.graph.neighbors("AuthService", scope=ALICE).node.label == "authSERVICE"


def test_a_shared_memory_does_not_lead_to_a_private_one_that_names_the_same_thing(memory: Clew) -> None:
    """The shared memory witnesses an edge to the private one, but that end is hidden."""
    shared = memory.remember("AuthService is fast", scope=SHOP).memory.id
    private = memory.remember("AuthService is slow, says Alice", scope=ALICE).memory.id
    assert private not in str(memory.graph.neighbors(shared, scope=BOB, depth=3).as_json())
    assert private in str(memory.graph.neighbors(shared, scope=ALICE).as_json())
    assert memory.graph.explore(shared, scope=BOB).edges == ()
    with pytest.raises(NotFound):
        memory.graph.path(shared, private, scope=BOB)


def test_no_path_leads_through_a_private_memory(shop: Clew) -> None:
    shop.remember("QueueWorker uses KafkaBroker", scope=SHOP)
    shop.remember("Look at AuthService and at QueueWorker", scope=ALICE)
    assert len(shop.graph.path("AuthService", "QueueWorker", scope=ALICE).steps) == 2
    with pytest.raises(NotFound) as refused:
        shop.graph.path("AuthService", "QueueWorker", scope=BOB)
    assert refused.value.code == "GRAPH_PATH_NOT_FOUND"


def test_private_memories_do_not_even_count(shop: Clew) -> None:
    before = [shop.graph.explore(scope=BOB).as_json(), shop.graph.status(scope=BOB).as_json()]
    shop.remember("AuthService depends on PostgresDB and calls VaultService", scope=ALICE, tags=("auth",))
    after = [shop.graph.explore(scope=BOB).as_json(), shop.graph.status(scope=BOB).as_json()]
    for document in (before[1], after[1]):
        del document["sampled_at"]
    assert before == after


def test_a_persons_edge_is_seen_by_those_who_see_something_of_both_ends(shop: Clew) -> None:
    shop.remember("VaultService is slow", scope=ALICE)
    shop.link("AuthService", "guards", "VaultService", scope=ALICE)
    assert ("outbound", "guards", "VaultService") in labels(shop.graph.neighbors("AuthService", scope=ALICE))
    assert "guards" not in str(shop.graph.neighbors("AuthService", scope=BOB).as_json())
    assert "guards" not in shop.graph.status(scope=BOB).counted.edges
    assert "guards" not in [fact.relation for fact in shop.graph.triplets(scope=BOB).facts]
    assert "guards" in [fact.relation for fact in shop.graph.triplets(scope=ALICE).facts]


def test_pending_memories_of_others_do_not_count(clew_at: Callable[..., Clew], tmp_path: Path) -> None:
    clew = clew_at(tmp_path, graph={"write": False})
    clew.remember("AuthService depends on PostgresDB", scope=ALICE)
    assert clew.graph.status(scope=BOB).as_json()["pending"] == {}
    assert clew.graph.status(scope=ALICE).as_json()["pending"] == {"GRAPH_WRITE_OFF": 1}


def test_another_org_is_not_there(shop: Clew) -> None:
    stranger = Identity(org="globex")
    for call in (shop.graph.neighbors, shop.graph.explore):
        with pytest.raises(NotFound):
            call("AuthService", identity=stranger)
    assert shop.graph.explore(identity=stranger).nodes == () and shop.graph.triplets(identity=stranger).facts == ()
    assert not any(shop.graph.status(identity=stranger).counts.values())


def test_what_no_longer_holds_is_not_shown(shop: Clew, clock: ToldClock) -> None:
    shop.remember("BillingService uses StripeGateway", scope=SHOP, invalid_at=clock.time + timedelta(hours=1))
    assert ("outbound", "uses", "StripeGateway") in labels(shop.graph.neighbors("BillingService", scope=SHOP))
    clock.pass_by(hours=2)
    with pytest.raises(NotFound):
        shop.graph.neighbors("StripeGateway", scope=SHOP)


def test_what_others_state_in_private_makes_no_edge_surer_in_any_view(memory: Clew) -> None:
    memory.remember("UserController calls BillingApi", scope=BOB)

    def shown() -> list[float]:
        graph = memory.graph
        return [
            *(one.confidence for one in graph.neighbors("UserController", scope=BOB, edge_type="calls").neighbors),
            *(one.edge.confidence for one in graph.explore("UserController", scope=BOB).edges),
            *(step.confidence for step in graph.path("UserController", "BillingApi", scope=BOB).steps),
            *(fact.confidence for fact in graph.triplets(scope=BOB).facts),
        ]

    before = shown()
    memory.remember("We found that UserController calls BillingApi", scope=ALICE)
    assert shown() == before and len(before) >= 4
    memory.remember("As ever, UserController calls BillingApi", scope=SHOP)
    assert max(shown()) > max(before)

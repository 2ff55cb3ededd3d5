from dataclasses import replace
from datetime import UTC, datetime

import pytest

from clew.model.graph import MAX_LABEL, NodeRef
from clew.model.memory import Draft, Memory
from clew.model.scope import Scope
from clew.remember.extract import graph_draft
from clew.remember.prepare import WritePolicy, draft_memory

NOW = datetime(2026, 3, 1, tzinfo=UTC)
SCOPE = Scope("local", "github.com/webrenew/memories", "user-123")


def drafted(content: str, scope: Scope = SCOPE, **fields: object) -> Memory:
    draft = replace(Draft(content=content, id="mem-1"), **fields)  # type: ignore[arg-type]
    return draft_memory(draft, scope, now=NOW, policy=WritePolicy())[0]


def test_metadata_gives_the_nodes_links_and_edges_of_memories_sh() -> None:
    memory = drafted("we keep it", type="decision", tags=("Auth", "auth", "MCP"), category="Architecture")
    graph = graph_draft(memory)
    assert {":".join(node.ref) for node in graph.nodes} == {
        "category:architecture", "memory:mem-1", "memory_type:decision", "repo:github.com/webrenew/memories",
        "topic:auth", "topic:mcp", "user:user-123",
    }  # fmt: skip
    assert [role for _, role in graph.links] == ["self", "type", "scope", "subject", "category", "tag", "tag"]
    assert {(e.source.type, e.type, e.target.type) for e in graph.edges} == {
        ("repo", "authored_by", "user"), ("repo", "contains_type", "memory_type"), ("repo", "about", "category"),
        ("user", "about", "category"), ("repo", "about", "topic"), ("user", "mentions", "topic"),
        ("category", "related_to", "topic"),
    }  # fmt: skip
    assert len(graph.edges) == 10
    assert not any("memory" in (edge.source.type, edge.target.type) for edge in graph.edges)


def test_a_memory_with_only_tags_has_no_edges() -> None:
    assert graph_draft(drafted("we keep it", Scope("local"), tags=("billing",))).edges == ()


def test_labels_are_cut() -> None:
    graph = graph_draft(drafted("x y" * 80))
    assert graph.nodes[0].label == ("x y" * 80)[:117] + "..."
    assert len(graph.nodes[0].label) == MAX_LABEL
    assert (NodeRef("memory", "mem-1"), "self") in graph.links


def test_the_label_of_a_repo_is_its_last_segment() -> None:
    labels = {node.ref.type: node.label for node in graph_draft(drafted("we keep it")).nodes}
    assert labels["repo"] == "memories"


def test_a_text_that_is_taken_back_takes_back_its_title() -> None:
    kept, over = (
        graph_draft(drafted(text, title="AuthService depends on Redis"))
        for text in ("Since May.", "Since May. EDIT: no longer true.")
    )
    assert "depends_on" in {edge.type for edge in kept.edges}
    assert "depends_on" not in {edge.type for edge in over.edges}


def test_things_of_title_text_and_paths_are_mentioned() -> None:
    memory = drafted(
        "It calls UserService", title="AuthService", paths=("./src/auth/mw.py", "src/**/*.ts"), author="Alice"
    )
    mentioned = {":".join(ref) for ref, role in graph_draft(memory).links if role == "mention"}
    assert mentioned == {"service:authservice", "service:userservice", "file:src/auth/mw.py"}
    assert (NodeRef("person", "alice"), "subject") in graph_draft(memory).links


def test_stated_relations_are_edges_and_their_ends_are_linked() -> None:
    graph = graph_draft(drafted("The session store is backed by Redis."))
    [edge] = [edge for edge in graph.edges if edge.sentence]
    assert (edge.source, edge.type, edge.target) == (
        NodeRef("topic", "session store"), "depends_on", NodeRef("service", "redis"),
    )  # fmt: skip
    assert {edge.source, edge.target} <= {node.ref for node in graph.nodes}
    assert (edge.source, "mention") in graph.links


def test_a_memory_is_about_its_title_and_paths_and_names_what_its_text_names() -> None:
    memory = drafted(
        "Shirley Temple met UserService", title="Kiss and Tell (1945 film)", paths=("a.py",), author="Bob"
    )
    graph = graph_draft(memory)
    assert set(graph.subjects) == {"kiss and tell 1945 film", "kiss and tell", "file:a.py"}
    assert {"shirley temple", "service:userservice"} <= set(graph.names)
    assert not set(graph.names) & set(graph.subjects)


def test_the_same_memory_gives_the_same_draft() -> None:
    memory = drafted("AuthService depends on Redis", tags=("Auth",))
    assert graph_draft(memory) == graph_draft(memory)


def test_no_secret_reaches_the_graph() -> None:
    memory = drafted("AuthService uses ghp_0123456789abcdefghijklmnopqrstuvwxyzAB as its token")
    assert "ghp_" not in repr(graph_draft(memory))


@pytest.mark.parametrize("text", ["AuthService uses Redis. " * 20_000, "Ab/" * 160_000, "`\"'*" * 120_000])
def test_limits_hold_for_hostile_text(text: str) -> None:
    graph = graph_draft(drafted(text[:499_000]))
    assert len(graph.names) <= 128
    assert len([role for _, role in graph.links if role == "mention"]) <= 64 + 2 * 32

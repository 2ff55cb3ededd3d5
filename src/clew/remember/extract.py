"""What one memory gives to the graph by itself: nodes, links, edges, names. Pure; no model, no look at others.

The nodes and edges of its metadata are those of memories.sh; to these come the things that its title and text name,
and the relations that it states. Running it twice gives the same draft. It sees text that is masked already.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from clew.model.graph import MAX_LABEL, EdgeDraft, GraphDraft, NodeDraft, NodeRef
from clew.model.memory import Memory
from clew.remember.names import MAX_NAMES, names_in, title_names
from clew.remember.relations import MAX_RELATIONS, relations_in
from clew.remember.things import MAX_THINGS, Thing, file_named, person_named, things_in


def graph_draft(memory: Memory) -> GraphDraft:
    itself = NodeRef("memory", memory.id)
    about = _about(
        memory.type, memory.project or "", memory.user or "", (memory.category or "").strip(), memory.tags
    )
    nodes = {itself: NodeDraft(itself, cut_label(memory.content.strip() or memory.id))} | about.nodes
    links: dict[tuple[NodeRef, str], None] = {(itself, "self"): None} | about.links
    edges = about.edges.copy()
    title = memory.title or ""
    of_title = things_in(title) if title else []
    of_text = things_in(memory.content)[: MAX_THINGS - len(of_title)]
    paths = [ref for path in memory.paths if (ref := file_named(path))]
    author = person_named(memory.author) if memory.author else None
    mentions = [(ref, label) for ref, label, _, _ in (*of_title, *of_text)] + [(ref, ref.key) for ref in paths]
    if author:  # who says it: not what it is about, or all that one person said would hang together
        nodes.setdefault(author, NodeDraft(author, cut_label(memory.author or "")))
        links[author, "subject"] = None
    stated = relations_in(title, of_title) if title else []
    for edge in (stated + relations_in(memory.content, of_text))[:MAX_RELATIONS]:
        edges.setdefault((edge.source, edge.target, edge.type), edge)
        mentions += (edge.source, edge.source.key), (edge.target, edge.target.key)
    for ref, label in mentions:
        if ref not in nodes:
            nodes[ref] = NodeDraft(ref, cut_label(label))
        links[ref, "mention"] = None
    return GraphDraft(
        nodes=tuple(nodes.values()),
        links=tuple(links),
        edges=tuple(edges.values()),
        names=_names(memory.content, of_text),
        subjects=tuple(dict.fromkeys(title_names(title) + _spelled([*(t.ref for t in of_title), *paths]))),
    )


def _names(content: str, things: list[Thing]) -> tuple[str, ...]:
    """Things first among what the limit keeps: they are surer than capitalised words."""
    spelled = _spelled([thing.ref for thing in things])
    return tuple(dict.fromkeys(names_in(content)[: MAX_NAMES - len(spelled)] + spelled))


def _spelled(refs: list[NodeRef]) -> list[str]:
    return list(dict.fromkeys([f"{type_}:{key}" for type_, key in refs]))


class _About(NamedTuple):
    """What the metadata says, apart from which memory it is."""

    nodes: dict[NodeRef, NodeDraft]
    links: dict[tuple[NodeRef, str], None]
    edges: dict[tuple[NodeRef, NodeRef, str], EdgeDraft]


@lru_cache(maxsize=1024)  # an import brings thousands of memories with the same few labels
def _about(type_: str, project: str, user: str, category: str, tags: tuple[str, ...]) -> _About:
    """The deterministic part of memories.sh. The memory's own node has no edges, only links."""
    about = _About({}, {}, {})
    kind = _node(about, "memory_type", type_, type_, "type")
    repo = _node(about, "repo", project, project.rstrip("/").rpartition("/")[2], "scope")
    person = _node(about, "user", user, user, "subject")
    group = _node(about, "category", category.lower(), category, "category")
    _edge(about, repo, "authored_by", person)
    _edge(about, repo, "contains_type", kind)
    _edge(about, repo, "about", group)
    _edge(about, person, "about", group)
    for tag in tags:
        topic = _node(about, "topic", tag.strip().lower(), tag.strip(), "tag")
        _edge(about, repo, "about", topic)
        _edge(about, person, "mentions", topic)
        _edge(about, group, "related_to", topic)
    return about


def _node(about: _About, type_: str, key: str, label: str, role: str) -> NodeRef | None:
    if not key:
        return None
    ref = NodeRef(type_, key)
    about.nodes.setdefault(ref, NodeDraft(ref, cut_label(label)))
    about.links[ref, role] = None
    return ref


def _edge(about: _About, source: NodeRef | None, type_: str, target: NodeRef | None) -> None:
    if source and target:
        about.edges.setdefault((source, target, type_), EdgeDraft(source, target, type_))


def cut_label(label: str) -> str:
    return label if len(label) <= MAX_LABEL else label[: MAX_LABEL - 3] + "..."

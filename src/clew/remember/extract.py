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
from clew.remember.retract import taken_back
from clew.remember.things import MAX_THINGS, Thing, file_named, person_named, things_in


def graph_draft(memory: Memory) -> GraphDraft:
    itself = NodeDraft(NodeRef("memory", memory.id), cut_label(memory.content.strip() or memory.id))
    about = _about(
        memory.type, memory.project or "", memory.user or "", (memory.category or "").strip(), memory.tags
    )
    title, content = memory.title or "", memory.content
    of_title = things_in(title) if title else []
    words = content.split()
    of_text = things_in(content, words)[: MAX_THINGS - len(of_title)]
    paths = [ref for path in memory.paths if (ref := file_named(path))] if memory.paths else []
    stated = (_titled(title, of_title, content) if title else []) + relations_in(content, of_text, words)
    found = _Found(memory.author, (*of_title, *of_text), paths, stated[:MAX_RELATIONS])
    return GraphDraft(
        *(_joined(itself, about, found) if any(found) else _alone(itself, about)),
        names=_names(content, words, of_text),
        subjects=_subjects(title, of_title, paths) if title or paths else (),
    )


def _titled(title: str, things: list[Thing], content: str) -> list[EdgeDraft]:
    """What a title states, unless the text below takes it back."""
    stated = relations_in(title, things)
    return [] if stated and any(start == 0 for start, _end in taken_back(content)) else stated


class _Found(NamedTuple):
    """What the text and the labels of one memory name and state."""

    author: str | None
    things: tuple[Thing, ...]
    paths: list[NodeRef]
    stated: list[EdgeDraft]


_Parts = tuple[tuple[NodeDraft, ...], tuple[tuple[NodeRef, str], ...], tuple[EdgeDraft, ...]]


def _alone(itself: NodeDraft, about: _About) -> _Parts:
    """The memory's node and what its metadata says, as for most."""
    return (
        (itself, *about.nodes.values()),
        ((itself.ref, "self"), *about.links),
        tuple(about.edges.values()),
    )


def _joined(itself: NodeDraft, about: _About, found: _Found) -> _Parts:
    nodes = {itself.ref: itself} | about.nodes
    links: dict[tuple[NodeRef, str], None] = {(itself.ref, "self"): None} | about.links
    edges = about.edges.copy()
    mentions = [(ref, label) for ref, label, _, _ in found.things] + [(ref, ref.key) for ref in found.paths]
    author = person_named(found.author) if found.author else None
    if author:  # who says it: not what it is about, or all that one person said would hang together
        nodes.setdefault(author, NodeDraft(author, cut_label(found.author or "")))
        links[author, "subject"] = None
    for edge in found.stated:
        edges.setdefault((edge.source, edge.target, edge.type), edge)
        mentions += (edge.source, edge.source.key), (edge.target, edge.target.key)
    for ref, label in mentions:
        if ref not in nodes:
            nodes[ref] = NodeDraft(ref, cut_label(label))
        links[ref, "mention"] = None
    return tuple(nodes.values()), tuple(links), tuple(edges.values())


def _subjects(title: str, things: list[Thing], paths: list[NodeRef]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(title_names(title) + _spelled([*(thing.ref for thing in things), *paths])))


def _names(content: str, words: list[str], things: list[Thing]) -> tuple[str, ...]:
    """Things first among what the limit keeps: they are surer than capitalised words."""
    if not things:
        return tuple(names_in(content, words))
    spelled = _spelled([thing.ref for thing in things])
    return tuple(dict.fromkeys(names_in(content, words)[: MAX_NAMES - len(spelled)] + spelled))


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

"""Facts of the graph on their way into a prompt: with the memories through which each may be seen."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from clew.model.access import Resource
from clew.model.inject import EdgeKey, Skipped, Triplet
from clew.model.memory import CLASSIFICATIONS, Memory
from clew.values import dataclass

_FILED = ("memory_type", "repo", "user")  # their labels are ours, not a memory's


@dataclass(frozen=True, slots=True)
class FactEnd:
    """One end of a fact as the store has it, and the memories that hang on it."""

    id: str  # of the node
    org: str
    project: str | None
    type: str
    key: str
    label: str
    memories: tuple[Memory, ...] = ()

    def through(self, memories: Iterable[Memory]) -> FactEnd:
        """As these memories alone let it be seen: what a memory's own node says is that memory's text."""
        mine = [memory for memory in memories if self.type != "memory" or memory.id == self.key]
        spelled = any(self.label in _words(memory) for memory in mine) or self.type in ("memory", *_FILED)
        return replace(self, label=self.label if spelled else self.key, memories=tuple(mine))

    @property
    def resource(self) -> Resource:
        """For policies a node carries the lowest label among its memories; without one, the highest there is."""
        labels = [memory.classification for memory in self.memories]
        known = [label if label in CLASSIFICATIONS else CLASSIFICATIONS[-1] for label in labels]
        lowest = min(known, key=CLASSIFICATIONS.index, default=CLASSIFICATIONS[-1])
        users = {memory.user for memory in self.memories}
        private = None if not users or None in users else self.memories[0].user
        return Resource("node", self.id, self.org, self.project, private, classification=lowest)


@dataclass(frozen=True, slots=True)
class GraphFact:
    """A fact as it was found. Nobody has said yet who may see it, and through which of its memories."""

    source: FactEnd
    relation: str
    target: FactEnd
    importance: float
    confidence: float
    witnesses: tuple[Memory, ...] = ()
    by_user: bool = False  # a person made the edge: it needs no witness

    def through(self, is_seen: Callable[[Memory], bool]) -> GraphFact:
        """With those of its memories alone."""
        source, target = (replace(end, memories=_seen(end.memories, is_seen)) for end in (self.source, self.target))
        return replace(self, source=source, target=target, witnesses=_seen(self.witnesses, is_seen))

    @property
    def memories(self) -> tuple[Memory, ...]:
        return (*self.witnesses, *self.source.memories, *self.target.memories)

    @property
    def source_ids(self) -> tuple[str, ...]:
        """The memories on which it rests as it is shown: all that state it, and for an end that none of them
        spells one that does. Asked after it was authorised, when no others are left."""
        ends = (memory for end in (self.source, self.target) for memory in _spelling(end, self.witnesses))
        return tuple(dict.fromkeys(memory.id for memory in (*self.witnesses, *ends)))

    @property
    def triplet(self) -> Triplet:
        first = self.witnesses[0] if self.witnesses else None
        return Triplet(
            self.source.label,
            self.relation,
            self.target.label,
            self.importance,
            self.source.id,
            self.target.id,
            confidence=self.confidence,
            observation_id=first.id if first else None,
            session_id=first.session if first else None,
            timestamp=first.at if first else None,
        )


@dataclass(frozen=True, slots=True)
class GraphContextBlock:
    """The graph's part of a block, and why it is as it is."""

    block: str = ""
    triplets: tuple[Triplet, ...] = ()  # those in the text
    actual_tokens: int = 0
    status: str = "no_match"
    skipped: tuple[Skipped, ...] = ()
    source_ids: tuple[str, ...] = ()  # the memories on which they rest

    @property
    def node_ids(self) -> tuple[str, ...]:
        ends = (id for one in self.triplets for id in (one.source_node_id, one.target_node_id))
        return tuple(dict.fromkeys(ends))

    @property
    def edge_keys(self) -> tuple[EdgeKey, ...]:
        return tuple(dict.fromkeys(one.key for one in self.triplets))


def _seen(memories: Iterable[Memory], is_seen: Callable[[Memory], bool]) -> tuple[Memory, ...]:
    return tuple(memory for memory in memories if is_seen(memory))


def _spelling(end: FactEnd, witnesses: tuple[Memory, ...]) -> tuple[Memory, ...]:
    """Witnesses before others, so that a fact rests on as few memories as can be. Where nobody spells the name, it
    is shown by its key, which whatever hangs on the node stands for."""
    known = (*witnesses, *end.memories)
    first = next((memory for memory in known if end.label in _words(memory)), None)
    return (first,) if first else known[:1]


def _words(memory: Memory) -> str:
    parts = (memory.content, memory.title, memory.category, memory.author, *memory.tags, *memory.paths)
    return " ".join(part for part in parts if part)

"""What an agent that asks is told of memories and the graph, as JSON in which no text can pose as anything else.

Every text goes through the one renderer (`guard/render.py`), so that tags, role templates, links and invisible
characters stand there broken. What comes from an origin that is not trusted is marked and stands on one line.
Pure: values in, plain documents out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from clew.guard.render import excerpt, neutral_lines
from clew.guard.trust import why_not_injected
from clew.model.times import to_rfc3339

if TYPE_CHECKING:
    from clew.errors import ClewError
    from clew.model.explored import Fact, FoundPath, LinkedMemory, Neighbor, SeenNode, Step, Witness
    from clew.model.memory import Memory, Version
    from clew.model.recalled import Result, Trace

Document = dict[str, Any]
NAME_CHARS = 240  # a project may be so long
SENTENCE_CHARS = 300
DETAILS_CHARS = 1_000  # of an error; more of them are for programs


def name(text: str, limit: int = NAME_CHARS) -> str:
    """One line that does nothing but be read."""
    return excerpt(text, limit)


def text_of(memory: Memory) -> str:
    """The content as it may be shown: with its lines when it is trusted, on one line when it is not."""
    return neutral_lines(memory.content) if is_trusted(memory) else excerpt(memory.content, len(memory.content))


def is_trusted(memory: Memory) -> bool:
    return why_not_injected(memory) is None


def memory_told(memory: Memory, *, text: str | None = None) -> Document:
    """The text with where it comes from. `text`: a part of it."""
    told = text_of(memory) if text is None else text
    document: Document = {"id": name(memory.id), "type": memory.type, "content": told} | provenance(memory)
    if memory.title:
        document["title"] = name(memory.title)
    lists = {"tags": memory.tags, "paths": memory.paths}
    document |= {key: [name(one) for one in given] for key, given in lists.items() if given}
    if memory.superseded_by:
        document["superseded_by"] = name(memory.superseded_by)
    return document


def provenance(memory: Memory) -> Document:
    names = {"project": memory.project, "agent": memory.agent, "session": memory.session, "author": memory.author}
    given = {key: name(value) for key, value in names.items() if value}
    return {"at": to_rfc3339(memory.at)} | _source(memory) | given


def _source(memory: Memory) -> Document:
    mark = {} if is_trusted(memory) else {"untrusted": True}
    return {"origin": name(memory.origin), "trust": memory.trust} | mark


def result_told(result: Result, *, explain: bool = False) -> Document:
    """`why` names what found it; explained, with ranks, scores and the way through the graph."""
    reasons: list[Any] = [why.source for why in result.why]
    place = {"layer": result.memory.layer, "rank": result.rank, "score": round(result.relevance, 4)}
    document = memory_told(result.memory) | place
    if explain:
        reasons = [_plain(why.as_json()) for why in result.why]
        document["rank_score"] = round(result.rank_score, 6)
        if result.way:
            document["graph"] = _plain(result.way.as_json())
    return document | {"why": reasons}


def trace_told(trace: Trace) -> Document:
    """Which stage kept and removed how many, without the ids."""
    removed = [{gone.reason: gone.count for gone in one.removed} for one in trace.stages]
    counted = [{"name": one.name, "in": one.into, "out": one.out} for one in trace.stages]
    return {"stages": [one | {"removed": gone} for one, gone in zip(counted, removed, strict=True)]}


def version_told(version: Version) -> Document:
    document = {"version": version.version, "change": version.change, "at": to_rfc3339(version.changed_at)}
    return document | {"content": text_of(version.memory)} | _source(version.memory)


def error_told(error: ClewError) -> Document:
    """What is to be done may name a node, and nodes are named by memories."""
    told: Document = {"code": error.code, "message": name(error.message, 500), "next": name(error.next, 500)}
    details = _plain(error.details)
    if details and len(str(details)) <= DETAILS_CHARS:
        told["details"] = details
    return {"error": told}


# -- the graph -----------------------------------------------------------------------------------------

Trusts = Callable[[str], bool]  # whether the memory of an id is trusted


def node_told(node: SeenNode) -> Document:
    told = {"name": name(f"{node.type}:{node.key}"), "label": name(node.label)}
    return told | ({"project": name(node.project)} if node.project else {})


def neighbor_told(one: Neighbor, trusts: Trusts) -> Document:
    ends = (one.near, one.node) if one.direction == "outbound" else (one.node, one.near)
    return _edge(ends[0], one.edge_type, ends[1], one.confidence, one.evidence, trusts) | {"hop": one.hop}


def fact_told(fact: Fact, trusts: Trusts) -> Document:
    return _edge(fact.source, fact.relation, fact.target, fact.confidence, fact.evidence, trusts)


def path_told(path: FoundPath, trusts: Trusts) -> list[Document]:
    steps = zip(path.nodes[:-1], path.steps, path.nodes[1:], strict=True)
    return [_step(near, step, far, trusts) for near, step, far in steps]


def linked_told(memory: LinkedMemory, trusts: Trusts) -> Document:
    mark = {} if trusts(memory.id) else {"untrusted": True}
    return {"id": name(memory.id), "type": memory.type, "role": memory.role, "label": name(memory.label)} | mark


def _step(near: SeenNode, step: Step, far: SeenNode, trusts: Trusts) -> Document:
    source, target = (near, far) if step.direction == "outbound" else (far, near)
    return _edge(source, step.edge_type, target, step.confidence, step.evidence, trusts)


def _edge(
    source: SeenNode,
    relation: str,
    target: SeenNode,
    confidence: float,
    evidence: tuple[Witness, ...],
    trusts: Trusts,
) -> Document:
    """In the words of a trusted witness, if there is one; else the edge is marked, and so are its words."""
    heard = [witness for witness in evidence if trusts(witness.memory_id)]
    sentence = next((witness.sentence for witness in heard or evidence if witness.sentence), "")
    mark = {"untrusted": True} if evidence and not heard else {}
    return {
        "source": node_told(source),
        "relation": name(relation),
        "target": node_told(target),
        "confidence": round(confidence, 4),
        "evidence": [name(witness.memory_id) for witness in evidence],
        **({"sentence": name(sentence, SENTENCE_CHARS)} if sentence else {}),
        **mark,
    }


def _plain(value: Any) -> Any:
    """The same with every text on one line that does nothing."""
    if isinstance(value, str):
        return name(value, 500)
    if isinstance(value, Mapping):
        return {name(str(key)): _plain(one) for key, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, list | tuple) else value

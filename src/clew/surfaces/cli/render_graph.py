"""What the graph answers, as lines for people: short, aligned, safe to print."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from clew.surfaces.cli import render_rollout
from clew.surfaces.cli.terminal import Style, columns, cut, one_line

if TYPE_CHECKING:
    from clew.model.explored import (
        Connected,
        Explored,
        Facts,
        FoundPath,
        GraphStatus,
        LinkedMemory,
        Neighbor,
        Neighborhood,
        SeenNode,
        Witness,
    )

NOTHING_YET = "no edges yet: clew remember 'AuthService depends on PostgresDB' makes one"
MAX_NAME = 60


def status(found: GraphStatus, told: Mapping[str, Any], style: Style) -> Iterator[str]:
    """The graph, and how far it is rolled out: `told` is the documented payload."""
    health = told["health"]
    colour = "green" if health == "ok" else "yellow"
    off = [name.removesuffix("Enabled") for name, on in found.flags.items() if not on]
    yield f"graph {style(colour, health)}" + (style("dim", f"  off: {', '.join(off)}") if off else "")
    yield from columns((f"  {name.replace('_', ' ')}", f"{number:,}") for name, number in found.counts.items())
    yield from _tally("nodes by type", found.counted.nodes, style)
    yield from _tally("edges by type", found.counted.edges, style)
    pending = {reason: number for reason, (number, _at) in found.counted.pending.items()}
    yield from _tally("still to be mapped", pending, style)
    if found.top:
        yield style("bold", "most connected")
        yield from _connected(found.top)
    for error in told["recentErrors"]:
        if error["source"] != "alarm":  # told with the rollout
            yield style("yellow", f"{error['code']}: {one_line(error['message'])}")
    if told["rollout"]:
        yield from render_rollout.standing(told, style)
    if not found.counts["nodes"]:
        yield NOTHING_YET


def _tally(title: str, numbers: Mapping[str, int], style: Style) -> Iterator[str]:
    if numbers:
        yield style("bold", title)
        most_first = sorted(numbers.items(), key=lambda pair: (-pair[1], pair[0]))
        yield from columns((f"  {one_line(name)}", f"{number:,}") for name, number in most_first)


def _connected(nodes: Iterable[Connected]) -> list[str]:
    head = ("  node", "links", "out", "in", "")
    rows = [
        (f"  {_name(one.node)}", str(one.memory_links), str(one.outbound_edges), str(one.inbound_edges),
         _label(one.node))
        for one in nodes
    ]  # fmt: skip
    return columns([head, *rows])


def neighborhood(found: Neighborhood, style: Style, *, edge_type: str = "") -> Iterator[str]:
    yield _title(found.node, style)
    if len(found.nodes) > 1:
        places = ", ".join(one_line(node.project) or "no project" for node in found.nodes)
        yield style("dim", f"  found in several projects: {places}")
    rows = [_edge_row(neighbor) for neighbor in found.neighbors]
    for line, neighbor in zip(columns(rows), found.neighbors, strict=True):
        yield line
        yield from _sentences(neighbor.evidence, style)
    if not rows:
        yield (
            f"no edges of type '{cut(one_line(edge_type), MAX_NAME)}' here; all: without --type"
            if edge_type
            else NOTHING_YET
        )
    yield from _links(found.links, style)
    yield from _memories(found.memories, style)


def _edge_row(neighbor: Neighbor) -> tuple[str, ...]:
    arrow = f"{neighbor.edge_type} →" if neighbor.direction == "outbound" else f"← {neighbor.edge_type}"
    near = f"{_label(neighbor.near)}  " if neighbor.hop > 1 else ""
    return (f"  {near}{one_line(arrow)}", f"{neighbor.confidence:.2f}", _label(neighbor.node), _name(neighbor.node))


def _links(links: Sequence[tuple[str, SeenNode]], style: Style) -> Iterator[str]:
    if links:
        yield style("bold", "hangs on")
        yield from columns((f"  {role}", _label(node), _name(node)) for role, node in links)


def _memories(memories: Sequence[LinkedMemory], style: Style) -> Iterator[str]:
    if memories:
        yield style("bold", "memories")
        width = max(20, style.width - 50)
        yield from columns((f"  {one.id}", one.role, cut(one_line(one.label), width)) for one in memories)


def path(found: FoundPath, style: Style) -> Iterator[str]:
    yield style("bold", _label(found.nodes[0]))
    for step, node in zip(found.steps, found.nodes[1:], strict=True):
        arrow = f"{step.edge_type} →" if step.direction == "outbound" else f"← {step.edge_type}"
        yield f"  {one_line(arrow)} {style('bold', _label(node))}  {step.confidence:.2f}"
        yield from _sentences(step.evidence, style)
    hops = len(found.steps)
    yield style("dim", f"{hops} {'hop' if hops == 1 else 'hops'}, confidence {found.confidence:.2f}")


def explored(found: Explored, style: Style) -> Iterator[str]:
    if found.node is None:
        yield from _connected(found.nodes) if found.nodes else [NOTHING_YET]
        if found.nodes:
            yield style("dim", "look closer: clew graph explore NODE, or clew graph neighbors NODE")
        return
    yield _title(found.node, style)
    yield from columns(
        (f"  {_label(edge.source)}", f"→ {one_line(edge.edge.type)} →", _label(edge.target),
         f"{edge.edge.confidence:.2f}")
        for edge in found.edges
    )  # fmt: skip
    if not found.edges:
        yield NOTHING_YET
    yield from _memories(found.memories, style)


def facts(found: Facts, style: Style) -> Iterator[str]:
    for fact in found.facts:
        numbers = f"importance {fact.importance:.2f}, confidence {fact.confidence:.2f}"
        yield f"{one_line(fact.text)}  {style('dim', numbers)}"
        yield from _sentences(fact.evidence[:1], style)
    if not found.facts:
        yield "no facts about that; the surest of all: clew graph triplets" if found.query else NOTHING_YET


def activated(cases: Sequence[Mapping[str, Any]], style: Style) -> Iterator[str]:
    for case in cases:
        if len(cases) > 1 or case["case"] != "":
            yield style("bold", one_line(str(case["case"])))
        yield from columns(
            (f"  {row['score']:.6f}", one_line(row["node"]), f"hop {row['hop']}", f"from {one_line(row['seed'])}",
             one_line(row["type"]))
            for row in case["result"]
        )  # fmt: skip
        if not case["result"]:
            yield "  nothing is activated: check the seeds, and the confidences against the floor"


def _sentences(evidence: Iterable[Witness], style: Style) -> Iterator[str]:
    for witness in evidence:
        if witness.sentence:
            said = cut(one_line(witness.sentence), max(20, style.width - 42))
            yield style("dim", f"      “{said}” {witness.memory_id}")


def _title(node: SeenNode, style: Style) -> str:
    return f"{style('bold', _label(node))} {style('dim', _name(node))}"


def _label(node: SeenNode) -> str:
    return cut(one_line(node.label), MAX_NAME)


def _name(node: SeenNode) -> str:
    return cut(one_line(node.name), MAX_NAME)

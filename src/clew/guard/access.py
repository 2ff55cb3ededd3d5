"""What prompts and transfers ask of the policies, by their documented names, and the batches that blocks use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Protocol

from clew.guard.pep import Pep
from clew.model.access import AccessContext, Decision, Resource
from clew.model.memory import Memory

if TYPE_CHECKING:
    from clew.model.config import AgentRights
    from clew.model.scope import Identity


class HasEnds(Protocol):
    """A triplet, by the ids of its two nodes."""

    @property
    def source_node_id(self) -> str: ...
    @property
    def target_node_id(self) -> str: ...


def enforce_graph_access(
    identity: Identity,
    node: Resource | None,
    verb: str = "read",
    *,
    context: AccessContext | None = None,
    rights: AgentRights | None = None,
    pep: Pep | None = None,
) -> Decision:
    """May this identity see the node? One that was not loaded is None, and denied."""
    where = context or AccessContext(identity.org)
    [decision] = (pep or _shipped()).decide(identity, verb, [node], where, rights=rights)
    return decision


def enforce_graph_access_many(
    identity: Identity,
    nodes: Sequence[Resource | None],
    verb: str = "read",
    *,
    context: AccessContext | None = None,
    rights: AgentRights | None = None,
    pep: Pep | None = None,
) -> list[bool]:
    """The same for many at once, in order."""
    where = context or AccessContext(identity.org)
    decisions = (pep or _shipped()).decide(identity, verb, nodes, where, rights=rights)
    return [decision.allowed for decision in decisions]


def enforce_cross_project_transfer(
    identity: Identity,
    observation: Memory | Resource,
    *,
    source_project_id: str,
    dest_project_id: str,
    similarity: float,
    grants: Sequence[str] = (),
    rights: AgentRights | None = None,
    user: str | None = None,
    pep: Pep | None = None,
) -> Decision:
    """May a memory of one project be shown in another? `grants` are the projects that were granted to `dest`."""
    resource = Resource.of_memory(observation) if isinstance(observation, Memory) else observation
    if resource.project != source_project_id or source_project_id == dest_project_id:
        return Decision(False, reason="not_of_the_source_project")
    context = AccessContext(identity.org, dest_project_id, user=user, similarity_pct=percent(similarity))
    [decision] = (pep or _shipped()).decide(identity, "transfer", [resource], context, rights=rights, grants=grants)
    return decision


def percent(similarity: float) -> int:
    """Rounded down, since Cedar has no fractions: 0.699 stays below 70, and 7/10 is 70 exactly."""
    return int(similarity * 100 + 1e-9)


def allowed_memories(
    pep: Pep,
    identity: Identity,
    memories: Sequence[Memory],
    context: AccessContext,
    *,
    action: str = "inject",
    rights: AgentRights | None = None,
    grants: Sequence[str] = (),
    deadline_s: float | None = None,
) -> list[Decision]:
    """One decision per memory, in order."""
    rows = [Resource.of_memory(memory) for memory in memories]
    return pep.decide(identity, action, rows, context, rights=rights, grants=grants, deadline_s=deadline_s)


def allowed_triplets(
    pep: Pep,
    identity: Identity,
    triplets: Sequence[HasEnds],
    resources: Mapping[str, Resource],
    context: AccessContext,
    *,
    action: str = "inject",
    rights: AgentRights | None = None,
    deadline_s: float | None = None,
) -> list[bool]:
    """FC-6: both ends or not at all. Each node is asked about once; one without a row is denied."""
    ends = dict.fromkeys(id for triplet in triplets for id in (triplet.source_node_id, triplet.target_node_id))
    rows = [resources.get(id) for id in ends]
    decisions = pep.decide(identity, action, rows, context, rights=rights, deadline_s=deadline_s)
    seen = {id for id, decision in zip(ends, decisions, strict=True) if decision.allowed}
    return [{triplet.source_node_id, triplet.target_node_id} <= seen for triplet in triplets]


@cache
def _shipped() -> Pep:
    return Pep()

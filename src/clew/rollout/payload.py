"""What the documented routes of the rollout answer (memories_sh.md 8.1 to 8.3), as plain values. Pure.

Names are those of the routes; the envelope around them is the surface's business.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any

from clew.model.times import to_rfc3339
from clew.rollout.summary import Alarm, alarms
from clew.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clew.model.explored import Connected, GraphStatus, Trouble
    from clew.model.memory import Memory
    from clew.model.scope import Scope
    from clew.recall.context import Added, Context
    from clew.rollout.measure import Measured
    from clew.rollout.summary import Summary

SCHEMA_MISSING = "schema_missing"
_COUNTS = {
    "nodes": "nodes",
    "edges": "edges",
    "memory_links": "memoryLinks",
    "active_edges": "activeEdges",
    "expired_edges": "expiredEdges",
    "orphan_nodes": "orphanNodes",
}


@dataclass(frozen=True, slots=True)
class RolloutShown:
    """The mode, what was measured, what the gate says and what the plan recommends."""

    measured: Measured
    scope: Scope
    flags: Mapping[str, bool] = field(default_factory=dict)  # switches that come before the mode

    @property
    def alarms(self) -> list[Alarm]:
        return alarms(self.measured.summary, self.measured.gate, now=self.measured.gate.evaluated_at)

    def as_json(self) -> dict[str, Any]:
        return _rollout_parts(self.measured) | {
            "retrievalPolicy": self.measured.policy.as_json(),
            "flags": dict(self.flags),
            "scope": scope_json(self.scope),
        }


@dataclass(frozen=True, slots=True)
class Metrics:
    """How requests were answered; `waiting` and `dropped` are those of the org in this process."""

    summary: Summary
    waiting: int = 0
    dropped: int = 0

    def as_json(self) -> dict[str, Any]:
        return self.summary.as_json() | {"waiting": self.waiting, "dropped": self.dropped}


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusShown:
    """The graph and its rollout together. `measured` None: the rollout could not be read, and `troubles` say so."""

    graph: GraphStatus
    measured: Measured | None
    tables: Mapping[str, bool]
    scope: Scope
    troubles: Sequence[Trouble] = ()

    @property
    def health(self) -> str:
        if not all(self.tables.values()):
            return SCHEMA_MISSING
        return "degraded" if self.measured is None else self.graph.health

    @property
    def alarms(self) -> list[Alarm]:
        if self.measured is None:
            return []
        return alarms(self.measured.summary, self.measured.gate, now=self.graph.sampled_at)

    def as_json(self) -> dict[str, Any]:
        counts = self.graph.counts
        return {
            "enabled": any(self.graph.flags.values()),
            "flags": dict(self.graph.flags),
            "health": self.health,
            "tables": dict(self.tables),
            "counts": {documented: counts[name] for name, documented in _COUNTS.items()},
            **(_rollout_parts(self.measured) if self.measured else _NO_ROLLOUT),
            "alarms": [alarm.as_json() for alarm in self.alarms],
            "topConnectedNodes": [_connected(one) for one in self.graph.top],
            "recentErrors": self._errors(),
            "sampledAt": to_rfc3339(self.graph.sampled_at),
            "scope": scope_json(self.scope),
        }

    def _errors(self) -> list[dict[str, Any]]:
        """Alarms are errors as well, where there is a graph to raise them."""
        raised = self.alarms if self.health != SCHEMA_MISSING else []
        return [trouble.as_json() for trouble in (*self.troubles, *self.graph.errors)] + [
            {"code": one.code, "message": one.message, "source": "alarm", "timestamp": to_rfc3339(one.triggered_at)}
            for one in raised
        ]


_NO_ROLLOUT: dict[str, Any] = dict.fromkeys(("rollout", "shadowMetrics", "qualityGate", "rolloutPlan"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Traced:
    """One context laid open: which memory came by which way."""

    query: str
    mode: str
    include_rules: bool
    context: Context
    trace: Mapping[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        rows = [*_recalled(self.context)]
        context = self.context
        ids = {layer: [memory.id for memory, _by in rows if memory.layer == layer] for layer in _TIERS}
        rules = [result.memory for result in context.rules]
        return {
            "mode": self.mode,
            "includeRules": self.include_rules,
            "query": self.query,
            "strategy": {
                "requested": self.trace.get("requestedStrategy"),
                "applied": self.trace.get("strategy"),
            },
            "trace": dict(self.trace),
            "tiers": {"ruleIds": [rule.id for rule in rules]} | {_TIERS[layer]: ids[layer] for layer in _TIERS},
            "recall": [_recall_row(rank, memory, by) for rank, (memory, by) in enumerate(rows, 1)],
            "rules": [memory_json(rule) for rule in rules],
            "memories": [memory_json(memory) | ({"graph": provenance(by)} if by else {}) for memory, by in rows],
        }


_TIERS = {"working": "workingIds", "long_term": "longTermIds"}


def memory_json(memory: Memory) -> dict[str, Any]:
    """The structured memory of the routes (memories_sh.md 8.4)."""
    return {
        "id": memory.id,
        "content": memory.content,
        "type": memory.type,
        "layer": memory.layer,
        "expiresAt": to_rfc3339(memory.expires_at) if memory.expires_at else None,
        "scope": "project" if memory.project else "global",
        "projectId": memory.project,
        "tags": list(memory.tags),
        "paths": list(memory.paths),
        "category": memory.category,
        "metadata": dict(memory.metadata),
        "createdAt": to_rfc3339(memory.created_at),
        "updatedAt": to_rfc3339(memory.updated_at),
    }


def scope_json(scope: Scope) -> dict[str, Any]:
    return {"tenantId": scope.org, "userId": scope.user, "projectId": scope.project}


def _rollout_parts(measured: Measured) -> dict[str, Any]:
    return {
        "rollout": measured.rollout.as_json(),
        "shadowMetrics": measured.summary.as_json(),
        "qualityGate": measured.gate.as_json(),
        "rolloutPlan": measured.plan.as_json(),
    }


def _connected(one: Connected) -> dict[str, Any]:
    return one.node.as_documented() | {
        "memoryLinks": one.memory_links,
        "outboundEdges": one.outbound_edges,
        "inboundEdges": one.inbound_edges,
        "degree": one.degree,
    }


def _recalled(context: Context) -> list[tuple[Memory, Added | None]]:
    baseline = [(result.memory, None) for result in (*context.working, *context.long_term)]
    return [*baseline, *((entry.memory, entry) for entry in context.added)]


def _recall_row(rank: int, memory: Memory, by: Added | None) -> dict[str, Any]:
    return {
        "rank": rank,
        "memoryId": memory.id,
        "layer": memory.layer,
        "type": memory.type,
        "scope": "project" if memory.project else "global",
        "projectId": memory.project,
        "source": "graph_expansion" if by else "baseline",
        "graph": provenance(by) if by else None,
    }


def provenance(by: Added) -> dict[str, Any]:
    return {
        "whyIncluded": "graph_expansion",
        "linkedViaNode": by.linked_via_node,
        "edgeType": by.edge_type,
        "hopCount": by.hop_count,
        "confidence": by.confidence,
        "seedMemoryId": by.seed_memory_id,
    }

"""Names that users of the source systems know: presets, and documented names for settings of ours.

Tables and no logic to speak of; `settings` applies them. What is named here is contract: it stays.
"""

from __future__ import annotations

from collections.abc import Mapping

from clew.errors import Misconfigured

PRESET_KEY = "memoryOsPreset"

# Engram's presets (engram.md 8), in our names and only where we have the setting. The rows in order:
# multiGraphMemoryEnabled, graphRecallEnabled, graphAssistInFullModeEnabled, recallPlannerMaxQmdResultsFull,
# recallPlannerMaxQmdResultsMinimal.
_ROWS = ("graph.write", "graph.recall", "graph.assist", "recall.limit", "recall.minimal_limit")
PRESETS: Mapping[str, Mapping[str, bool | int]] = {
    "conservative": dict(zip(_ROWS, (False, False, False, 5, 2), strict=True)),
    "balanced": dict(zip(_ROWS, (False, False, False, 8, 4), strict=True)),
    "research-max": dict(zip(_ROWS, (True, True, True, 12, 6), strict=True)),
    "local-llm-heavy": dict(zip(_ROWS, (False, False, False, 8, 4), strict=True)),
}
_ALIASES = {"research": "research-max"}

# Configuration keys of Engram (engram.md 9), at the top level of a file or a call.
DOCUMENTED: Mapping[str, str] = {
    "multiGraphMemoryEnabled": "graph.write",
    "graphRecallEnabled": "graph.recall",
    "graphAssistInFullModeEnabled": "graph.assist",
    "graphExpandedIntentEnabled": "graph.broad_intent",
    "graphAssistMinSeedResults": "graph.assist_min_seeds",
    "maxGraphTraversalSteps": "graph.max_steps",
    "graphRecallMaxSeedNodes": "graph.max_seeds",
    "graphRecallMaxExpandedNodes": "graph.max_expanded",
    "graphRecallMinSeedScore": "graph.min_seed_score",
    "graphTraversalConfidenceFloor": "graph.confidence_floor",
    "graphTraversalPageRankIterations": "graph.iterations",
    "graphActivationDecay": "graph.decay",
    "graphLateralInhibitionEnabled": "graph.inhibition",
    "graphLateralInhibitionBeta": "graph.inhibition_beta",
    "graphLateralInhibitionTopM": "graph.inhibition_top_m",
    "graphExpansionActivationWeight": "graph.activation_weight",
    "graphExpansionBlendMin": "graph.blend_min",
    "graphExpansionBlendMax": "graph.blend_max",
    "entityGraphEnabled": "graph.entity_edges",
    "timeGraphEnabled": "graph.time_edges",
    "causalGraphEnabled": "graph.causal_edges",
    "maxEntityGraphEdgesPerMemory": "graph.max_entity_edges",
    "graphWriteSessionAdjacencyEnabled": "graph.session_adjacency",
    "graphEdgeDecayEnabled": "graph.edge_decay",
    "graphEdgeDecayCadenceMs": "graph.decay_cadence_hours",
    "graphEdgeDecayWindowMs": "graph.decay_window_days",
    "graphEdgeDecayPerWindow": "graph.decay_per_window",
    "graphEdgeDecayFloor": "graph.decay_floor",
    "graphEdgeDecayVisibilityThreshold": "graph.visibility_threshold",
    "graphRecallSnapshotEnabled": "graph.snapshot",
    "graphRecallShadowEnabled": "graph.shadow",
    "graphAssistShadowEvalEnabled": "graph.shadow",
    "graphRecallExplainEnabled": "graph.explain",
    "graphRecallExplainToolEnabled": "graph.explain_tool",
    # Rensei's (rensei.md ). What is stored per project and org comes on top: `clew project`,
    # `clew matrix`.
    "runtimeInjectEnabled": "inject.runtime",
    "orgOverrides": "inject.org_overrides",
    "latencyBudgetMs": "inject.latency_ms",
    "minRelevanceScore": "inject.floor",
    "budgetTokens": "inject.budget_tokens",
    "maxSuggestionsPerEvent": "inject.max_suggestions",
    "skipTools": "inject.skip_tools",
    "disabledForAgents": "inject.disabled_for_agents",
}
_MS_PER_UNIT = {
    "graphEdgeDecayCadenceMs": 3_600_000,
    "graphEdgeDecayWindowMs": 86_400_000,
    "SDK_EMBEDDING_JOB_RETRY_BASE_MS": 1_000,
    "SDK_EMBEDDING_JOB_RETRY_MAX_MS": 1_000,
    "SDK_EMBEDDING_JOB_PROCESSING_TIMEOUT_MS": 1_000,
}
_LEAST_MS = {"graphEdgeDecayCadenceMs": 60_000, "graphEdgeDecayWindowMs": 60_000}

# Environment variables of memories.sh (memories_sh.md 13). Any CLEW_ name beats them.
VARIABLES: Mapping[str, str] = {
    "GRAPH_MAPPING_ENABLED": "graph.write",  # off unless set over there; ours is on
    "GRAPH_RETRIEVAL_ENABLED": "graph.recall",
    "SIMILARITY_EDGE_THRESHOLD": "relate.similarity_threshold",
    "SIMILARITY_EDGE_MAX_K": "relate.max_k",
    "SIMILARITY_EDGE_MAX_PER_MEMORY": "relate.max_similar",
    "GRAPH_LLM_EXTRACTION_ENABLED": "llm.enabled",
    "GRAPH_LLM_AMBIGUOUS_SIMILARITY_MIN": "llm.min_similarity",
    "GRAPH_LLM_AMBIGUOUS_SIMILARITY_MAX": "llm.max_similarity",
    "GRAPH_LLM_RELATIONSHIP_CONFIDENCE_THRESHOLD": "llm.pair_confidence",
    "GRAPH_LLM_RELATIONSHIP_MODEL_ID": "llm.model",
    "GRAPH_LLM_SEMANTIC_CONTEXT_LIMIT": "llm.context_limit",
    "GRAPH_LLM_SEMANTIC_CONFIDENCE_THRESHOLD": "llm.semantic_confidence",
    "GRAPH_LLM_SEMANTIC_MIN_CHARS": "llm.min_chars",
    "GRAPH_ROLLOUT_AUTOPILOT_ENABLED": "rollout.autopilot",
    "GRAPH_DEFAULT_STRATEGY_AUTOPILOT_ENABLED": "rollout.strategy_autopilot",
    "SDK_EMBEDDING_JOB_MAX_ATTEMPTS": "relate.max_attempts",
    "SDK_EMBEDDING_JOB_RETRY_BASE_MS": "relate.retry_base_s",
    "SDK_EMBEDDING_JOB_RETRY_MAX_MS": "relate.retry_max_s",
    "SDK_EMBEDDING_JOB_PROCESSING_TIMEOUT_MS": "relate.lease_s",
    "SDK_EMBEDDING_BACKFILL_BATCH_SIZE": "relate.backfill_batch",
    "SDK_EMBEDDING_BACKFILL_THROTTLE_MS": "relate.backfill_pause_ms",
}


def preset_named(given: object) -> tuple[str, Mapping[str, bool | int]]:
    """The preset's own name and what it sets. A blank name is no preset."""
    name = str(given).strip()
    name = _ALIASES.get(name, name)
    if name in PRESETS:
        return name, PRESETS[name]
    if not name:
        return "", {}
    raise Misconfigured(
        f"there is no preset {name[:40]!r}", code="SETTING_INVALID", next=_advice(name, [*PRESETS, *_ALIASES])
    )


def in_our_unit(documented: str, value: float) -> float:
    """Milliseconds to the seconds, hours or days of our setting, some a minute at least; others as they are."""
    per_unit = _MS_PER_UNIT.get(documented)
    return max(value, _LEAST_MS.get(documented, value)) / per_unit if per_unit else value


def _advice(name: str, known: list[str]) -> str:
    from difflib import get_close_matches  # only mistakes need it

    near = get_close_matches(name, known, n=1)
    return f"did you mean '{near[0]}'?" if near else f"choose one of {', '.join(PRESETS)}"

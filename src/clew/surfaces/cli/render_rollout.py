"""The documented payloads of the rollout as lines for people: what is going on, why, what to do about it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from clew.model.explored import preview
from clew.surfaces.cli.terminal import Style, columns, cut, one_line

Document = Mapping[str, Any]
MODES = {
    "off": "the graph is not used",
    "shadow": "the graph is walked and compared, answers are without it",
    "canary": "the graph is used in answers",
}
STAGES = {"shadow": "compare in the shadow", "canary": "use it in answers", "default_on": "make it the default"}
FALLBACKS = {
    "feature_flag_disabled": "a switch is off: the project's memory, graph.write or graph.recall "
                             "(clew project show P, clew config show graph)",
    "rollout_off": "the rollout mode is off: clew rollout set shadow",
    "quality_gate_blocked": "the quality gate blocks the graph: clew rollout show",
    "shadow_mode": "the rollout mode is shadow: clew rollout plan",
    "graph_expansion_error": "the graph failed: clew doctor",
    "rollout_guardrail": "there was nothing to start from, or --depth is 0",
}  # fmt: skip
BLOCKERS = {
    "ROLLOUT_MODE_OFF": "the mode is off: clew rollout set shadow",
    "MIN_SHADOW_EXECUTIONS_NOT_MET": "more requests in the shadow are needed: ask, or let agents ask",
    "SHADOW_GRAPH_CANDIDATES_TOO_LOW": "the graph finds hardly anything: clew graph status",
    "SHADOW_GRAPH_ERROR_RATE_ABOVE_LIMIT": "the graph fails too often in the shadow: clew doctor",
    "MIN_HYBRID_SAMPLES_NOT_MET": "more requests with the graph are needed",
    "MIN_CANARY_SAMPLES_NOT_MET": "more answers with the graph are needed",
    "FALLBACK_RATE_ABOVE_LIMIT": "too many requests fall back to the baseline",
    "GRAPH_ERROR_RATE_ABOVE_LIMIT": "the graph fails too often: clew doctor",
    "EXPANSION_COVERAGE_TOO_LOW": "the graph hardly ever adds anything: clew graph status",
    "CANARY_QUALITY_GATE_BLOCKED": "the quality gate blocks: clew rollout show",
}


def shown(found: Document, style: Style) -> Iterator[str]:
    yield from standing(found, style)
    numbers = found["shadowMetrics"]
    yield (
        f"last {numbers['windowHours']:g} h: {_requests(numbers['totalRequests'])}, "
        f"{numbers['hybridRequested']:,} asked for the graph, {numbers['canaryApplied']:,} got it, "
        f"{numbers['shadowExecutions']:,} were compared in the shadow"
    )
    yield f"{style('bold', 'next')}: {_next(found)}"


def _requests(count: int) -> str:
    return f"{count:,} {'request' if count == 1 else 'requests'}"


def was_set(found: Document, style: Style) -> Iterator[str]:
    yield f"{style('green', found['rollout']['mode'])}: {_meaning(found)}"
    yield f"{style('bold', 'next')}: {_next(found)}"


def _meaning(found: Document) -> str:
    """What the mode means here and now: switches come before it."""
    mode = found["rollout"]["mode"]
    flags = found.get("flags", {})
    if mode != "off" and not all(flags.get(name, True) for name in ("mappingEnabled", "retrievalEnabled")):
        return "the graph would be used, but graph.recall or graph.write is off: clew config show graph"
    return MODES[mode]


def default_set(found: Document, style: Style) -> Iterator[str]:
    strategy = found["retrievalPolicy"]["defaultStrategy"]
    yield f"{style('green', strategy)}: what a context gets that names no strategy"


def standing(found: Document, style: Style) -> Iterator[str]:
    """The mode and the gate; of the status of the graph, too."""
    mode, by = found["rollout"]["mode"], found["rollout"]["updatedBy"]
    colour = "green" if mode == "canary" else "yellow"
    yield f"rollout {style(colour, mode)}: {_meaning(found)}{f', set by {one_line(by)}' if by else ''}"
    policy = found.get("retrievalPolicy")
    if policy and policy["defaultStrategy"] == "baseline":
        yield f"  a context without a strategy is answered without the graph, since {policy['updatedAt']}"
    yield from _gate(found["qualityGate"], style)
    for alarm in found.get("alarms", ()):
        colour = "red" if alarm["severity"] == "critical" else "yellow"
        yield style(colour, f"{alarm['code']}: {one_line(alarm['message'])}")


def _gate(gate: Document, style: Style) -> Iterator[str]:
    hours = f"{gate['windowHours']:g} h"
    if not gate["canaryBlocked"]:
        counted, needed = gate["current"]["hybridRequested"], gate["minHybridSamples"]
        told = {
            "pass": style("green", "open"),
            "warn": style("yellow", "open, with warnings"),
            "insufficient_data": f"open; {counted} of {needed} requests that a verdict needs in {hours}",
        }
        yield f"quality gate {told[gate['status']]}"
        return
    yield f"quality gate {style('red', 'blocks the graph')}: it is compared in the shadow, answers are without it"
    for reason in gate["reasons"]:
        yield f"  {reason['code']}: {one_line(reason['message'])}"
    yield f"  it opens by itself when the requests of the last {hours} are good again"


def _next(found: Document) -> str:
    mode, plan = found["rollout"]["mode"], found["rolloutPlan"]
    codes = [reason["code"] for reason in found["qualityGate"]["reasons"]]
    if any("ERROR" in code or "FALLBACK" in code for code in codes):
        return "find out why the graph fails: clew doctor; to see one request: clew trace QUERY"
    if codes:
        return "see what the graph holds: clew graph status; to see one request: clew trace QUERY"
    if plan["recommendedMode"] != mode:
        return f"clew rollout set {plan['recommendedMode']}"
    if mode == "shadow":
        return "go on asking; what is missing for the canary: clew rollout plan"
    return "nothing; whether it helps: clew rollout replay"


# -- plan --------------------------------------------------------------------------------------------


def plan(found: Document, style: Style) -> Iterator[str]:
    mode, recommended = found["currentMode"], found["recommendedMode"]
    yield f"mode {style('bold', mode)}: {MODES[mode]}"
    reached = tuple(MODES).index(mode)
    for number, stage in enumerate(found["stages"], 1):
        yield from _stage(stage, style, is_reached=number <= reached)
    yield style("bold", "goals")
    yield from columns(_goal(goal) for goal in found["baseline"])
    if found["autopilot"]["enabled"]:
        yield style("dim", "the autopilot moves the mode by itself when a stage is ready")
    elif recommended != mode:
        yield f"{style('bold', 'next')}: clew rollout set {recommended}"


def _stage(stage: Document, style: Style, *, is_reached: bool) -> Iterator[str]:
    """Of one that is reached, only what takes it back again."""
    codes = [code for code in stage["blockerCodes"] if not is_reached or code == "CANARY_QUALITY_GATE_BLOCKED"]
    mark = style("yellow", "not yet") if codes else style("green", "reached" if is_reached else "ready")
    yield f"{stage['stage']} ({STAGES[stage['stage']]}): {mark}"
    for code in codes:
        yield f"  {code}: {BLOCKERS.get(code, 'the quality gate has not passed it: clew rollout show')}"


def _goal(goal: Document) -> tuple[str, ...]:
    above = goal["current"] - goal["target"]
    is_reached = above >= 0 if goal["comparator"] == ">=" else above <= 0
    ready = "met" if is_reached else "too few answers to judge"
    state = ready if goal["ready"] else f"{goal['gapToGoal']:g} to go"
    return f"  {goal['metric']}", f"{goal['current']:g}", f"{goal['comparator']} {goal['target']:g}", state


# -- metrics -----------------------------------------------------------------------------------------

_METRICS = {
    "totalRequests": "all",
    "hybridRequested": "asked for the graph",
    "canaryApplied": "got it",
    "shadowExecutions": "compared in the shadow",
    "fallbackCount": "fell back",
    "unplannedFallbacks": "  by the gate or an error",
    "graphErrors": "failed in the graph",
}


def metrics(found: Document, style: Style) -> Iterator[str]:
    yield style("bold", f"requests of the last {found['windowHours']:g} h")
    yield from columns((f"  {words}", f"{found[name]:,}") for name, words in _METRICS.items())
    yield f"  {found['avgGraphCandidates']:g} memories were found through the graph on average"
    why = found["lastFallbackReason"]
    if why:
        yield f"  last fallback {found['lastFallbackAt']}, {why}: {FALLBACKS[why]}"
    if found["dropped"]:
        yield style("yellow", f"  {found['dropped']:,} more could not be counted")


# -- trace -------------------------------------------------------------------------------------------


def traced(found: Document, style: Style) -> Iterator[str]:
    if not found["trace"]:  # left out where policies hide something
        yield style("dim", "what was left out is not told: some of it is not for you")
    else:
        yield from _verdict(found["trace"], style)
    contents = {one["id"]: one["content"] for one in found["memories"]}
    for row in found["recall"]:
        yield _recalled(row, contents[row["memoryId"]], style)
    if not found["recall"]:
        yield "nothing is known about that"


def _verdict(trace: Document, style: Style) -> Iterator[str]:
    asked, applied = trace["requestedStrategy"], trace["strategy"]
    yield f"asked for {asked}, answered with {style('bold', applied)}; mode {trace['rolloutMode']}"
    if trace["fallbackReason"]:
        reason = trace["fallbackReason"]
        yield style("yellow", f"{reason}: {FALLBACKS[reason]}")
    if trace["graphError"]:
        yield style("red", f"the graph failed: {one_line(trace['graphError'])}")
    yield style(
        "dim",
        f"{trace['baselineCandidates']} by words and meaning, {trace['graphCandidates']} found through the graph, "
        f"{trace['graphExpandedCount']} added; gate {trace['qualityGateStatus']}",
    )


def _recalled(row: Document, content: str, style: Style) -> str:
    by = row["graph"]
    way = f", by {by['edgeType']} over {by['linkedViaNode']} from {by['seedMemoryId']}" if by else ""
    text = cut(one_line(preview(content)), max(30, style.width - 40))
    return f"{row['rank']:3}  {text}  {style('dim', one_line(row['memoryId'] + way))}"

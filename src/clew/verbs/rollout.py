"""The verbs about the rollout of graph recall: each checks who asks and hands over to a step.

Looking writes nothing. What they return says `as_json()`: the documented payloads of memories_sh.md 8.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from clew.errors import Conflict, InvalidInput
from clew.lazy import LazyModule
from clew.model.explored import Counted, GraphStatus, Trouble
from clew.model.kinds import checked
from clew.model.rollout import HYBRID_GRAPH, MODES, STRATEGIES, Policy
from clew.model.scope import Identity, Scope
from clew.model.times import zoned
from clew.verbs import powers

if TYPE_CHECKING:
    from clew.clew import Clew
    from clew.model.replay import Replay
    from clew.ports import Tx
    from clew.recall import context_trace
    from clew.rollout import measure as measuring
    from clew.rollout import payload as payloads
    from clew.rollout import policy as judging
    from clew.rollout import upkeep
    from clew.rollout.measure import Measured
    from clew.rollout.payload import Metrics, RolloutShown, StatusShown, Traced
    from clew.rollout.plan import Plan
    from clew.verbs import replay as replaying
else:
    measuring, payloads, judging, upkeep = (
        LazyModule(f"clew.rollout.{name}") for name in ("measure", "payload", "policy", "upkeep")
    )
    context_trace, replaying = LazyModule("clew.recall.context_trace"), LazyModule("clew.verbs.replay")

TABLES = {"graphNodes": "graph_nodes", "graphEdges": "graph_edges", "memoryNodeLinks": "memory_node_links"}
MAX_TRACE_QUERY = 500  # memories_sh.md 8.3, and the next three
MAX_TRACE_LIMIT = 50
MAX_DEPTH = 2
TRACE_LIMIT = 10
METRICS_DAYS = 1
UNREADABLE = "GRAPH_ROLLOUT_STATE_UNAVAILABLE"

_log = logging.getLogger(__name__)


@checked
class Rollout:
    """The mode of graph recall, what was measured of it, and what the plan says."""

    __slots__ = ("_clew",)

    def __init__(self, clew: Clew) -> None:
        self._clew = clew

    # -- looking -----------------------------------------------------------------------------------

    def show(self, *, identity: Identity | None = None) -> RolloutShown:
        """The mode of the org, its requests, what the gate says of them and what the plan recommends."""
        org = (identity or Identity()).org
        return payloads.RolloutShown(self._measured(org), Scope(org=org), self._clew.graph.flags)

    def plan(self, *, identity: Identity | None = None) -> Plan:
        """What stands between the graph and the next stage."""
        return self._measured((identity or Identity()).org).plan

    def metrics(self, since: datetime | None = None, *, identity: Identity | None = None) -> Metrics:
        """How the requests since then were answered; of the last day without one, of 30 days at most."""
        now, meter, org = self._clew.now(), self._clew._meter, (identity or Identity()).org
        first = zoned("since", since) or now - timedelta(days=METRICS_DAYS)
        if first > now:
            raise InvalidInput("the window has not begun", code="WINDOW_INVALID", next="give an earlier --since")
        hours = round((now - first) / timedelta(hours=1), 2)
        measured = self._measured(org, now=now, hours=max(hours, 1.0))
        return payloads.Metrics(measured.summary, waiting=meter.waiting(org), dropped=meter.dropped(org))

    def status(self, *, scope: Scope | None = None, identity: Identity | None = None, top: int = 10) -> StatusShown:
        """The graph and its rollout together; mends nothing."""
        org, troubles = (identity or Identity()).org, []
        with self._clew.store.read() as tx:
            there = tx.explore.tables()
        tables = {documented: name in there for documented, name in TABLES.items()}
        if all(tables.values()):
            graph = self._clew.graph.status(scope=scope, identity=identity, top=top)
        else:
            graph = _without_tables(self._clew.graph.flags, self._clew.now())
        measured = None
        try:
            measured = self._measured(org, now=graph.sampled_at)
        except Exception as error:  # the graph is told of all the same
            code = getattr(error, "code", type(error).__name__)
            _log.warning("the rollout of an org cannot be read: %s", code)
            message = f"the rollout cannot be read: {code}"
            troubles.append(Trouble(UNREADABLE, message, "rollout", graph.sampled_at))
        return payloads.StatusShown(
            graph=graph, measured=measured, tables=tables, scope=scope or Scope(org=org), troubles=troubles
        )

    def trace(
        self,
        query: str,
        *,
        scope: Scope | None = None,
        identity: Identity | None = None,
        strategy: str | None = HYBRID_GRAPH,
        depth: int | None = None,
        graph_limit: int | None = None,
        limit: int = TRACE_LIMIT,
        mode: str = "all",
        include_rules: bool = True,
    ) -> Traced:
        """One question laid open: what the baseline answers, what the graph adds, by which way, or why not. A
        strategy of None is the default of the org."""
        _check_trace(query)
        for name, asked, least, most in (
            ("limit", limit, 1, MAX_TRACE_LIMIT), ("depth", depth, 0, MAX_DEPTH),
            ("graph-limit", graph_limit, 1, MAX_TRACE_LIMIT),
        ):  # fmt: skip
            _check_within(name, asked, least, most)
        found = self._clew.context(
            query, scope=scope, identity=identity, strategy=strategy, depth=depth, graph_limit=graph_limit,
            limit=limit, mode=mode, rules=include_rules,
        )  # fmt: skip
        trace = self.documented(found.trace, (identity or Identity()).org) if found.trace else {}
        return payloads.Traced(query=query, mode=mode, include_rules=include_rules, context=found, trace=trace)

    def replay(
        self,
        *,
        since: datetime | None = None,
        project: str | None = None,
        limit: int | None = None,
        top: int | None = None,
        identity: Identity | None = None,
    ) -> Replay:
        """Recorded queries without the graph and with it, on today's store: what changes, and whether it helped."""
        return replaying.replay(self._clew, since=since, project=project, limit=limit, top=top, identity=identity)

    # -- changing ----------------------------------------------------------------------------------

    def set(self, mode: str, *, identity: Identity | None = None) -> RolloutShown:
        """Off, shadow or canary for the org. A canary that the gate would block at once is refused."""
        _check_mode(mode)
        what = "set the rollout mode"
        identity = powers.in_full(self._clew, powers.caretaker(self._clew, identity, what), what)
        self._clew._meter.flush()  # judged by everything that was counted here
        self._clew.store.write(lambda tx: self._set(tx, mode, identity))
        return self.show(identity=identity)

    def _set(self, tx: Tx, mode: str, identity: Identity) -> None:
        org, now = identity.org, self._clew.now()
        if mode == "canary":
            _refuse_blocked(self._measure(tx, org, now=now))
        before = tx.rollout.mode(org)
        if before is None or before.mode != mode:
            tx.rollout.set_mode(org, mode, by=_named(identity), at=now)
            was = before.mode if before else self._clew._rollout_policy.default_mode
            upkeep.note_change(tx, org, identity.actor, {"mode": was}, {"mode": mode}, now=now)

    def set_default(self, strategy: str, *, identity: Identity | None = None) -> RolloutShown:
        """What a context without a strategy gets, until two windows or the gate say otherwise."""
        if strategy not in STRATEGIES:
            raise InvalidInput(
                f"'{strategy[:40]}' is not a strategy",
                code="STRATEGY_INVALID",
                next=f"choose: {', '.join(STRATEGIES)}",
            )
        what = "set the default strategy"
        identity = powers.in_full(self._clew, powers.caretaker(self._clew, identity, what), what)
        self._clew.store.write(lambda tx: self._set_default(tx, strategy, identity))
        return self.show(identity=identity)

    def _set_default(self, tx: Tx, strategy: str, identity: Identity) -> None:
        org, now = identity.org, self._clew.now()
        before = tx.rollout.policy(org) or Policy()
        if before.default_strategy != strategy:
            policy = Policy(strategy, last_evaluated_at=now, updated_at=now, updated_by=_named(identity))
            tx.rollout.put_policy(org, policy)
            changed = {"default_strategy": before.default_strategy}, {"default_strategy": strategy}
            upkeep.note_change(tx, org, identity.actor, *changed, now=now)

    def flush(self) -> None:
        """Store what was counted so far; it happens by itself, in batches and when Clew is closed."""
        self._clew._meter.flush()

    # -- parts -------------------------------------------------------------------------------------

    def _measured(self, org: str, *, now: datetime | None = None, hours: float | None = None) -> Measured:
        with self._clew.store.read() as tx:
            return self._measure(tx, org, now=now or self._clew.now(), hours=hours)

    def _measure(self, tx: Tx, org: str, *, now: datetime, hours: float | None = None) -> Measured:
        return measuring.measure(tx.rollout, org, self._clew._rollout_policy, now=now, hours=hours)

    def documented(self, trace: Mapping[str, Any], org: str) -> dict[str, Any]:
        try:
            plan = self._measured(org).plan
            ready, codes = plan.ready_for_default_on, list(plan.blocker_codes)
        except Exception as error:  # the question was answered all the same
            _log.warning("the rollout of an org cannot be read: %s", getattr(error, "code", type(error).__name__))
            ready, codes = False, [UNREADABLE]
        return context_trace.documented(trace) | {
            "retrievalPolicyReadyForDefaultOn": ready,
            "retrievalPolicyBlockerCodes": codes,
        }


def _named(identity: Identity) -> str:
    """As the documented field has it; one of the autopilot's name with what it is, or it would pass for that."""
    return identity.actor if identity.name == judging.AUTOPILOT else identity.name


def _check_mode(mode: str) -> None:
    if mode not in MODES:
        raise InvalidInput(
            f"'{mode[:40]}' is no rollout mode", code="ROLLOUT_MODE_INVALID", next=f"choose: {', '.join(MODES)}"
        )


def _check_trace(query: str) -> None:
    if not query.strip() or len(query) > MAX_TRACE_QUERY:
        raise InvalidInput(
            f"a question to trace has 1 to {MAX_TRACE_QUERY} characters",
            code="TRACE_QUERY_INVALID",
            next="ask with fewer words" if query.strip() else "ask something",
        )


def _check_within(name: str, asked: int | None, least: int, most: int) -> None:
    if asked is not None and not least <= asked <= most:
        raise InvalidInput(
            f"{name} {asked} is out of range", code="TRACE_LIMIT_INVALID", next=f"ask for {least} to {most}"
        )


def _refuse_blocked(measured: Measured) -> None:
    gate = measured.gate
    if gate.canary_blocked:
        codes = ", ".join(gate.reason_codes)
        raise Conflict(
            f"the quality gate blocks the canary: {codes}",
            code="CANARY_ROLLOUT_BLOCKED",
            next="find out why: clew rollout show; it opens by itself when the graph does well again",
            details={
                "reasonCodes": gate.reason_codes,
                "qualityStatus": gate.status,
                "windowHours": gate.window_hours,
            },
        )


def _without_tables(flags: Mapping[str, bool], now: datetime) -> GraphStatus:
    """A store that somebody else took the graph's tables from: nothing there, and that is the error."""
    message = "tables of the graph are missing; restore a backup: clew restore FILE"
    missing = Trouble("GRAPH_SCHEMA_MISSING", message, "schema", now)
    return GraphStatus("degraded", flags, Counted({}, {}, 0, 0, 0, {}), (), (missing,), now)

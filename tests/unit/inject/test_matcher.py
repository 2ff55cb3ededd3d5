"""Facts of the graph beside, or instead of, memories on a tool call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from injector_toys import BOB, SHOP, Agent, Everything, Told, event, found, injector, logged, running, said

from clew.clew import Clew
from clew.inject.matcher import FLOOR, GraphMatcher, GraphMatching
from clew.model.access import Decision, Resource
from clew.model.graph_fact import FactEnd, GraphFact
from clew.model.memory import Memory


def fact(memory: Memory, source: str, target: str, *, importance: float = 0.6, org: str = "local") -> GraphFact:
    ends = [FactEnd(name, org, "shop", "service", name, name, (memory,)) for name in (source, target)]
    return GraphFact(ends[0], "uses", ends[1], importance, 1.0, (memory,))


class Facts:
    """A matcher that answers as told."""

    def __init__(self, *facts: GraphFact) -> None:
        self._facts = facts

    def match(self, *_: Any) -> Sequence[GraphFact]:
        return self._facts


@pytest.fixture
def witness(memory: Clew) -> Memory:
    return memory.remember("login uses RedisCache and MailGateway", scope=SHOP).memory


def test_r110_without_a_matcher_there_are_no_triplets(memory: Clew) -> None:
    result = injector(Told([found(memory, "VAT", 0.9)])).handle_verb_event(event(query="login"))
    assert (result.outcome, result.triplets) == ("injected", ())


def test_r110_triplets_stand_below_the_observations(memory: Clew, witness: Memory) -> None:
    graph = GraphMatching(Facts(fact(witness, "login", "RedisCache")), BOB)
    told = injector(Told([found(memory, "VAT", 0.9)]), graph=graph)
    block = told.handle_verb_event(event(query="login")).block or ""
    assert block.endswith("\n\n## Knowledge Graph Triplets\n- login → uses → RedisCache")


def test_triplets_alone_may_be_pushed_where_that_is_asked_for(witness: Memory) -> None:
    facts = Facts(fact(witness, "login", "RedisCache"))
    outcomes = [
        injector(Told(), graph=GraphMatching(facts, BOB, alone=alone))
        .handle_verb_event(event(query="login"))
        .outcome
        for alone in (True, False)
    ]
    assert outcomes == ["injected", "no-match"]


def test_r111_both_ends_need_a_permit(witness: Memory) -> None:
    class NotRedis(Everything):
        def decide(self, _who: Any, _action: str, rows: Sequence[Resource], *_: Any, **__: Any) -> list[Decision]:
            return [Decision(row.id != "RedisCache") for row in rows]

    facts = Facts(fact(witness, "login", "RedisCache"), fact(witness, "login", "MailGateway"))
    told = injector(Told(), graph=GraphMatching(facts, BOB), pep=NotRedis())
    assert [one.target_entity for one in told.handle_verb_event(event(query="login")).triplets] == ["MailGateway"]


def test_r111_a_policy_engine_that_fails_lets_no_triplet_through(witness: Memory) -> None:
    class Failing(Everything):
        def decide(self, *_: Any, **__: Any) -> list[Decision]:
            raise RuntimeError

    told = injector(Told(), graph=GraphMatching(Facts(fact(witness, "login", "RedisCache")), BOB), pep=Failing())
    assert told.handle_verb_event(event(query="login")).outcome == "no-match"


def test_c02_facts_of_another_org_are_never_shown(witness: Memory) -> None:
    facts = Facts(fact(witness, "login", "RedisCache", org="acme"))
    assert (
        injector(Told(), graph=GraphMatching(facts, BOB)).handle_verb_event(event(query="x")).outcome == "no-match"
    )


def test_a_fact_is_told_once_per_session(witness: Memory) -> None:
    told = injector(Told(), graph=GraphMatching(Facts(fact(witness, "login", "RedisCache")), BOB))
    outcomes = [told.handle_verb_event(event(query="login")).outcome for _ in range(2)]
    assert outcomes == ["injected", "no-match"]


def test_what_a_shown_memory_states_is_not_said_twice(memory: Clew, witness: Memory) -> None:
    store = Told([found(memory, witness.content, 0.9)])
    told = injector(store, graph=GraphMatching(Facts(fact(witness, "login", "RedisCache")), BOB))
    result = told.handle_verb_event(event(query="login"))
    assert (result.memory_ids, result.triplets) == ((witness.id,), ())


def test_triplets_share_the_budget_of_the_observations(memory: Clew, witness: Memory) -> None:
    many = Facts(*(fact(witness, "login" * 20, f"Service{number}" * 9) for number in range(20)))
    store = Told([found(memory, "long " * 100, 0.9)])
    result = injector(store, graph=GraphMatching(many, BOB)).handle_verb_event(event(query="login"))
    assert result.triplets
    assert result.tokens <= 200
    assert len(result.triplets) <= 3


def test_a_graph_that_fails_leaves_the_observations_alone(memory: Clew) -> None:
    class Broken:
        def match(self, *_: Any) -> Sequence[GraphFact]:
            raise RuntimeError

    told = injector(Told([found(memory, "VAT", 0.9)]), Agent(), graph=GraphMatching(Broken(), BOB))
    assert told.handle_verb_event(event(query="login")).outcome == "injected"


def test_only_facts_near_what_the_call_names_reach_the_floor(witness: Memory) -> None:
    near, far = fact(witness, "login", "RedisCache", importance=0.57), fact(witness, "a", "b", importance=0.48)

    class Engine:
        def facts_from(self, *_: Any, **__: Any) -> Sequence[GraphFact]:
            return [near, far]

    assert FLOOR == 0.5
    assert GraphMatcher(Engine()).match([], SHOP, []) == [near]


def test_r001_in_production_the_gates_decide_about_triplets(clew_at: Callable[..., Clew], tmp_path: Path) -> None:
    clew = clew_at(tmp_path, inject={"latency_ms": 10_000})
    clew.remember("login rounds VAT", scope=SHOP, paths=("src/login.py",))
    clew.remember("src/login.py depends on AuthService", scope=SHOP, paths=("src/other.py",))
    shown = []
    for is_on in (True, False):
        clew.projects.set("shop", "graph", is_on)
        shown.append(said(clew, running(clew), paths=("src/login.py",), query="login VAT"))
    assert [result.outcome for result in shown] == ["queued", "queued"]
    assert [len(result.triplets) for result in shown] == [1, 0]
    rows = [logged(clew, session)[0] for session in clew.sessions.list()]
    assert [(row.graph_status, len(row.graph_edge_keys)) for row in rows] == [("graph_off", 0), ("ok", 1)]


def test_in_production_the_rollout_mode_decides_about_triplets_too(
    clew_at: Callable[..., Clew], tmp_path: Path
) -> None:
    clew = clew_at(tmp_path, inject={"latency_ms": 10_000})
    clew.remember("login rounds VAT", scope=SHOP, paths=("src/login.py",))
    clew.remember("src/login.py depends on AuthService", scope=SHOP, paths=("src/other.py",))
    statuses = []
    for mode in ("canary", "shadow", "off"):
        clew.rollout.set(mode)
        session = running(clew)
        result = said(clew, session, paths=("src/login.py",), query="login VAT")
        statuses.append((logged(clew, session)[0].graph_status, len(result.triplets)))
    assert statuses == [("ok", 1), ("shadow_mode", 0), ("rollout_off", 0)]
    assert {project for _connection, _org, project in clew._rollout_state._kept} == {"shop"}  # one look for both

"""The context payload: the baseline untouched, then what the graph adds, with provenance."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import apsw
import pytest

import clew as clew_package
from clew.clew import Clew
from clew.errors import InvalidInput
from clew.model.scope import Scope
from clew.store.sqlite import SqliteEngine
from toys import ToldClock, open_toy

SHOP = Scope(project="shop")


@pytest.fixture
def clock() -> ToldClock:
    return ToldClock()


@pytest.fixture
def clew(tmp_path: Path, clock: ToldClock) -> Iterator[Clew]:
    with open_toy(tmp_path / "clew.db", clock=clock) as clew:
        yield clew


def fill(clew: Clew) -> dict[str, str]:
    """A question finds the first two; the graph leads from the tag of the first to the third."""
    return {
        "working": clew.remember("login is being rewritten", layer="working", tags=("auth",), scope=SHOP).id,
        "base": clew.remember("login uses tokens", scope=SHOP).id,
        "graph": clew.remember("invoices are sent on Mondays", tags=("auth",), scope=SHOP).id,
        "other": clew.remember("the coffee machine is broken", scope=SHOP).id,
    }


def test_what_the_graph_adds_comes_after_the_baseline_with_its_provenance(clew: Clew) -> None:
    ids = fill(clew)
    found = clew.context("login", scope=SHOP, limit=2)
    assert found.ids == [ids["working"], ids["base"], ids["graph"]]
    [added] = [entry.as_json()["graph"] for entry in found.added]
    assert added == {"why_included": "graph_expansion", "linked_via_node": "topic:auth", "edge_type": "shared_node",
                     "hop_count": 1, "confidence": 1.0, "seed_memory_id": ids["working"]}  # fmt: skip
    assert found.trace["graph_expanded_count"] == 1


@pytest.mark.parametrize(
    ("asked", "is_added"),
    [
        ({"namespace": "a"}, True), ({"namespace": "b"}, False), ({"types": ("note",)}, True),
        ({"types": ("note", "fact")}, True), ({"tags": ("auth",)}, True), ({"tags": ("login",)}, False),
        ({"agent": "bot"}, True), ({"session": "s"}, True), ({"mode": "all"}, True), ({"mode": "working"}, False),
    ],
)  # fmt: skip
def test_what_restricts_the_answer_restricts_what_is_added(
    clew: Clew, asked: dict[str, object], is_added: bool
) -> None:
    place = Scope(project="shop", namespace="a", agent="bot", session="s")
    for namespace in ("a", "b"):
        here = Scope(project="shop", namespace=namespace, agent="bot", session="s")
        clew.remember(f"login {namespace}", layer="working", tags=("auth", "login"), scope=here)
    added = clew.remember("invoices are sent on Mondays", tags=("auth",), scope=place).id
    found = clew.context("login", scope=SHOP, **asked)  # type: ignore[arg-type]
    assert (added in found.ids) == is_added


def test_the_baseline_is_the_same_with_and_without_the_graph(clew: Clew) -> None:
    fill(clew)
    plain = clew.context("login", scope=SHOP, strategy="baseline")
    graph = clew.context("login", scope=SHOP)
    assert plain.ids == graph.ids[: len(plain.ids)]
    assert [result.as_json() for result in plain.long_term] == [result.as_json() for result in graph.long_term]
    assert (plain.trace["fallback_triggered"], plain.trace["strategy"]) == (False, "baseline")


def test_depth_two_goes_one_edge_further(clew: Clew) -> None:
    seed = clew.remember("login uses tokens", tags=("auth",), category="Security", scope=SHOP).id
    clew.remember("audits are due", tags=("audit",), category="Security", scope=SHOP)
    far = clew.remember("the auditor is called Kim", tags=("audit",), scope=SHOP).id
    near, further = (clew.context("login tokens", scope=SHOP, limit=1, depth=depth) for depth in (1, 2))
    assert near.ids[0] == further.ids[0] == seed
    assert far in near.ids  # over category -> topic
    assert [entry.hop_count for entry in further.added] == sorted(entry.hop_count for entry in further.added)
    assert (
        clew.context("login tokens", scope=SHOP, limit=1, depth=0).trace["fallback_reason"] == "rollout_guardrail"
    )


def test_the_limit_is_held_within_its_bounds(clew: Clew) -> None:
    clew.remember("login uses tokens", tags=("auth",), scope=SHOP)
    for number in range(60):
        clew.remember(f"unrelated {number} thing", tags=("auth",), scope=SHOP)
    counts = [len(clew.context("login tokens", scope=SHOP, limit=1, graph_limit=n).added) for n in (-3, 8, 500)]
    assert counts == [1, 8, 50]


def test_a_stated_relation_outranks_a_shared_topic(clew: Clew) -> None:
    clew.remember("Login is handled by AuthService. AuthService depends on RedisCache.", tags=("auth",), scope=SHOP)
    cache = clew.remember("RedisCache evicts at night", scope=SHOP).id
    clew.remember("invoices are sent on Mondays", tags=("auth",), scope=SHOP)
    found = clew.context("who handles login", scope=SHOP, limit=1)
    first = next(entry for entry in found.added if entry.memory.id == cache)
    assert found.added[0] is first or first.score >= found.added[0].score


@pytest.mark.parametrize("place", [{"user": "bob"}, {"project": "blog"}])
def test_expansion_never_leaves_the_scope(clew: Clew, place: dict[str, str]) -> None:
    clew.remember("login uses tokens", tags=("auth",), scope=SHOP)
    clew.remember("a secret of others", tags=("auth",), scope=Scope(**({"project": "shop"} | place)))
    assert clew.context("login", scope=SHOP).added == []


def test_what_was_replaced_forgotten_or_has_expired_is_not_added(clew: Clew, clock: ToldClock) -> None:
    clew.remember("login uses tokens", tags=("auth",), scope=SHOP)
    old = clew.remember("first plan", tags=("auth",), scope=SHOP).id
    new = clew.remember("second plan", tags=("auth",), supersedes=old, scope=SHOP).id
    clew.remember("short-lived", tags=("auth",), layer="working", scope=SHOP)
    clew.forget(clew.remember("to be forgotten", tags=("auth",), scope=SHOP).id)
    clock.pass_by(hours=25)
    assert [entry.memory.id for entry in clew.context("login", scope=SHOP).added] == [new]


def test_with_the_graph_off_the_reason_is_named(tmp_path: Path) -> None:
    with open_toy(tmp_path / "clew.db", graph={"recall": False}) as clew:
        fill(clew)
        assert clew.context("login", scope=SHOP).trace["fallback_reason"] == "feature_flag_disabled"


def test_a_failing_expansion_answers_the_baseline_and_says_so(clew: Clew) -> None:
    ids = fill(clew)
    connection = apsw.Connection(str(clew.store.path))  # type: ignore[attr-defined]
    connection.execute("ALTER TABLE graph_edges RENAME TO gone")
    found = clew.context("login", scope=SHOP, limit=2, strategy="hybrid_graph")
    assert found.ids == [ids["working"], ids["base"]]
    assert found.trace["fallback_reason"] == "graph_expansion_error"


def test_contradictions_are_told_once_per_pair_and_only_to_those_who_may_see_them(clew: Clew) -> None:
    one, other = (clew.remember(f"login {text}", scope=SHOP).id for text in ("is fast", "is slow"))
    clew.link(one, "contradicts", other, scope=SHOP)
    [conflict] = clew.context("login", scope=SHOP).conflicts
    assert {conflict.memory_a_id, conflict.memory_b_id} == {one, other}
    assert conflict.as_json()["suggestion"]


@pytest.mark.parametrize("verb", ["recall", "context", "why"])
def test_a_question_looks_once_whether_anything_has_changed(
    clew: Clew, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    ids, looks, version = fill(clew), list[int](), SqliteEngine._version
    ask: Callable[[], object] = {
        "recall": partial(clew.recall, "login", scope=SHOP),
        "context": partial(clew.context, "login", scope=SHOP),
        "why": partial(clew.why, "login", ids["base"], scope=SHOP),
    }[verb]
    ask()
    monkeypatch.setattr(SqliteEngine, "_version", lambda engine: looks.append(1) or version(engine))
    ask()
    assert len(looks) == 1


def test_an_unknown_strategy_is_refused(clew: Clew) -> None:
    with pytest.raises(InvalidInput, match="not a strategy"):
        clew.context("login", scope=SHOP, strategy="magic")


def test_what_is_merely_the_nearest_is_no_context_and_leads_nowhere(tmp_path: Path) -> None:
    with clew_package.open(tmp_path / "clew.db") as memory:
        for number in range(12):
            memory.remember(f"PostgreSQL keeps table {number} of AuthService.", tags=("db",))
        memory.remember("The monks distil a liqueur of gentian with PostgreSQL.", tags=("db",))
        question = "Which drink do they make?"
        assert any(one.is_guess for one in memory.recall(question).results)
        found = memory.context(question, strategy="hybrid_graph")
        assert not found.ids and found.trace["fallback_reason"]

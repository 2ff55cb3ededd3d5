"""A proof for every setting of the graph that it changes something."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw
import pytest

from clew.clew import Clew
from clew.errors import Misconfigured
from clew.model.recalled import Recalled
from clew.model.scope import Scope
from toys import ToldClock, open_toy

SHOP = Scope(project="shop")
WORLD = (
    "login uses AuthService",
    "AuthService depends on RedisCache",
    "AuthService calls MailGateway",
    "RedisCache evicts keys at night",
    "MailGateway is slow on Mondays",
    "login is tested by Kim",
    "PROJ-7 is about the login form",
    "PROJ-7 waits for the designer",
)


@contextmanager
def world(folder: Path, *, clock: ToldClock | None = None, **graph: Any) -> Iterator[Clew]:
    """A small store with things to walk along, one per setting."""
    name = f"{len(list(folder.iterdir()))}.db"
    with open_toy(folder / name, clock=clock, graph=graph) as clew:
        for text in WORLD:
            clew.remember(text, scope=SHOP)
        yield clew


def ask(clew: Clew, query: str = "login", **options: Any) -> Recalled:
    return clew.recall(query, scope=SHOP, **({"plan": "graph_mode"} | options))


def ways(
    folder: Path, query: str = "login", *, options: dict[str, Any] | None = None, **graph: Any
) -> dict[str, Any]:
    """What the graph led to, with its activation, path and rank score."""
    with world(folder, **graph) as clew:
        found = ask(clew, query, **(options or {}))
    return {
        result.memory.content: (round(result.way.activation, 9), result.way.path, result.rank_score)
        for result in found.results
        if result.way
    }


def edges(clew: Clew) -> dict[str, int]:
    connection = apsw.Connection(str(clew.store.path))  # type: ignore[attr-defined]
    return dict(connection.execute("SELECT edge_type, count(*) FROM graph_edges GROUP BY 1").fetchall())


# -- switches ------------------------------------------------------------------------------------------


def test_graph_write_is_live(tmp_path: Path) -> None:
    assert ways(tmp_path)
    assert not ways(tmp_path, write=False)


def test_graph_recall_is_live(tmp_path: Path) -> None:
    with world(tmp_path, recall=False) as clew:
        assert ask(clew).trace.notes["graph"]["reason"] == "graph recall disabled by config"


def test_graph_assist_is_live(tmp_path: Path) -> None:
    ordinary = {"plan": "full"}
    assert ways(tmp_path, options=ordinary)
    assert not ways(tmp_path, options=ordinary, assist=False)


def test_graph_assist_min_seeds_is_live(tmp_path: Path) -> None:
    ordinary = {"plan": "full"}
    assert ways(tmp_path, options=ordinary, assist_min_seeds=3)
    assert not ways(tmp_path, options=ordinary, assist_min_seeds=4)


def test_graph_planner_is_live(tmp_path: Path) -> None:
    answers = []
    for planner in (True, False):
        with world(tmp_path, planner=planner) as clew:
            answers.append(ask(clew, "thanks", plan="auto").trace.notes["plan"]["effective"])
    assert answers == ["no_recall", "full"]


def test_graph_broad_intent_is_live(tmp_path: Path) -> None:
    answers = []
    for broad_intent in (True, False):
        with world(tmp_path, broad_intent=broad_intent) as clew:
            answers.append(ask(clew, "what led to the login", plan="auto").trace.notes["plan"]["effective"])
    assert answers == ["graph_mode", "full"]


def test_recall_minimal_limit_is_live(tmp_path: Path) -> None:
    for limit in (1, 2):
        with open_toy(tmp_path / f"{limit}.db", recall={"minimal_limit": limit}) as clew:
            for text in WORLD:
                clew.remember(text, scope=SHOP)
            assert len(ask(clew, "check login", plan="minimal").results) == limit


# -- how far and from where ----------------------------------------------------------------------------


def test_graph_max_steps_is_live(tmp_path: Path) -> None:
    assert "RedisCache evicts keys at night" in ways(tmp_path, max_steps=3)
    assert "RedisCache evicts keys at night" not in ways(tmp_path, max_steps=1)
    assert not ways(tmp_path, max_steps=0)


def test_graph_max_seeds_is_live(tmp_path: Path) -> None:
    assert len(ways(tmp_path, max_seeds=10)) > len(ways(tmp_path, max_seeds=1))


def test_graph_max_expanded_is_live(tmp_path: Path) -> None:
    assert len(ways(tmp_path, max_expanded=30)) > len(ways(tmp_path, max_expanded=2))


def test_graph_min_seed_score_is_live(tmp_path: Path) -> None:
    query = "login zebra quokka okapi"
    assert ways(tmp_path, query, min_seed_score=0.0)
    assert not ways(tmp_path, query, min_seed_score=1.0)


def test_graph_confidence_floor_is_live(tmp_path: Path) -> None:
    def reaches(floor: float, **options: Any) -> bool:
        """Only the stated relation, which is not quite sure, leads there."""
        found = ways(tmp_path, confidence_floor=floor, entity_edges=False, inhibition=False, options=options)
        return "RedisCache evicts keys at night" in found

    assert reaches(0.2)
    assert not reaches(1.0)
    assert reaches(1.0, include_low_confidence=True)


def test_graph_fan_out_is_live(tmp_path: Path) -> None:
    assert len(ways(tmp_path, fan_out=64)) > len(ways(tmp_path, fan_out=1))


def test_graph_expand_depth_is_live(tmp_path: Path) -> None:
    counts = []
    for depth in (0, 1):
        with world(tmp_path, expand_depth=depth) as clew:
            counts.append(len(clew.context("login AuthService", scope=SHOP, limit=1).added))
    assert counts[0] == 0 < counts[1]


def test_graph_expand_limit_is_live(tmp_path: Path) -> None:
    with world(tmp_path, expand_limit=1) as clew:
        assert len(clew.context("login AuthService", scope=SHOP, limit=1).added) == 1


# -- how activation becomes a score --------------------------------------------------------------------

SCORES = {
    "iterations": (8, 0),
    "decay": (0.7, 0.3),
    "inhibition": (True, False),
    "inhibition_beta": (0.15, 0.9),
    "inhibition_top_m": (7, 0),
    "refinement": ("personalised", "compat"),
}


def assert_activation_differs(folder: Path, name: str) -> None:
    one, other = SCORES[name]
    before, after = (ways(folder, **{name: value}) for value in (one, other))
    assert {text: way[0] for text, way in before.items()} != {text: way[0] for text, way in after.items()}


def test_graph_iterations_is_live(tmp_path: Path) -> None:
    assert_activation_differs(tmp_path, "iterations")


def test_graph_decay_is_live(tmp_path: Path) -> None:
    assert_activation_differs(tmp_path, "decay")


def test_graph_inhibition_is_live(tmp_path: Path) -> None:
    assert_activation_differs(tmp_path, "inhibition")


def test_graph_inhibition_beta_is_live(tmp_path: Path) -> None:
    assert_activation_differs(tmp_path, "inhibition_beta")


def test_graph_inhibition_top_m_is_live(tmp_path: Path) -> None:
    assert_activation_differs(tmp_path, "inhibition_top_m")


def test_graph_refinement_is_live(tmp_path: Path) -> None:
    assert_activation_differs(tmp_path, "refinement")


def rank_scores(folder: Path, **graph: Any) -> dict[str, float]:
    return {text: way[2] for text, way in ways(folder, **graph).items()}


def test_graph_activation_weight_is_live(tmp_path: Path) -> None:
    assert rank_scores(tmp_path, activation_weight=0.65) != rank_scores(tmp_path, activation_weight=0.2)


def test_graph_blend_min_is_live(tmp_path: Path) -> None:
    assert min(rank_scores(tmp_path, blend_min=0.9).values()) > min(rank_scores(tmp_path, blend_min=0.05).values())


def test_graph_blend_max_is_live(tmp_path: Path) -> None:
    assert rank_scores(tmp_path, blend_max=0.1) != rank_scores(tmp_path, blend_max=0.95)


# -- what is written -----------------------------------------------------------------------------------


@pytest.fixture
def story() -> list[dict[str, Any]]:
    return [
        {"content": "AuthService is slow", "thread": "t", "title": "Slow Login"},
        {"content": "the Slow Login was blamed on AuthService because of that", "thread": "t"},
    ]


def written(folder: Path, story: list[dict[str, Any]], **graph: Any) -> dict[str, int]:
    with open_toy(folder / f"{len(list(folder.iterdir()))}.db", graph=graph) as clew:
        for fields in story:
            clew.remember(**fields, scope=Scope(project="shop", session="s"))
        return edges(clew)


@pytest.mark.parametrize("type_", ["entity", "time", "causal", "mention"])
def test_each_kind_of_edge_can_be_switched_off(tmp_path: Path, story: list[dict[str, Any]], type_: str) -> None:
    assert written(tmp_path, story)[type_] == 1
    assert type_ not in written(tmp_path, story, **{f"{type_}_edges": False})


def test_graph_entity_edges_is_live(tmp_path: Path, story: list[dict[str, Any]]) -> None:
    assert "entity" not in written(tmp_path, story, entity_edges=False)


def test_graph_time_edges_is_live(tmp_path: Path, story: list[dict[str, Any]]) -> None:
    assert "time" not in written(tmp_path, story, time_edges=False)


def test_graph_causal_edges_is_live(tmp_path: Path, story: list[dict[str, Any]]) -> None:
    assert "causal" not in written(tmp_path, story, causal_edges=False)


def test_graph_mention_edges_is_live(tmp_path: Path, story: list[dict[str, Any]]) -> None:
    assert "mention" not in written(tmp_path, story, mention_edges=False)


def test_graph_max_entity_edges_is_live(tmp_path: Path, story: list[dict[str, Any]]) -> None:
    assert "entity" not in written(tmp_path, story, max_entity_edges=0)


def test_graph_session_adjacency_is_live(tmp_path: Path, story: list[dict[str, Any]]) -> None:
    without_thread = [fields | {"thread": None} for fields in story]
    assert written(tmp_path, without_thread)["causal"] == 1
    assert "causal" not in written(tmp_path, without_thread, session_adjacency=False)


# -- what is kept and what is measured ---------------------------------------------------------------------


def kept(folder: Path, **graph: Any) -> list[str]:
    with world(folder, **graph) as clew:
        for query in ("login", "the login", "login?"):
            ask(clew, query)
    return sorted(file.name for file in folder.glob("state/graph/2*.json"))


def test_graph_snapshot_is_live(tmp_path: Path) -> None:
    assert kept(tmp_path) == [] and len(kept(tmp_path, snapshot=True)) == 3


def test_graph_explain_is_live(tmp_path: Path) -> None:
    """The same memories in the same order, with and without the ways that led to them."""
    answers = []
    for on in (True, False):
        with world(tmp_path, explain=on) as clew:
            results = ask(clew).results
            assert any(one.graph_path for one in clew.xray("login", scope=SHOP).results)  # who asks is told
        answers.append([result.memory.content for result in results])
        assert any("graph_path" in result.as_json() for result in results) is on
    assert answers[0] == answers[1]


def test_graph_explain_tool_is_live(tmp_path: Path) -> None:
    with world(tmp_path, snapshot=True) as clew:
        ask(clew)
        assert clew.last_graph_recall() is not None
    with world(tmp_path, explain_tool=False) as clew, pytest.raises(Misconfigured, match="switched off"):
        clew.last_graph_recall()


def test_graph_snapshots_kept_is_live(tmp_path: Path) -> None:
    assert len(kept(tmp_path, snapshot=True, snapshots_kept=2)) == 2


def test_graph_shadow_is_live(tmp_path: Path) -> None:
    assert ways(tmp_path) and not ways(tmp_path, shadow=True, shadow_sample=1.0)


def test_graph_shadow_sample_is_live(tmp_path: Path) -> None:
    for share, is_compared in ((0.0, False), (1.0, True)):
        with world(tmp_path, shadow=True, shadow_sample=share) as clew:
            assert ("graph_shadow" in ask(clew).trace.notes) == is_compared


# -- decay ---------------------------------------------------------------------------------------------


def decayed(folder: Path, days: float = 120, **graph: Any) -> dict[str, Any]:
    """The report of a decay so many days after the last witness spoke."""
    clock = ToldClock()
    with world(folder, clock=clock, **graph) as clew:
        clock.pass_by(days=days)
        return clew.graph.decay().as_json()


def confidences(folder: Path, days: float, **graph: Any) -> list[float]:
    clock = ToldClock()
    with world(folder, clock=clock, **graph) as clew:
        clock.pass_by(days=days)
        clew.remember("anything, so that the graph is looked after", scope=SHOP)
        connection = apsw.Connection(str(clew.store.path))  # type: ignore[attr-defined]
        rows = connection.execute("SELECT confidence FROM graph_edges WHERE edge_type = 'depends_on'").fetchall()
    return [value for (value,) in rows]


def test_graph_edge_decay_is_live(tmp_path: Path) -> None:
    assert confidences(tmp_path, 120) < confidences(tmp_path, 120, edge_decay=False)


def test_graph_decay_cadence_hours_is_live(tmp_path: Path) -> None:
    """With a cadence longer than the time that passed, the schedule leaves the edges alone."""
    assert confidences(tmp_path, 120) < confidences(tmp_path, 120, decay_cadence_hours=24 * 365)


def test_graph_decay_window_days_is_live(tmp_path: Path) -> None:
    assert decayed(tmp_path)["edges_decayed"] > 0
    assert decayed(tmp_path, decay_window_days=200)["edges_decayed"] == 0


def test_graph_decay_per_window_is_live(tmp_path: Path) -> None:
    drops = [decayed(tmp_path, decay_per_window=share)["top_decayed_entities"] for share in (0.1, 0.3)]
    assert drops[0] != drops[1]


def test_graph_decay_floor_is_live(tmp_path: Path) -> None:
    below = [decayed(tmp_path, days=9_000, decay_floor=floor) for floor in (0.1, 0.5)]
    assert [report["edges_below_visibility_threshold"] > 0 for report in below] == [True, False]


def test_graph_visibility_threshold_is_live(tmp_path: Path) -> None:
    below = [decayed(tmp_path, visibility_threshold=share) for share in (0.0, 1.0)]
    assert [report["edges_below_visibility_threshold"] > 0 for report in below] == [False, True]

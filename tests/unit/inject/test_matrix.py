"""The recall matrix: resolved field by field, changed by operators, audited."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clew.clew import Clew
from clew.errors import Denied, InvalidInput, NotFound
from clew.inject import resolve_recall, set_recall
from clew.inject.matrix import FIELDS, SHIPPED, resolved
from clew.model.config import MatrixRow
from clew.model.scope import Identity, Scope

OPERATOR = Identity("acme", user="op", roles=("operator",))
ADMIN = Identity("acme", user="ann", roles=("admin",))


@pytest.mark.parametrize(
    ("work_type", "graph", "budget"),
    [("bug_fix", True, 750), ("refactor", True, 600), ("feature", True, 400), ("chore", False, 300)],
)
def test_r007_the_shipped_matrix(memory: Clew, work_type: str, graph: bool, budget: int) -> None:
    settings = resolve_recall(memory, "acme", work_type)
    assert (settings.graph_enabled, settings.observation_budget) == (graph, budget)
    assert (settings.graph_budget, settings.top_k, settings.depth) == (500, 10, 2)


def test_r007_what_ships_in_the_store_is_what_the_code_falls_back_to(memory: Clew) -> None:
    for work_type in SHIPPED:
        stored, fallen = resolve_recall(memory, "acme", work_type), resolved(work_type, None, None)
        assert [getattr(stored, name) for name in FIELDS] == [getattr(fallen, name) for name in FIELDS]


def test_r008_an_unknown_work_type_has_the_graph(memory: Clew) -> None:
    settings = resolve_recall(memory, "acme", "never heard of")
    assert [getattr(settings, name) for name in FIELDS] == [True, 500, 500, 10, 2]


def test_r006_each_field_comes_from_the_first_that_says_something() -> None:
    own = MatrixRow("acme", "chore", graph_budget=70)
    everybody = MatrixRow(None, "chore", graph_enabled=True, graph_budget=80, top_k=3)
    settings = resolved("chore", own, everybody)
    assert [getattr(settings, name) for name in FIELDS] == [True, 300, 70, 3, 2]
    assert dict(settings.sources) == {
        "graph_enabled": "all orgs",
        "observation_budget": "shipped",
        "graph_budget": "org",
        "top_k": "all orgs",
        "depth": "default",
    }


def test_an_override_of_one_org_changes_no_other(memory: Clew) -> None:
    set_recall(memory, "chore", org_id="acme", graph_enabled=True, identity=OPERATOR)
    assert resolve_recall(memory, "acme", "chore").graph_enabled
    assert not resolve_recall(memory, "local", "chore").graph_enabled


def test_r009_only_operators_change_the_matrix(memory: Clew) -> None:
    for identity in (ADMIN, Identity("acme", user="olga", roles=("owner",)), Identity("acme", agent="a", roles=())):
        with pytest.raises(Denied):
            memory.matrix.set("chore", org="acme", identity=identity, graph_enabled=True)
    assert not resolve_recall(memory, "acme", "chore").graph_enabled
    memory.matrix.set("chore", identity=OPERATOR, graph_enabled=True)
    assert resolve_recall(memory, "acme", "chore").graph_enabled


def test_every_change_is_audited_with_before_and_after(memory: Clew) -> None:
    memory.matrix.set("chore", org="acme", identity=OPERATOR, observation_budget=100)
    memory.matrix.set("chore", org="acme", identity=OPERATOR, observation_budget=100)  # changes nothing
    with memory.store.read() as tx:
        [entry] = tx.audit.latest("acme", limit=5)
    assert (entry.actor, entry.kind) == ("user:op", "matrix")
    assert '"after":{"observation_budget":100}' in entry.detail and '"observation_budget":null' in entry.detail


def test_a_matrix_that_cannot_be_read_gives_the_shipped_budgets_and_no_graph(
    clew_at: Callable[..., Clew], tmp_path: Path
) -> None:
    clew = clew_at(tmp_path)
    clew.close()
    settings = resolve_recall(clew, "local", "bug_fix")
    assert (settings.graph_enabled, settings.observation_budget) == (False, 750)
    assert dict(settings.sources)["graph_enabled"] == "error"


@pytest.mark.parametrize(
    "fields", [{"depth": 9}, {"top_k": 0}, {"observation_budget": -1}, {"graph_enabled": 1}, {"nonsense": 1}, {}]
)
def test_what_is_out_of_range_is_refused(memory: Clew, fields: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        memory.matrix.set("chore", **fields)


def test_another_orgs_rows_are_not_there_for_others(memory: Clew) -> None:
    with pytest.raises(NotFound):
        memory.matrix.show(org="acme", identity=Identity("other", user="x", roles=("admin",)))
    assert memory.matrix.show(org="acme", identity=OPERATOR)


def test_tenant_admins_set_project_toggles_and_members_do_not(memory: Clew) -> None:
    assert memory.projects.set("shop", "runtime-inject", False, identity=ADMIN).runtime_inject_enabled is False
    with pytest.raises(Denied):
        memory.projects.set("shop", "memory", False, identity=Identity("acme", user="mia", roles=("member",)))
    with memory.store.read() as tx:
        [entry] = tx.audit.latest("acme", limit=5)
    assert (entry.action, entry.kind, entry.id) == ("configure", "project", "shop")


def test_the_plan_is_the_operators_and_the_weighting_the_admins(memory: Clew) -> None:
    assert memory.orgs.features(feedback_weighting=False, identity=ADMIN).feedback_weighting_disabled
    with pytest.raises(Denied):
        memory.orgs.features(kg_enabled=True, identity=ADMIN)
    assert memory.orgs.features("acme", kg_enabled=True, identity=OPERATOR).kg_enabled


def test_an_org_that_is_there_by_its_memories_alone_is_configured(memory: Clew) -> None:
    operator = Identity(user="op", roles=("operator",))
    memory.remember("acme signs commits", scope=Scope(org="acme"), identity=Identity("acme", roles=("owner",)))
    assert memory.orgs.features("acme", kg_enabled=True, identity=operator).kg_enabled
    assert memory.matrix.set("chore", org="acme", graph_enabled=True, identity=operator).graph_enabled


def test_the_default_org_is_there_without_anything_in_it(memory: Clew) -> None:
    assert not memory.orgs.features("local").kg_enabled
    assert not memory.orgs.features("local", identity=OPERATOR).kg_enabled
    with pytest.raises(NotFound):
        memory.orgs.features("nowhere", kg_enabled=True, identity=OPERATOR)

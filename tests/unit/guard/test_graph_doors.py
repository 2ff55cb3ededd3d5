"""The graph has no rights of its own: what only unreadable memories state is not there, whichever way one looks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from clew.clew import Clew
from clew.errors import Denied, NotFound
from clew.model.scope import Identity, Scope

PROJECT = Scope(project="vault")
AGENT = Identity(agent="ada", roles=())


@pytest.fixture
def vault(memory: Clew) -> Clew:
    memory.remember("VaultService depends on HsmBox", classification="restricted", scope=PROJECT)
    memory.remember("AuthService depends on Redis", scope=PROJECT)
    return memory


@pytest.mark.parametrize(
    "look",
    [
        lambda clew, who: clew.graph.neighbors("VaultService", scope=PROJECT, identity=who),
        lambda clew, who: clew.graph.path("VaultService", "HsmBox", scope=PROJECT, identity=who),
        lambda clew, who: clew.graph.explore("HsmBox", scope=PROJECT, identity=who),
    ],
)
def test_a_thing_that_only_a_restricted_memory_names_is_not_found(
    vault: Clew, look: Callable[[Clew, Identity], object]
) -> None:
    assert look(vault, Identity())
    with pytest.raises(NotFound):
        look(vault, AGENT)


def test_lists_and_facts_hold_only_what_readable_memories_say(vault: Clew) -> None:
    shown = [
        str(vault.graph.triplets(scope=PROJECT, identity=AGENT).as_json()),
        str(vault.graph.triplets("what does VaultService need", scope=PROJECT, identity=AGENT).as_json()),
        str(vault.graph.explore(scope=PROJECT, identity=AGENT).as_json()),
    ]
    assert all("Redis" in text or "redis" in text for text in (shown[0], shown[2]))
    assert not any("hsm" in text.lower() for text in shown)


def test_a_recall_walks_only_along_what_readable_memories_say(vault: Clew) -> None:
    vault.remember("the HsmBox sits in Zurich", scope=PROJECT)
    query = "what is VaultService about"
    owner = vault.recall(query, scope=PROJECT).results
    agent = vault.recall(query, scope=PROJECT, identity=AGENT).results
    assert any(result.way for result in owner)
    assert not any(result.way for result in agent)


def test_who_may_not_write_here_brings_in_no_edges(vault: Clew) -> None:
    vault.policies.agent("ada", can_write=False)
    with pytest.raises(Denied):
        vault.graph.import_file(Path("edges.jsonl"), scope=PROJECT, identity=AGENT)


def test_an_added_policy_holds_in_the_graph_too(vault: Clew) -> None:
    hidden = vault.remember("BillingService depends on Stripe", scope=PROJECT).id
    policy = f'@id("no.billing") forbid (principal, action, resource == Mem::Observation::"{hidden}");'
    vault.policies.load(policy, name="no-billing")
    shown = str(vault.graph.triplets(scope=PROJECT, identity=AGENT).as_json()).lower()
    assert "redis" in shown and "stripe" not in shown
    with pytest.raises(NotFound):
        vault.graph.neighbors("BillingService", scope=PROJECT, identity=AGENT)
    results = vault.recall("what needs Stripe", scope=PROJECT, identity=AGENT).results
    assert not any(result.way for result in results)


def test_a_policy_about_a_project_hides_its_part_of_the_graph_alone(vault: Clew) -> None:
    forbid = 'when { resource has project && resource.project == Mem::Project::"local/vault" };'
    vault.policies.load(f'@id("no.vault") forbid (principal is Mem::Agent, action, resource) {forbid}', name="no")
    vault.remember("MailService uses Postfix", scope=Scope())
    shown = str(vault.graph.triplets(scope=PROJECT, identity=AGENT).as_json()).lower()
    assert "postfix" in shown and "redis" not in shown

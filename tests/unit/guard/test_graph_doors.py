"""The graph has no rights of its own: what only unreadable memories state is not there, whichever way one looks."""

from __future__ import annotations

import io
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


def test_lists_facts_and_files_hold_only_what_readable_memories_say(vault: Clew) -> None:
    file = io.StringIO()
    vault.graph.export(file, scope=PROJECT, identity=AGENT)
    shown = [
        str(vault.graph.triplets(scope=PROJECT, identity=AGENT).as_json()),
        str(vault.graph.triplets("what does VaultService need", scope=PROJECT, identity=AGENT).as_json()),
        str(vault.graph.explore(scope=PROJECT, identity=AGENT).as_json()),
        file.getvalue(),
    ]
    assert all("Redis" in text or "redis" in text for text in (shown[0], shown[2], shown[3]))
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

"""Memories, observations and facts made by hand, and stores of them: what blocks are built from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from clew.inject.access import Asker
from clew.inject.candidates import RetrievalQuery
from clew.model.access import AccessContext, Decision, Resource
from clew.model.graph_fact import FactEnd, GraphFact
from clew.model.inject import Observation
from clew.model.memory import Draft, Memory
from clew.model.scope import Identity, Scope
from clew.remember.prepare import WritePolicy, draft_memory

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
AGENT = Identity("local", agent="agent", roles=())


def memory(
    text: str = "a thing", *, id: str = "mem_a", org: str = "local", project: str | None = "shop", **changes: Any
) -> Memory:
    made, _masked = draft_memory(Draft(content=text), Scope(org, project), now=NOW, policy=WritePolicy())
    return replace(made, id=id, **changes)


def observation(
    text: str = "a thing", *, id: str = "mem_a", relevance: float = 0.5, weight: float = 1.0, **changes: Any
) -> Observation:
    own = {
        name: changes.pop(name) for name in ("heard", "led_by", "retired", "transferred_from") if name in changes
    }
    return Observation(memory(text, id=id, **changes), relevance, weight, **own)


def end(name: str, *memories: Memory, org: str = "local", project: str | None = "shop", **changes: Any) -> FactEnd:
    made = FactEnd(f"node-{name}", org, project, "service", name.lower(), name, tuple(memories))
    return replace(made, **changes)


def fact(
    source: str = "A",
    relation: str = "uses",
    target: str = "B",
    *,
    importance: float = 0.5,
    witness: Memory | None = None,
    **changes: Any,
) -> GraphFact:
    witness = witness or memory(f"{source} {relation} {target}", id=f"mem_{source}_{target}")
    made = GraphFact(
        end(source, witness, org=witness.org, project=witness.project),
        relation,
        end(target, witness, org=witness.org, project=witness.project),
        importance,
        1.0,
        witnesses=(witness,),
    )
    return replace(made, **changes)


@dataclass
class Shelf:
    """A memory store that has what it was given. Remembers what it was asked."""

    found: Sequence[Observation] = ()
    asked: list[tuple[Scope, RetrievalQuery]] = field(default_factory=list)

    def retrieve(self, scope: Scope, query: RetrievalQuery) -> list[Observation]:
        self.asked.append((scope, query))
        return list(self.found)


@dataclass
class Facts:
    """A graph that has the facts it was given."""

    found: Sequence[GraphFact] = ()
    asked: list[dict[str, Any]] = field(default_factory=list)

    def facts(self, query: str, scope: Scope, **options: Any) -> list[GraphFact]:
        self.asked.append({"query": query, "scope": scope, **options})
        return list(self.found)


class Broken:
    """Whatever it is asked, it fails."""

    def __getattr__(self, name: str) -> Any:
        def fail(*words: Any, **options: Any) -> Any:
            raise RuntimeError(f"{name} is broken")

        return fail


class YesMan:
    """Allows everything: for tests of what comes after."""

    def decide(
        self, identity: Identity, action: str, resources: Sequence[Resource | None], *rest: Any, **options: Any
    ) -> list[Decision]:
        return [Decision(True) for _resource in resources]


class NoMan(YesMan):
    def decide(
        self, identity: Identity, action: str, resources: Sequence[Resource | None], *rest: Any, **options: Any
    ) -> list[Decision]:
        return [Decision(False, reason="no") for _resource in resources]


def asker(project: str | None = "shop", pep: Any = None, org: str = "local") -> Asker:
    identity = replace(AGENT, org=org)
    return Asker(identity, AccessContext(org, project), pep or YesMan())

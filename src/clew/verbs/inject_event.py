"""Settings -> the injector of an open Clew: recall, the graph, Cedar, the durable queue and the injection log."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

from clew.inject.access import LateDecider
from clew.inject.gates import graph_settings_gate
from clew.inject.graph_engine import GraphSearchEngine
from clew.inject.injector import InSessionMemoryInjector
from clew.inject.live import InStore
from clew.inject.matcher import CONSIDERED, LOOKED_AT, GraphMatcher, GraphMatching, Seeds
from clew.recall.common import common_terms
from clew.values import dataclass
from clew.verbs.inject_making import config_of

if TYPE_CHECKING:
    from clew.clew import Clew
    from clew.inject.asking import Question
    from clew.inject.candidates import RetrievalQuery
    from clew.model.graph_fact import GraphFact
    from clew.model.inject import Observation
    from clew.model.scope import Scope


def injector_of(clew: Clew) -> InSessionMemoryInjector:
    """Only what is surely about a call is pushed, and facts of the graph only beside a memory."""
    _make_ready(clew)
    config, graph, learn = config_of(clew.settings.inject), clew.settings.graph, clew.settings.learn
    surroundings = InStore(
        store=clew.store,
        switches=clew.inject.switches,
        now=clew.now,
        pep=LateDecider(lambda: clew._pep),
        rights=clew.sessions.rights,
        policy=clew.queue.policy,
        config=config,
        graph=graph_settings_gate(write=graph.write, recall=graph.recall, shadow=graph.shadow),
        weighting=learn.weighting,
        ranking=learn.ranking,
        rollout=clew.inject.rollout_gate,
        hides=lambda org, agent: clew._stored_rights.hides(org, agent),
    )
    return InSessionMemoryInjector(
        _Memories(clew),
        config=config,
        graph=GraphMatching(_Facts(clew), alone=False),
        surroundings=surroundings,
        precise=True,
    )


# What these stand for brings a model and the read model along: made on the thread that can be left behind.


@dataclass(frozen=True, slots=True)
class _Memories:
    clew: Clew

    def retrieve(self, scope: Scope, query: RetrievalQuery) -> list[Observation]:
        self.clew._courtesy.asked()
        return self.clew.inject.memories.retrieve(scope, query)


@dataclass(frozen=True, slots=True)
class _Facts:
    clew: Clew

    def match(self, questions: Sequence[Question], scope: Scope, seeds: Seeds, /) -> list[GraphFact]:
        engine = GraphSearchEngine(self.clew._reader, self.clew.now, limit=CONSIDERED, memories=LOOKED_AT)
        return GraphMatcher(engine).match(questions, scope, seeds)


def _make_ready(clew: Clew) -> None:
    """What is imported and parsed once, before any clock runs. A part that cannot be made now fails the event that
    needs it."""
    for make in (lambda: clew._pep, lambda: clew._reader, common_terms):
        try:
            make()
        except Exception as error:  # told again to whoever needs the part
            logging.getLogger(__name__).warning("a part of the injector cannot be made: %s", type(error).__name__)

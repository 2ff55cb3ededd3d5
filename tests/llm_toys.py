"""What tests of relations by a language model begin with: the real client, a real store, a server of our own."""

from __future__ import annotations

from typing import Any

from clew.clew import Clew
from clew.model.memory import Memory
from clew.model.relation import Neighbour
from clew.providers.llm import EndpointModel
from clew.providers.llm_dialects import DIALECTS
from clew.relate.llm import LlmPolicy, LlmRelations
from clew.relate.spend import Spend, SpendPolicy
from llm_server import LlmServer

KEY = "sk-very-secret"
OLD, NEW = "Sessions are kept in Redis for a day", "Sessions are kept in Postgres now, not in Redis"


def model(server: LlmServer, *, provider: str = "openai", key: str = KEY, timeout_s: float = 10.0) -> EndpointModel:
    return EndpointModel(DIALECTS[provider](), url=server.url, model="toy-model", key=key, timeout_s=timeout_s)


def relations(clew: Clew, server: LlmServer, *, spend: dict[str, Any] | None = None, **policy: Any) -> LlmRelations:
    """Without semantic extraction unless `context_limit` is given: a test of pairs asks for pairs alone."""
    purse = Spend(clew.store, SpendPolicy(**spend or {}), now=clew.now)
    limits = LlmPolicy(**{"context_limit": 0} | policy)
    return LlmRelations(lambda: model(server), limits, purse, now=clew.now)


def near(memory: Memory, similarity: float = 0.8) -> Neighbour:
    return Neighbour(memory, 1, similarity)


def pair(clew: Clew, **fields: Any) -> tuple[Memory, Memory]:
    """The old memory and the new one."""
    return clew.remember(OLD, **fields).memory, clew.remember(NEW, **fields).memory

"""An agent with a key of its own learns nothing over HTTP of what it may not read."""

from __future__ import annotations

import json

import pytest
from api_driver import Asked, Got

from clew.clew import Clew
from clew.model.scope import Identity, Scope
from clew.surfaces.http.request import NETWORK

DEAL = Scope(project="deal")


class Agent:
    """Asks from the network with the key of an agent."""

    def __init__(self, asked: Asked, token: str) -> None:
        self._asked, self._token = asked, token

    def post(self, path: str, **body: object) -> Got:
        given = {"project": "deal", "retrieval": "lexical"} | body
        return self._asked.post(path, given, via=NETWORK, token=self._token)

    def get(self, path: str) -> Got:
        return self._asked.get(path, via=NETWORK, token=self._token)


@pytest.fixture
def agent(memory: Clew, asked: Asked) -> Agent:
    memory.remember("the merger with Globex needs HsmBox", classification="restricted", scope=DEAL)
    memory.remember("Hooli sends a status note", scope=DEAL)
    memory.remember("the HsmBox sits in Zurich", scope=DEAL)
    return Agent(asked, memory.keys.create("bot", agent="bot", identity=Identity()).token)


@pytest.mark.parametrize("path", ["/v1/recall", "/v1/context"])
def test_a_word_of_a_hidden_memory_is_answered_like_a_word_of_none(agent: Agent, path: str) -> None:
    answers = []
    for word in ("Globex", "Initech"):
        got = agent.post(path, query=f"Hooli {word}")
        assert got.status == 200, got.body
        answers.append(json.dumps(got.json).replace(word, ""))
    assert answers[0] == answers[1]


def test_a_trace_is_empty_whether_something_was_found_or_not(agent: Agent) -> None:
    for word in ("Globex", "Initech", "Hooli"):
        assert agent.post("/v1/recall", query=word).json["trace"] == {"stages": []}
        assert agent.post("/v1/xray", query=word).json["filters"] == []


def test_why_names_no_hidden_memory(memory: Clew, agent: Agent) -> None:
    hidden, _status, near = sorted(memory.list(scope=DEAL), key=lambda found: found.created_at)
    got = agent.post("/v1/why", query="the merger with Globex needs", expect=near.id)
    assert got.status == 200 and got.json["id"] == near.id, got.body
    assert hidden.id not in got.body.decode()


def test_stats_count_what_may_be_read(agent: Agent) -> None:
    assert agent.get("/v1/stats").json["memories"] == 2

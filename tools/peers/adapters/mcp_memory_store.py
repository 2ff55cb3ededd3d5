"""The MCP reference memory server: a knowledge graph in one JSON Lines file, searched for a piece of text.

Each unit is an entity with one observation. search_nodes looks for the query as it stands, so a whole question
finds what contains that whole question. The variant `words` is a caller of ours: one call for each word that is
not a stop word, entities ranked by the inverse of how many each word found.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections import defaultdict
from collections.abc import Sequence

from mcp_client import McpClient, ToolFailed, text_of
from units import Unit

from adapters import Place, Store

ENTRY = "node_modules/@modelcontextprotocol/server-memory/dist/index.js"
STOP = frozenset(
    """
    a about after all also an and any are as at be because been before being between both but by can could
    did do does doing during each for from further had has have having he her here hers him his how i if in
    into is it its just me more most my no nor not now of off on once only or other our out over own same
    she should so some such than that the their them then there these they this those through to too under
    until up very was we were what when where which while who whom why will with would you your
    """.split()
)


class McpMemoryStore(Store):
    batch = 500  # 10,000 in one call ended the server

    def __init__(self, place: Place) -> None:
        node = shutil.which("node")
        if node is None:
            raise ToolFailed("node is not installed")
        environment = os.environ | {"MEMORY_FILE_PATH": str(place.folder / "memory.jsonl")}
        command = [node, str(place.environment / ENTRY)]
        self._client = McpClient(command, environment=environment, log=place.folder / "server.log")
        self._by_words = place.variant == "words"

    def add_many(self, units: Sequence[Unit]) -> None:
        entities = [{"name": unit.id, "entityType": "memory", "observations": [unit.labelled]} for unit in units]
        self._client.call("create_entities", {"entities": entities})

    def search(self, question: str, k: int) -> list[str]:
        if not self._by_words:
            return self._found(question)[:k]
        scores: dict[str, float] = defaultdict(float)
        for word in sorted(set(re.findall(r"[a-z0-9']+", question.lower())) - STOP):
            found = self._found(word)
            for name in found:
                scores[name] += 1 / len(found)
        return sorted(scores, key=lambda name: -scores[name])[:k]

    def _found(self, query: str) -> list[str]:
        answer = json.loads(text_of(self._client.call("search_nodes", {"query": query})))
        return [entity["name"] for entity in answer["entities"]]

    def processes(self) -> list[int]:
        return [self._client.pid]

    def close(self) -> None:
        self._client.close()


def open_store(place: Place) -> Store:
    return McpMemoryStore(place)

"""basic-memory: one Markdown note per unit, its own index, text search through its MCP server.

Many notes come in as files and one `reindex`, which is its way for bulk; a few through write_note. Semantic search
is off: its embedding models come from a hub.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

from mcp_client import McpClient, ToolFailed, text_of
from units import Unit

from adapters import Place, Store

FEW = 5
PROJECT = "main"


class BasicMemoryStore(Store):
    batch = 450  # each `reindex` starts a process and walks all notes, so few large ones

    def __init__(self, place: Place) -> None:
        self._program = str(place.environment / "bin" / "basic-memory")
        self._notes, self._folder = place.folder / "notes", place.folder
        self._notes.mkdir()
        self._client: McpClient | None = None
        self._files: dict[str, str] = {}  # unit by the name of its note
        self._environment = os.environ | {
            "BASIC_MEMORY_CONFIG_DIR": str(place.folder / "config"),
            "BASIC_MEMORY_HOME": str(self._notes),
            "BASIC_MEMORY_SEMANTIC_SEARCH_ENABLED": "false",
            "BASIC_MEMORY_INDEX_CHANGES": "false",
            "BASIC_MEMORY_AUTO_UPDATE": "false",
            "BASIC_MEMORY_NO_PROMOS": "1",
        }

    def add_many(self, units: Sequence[Unit]) -> None:
        names = [self._name(unit) for unit in units]
        if len(units) <= FEW:
            for name, unit in zip(names, units, strict=True):
                self._asked().call(
                    "write_note",
                    {"title": name, "content": unit.labelled, "directory": "bench", "project": PROJECT},
                )
            return
        for name, unit in zip(names, units, strict=True):
            head = f"---\ntitle: {name}\ntype: note\npermalink: bench/{name}\n---\n\n"
            target = self._notes / "bench" / f"{name}.md"
            target.parent.mkdir(exist_ok=True)
            target.write_text(head + unit.labelled + "\n", encoding="utf-8")
        self._reindex()

    def settle(self) -> None:
        self._asked()

    def search(self, question: str, k: int) -> list[str]:
        asked = {"query": question, "project": PROJECT, "page_size": k, "search_type": "text"}
        answer = json.loads(text_of(self._asked().call("search_notes", asked | {"output_format": "json"})))
        names = (Path(str(row.get("permalink") or row.get("file_path"))).stem for row in answer["results"])
        return list(dict.fromkeys(self._files[name] for name in names if name in self._files))[:k]

    def processes(self) -> list[int]:
        return [self._client.pid] if self._client else []

    def close(self) -> None:
        if self._client:
            self._client.close()
            self._client = None

    def _name(self, unit: Unit) -> str:
        name = "unit-" + re.sub(r"[^a-z0-9]+", "-", unit.id.lower())
        self._files[name] = unit.id
        return name

    def _asked(self) -> McpClient:
        """The server starts when it is needed, after the notes of a bulk have been indexed."""
        if self._client is None:
            command = [self._program, "mcp"]
            log = self._folder / "server.log"
            self._client = McpClient(command, environment=self._environment, log=log)
        return self._client

    def _reindex(self) -> None:
        self.close()
        done = subprocess.run(
            [self._program, "reindex", "--search"],
            env=self._environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise ToolFailed(
                f"reindex ended with status {done.returncode}: {done.stdout[-200:]}{done.stderr[-200:]}"
            )


def open_store(place: Place) -> Store:
    return BasicMemoryStore(place)

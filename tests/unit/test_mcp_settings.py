"""The setting of answers over MCP changes something."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from clew import Identity
from clew.surfaces.http.request import Request
from clew.surfaces.mcp.answers import tokens
from clew.surfaces.mcp.route import answer
from toys import open_toy

ASKED = (
    b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call",'
    b' "params": {"name": "memory_recall", "arguments": {"query": "long story"}}}'
)
HEADERS = [(b"accept", b"application/json"), (b"content-type", b"application/json")]


async def nobody_leaves() -> dict[str, Any]:
    await asyncio.Event().wait()
    return {}


def test_serve_answer_tokens_is_live(tmp_path: Path) -> None:
    sizes = []
    for number, wanted in enumerate((300, 900)):
        with open_toy(tmp_path / f"{number}.db", serve={"answer_tokens": wanted}) as memory:
            memory.remember("a long story " * 500)
            request = Request({"method": "POST", "path": "/mcp", "query_string": b"", "headers": HEADERS})
            told = asyncio.run(answer(memory, Identity(), request, ASKED, nobody_leaves)).body.decode()
        sizes.append(tokens(told) / wanted)
    assert all(1.2 < size < 2.6 for size in sizes), sizes  # the answer is there twice: as text, and for programs

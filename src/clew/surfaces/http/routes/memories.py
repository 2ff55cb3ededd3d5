"""Memories over HTTP."""

from __future__ import annotations

from typing import Any

from clew.surfaces.http.route import Call, InScope, Route


def show(call: Call) -> Any:
    memory = call.clew.show(call.path["id"], identity=call.identity)
    return memory.as_json()


ROUTES = (
    Route("GET", "/v1/memories/{id}", "memories.show", "One memory.", show, answer=dict[str, Any], query=InScope),
)

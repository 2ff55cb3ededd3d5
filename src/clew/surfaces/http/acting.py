"""An agent that uses somebody's credential says so: then what it says is trusted as an agent's.

The header can only take trust away. The name counts for whoever runs this Clew, who may set up several agents with
rights of their own; anybody else is the agent `mcp`, so that no name is a right.
"""

from __future__ import annotations

from dataclasses import replace

from clew.surfaces.http.request import Request
from clew.surfaces.http.route import Credential

HEADER = "clew-agent"
UNNAMED = "mcp"
_MAX_CHARS = 120


def acting(credential: Credential, request: Request) -> Credential:
    name = request.headers.get(HEADER, "").strip()
    if not name or credential.identity.agent:
        return credential
    agent = name[:_MAX_CHARS] if credential.is_local else UNNAMED
    return replace(credential, identity=replace(credential.identity, agent=agent))

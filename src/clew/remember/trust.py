"""How far a memory may be trusted, by where it came from and never by what it says."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType

# From lowest to highest. `untrusted`: the web, foreign MCP servers. `tool`: local tools and imported files.
# `agent`: what an agent or a teammate concluded. `user`: what the user said. The system has no level of
# its own: what it derives is as good as what it was derived from.
TRUSTS = ("untrusted", "tool", "agent", "user")
_RANK = {trust: rank for rank, trust in enumerate(TRUSTS)}

# A bare `tool_output` is untrusted: unless the origin says `local`, it may have been fetched from anywhere.
TRUST_OF_ORIGIN: Mapping[str, str] = MappingProxyType(
    {
        "user": "user",
        "user_prompt": "user",
        "user_explicit": "user",
        "agent": "agent",
        "agent_inference": "agent",
        "teammate": "agent",
        "observed": "agent",  # our own rules wrote it about a local tool call; nobody may claim it (`observe.py`)
        "tool": "tool",
        "tool_output:local": "tool",
        "import": "tool",
        "tool_output": "untrusted",
        "web": "untrusted",
        "mcp": "untrusted",
    }
)


def trust_of_origin(origin: str) -> str:
    """Return the trust of first-hand text, by its whole origin or by what stands before the colon."""
    by_family = TRUST_OF_ORIGIN.get(origin.partition(":")[0], TRUSTS[0])
    return TRUST_OF_ORIGIN.get(origin, by_family)


def trust_of(own: str, parents: Iterable[str]) -> str:
    """Return the lowest of a memory's own trust and that of everything it was derived from.

    So text from the web stays untrusted through any number of summaries and merges. A level that this version
    does not know counts as untrusted.
    """
    return TRUSTS[min(_RANK.get(trust, 0) for trust in (own, *parents))]

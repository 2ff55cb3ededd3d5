"""A text for an agent -> what its host accepts on stdout. Pure. Nothing to say is printed as nothing."""

from __future__ import annotations

import json

from clew.hosts.table import HOSTS

SPARE_CHARS = 400  # below what a host shows in full, for what may be said around the block


def rendered(host: str, event: str, text: str | None) -> str:
    """One JSON object that holds the event's name and the text, and nothing else: a host that meets a field which
    it does not take drops all of it. In ASCII, so that no terminal or locale can break it. A text that does not fit
    is not cut: nothing is printed."""
    if not text or not fits(host, text) or event not in HOSTS[host].shows:
        return ""
    answer = {"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}
    return json.dumps(answer, ensure_ascii=True, separators=(",", ":"))


def fits(host: str, text: str) -> bool:
    """Hosts count UTF-16 units: what lies beyond the first plane counts twice."""
    return len(text) + sum(char > "\uffff" for char in text) <= HOSTS[host].max_chars


def budget_tokens(host: str) -> int:
    """So many tokens of a block always fit."""
    return (HOSTS[host].max_chars - SPARE_CHARS) // 4

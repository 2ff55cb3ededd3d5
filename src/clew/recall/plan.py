"""How much to recall for a prompt, when nobody said: not at all, a little, fully, or through the graph.

In: the prompt and a few settings. Out: a `Plan` with its reason. Pure, and English only: a prompt in another
language is recalled fully, unless it is empty. The rules are those of engram.md 6, first match wins.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Literal, get_args

from clew.errors import InvalidInput
from clew.values import dataclass

Mode = Literal["no_recall", "minimal", "full", "graph_mode"]
MODES: tuple[Mode, ...] = get_args(Mode)
AUTO = "auto"  # a caller's word for: plan it

MAX_QUERY_CHARS = 4_000  # no regular expression sees more
_ACKNOWLEDGEMENT_CHARS = 18
_COMMAND_CHARS = 100

RECALL_OFF = "graph recall disabled by config"
WRITE_OFF = "multi-graph memory disabled by config"

# INVARIANT: every pattern is a list of fixed words with runs of white space between them, so that matching
# takes time linear in the text.
_GRAPH_CUE = r"\b(?:timeline|sequence|history|what\s+happened|chain\s+of\s+events|root\s+cause)\b"
_BROAD_INTENT = (
    r"\b(?:what\s+changed|how\s+did\s+we\s+get\s+here|why\s+did\s+this\s+happen|what\s+led\s+to"
    r"|(?:cause|dependency|regression|failure)\s+chain)\b"
)
# The source strips what is not A-Z or 0-9 from the end; letters of other scripts are kept here, or "ok, 为什么?"
# would pass for an "ok".
_ACKNOWLEDGEMENT = (
    r"(?:ok|okay|kk|thanks|thx|got\s+it|sounds\s+good|yep|yes|nope|no|done|cool|works)[\W_]*"  # matched in full
)
_MEMORY_CUE = (
    r"previous|earlier|remember|last\s+time|did\s+we|what\s+did\s+we\s+decide|context|summarize|summary|recap"
    r"|key\s+points|decision"
)
_COMMAND = r"(?:check|reload|restart|run|verify|show|status|sync|update|open|close|set|enable|disable|fix|patch)\b"


@dataclass(frozen=True, slots=True)
class Plan:
    """`reason` says why the effective mode is not the planned one. `limit` is what the effective mode allows."""

    planned: Mode
    effective: Mode
    reason: str | None
    broad_intent: bool
    limit: int


def plan(
    prompt: str | None,
    *,
    planner: bool,
    broad_intent: bool,
    graph_recall: bool,
    graph_write: bool,
    limit: int,
    minimal_limit: int,
    mode: str | None = None,
) -> Plan:
    """A mode that the caller names overrides everything, the two switches of the graph included."""
    if named := _named_mode(mode):
        return Plan(named, named, None, False, _limit_of(named, limit, minimal_limit))
    is_broad = planner and broad_intent and has_broad_graph_intent(prompt)
    planned = _planned(prompt, planner=planner, is_broad=is_broad)
    off = _why_no_graph(graph_recall=graph_recall, graph_write=graph_write)
    reason = off if planned == "graph_mode" else None
    effective: Mode = "full" if reason else planned
    return Plan(planned, effective, reason, is_broad, _limit_of(effective, limit, minimal_limit))


def plan_mode(prompt: str | None) -> Mode:
    """The mode a prompt asks for by its words alone. Order matters: a graph cue beats all but emptiness."""
    text = _text(prompt)
    if not text:
        return "no_recall"
    if _finds(_GRAPH_CUE, text):
        return "graph_mode"
    if _is_acknowledgement(text):
        return "no_recall"
    # The source also tests for a leading what, why, how, ...: no such prompt begins with a command, so it is
    # full in any case.
    if _finds(_MEMORY_CUE, text) or text.endswith("?"):
        return "full"
    return "minimal" if _is_command(text) else "full"


def has_broad_graph_intent(prompt: str | None) -> bool:
    """Does the prompt ask how things came about, in words that are not a graph cue?"""
    return _finds(_BROAD_INTENT, _text(prompt))


def _named_mode(mode: str | None) -> Mode | None:
    if mode is None or mode == AUTO:
        return None
    for known in MODES:
        if mode == known:
            return known
    raise InvalidInput(
        f"there is no recall mode {mode[:40]!r}",
        code="MODE_UNKNOWN",
        next=f"choose one of {', '.join((AUTO, *MODES))}",
    )


def _planned(prompt: str | None, *, planner: bool, is_broad: bool) -> Mode:
    if not planner:
        return "full"
    return "graph_mode" if is_broad else plan_mode(prompt)


def _why_no_graph(*, graph_recall: bool, graph_write: bool) -> str | None:
    if not graph_recall:
        return RECALL_OFF
    return None if graph_write else WRITE_OFF


def _limit_of(mode: Mode, limit: int, minimal_limit: int) -> int:
    if mode == "no_recall":
        return 0
    return min(limit, minimal_limit) if mode == "minimal" else limit


def _text(prompt: str | None) -> str:
    """Trimmed before it is cut: leading blanks must not push the words out."""
    return prompt.strip()[:MAX_QUERY_CHARS] if isinstance(prompt, str) else ""


def _finds(pattern: str, text: str) -> bool:
    return re.search(pattern, text, re.IGNORECASE) is not None


def _is_acknowledgement(text: str) -> bool:
    short = len(text) <= _ACKNOWLEDGEMENT_CHARS
    return short and re.fullmatch(_ACKNOWLEDGEMENT, text, re.IGNORECASE) is not None


def _is_command(text: str) -> bool:
    return len(text) <= _COMMAND_CHARS and re.match(_COMMAND, text, re.IGNORECASE) is not None


# -- what a query is about, for snapshots (engram.md 6.4) ------------------------------------------------

UNKNOWN = "unknown"
# In this order: the first that matches names the goal, or the action.
_GOALS = {
    "stabilize": "debug fix error incident outage failure",
    "release": "deploy release ship publish",
    "plan": "plan roadmap strategy design",
    "review": "review audit security hardening",
    "close_deal": "sales deal customer client prospect",
}
_ACTIONS = {
    "review": "review audit inspect check",
    "plan": "plan design brainstorm spec",
    "execute": "implement build code patch fix",
    "summarize": "summarize recap what_happened timeline",
    "decide": "decide decision choose",
}
# The reference names these five without their words; the words are ours.
_ENTITY_TYPES = {
    "repo": "repo repository branch commit merge pr pull_request codebase git",
    "ops": "server gateway cluster deploy deployment incident outage monitoring cron pipeline ci",
    "client": "client customer prospect account",
    "ai": "ai agent llm model prompt embedding",
    "docs": "doc documentation readme changelog guide wiki",
}
_TASK_INITIATION = r"\b(?:ship|deploy|open\s+(?:an?\s+|the\s+)?pr|run\s+(?:the\s+)?tests|let['’]?s|need\s+to)\b"


@dataclass(frozen=True, slots=True)
class Intent:
    """`task_initiation`: the query sets out to do something rather than to know it."""

    goal: str = UNKNOWN
    action: str = UNKNOWN
    entity_types: tuple[str, ...] = ()
    task_initiation: bool = False


def infer_intent(query: str | None) -> Intent:
    text = _text(query)
    goals = [name for name, words in _GOALS.items() if _finds(_any_of(words), text)]
    actions = [name for name, words in _ACTIONS.items() if _finds(_any_of(words), text)]
    return Intent(
        goal=goals[0] if goals else UNKNOWN,
        action=actions[0] if actions else UNKNOWN,
        entity_types=tuple(name for name, words in _ENTITY_TYPES.items() if _finds(_any_of(words), text)),
        task_initiation=_finds(_TASK_INITIATION, text),
    )


@cache
def _any_of(words: str) -> str:
    """Whole words, with the plain endings of English: 'errors' and 'deployed', but not 'special' for 'spec'."""
    phrases = "|".join(words.split()).replace("_", r"\s+")
    return rf"\b(?:{phrases})(?:e?s|e?d|ing)?\b"

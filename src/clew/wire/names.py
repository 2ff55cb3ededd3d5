"""Where the types are that verbs take and return, so that a client imports only those of the verb it calls.

Many modules know such types for their annotations only; whoever decodes needs the classes themselves.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import is_dataclass
from functools import cache
from importlib import import_module
from types import SimpleNamespace
from typing import Any, get_args, get_type_hints

_HOMES: Mapping[str, tuple[str, ...]] = {
    "collections.abc": ("Collection", "Iterable", "Iterator", "Mapping", "Sequence"),
    "datetime": ("datetime",),
    "typing": ("Any", "TextIO"),
    "os": ("PathLike",),
    "pathlib": ("Path",),
    "clew.guard.added": ("InForce",),
    "clew.guard.engine": ("Problem",),
    "clew.learn.feedback": ("FeedbackReport",),
    "clew.learn.fingerprint": ("TechStackFingerprint",),
    "clew.model.access": ("AddedPolicy",),
    "clew.model.audit": ("AuditEntry", "AuditHead", "ChainReport"),
    "clew.model.config": (
        "AgentRights", "GateDecision", "MatrixRow", "MatrixShown", "OrgFeatures", "ProjectConfig", "ProjectShown",
        "RecallSettings",
    ),
    "clew.model.conflict": ("Dispute", "Merge"),
    "clew.model.explored": ("Explored", "Facts", "FoundPath", "GraphStatus", "Neighborhood", "Trouble"),
    "clew.model.govern": ("RetentionPolicy",),
    "clew.model.host": ("HookFired",),
    "clew.model.inject": ("Block", "ContextInjectionLog", "InjectionResult", "VerbEvent"),
    "clew.model.job": ("BackfillState", "Job", "JobHealth", "Ran"),
    "clew.model.key": ("ApiKey", "NewKey"),
    "clew.model.learning": ("Diagnostics", "Learnt"),
    "clew.model.listed": ("GraphChanges", "GraphListed"),
    "clew.model.llm": ("Spent",),
    "clew.model.memory": ("Draft", "Filter", "Memory", "Remembered", "Version"),
    "clew.model.org": ("Member", "Org", "Routed", "Routing"),
    "clew.model.quarantine": ("Quarantined",),
    "clew.model.recalled": ("InConflict", "Recalled", "RecallOptions", "Result", "Why"),
    "clew.model.replay": ("Replay",),
    "clew.model.report": ("WorkReport",),
    "clew.model.reports": ("FeedbackImpact", "Pareto"),
    "clew.model.rollout": ("RequestCounts",),
    "clew.model.scope": ("Identity", "Scope"),
    "clew.model.session": ("AgentSession", "Beat", "Delivery", "Enqueued", "Inject", "InjectDraft"),
    "clew.model.start": ("Held", "InjectReport"),
    "clew.model.upkeep": ("Check", "Stats"),
    "clew.recall.context": ("Context",),
    "clew.recall.snapshot": ("Snapshot",),
    "clew.recall.why": ("Explanation",),
    "clew.recall.xray": ("Xray",),
    "clew.relate.alike": ("Suggestion",),
    "clew.relate.conflicts": ("Resolved",),
    "clew.relate.corroborate": ("Corroboration",),
    "clew.relate.decay": ("DecayReport",),
    "clew.relate.job_report": ("JobReport",),
    "clew.relate.merge": ("Merged",),
    "clew.relate.retention": ("RetentionReport",),
    "clew.relate.unmerge": ("Undone",),
    "clew.remember.forget": ("Preview", "Receipt"),
    "clew.remember.link": ("Linked",),
    "clew.model.tool_call": ("ToolCall",),
    "clew.rollout.measure": ("Measured",),
    "clew.rollout.payload": ("Metrics", "RolloutShown", "StatusShown", "Traced"),
    "clew.rollout.plan": ("Plan",),
    "clew.rollout.summary": ("Summary",),
    "clew.verbs.govern": ("TransferStatus",),
}  # fmt: skip
_WORD = re.compile(r"[A-Za-z_]\w*")
# Values whose modules import the types of their fields for annotations only, or hold such values.
_LATE = frozenset(("Context", "Explanation", "Xray", "Metrics", "RolloutShown", "StatusShown", "Traced"))


@cache
def home_of(name: str) -> str | None:
    return next((module for module, names in _HOMES.items() if name in names), None)


@cache
def named(name: str) -> Any:
    found = getattr(import_module(home_of(name) or "builtins"), name)
    if name in _LATE:
        _settle(found)
    return found


@cache
def type_of(expression: str) -> Any:
    """The type that an expression such as `list[Memory]` names."""
    names = {word: named(word) for word in _WORD.findall(expression) if word not in ("None", "dict")}
    return get_type_hints(SimpleNamespace(__annotations__={"it": expression}), names)["it"]


def everything() -> dict[str, Any]:
    """Every name there is: what annotations of verbs are read with where verbs are run."""
    return {name: named(name) for names in _HOMES.values() for name in names}


def _settle(kind: type[Any]) -> None:
    """Give a value and all it holds the types of their fields themselves instead of names for them."""
    if not _has_names(kind):
        return
    module = vars(sys.modules[kind.__module__])
    words = {word for text in kind.__annotations__.values() for word in _WORD.findall(str(text))}
    missing = {word: named(word) for word in words if word not in module and home_of(word)}
    kind.__annotations__ = get_type_hints(kind, {**missing, **module})
    for part in _parts(kind.__annotations__.values()):
        _settle(part)


def _has_names(kind: type[Any]) -> bool:
    return any(isinstance(one, str) for one in kind.__annotations__.values())


def _parts(hints: Any) -> Iterator[type[Any]]:
    for hint in hints:
        if isinstance(hint, type) and is_dataclass(hint):
            yield hint
        yield from _parts(get_args(hint))

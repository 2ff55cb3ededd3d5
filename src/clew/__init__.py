"""Clew: memory for coding agents.

import clew

with clew.open("memories.db") as memory:
    memory.remember("We chose PostgreSQL because of row-level security.", type="decision")
    for result in memory.recall("why PostgreSQL?").results:
        print(result.relevance, result.memory.content)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import os

    from clew.asynchronous import AsyncClew, open_async
    from clew.clew import Clew
    from clew.errors import (
        ClewError,
        Conflict,
        Denied,
        InvalidInput,
        Misconfigured,
        NotFound,
        StoreRefused,
        Unavailable,
    )
    from clew.model.inject import InjectionResult, VerbEvent
    from clew.model.memory import Draft, Filter, Memory, Remembered, Version
    from clew.model.recalled import Recalled, RecallOptions, Result, Trace, Why
    from clew.model.scope import Identity, Scope
    from clew.model.tool_call import ToolCall

__version__ = "0.1.0"

__all__ = [
    "AsyncClew", "Clew", "ClewError", "Conflict", "Denied", "Draft", "Filter", "Identity", "InjectionResult",
    "InvalidInput", "Memory", "Misconfigured", "NotFound", "RecallOptions", "Recalled", "Remembered", "Result",
    "Scope", "StoreRefused", "ToolCall", "Trace", "Unavailable", "VerbEvent", "Version", "Why", "open",
    "open_async",
]  # fmt: skip


def open(
    url: str | os.PathLike[str] | None = None,
    *,
    token: str | None = None,
    home: str | os.PathLike[str] | None = None,
    **settings: Any,
) -> Clew:
    """Open a store, creating it when there is none. Without a URL: clew.db under CLEW_HOME.

    `https://host` and `unix:///path/clew.sock` are a Clew that answers elsewhere, to a `token` (or CLEW_TOKEN).
    Settings are given by section, as in `clew.open(recall={"limit": 5})`.
    """
    from clew.compose import open_clew

    return open_clew(url, home=home, overrides=settings, token=token)


_HOMES = {
    "clew.asynchronous": ("AsyncClew", "open_async"),
    "clew.clew": ("Clew",),
    "clew.errors": (
        "ClewError", "Conflict", "Denied", "InvalidInput", "Misconfigured", "NotFound", "StoreRefused",
        "Unavailable",
    ),
    "clew.model.inject": ("InjectionResult", "VerbEvent"),
    "clew.model.memory": ("Draft", "Filter", "Memory", "Remembered", "Version"),
    "clew.model.recalled": ("RecallOptions", "Recalled", "Result", "Trace", "Why"),
    "clew.model.scope": ("Identity", "Scope"),
    "clew.model.tool_call": ("ToolCall",),
}  # fmt: skip


def __getattr__(name: str) -> Any:
    """Names arrive when first asked for: nobody who only wants help should wait for numpy or dataclasses."""
    for module, names in _HOMES.items():
        if name in names:
            return globals().setdefault(name, getattr(import_module(module), name))
    raise AttributeError(f"module 'clew' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Also the names that did not arrive yet, for whoever looks around in a shell."""
    return sorted({*globals(), *__all__})

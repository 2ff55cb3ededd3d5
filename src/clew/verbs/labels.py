"""Why a memory has its label, for whoever tells it. Pure."""

from __future__ import annotations

from clew.model.memory import Memory
from clew.remember.classify import Demand, demanded


def why_labelled(memory: Memory) -> Demand | None:
    """What its text and its paths ask for above the default; None where that is nothing."""
    text = f"{memory.title}\n{memory.content}" if memory.title else memory.content
    return demanded(text, paths=memory.paths)

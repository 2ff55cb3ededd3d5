"""What is said of a label that nobody asked for: why it is so, what it means, what to do where words mislead."""

from __future__ import annotations

from collections.abc import Iterator

from clew.model.memory import CLASSIFICATIONS, Memory, Remembered
from clew.verbs.labels import why_labelled

_MEANS = {
    "restricted": "it is not injected",
    "confidential": "it is not taken over into other projects",
}


def of_new(stored: Remembered, asked: str | None) -> Iterator[str]:
    """Of what was remembered, unless its label is what was asked for, or what was masked says it all."""
    is_told = stored.quarantined or stored.masked or stored.memory.classification == asked
    if stored.label_because and not is_told:
        yield _labelled(stored.memory, stored.label_because)


def of_edited(before: Memory, now: Memory, asked: str | None) -> Iterator[str]:
    """Of what was edited: the label that could not be lowered, or that the new text raised."""
    why = why_labelled(now)
    if asked in CLASSIFICATIONS and now.classification != asked:
        held = why.why if why and why.is_held else "only whoever configures the org may lower a label"
        yield f"it stays {now.classification}: {held}"
    elif why and asked is None and now.classification == why.tier != before.classification:
        yield _labelled(now, why.why)


def _labelled(memory: Memory, because: str) -> str:
    told = f"labelled {memory.classification} because {because}: {_MEANS[memory.classification]}"
    why = why_labelled(memory)
    if why and why.is_held:
        return told
    return f"{told}; if it holds no such data: clew edit {memory.id} --classification internal"

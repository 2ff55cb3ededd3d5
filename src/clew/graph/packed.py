"""Spreading activation by the compiled part, over arrays, in the personalised refinement.

`activation.py` says what it does. Both add up in the same order, so they find the same to the last bit; a test
compares them.
"""

from __future__ import annotations

from functools import partial
from struct import Struct
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from clew import native
from clew.graph.activation import MAX_ASKED, Chain, Last, Spread
from clew.graph.pagerank import TOLERANCE
from clew.graph.refine import DAMPED, FLOW, MAX_REFINED

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from clew.graph.adjacency import Nodes
    from clew.graph.settings import Activation

_LAST, _STEP = Struct("ddqqq"), Struct("qdq")
_MOST = 2**31 - 1  # of anything that is counted


class Arrays(NamedTuple):
    """All entries of a graph, as `ENTRY` in recall/arrays.py, those of a node side by side."""

    entries: NDArray[np.void]
    starts: Nodes  # by the number of the node
    numbers: NDArray[np.int32]  # by node; its last place is for all others
    memories: NDArray[np.int32]  # by node, below the count for the memories alone
    memory_count: int


class Changes(NamedTuple):
    """What came after the arrays were made."""

    changed: set[int]  # nodes with other entries by now
    patched: dict[int, NDArray[np.void]]  # their entries, as far as somebody read them
    new_nodes: dict[int, str]  # memories
    first_end: int  # no entry of the arrays ends before
    now: int


class _Packed(Spread):
    """What the compiled part tells of the ways: the last entry of each, and every step before."""

    def __init__(
        self, types: Sequence[str], nodes: list[int], scores: list[float], lasts: bytes, steps: bytes
    ) -> None:
        super().__init__(nodes, scores, types)
        self._lasts, self._steps = lasts, steps

    def _last(self, at: int) -> Last:
        return Last(*_LAST.unpack_from(self._lasts, at * _LAST.size))

    def _chain(self, number: int) -> Chain:
        path: tuple[int, ...] = ()
        confidences: tuple[float, ...] = ()
        while number >= 0:
            node, confidence, number = _STEP.unpack_from(self._steps, number * _STEP.size)
            path = (node, *path)
            confidences = (confidence, *confidences) if number >= 0 else confidences
        return path, confidences


def can_spread(settings: Activation) -> bool:
    return native.compiled is not None and settings.refinement == "personalised"


def spread_packed(
    arrays: Arrays,
    changes: Changes,
    seeds: dict[int, float],
    settings: Activation,
    types: Callable[[], Sequence[str]],
    read: Callable[[set[int]], None],
) -> Spread | None:
    """As `spread_from`, to memories alone. `read` puts the entries of nodes that changed among the patched, and may
    meet types that were not there before."""
    assert native.compiled is not None
    ask = partial(native.compiled.spread, arrays, changes, seeds, _told(settings))
    found = ask()
    while isinstance(found, list):
        read(set(found))
        found = ask()
    return None if found is None else _Packed(types(), *found)


def _told(settings: Activation) -> tuple[Any, ...]:
    return (
        min(settings.max_steps, _MOST),
        settings.decay,
        settings.confidence_floor,
        min(settings.iterations, _MOST),
        settings.beta or 0.0,
        min(settings.top_m, _MOST),
        _MOST if settings.fan_out is None else min(settings.fan_out, _MOST),
        _MOST if settings.max_expanded is None else min(settings.max_expanded, _MOST),
        MAX_REFINED,
        MAX_ASKED,
        FLOW,
        TOLERANCE,
        DAMPED,
    )

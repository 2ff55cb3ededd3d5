"""How sure an edge is that nobody states again: it fades by the window, never below a floor. Pure.

Engram's rules. Fading subtracts a fixed amount per whole window and moves the anchor by whole windows, not to now,
so running it twice, or seldom, or often, gives the same.
"""

from __future__ import annotations

import math
from datetime import datetime, timedelta

from clew.graph.settings import clamp_confidence, clamp_unit

WINDOW = timedelta(days=90)
PER_WINDOW = 0.1
FLOOR = 0.1


def decay(
    confidence: float | None,
    anchor: datetime | None,
    now: datetime,
    window: timedelta = WINDOW,
    per_window: float = PER_WINDOW,
    floor: float = FLOOR,
) -> tuple[float, datetime | None]:
    """The confidence as of now and its new anchor. The anchor is when the edge was last reinforced, or else made.

    Settings that make no sense, or an edge of unknown age, change nothing.
    """
    current = clamp_confidence(confidence)
    makes_sense = window > timedelta(0) and math.isfinite(per_window) and per_window >= 0 and math.isfinite(floor)
    if anchor is None or not makes_sense or now - anchor <= window:
        return current, anchor
    windows = -((window - (now - anchor)) // window)  # rounded up; the first window is free
    least = min(clamp_unit(floor), current)  # an edge that is already below the floor stays where it is
    return max(least, current - per_window * windows), anchor + windows * window

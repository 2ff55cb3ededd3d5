"""Directories under the home, for their owner alone, whoever makes them first."""

from __future__ import annotations

from pathlib import Path


def make_private(home: Path, folder: Path) -> None:
    """The home and every directory from there down to `folder`. Python gives the mode to the last one only."""
    above = [place for place in reversed(folder.parents) if place.is_relative_to(home)]
    for place in (*above, folder):
        place.mkdir(mode=0o700, parents=place == home, exist_ok=True)

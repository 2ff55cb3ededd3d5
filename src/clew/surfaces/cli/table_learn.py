"""Commands about outcomes and what they taught, as data."""

from __future__ import annotations

from clew.surfaces.cli.command import Command

LEARN: tuple[Command, ...] = ()

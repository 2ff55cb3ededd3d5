"""Commands about policies and quarantine, as data."""

from __future__ import annotations

from clew.surfaces.cli.command import Command

GUARD: tuple[Command, ...] = ()

"""Commands about injection and its switches, as data."""

from __future__ import annotations

from clew.surfaces.cli.command import Command

INJECT: tuple[Command, ...] = ()

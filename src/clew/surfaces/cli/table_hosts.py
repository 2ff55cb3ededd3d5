"""Commands about hooks of agents, as data."""

from __future__ import annotations

from clew.surfaces.cli.command import Command

HOSTS: tuple[Command, ...] = ()

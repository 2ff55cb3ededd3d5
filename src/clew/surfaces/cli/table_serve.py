"""Commands about the server, MCP and keys, as data."""

from __future__ import annotations

from clew.surfaces.cli.command import Command

SERVE: tuple[Command, ...] = ()

"""Commands about transfer, retention and the audit log, as data."""

from __future__ import annotations

from clew.surfaces.cli.command import Command

GOVERN: tuple[Command, ...] = ()

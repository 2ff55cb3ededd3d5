"""Commands about sessions and their queue, as data."""

from __future__ import annotations

from clew.surfaces.cli.command import Command

SESSIONS: tuple[Command, ...] = ()

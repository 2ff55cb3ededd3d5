"""Commands about hooks of agents, as data."""

from __future__ import annotations

from clew.surfaces.cli.arguments import DRY_RUN, arg
from clew.surfaces.cli.command import Command

HOST_NAMES = ("claude-code", "codex")
SCOPES = ("user", "project")
_HOST = arg("host", metavar="HOST", choices=HOST_NAMES, suggest=HOST_NAMES, help=" or ".join(HOST_NAMES))
_SCOPE = arg("--scope", metavar="S", choices=SCOPES, suggest=SCOPES, default="user",
             help="user: for all your projects; project: for this one (user)")  # fmt: skip

HOSTS: tuple[Command, ...] = (
    Command(
        "install", "let an agent's host call Clew: adds its hooks to the host's configuration", "install:install",
        (_HOST, _SCOPE, DRY_RUN),
        epilog="only entries of Clew are added or changed, a copy of the file is kept, and running it again "
               "changes nothing\nexample: clew install claude-code --dry-run",
    ),
    Command(
        "uninstall", "take the hooks out of a host's configuration again", "install:uninstall",
        (_HOST, _SCOPE, DRY_RUN),
    ),
    Command(
        "hook", "what a host runs for each event: tell the event on stdin, print the answer", "hook:hook",
        (arg("host", metavar="HOST", suggest=HOST_NAMES, help="whose event it is, such as claude-code"),),
        epilog="always exits with 0, and within a second; without a daemon the event waits in the spool",
    ),
    Command("off", "let hooks bring and keep nothing in this directory and below", "install:off"),
    Command("on", "let hooks work in this directory again", "install:on"),
)  # fmt: skip

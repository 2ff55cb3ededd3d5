"""Commands about policies and quarantine, as data."""

from __future__ import annotations

from clew.surfaces.cli.arguments import FILES, arg, count, switch
from clew.surfaces.cli.command import Command

_POLICY_ORG = arg("--org", metavar="O", help="the org it is for (default: yours); '*' is all of them")
_POLICY_FILE = arg("file", metavar="FILE", suggest=FILES, help="Cedar policies; '-' reads them from stdin")
_POLICY_NAME = arg("--name", metavar="N", help="what to call them (default: the name of the file)")
POLICY = Command(
    "policy", "who may read, write, inject: the policies in force",
    children=(
        Command(
            "check", "tell what is wrong with a file of policies, and where", "policy:check",
            (_POLICY_FILE, _POLICY_NAME, _POLICY_ORG),
        ),
        Command(
            "load", "put policies in force, beside the shipped ones", "policy:load",
            (_POLICY_FILE, _POLICY_NAME, _POLICY_ORG),
            epilog="a file that is not valid is refused, and what was in force stays",
        ),
        Command(
            "show", "what is in force", "policy:show",
            (switch("--shipped", "print the policies that come with Clew"), _POLICY_ORG),
        ),
        Command(
            "drop", "take policies that were loaded out of force", "policy:drop",
            (arg("name", metavar="NAME", help="the name they were loaded under"), _POLICY_ORG),
        ),
        Command(
            "agent", "look at what an agent may do, or change it", "policy:agent",
            (
                arg("name", metavar="AGENT", help="the agent"),
                arg("--clearance", metavar="N", type=int,
                    help="the highest label it may read: 0 public, 1 internal, 2 confidential, 3 restricted"),
                switch("--suspend", "let it do nothing"),
                switch("--resume", "let it go on"),
                switch("--read-only", "let it write and learn nothing"),
                switch("--read-write", "let it write and learn"),
            ),
        ),
    ),
)  # fmt: skip

_HELD_ID = arg("id", metavar="ID", help="its id, as clew quarantine list shows it")
QUARANTINE = Command(
    "quarantine", "text that looks like an attack on its readers, kept apart until someone judges it",
    children=(
        Command(
            "list", "what is kept apart, newest first", "quarantine:list_held",
            (
                arg("--project", metavar="P", help="only what belongs to this project"),
                arg("--limit", metavar="N", type=count, default=50, help="how many at most (50)"),
                arg("--cursor", metavar="ID", help="go on after this one"),
            ),
        ),
        Command("show", "show one in full, and why it is there", "quarantine:show", (_HELD_ID,)),
        Command(
            "release", "remember it after all", "quarantine:release", (_HELD_ID,),
            epilog="it is trusted as far as its origin is: released text from the web is recalled, never injected",
        ),
        Command("drop", "remove it for good", "quarantine:drop", (_HELD_ID,)),
    ),
)  # fmt: skip

GUARD: tuple[Command, ...] = (POLICY, QUARANTINE)

"""Commands about conflicts and near-duplicates, as data."""

from __future__ import annotations

from clew.surfaces.cli.arguments import DRY_RUN, ID_SCOPE, arg, count, switch
from clew.surfaces.cli.command import Command

_CONFLICT = arg("id", metavar="ID", help="the conflict's id, or its beginning: clew conflicts lists them")
_LIMIT = arg("--limit", metavar="N", type=count, default=20, help="how many at most (20)")

RELATE: tuple[Command, ...] = (
    Command(
        "conflicts", "memories that cannot both be current, and how to settle it", "relate:conflicts",
        (switch("--all", "also those that were resolved, or ended by themselves"), *ID_SCOPE, _LIMIT),
        children=(
            Command("show", "one conflict, with both texts in full", "relate:conflict", (_CONFLICT, *ID_SCOPE)),
            Command(
                "resolve", "say which of the two memories holds", "relate:resolve",
                (
                    _CONFLICT,
                    arg("--keep", metavar="WHICH", required=True, suggest=("A", "B", "both", "neither"),
                        help="A, B, both, neither, or the id of the memory to keep"),
                    *ID_SCOPE,
                ),
                epilog="A or B: the other memory is replaced by it. both: they go together, as long as neither "
                       "text changes. neither: both end now.\nnothing is deleted: clew revert ID N brings a memory "
                       "back, and the answer names the command",
            ),
        ),
        epilog="a conflict is found after a write (by rules, or by a language model if one is configured), or made "
               "by you: clew link A contradicts B. It ends by itself when one of the two is edited, replaced or "
               "forgotten. Until then both are recalled, and the answer says that they are in conflict.\n"
               "example: clew conflicts resolve con_01h8x --keep B",
    ),
    Command(
        "merge", "make memories that say the same one", "relate:merge",
        (
            arg("keep", metavar="KEEP", nargs="?", help="the memory to keep"),
            arg("others", metavar="OTHER", nargs="*", help="those that it stands for from now on"),
            switch("--suggest", "list groups of near-duplicates, and what would be kept"),
            DRY_RUN,
            switch("--list", "what was merged, newest first"),
            arg("--undo", metavar="RUN", help="take a merge back"),
            *ID_SCOPE, _LIMIT,
        ),
        epilog="the others are replaced by the one to keep, which takes over their tags, paths and key; its text, "
               "trust and weight stay its own. Nothing is deleted: the answer names the command that undoes it",
    ),
)  # fmt: skip

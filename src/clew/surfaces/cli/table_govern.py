"""Commands about transfer, retention and the audit log, as data."""

from __future__ import annotations

from clew.surfaces.cli.arguments import CLASSIFICATIONS, DRY_RUN, FILES, TYPES, arg, count, switch
from clew.surfaces.cli.command import Command

_PROJECTS = (
    arg("source", metavar="SRC", help="the project whose memories are shown"),
    arg("dest", metavar="DST", help="the project in which they are shown"),
)
_TRANSFER = (
    Command(
        "fingerprint", "read what a project is built with from its manifests", "govern:fingerprint",
        (
            arg("directory", metavar="DIR", nargs="?", default=".", suggest=FILES, help="where to look (here)"),
            arg("--project", metavar="P", help="the project it is (default: the present one)"),
            switch("--no-project", "none; then there is nothing to compare"),
        ),
        epilog="looks at package.json, go.mod, pyproject.toml, Cargo.toml, requirements.txt and Gemfile, in the "
               "directory and one level below; nothing is executed",
    ),
    Command("list", "what is granted, and whether it brings anything over", "govern:transfers"),
)  # fmt: skip
_AUDIT = (
    Command(
        "verify", "check that nobody changed, dropped or cut off entries (exit 1)", "govern:audit_verify",
        (arg("--head", metavar="SEQ:HASH", help="what clew audit head printed earlier, kept elsewhere"),),
    ),
    Command(
        "list", "who did what, newest first", "govern:audit_list",
        (
            arg("--limit", metavar="N", type=count, default=50, help="how many (50)"),
            arg("--since", metavar="TIME", help="only from then on"),
            arg("--action", metavar="A", help="only this, such as remember, edit, forget or denied"),
        ),
    ),
    Command("head", "the last entry, to keep where nobody can change it", "govern:audit_head"),
)  # fmt: skip
_RETENTION = (
    Command("list", "how long what is kept", "govern:retention_list"),
    Command(
        "set", "keep something for so many days", "govern:retention_set",
        (
            arg("days", metavar="DAYS", type=float, help="how many days after it was stored"),
            arg("--project", metavar="P", help="only this project (default: all)"),
            arg("--classification", metavar="C", suggest=CLASSIFICATIONS,
                help=f"only one of {', '.join(CLASSIFICATIONS)}"),
            arg("--type", metavar="T", suggest=TYPES, help=f"only one of {', '.join(TYPES)}"),
            switch("--hard", "erase it then; without, it can be brought back for 30 days more"),
        ),
        epilog="of several that cover a memory the most specific one counts; example: "
               "clew retention set 365 --classification confidential --hard",
    ),
    Command(
        "drop", "take a policy back", "govern:retention_drop",
        (arg("id", metavar="ID", help="the policy's id: clew retention list"),),
    ),
    Command(
        "run", "apply the policies now; it also happens by itself, once a day", "govern:retention_run", (DRY_RUN,)
    ),
)  # fmt: skip

GOVERN: tuple[Command, ...] = (
    Command(
        "grant", "allow something between projects",
        children=(
            Command(
                "transfer", "let memories of one project be shown in another that is built alike", "govern:grant",
                (*_PROJECTS, switch("--revoke", "take it back")),
            ),
        ),
    ),
    Command("transfer", "memories of one project for another", children=_TRANSFER),
    Command("retention", "how long memories are kept", children=_RETENTION),
    Command("audit", "who did what, each entry sealed by the next", children=_AUDIT),
)  # fmt: skip

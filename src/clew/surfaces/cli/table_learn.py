"""Commands about outcomes and what they taught, as data."""

from __future__ import annotations

from clew.surfaces.cli.arguments import ID_SCOPE, arg
from clew.surfaces.cli.command import Command

OUTCOMES = ("accepted", "rework", "rejected")
VERDICTS = ("up", "outdated", "wrong")
KINDS = ("work", "impact", "pareto")
REPORT_FORMATS = ("text", "json", "csv")

LEARN: tuple[Command, ...] = (
    Command(
        "feedback", "say how a session came out, or what a memory is worth", "learn:feedback",
        (
            arg("words", metavar="WORD", nargs="+", suggest=(*OUTCOMES, *VERDICTS),
                help=f"a session and one of {', '.join(OUTCOMES)}; with --memory one of {', '.join(VERDICTS)}"),
            arg("--memory", metavar="ID", help="the memory this is about, instead of a session"),
            arg("--corrected-by", metavar="ID", help="the memory that is right instead of this one"),
            *ID_SCOPE,
        ),
        epilog="another outcome of the same session replaces the one before\n"
               "example: clew feedback ses_01h8x accepted\nexample: clew feedback --memory mem_01h8x outdated",
    ),
    Command(
        "learn", "what was learnt",
        children=(
            Command(
                "show", "how the weight of a memory came about", "learn:show",
                (arg("id", metavar="ID", help="the memory's id, or a unique beginning of it"), *ID_SCOPE),
            ),
            Command(
                "session", "how a session went: what failed, what helped, what misled", "learn:session",
                (arg("id", metavar="SESSION", help="the session's id"),),
            ),
        ),
    ),
    Command(
        "report", "what Clew did, what weights change in what is injected, what context costs and brings",
        "learn:report",
        (
            arg("--kind", metavar="K", choices=KINDS, suggest=KINDS, default="work",
                help=f"{', '.join(KINDS)} (work)"),
            arg("--since", metavar="TIME", default="7d", help="from when on (7d)"),
            arg("--until", metavar="TIME", help="until when (default: now)"),
            arg("--project", metavar="P", help="only this project (default: all)"),
            arg("--format", metavar="F", choices=REPORT_FORMATS, suggest=REPORT_FORMATS, default="text",
                help=f"{', '.join(REPORT_FORMATS)} (text)"),
        ),
        epilog="example: clew report --kind pareto --since 30d --format csv > pareto.csv",
    ),
)  # fmt: skip

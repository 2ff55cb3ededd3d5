"""Commands about the rollout of graph recall, as data."""

from __future__ import annotations

from clew.surfaces.cli.arguments import SCOPE, arg, count, number, switch
from clew.surfaces.cli.command import Command

MODES = ("off", "shadow", "canary")
STRATEGIES = ("hybrid_graph", "baseline")
LAYERS = ("all", "working", "long_term", "rules_only")

_ROLLOUT = (
    Command(
        "show", "the mode, what was measured, whether the quality gate blocks, what to do next", "rollout:show"
    ),
    Command("plan", "what stands between the graph and the next stage", "rollout:plan"),
    Command(
        "set", "use the graph (canary), only compare (shadow), or leave it alone (off)", "rollout:set_mode",
        (arg("mode", metavar="MODE", suggest=MODES, help=", ".join(MODES)),),
        epilog="a canary that the quality gate would block at once is refused; the reasons: clew rollout show",
    ),
    Command(
        "default", "what a context that names no strategy gets", "rollout:set_default",
        (arg("strategy", metavar="STRATEGY", suggest=STRATEGIES, help=" or ".join(STRATEGIES)),),
        epilog="rollout.strategy_autopilot moves it on measurements; set that to false to keep what you choose",
    ),
    Command(
        "metrics", "how requests were answered", "rollout:metrics",
        (arg("--since", metavar="TIME", default="1d", help="only from then on, 30 days at most (1d)"),),
    ),
    Command(
        "replay", "ask recorded queries without the graph and with it: does it help?", "replay:replay",
        (
            arg("--since", metavar="TIME", default="30d", help="queries from when on (30d)"),
            arg("--project", metavar="P", help="only queries of this project (default: every project)"),
            arg("--limit", metavar="N", type=count, default=200, help="queries at most, the newest first (200)"),
            arg("--top", metavar="K", type=count,
                help="compare the first K of each answer (default: as many as were considered then)"),
        ),
        epilog="on today's store; nothing is written and nothing is counted. Whether it helped is known where "
               "sessions have an outcome or memories a verdict: clew feedback",
    ),
)  # fmt: skip

ROLLOUT: tuple[Command, ...] = (
    Command("rollout", "how far recall through the graph is rolled out", children=_ROLLOUT),
    Command(
        "trace", "lay open what a question gets with the graph, and why", "rollout:trace",
        (
            arg("query", metavar="QUERY", help="what you want to know; '-' reads it from stdin"),
            *SCOPE,
            arg("--strategy", metavar="S", suggest=STRATEGIES, default=STRATEGIES[0],
                help=f"{' or '.join(STRATEGIES)} (default: {STRATEGIES[0]})"),
            arg("--depth", metavar="N", type=number, help="edges between a result and what is added, 0 to 2 (1)"),
            arg("--graph-limit", metavar="N", type=count, help="memories that the graph adds at most, 1 to 50 (8)"),
            arg("--limit", metavar="N", type=count, default=10, help="memories without the graph, up to 50 (10)"),
            arg("--mode", metavar="M", suggest=LAYERS, default="all", help=f"{', '.join(LAYERS)} (default: all)"),
            switch("--no-rules", "leave the rules out"),
        ),
        epilog="example: clew trace 'why do logins fail?' --project shop",
    ),
)  # fmt: skip

"""`clew bench` and what it can measure, as data. Each child is the module of its name under `clew.bench`."""

from __future__ import annotations

from clew.surfaces.cli.arguments import FILES, arg, count, counts, number, switch
from clew.surfaces.cli.command import Command


def names(text: str) -> list[str]:
    """Names with commas between them."""
    found = [part.strip() for part in text.split(",")]
    if not all(found):
        raise ValueError(text)
    return found


def name(text: str) -> str:
    """One name."""
    [found] = names(text)
    return found


_DATA = arg("files", metavar="FILE", nargs="+", suggest=FILES, help="JSON lines, also .gz")

BENCH: tuple[Command, ...] = (
    Command(
        "bench", "measure speed, the graph, the queue, the injector, the rollout or recall",
        children=(
            Command(
                "speed", "latency and throughput on stores of several sizes", "setup:bench",
                (
                    arg("--sizes", metavar="N,N", type=counts,
                        help="memories per store, 5,000 of them in the project that is asked "
                        "(1000,10000,100000); 1000000 is possible and takes its time"),
                    arg("--url", metavar="URL",
                        help="compare with PostgreSQL: postgresql:// of an empty database, as its owner; "
                        "or 'postgres' for a throw-away server, if its development package is installed"),
                    switch("--quick", "fewer rounds"),
                    arg("--plot", metavar="FILE.svg", suggest=FILES, help="draw the growth"),
                ),
            ),
            Command(
                "graph", "what a walk through the graph costs as the graph grows", "setup:bench",
                (
                    arg("--edges", metavar="N,N", type=counts, default="100000,1000000",
                        help="edges per graph, about (100000,1000000)"),
                    arg("--asks", metavar="N", type=count, default=300, help="questions per graph (300)"),
                ),
            ),
            Command(
                "queue", "how many injects are claimed and acknowledged, and how fast", "setup:bench",
                (switch("--quick", "fewer cycles"),),
            ),
            Command(
                "inject", "what a tool call waits for the injector", "setup:bench",
                (
                    arg("--memories", metavar="N", type=count, default=100_000, help="in the store (100000)"),
                    arg("--in-project", metavar="N", type=count, default=5_000,
                        help="of these in the project that is asked (5000)"),
                    arg("--calls", metavar="N", type=count, default=1_000, help="tool calls (1000)"),
                ),
            ),
            Command(
                "rollout", "a week of requests with a fault in the graph, and what the gate does", "setup:bench",
                (
                    arg("--requests", metavar="N", type=count, default=20_000, help="in the week (20000)"),
                    arg("--plot", metavar="FILE.svg", suggest=FILES, help="draw the week"),
                ),
            ),
            Command(
                "recall", "ranking quality on files of questions with known answers", "setup:bench",
                (
                    _DATA,
                    arg("--embedder", metavar="NAME", type=name, suggest=("static", "minilm", "endpoint", "none"),
                        help="another model than the configured one"),
                    switch("--no-graph", "neither write nor use the graph"),
                    switch("--relate", "do the jobs that the writes leave behind before asking"),
                    switch("--ablations", "also ask with less: words alone, vectors alone, both, and then with one "
                           "means more each time; the weights were learnt for all means together, so that "
                           "a step on the way may be worse than the one before"),
                    arg("--rankings", metavar="OUT.jsonl", suggest=FILES,
                        help="write the rankings; with --ablations those of the last step"),
                    arg("--baseline", metavar="FILE.jsonl", suggest=FILES,
                        help="compare with rankings that were written before"),
                    arg("--categories", metavar="NAME,NAME", type=names,
                        help="also the plain mean over these categories"),
                    arg("--limit-questions", metavar="N", type=count, help="only the first N of each corpus"),
                ),
                epilog="below each figure stand the ends of its 95 % bootstrap interval over questions. Gains are "
                       "paired; one counts when the lower end of its interval is above zero, and is worse when the "
                       "upper end is below",
            ),
            Command(
                "learn", "learn how much each feature of a candidate counts in recall", "setup:bench",
                (
                    _DATA,
                    arg("--out", metavar="FILE.json", required=True, suggest=FILES, help="where the weights go"),
                    arg("--leave-out", metavar="NAME,NAME", type=names, help="categories not to learn from"),
                    arg("--embedder", metavar="NAME,NAME", type=names, suggest=("static", "minilm", "endpoint"),
                        help="other models than the configured one; one set of weights is learnt for all"),
                    arg("--limit-questions", metavar="N", type=count, help="only the first N of each corpus"),
                ),
            ),
            Command(
                "perturb", "copy files of questions, with other names for people and other years", "setup:bench",
                (
                    _DATA,
                    arg("--out", metavar="DIR", required=True, suggest=FILES, help="where the copies go"),
                    arg("--seed", metavar="N", type=number, default=1, help="other names for another number (1)"),
                    arg("--roles", action="store_true", help="agents whose role is the author get a name, too"),
                ),
                epilog="example: clew bench perturb talks.jsonl.gz --out copies, then clew bench recall on both; "
                       "what was tuned to names or dates is worse on the copy",
            ),
        ),
    ),
)  # fmt: skip

"""Commands about jobs, as data."""

from __future__ import annotations

from clew.surfaces.cli.arguments import arg, count, seconds, switch
from clew.surfaces.cli.command import Command

STATES = ("queued", "leased", "dead")
_ID = "the job's id, or that of its memory, or a unique beginning of at least 8 characters"
_BACKFILL = (
    Command("status", "how far it is, what remains and how long that takes", "jobs:backfill_status"),
    Command(
        "run", "make the missing vectors now", "jobs:backfill_run",
        epilog="what is done is kept: stopped at any point, it goes on from there",
    ),
    Command("pause", "make no more, in any process, until it is resumed", "jobs:backfill_pause"),
    Command("resume", "go on after a pause", "jobs:backfill_resume"),
)  # fmt: skip

JOBS: tuple[Command, ...] = (
    Command(
        "jobs", "what writes left to be done: vectors, likeness, contradictions, relations",
        children=(
            Command(
                "list", "jobs that wait, are worked on or were given up", "jobs:list_jobs",
                (
                    arg("--state", metavar="S", suggest=STATES, help=f"only one of {', '.join(STATES)}"),
                    arg("--limit", metavar="N", type=count, default=20, help="how many, up to 1000 (20)"),
                    arg("--cursor", metavar="ID", help="continue after the job of this memory"),
                ),
            ),
            Command(
                "explain", "what happened to a job, what is next, and what to do", "jobs:explain",
                (arg("id", metavar="ID", help=_ID),),
            ),
            Command(
                "retry", "try again what was given up or done only in part", "jobs:retry",
                (
                    arg("id", metavar="ID", nargs="?", help=_ID),
                    switch("--all", "every one of them"),
                    switch("--everything", "every live memory of the org, also what was done"),
                ),
                epilog="example: clew jobs retry --all. --everything is for memories from before there were jobs, "
                "or once a language model is switched on: it is asked about each",
            ),
            Command(
                "run", "do jobs, and wait for more until Ctrl-C", "jobs:run",
                (
                    switch("--once", "stop when nothing is due"),
                    arg("--limit", metavar="N", type=count, help="stop after so many, or when nothing is due"),
                    arg("--seconds", metavar="S", type=seconds, help="stop after so many seconds"),
                ),
                epilog="with --once or --limit it does not wait for what is not due yet, with --seconds no longer",
            ),
            Command("health", "backlog, age of the oldest, failures, last success", "jobs:health"),
            Command(
                "spend", "what language models were asked, and what it cost", "llm:spend",
                (arg("--since", metavar="TIME", default="7d", help="from which day on (7d)"),),
            ),
            Command("backfill", "vectors that are missing, as after a switch of model", children=_BACKFILL),
        ),
    ),
)  # fmt: skip

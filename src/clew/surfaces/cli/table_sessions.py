"""Sessions and their queue as commands."""

from __future__ import annotations

from clew.surfaces.cli.arguments import SCOPE, arg, count, number
from clew.surfaces.cli.command import Command

# Spelled out: the table must not import the core, or every start would pay for it. A test compares.
SESSION_STATES = ("queued", "running", "finalizing", "completed", "failed", "stopped")
INJECT_STATES = ("pending", "delivered", "acked", "dead", "cancelled")
OUTCOMES = ("accepted", "rework", "rejected")
RECEIPTS = ("consumed", "recorded", "confirmed")
WORK_TYPES = ("bug_fix", "feature", "refactor", "chore")

ID = arg("id", metavar="ID", help="the session's id")
SESSION = arg("session", metavar="SESSION", help="the session's id")
WORKER = arg("--worker", metavar="W", required=True, help="the name of the worker")
TOKEN = arg("--token", metavar="N", type=number, required=True, help="the fencing token that its claim returned")
_DEAD = arg("--dead", metavar="D=REASON", action="append", default=[],
            help="a delivery that cannot be given to the agent, and why; may be repeated")  # fmt: skip

SESSIONS = (
    Command(
        "session", "one agent run: start, claim, keep alive, end",
        children=(
            Command(
                "start", "create a session with its work item", "sessions:start",
                (
                    *SCOPE,
                    arg("--work-type", metavar="W", suggest=WORK_TYPES,
                        help=f"{', '.join(WORK_TYPES)}, or your own"),
                    arg("--issue", metavar="KEY", help="the issue, such as PROJ-123"),
                    arg("--title", metavar="TEXT", help="the issue's title"),
                    arg("--description", metavar="TEXT", help="the issue's description; '-' reads it from stdin"),
                    arg("--issue-id", metavar="UUID", help="the tracker's own id of the issue"),
                    arg("--agent", metavar="A", default="agent",
                        help="the agent (agent); '' for a stage without one"),
                ),
                epilog="example: clew session start --work-type bug_fix --issue SHOP-7 --title 'Checkout hangs'",
            ),
            Command(
                "claim", "make a worker the holder of a session", "sessions:claim",
                (ID, WORKER, arg("--provider-session", metavar="S", help="the agent's own name for the session")),
            ),
            Command(
                "refresh", "one beat: keep the lock, report deliveries, get at most one inject", "sessions:refresh",
                (
                    ID, WORKER, TOKEN,
                    arg("--acked", metavar="D", action="append", default=[],
                        help="a delivery that the agent has; may be repeated"),
                    _DEAD,
                    arg("--held", metavar="D", help="the delivery that waits for the end of the agent's turn"),
                ),
            ),
            Command(
                "end", "end a session", "sessions:end",
                (
                    ID,
                    arg("--outcome", metavar="O", suggest=OUTCOMES,
                        help=f"{', '.join(OUTCOMES)}; without one nothing is learnt until: clew feedback"),
                    arg("--state", metavar="S", suggest=SESSION_STATES[3:], default="completed",
                        help=f"{', '.join(SESSION_STATES[3:])} (completed)"),
                    arg("--worker", metavar="W", help="only if this worker still holds it"),
                    arg("--token", metavar="N", type=number, help="the worker's fencing token"),
                    arg("--summary", metavar="TEXT", help="what was done; '-' reads it from stdin"),
                    arg("--file", dest="modified", metavar="PATH", action="append", default=[],
                        help="a file that was changed; may be repeated"),
                    arg("--error", metavar="TEXT", action="append", default=[],
                        help="an error that was met; may be repeated"),
                ),
            ),
            Command("stop", "ask the worker of a session to stop", "sessions:stop", (ID,)),
            Command("show", "show a session", "sessions:show", (ID,)),
            Command(
                "list", "list sessions, newest first", "sessions:list_sessions",
                (
                    arg("--project", metavar="P", help="only of this project"),
                    arg("--state", metavar="STATE", choices=SESSION_STATES, suggest=SESSION_STATES,
                        help=f"only {', '.join(SESSION_STATES)}"),
                    arg("--limit", metavar="N", type=count, default=20, help="how many (20)"),
                ),
            ),
        ),
    ),
    Command(
        "queue", "what waits to be handed to the agent of a session",
        children=(
            Command(
                "enqueue", "put a text on the queue; the same text is there once", "sessions:enqueue",
                (
                    SESSION,
                    arg("text", metavar="TEXT", help="the text; '-' reads it from stdin"),
                    arg("--kind", metavar="K", suggest=("memory", "user"), default="memory",
                        help="memory, which the project can switch off, or user (memory)"),
                    arg("--memory", metavar="ID", action="append", default=[],
                        help="a memory it quotes: without it, it is not delivered; may be repeated"),
                ),
            ),
            Command(
                "list", "list a session's injects, first in first", "sessions:list_injects",
                (
                    SESSION,
                    arg("--state", metavar="STATE", choices=INJECT_STATES, suggest=INJECT_STATES,
                        help=f"only {', '.join(INJECT_STATES)}"),
                ),
            ),
            Command("claim", "get what is next for the agent", "sessions:claim_inject", (SESSION, WORKER, TOKEN)),
            Command(
                "ack", "say that the agent has a delivery", "sessions:ack",
                (
                    SESSION,
                    arg("delivery", metavar="DELIVERY", help="the delivery's id"),
                    WORKER, TOKEN,
                    arg("--receipt", metavar="R", suggest=RECEIPTS, default="consumed",
                        help=f"how sure: {', '.join(RECEIPTS)} (consumed)"),
                ),
            ),
            Command(
                "dead", "list what was given up, and why", "sessions:dead",
                (arg("--limit", metavar="N", type=count, default=20, help="how many (20)"),),
            ),
        ),
    ),
)  # fmt: skip

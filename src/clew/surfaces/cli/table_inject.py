"""Commands about injection, its switches and the orgs, as data."""

from __future__ import annotations

from clew.surfaces.cli.arguments import DRY_RUN, arg, count, number, switch
from clew.surfaces.cli.command import Command

ON_OFF = ("on", "off")
PROJECT_SWITCHES = ("memory", "graph", "runtime-inject")
WORK_TYPES = ("bug_fix", "feature", "refactor", "chore")
ROLES = ("owner", "admin", "member", "reviewer")
SESSION = arg("session", metavar="SESSION", help="the session's id")
_PROJECT = arg("name", metavar="P", help="the project")
_ORG = arg("--org", metavar="O", help="the org (default: the row for all orgs)")


INJECT_START = Command(
    "start", "the block for the start of a claimed session: computed, logged, queued", "inject:start",
    (SESSION, DRY_RUN),
    epilog="with --dry-run nothing is logged or queued, and the session need not be claimed",
)  # fmt: skip
INJECT_EVENT = Command(
    "event", "one tool call, as JSON on stdin: what is worth saying about it is queued", "inject_event:event",
    (SESSION,),
    epilog="inject.latency_ms limits the look at the event, not the start of the process before it\n"
    'example: echo \'{"v": 1, "phase": "pre", "tool": "Edit", "paths": ["src/pay.py"]}\' | '
    "clew inject event SESSION",
)  # fmt: skip
INJECT_LOG = Command(
    "log", "what was computed for a session, oldest first, and how far it got", "inject:log", (SESSION,),
    epilog="as JSON, delivered says that it was handed to the agent, state what became of it in the queue "
    "(clew queue list SESSION), and denied_ids what policies withheld",
)  # fmt: skip

PROJECT = Command(
    "project", "what a project has switched on, and which repository goes on as which",
    children=(
        Command("list", "every project and its switches", "config_store:project_list"),
        Command("show", "one project, and why each gate is as it is", "config_store:project_show", (_PROJECT,)),
        Command(
            "set", "switch a project's memory, graph or injection", "config_store:project_set",
            (
                _PROJECT,
                arg("switch", metavar="SWITCH", choices=PROJECT_SWITCHES, suggest=PROJECT_SWITCHES,
                    help=", ".join(PROJECT_SWITCHES)),
                arg("value", metavar="on|off", choices=ON_OFF, suggest=ON_OFF, help="on or off"),
            ),
            epilog="example: clew project set shop runtime-inject off",
        ),
        Command(
            "alias", "let a repository whose name has changed go on as the project it was, on this machine",
            "project_alias:alias",
            (
                arg("name", metavar="NAME", nargs="?", help="what its remote says, such as github.com/acme/site"),
                arg("project", metavar="PROJECT", nargs="?", help="what it was, such as github.com/acme/web"),
                switch("--remove", "the name stands for itself again"),
            ),
            epilog="without a name: list them. It holds for every clone of that remote here, for commands, agents "
            "and hooks; a project that is named (--project, .clew.toml) is that one.\n"
            "example: clew project alias github.com/acme/site github.com/acme/web",
        ),
    ),
)  # fmt: skip

MATRIX = Command(
    "matrix", "what each work type gets: budgets, and whether the graph",
    children=(
        Command(
            "show", "every work type, and where each value comes from", "config_store:matrix_show",
            (arg("--org", metavar="O", help="as this org has it (default: yours)"),),
        ),
        Command(
            "set", "change what a work type gets; for operators", "config_store:matrix_set",
            (
                arg("work_type", metavar="WORK_TYPE", suggest=WORK_TYPES, help="such as bug_fix"),
                _ORG,
                arg("--graph", metavar="on|off", choices=ON_OFF, suggest=ON_OFF, help="with facts of the graph"),
                arg("--budget", metavar="N", type=number, help="tokens of observations"),
                arg("--graph-budget", metavar="N", type=number, help="tokens of facts"),
                arg("--top-k", metavar="N", type=count, help="memories from which the graph is entered"),
                arg("--depth", metavar="N", type=number, help="hops through the graph, up to 8"),
            ),
            epilog="example: clew matrix set chore --graph on --org acme",
        ),
    ),
)  # fmt: skip

_OF_USER = arg("--user", metavar="U", help="whose work it is, for operators (default: yours)")
ORG = Command(
    "org", "the orgs here, who is in them, and which one work belongs to",
    children=(
        Command("list", "every org", "config_store:org_list"),
        Command(
            "features", "what an org's plan grants and how it ranks; with options, change it",
            "config_store:org_features",
            (
                arg("name", metavar="ORG", nargs="?", help="the org (default: yours)"),
                arg("--kg", metavar="on|off", choices=ON_OFF, suggest=ON_OFF,
                    help="grant the graph to every project; for operators"),
                arg("--weighting", metavar="on|off", choices=ON_OFF, suggest=ON_OFF,
                    help="let what outcomes taught order what is injected"),
            ),
        ),
        Command(
            "create", "a new org; for operators", "orgs:create",
            (
                arg("name", metavar="NAME", help="what people call it"),
                arg("--slug", metavar="S", help="the owner on github.com whose projects lead to it (the name)"),
                arg("--id", metavar="ID", help="its id, if it has memories already (default: the slug)"),
                arg("--owner", metavar="U", help="the user who owns it (default: you)"),
            ),
            epilog="example: clew org create 'Acme Platform' --slug acme --owner ann",
        ),
        Command(
            "members", "who is in an org; with options, change it; for its owners and admins", "orgs:members",
            (
                arg("org", metavar="ORG", help="its id or slug"),
                arg("--add", metavar="U", help="add this user, or give it another role"),
                arg("--role", metavar="ROLE", choices=ROLES, suggest=ROLES, help=f"{', '.join(ROLES)} (member)"),
                arg("--remove", metavar="U", help="remove this user; '' is the owner of this machine"),
            ),
        ),
        Command(
            "map", "which org the repositories of an owner belong to; without an owner, list it", "orgs:map_owner",
            (
                arg("owner", metavar="OWNER", nargs="?", help="on github.com, such as acme"),
                arg("org", metavar="ORG", nargs="?", help="an org you are in"),
                switch("--remove", "map the owner no longer"),
                _OF_USER,
            ),
            epilog="example: clew org map acme-platform acme",
        ),
        Command(
            "route", "which org a project belongs to, and why", "orgs:route",
            (arg("project", metavar="PROJECT", help="such as github.com/acme/shop"), _OF_USER),
        ),
        Command(
            "use", "choose the active org; without one, show how work is routed", "orgs:use",
            (
                arg("org", metavar="ORG", nargs="?", help="an org you are in, or your personal one"),
                switch("--auto", "route by the owner of the project; the active org is for work without one"),
                _OF_USER,
            ),
        ),
    ),
)  # fmt: skip

INJECT: tuple[Command, ...] = (
    Command("inject", "blocks for a session", children=(INJECT_START, INJECT_EVENT, INJECT_LOG)),
    PROJECT,
    MATRIX,
    ORG,
)

"""Every command, in the order of the help: name, what it does, which function runs it, its arguments."""

from __future__ import annotations

from clew.surfaces.cli.arguments import (
    DRY_RUN,
    FIELDS,
    FILES,
    FILTER,
    FORMATS,
    ID_SCOPE,
    LIMIT,
    NEW_FIELDS,
    PLAN,
    PROVENANCE,
    RECALL,
    SCOPE,
    USER,
    YES,
    arg,
    count,
    switch,
)
from clew.surfaces.cli.bench import BENCH
from clew.surfaces.cli.command import Command
from clew.surfaces.cli.table_govern import GOVERN
from clew.surfaces.cli.table_guard import GUARD
from clew.surfaces.cli.table_hosts import HOST_NAMES, HOSTS
from clew.surfaces.cli.table_inject import INJECT
from clew.surfaces.cli.table_jobs import JOBS
from clew.surfaces.cli.table_learn import LEARN
from clew.surfaces.cli.table_relate import RELATE
from clew.surfaces.cli.table_rollout import ROLLOUT
from clew.surfaces.cli.table_serve import SERVE
from clew.surfaces.cli.table_sessions import SESSIONS

_BEGINNING = "or its beginning: at least 8 characters, as many as make it unique"
_STORE = "a path, sqlite:///path or postgresql://user@host/database"
ID = arg("id", metavar="ID", help=f"the memory's id, {_BEGINNING}")
FILE = arg("file", metavar="FILE", suggest=FILES, help="the file")
_FROM = arg("file", metavar="FILE", suggest=FILES, help="the file; '-' reads it from stdin")
_END = "a memory's id, or a thing such as service:redis or src/app.py"
_LINK = (
    arg("source", metavar="A", help=_END),
    arg("relation", metavar="RELATION",
        suggest=("caused_by", "contradicts", "depends_on", "similar_to", "supersedes"),
        help="one word such as depends_on"),
    arg("target", metavar="B", help=_END),
)  # fmt: skip

WRITING = (
    Command(
        "remember", "keep one thing worth knowing", "remember:remember",
        (
            arg("text", metavar="TEXT", help="what to remember; '-' reads it from stdin"),
            *SCOPE, *NEW_FIELDS,
            arg("--origin", metavar="O", help="where it comes from (user)"),
            *PROVENANCE,
            arg("--supersedes", metavar="ID", help="the memory it replaces"),
            arg("--parent", metavar="ID", action="append", help="a memory it derives from; may be repeated"),
        ),
        epilog="example: clew remember 'Our database is PostgreSQL: it has row security' --type decision --tag db",
    ),
    Command(
        "edit", "change a memory; the state before becomes history", "remember:edit",
        (
            ID,
            arg("--content", metavar="TEXT", help="the new text; '-' reads it from stdin"),
            *FIELDS,
            arg("--version", metavar="N", type=count, help="only if this is still its version"),
            *ID_SCOPE,
        ),
        epilog="--tag, --path and --metadata take the place of all that it had; an empty text takes a label away",
    ),
    Command("history", "show every state a memory had", "remember:history", (ID, *ID_SCOPE)),
    Command(
        "revert", "make an earlier state the present one", "remember:revert",
        (
            ID,
            arg("version", metavar="N", type=count, help="the version to go back to; clew history ID lists them"),
            *ID_SCOPE,
        ),
    ),
    Command(
        "forget", "forget one memory, or all that match", "forget:forget",
        (
            arg("id", metavar="ID", nargs="?", help=f"the memory's id, {_BEGINNING}"),
            *SCOPE, *FILTER,
            switch("--all", "everything in this scope"),
            switch("--hard", "leave no trace of the text in the store and in what restores put aside"),
            DRY_RUN, YES,
        ),
        epilog="a soft forget can be undone: clew revert ID N, with a version N that clew history ID lists",
    ),
    Command(
        "link", "connect two memories or things by a relation", "graph_upkeep:link",
        (*_LINK, switch("--unlink", "take it back, like clew unlink"), *ID_SCOPE),
        epilog="example: clew link mem_01h8x depends_on service:redis",
    ),
    Command("unlink", "take back a relation you made", "graph_upkeep:unlink", (*_LINK, *ID_SCOPE)),
)  # fmt: skip

_NODE = "a thing's name (AuthService), a type and a key (topic:dashboard), or a memory's id or its beginning"
GRAPH_SCOPE = (
    arg("--project", metavar="P", help="the project (default: the present one; all of them where there is none)"),
    switch("--no-project", "no project: what all of them share"),
    *USER,
    switch("--all-projects", "in every project"),
)
GRAPH = (
    Command(
        "status", "how much there is, what is pending, what went wrong", "graph:status",
        (
            *ID_SCOPE,
            arg("--limit", metavar="N", type=count, default=10, help="most connected nodes shown, up to 50 (10)"),
        ),
    ),
    Command(
        "neighbors", "what is next to a node, and which memories say so", "graph:neighbors",
        (
            arg("node", metavar="NODE", help=_NODE),
            *GRAPH_SCOPE,
            arg("--limit", metavar="N", type=count, default=20, help="how many edges, up to 100 (20)"),
            arg("--type", metavar="T", help="only edges of this type, such as depends_on"),
            arg("--depth", metavar="N", type=count, default=1, help="how many hops, up to 3 (1)"),
        ),
        epilog="example: clew graph neighbors AuthService --type depends_on",
    ),
    Command(
        "path", "how two nodes hang together", "graph:path",
        (
            arg("start", metavar="A", help=_NODE),
            arg("goal", metavar="B", help="the other node"),
            *GRAPH_SCOPE,
            arg("--max-hops", metavar="N", type=count, default=4, help="how many hops at most, up to 8 (4)"),
        ),
        epilog="example: clew graph path BillingService PostgresDB",
    ),
    Command(
        "explore", "the nodes on which most hangs, or the edges and memories of one", "graph:explore",
        (
            arg("node", metavar="NODE", nargs="?", help=_NODE),
            *GRAPH_SCOPE,
            arg("--limit", metavar="N", type=count, default=20, help="how many, up to 100 (20)"),
        ),
    ),
    Command(
        "triplets", "facts that matter to a question; without one, the surest", "graph:triplets",
        (
            arg("query", metavar="QUERY", nargs="?", help="what you want to know; '-' reads it from stdin"),
            *GRAPH_SCOPE,
            arg("--limit", metavar="N", type=count, default=10, help="how many, up to 100 (10)"),
        ),
        epilog="example: clew graph triplets 'what does AuthService need?'",
    ),
    Command(
        "activate", "run spreading activation over edges and seeds in a file", "graph:activate",
        (arg("file", metavar="CASE.json", suggest=FILES, help="one case or many; '-' reads stdin"),),
    ),
)  # fmt: skip

GRAPH_UPKEEP = (
    Command(
        "decay", "let edges that nothing reinforces lose confidence, as happens by itself now and then",
        "graph_upkeep:decay", (DRY_RUN,),
    ),
    Command(
        "export", "write edges to a file; the memories they speak of go with: clew export",
        "graph_upkeep:export_edges",
        (arg("file", metavar="FILE", suggest=FILES, help="the file; '-' writes to stdout"), *ID_SCOPE),
    ),
    Command(
        "import", "read edges from a file, after the memories they speak of", "graph_upkeep:import_edges",
        (_FROM, *ID_SCOPE, DRY_RUN),
    ),
)  # fmt: skip

READING = (
    Command(
        "recall", "ask what is known, best first", "recall:recall",
        (
            arg("query", metavar="QUERY", help="what you want to know; '-' reads it from stdin"),
            *SCOPE, *RECALL,
            switch("--explain", "tell why each result is there, and what was left out where"),
        ),
        epilog="example: clew recall 'which database do we use?' --explain",
    ),
    Command(
        "why", "tell where an expected memory was lost", "recall:why",
        (
            arg("query", metavar="QUERY", help="what was asked"),
            arg("--expect", metavar="ID", required=True,
                help=f"the id of the memory that should have come, {_BEGINNING}"),
            *SCOPE, *RECALL,
        ),
    ),
    Command(
        "xray", "lay a recall open: scores, ways through the graph, filters, budget", "xray:xray",
        (
            arg("query", metavar="QUERY", help="what was asked; '-' reads it from stdin"),
            *SCOPE,
            arg("--format", metavar="F", suggest=FORMATS, default="text",
                help=f"{', '.join(FORMATS)} (default: text)"),
            arg("--budget", metavar="N", type=count, help="tell which results fit into so many characters"),
            LIMIT, PLAN,
        ),
        epilog="example: clew xray 'what led to the outage?' --plan auto --format markdown",
    ),
    Command(
        "list", "list memories, newest first", "recall:list_memories",
        (
            *SCOPE, *FILTER,
            switch("--deleted", "also what was softly forgotten"),
            switch("--superseded", "also what was replaced"),
            arg("--limit", metavar="N", type=count, default=20, help="how many (20)"),
            arg("--cursor", metavar="ID", help="continue after this id"),
        ),
    ),
    Command("show", "show one memory in full", "recall:show", (ID, *ID_SCOPE)),
    Command(
        "graph", "the knowledge graph",
        children=(
            *GRAPH,
            Command(
                "explain", "what the graph did in the last recall that kept a snapshot", "xray:explain",
                (arg("--limit", metavar="N", type=count, default=10, help="entries shown of each list, up to 50"),),
                epilog="snapshots are kept when the setting graph.snapshot is on",
            ),
            *GRAPH_UPKEEP,
        ),
    ),
)  # fmt: skip

FILES_AND_UPKEEP = (
    Command(
        "export", "write memories to a file", "files:export_memories",
        (
            arg("file", metavar="FILE", suggest=FILES, help="the file; '-' writes to stdout"),
            arg("--project", metavar="P", help="only what belongs to this project, and to no user but --user"),
            switch("--no-project", "only what belongs to no project, and to no user but --user"),
            arg("--user", metavar="U", help="only what belongs to this user, in every project unless one is named"),
            switch("--all-projects", "every project, as without any of these options"),
        ),
        epilog="without options: everything, of all projects and users",
    ),
    Command(
        "import", "read memories from an export, notes or transcripts of agents; running it again continues",
        "files:import_memories",
        (
            _FROM,
            arg("--project", metavar="P", help="put all of them into this project, under new ids where theirs are "
                "taken elsewhere (default: where an export says; for notes such as CLAUDE.md and for transcripts "
                "the present one)"),
            switch("--no-project", "put notes and transcripts into no project"),
            switch("--replace", "forget what an earlier import of the same notes brought and they say no more"),
            *USER,
            DRY_RUN, YES,
        ),
    ),
    Command(
        "backup", "copy the whole store to a file, also while it is in use", "files:backup",
        (FILE, switch("--overwrite", "replace the file if it exists")),
    ),
    Command("restore", "replace the store by a backup", "files:restore", (FILE, YES)),
    Command(
        "copy", "copy a whole store into another, of SQLite or PostgreSQL; running it again continues", "copy:copy",
        (
            arg("source", metavar="FROM", suggest=FILES, help=f"the store to copy: {_STORE}"),
            arg("target", metavar="TO", suggest=FILES, help="where to, of the same kinds: new or empty"),
        ),
        epilog="example: clew copy clew.db postgresql://clew_app@db.example.org/clew",
    ),
    Command("stats", "count what is stored", "upkeep:stats"),
    Command(
        "doctor", "check the store, the settings and the hooks of agents", "upkeep:doctor",
        (
            switch("--probe", "also plant a canary in a session that is played, and see which hooks carry it"),
            arg("--host", metavar="HOST", choices=HOST_NAMES, suggest=HOST_NAMES, default="claude-code",
                help="whose hooks are probed (claude-code)"),
            arg("--session", metavar="ID", help="with --probe: plant it in this session of a host, which runs now"),
            arg("--transcript", metavar="FILE", suggest=FILES, help="with --probe: see which canaries it holds"),
        ),
    ),
    Command("migrate", "bring the store to this version's schema", "upkeep:migrate"),
    Command(
        "reindex", "rebuild the search indices", "upkeep:reindex",
        epilog="jobs then relate every live memory to others anew, without asking a language model",
    ),
)  # fmt: skip

SETUP = (
    Command(
        "init", "create the store and tell what to try next", "setup:init",
        (arg("--project", metavar="NAME", help="name the project in a .clew.toml here, also for hooks"),),
    ),
    Command(
        "config", "look at the settings",
        children=(
            Command(
                "show", "every value, where it came from and what it means", "setup:config_show",
                (arg("path", metavar="PATH", nargs="?", help="one setting or section, such as recall.floor"),),
            ),
        ),
    ),
    Command(
        "model", "prepare a larger embedding model",
        children=(
            Command(
                "prepare", "put a model under CLEW_HOME", "setup:model_prepare",
                (
                    arg("name", metavar="NAME", choices=("minilm",), suggest=("minilm",), help="minilm"),
                    arg("--from", dest="source", metavar="DIR", suggest=FILES,
                        help="a directory with model.onnx, instead of a download"),
                ),
            ),
        ),
    ),
    Command(
        "completion", "print a completion script for your shell", "setup:completion",
        (
            arg("shell", metavar="SHELL", choices=("bash", "zsh", "fish"), suggest=("bash", "zsh", "fish"),
                help="bash, zsh or fish"),
        ),
        epilog="bash: source <(clew completion bash)\nzsh: clew completion zsh > \"${fpath[1]}/_clew\"\n"
               "fish: clew completion fish | source",
    ),
    *BENCH,
)  # fmt: skip

GROUPS: tuple[tuple[str, tuple[Command, ...]], ...] = (
    ("remember", WRITING),
    ("recall", READING),
    ("relate and roll out", (*RELATE, *JOBS, *ROLLOUT)),
    ("serve and plug in", (*SERVE, *HOSTS)),
    ("inject and deliver", (*SESSIONS, *INJECT)),
    ("learn", LEARN),
    ("guard and govern", (*GUARD, *GOVERN)),
    ("look after the store", FILES_AND_UPKEEP),
    ("set up", SETUP),
)
COMMANDS = tuple(command for _title, commands in GROUPS for command in commands)

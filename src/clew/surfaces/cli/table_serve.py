"""Commands about the server, MCP and keys, as data."""

from __future__ import annotations

from clew.surfaces.cli.arguments import PROJECT, arg, count, switch
from clew.surfaces.cli.command import Command

_ROLES = ("owner", "admin", "member", "reviewer", "operator")
_OF_ORG = arg("--org", metavar="ORG", help="its id or slug (default: yours); another's is for operators")
_KEY = Command(
    "key", "keys of the API: who may ask over the network, as whom, until when",
    children=(
        Command(
            "create", "make a key; its token is shown once", "keys:create",
            (
                arg("name", metavar="NAME", help="what uses it, such as ci"),
                _OF_ORG,
                arg("--user", metavar="U", help="the user that it acts as"),
                arg("--agent", metavar="A", help="the agent that it acts as; such a key has no roles"),
                arg("--role", metavar="R", action="append", suggest=_ROLES, help=f"repeat: {', '.join(_ROLES)}"),
                arg("--expires", metavar="TIME", help="when it ends: a time, or from now on such as 90d (never)"),
            ),
            epilog="example: clew key create ci --org acme --role member --user ann --expires 90d",
        ),
        Command(
            "list", "the keys of an org, without their tokens", "keys:list_keys",
            (
                _OF_ORG,
                arg("--limit", metavar="N", type=count, default=50, help="how many, up to 1000 (50)"),
                arg("--cursor", metavar="ID", help="continue after this key"),
            ),
        ),
        Command(
            "revoke", "end a key, at once", "keys:revoke",
            (arg("id", metavar="ID", help="the key's id, such as clew key list shows"), _OF_ORG),
        ),
    ),
)  # fmt: skip
_MCP = Command(
    "mcp", "the tools for agents, over MCP on stdin and stdout", "mcp:serve",
    (*PROJECT, arg("--agent", metavar="A", help="the agent that it acts as, for its rights (mcp)")),
    epilog="started by the agent's host: claude mcp add clew -- clew mcp. With CLEW_URL and CLEW_TOKEN it is about "
    "the memories of that server",
)  # fmt: skip

_LOOPBACK = "127.0.0.1:7433"
_SERVE = Command(
    "serve", "answer over HTTP: on a socket of this home, and elsewhere if asked to", "serve:serve",
    (
        arg("--tcp", metavar="HOST:PORT", nargs="?", const=_LOOPBACK, help=f"on loopback, too ({_LOOPBACK})"),
        arg("--listen", metavar="HOST:PORT", help="on the network, with TLS and keys"),
        arg("--url", metavar="URL", help="the store, such as postgresql://... (store.url, CLEW_URL)"),
        arg("--tls-cert", metavar="FILE", help="the certificate for --listen"),
        arg("--tls-key", metavar="FILE", help="its key"),
        switch("--access-log", "write route, status and time of each request to stderr"),
        switch("--quiet", "say nothing when it answers"),
        switch("--stop", "end the one that runs in this home, when what it does is done"),
    ),
    epilog="one per home: a second one says that the first runs. It ends on SIGTERM as with --stop",
)  # fmt: skip

SERVE: tuple[Command, ...] = (_SERVE, _MCP, _KEY)

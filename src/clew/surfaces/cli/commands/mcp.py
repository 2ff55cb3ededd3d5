"""The tools for agents on stdin and stdout."""

from __future__ import annotations

import sys
from argparse import Namespace
from functools import partial
from importlib.util import find_spec

from clew import Identity, Misconfigured
from clew.surfaces.cli.context import opened, project_name, settings_of
from clew.surfaces.cli.parser import usage


def serve(args: Namespace) -> None:
    if find_spec("mcp") is None:
        raise extra_missing()
    if not (sys.stdin and sys.stdout):
        raise usage("stdin or stdout is closed", "let the client that speaks MCP start it")
    settings, agent = settings_of(args), args.agent or None
    project = project_name(args, settings)
    from clew.surfaces.mcp.held import Held

    with Held(partial(opened, settings, stays=True), agent=agent) as held:
        from clew.surfaces.mcp.stdio import serve_stdio  # the library takes its time: a wrong setting is told first

        serve_stdio(held, Identity(agent=agent), project=project, answer_tokens=settings.serve.answer_tokens)


def extra_missing() -> Misconfigured:
    return Misconfigured(
        "the library for MCP is not installed", code="MCP_EXTRA_MISSING", next="pip install 'clew[mcp]'"
    )

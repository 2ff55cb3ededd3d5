"""What a command is: its name, what it does, which function runs it, its arguments."""

from __future__ import annotations

from typing import NamedTuple

from clew.surfaces.cli.arguments import Arg


class Command(NamedTuple):
    """`run` is module:function under commands; one with `children` may do without."""

    name: str
    help: str
    run: str = ""
    args: tuple[Arg, ...] = ()
    children: tuple[Command, ...] = ()
    epilog: str = ""

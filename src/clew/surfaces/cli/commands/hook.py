"""`clew hook HOST`, when it comes with options. Without any, `main` takes a shorter way to the same."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

import clew_hook
from clew.settings import home_directory


def hook(args: Namespace) -> None:
    home = Path(args.home).expanduser().absolute() if args.home else home_directory()
    clew_hook.main(args.host, str(home))  # ends the process, within its limit and with 0

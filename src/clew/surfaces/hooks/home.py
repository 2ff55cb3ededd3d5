"""The home directory as `settings.home_directory` finds it, without what loading the settings costs.

`clew hook` is started for every tool call of an agent. A test holds the two together.
"""

from __future__ import annotations

import os
import sys


def home_of_user() -> str:
    named = os.environ.get("CLEW_HOME")
    if named:
        return os.path.abspath(os.path.expanduser(named))  # noqa: PTH100, PTH111  pathlib is what we save
    if sys.platform == "darwin":
        folder = "~/Library/Application Support"
    elif sys.platform == "win32":
        folder = os.environ.get("LOCALAPPDATA") or "~/AppData/Local"
    else:
        folder = os.environ.get("XDG_DATA_HOME") or "~/.local/share"
    return os.path.join(os.path.expanduser(folder), "clew")  # noqa: PTH111, PTH118

"""What besides our own entries decides whether hooks of a host work: things to warn of when they are installed."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

PLUGIN = "clew"
# Where `uvx` keeps what it runs once: such a path is gone before long.
_PASSING = ("archive-v0", "environments-v2", "builds-v0")


def warnings(host: str, *, user_folder: Path, project_folder: Path) -> list[str]:
    settings = [
        *(_json(folder / name) for folder in (user_folder, project_folder) for name in
          ("settings.json", "settings.local.json")),
    ]  # fmt: skip
    found = list(_of_this_interpreter(sys.prefix))
    if host == "claude-code":
        found += _of_claude_code(settings, _json(user_folder / "plugins" / "installed_plugins.json"))
    else:
        found.append("codex asks once for each new hook whether you trust it: say yes, or it stays silent")
    return found


def _of_this_interpreter(prefix: str) -> Iterator[str]:
    if any(part in _PASSING for part in Path(prefix).parts):
        yield "this copy of Clew is a passing one and its path will go: install it with uv tool install clew"


def _of_claude_code(settings: Sequence[Mapping[str, Any]], installed: Mapping[str, Any]) -> Iterator[str]:
    if any(_has_plugin(one) for one in settings) or _is_installed(installed, settings):
        yield (
            "the plugin clew is there, too, and every event would be told twice: disable the plugin "
            "(claude plugin disable clew), or take these hooks out (clew uninstall claude-code)"
        )
    if any(one.get("disableAllHooks") is True for one in settings):
        yield "disableAllHooks is set: no hook runs until it is taken out"


def _has_plugin(settings: Mapping[str, Any]) -> bool:
    return any(_is_ours(name) and state is not False for name, state in _plugins(settings).items())


def _is_installed(installed: Mapping[str, Any], settings: Sequence[Mapping[str, Any]]) -> bool:
    """Installed counts as enabled unless a settings file says otherwise."""
    plugins = installed.get("plugins")
    names = [name for name in plugins if _is_ours(name)] if isinstance(plugins, dict) else []
    return any(all(_plugins(one).get(name) is not False for one in settings) for name in names)


def _plugins(settings: Mapping[str, Any]) -> Mapping[str, Any]:
    found = settings.get("enabledPlugins")
    return found if isinstance(found, dict) else {}


def _is_ours(name: str) -> bool:
    return name.partition("@")[0] == PLUGIN


def _json(file: Path) -> dict[str, Any]:
    """Nothing for a file that is not there or not understood: this only warns."""
    try:
        found = json.loads(file.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}

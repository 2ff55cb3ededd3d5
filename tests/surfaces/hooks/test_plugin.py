"""The folder that Claude Code takes as a plugin: valid, and in step with what it stands for."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import clew
from clew.surfaces.cli.completion import paths
from clew.surfaces.cli.table import COMMANDS
from clew.surfaces.hooks.hosts import CLAUDE_CODE

PLUGIN = Path(__file__).parents[3] / "plugins" / "claude-code"


def read(name: str) -> Any:
    return json.loads((PLUGIN / name).read_text(encoding="utf-8"))


def test_the_plugin_is_described_and_has_the_packages_version() -> None:
    described = read(".claude-plugin/plugin.json")
    assert (described["name"], described["version"]) == ("clew", clew.__version__)
    assert described["description"] and described["license"] == "Apache-2.0"


def test_a_clone_can_be_added_as_a_marketplace_that_has_the_plugin() -> None:
    root = PLUGIN.parents[1]
    listed = json.loads((root / ".claude-plugin" / "marketplace.json").read_text(encoding="utf-8"))
    assert re.fullmatch(r"[a-z][a-z0-9-]*", listed["name"]) and listed["owner"]["name"]
    [plugin] = listed["plugins"]
    described = read(".claude-plugin/plugin.json")
    assert (plugin["name"], plugin["description"]) == (described["name"], described["description"])
    assert plugin["source"].startswith("./") and (root / plugin["source"]).resolve() == PLUGIN.resolve()


def test_the_plugins_hooks_are_those_of_the_installer() -> None:
    groups = CLAUDE_CODE.groups(["clew", "hook", "claude-code"])
    assert read("hooks/hooks.json")["hooks"] == {event: [group] for event, group in groups.items()}


@pytest.mark.parametrize(
    "words",
    [
        *(groups[0]["hooks"][0] for groups in read("hooks/hooks.json")["hooks"].values()),
        *read(".mcp.json")["mcpServers"].values(),
    ],
    ids=str,
)  # fmt: skip
def test_the_commands_that_it_runs_exist(words: dict[str, Any]) -> None:
    assert words["command"] == "clew" and words["args"][0] in {command.name for command in COMMANDS}


def test_the_skill_has_a_head_and_names_only_commands_and_tools_that_exist() -> None:
    text = (PLUGIN / "skills" / "clew" / "SKILL.md").read_text(encoding="utf-8")
    head, _, body = text.removeprefix("---\n").partition("\n---\n")
    assert re.search(r"^name: clew$", head, re.M) and re.search(r"^description: .{50,1000}$", head, re.M)
    known = {name.split()[0] for name, _command in paths()}
    assert set(re.findall(r"`clew (\w+)", body)) <= known
    tools = {"memory_recall", "memory_show", "memory_remember", "memory_edit", "memory_forget", "graph_query"}
    assert set(re.findall(r"`((?:memory|graph|queue)_\w+)`", body)) == tools
    assert len(body) < 4_000

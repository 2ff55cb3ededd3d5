"""Arrows point inward: surfaces -> clew -> steps -> ports <- store, providers."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "clew"
STEPS = {"graph", "remember", "relate", "recall", "inject", "deliver", "learn", "guard", "rollout", "hosts"}
INNER = {"errors", "lazy", "model", "native", "ports", "threads", "values"}
# What each part may import besides itself. `clew` stands for the package's public names.
ALLOWED = {
    "errors": set(),
    "values": {"native"},
    "model": {"errors", "native", "values"},
    "lazy": set(),
    "native": {"_native"},
    "threads": set(),
    "ports": {"errors", "model", "values"},
    "presets": {"errors"},
    "setting_values": set(),
    "settings": {"errors", "presets", "setting_values", "values"},
    **dict.fromkeys(STEPS, INNER | STEPS),
    "graph": {"errors", "model", "native", "values"},
    "store": INNER,
    "providers": INNER,
    "clew": INNER | STEPS | {"settings", "verbs"},
    "verbs": INNER | STEPS | {"clew", "settings"},
    "wire": INNER | STEPS | {"settings", "clew", "verbs", "__init__"},
    "compose": INNER | {"clew", "settings", "store", "providers", "remember", "relate", "wire"},
    "asynchronous": {"errors", "model", "clew", "compose"},
    "__init__": {"errors", "model", "clew", "compose", "asynchronous"},
    "__main__": {"surfaces"},
    "bench": {
        "errors",
        "model",
        "__init__",
        "settings",
        "compose",
        "recall",
        "remember",
        "values",
    },  # it learns the weights of the ranker, and asks ahead which units can be kept
    "surfaces": {
        "errors",
        "lazy",
        "model",
        "__init__",
        "verbs",
        "settings",
        "compose",
        "bench",
        "providers",
        "wire",
        "hosts",
        "setting_values",
        "threads",
        "values",
    },
}


def part_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


@cache
def nodes_of(path: Path) -> list[ast.AST]:
    return [
        node
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Import | ast.ImportFrom | ast.Call)
    ]


def imports(path: Path) -> set[str]:
    """The parts of Clew a file imports, wherever in the file."""
    found = set()
    for node in nodes_of(path):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name}: write imports in full"
            names = [
                f"{node.module}.{alias.name}" if node.module == "clew" else str(node.module) for alias in node.names
            ]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        for name in names:
            if name == "clew" or name.startswith("clew."):
                part = name.removeprefix("clew").removeprefix(".").split(".")[0]
                is_part = any((SOURCE / f"{part}{end}").exists() for end in ("", ".py", ".pyi"))
                found.add(part if is_part else "__init__")
    return {part or "__init__" for part in found}


def test_imports_point_inward() -> None:
    outside = {}
    for path in sorted(SOURCE.rglob("*.py")):
        part = part_of(path)
        assert part in ALLOWED, f"{part} is new: say in this test what it may import"
        if found := imports(path) - ALLOWED[part] - {part}:
            outside[str(path.relative_to(SOURCE))] = sorted(found)
    assert outside == {}, "these may not be imported there"


def test_no_step_and_no_adapter_reads_the_environment() -> None:
    reads = re.compile(r"\b(?:os|posix|nt)\.(?:environb?|getenvb?)\b|from os import [^\n]*(?:environ|getenv)")
    readers = {part_of(path) for path in SOURCE.rglob("*.py") if reads.search(path.read_text(encoding="utf-8"))}
    assert readers == {"settings", "compose", "surfaces", "bench"}


def test_settings_in_the_environment_are_read_by_settings_alone() -> None:
    """Beside them stand what is no setting: tokens and keys of models, where the home is, what a host or a terminal
    says of itself."""
    named = re.compile(r"""environ(?:\.get\(|\[)["'](\w+)["']""")
    others = {
        name
        for path in SOURCE.rglob("*.py")
        if part_of(path) not in {"settings", "bench"}
        for name in named.findall(path.read_text(encoding="utf-8"))
    }
    assert others == {
        "CLEW_TOKEN", "CLEW_HOME", "CLEW_DEBUG", "LOCALAPPDATA", "XDG_DATA_HOME", "NO_COLOR", "TERM",
    }  # fmt: skip


def test_nothing_goes_through_the_hash_tables_of_numpy() -> None:
    """A process that ends while a daemon thread is in there aborts."""
    sets = {"setdiff1d", "setxor1d", "union1d", "intersect1d", "isin", "in1d", "unique"}
    for path in SOURCE.rglob("*.py"):
        calls = [node for node in nodes_of(path) if isinstance(node, ast.Call)]
        called = {
            node.func.attr
            for node in calls
            if isinstance(node.func, ast.Attribute)
            and isinstance(node.func.value, ast.Name)
            and node.func.value.id == "np"
            and not any((word.arg or "").startswith("return_") for word in node.keywords)  # then numpy sorts
        }
        if part_of(path) != "bench":
            assert not called & sets, f"{path.relative_to(SOURCE)}: see recall/among.py"


def test_nothing_prints_outside_the_surfaces() -> None:
    for path in SOURCE.rglob("*.py"):
        if part_of(path) not in {"surfaces", "bench"}:
            calls = [
                node
                for node in nodes_of(path)
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
            ]
            assert not calls, f"{path.relative_to(SOURCE)} prints"

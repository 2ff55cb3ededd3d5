"""The package as pip builds it: with a compiler and without, nothing of it is missing."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).parents[2]
PARTS = ("setup.py", "pyproject.toml", "README.md", "LICENSE", "NOTICE", "native", "src")
RECALL = """
import clew
from clew import native
with clew.open("made.db") as memory:
    memory.remember("The gateway listens on port 8443.")
    print(native.compiled is not None, [result.memory.content for result in memory.recall("which port?").results])
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """What a fresh clone has."""
    copy = tmp_path / "clew"
    copy.mkdir()
    ignore = shutil.ignore_patterns("*.so", "*.pyd", "*.egg-info", "__pycache__")
    for name in PARTS:
        source = ROOT / name
        shutil.copytree(source, copy / name, ignore=ignore) if source.is_dir() else shutil.copy(source, copy / name)
    return copy


def unpacked_wheel(tree: Path, **environment: str) -> Path:
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "-w", "out", "."]
    built = subprocess.run(command, cwd=tree, env=os.environ | environment, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    (wheel,) = (tree / "out").glob("*.whl")
    with ZipFile(wheel) as archive:
        archive.extractall(tree / "unpacked")
    return tree / "unpacked"


def test_without_a_compiler_everything_is_there_but_what_is_compiled(tree: Path, tmp_path: Path) -> None:
    ours = {path.relative_to(tree / "src") for path in (tree / "src").rglob("*") if path.is_file()}
    (tree / "src" / "clew" / "_native.abi3.so").write_bytes(b"of an earlier build")
    unpacked = unpacked_wheel(tree, CC="no-such-compiler", CXX="no-such-compiler")
    assert [path.name for path in unpacked.rglob("_native*")] == ["_native.pyi"]
    packed = {path.relative_to(unpacked) for path in unpacked.rglob("*") if path.is_file()}
    assert ours - packed == set()
    said = recalled(unpacked, tmp_path)
    assert said == "False ['The gateway listens on port 8443.']"


@pytest.mark.skipif(shutil.which("cc") is None, reason="no compiler here")
def test_with_a_compiler_recall_is_compiled(tree: Path, tmp_path: Path) -> None:
    said = recalled(unpacked_wheel(tree), tmp_path)
    assert said == "True ['The gateway listens on port 8443.']"


def recalled(package: Path, folder: Path) -> str:
    """By a process that has only this package."""
    environment = os.environ | {"PYTHONPATH": str(package), "CLEW_HOME": str(folder / "home")}
    asked = subprocess.run(
        [sys.executable, "-c", RECALL], cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    return asked.stdout.strip()

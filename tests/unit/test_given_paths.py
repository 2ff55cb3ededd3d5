"""A file may be named by a text as well as by a path."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from clew import Clew
from toys import open_toy


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Clew]:
    with open_toy(tmp_path / "clew.db") as opened:
        opened.remember("checkout depends on redis")
        yield opened


def test_a_text_names_a_file(memory: Clew, tmp_path: Path) -> None:
    assert memory.backup(str(tmp_path / "copy.db")).path == tmp_path / "copy.db"
    with (tmp_path / "all.jsonl").open("w") as file:
        memory.export(file)
    assert (
        memory.import_file(str(tmp_path / "all.jsonl")).as_json()
        == memory.import_file(tmp_path / "all.jsonl").as_json()
    )
    with (tmp_path / "edges.jsonl").open("w") as file:
        memory.graph.export(file)
    memory.graph.import_file(str(tmp_path / "edges.jsonl"))


def test_a_text_names_a_directory(memory: Clew, tmp_path: Path) -> None:
    (tmp_path / "package.json").write_text('{"dependencies": {"react": "18.0.0"}}')
    assert memory.transfer.fingerprint("shop", str(tmp_path)) == memory.transfer.fingerprint("shop", tmp_path)

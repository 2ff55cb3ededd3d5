"""A process killed at any moment: what it said it had stored is there, whole and findable."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from health import assert_sound, contents_of

from clew.store.sqlite import open_engine
from clew.store.store import Store

# Three threads share group commits; each line is printed only after `remember` returned.
CHILD = """
import sys, threading
from pathlib import Path
from clew.store import sqlite_log
from toys import ToyEmbedder, open_toy
sqlite_log.DUE, sqlite_log.MOST = 20, 60  # beside the writer, and by it when that cannot keep up
memory = open_toy(Path(sys.argv[1]), embedder=ToyEmbedder())
out = threading.Lock()
def work(name):
    for n in range(100_000):
        text = f"{sys.argv[2]} {name} {n} " + "word " * (n % 90)
        id = memory.remember(text).id
        if n % 7 == 3:
            text = f"edited {text}"
            memory.edit(id, content=text)
        with out:
            print(id, text.strip(), flush=True)
for name in range(3):
    threading.Thread(target=work, args=(name,)).start()
"""


def kill_while_writing(path: Path, round: int, lines: int) -> dict[str, str]:
    """Run the child on the store, kill it after some lines, and return what it had acknowledged."""
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, str(path), str(round)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)},
    )
    assert child.stdout
    with child.stdout as output:
        read = [output.readline() for _ in range(lines)]
        child.send_signal(signal.SIGKILL)
        read += output.readlines()
    assert child.wait() == -signal.SIGKILL
    return dict(line.rstrip("\n").split(" ", 1) for line in read if line.endswith("\n"))


def survive_rounds(path: Path, rounds: int, seed: int) -> None:
    rng, promised = random.Random(seed), {}
    for round in range(rounds):
        promised |= kill_while_writing(path, round, rng.randrange(1, 120))
        with closing(Store(open_engine(path))) as store:
            assert_sound(store)
            found = contents_of(store)
            assert {id for id, text in promised.items() if found.get(id) != text} == set()


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_what_was_acknowledged_survives_a_kill(tmp_path: Path) -> None:
    survive_rounds(tmp_path / "clew.db", rounds=4, seed=1)


@pytest.mark.torture
@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
@pytest.mark.parametrize("seed", range(10))
def test_what_was_acknowledged_survives_hundreds_of_kills(tmp_path: Path, seed: int) -> None:
    survive_rounds(tmp_path / "clew.db", rounds=40, seed=seed)

"""A process that was forked while a store was open: it is told so, and nothing is lost."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from clew.store.forked import NEXT

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")

SCRIPT = """
import os, sys, threading
from pathlib import Path
import clew
home = Path(sys.argv[1])
how = {"home": home, "embed": {"provider": "none"}, "relate": {"in_process": False}}
memory = clew.open(home / "clew.db", **how)
memory.remember("from the parent")
memory.recall("parent")  # imports what it needs: Python itself cannot fork while another thread imports
busy = threading.Thread(target=lambda: [memory.remember(f"beside {n}") for n in range(20)])
busy.start()
busy.join()
held = memory.store.engine._turn
held.acquire()  # as if a thread wrote right now: its locks come along as they are
if (child := os.fork()) == 0:
    for verb in (lambda: memory.remember("lost"), lambda: memory.recall("parent"), lambda: memory.list()):
        try:
            verb()
        except clew.ClewError as error:
            print(error.code, error.next, flush=True)
    memory.close()
    try:
        clew.open(home / "clew.db", **how)
    except clew.ClewError as error:
        print(error.code, error.next, flush=True)
    with clew.open(home / "another.db", **how) as own:
        print(own.remember("from the child").memory.content, flush=True)
    os._exit(0)
held.release()
os.waitpid(child, 0)
memory.close()
if (child := os.fork()) == 0:  # nothing is open now
    with clew.open(home / "clew.db", **how) as own:
        own.remember("from the second child")
    os._exit(0)
os.waitpid(child, 0)
with clew.open(home / "clew.db", **how) as again:
    found = {one.content for one in again.list(limit=100)}
    print(len(found), {"from the parent", "from the second child"} <= found)
"""


def test_a_forked_process_is_told_that_the_store_is_its_parents(tmp_path: Path) -> None:
    """SQLite would take no lock for it, and the parent would delete the log under it."""
    done = subprocess.run([sys.executable, "-c", SCRIPT, tmp_path], capture_output=True, text=True, timeout=60)
    told = [f"{code} {NEXT}" for code in ("STORE_CLOSED",) * 3 + ("STORE_INHERITED",)]
    assert done.stdout.splitlines() == [*told, "from the child", "22 True"], done.stderr

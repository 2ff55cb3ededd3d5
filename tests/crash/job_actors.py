"""A worker on jobs as a process of its own. What a job makes is a copy of its memory's text, and a count.

claimed N     it holds so many jobs and is about to make something of them
idle          it has found nothing to do
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from contextlib import closing
from functools import partial
from pathlib import Path

from clew.compose import SystemClock
from clew.model.job import RELATE, Done, Failed, Job
from clew.ports import Tx
from clew.relate.queue import JobPolicy
from clew.relate.worker import JobRunner
from clew.store.sqlite import open_engine
from clew.store.store import Store
from lease_clock import LeaseClock

POLICY = JobPolicy(max_attempts=1_000, lease_s=90.0)
ORG = "local"


def open_store(path: Path) -> Store:
    return Store(open_engine(path))


def say(*words: object) -> None:
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


def write_text(tx: Tx, subject: str, text: str) -> None:
    """A memory changes and asks for its job, in one transaction."""
    tx.meta.put(f"text/{subject}", text)
    tx.jobs.put(ORG, RELATE, [subject], operation="edit")


def copy(tx: Tx, subject: str, text: str) -> None:
    tx.meta.put(f"copy/{subject}", text)
    tx.meta.put(f"count/{subject}", str(int(tx.meta.get(f"count/{subject}") or 0) + 1))


def handle(store: Store, jobs: Sequence[Job]) -> list[Done | Failed]:
    with store.read() as tx:
        texts = [tx.meta.get(f"text/{job.subject}") or "" for job in jobs]
    say("claimed", len(jobs))
    return [Done(save=partial(copy, subject=job.subject, text=text)) for job, text in zip(jobs, texts, strict=True)]


def runner(store: Store) -> JobRunner:
    return JobRunner(store, {RELATE: partial(handle, store)}, POLICY, clock=SystemClock(), batch=8)


def main(path: str, mode: str) -> None:
    with closing(open_store(Path(path))) as store:
        LeaseClock(store, None)
        worker = runner(store)
        while True:
            if worker.run_batch().processed:
                continue
            if mode == "once":
                return
            say("idle")
            time.sleep(0.02)


if __name__ == "__main__":
    main(*sys.argv[1:])

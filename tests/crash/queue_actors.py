"""Producers and workers of the queue as processes of their own. Each line they print is a promise already kept.

put SESSION DELIVERY TEXT     the text is on the queue
got SESSION DELIVERY TOKEN    it was handed out
ack SESSION DELIVERY TOKEN    its acknowledgement counted
late SESSION DELIVERY TOKEN   its acknowledgement was refused
done                          nothing is left to do
"""

from __future__ import annotations

import random
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import count
from pathlib import Path

from clew.clew import Clew
from clew.compose import SystemClock
from clew.errors import Conflict, Unavailable
from clew.settings import load_settings
from clew.store.sqlite import open_engine
from clew.store.store import Store
from lease_clock import LeaseClock
from toys import HOME, open_store

LEASE_S = 90.0
DELIVER = {"lease_s": LEASE_S, "max_attempts": 10_000, "max_pending": 10_000}


def open_at(place: Path | str) -> Clew:
    """A file, or the URL of a PostgreSQL database that is migrated already."""
    home = place.parent if isinstance(place, Path) else HOME
    settings = load_settings({"deliver": DELIVER}, home=home, environ={})
    return Clew(
        store=Store(open_engine(place) if isinstance(place, Path) else open_store(place)),
        make_embedder=lambda: None,
        clock=SystemClock(),
        settings=settings,
        in_background=False,
    )


_out = threading.Lock()


def say(*words: object) -> None:
    with _out:
        sys.stdout.write(" ".join(map(str, words)) + "\n")
        sys.stdout.flush()


def produce(clew: Clew, sessions: list[str], rng: random.Random, name: str) -> None:
    """New texts for ever, many of them twice."""
    for number in count():
        session, text = rng.choice(sessions), f"{name} {number}"
        for _ in range(rng.randrange(1, 3)):
            if inject := clew.queue.enqueue(session, text):
                say("put", session, inject.delivery_id, text)


def repeat(clew: Clew, sessions: list[str], rng: random.Random, texts: int, times: int) -> None:
    """The same texts for every session, again and again, in an order of its own."""
    everything = [(session, f"text {number}") for session in sessions for number in range(texts)] * times
    rng.shuffle(everything)

    def put(entry: tuple[str, str]) -> None:
        if inject := clew.queue.enqueue(*entry):
            say("put", entry[0], inject.delivery_id, entry[1])

    with ThreadPoolExecutor(8) as pool:  # who puts in at once shares commits
        list(pool.map(put, everything))


def work(clew: Clew, sessions: list[str], rng: random.Random, name: str, *, lingers: bool = False) -> None:
    """Take a session that is free, get some of it done, go on to another. For ever. Whoever lingers thinks a moment
    about each delivery, and can be stopped there."""
    while True:
        session = rng.choice(sessions)
        try:
            token = clew.sessions.claim(session, name)
        except Conflict:
            time.sleep(0.02)  # or those who wait for a free session keep everyone else from writing
            continue
        for step in cycles(clew, session, name, token, beats=rng.random() < 0.5):
            say(*step)
            if lingers and step[0] == "got":
                time.sleep(0.01)
            if rng.random() < 0.1:
                break
        time.sleep(0.002)


def cycles(clew: Clew, session: str, worker: str, token: int, *, beats: bool) -> Iterator[tuple[object, ...]]:
    """Claim and acknowledge while there is something, by single calls or by beats."""
    while delivery := clew.queue.claim(session, worker, token):
        key = (session, delivery.delivery_id, token)
        yield ("got", *key)
        if beats:
            counted = clew.sessions.refresh(session, worker, token, acked=[delivery.delivery_id]).refreshed
        else:
            counted = clew.queue.ack(session, delivery.delivery_id, worker, token)
        yield ("ack" if counted else "late", *key)


def all_sessions(clew: Clew) -> list[str]:
    """A reader whose server goes away in the middle is told so; it asks again."""
    while True:
        with suppress(Unavailable):
            return [session.id for session in clew.sessions.list(limit=10_000)]


def main(role: str, place: str, seed: str, *rest: str) -> None:
    clew, rng = open_at(place if "://" in place else Path(place)), random.Random(int(seed))
    LeaseClock(clew.store, None)  # type: ignore[arg-type]
    sessions = all_sessions(clew)
    match role:
        case "produce":
            produce(clew, sessions, rng, f"p{seed}")
        case "repeat":
            repeat(clew, sessions, rng, int(rest[0]), int(rest[1]))
        case "work" | "linger":
            work(clew, sessions, rng, f"w{seed}", lingers=role == "linger")
    say("done")


if __name__ == "__main__":
    main(*sys.argv[1:])

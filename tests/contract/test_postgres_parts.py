"""Parts of a transaction, one in another, some of which fail: what is left is what a simple model says.

Nobody waits for most of what is sent, so that a failure is told later than it happened.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from typing import Any

import psycopg
import pytest

from clew.bench.postgres_server import why_not
from clew.errors import ClewError
from clew.store.postgres import PostgresEngine
from clew.store.postgres_session import PostgresSession

pytestmark = pytest.mark.skipif(bool(why_not()), reason=why_not())

ORGS, NAMES = ("acme", "other"), ("x", "y")
PROGRAMS = 150
Step = tuple[Any, ...]
State = Counter[tuple[str, str]]


class OwnError(Exception):
    """What an action raises itself."""


@pytest.fixture
def engine(postgres_url: str) -> Iterator[PostgresEngine]:
    with closing(PostgresEngine(postgres_url)) as engine:
        yield engine


def a_program(rng: random.Random, depth: int = 0) -> list[Step]:
    kinds = ["put"] * 8 + ["ask"] * 3 + ["pass over"] + ["refused", "own"] + ["part"] * (6 if depth < 3 else 0)
    steps: list[Step] = []
    for _ in range(rng.randrange(1, 6)):
        kind = rng.choice(kinds)
        rest = a_program(rng, depth + 1) if kind == "part" else (rng.choice(ORGS), rng.choice(NAMES))
        steps.append((kind, rest))
    return steps


def expected(steps: Sequence[Step], state: State) -> State:
    state = state.copy()
    for kind, rest in steps:
        if kind == "put":
            state[rest] += 1
        elif kind in ("refused", "own"):
            raise OwnError
        elif kind == "part":
            with suppress(OwnError):
                state = expected(rest, state)
    return state


def run(steps: Sequence[Step], session: PostgresSession) -> None:
    for kind, rest in steps:
        if kind == "part":
            with suppress(psycopg.Error, OwnError), session.savepoint():
                run(rest, session)
            continue
        asked = {"org_id": rest[0], "name": rest[1]}
        if kind == "put":
            session.put("counter_next", **asked, step=1)
        elif kind == "ask":
            session.together([("counter_get", asked)] * 2)
        elif kind == "pass over":
            with suppress(psycopg.Error):
                session.value("counter_get", **asked)
        elif kind == "refused":
            session.many("meta_put", [("key", None)])
        else:
            raise OwnError


def found(engine: PostgresEngine) -> State:
    with engine.read() as session:
        asked = [(org, name) for org in ORGS for name in NAMES]
        return Counter(
            {key: session.value("counter_get", org_id=key[0], name=key[1]) or 0 for key in asked},
        )


def test_whatever_fails_where_exactly_its_part_is_undone(engine: PostgresEngine) -> None:
    rng, state, failures = random.Random(1), State(), 0
    for number in range(PROGRAMS):
        steps = a_program(rng)
        try:
            wanted, is_done = expected(steps, state), True
        except OwnError:
            wanted, is_done = state, False
        try:
            engine.write(lambda session, steps=steps: run(steps, session), durable=number % 2 == 0)  # type: ignore[misc]
        except (ClewError, OwnError):
            assert not is_done, steps
        else:
            assert is_done, steps
        state = found(engine)
        assert state == wanted, steps
        failures += not is_done
    assert 0 < failures < PROGRAMS

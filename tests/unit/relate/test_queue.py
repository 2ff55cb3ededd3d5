"""What asks for jobs, what does not, and how long a failure waits."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew import Draft, Scope
from clew.clew import Clew
from clew.model.job import RELATE
from clew.model.scope import Reach
from clew.relate.queue import JobPolicy, backoff_s, told_issues
from toys import ToyEmbedder

POLICY = JobPolicy()


def waiting(memory: Clew, org: str = "local") -> dict[str, tuple[str, int]]:
    """(operation, generation) by memory."""
    with memory.store.read() as tx:
        jobs = tx.jobs.page(org, RELATE, state=None, limit=1_000)
    return {job.subject: (job.operation, job.generation) for job in jobs}


@pytest.fixture
def done(memory: Clew) -> Callable[[str], str]:
    """Stores a text and has its job done; gives its id."""

    def store(text: str) -> str:
        id = memory.remember(text).id
        memory.jobs.run()
        assert waiting(memory) == {}
        return id

    return store


# -- back-off ------------------------------------------------------------------------------------------------


def test_without_jitter_the_pauses_are_the_documented_ones() -> None:
    assert [backoff_s(attempt, POLICY, jitter=0.0) for attempt in range(1, 9)] == [1, 2, 4, 8, 16, 32, 60, 60]


@given(
    attempt=st.integers(1, 10_000),
    base=st.floats(0.001, 60),
    most=st.floats(0.001, 3_600),
    jitter=st.floats(0, 1, exclude_max=True),
)
def test_a_pause_is_never_longer_than_the_longest_and_never_less_than_half_of_what_is_due(
    attempt: int, base: float, most: float, jitter: float
) -> None:
    policy = JobPolicy(retry_base_s=base, retry_max_s=most)
    full = backoff_s(attempt, policy, jitter=0.0)
    assert full / 2 <= backoff_s(attempt, policy, jitter=jitter) <= full <= most
    assert full <= backoff_s(attempt + 1, policy, jitter=0.0)


def test_issues_are_told_as_documented() -> None:
    assert told_issues(["B", "A", "B"]) == "relationship_issues=3;A:1,B:2"
    assert told_issues([]) == ""


# -- what asks -----------------------------------------------------------------------------------------------


def test_every_new_memory_asks_for_a_job(memory: Clew) -> None:
    stored = list(memory.remember_many([Draft(content=f"text {n}") for n in range(3)]))
    assert waiting(memory) == {one.id: ("add", 1) for one in stored}


def test_a_text_that_is_known_asks_for_nothing(memory: Clew, done: Callable[[str], str]) -> None:
    done("the cache holds an hour")
    memory.remember("the cache holds an hour")
    assert waiting(memory) == {}


def test_a_memory_that_replaces_another_asks_as_well(memory: Clew) -> None:
    memory.remember("the cache holds an hour", upsert_key="ttl")
    newer = memory.remember("the cache holds a day", upsert_key="ttl")
    assert waiting(memory)[newer.id] == ("add", 1)


@pytest.mark.parametrize(
    "changes",
    [
        {"content": "the cache holds a day"},
        {"title": "Cache"},
        {"type": "decision"},
        {"classification": "restricted"},
        {"paths": ("a.py",)},
        {"author": "ada"},
        {"at": datetime(2026, 1, 1, tzinfo=UTC)},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_t29_an_edit_of_what_relations_rest_on_asks(
    memory: Clew, done: Callable[[str], str], changes: dict[str, Any]
) -> None:
    id = done("the cache holds an hour")
    memory.edit(id, **changes)
    assert waiting(memory) == {id: ("edit", 1)}


@pytest.mark.parametrize(
    "changes",
    [{"tags": ("cache",)}, {"weight": 2.0}, {"metadata": {"a": 1}}, {"category": "cache"}],
    ids=lambda changes: next(iter(changes)),
)
def test_w8_t29_an_edit_of_anything_else_asks_for_nothing(
    memory: Clew, done: Callable[[str], str], changes: dict[str, Any]
) -> None:
    id = done("the cache holds an hour")
    memory.edit(id, **changes)
    assert waiting(memory) == {}


def test_a_revert_and_a_return_from_the_forgotten_ask(memory: Clew, done: Callable[[str], str]) -> None:
    id = done("the cache holds an hour")
    memory.forget(id)
    assert waiting(memory) == {}
    memory.remember("the cache holds an hour", id=id)
    assert waiting(memory) == {id: ("edit", 1)}
    memory.edit(id, content="the cache holds a day")
    memory.revert(id, 1)
    assert waiting(memory) == {id: ("edit", 3)}


def test_jobs_belong_to_the_org_of_the_memory(memory: Clew) -> None:
    from clew.model.scope import Identity

    other = Identity(org="acme")
    stored = memory.remember("the cache holds an hour", scope=Scope(org="acme"), identity=other)
    assert (waiting(memory), list(waiting(memory, "acme"))) == ({}, [stored.id])


# -- failing open --------------------------------------------------------------------------------------------


def test_t29_a_queue_that_fails_does_not_fail_the_write(memory: Clew, caplog: pytest.LogCaptureFixture) -> None:
    with apsw.Connection(str(memory.store.path)) as connection:  # type: ignore[attr-defined]
        connection.execute("CREATE TRIGGER broken BEFORE INSERT ON jobs BEGIN SELECT RAISE(ABORT, 'no'); END")
    stored = memory.remember("the cache holds an hour")
    edited = memory.edit(stored.id, content="the cache holds a day")
    assert (memory.show(stored.id).content, edited.version) == ("the cache holds a day", 2)
    assert waiting(memory) == {}
    assert "could not be queued" in caplog.text
    assert "cache" not in caplog.text


# -- remote embedders ----------------------------------------------------------------------------------------


class Remote(ToyEmbedder):
    asked = 0

    def embed(self, texts: Any) -> Any:
        self.asked += 1
        return super().embed(texts)


def test_no_write_waits_for_a_remote_model_and_its_vectors_come_with_the_job(
    clew_at: Callable[..., Clew], tmp_path: Path
) -> None:
    model = Remote(is_remote=True)
    memory = clew_at(tmp_path, embedder=model)
    stored = memory.remember("the cache holds an hour")
    memory.edit(stored.id, content="the cache holds a day")
    assert model.asked == 0
    memory.jobs.run()
    assert model.asked == 1
    with memory.store.read() as tx:
        assert tx.index.vector_counts(Reach.everything("local")) == {model.space.key: 1}


def test_a_model_of_this_machine_is_asked_with_the_write(clew_at: Callable[..., Clew], tmp_path: Path) -> None:
    model = Remote()
    memory = clew_at(tmp_path, embedder=model)
    memory.remember("the cache holds an hour")
    assert model.asked == 1

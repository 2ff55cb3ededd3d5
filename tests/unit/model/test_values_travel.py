"""What the API gives can be copied and sent to another process."""

from __future__ import annotations

import copy
import pickle
from dataclasses import asdict
from pathlib import Path

import pytest

from clew import Draft, Filter, InvalidInput, Scope, Unavailable
from clew.asynchronous import AsyncClew
from clew.model.recalled import RecallOptions
from toys import open_toy


def test_memories_answers_and_drafts_are_copied_and_sent(tmp_path: Path) -> None:
    with open_toy(tmp_path / "clew.db") as clew:
        plain = clew.remember("the gateway is slow")
        told = clew.remember("the queue is full", metadata={"a": [1, {"b": 2}]}).memory
        answer = clew.recall("gateway queue")
    for value in (plain, told, answer, Draft(content="x", metadata={"a": 1})):
        assert pickle.loads(pickle.dumps(value)) == value
        assert copy.deepcopy(value) == value
    sent = pickle.loads(pickle.dumps(told))
    with pytest.raises(TypeError):
        sent.metadata["a"] = 2
    assert asdict(told)["metadata"] == {"a": [1, {"b": 2}]}


def test_a_lone_tag_is_a_tag_and_not_its_letters(tmp_path: Path) -> None:
    assert (Filter(tags="abc", types="note").tags, RecallOptions(tags="abc").tags) == (("abc",), ("abc",))  # type: ignore[arg-type]
    with open_toy(tmp_path / "clew.db") as clew:
        clew.remember("tagged a", tags=("a",))
        clew.remember("tagged abc", tags=("abc",))
        assert [one.content for one in clew.list(Filter(tags="abc"))] == ["tagged abc"]  # type: ignore[arg-type]


def test_a_switch_is_on_or_off(tmp_path: Path) -> None:
    with open_toy(tmp_path / "clew.db") as clew:
        clew.remember("x", scope=Scope(project="shop"))
        for switch in (
            lambda: clew.projects.set("shop", "memory", "off"),  # type: ignore[arg-type]
            lambda: clew.orgs.features(kg_enabled="off"),  # type: ignore[arg-type]
            lambda: clew.orgs.features(feedback_weighting="off"),  # type: ignore[arg-type]
        ):
            with pytest.raises(InvalidInput) as refused:
                switch()
            assert refused.value.code == "SWITCH_INVALID"


async def closed_and_asked(clew: AsyncClew) -> None:
    await clew.remember("x")
    await clew.close()
    await clew.recall("x")


def test_a_closed_async_clew_says_so(tmp_path: Path) -> None:
    import asyncio

    with pytest.raises(Unavailable) as refused:
        asyncio.run(closed_and_asked(AsyncClew(open_toy(tmp_path / "clew.db"))))
    assert refused.value.code == "STORE_CLOSED"

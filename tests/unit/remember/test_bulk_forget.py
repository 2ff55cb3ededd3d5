"""Forget what a filter means, all at once, and never by accident."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from clew import Draft, Filter, InvalidInput, Scope
from clew.remember import forget as forgetting
from toys import ToldClock, contents


@pytest.mark.parametrize("wanted", [None, Filter(), Filter(types=(), tags=())])
def test_t32_a_bulk_forget_without_a_filter_is_refused(memory: Any, wanted: Filter | None) -> None:
    memory.remember("stays")
    with pytest.raises(InvalidInput) as refused:
        memory.forget_many(wanted)
    assert refused.value.code == "BULK_FORGET_NO_FILTERS" and len(memory.list()) == 1


def test_t32_all_together_with_a_filter_is_refused(memory: Any) -> None:
    with pytest.raises(InvalidInput) as refused:
        memory.forget_many(Filter(types=("note",)), everything=True)
    assert refused.value.code == "BULK_FORGET_INVALID_FILTERS"


def test_t32_more_than_one_batch_is_forgotten_whole(memory: Any) -> None:
    list(memory.remember_many(Draft(content=f"number {n}") for n in range(1203)))
    receipt = memory.forget_many(everything=True)
    assert len(receipt.ids) == 1203
    assert memory.list() == [] and contents(memory.recall("number")) == []


def test_t32_a_dry_run_forgets_nothing_and_says_when_there_are_more_than_it_lists(memory: Any) -> None:
    list(memory.remember_many(Draft(content=f"number {n}") for n in range(1001)))
    preview = memory.forget_many(everything=True, dry_run=True)
    assert (preview.count, preview.overflow, len(preview.memories)) == (1001, True, 1000)
    assert len(memory.list(limit=2000)) == 1001


@pytest.mark.parametrize(
    "wanted",
    [Filter(types=("decision",)), Filter(tags=("db", "none")), Filter(pattern="My?QL*"), Filter(layer="working")],
)
def test_a_filter_forgets_what_it_names_and_nothing_else(memory: Any, wanted: Filter) -> None:
    memory.remember("We use MySQL here", type="decision", tags=("db",), layer="working")
    memory.remember("Ports start at 8000", tags=("net",))
    memory.forget_many(wanted)
    assert [entry.content for entry in memory.list()] == ["Ports start at 8000"]


def test_what_is_older_than_a_moment_may_be_forgotten(memory: Any, clock: ToldClock) -> None:
    memory.remember("old")
    clock.pass_by(days=10)
    memory.remember("new")
    memory.forget_many(Filter(before=clock.now() - timedelta(days=5)))
    assert [entry.content for entry in memory.list()] == ["new"]


@pytest.mark.parametrize("hard", [False, True])
def test_what_was_changed_since_the_filter_matched_stays_and_is_told(
    memory: Any, monkeypatch: pytest.MonkeyPatch, hard: bool
) -> None:
    """Whoever edits it says that it counts, and it may not even match any more."""
    old, other = (memory.remember(text, tags=("old",)).id for text in ("net 30", "net 20"))
    forget = forgetting.forget

    def somebody_edits_it_first(*given: Any, **named: Any) -> Any:
        memory.edit(old, content="net 45 from 2027 on", tags=("keep",))
        return forget(*given, **named)

    monkeypatch.setattr(forgetting, "forget", somebody_edits_it_first)
    receipt = memory.forget_many(Filter(tags=("old",)), hard=hard)
    assert (receipt.ids, receipt.changed) == ((other,), (old,))
    assert receipt.as_json()["changed"] == [old]
    assert memory.show(old).content == "net 45 from 2027 on"


def test_a_hard_forget_leaves_the_session_of_what_stays_alone(memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    forgotten: list[str] = []
    monkeypatch.setattr(forgetting, "_forget_session", lambda _tx, _org, session, _now: forgotten.append(session))
    old = memory.remember("net 30", scope=Scope(session="ses_a")).memory
    other = memory.remember("net 20", scope=Scope(session="ses_b")).memory
    memory.edit(old.id, content="net 45")
    done = forgetting.forget(
        memory.store, [old, other], hard=True, now=memory.now(), actor="owner", keep_changed=True
    )
    assert done.ids == (other.id,) and forgotten == ["ses_b"]


def test_a_bulk_forget_stays_within_its_scope(memory: Any) -> None:
    memory.remember("mine", scope=Scope(project="a"))
    memory.remember("theirs", scope=Scope(project="b"))
    memory.forget_many(everything=True, scope=Scope(project="a"))
    assert [entry.content for entry in memory.list(all_projects=True)] == ["theirs"]

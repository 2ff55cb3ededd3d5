"""How long memories are kept: the most specific policy, softly first, erased after 30 days more."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.clew import Clew
from clew.errors import Denied, InvalidInput, NotFound
from clew.model.govern import RetentionPolicy
from clew.model.learning import Target
from clew.model.memory import Draft, Filter, Memory
from clew.model.scope import Identity, Scope
from clew.relate import retention
from clew.relate.retention import GRACE, new_policy, policy_for, verdict_on
from clew.remember.prepare import WritePolicy, draft_memory
from toys import START, ToldClock, ToyEmbedder

SHOP = Scope(project="shop")
EVERYTHING = Filter(deleted=True, superseded=True, expired=True)


def a_note(**fields: Any) -> Memory:
    memory, _masked = draft_memory(Draft(content="a note"), SHOP, now=START, policy=WritePolicy())
    return replace(memory, **fields)


def stored(clew: Clew, org: str = "local") -> list[str]:
    """Contents of all rows, forgotten ones included."""
    with clew.store.read() as tx:
        return [memory.content for memory in tx.transfers.page(org, after="", limit=1000)]


# -- which policy ----------------------------------------------------------------------------------------


maybe = st.none() | st.sampled_from(["shop", "web"])
policies = st.builds(
    new_policy,
    ttl_days=st.floats(0.5, 1000),
    project=maybe,
    classification=st.none() | st.sampled_from(["internal", "public"]),
    type=st.none() | st.sampled_from(["note", "fact"]),
)


@given(st.lists(policies, max_size=8))
def test_the_policy_that_counts_covers_it_and_none_that_covers_it_says_more(given_: list[RetentionPolicy]) -> None:
    memory, said = a_note(), lambda one: sum(x is not None for x in (one.project, one.classification, one.type))
    chosen = policy_for(memory, given_)
    covering = [one for one in given_ if one.covers(memory)]
    assert (chosen is None) == (not covering)
    assert chosen is None or (chosen in covering and said(chosen) == max(said(one) for one in covering))


def test_every_way_to_describe_a_memory_has_a_rank_of_its_own() -> None:
    named = [
        new_policy(
            ttl_days=1,
            **{name: value for (name, value), is_named in zip(ABOUT.items(), said, strict=True) if is_named},
        )
        for said in product((False, True), repeat=3)
    ]
    order: list[RetentionPolicy] = []
    while named:
        best = policy_for(a_note(), named)
        assert best
        order.append(best)
        named.remove(best)
    names = [tuple(name for name in ABOUT if getattr(one, name)) for one in order]
    assert names == [
        ("project", "classification", "type"), ("project", "classification"), ("project", "type"),
        ("classification", "type"), ("project",), ("classification",), ("type",), (),
    ]  # fmt: skip


ABOUT = {"project": "shop", "classification": "internal", "type": "note"}


@pytest.mark.parametrize(
    ("action", "age", "deleted", "verdict"),
    [
        ("soft", 9.9, None, None), ("soft", 10.0, None, "soft"), ("hard", 10.0, None, "hard"),
        ("soft", 12.0, 1.0, None), ("soft", 45.0, 29.9, None), ("soft", 45.0, 30.0, "hard"),
        ("soft", 31.0, 30.5, "hard"), ("hard", 12.0, 1.0, "hard"), ("hard", 9.0, 1.0, None),
    ],
)  # fmt: skip
def test_what_becomes_of_a_memory(action: str, age: float, deleted: float | None, verdict: str | None) -> None:
    """Ages in days; `deleted` so many days ago."""
    now = START + timedelta(days=age)
    memory = a_note(deleted_at=None if deleted is None else now - timedelta(days=deleted))
    found = verdict_on(memory, [new_policy(ttl_days=10, action=action)], now)
    assert (None if found is None else "hard" if found.hard else "soft") == verdict


@pytest.mark.parametrize(
    "wrong",
    [{"ttl_days": 0}, {"ttl_days": -1}, {"ttl_days": float("nan")}, {"ttl_days": 1e9}, {"ttl_days": "x"},
     {"ttl_days": None}, {"action": "maybe"}, {"classification": "secret"}, {"type": "poem"}],
)  # fmt: skip
def test_a_policy_that_makes_no_sense_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        new_policy(**{"ttl_days": 1} | wrong)


# -- applied -----------------------------------------------------------------------------------------------


def test_without_a_policy_everything_is_kept(memory: Clew, clock: ToldClock) -> None:
    memory.remember("old as the hills")
    clock.pass_by(days=36_000)
    assert memory.retention.run().as_json()["looked_at"] == 0
    assert memory.recall("hills").results


def test_softly_first_then_erased_and_both_are_audited(memory: Clew, clock: ToldClock) -> None:
    id = memory.remember("the pelican is grey", scope=SHOP).id
    policy = memory.retention.set(10, project="shop")
    clock.pass_by(days=11)
    assert memory.retention.run().soft == (id,)
    assert [version.change for version in memory.history(id)] == ["created", "forgotten"]
    clock.pass_by(days=29)
    assert memory.retention.run().as_json()["erased"] == 0
    clock.pass_by(days=2)
    assert memory.retention.run().hard == (id,)
    assert stored(memory) == []
    noted = [(entry.action, entry.actor) for entry in memory.audit.list() if entry.id == id]
    assert noted == [
        ("forget_hard", f"retention:{policy.id}"),
        ("forget", f"retention:{policy.id}"),
        ("remember", "owner"),
    ]
    assert memory.audit.verify().ok


@pytest.mark.parametrize("action", ["soft", "hard"])
def test_what_was_changed_since_it_was_judged_is_judged_anew(
    memory: Clew, clock: ToldClock, monkeypatch: pytest.MonkeyPatch, action: str
) -> None:
    id = memory.remember("the pelican is grey", scope=SHOP).id
    memory.retention.set(10, project="shop", action=action)
    clock.pass_by(days=11)
    forget = retention.forget

    def somebody_moves_it_first(*given: Any, **named: Any) -> Any:
        memory.edit(id, classification="restricted")
        return forget(*given, **named)

    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(retention, "forget", somebody_moves_it_first)
        done = memory.retention.run()
    assert (done.soft, done.hard) == ((), ()) and memory.show(id).classification == "restricted"
    done = memory.retention.run()
    assert done.soft + done.hard == (id,)


def test_an_erased_memory_leaves_nothing_behind(memory: Clew, clock: ToldClock, tmp_path: Path) -> None:
    id = memory.remember("PelicanService depends on HeronCache", scope=SHOP).id
    memory.transfer.grant("shop", "web")
    there = Target("transferred", f"{id}@web", id, "web", 1.0)
    memory.store.write(lambda tx: tx.learning.put_weight("local", there, 0.4, now=START))
    memory.retention.set(1, action="hard")
    clock.pass_by(days=2)
    assert memory.retention.run().as_json()["log"] == "erased"
    with memory.store.read() as tx:
        assert tx.transfers.weights("local", "web", [id]) == {}
        assert tx.edges.counts("local") == {"nodes": 0, "edges": 0, "links": 0}
    left = b"".join(path.read_bytes() for path in (tmp_path / "home").iterdir() if path.is_file())
    assert b"elican" not in left


def test_what_was_queued_from_an_erased_memory_is_not_delivered(memory: Clew, clock: ToldClock) -> None:
    id = memory.remember("the pelican is grey", scope=SHOP).id
    memory.retention.set(1, action="hard")
    clock.pass_by(days=2)
    session = memory.sessions.start(project="shop").id
    token = memory.sessions.claim(session, "w1")
    memory.queue.enqueue(session, "the pelican is grey", observation_ids=(id,))
    memory.retention.run()
    assert memory.queue.claim(session, "w1", token) is None


def test_a_dry_run_only_tells(memory: Clew, clock: ToldClock) -> None:
    soft = memory.remember("a fact", type="fact").id
    hard = memory.remember("a note").id
    memory.retention.set(1)
    memory.retention.set(1, type="note", action="hard")
    clock.pass_by(days=2)
    report = memory.retention.run(dry_run=True)
    assert (report.soft, report.hard, report.dry_run) == ((soft,), (hard,), True)
    assert len(stored(memory)) == 2 and len(memory.list()) == 2


def test_a_longer_time_for_something_special_protects_it(memory: Clew, clock: ToldClock) -> None:
    memory.remember("a plain note", scope=SHOP)
    memory.remember("we chose SQLite", scope=SHOP, type="decision")
    memory.retention.set(10)
    memory.retention.set(1000, project="shop", type="decision")
    clock.pass_by(days=20)
    memory.retention.run()
    assert [one.content for one in memory.list(all_projects=True)] == ["we chose SQLite"]


def test_what_a_user_forgot_can_be_brought_back_as_long_as_no_policy_covers_it(
    memory: Clew, clock: ToldClock
) -> None:
    id = memory.remember("forgotten by hand").id
    memory.forget(id)
    memory.retention.set(1, project="shop")
    clock.pass_by(days=400)
    memory.retention.run()
    assert memory.revert(id, 1).content == "forgotten by hand"


def test_no_other_org_is_touched(memory: Clew, clock: ToldClock) -> None:
    other = Identity(org="other")
    memory.remember("theirs", scope=Scope(org="other"), identity=other)
    memory.remember("ours")
    memory.retention.set(1, action="hard")
    clock.pass_by(days=2)
    memory.retention.run()
    assert (stored(memory), stored(memory, "other")) == ([], ["theirs"])
    with pytest.raises(NotFound):
        memory.retention.drop(memory.retention.list()[0].id, identity=other)


def test_the_same_description_is_the_same_policy_and_one_can_be_dropped(memory: Clew) -> None:
    first = memory.retention.set(10, project="shop")
    assert memory.retention.set(20, project="shop", action="hard").id == first.id
    assert [(one.ttl_days, one.action) for one in memory.retention.list()] == [(20.0, "hard")]
    memory.retention.drop(first.id)
    assert memory.retention.list() == []
    assert [entry.action for entry in memory.audit.list()] == ["drop_retention", "set_retention", "set_retention"]


def test_policies_are_for_owner_and_admin(memory: Clew) -> None:
    member = Identity(user="ada", roles=("member",))
    for act in (lambda: memory.retention.set(1, identity=member), lambda: memory.retention.run(identity=member)):
        with pytest.raises(Denied):
            act()


def test_run_twice_the_second_run_finds_nothing(memory: Clew, clock: ToldClock) -> None:
    memory.remember("a note")
    memory.retention.set(1)
    clock.pass_by(days=2)
    assert memory.retention.run().soft and not memory.retention.run().soft


# -- by itself, beside the writes ------------------------------------------------------------------------------


def test_it_happens_by_itself_after_a_write_once_a_day(memory: Clew, clock: ToldClock) -> None:
    memory.remember("first")
    memory.retention.set(1)
    memory.remember("second")  # nothing is old enough, and the pass of this day is over
    clock.pass_by(hours=23)
    memory.remember("third")
    with memory.store.read() as tx:
        assert not retention.due(tx, clock.now())
    clock.pass_by(days=1.5)
    memory.remember("fifth")
    assert [one.content for one in memory.list()] == ["fifth"]


def test_a_pass_goes_through_every_org_in_bounded_portions(memory: Clew, clock: ToldClock) -> None:
    orgs = [Identity(org=org) for org in ("a", "b", "c")]
    for who in orgs:
        for n in range(7):
            memory.remember(f"note {n}", scope=Scope(org=who.org), identity=who)
    for who in orgs[::2]:
        memory.retention.set(1, identity=who)
    clock.pass_by(days=2)
    portions = 0
    while retention.run_some(memory.store, clock.now(), limit=3):
        portions += 1
    assert portions == 3 + 2  # the last portion finds that nothing is left
    live = {who.org: len(memory.list(scope=Scope(org=who.org), identity=who)) for who in orgs}
    assert live == {"a": 0, "b": 7, "c": 0}
    with memory.store.read() as tx:
        assert not retention.due(tx, clock.now())
        assert retention.due(tx, clock.now() + timedelta(days=1))


def test_where_no_policy_was_ever_set_there_is_nothing_to_do(memory: Clew, clock: ToldClock) -> None:
    with memory.store.read() as tx:
        assert not retention.due(tx, clock.now())


def test_a_policy_dropped_in_the_middle_of_a_pass_stops_it(memory: Clew, clock: ToldClock) -> None:
    for n in range(4):
        memory.remember(f"note {n}")
    policy = memory.retention.set(1)
    clock.pass_by(days=2)
    assert retention.run_some(memory.store, clock.now(), limit=2)
    memory.retention.drop(policy.id)
    while retention.run_some(memory.store, clock.now(), limit=2):
        pass
    assert len(memory.list()) == 2


def test_the_time_is_that_of_the_clock_and_the_grace_is_thirty_days(
    clew_at: Callable[..., Clew], tmp_path: Path
) -> None:
    clock = ToldClock(START - timedelta(days=9000))
    clew = clew_at(tmp_path / "early", clock=clock, embedder=ToyEmbedder())
    clew.remember("early")
    clew.retention.set(100)
    assert not clew.retention.run().soft
    clock.pass_by(days=101)
    assert clew.retention.run().soft and timedelta(days=30) == GRACE

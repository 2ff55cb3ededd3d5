"""The audit log: each entry seals the one before, so that what was done to it shows."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import fields, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.clew import Clew
from clew.errors import ClewError, Denied, InvalidInput
from clew.guard.audit import MAX_WAITING, Denials, note_denials, parse_head, verify_audit_chain
from clew.model.access import AccessContext, Decision, Denial, Resource
from clew.model.audit import AuditEntry, AuditHead, ChainReport, digest_of, digest_of_ids, seal
from clew.model.memory import Draft
from clew.model.scope import Identity, Scope
from clew.relate import checkup
from clew.store.backup import restore
from clew.store.sqlite import open_engine
from clew.store.store import Store
from toys import START, ToldClock

COLUMNS = {"org": "org_id", "at_us": "at", "id": "memory_id"}


def chained(length: int, *, before: int = 0) -> list[AuditEntry]:
    """A log of so many entries, the first of them from before there was a chain."""
    log: list[AuditEntry] = []
    for seq in range(1, length + 1):
        entry = AuditEntry("local", seq, seq * 1000, "ada", "edit", "memory", f"mem_{seq}", detail=f'{{"n":{seq}}}')
        if seq > before:
            last = log[-1].hash if log else ""
            entry = replace(entry, prev_hash=last or digest_of(log))
            entry = replace(entry, hash=seal(entry))
        log.append(entry)
    return log


def sql(clew: Clew, statement: str, *values: object) -> list[tuple[object, ...]]:
    """Behind the program's back, as a tamperer would."""

    def run(tx: Any) -> list[tuple[object, ...]]:
        found: list[tuple[object, ...]] = tx.session.connection.execute(statement, values).fetchall()
        return found

    return clew.store.write(run)


def actions(clew: Clew) -> list[str]:
    return [entry.action for entry in reversed(clew.audit.list(limit=1000))]


# -- pure ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("before", [0, 1, 3, 5])
def test_a_log_as_it_was_written_is_whole(before: int) -> None:
    assert verify_audit_chain(chained(5, before=before), count=5) == ChainReport(True, 5)
    assert verify_audit_chain([], count=0) == ChainReport(True, 0)


def tampered(log: list[AuditEntry], how: str, at: int, dice: random.Random) -> tuple[list[AuditEntry], int]:
    """The log after one bad deed, and the first entry that can show it."""
    log = list(log)
    match how:
        case "edit":
            name = dice.choice([field.name for field in fields(AuditEntry)])
            value = getattr(log[at], name)
            other_value: Any = value + 1 if isinstance(value, int) else f"{value}x"
            log[at] = replace(log[at], **{name: other_value})
        case "drop":
            del log[at]
        case "swap":
            other = dice.choice([n for n in range(len(log)) if n != at])
            log[at], log[other] = log[other], log[at]
            at = min(at, other)
        case "swap_in_place":  # contents exchanged, numbers kept
            other = dice.choice([n for n in range(len(log)) if n != at])
            one, two = log[at], log[other]
            log[at], log[other] = replace(two, seq=one.seq), replace(one, seq=two.seq)
            at = min(at, other)
        case "truncate":
            del log[at:]
        case "blank":
            log[at] = replace(log[at], hash="", prev_hash="")
        case "repeat":
            log.insert(at, log[at])
    return log, at + 1


@settings(max_examples=400, deadline=None)
@given(
    st.sampled_from(["edit", "drop", "swap", "swap_in_place", "truncate", "blank", "repeat"]),
    st.integers(2, 30),
    st.integers(0, 30),
    st.randoms(use_true_random=False),
)
def test_whatever_is_done_to_the_log_shows(how: str, length: int, before: int, dice: random.Random) -> None:
    before = min(before, length - 1)
    log = chained(length, before=before)
    bad, first = tampered(log, how, dice.randrange(before if how == "blank" else 0, length), dice)
    report = verify_audit_chain(bad, count=length, chained_from=before + 1)
    assert not report.ok and report.problem
    assert report.first_bad_seq is not None
    if first > before:  # before the chain, the first of the chain is the one that shows it
        assert first <= report.first_bad_seq <= first + 1


def test_a_log_written_anew_from_an_entry_on_is_told_by_a_head_kept_elsewhere() -> None:
    kept = chained(10)[7]
    forged = chained(10)
    forged[3] = replace(forged[3], actor="mallory")
    for at in range(3, 10):
        forged[at] = replace(forged[at], prev_hash=forged[at - 1].hash)
        forged[at] = replace(forged[at], hash=seal(forged[at]))
    assert verify_audit_chain(forged, count=10).ok
    report = verify_audit_chain(forged, count=10, head=AuditHead(kept.seq, kept.hash))
    assert (report.ok, report.first_bad_seq) == (False, 8)


def test_a_head_that_lies_behind_the_end_is_missing() -> None:
    log = chained(10)
    report = verify_audit_chain(log[:6], count=6, head=AuditHead(9, log[8].hash))
    assert (report.ok, report.first_bad_seq) == (False, 9)


@pytest.mark.parametrize("text", ["", "7", "7:abc", "x:" + "0" * 64, "0:" + "0" * 64, "7:" + "g" * 64])
def test_a_head_that_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="head"):
        parse_head(text)


# -- what is noted ---------------------------------------------------------------------------------------


def test_every_change_of_a_memory_leaves_one_entry(memory: Clew) -> None:
    stored = memory.remember("the cache is Redis")
    memory.remember("the cache is Redis")  # said again, nothing changed
    memory.edit(stored.id, content="the cache is Valkey")
    memory.revert(stored.id, 1)
    memory.link(stored.id, "depends_on", "service:redis")
    memory.link(stored.id, "depends_on", "service:redis")
    memory.unlink(stored.id, "depends_on", "service:redis")
    memory.forget(stored.id)
    assert actions(memory) == ["remember", "edit", "revert", "link", "unlink", "forget"]
    assert memory.audit.verify() == ChainReport(True, 6)


def test_a_batch_is_one_entry_that_names_all_of_it(memory: Clew) -> None:
    ids = [one.id for one in memory.remember_many(Draft(content=f"note {n}") for n in range(40))]
    [entry] = memory.audit.list()
    detail = json.loads(entry.detail)
    assert (entry.id, detail["count"], detail["last"]) == (ids[0], 40, ids[-1])
    assert detail["ids"] == digest_of_ids(ids)


def test_the_log_holds_no_text_of_a_memory(memory: Clew) -> None:
    stored = memory.remember("xylophone uses ZebraService", title="xylophone", tags=("xylophone",))
    memory.edit(stored.id, content="xylophone calls ZebraService", tags=("zebra", "xylophone"))
    memory.link(stored.id, "depends_on", "service:zebra")
    memory.remember("xylophone is out", supersedes=stored.id)
    told = json.dumps([entry.as_json() for entry in memory.audit.list()])
    assert "xylophone" not in told and "zebra" not in told.lower()


def test_the_actor_is_who_asked(memory: Clew) -> None:
    memory.remember("by the owner")
    memory.remember("by ada", identity=Identity(user="ada"))
    assert [entry.actor for entry in memory.audit.list()] == ["user:ada", "owner"]


def test_working_memories_that_run_out_are_noted(memory: Clew, clock: ToldClock) -> None:
    first = memory.remember("for now", layer="working")
    clock.pass_by(days=30)
    memory.remember("for now, too", layer="working")
    assert [(entry.action, entry.actor) for entry in memory.audit.list() if entry.id == first.id] == [
        ("expire", "clew"),
        ("remember", "owner"),
    ]


def test_denials_are_written_in_batches_with_the_policies_that_decided(memory: Clew) -> None:
    denied = Decision(False, ("forbid.inject.restricted",), "forbidden")
    denials = [Denial("local", "agent claude", "inject", "memory", f"mem_{n}", denied) for n in range(3)]
    memory.store.write(lambda tx: note_denials(tx, denials, START))
    entry = memory.audit.list()[0].as_json()
    assert (entry["action"], entry["decision"], entry["id"]) == ("denied", "deny", "mem_2")
    assert entry["policy_ids"] == ["forbid.inject.restricted"]
    assert memory.audit.verify().entries == 3


def test_a_denial_reaches_the_log_once_and_only_behind_the_answer(
    clew_at: Callable[..., Clew], tmp_path: Path
) -> None:
    clew = clew_at(tmp_path)
    agent = Identity(agent="claude", roles=())
    row = Resource("memory", "mem_1", "local", "shop", classification="restricted")
    for _ in range(3):
        assert not clew._pep.decide(agent, "inject", [row], AccessContext("local", "shop"))[0]
    assert actions(clew) == []
    clew.close()
    [entry] = clew_at(tmp_path).audit.list()
    assert (entry.action, entry.id, entry.decision) == ("denied", "mem_1", "deny")
    assert "forbid.inject.restricted" in entry.policy_ids


def test_a_denial_does_not_wait_for_others_nor_for_the_end(memory: Clew) -> None:
    denials = Denials(memory.store, memory.now, soon_s=0.0)
    denials.add(Denial("local", "agent a", "read", "memory", "mem_1", Decision(False, ("forbid.x",))))
    assert denials._timer is not None
    denials._timer.join()
    assert [(entry.action, entry.id) for entry in memory.audit.list()] == [("denied", "mem_1")]


def test_denials_are_bounded_and_a_store_that_fails_changes_nothing(memory: Clew) -> None:
    denials = Denials(memory.store, memory.now)
    refused = Decision(False, ("forbid.x",))
    told = [Denial("local", "agent a", "read", "memory", f"mem_{n}", refused) for n in range(MAX_WAITING + 5)]
    denials._waiting.extend(told[:MAX_WAITING])
    for one in told[MAX_WAITING:]:
        denials.add(one)
    assert denials.dropped == 5
    memory.store.close()
    assert denials.flush() == 0 and denials.dropped == MAX_WAITING + 5


def test_however_many_were_told_the_next_denial_is_told_too(memory: Clew, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clew.guard.audit.MAX_TOLD", 3)
    denials = Denials(memory.store, memory.now)
    for n in range(5):
        denials.add(Denial("local", "agent a", "read", "memory", f"mem_{n}", Decision(False, ("forbid.x",))))
    denials.close()
    assert (len(memory.audit.list()), denials.dropped) == (5, 0)


def test_orgs_have_chains_of_their_own(memory: Clew) -> None:
    for org in ("one", "two", "one"):
        who = Identity(org=org)
        memory.remember(f"note {memory.now()}", scope=Scope(org=org), identity=who)
    assert [memory.audit.verify(identity=Identity(org=org)).entries for org in ("one", "two")] == [2, 1]
    assert memory.audit.list(identity=Identity(org="two"))[0].seq == 1


def test_the_log_is_for_owner_and_admin(memory: Clew) -> None:
    member = Identity(user="ada", roles=("member",))
    for ask in (memory.audit.verify, memory.audit.list, memory.audit.head):
        with pytest.raises(Denied):
            ask(identity=member)
    assert memory.audit.list(identity=Identity(user="eve", roles=("admin",))) == []


def test_a_list_is_narrowed_by_time_action_and_place(memory: Clew, clock: ToldClock) -> None:
    for n in range(3):
        memory.remember(f"note {n}")
    clock.pass_by(days=2)
    memory.edit(memory.remember("a last one").id, content="the last one")
    assert [entry.action for entry in memory.audit.list(since=clock.time - timedelta(days=1))] == [
        "edit",
        "remember",
    ]
    assert [entry.seq for entry in memory.audit.list(action="remember", limit=2)] == [4, 3]
    assert [entry.seq for entry in memory.audit.list(before=3)] == [2, 1]


# -- tampering with the file -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("deed", "bad"),
    [
        ("UPDATE audit SET actor = 'mallory' WHERE seq = 3", 3),
        ("UPDATE audit SET at = at + 1 WHERE seq = 5", 5),
        ("UPDATE audit SET detail = '{}' WHERE seq = 2", 2),
        ("UPDATE audit SET policy_ids = '[ ]' WHERE seq = 4", 4),
        ("UPDATE audit SET hash = '' WHERE seq = 5", 5),
        ("UPDATE audit SET hash = '', prev_hash = ''", 1),
        ("DELETE FROM audit WHERE seq = 1", 1),
        ("DELETE FROM audit WHERE seq = 3", 3),
        ("DELETE FROM audit WHERE seq > 3", 4),
        ("DELETE FROM audit", 1),
        ("UPDATE audit SET at = x'00' WHERE seq = 2", 2),
    ],
)
def test_tampering_with_the_file_shows(memory: Clew, deed: str, bad: int) -> None:
    id = memory.remember("note").id
    for n in range(4):
        memory.edit(id, tags=(str(n),))
    assert memory.audit.verify().ok
    sql(memory, deed)
    report = memory.audit.verify()
    assert (report.ok, report.first_bad_seq) == (False, bad)
    check = next(check for check in memory.doctor() if check.name == "audit")
    assert not check.ok and f"entry {bad}" in check.detail


def test_what_is_cut_off_still_shows_after_the_log_went_on(memory: Clew) -> None:
    for n in range(5):
        memory.remember(f"note {n}")
    sql(memory, "DELETE FROM audit WHERE seq > 3")
    memory.remember("life goes on")
    assert memory.audit.verify().first_bad_seq == 4


def test_the_doctor_looks_only_at_the_end_of_a_long_log(memory: Clew, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkup, "AUDIT_ENTRIES", 3)
    for n in range(5):
        memory.remember(f"note {n}")
    deeds = {"UPDATE audit SET actor = 'm' WHERE seq = 2": True, "DELETE FROM audit WHERE seq = 5": False}
    for deed, is_well in deeds.items():
        sql(memory, deed)
        [check] = checkup.check_audit(memory.store)
        assert check.ok is is_well


# -- from before the chain, and through a restore ------------------------------------------------------------


def entries_from_before(clew: Clew, count: int) -> None:
    """As a store of the migration before left them."""
    for seq in range(1, count + 1):
        sql(
            clew,
            "INSERT INTO audit (org_id, seq, at, actor, action, memory_id, content_hash) VALUES (?,?,?,?,?,?,?)",
            "local", seq, seq, "ada", "forget", f"mem_{seq}", "abc",
        )  # fmt: skip
    sql(clew, "INSERT INTO counters VALUES ('local', 'audit', ?)", count)


def test_entries_from_before_the_chain_are_sealed_by_its_first(memory: Clew) -> None:
    entries_from_before(memory, 3)
    assert memory.audit.verify() == ChainReport(True, 3)
    memory.remember("the chain begins")
    memory.remember("and goes on")
    assert memory.audit.verify() == ChainReport(True, 5)
    sql(memory, "UPDATE audit SET actor = 'mallory' WHERE seq = 2")
    assert memory.audit.verify().first_bad_seq == 4


def test_a_backup_keeps_the_chain_and_a_restore_is_part_of_it(memory: Clew, tmp_path: Path) -> None:
    memory.remember("before the backup")
    head = memory.audit.head()
    memory.backup(tmp_path / "copy.db")
    memory.remember("after the backup")
    lost = memory.audit.head()
    restore(tmp_path / "copy.db", memory.store.path)  # type: ignore[attr-defined]
    memory.remember("after the restore")
    assert actions(memory) == ["remember", "restore", "remember"]
    assert memory.audit.verify(head=head).ok
    assert not memory.audit.verify(head=str(lost)).ok  # what the restore took away is not hidden


def test_a_gap_that_no_restore_explains_shows(memory: Clew, tmp_path: Path) -> None:
    for n in range(3):
        memory.remember(f"note {n}")
    memory.backup(tmp_path / "copy.db")
    restore(tmp_path / "copy.db", memory.store.path)  # type: ignore[attr-defined]
    sql(memory, "DELETE FROM audit WHERE seq = 3")
    assert memory.audit.verify().first_bad_seq == 3


def test_a_write_that_fails_leaves_no_entry_and_no_gap(memory: Clew) -> None:
    stored = memory.remember("one")
    with pytest.raises(ClewError):
        memory.edit(stored.id, content="two", expected_version=7)
    memory.remember("three")
    assert memory.audit.verify() == ChainReport(True, 2)


def test_two_processes_write_one_chain(memory: Clew) -> None:
    other = Store(open_engine(memory.store.path))  # type: ignore[attr-defined]
    for n in range(10):
        store = other if n % 2 else memory.store
        store.write(lambda tx, n=n: tx.audit.note("local", at=START, actor="ada", action="edit", id=f"mem_{n}"))  # type: ignore[misc]
    other.close()
    assert memory.audit.verify() == ChainReport(True, 10)


def test_the_hash_before_is_found_by_the_key_alone(memory: Clew) -> None:
    plan = sql(
        memory, "EXPLAIN QUERY PLAN SELECT seq, hash FROM audit WHERE org_id = 'local' ORDER BY seq DESC LIMIT 1"
    )
    assert [row[-1] for row in plan] == ["SEARCH audit USING PRIMARY KEY (org_id=?)"]

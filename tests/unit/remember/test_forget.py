"""Soft: out of every answer. Hard: no byte of it is left under the home directory."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import apsw
import pytest

import clew
from clew import Draft, Filter, InvalidInput, NotFound, Scope
from clew.clew import Clew
from clew.compose import restore
from clew.model.facts import PURGE_PENDING
from clew.model.inject import VerbEvent
from clew.model.scope import Reach
from clew.remember.forget import BATCH, PREVIEWS, finish_pending, finish_purge, forget, is_purge_pending
from clew.remember.prepare import index_terms
from clew.settings import load_settings
from toys import ToldClock, ToyEmbedder, contents, open_toy
from traces import raw_bytes, traces

FIELDS = "content title tag path author thread category metadata upsert tool".split()
WORDS = [f"zq{field}vkings" for field in FIELDS]
Opener = Callable[..., Clew]


def marked(word: Callable[[str], str] = lambda field: f"zq{field}vkings") -> Draft:
    """A memory with a word of its own in every field that holds text."""
    return Draft(
        content=f"the {word('content')} of it all",
        title=word("title"),
        tags=(word("tag"), "common"),
        paths=(f"src/{word('path')}/main.py",),
        author=word("author"),
        thread=word("thread"),
        category=word("category"),
        metadata={word("metadata"): word("metadata")},
        upsert_key=word("upsert"),
        tool_call=word("tool"),
    )


def neighbours(count: int, seed: int = 1) -> list[Draft]:
    rng = random.Random(seed)
    vocabulary = [f"plain{number}" for number in range(300)]
    return [
        Draft(content=f"{n} " + " ".join(rng.choices(vocabulary, k=rng.randrange(3, 40)))) for n in range(count)
    ]


def fill(memory: Clew, count: int, **fields: object) -> list[str]:
    drafts = [Draft(content=f"number {n}", **fields) for n in range(count)]  # type: ignore[arg-type]
    return [done.id for done in memory.remember_many(drafts)]


# -- soft --------------------------------------------------------------------------------------------


def test_a_softly_forgotten_memory_is_in_no_answer(memory: Clew) -> None:
    id = memory.remember("the cache lives in redis").id
    receipt = memory.forget(id)
    assert receipt.as_json() == {"forgotten": 1, "ids": [id], "hard": False}
    assert contents(memory.recall("redis cache")) == []
    assert memory.list() == []
    with pytest.raises(NotFound, match=id):
        memory.show(id)


def test_a_softly_forgotten_memory_keeps_its_history_and_can_come_back(memory: Clew) -> None:
    id = memory.remember("the cache lives in redis").id
    memory.forget(id)
    assert [version.change for version in memory.history(id)] == ["created", "forgotten"]
    memory.revert(id, 1)
    assert contents(memory.recall("redis cache")) == ["the cache lives in redis"]


def test_a_softly_forgotten_memory_leaves_the_indices(memory: Clew) -> None:
    memory.forget(memory.remember("the cache lives in redis").id)
    with memory.store.read() as tx:
        assert tx.index.size(Reach.everything("local")) == (0, 0)
        assert tx.index.vector_counts(Reach.everything("local")) == {}


@pytest.mark.parametrize("hard", [False, True])
def test_forgetting_twice_is_not_found(memory: Clew, hard: bool) -> None:
    id = memory.remember("said once").id
    memory.forget(id, hard=hard)
    with pytest.raises(NotFound) as caught:
        memory.forget(id, hard=hard)
    assert caught.value.code == "MEMORY_NOT_FOUND"


def test_another_orgs_memory_is_not_found(memory: Clew) -> None:
    other = clew.Identity(org="other")
    id = memory.remember("theirs", scope=Scope(org="other"), identity=other).id
    with pytest.raises(NotFound):
        memory.forget(id, hard=True)
    assert memory.show(id, identity=other).content == "theirs"


# -- hard: nothing is left ---------------------------------------------------------------------------


def test_the_search_for_traces_finds_what_is_there(memory: Clew, tmp_path: Path) -> None:
    memory.remember(marked())
    found = traces(tmp_path, WORDS)
    assert [word for word in WORDS if word not in found] == []
    assert len(found) > len(WORDS), "hashes of the terms are found too"


@pytest.mark.parametrize("closed", [False, True])
def test_a_hard_forget_leaves_no_trace_in_any_file(memory: Clew, tmp_path: Path, closed: bool) -> None:
    list(memory.remember_many(neighbours(50)))
    id = memory.remember(marked()).id
    list(memory.remember_many(neighbours(50, seed=2)))
    receipt = memory.forget(id, hard=True)
    if closed:
        memory.close()
    assert receipt.log == "erased"
    assert traces(tmp_path, WORDS) == []


def test_a_hard_forget_leaves_no_trace_of_terms_and_vector(memory: Clew, tmp_path: Path) -> None:
    stored = memory.remember(marked()).memory
    terms = index_terms(stored).terms
    vector = ToyEmbedder().embed([f"{stored.title}\n{stored.content}"]).astype("<f2").tobytes()
    assert terms in raw_bytes(tmp_path)
    assert vector in raw_bytes(tmp_path)
    memory.forget(stored.id, hard=True)
    assert terms[:12] not in raw_bytes(tmp_path)
    assert vector not in raw_bytes(tmp_path)


def test_a_hard_forget_leaves_no_trace_in_what_agents_asked_for(memory: Clew, tmp_path: Path) -> None:
    scope = Scope(project="shop")
    kept = memory.remember("The Zyxquorvian certificate rotates every Tuesday", scope=scope)
    session = memory.sessions.start(scope=scope, title="certificates", agent="bot")
    memory.sessions.claim(session.id, "w1")
    event = VerbEvent(session=session.id, phase="post", tool="Grep", event_id="e1", project="shop",
                      query="Zyxquorvian certificate rotates every Tuesday")  # fmt: skip
    memory.inject.event(event)
    assert "Zyxquorvian" in memory.inject.log(session.id)[-1].query_text
    memory.forget(kept.id, hard=True)
    assert memory.inject.log(session.id)[-1].query_text == ""
    assert traces(tmp_path, ["zyxquorvian"]) == []


def test_a_hard_forget_takes_the_history_along(memory: Clew, tmp_path: Path) -> None:
    id = memory.remember(marked()).id
    memory.edit(id, content="a harmless text", title="t", tags=(), paths=(), author="a", metadata={}, thread="x")
    memory.edit(id, category="c", upsert_key="u", content="a harmless text, longer than before " * 40)
    memory.forget(id)
    memory.forget(id, hard=True)
    assert traces(tmp_path, WORDS) == []
    with pytest.raises(NotFound):
        memory.history(id)


def test_a_superseded_memory_can_be_forgotten_for_good(memory: Clew, tmp_path: Path) -> None:
    old = memory.remember(marked()).id
    memory.remember("what came after it", supersedes=old)
    memory.forget(old, hard=True)
    assert traces(tmp_path, WORDS) == []
    assert contents(memory.recall("what came after")) == ["what came after it"]


@pytest.mark.parametrize("seed", range(6))
def test_rows_that_moved_between_pages_leave_no_copy_behind(memory: Clew, tmp_path: Path, seed: int) -> None:
    """Rows that grow make SQLite rebalance its tree; the unused part of a page then holds copies of rows."""
    rng = random.Random(seed)
    words = ["zq" + "".join(letters) + "vk" for letters in product("abcdef", repeat=3)]
    tags = [rng.choice([(), (), ("victim",)]) for _word in words]
    drafts = [
        Draft(content=f"{word} {'x' * rng.randrange(300)}", tags=t) for word, t in zip(words, tags, strict=True)
    ]
    ids = [done.id for done in memory.remember_many(drafts)]
    for id in rng.sample(ids, 60):
        memory.edit(id, content=memory.show(id).content + " longer" * rng.randrange(60))
    memory.forget_many(Filter(tags=("victim",)), hard=True)
    assert traces(tmp_path, [word for word, t in zip(words, tags, strict=True) if t]) == []


def test_pages_that_were_freed_and_used_again_leave_no_copy_behind(memory: Clew, tmp_path: Path) -> None:
    words = [f"zq{letter}bulkvk" for letter in "abcdefghij"]
    for word in words:
        memory.remember(f"{word} " + " ".join(f"{word}{n}" for n in range(400)), tags=("bulk",))
    ids = fill(memory, 300)
    memory.forget_many(Filter(tags=("bulk",)), hard=True)
    list(memory.remember_many(neighbours(100)))
    for id in ids[::3]:
        memory.forget(id)
    assert traces(tmp_path, words) == []


def test_more_than_one_batch_leaves_no_trace(memory: Clew, tmp_path: Path) -> None:
    drafts = [Draft(content=f"zqbatchvk{n}x", tags=("gone",)) for n in range(BATCH + 20)]
    ids = [done.id for done in memory.remember_many(drafts)]
    receipt = memory.forget_many(Filter(tags=("gone",)), hard=True)
    assert sorted(receipt.ids) == sorted(ids)
    assert traces(tmp_path, ["zqbatchvk"]) == []


def test_the_same_text_can_be_remembered_again(memory: Clew) -> None:
    first = memory.remember(marked()).id
    memory.forget(first, hard=True)
    again = memory.remember(marked())
    assert not again.deduplicated
    assert again.id != first
    assert [version.change for version in memory.history(again.id)] == ["created"]


# -- hard: what may stand in the way -----------------------------------------------------------------


def test_a_reader_that_holds_the_log_makes_the_receipt_pending(memory: Clew, clew_at: Opener) -> None:
    id = memory.remember(marked()).id
    other = clew_at(memory.home)
    with other.store.read() as tx:
        tx.memories.count_all()  # the first look is what holds the log
        receipt = memory.forget(id, hard=True)
    assert receipt.as_json()["log"] == "pending"
    with memory.store.read() as tx:
        assert is_purge_pending(tx)


def test_whoever_writes_right_after_the_log_was_emptied_does_not_make_the_receipt_pending(
    memory: Clew, clew_at: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    id, other = memory.remember(marked()).id, clew_at(memory.home)

    class Watched(apsw.Connection):
        def wal_checkpoint(self, *args: Any, **named: Any) -> tuple[int, int]:
            counts = super().wal_checkpoint(*args, **named)
            other.store.write(lambda tx: tx.meta.put("busy", "yes"))
            return counts

    monkeypatch.setattr(apsw, "Connection", Watched)
    assert memory.forget(id, hard=True).log == "erased"


def test_the_next_hard_forget_finishes_what_was_pending(memory: Clew, clew_at: Opener, tmp_path: Path) -> None:
    pending_forget(memory, clew_at(memory.home))
    assert traces(tmp_path, WORDS) != []
    receipt = memory.forget(memory.remember("another one").id, hard=True)
    assert receipt.log == "erased"
    assert traces(tmp_path, WORDS) == []
    with memory.store.read() as tx:
        assert not is_purge_pending(tx)


def test_a_hard_forget_that_finds_nothing_does_not_write_the_file_anew(memory: Clew, tmp_path: Path) -> None:
    memory.remember("the gateway is red")
    log = next(tmp_path.rglob("*-wal"))
    before = log.stat()
    receipt = memory.forget_many(Filter(pattern="nothing like it"), hard=True)
    assert (receipt.ids, receipt.log) == ((), "erased")
    assert (log.stat().st_size, log.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)


def test_a_hard_forget_that_finds_nothing_finishes_what_was_pending(
    memory: Clew, clew_at: Opener, tmp_path: Path
) -> None:
    pending_forget(memory, clew_at(memory.home))
    memory.forget_many(Filter(pattern="nothing like it"), hard=True)
    assert traces(tmp_path, WORDS) == []


@pytest.mark.parametrize("finish", [finish_purge, finish_pending])
def test_what_was_pending_is_finished_on_request(
    memory: Clew, clew_at: Opener, tmp_path: Path, finish: Callable[..., bool]
) -> None:
    pending_forget(memory, clew_at(memory.home))
    assert finish(memory.store)
    assert traces(tmp_path, WORDS) == []
    with memory.store.read() as tx:
        assert not is_purge_pending(tx)


def test_opening_the_store_finishes_what_was_pending(memory: Clew, clew_at: Opener, tmp_path: Path) -> None:
    pending_forget(memory, clew_at(memory.home))
    with clew.open(home=memory.home, embed={"provider": "none"}) as opened, opened.store.read() as tx:
        assert not is_purge_pending(tx)
    assert traces(tmp_path, WORDS) == []


def pending_forget(memory: Clew, other: Clew) -> None:
    id = memory.remember(marked()).id
    with other.store.read() as tx:
        tx.memories.count_all()  # the first look is what holds the log
        assert memory.forget(id, hard=True).log == "pending"


KILLED = """
import os, signal, sys
from pathlib import Path
import clew
with clew.open(home=sys.argv[1], embed={"provider": "none"}) as memory:
    id = memory.remember(sys.argv[2]).id
    memory.store.purge = lambda: os.kill(os.getpid(), signal.SIGKILL)
    memory.forget(id, hard=True)
"""


def test_a_process_killed_before_it_could_erase_leaves_a_note(tmp_path: Path) -> None:
    word = "zqkilledvk"
    child = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path), f"the {word} text"])
    assert child.returncode == -signal.SIGKILL
    assert traces(tmp_path, [word]) != []
    clew.open(home=tmp_path, embed={"provider": "none"}).close()
    assert traces(tmp_path, [word]) == []


def test_a_note_left_meanwhile_by_another_forget_is_kept(memory: Clew) -> None:
    first, second = memory.remember("one").id, memory.remember("two").id
    purge = memory.store.purge

    def purge_while_another_forgets() -> bool:
        erased = purge()
        memory.store.write(lambda tx: tx.meta.put(PURGE_PENDING, second))
        return erased

    memory.store.purge = purge_while_another_forgets  # type: ignore[method-assign]
    memory.forget(first, hard=True)
    with memory.store.read() as tx:
        assert is_purge_pending(tx)


# -- hard: what restores put aside ---------------------------------------------------------------------


def restored(memory: Clew, tmp_path: Path, *later: Draft) -> Path:
    """Back to what it is now; the copy that the restore kept also holds what was said later."""
    path = Path(memory.store.location)
    memory.backup(tmp_path / "b.db")
    list(memory.remember_many(later))
    kept = restore(load_settings({"store.url": str(path)}, home=tmp_path, environ={}), tmp_path / "b.db").previous
    (tmp_path / "b.db").unlink()
    assert kept is not None
    return kept


def test_a_hard_forget_leaves_no_trace_in_what_a_restore_put_aside_and_all_else_in_it(
    memory: Clew, tmp_path: Path
) -> None:
    id = memory.remember(marked()).id
    kept = restored(memory, tmp_path, Draft(content="only the copy knows it"))
    receipt = memory.forget(id, hard=True)
    assert (receipt.copies, receipt.as_json()["copies"]) == ((kept.name,), [kept.name])
    assert traces(tmp_path, WORDS) == []
    with open_toy(kept) as copy:
        assert {found.content for found in copy.list()} == {"only the copy knows it"}


def test_what_a_restore_put_aside_stays_where_it_does_not_hold_what_is_forgotten(
    memory: Clew, tmp_path: Path
) -> None:
    kept = restored(memory, tmp_path, Draft(content="only the copy knows it"))
    receipt = memory.forget(memory.remember("said after the restore").id, hard=True)
    assert (receipt.copies, receipt.unread_copies) == ((), ())
    with open_toy(kept) as copy:
        assert [found.content for found in copy.list()] == ["only the copy knows it"]


def test_what_was_remembered_again_after_a_restore_is_forgotten_in_the_copy_too(
    memory: Clew, tmp_path: Path
) -> None:
    kept = restored(memory, tmp_path, marked())
    assert memory.forget(memory.remember(marked()).id, hard=True).copies == (kept.name,)
    assert traces(tmp_path, WORDS) == []


def test_a_copy_that_nobody_can_read_stays_and_the_receipt_names_it(memory: Clew, tmp_path: Path) -> None:
    id = memory.remember("the text").id
    kept = restored(memory, tmp_path, Draft(content="more"))
    kept.write_bytes(b"damaged" * 1000)
    receipt = memory.forget(id, hard=True)
    assert (receipt.log, receipt.unread_copies, kept.exists()) == ("erased", (kept.name,), True)
    assert receipt.as_json()["not_erased"].startswith(f"{kept.name} could not be read")


# -- hard: what is told ------------------------------------------------------------------------------


def test_the_receipt_tells_what_is_out_of_reach(memory: Clew) -> None:
    id = memory.remember("the text").id
    told = memory.forget(id, hard=True).as_json()
    assert told["ids"] == [id]
    assert told["log"] == "erased"
    assert "exports and backups" in told["not_erased"]
    assert "CLEW_HOME/spool" in told["not_erased"]
    assert "a merge gave to another memory" in told["not_erased"]


def test_the_audit_log_holds_ids_and_hashes_only(memory: Clew, tmp_path: Path) -> None:
    stored = memory.remember(marked()).memory
    memory.forget(stored.id, hard=True, identity=clew.Identity(user="ada"))
    with memory.store.read() as tx:
        connection = tx.session.connection  # type: ignore[attr-defined]
        entries = connection.execute("SELECT actor, action, memory_id, content_hash FROM audit").fetchall()
    assert entries[-1:] == [("user:ada", "forget_hard", stored.id, stored.content_hash)]


def test_a_receipt_names_only_what_this_call_forgot(memory: Clew) -> None:
    ids = fill(memory, 3, tags=("x",))
    with memory.store.read() as tx:
        found = tx.memories.find(Reach.everything("local"), Filter(tags=("x",)), now=memory.now(), limit=10)
    memory.forget(ids[1], hard=True)
    receipt = forget(memory.store, found, hard=True, now=memory.now(), actor="owner")
    assert set(receipt.ids) == {ids[0], ids[2]}


# -- bulk --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "nothing",
    [
        Filter(),
        Filter(tags=[]),  # type: ignore[arg-type]
        Filter(types=[], tags=[]),  # type: ignore[arg-type]
        Filter(pattern=""),
        Filter(namespace="", agent="", session="", layer=""),
        Filter(deleted=True),
        Filter(superseded=True),
    ],
)
def test_a_filter_that_says_nothing_is_refused(memory: Clew, nothing: Filter) -> None:
    fill(memory, 3)
    with pytest.raises(InvalidInput) as caught:
        memory.forget_many(nothing)
    assert caught.value.code == "BULK_FORGET_NO_FILTERS"
    assert len(memory.list()) == 3


def test_all_and_filters_exclude_each_other(memory: Clew) -> None:
    with pytest.raises(InvalidInput) as caught:
        memory.forget_many(Filter(tags=("x",)), everything=True)
    assert caught.value.code == "BULK_FORGET_INVALID_FILTERS"


def test_all_with_empty_lists_is_all(memory: Clew) -> None:
    fill(memory, 3)
    assert len(memory.forget_many(Filter(tags=[]), everything=True).ids) == 3  # type: ignore


@pytest.mark.parametrize(
    ("wanted", "gone"),
    [
        (Filter(types=("decision",)), {"b"}),
        (Filter(tags=("blue", "none")), {"a", "b"}),
        (Filter(pattern="c"), {"c"}),
        (Filter(layer="rule"), {"d"}),
        (Filter(session="s1"), {"e"}),
        (Filter(types=("note",), tags=("blue",)), {"a"}),
    ],
)
def test_a_bulk_forget_takes_what_all_its_filters_mean(memory: Clew, wanted: Filter, gone: set[str]) -> None:
    memory.remember("a", tags=("blue",))
    memory.remember("b", tags=("blue", "red"), type="decision")
    memory.remember("c")
    memory.remember("d", type="rule")
    memory.remember("e", scope=Scope(session="s1"))
    memory.forget_many(wanted)
    assert {left.content for left in memory.list()} == set("abcde") - gone


def test_a_bulk_forget_by_age_keeps_what_is_younger(memory: Clew, clock: ToldClock) -> None:
    memory.remember("old")
    clock.pass_by(days=10)
    memory.remember("new")
    memory.forget_many(Filter(before=clock.time.replace(hour=0)))
    assert [left.content for left in memory.list()] == ["new"]


def test_a_bulk_forget_stays_in_its_scope(memory: Clew) -> None:
    memory.remember("here", scope=Scope(project="p"))
    memory.remember("elsewhere", scope=Scope(project="q"))
    memory.forget_many(everything=True, scope=Scope(project="p"))
    assert [left.content for left in memory.list(all_projects=True)] == ["elsewhere"]


def test_a_dry_run_forgets_nothing(memory: Clew) -> None:
    [id] = fill(memory, 1, tags=("x",))
    told = memory.forget_many(Filter(tags=("x",)), hard=True, dry_run=True).as_json()
    assert told == {
        "dry_run": True,
        "would_forget": 1,
        "overflow": False,
        "memories": [{"id": id, "type": "note", "preview": "number 0"}],
    }
    assert len(memory.list()) == 1


def test_a_dry_run_lists_a_thousand_and_says_that_there_are_more(memory: Clew) -> None:
    fill(memory, PREVIEWS + 1, tags=("x",))
    told = memory.forget_many(Filter(tags=("x",)), dry_run=True)
    assert (told.count, told.overflow, len(told.memories)) == (PREVIEWS + 1, True, PREVIEWS)  # type: ignore


def test_a_hard_forget_of_everything_also_means_what_is_hidden(
    memory: Clew, clock: ToldClock, tmp_path: Path
) -> None:
    old = memory.remember("zqoldvk, superseded").id
    memory.remember("zqnewvk", supersedes=old)
    memory.forget(memory.remember("zqsoftvk, forgotten softly").id)
    memory.remember("zqworkingvk, expired", layer="working", expires_at=clock.time.replace(year=2027))
    clock.pass_by(days=700)
    assert len(memory.forget_many(everything=True, hard=True).ids) == 4
    assert traces(tmp_path, ["zqoldvk", "zqnewvk", "zqsoftvk", "zqworkingvk"]) == []


def test_a_soft_forget_of_everything_does_not_count_what_was_forgotten_before(memory: Clew) -> None:
    memory.forget(memory.remember("gone before").id)
    [id] = fill(memory, 1)
    assert memory.forget_many(everything=True).ids == (id,)

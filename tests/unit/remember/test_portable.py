"""What leaves a store comes back the same, once, and never over what is there."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clew.clew import Clew
from clew.errors import InvalidInput, NotFound
from clew.model.memory import Draft, Filter
from clew.model.scope import Identity, Reach, Scope
from clew.remember import portable, prepare
from clew.remember.imported import ImportReport
from clew.remember.line import draft_of, parse_object
from clew.remember.redact import redact
from toys import ToldClock, open_toy


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Clew]:
    with open_toy(tmp_path / "one.db") as opened:
        yield opened


@pytest.fixture
def other(tmp_path: Path) -> Iterator[Clew]:
    with open_toy(tmp_path / "two.db", clock=ToldClock()) as opened:
        opened.clock.pass_by(hours=1)  # type: ignore[attr-defined]
        yield opened


def exported(memory: Clew, **options: Any) -> str:
    file = io.StringIO()
    memory.export(file, **options)
    return file.getvalue()


def imported(memory: Clew, path: Path, text: str | bytes, **options: Any) -> ImportReport:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return memory.import_file(path, **options)


def lines(*memories: dict[str, Any]) -> str:
    return "".join(json.dumps(fields) + "\n" for fields in memories)


def fill(memory: Clew) -> None:
    """One of every state a live row can be in."""
    first = memory.remember("We use MySQL", type="decision", upsert_key="db", scope=Scope(project="shop"))
    memory.remember("We use SQLite", type="decision", upsert_key="db", scope=Scope(project="shop"))
    memory.edit(first.id, tags=("old",))
    memory.remember("Ada prefers tabs", type="rule", scope=Scope(user="ada", agent="bot", session="s1"))
    memory.remember("Seen on the web", origin="web", metadata={"n": [1, {"k": None}]}, weight=0.5, confidence=0.25)
    memory.remember("For a while", expires_at=memory.now())
    memory.remember("Once true", invalid_at=memory.now() + timedelta(seconds=1))
    memory.remember("Doing it now", layer="working", paths=("src/é.py",), title="Ünïcode", category="x")


# -- export ----------------------------------------------------------------------------------------


def test_the_header_counts_and_signs_the_lines(memory: Clew) -> None:
    fill(memory)
    header, _newline, body = exported(memory).partition("\n")
    assert json.loads(header) == {
        "format": "clew-memories",
        "version": 1,
        "count": 7,
        "checksum": "sha256:" + sha256(body.encode()).hexdigest(),
    }
    assert body.count("\n") == 7


def test_an_empty_store_exports_a_header(memory: Clew) -> None:
    assert json.loads(exported(memory))["count"] == 0


def test_what_was_forgotten_is_not_exported(memory: Clew) -> None:
    memory.forget(memory.remember("Let it go").id)
    assert "Let it go" not in exported(memory)


PLACES = {
    "shared": Scope(),
    "of shop": Scope(project="shop"),
    "of ada": Scope(user="ada"),
    "of ada in shop": Scope(project="shop", user="ada"),
    "of bob in shop": Scope(project="shop", user="bob"),
}


@pytest.mark.parametrize(
    ("scope", "all_projects", "found"),
    [
        (Scope(project="shop"), False, {"of shop"}),
        (Scope(), False, {"shared"}),
        (Scope(), True, {"shared", "of shop"}),
        (Scope(user="ada"), False, {"of ada"}),
        (Scope(user="ada"), True, {"of ada", "of ada in shop"}),
        (Scope(project="shop", user="ada"), False, {"of ada in shop"}),
        (None, False, set(PLACES)),
    ],
)
def test_a_scope_narrows_an_export_to_what_belongs_to_it(
    memory: Clew, scope: Scope | None, all_projects: bool, found: set[str]
) -> None:
    for content, place in PLACES.items():
        memory.remember(content, scope=place)
    text = exported(memory, scope=scope, all_projects=all_projects)
    assert {json.loads(line)["content"] for line in text.splitlines()[1:]} == found


def test_a_project_exported_by_one_of_its_users_holds_what_is_shared_and_their_own(memory: Clew) -> None:
    for content, place in PLACES.items():
        memory.remember(content, scope=place)
    text = exported(memory, scope=Scope(project="shop"), identity=Identity(user="bob", roles=("member",)))
    assert {json.loads(line)["content"] for line in text.splitlines()[1:]} == {"of shop", "of bob in shop"}


def test_someone_without_the_owners_role_exports_no_private_memories_of_others(memory: Clew) -> None:
    fill(memory)
    text = exported(memory, identity=Identity(user="bob", roles=()))
    assert "SQLite" in text
    assert "Ada" not in text


def test_the_export_tells_how_far_it_is(memory: Clew) -> None:
    fill(memory)
    seen: list[tuple[int, int]] = []
    memory.export(io.StringIO(), progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (7, 7)


# -- round trip ------------------------------------------------------------------------------------


def test_a_round_trip_changes_nothing(memory: Clew, other: Clew, tmp_path: Path) -> None:
    fill(memory)
    text = exported(memory)
    report = imported(other, tmp_path / "x.jsonl", text)
    assert (report.read, report.checksum, report.truncated, report.skipped) == (7, "ok", False, [])
    assert report.added == 7
    assert exported(other) == text


def test_a_second_run_adds_and_writes_nothing(memory: Clew, other: Clew, tmp_path: Path) -> None:
    fill(memory)
    text = exported(memory)
    imported(other, tmp_path / "x.jsonl", text)
    before = other.stats().last_change
    report = imported(other, tmp_path / "x.jsonl", text)
    assert (report.added, report.known, report.conflicts) == (0, 7, 0)
    assert other.stats().last_change == before


def test_a_working_memory_whose_time_is_over_is_not_brought_back_each_time(
    memory: Clew, other: Clew, tmp_path: Path
) -> None:
    fill(memory)
    other.clock.pass_by(days=2)  # type: ignore[attr-defined]
    assert imported(other, tmp_path / "x.jsonl", exported(memory)).added == 7
    assert imported(other, tmp_path / "x.jsonl", exported(memory)).added == 0
    assert "Doing it now" not in exported(other)


def test_importing_into_the_store_itself_finds_everything_known(memory: Clew, tmp_path: Path) -> None:
    fill(memory)
    report = imported(memory, tmp_path / "x.jsonl", exported(memory))
    assert (report.added, report.known) == (0, 7)


def test_an_interrupted_import_goes_on_when_run_again(memory: Clew, other: Clew, tmp_path: Path) -> None:
    fill(memory)
    text = exported(memory)
    half = "".join(text.splitlines(keepends=True)[:4])
    assert imported(other, tmp_path / "x.jsonl", half).added == 3
    report = imported(other, tmp_path / "x.jsonl", text)
    assert (report.added, report.known) == (4, 3)


def test_many_batches_arrive(memory: Clew, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(portable, "LOOK_AHEAD", 3)
    monkeypatch.setattr(portable, "BATCH", 1)
    text = lines(*({"content": f"Statement number {number}", "project": f"p{number % 2}"} for number in range(10)))
    seen: list[tuple[int, int]] = []
    path = tmp_path / "x.jsonl"
    path.write_text(text)
    assert memory.import_file(path, progress=lambda done, total: seen.append((done, total))).added == 10
    assert len(seen) == 4
    assert seen[-1] == (len(text), len(text))


def test_what_was_forgotten_softly_comes_back(memory: Clew, tmp_path: Path) -> None:
    id = memory.remember("Worth having again").id
    text = exported(memory)
    memory.forget(id)
    assert imported(memory, tmp_path / "x.jsonl", text).added == 1
    assert memory.show(id).content == "Worth having again"


# -- what is in the way ----------------------------------------------------------------------------


def test_the_same_id_with_another_text_is_a_conflict_and_stays(memory: Clew, tmp_path: Path) -> None:
    id = memory.remember("What is here").id
    report = imported(memory, tmp_path / "x.jsonl", lines({"id": id, "content": "What the file says"}))
    assert (report.conflicts, report.added) == (1, 0)
    assert memory.show(id).content == "What is here"


@pytest.mark.parametrize("dry_run", [True, False])
def test_an_id_of_another_users_private_memory_looks_like_a_free_one(
    memory: Clew, tmp_path: Path, dry_run: bool
) -> None:
    taken, free = memory.remember("Mine alone", scope=Scope(user="ada")).id, "mem_" + 26 * "0"
    bob = Identity(user="bob", roles=("member",))
    text = lines(*({"id": id, "content": f"Bob's {n}"} for n, id in enumerate((taken, free))))
    assert imported(memory, tmp_path / "x.jsonl", text, identity=bob, dry_run=dry_run).added == 2
    for id in (taken, free):
        with pytest.raises(NotFound):
            memory.show(id, identity=bob)
    again = imported(memory, tmp_path / "x.jsonl", text, identity=bob)
    assert (again.known, again.added) == ((0, 2) if dry_run else (2, 0))


def test_another_live_memory_with_the_same_upsert_key_is_a_conflict(memory: Clew, tmp_path: Path) -> None:
    memory.remember("Here it is 1", upsert_key="k")
    text = lines({"content": "There it is 2", "upsert_key": "k"})
    assert imported(memory, tmp_path / "x.jsonl", text, dry_run=True).conflicts == 1
    assert imported(memory, tmp_path / "x.jsonl", text).conflicts == 1
    assert [found.content for found in memory.list(Filter(superseded=True))] == ["Here it is 1"]


def test_a_key_whose_holder_ends_later_is_taken_until_then(memory: Clew, tmp_path: Path) -> None:
    memory.remember("Here it is 1", upsert_key="k", invalid_at=memory.now() + timedelta(days=2))
    before = exported(memory)
    text = lines({"content": "There it is 2", "upsert_key": "k"})
    assert imported(memory, tmp_path / "x.jsonl", text, dry_run=True).conflicts == 1
    assert imported(memory, tmp_path / "x.jsonl", text).conflicts == 1
    assert exported(memory) == before
    later = {"content": "Then it is 3", "upsert_key": "k", "valid_at": str(memory.now() + timedelta(days=3))}
    assert imported(memory, tmp_path / "x.jsonl", lines(later)).added == 1


@pytest.mark.parametrize("content", ["There it is 2", "Here it is 1"])
def test_what_ends_later_does_not_take_a_key_over(memory: Clew, tmp_path: Path, content: str) -> None:
    memory.remember("Here it is 1", upsert_key="k")
    before = exported(memory)
    text = lines({"content": content, "upsert_key": "k", "invalid_at": str(memory.now() + timedelta(days=2))})
    assert imported(memory, tmp_path / "x.jsonl", text, dry_run=True).conflicts == 1
    assert imported(memory, tmp_path / "x.jsonl", text).conflicts == 1
    assert exported(memory) == before


def test_what_was_replaced_before_it_held_comes_back_the_same(memory: Clew, other: Clew, tmp_path: Path) -> None:
    memory.remember("It will be 1", upsert_key="k", valid_at=memory.now() + timedelta(days=2))
    memory.remember("It is 2", upsert_key="k")
    imported(other, tmp_path / "x.jsonl", exported(memory))
    assert exported(other) == exported(memory)


def test_history_of_a_key_does_not_supersede_the_live_one(memory: Clew, tmp_path: Path) -> None:
    live = memory.remember("Now it is 2", upsert_key="k").id
    text = lines({"content": "It was 1", "upsert_key": "k", "superseded_by": live, "invalid_at": "2026-01-02",
                  "at": "2026-01-01"})  # fmt: skip
    assert imported(memory, tmp_path / "x.jsonl", text).added == 1
    assert imported(memory, tmp_path / "x.jsonl", text).added == 0
    assert memory.show(live).superseded_by is None


def test_one_id_twice_in_a_file_is_judged_in_order(memory: Clew, tmp_path: Path) -> None:
    text = lines(*({"id": "a1", "content": words} for words in ("said first", "said first", "said later")))
    for dry_run in (True, False):
        report = imported(memory, tmp_path / "x.jsonl", text, dry_run=dry_run)
        assert (report.added, report.known, report.conflicts) == (1, 1, 1)


def test_what_a_file_calls_replaced_is_over_also_where_it_does_not_say_since_when(
    memory: Clew, tmp_path: Path
) -> None:
    old = {"id": "old", "content": "The port is 1", "superseded_by": "new"}
    imported(memory, tmp_path / "x.jsonl", lines(old, {"id": "new", "content": "The port is 2"}))
    assert [found.memory.id for found in memory.recall("which port?").results] == ["new"]
    assert [found.id for found in memory.list()] == ["new"]


def test_what_others_wrote_meanwhile_costs_only_the_line_it_hits(
    memory: Clew, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.remember(Draft(content="Mine alone", id="a1"), scope=Scope(user="ada"))
    monkeypatch.setattr(portable, "_verdict", lambda tx, entry, now: "new")  # as if it had come after the look
    text = lines({"content": "before it"}, {"id": "a1", "content": "taken"}, {"content": "after it"})
    report = imported(memory, tmp_path / "x.jsonl", text)
    assert (report.added, report.conflicts) == (2, 1)


# -- bad files -------------------------------------------------------------------------------------

BAD = [
    (b"{not json}", "LINE_NOT_JSON"),
    (b"[1, 2]", "LINE_NOT_AN_OBJECT"),
    (b'{"content": "\xff\xfe"}', "LINE_NOT_UTF8"),
    (b'{"type": "note"}', "MEMORY_CONTENT_REQUIRED"),
    (b'{"content": "  "}', "MEMORY_CONTENT_REQUIRED"),
    (b'{"content": 5}', "MEMORY_FIELD_INVALID"),
    (b'{"content": "x y", "type": "poem"}', "MEMORY_TYPE_INVALID"),
    (b'{"content": "x y", "trust": "total"}', "MEMORY_TRUST_INVALID"),
    (b'{"content": "x y", "tags": "a"}', "MEMORY_FIELD_INVALID"),
    (b'{"content": "x y", "at": "yesterday"}', "TIME_INVALID"),
    (b'{"content": "x y", "weight": NaN}', "LINE_NOT_JSON"),
    (b'{"content": "x y", "weight": 1e999}', "MEMORY_NUMBER_INVALID"),
    (b'{"content": "x y", "weight": 1' + b"0" * 400 + b"}", "MEMORY_NUMBER_INVALID"),
    (b'{"content": "x y", "weight": 1' + b"0" * 5000 + b"}", "LINE_NOT_JSON"),
    (b'{"content": "x y", "version": 1e3}', "MEMORY_NUMBER_INVALID"),
    (b'{"content": "x y", "id": "a b"}', "MEMORY_ID_INVALID"),
    (b'{"content": "x y", "project": "a\\nb"}', "PROJECT_ID_INVALID"),
    (b'{"content": "x y", "metadata": ' + b'{"a":' * 50 + b"1" + b"}" * 51, "MEMORY_METADATA_INVALID"),
    (b'{"content": "x y", "metadata": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "LINE_NOT_JSON"),
]


@pytest.mark.parametrize(("line", "code"), BAD, ids=range(len(BAD)))
def test_a_bad_line_is_skipped_with_its_number_and_the_rest_goes_on(
    memory: Clew, tmp_path: Path, line: bytes, code: str
) -> None:
    good = b'{"content": "good one"}\n'
    report = imported(memory, tmp_path / "x.jsonl", good + line + b"\n" + b'{"content": "good two"}\n')
    assert (report.added, report.skipped, report.truncated) == (2, [(2, code)], False)


def test_a_line_too_long_is_passed_over_without_being_kept(
    memory: Clew, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(portable, "line_limit", lambda policy: 100)
    text = lines({"content": "short one"}, {"content": "long " * 100}, {"content": "short two"})
    report = imported(memory, tmp_path / "x.jsonl", text)
    assert (report.added, report.skipped) == (2, [(2, "LINE_TOO_LONG")])


@pytest.mark.parametrize("ensure_ascii", [True, False])
def test_the_longest_memory_allowed_fits_on_a_line_however_it_is_spelled(
    tmp_path: Path, ensure_ascii: bool
) -> None:
    metadata = {"k": "😀" * 8_000}
    with open_toy(tmp_path / "large.db", remember={"max_chars": 1_000_000}) as memory:
        for character in ("é", "😀", "\x01", '"'):
            fields = {"id": "a", "content": character * 999_998 + "x", "metadata": metadata}
            text = json.dumps(fields, ensure_ascii=ensure_ascii) + "\n"
            report = imported(memory, tmp_path / "x.jsonl", text, dry_run=True)
            assert (report.added, report.skipped) == (1, [])


@pytest.mark.parametrize("cut", [1, 20, 40])
def test_a_truncated_last_line_is_tolerated_and_said(memory: Clew, other: Clew, tmp_path: Path, cut: int) -> None:
    fill(memory)
    report = imported(other, tmp_path / "x.jsonl", exported(memory).encode()[: -cut - 1])
    assert (report.added, report.truncated, report.checksum, report.skipped) == (6, True, "mismatch", [])


def test_a_file_that_ends_between_lines_is_truncated_too(memory: Clew, other: Clew, tmp_path: Path) -> None:
    fill(memory)
    report = imported(other, tmp_path / "x.jsonl", "".join(exported(memory).splitlines(keepends=True)[:-1]))
    assert (report.added, report.truncated) == (6, True)


def test_what_did_not_come_in_is_told_with_the_next_move(memory: Clew, tmp_path: Path) -> None:
    told = imported(memory, tmp_path / "x.jsonl", '{"content": "good"}\n{bad\n{"content": "cut o').as_json()
    assert told["next"] == (
        "correct line 2 and import the file again; the file ends in line 3: import it again when it is complete"
    )
    assert "next" not in imported(memory, tmp_path / "x.jsonl", '{"content": "good"}\n').as_json()


def test_a_missing_line_end_alone_is_not_a_truncation(memory: Clew, other: Clew, tmp_path: Path) -> None:
    fill(memory)
    report = imported(other, tmp_path / "x.jsonl", exported(memory).rstrip("\n"))
    assert (report.added, report.truncated, report.checksum) == (7, False, "ok")


def test_a_changed_line_is_noticed(memory: Clew, other: Clew, tmp_path: Path) -> None:
    fill(memory)
    report = imported(other, tmp_path / "x.jsonl", exported(memory).replace("SQLite", "Oracle"))
    assert (report.added, report.checksum) == (7, "mismatch")


def test_windows_line_ends_blank_lines_and_a_byte_order_mark_do_no_harm(
    memory: Clew, other: Clew, tmp_path: Path
) -> None:
    fill(memory)
    text = "\ufeff" + exported(memory).replace("\n", "\r\n\r\n")
    report = imported(other, tmp_path / "x.jsonl", text)
    assert (report.added, report.checksum, report.skipped) == (7, "ok", [])


def test_half_a_character_becomes_a_question_mark(memory: Clew, tmp_path: Path) -> None:
    line = '{"content": "broken \\ud83d here", "project": "p\\ud83d", "metadata": {"k\\ud83d": "\\ud83d"}}\n'
    assert imported(memory, tmp_path / "x.jsonl", line).added == 1


@pytest.mark.parametrize(
    ("header", "code"),
    [
        ({"format": "clew-memories", "version": 2}, "IMPORT_NEWER"),
        ({"format": "other", "version": 1}, "IMPORT_FORMAT_UNKNOWN"),
        ({"format": "clew-memories"}, "IMPORT_FORMAT_UNKNOWN"),
    ],
)
def test_a_foreign_or_newer_header_is_refused(
    memory: Clew, tmp_path: Path, header: dict[str, Any], code: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        imported(memory, tmp_path / "x.jsonl", lines(header, {"content": "not to be stored"}))
    assert refused.value.code == code
    assert memory.list() == []


def test_a_missing_file_and_a_database_are_refused(memory: Clew, tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        memory.import_file(tmp_path / "nothing.jsonl")
    with pytest.raises(InvalidInput) as refused:
        memory.import_file(tmp_path / "one.db")
    assert refused.value.code == "IMPORT_NOT_TEXT"


def test_a_directory_is_refused_by_name_and_told_what_to_do(memory: Clew, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="is a directory") as refused:
        memory.import_file(tmp_path)
    assert refused.value.code == "IMPORT_NOT_A_FILE"
    assert refused.value.next and "CLAUDE.md" in refused.value.next


@pytest.mark.parametrize(("depth", "is_taken"), [(32, True), (33, False)])
def test_metadata_may_be_as_deep_in_a_file_as_anywhere(
    memory: Clew, tmp_path: Path, depth: int, is_taken: bool
) -> None:
    metadata: dict[str, Any] = {"leaf": 1}
    for _ in range(depth - 1):
        metadata = {"a": metadata}
    text = lines({"id": "a", "content": "From a file", "metadata": metadata})
    report = imported(memory, tmp_path / "x.jsonl", text)
    if is_taken:
        assert memory.show(memory.remember("By hand", metadata=metadata).id).metadata == metadata
        assert report.added == 1
        return
    with pytest.raises(InvalidInput) as refused:
        memory.remember("By hand", metadata=metadata)
    assert report.skipped == [(1, refused.value.code)] == [(1, "MEMORY_METADATA_INVALID")]


def test_large_metadata_is_refused_before_anything_is_looked_for_in_it(
    memory: Clew, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []
    monkeypatch.setattr(prepare, "redact", lambda text: seen.append(text) or redact(text))
    with pytest.raises(InvalidInput) as refused:
        memory.remember("Short key words", metadata={"k": "large " * 3_000})
    assert (refused.value.code, seen) == ("MEMORY_METADATA_INVALID", ["Short key words"])


@settings(deadline=None)
@given(line=st.binary(max_size=200) | st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["content", "tags", "at", "metadata", "weight", "version", "parents", "trust"]), inner),
).map(lambda value: json.dumps(value).encode()))  # fmt: skip
def test_a_line_is_a_draft_or_an_invalid_input_and_nothing_else(line: bytes) -> None:
    try:
        assert isinstance(draft_of(parse_object(line), keeps_trust=False, now=ToldClock().now()), Draft)
    except InvalidInput as error:
        assert error.code


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.fixed_dictionaries(
    {"content": st.text(min_size=1, max_size=40)},
    optional={"type": st.sampled_from(["note", "fact"]), "project": st.sampled_from(["a", "b"]),
              "invalid_at": st.just("2030-01-01T00:00:00Z"), "expires_at": st.just("2020-01-01T00:00:00Z"),
              "layer": st.sampled_from(["working", "long_term"]), "id": st.sampled_from(["i1", "i2", "i3"])},
), max_size=8))  # fmt: skip
def test_whatever_the_file_a_second_run_adds_nothing(tmp_path: Path, memories: list[dict[str, Any]]) -> None:
    (tmp_path / "again.db").unlink(missing_ok=True)
    with open_toy(tmp_path / "again.db") as memory:
        preview = imported(memory, tmp_path / "x.jsonl", lines(*memories), dry_run=True)
        first = memory.import_file(tmp_path / "x.jsonl")
        second = memory.import_file(tmp_path / "x.jsonl")
    assert second.added == 0
    told, became = (
        (report.added, report.known, report.conflicts, report.quarantined) for report in (preview, first)
    )
    assert told == became


def test_a_preview_tells_what_would_be_kept_apart(memory: Clew, tmp_path: Path) -> None:
    text = lines({"content": "0\U000e0041\U000e0042"}, {"content": "Plain"})
    preview = imported(memory, tmp_path / "x.jsonl", text, dry_run=True)
    assert (preview.added, preview.quarantined) == (1, 1)
    done = memory.import_file(tmp_path / "x.jsonl")
    assert (done.added, done.quarantined) == (1, 1)


# -- whose it is and how far it is trusted ---------------------------------------------------------


def test_the_owners_own_export_keeps_its_trust(memory: Clew, other: Clew, tmp_path: Path) -> None:
    id = memory.remember("The user said so").id
    imported(other, tmp_path / "x.jsonl", exported(memory))
    assert (other.show(id).trust, other.show(id).origin) == ("user", "user")


def test_a_file_without_our_header_is_trusted_like_any_file(memory: Clew, tmp_path: Path) -> None:
    text = lines({"id": "a", "content": "Trust me, I am a file", "trust": "user"}, {"id": "b", "content": "Plain"})
    imported(memory, tmp_path / "x.jsonl", text)
    assert (memory.show("a").trust, memory.show("b").trust, memory.show("b").origin) == ("tool", "tool", "import")


def test_an_export_that_was_changed_is_trusted_like_any_file(memory: Clew, other: Clew, tmp_path: Path) -> None:
    told = memory.remember("The user said so").id
    seen = memory.remember("Seen on the web", origin="web").id
    report = imported(other, tmp_path / "x.jsonl", exported(memory).replace("said so", "did not"))
    assert (report.added, report.checksum) == (2, "mismatch")
    assert (other.show(told).trust, other.show(seen).trust) == ("tool", "untrusted")


def test_a_label_that_was_lowered_comes_back_so_from_the_owners_own_export_alone(
    memory: Clew, other: Clew, tmp_path: Path
) -> None:
    id = memory.remember("PCI scope: keep 5432 closed", classification="internal").id
    held = memory.remember("the ssn is 123-45-6789").id
    imported(other, tmp_path / "x.jsonl", exported(memory))
    assert (other.show(id).classification, other.show(held).classification) == ("internal", "restricted")
    imported(memory, tmp_path / "y.jsonl", lines({"id": "a", "content": "PII is ours", "classification": "public"}))
    assert memory.show("a").classification == "restricted"


@pytest.mark.parametrize("checksum", [None, "sha256:", "sha256:" + "0" * 64, 5, True])
def test_a_header_alone_gives_no_trust(memory: Clew, tmp_path: Path, checksum: object) -> None:
    header = {"format": "clew-memories", "version": 1, "count": 1, "checksum": checksum}
    text = lines(header, {"id": "a", "content": "Trust me, I am a file", "origin": "user", "trust": "user"})
    report = imported(memory, tmp_path / "x.jsonl", "\n" + text)
    assert (report.added, report.checksum, memory.show("a").trust) == (1, "mismatch", "tool")


def test_an_export_cannot_claim_more_trust_than_its_origin_gives(memory: Clew, tmp_path: Path) -> None:
    body = lines({"id": "a", "content": "Trust me, I am a page", "origin": "web", "trust": "user"})
    digest = sha256(body.encode()).hexdigest()
    header = lines({"format": "clew-memories", "version": 1, "count": 1, "checksum": f"sha256:{digest}"})
    assert imported(memory, tmp_path / "x.jsonl", header + body).checksum == "ok"
    assert memory.show("a").trust == "untrusted"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes")
def test_an_export_through_a_pipe_arrives_but_cannot_be_checked_first(
    memory: Clew, other: Clew, tmp_path: Path
) -> None:
    id = memory.remember("The user said so").id
    text = exported(memory)
    os.mkfifo(tmp_path / "pipe")
    with ThreadPoolExecutor() as threads:
        threads.submit((tmp_path / "pipe").write_text, text)
        report = other.import_file(tmp_path / "pipe")
    assert (report.added, report.checksum, other.show(id).trust) == (1, "ok", "tool")


def test_someone_without_the_owners_role_cannot_import_trust_or_for_others(
    memory: Clew, other: Clew, tmp_path: Path
) -> None:
    memory.remember("The user said so")
    memory.remember("Private to ada", scope=Scope(user="ada"))
    bob = Identity(user="bob", roles=())
    report = imported(other, tmp_path / "x.jsonl", exported(memory), identity=bob)
    assert [one.trust for one in other.list()] == ["tool"]
    assert report.skipped == [(3, "USER_DENIED")]


def test_the_org_is_the_importers_and_a_given_scope_replaces_the_project(
    memory: Clew, other: Clew, tmp_path: Path
) -> None:
    fill(memory)
    identity = Identity(org="acme")
    scope = Scope(org="acme", project="new")
    imported(other, tmp_path / "x.jsonl", exported(memory), identity=identity, scope=scope)
    found = other.list(Filter(superseded=True), scope=scope, identity=identity)
    assert {(memory.org, memory.project) for memory in found} == {("acme", "new")}


def test_a_memory_with_parents_comes_without_them(memory: Clew, other: Clew, tmp_path: Path) -> None:
    parent = memory.remember("From the web", origin="web", scope=Scope(project="p")).id
    child = memory.remember("A summary", parents=(parent,), scope=Scope(project="p")).id
    text = "".join(line + "\n" for line in exported(memory).splitlines() if f'"id": "{parent}"' not in line)
    imported(other, tmp_path / "x.jsonl", text)
    assert (other.show(child).parents, other.show(child).trust) == ((parent,), "untrusted")


def test_told_where_to_go_an_import_copies_what_is_elsewhere_already(memory: Clew, tmp_path: Path) -> None:
    fill(memory)
    text = exported(memory)
    file, scope = tmp_path / "x.jsonl", Scope(project="new")
    assert imported(memory, file, text, scope=scope, dry_run=True).added == 7
    assert (imported(memory, file, text, scope=scope).added, exported(memory).count("We use SQLite")) == (7, 2)
    again = imported(memory, file, text, scope=scope)
    assert (again.added, again.known, again.conflicts) == (0, 7, 0)
    assert imported(memory, file, text).known == 7


def test_a_copy_keeps_its_id_where_that_is_free(memory: Clew, other: Clew, tmp_path: Path) -> None:
    id = memory.remember("Deploy from main", scope=Scope(project="shop")).id
    imported(other, tmp_path / "x.jsonl", exported(memory), scope=Scope(project="new"))
    assert other.show(id).project == "new"
    imported(other, tmp_path / "x.jsonl", exported(memory), scope=Scope(project="newer"))
    assert {entry.project for entry in other.list(all_projects=True)} == {"new", "newer"}


def test_what_names_each_other_in_a_file_does_so_where_it_is_copied(memory: Clew, tmp_path: Path) -> None:
    shop, new = Scope(project="shop"), Scope(project="new")
    parent = memory.remember("We use MySQL", type="decision", upsert_key="db", scope=shop).id
    memory.remember("We use SQLite", type="decision", upsert_key="db", parents=(parent,), scope=shop)
    imported(memory, tmp_path / "x.jsonl", exported(memory), scope=new)
    old, now = sorted(memory.list(Filter(superseded=True), scope=new), key=lambda entry: entry.content)
    assert (old.superseded_by, now.parents, old.id == parent) == (now.id, (old.id,), False)


def test_a_copy_that_was_changed_since_is_a_conflict_with_a_next_move(memory: Clew, tmp_path: Path) -> None:
    memory.remember("Deploy from main", scope=Scope(project="shop"))
    text, new = exported(memory), Scope(project="new")
    imported(memory, tmp_path / "x.jsonl", text, scope=new)
    [copy] = memory.list(scope=new)
    memory.edit(copy.id, content="Deploy from a branch")
    report = imported(memory, tmp_path / "x.jsonl", text, scope=new).as_json()
    assert (report["conflicts"], report["taken"]) == (1, [{"line": 2, "id": copy.id}])
    assert f"clew show {copy.id}" in report["next"]


def test_someone_without_the_owners_role_copies_what_they_may_read_once(memory: Clew, tmp_path: Path) -> None:
    memory.remember("Deploy from main", scope=Scope(project="shop"))
    for added in (1, 0):
        who = {"identity": Identity(user="bob", roles=()), "scope": Scope(project="new")}
        assert imported(memory, tmp_path / "x.jsonl", exported(memory), **who).added == added


def test_someone_without_the_owners_role_imports_history_once_and_in_one_piece(
    memory: Clew, other: Clew, tmp_path: Path
) -> None:
    old = memory.remember("We use MySQL", type="decision", upsert_key="db").id
    memory.remember("We use SQLite", type="decision", upsert_key="db", parents=(old,))
    bob = Identity(user="bob", roles=("member",))
    for added in (2, 0, 0):
        report = imported(other, tmp_path / "x.jsonl", exported(memory), identity=bob)
        assert (report.added, report.known, report.conflicts) == (added, 2 - added, 0)
    was, now = sorted(other.list(Filter(superseded=True)), key=lambda entry: entry.content)
    assert (was.superseded_by, now.parents, was.id == old) == (now.id, (was.id,), False)


def test_secrets_in_a_file_are_masked_and_still_known_the_second_time(memory: Clew, tmp_path: Path) -> None:
    text = lines({"id": "k1", "content": "the key is AKIAIOSFODNN7EXAMPLE for now"})
    assert imported(memory, tmp_path / "x.jsonl", text).added == 1
    assert "AKIA" not in memory.show("k1").content
    assert imported(memory, tmp_path / "x.jsonl", text).known == 1


@pytest.mark.parametrize("name", ["x.jsonl", "x.JSON", "x.ndjson"])
@pytest.mark.parametrize("text", ["this is not { json\n", '[{"content": "in a list"}]', "- A bullet\n"])
def test_a_file_called_json_is_never_notes(memory: Clew, tmp_path: Path, name: str, text: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        imported(memory, tmp_path / name, text)
    assert caught.value.code == "IMPORT_FORMAT_UNKNOWN" and "clew export" in caught.value.next
    assert json.loads(exported(memory))["count"] == 0


def test_an_empty_file_adds_nothing(memory: Clew, tmp_path: Path) -> None:
    assert imported(memory, tmp_path / "x.jsonl", "").read == 0


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "utf-16-le"])
def test_notes_that_are_not_utf8_are_refused_whole(memory: Clew, tmp_path: Path, encoding: str) -> None:
    mark = "\ufeff" if encoding == "utf-16-le" else ""
    with pytest.raises(InvalidInput) as caught:
        imported(memory, tmp_path / "x.md", f"{mark}- Before the café\n- Behind the café\n".encode(encoding))
    assert caught.value.code == "INVALID_UTF8" and "iconv" in caught.value.next
    assert json.loads(exported(memory))["count"] == 0


def test_a_byte_order_mark_before_notes_does_no_harm(memory: Clew, tmp_path: Path) -> None:
    imported(memory, tmp_path / "x.md", "- Behind the café\n".encode("utf-8-sig"))
    assert [entry.content for entry in memory.list()] == ["Behind the café"]


# -- preview and notes -----------------------------------------------------------------------------


def test_a_dry_run_counts_and_stores_nothing(memory: Clew, other: Clew, tmp_path: Path) -> None:
    fill(memory)
    text = exported(memory) + "{bad\n"
    report = imported(other, tmp_path / "x.jsonl", text, dry_run=True)
    assert (report.added, report.skipped, report.as_json()["dry_run"]) == (7, [(9, "LINE_NOT_JSON")], True)
    assert exported(other).count("\n") == 1


def test_notes_are_imported_as_imported_text(memory: Clew, tmp_path: Path) -> None:
    scope = Scope(project="shop")
    report = imported(
        memory, tmp_path / "CLAUDE.md", "# Rules\n\n- Always use tabs\n- Never push it\n", scope=scope
    )
    assert (report.read, report.added, report.checksum) == (2, 2, "absent")
    [_never, always] = memory.list(scope=scope)
    assert (always.type, always.origin, always.trust, always.project) == ("rule", "import", "tool", "shop")
    assert imported(memory, tmp_path / "CLAUDE.md", "- Always use tabs\n", scope=scope).known == 1


def everything(memory: Clew) -> str:
    return "\n".join(json.dumps(found.as_json()) for found in memory.list())


def test_private_parts_of_notes_are_left_out_and_counted(memory: Clew, tmp_path: Path) -> None:
    report = imported(memory, tmp_path / "AGENTS.md", "Some words here.\n\n<private>do not keep this</private>\n")
    assert (report.read, report.added, report.private, report.skipped) == (1, 1, 1, [])
    assert report.as_json()["private"] == 1


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_a_private_part_over_many_paragraphs_is_left_out_whole(memory: Clew, tmp_path: Path, end: str) -> None:
    text = (
        "# Notes\n\n- Before it all\n\n<private>first hidden words\n\n- second hidden words\n- third hidden words\n"
        "\n## Hidden title\n\nfourth hidden words\n</private>\n\n- After it all\n"
    )
    assert imported(memory, tmp_path / "AGENTS.md", text.replace("\n", end)).added == 2
    assert {(found.content, found.title, found.metadata["line"]) for found in memory.list()} == {
        ("Before it all", "Notes", 3),
        ("After it all", "Notes", 15),
    }
    assert "hidden" not in everything(memory).lower()


def test_a_private_part_left_open_hides_the_rest_of_the_notes(memory: Clew, tmp_path: Path) -> None:
    report = imported(memory, tmp_path / "x.md", "Before it all.\n\n<private>hidden words\n\nMore hidden words.\n")
    assert (report.added, report.private) == (1, 1)
    assert "hidden" not in everything(memory)


def test_a_private_key_over_many_paragraphs_is_masked_whole(memory: Clew, tmp_path: Path) -> None:
    body = "\n".join("aB3dE5fG7hJ9kL2m" * 4 for _ in range(150))  # longer than one memory may be
    key = f"-----BEGIN RSA PRIVATE KEY-----\n{body}\n\n{body}\n-----END RSA PRIVATE KEY-----"
    report = imported(memory, tmp_path / "x.md", f"- Deploy with this:\n{key}\n\n- Tell nobody of it\n")
    assert report.added == 2
    assert {(found.content, found.classification, found.metadata["line"]) for found in memory.list()} == {
        ("Deploy with this: [masked:pem]", "restricted", 1),
        ("Tell nobody of it", "internal", 306),
    }


def test_a_secret_in_a_heading_makes_what_stands_under_it_restricted(memory: Clew, tmp_path: Path) -> None:
    key = "ghp_" + "a1B2" * 9
    imported(memory, tmp_path / "x.md", f"# Use {key}\n\n- Deploy on Fridays\n\n## Style\n\n- Sort the imports\n")
    assert {found.content: found.classification for found in memory.list()} == {
        "Deploy on Fridays": "restricted",
        "Sort the imports": "internal",
    }
    assert key.lower() not in everything(memory).lower()


@pytest.mark.parametrize("name", ["x.md", "x.rules", "x.txt"])
def test_the_project_of_the_notes_is_not_that_of_an_export(
    memory: Clew, other: Clew, tmp_path: Path, name: str
) -> None:
    memory.remember("Of the bank", scope=Scope(project="bank"))
    imported(other, tmp_path / name, exported(memory), notes_project="shop")
    imported(other, tmp_path / name, "Some words of notes.\n", notes_project="shop")
    imported(other, tmp_path / name, "More words of notes.\n", notes_project="shop", scope=Scope(project="given"))
    with other.store.read() as tx:
        found = {(entry.content, entry.project) for entry in tx.memories.all(Reach.everything("local"))}
    assert found == {
        ("Of the bank", "bank"),
        ("Some words of notes.", "shop"),
        ("More words of notes.", "given"),
    }

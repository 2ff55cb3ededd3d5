"""What was told without a daemon arrives in the store once."""

from __future__ import annotations

import json
import shutil
import threading
from pathlib import Path
from typing import Any

import pytest

from clew.clew import Clew
from clew.errors import Unavailable
from clew.model.host import Around, HookAnswer
from clew.surfaces.hooks import telling
from clew.surfaces.hooks.spool import ATTEMPTS, Ingested, Record, Spool
from clew.surfaces.hooks.telling import tell
from clew.surfaces.http import chores
from clew.surfaces.http.chores import before_hook, ingest

ID = "0123456789abcdef0123456789abcdef"


def event(directory: Path, **fields: str) -> bytes:
    told = {"session_id": "s1", "cwd": str(directory), "hook_event_name": "UserPromptSubmit", "prompt": "hello"}
    return json.dumps({**told, **fields}).encode()


def counted(memory: Clew) -> dict[str, int]:
    return {fired.event: fired.count for fired in memory.hosts.fired()}


def handed_to(memory: Clew, spool: Spool) -> None:
    spool.ingest(lambda record: _hand(memory, record))


def _hand(memory: Clew, record: Record) -> None:
    tell(memory, record.host, record.body, event_id=record.event_id, received_at=record.at, replayed=True)


def test_a_reader_that_died_before_removing_the_file_repeats_nothing(memory: Clew, tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    spool.append(ID, "claude-code", event(tmp_path))
    shutil.copy(tmp_path / "spool" / "events.spool", tmp_path / "spool" / "taken-00000000000000000001-7.spool")
    handed_to(memory, spool)
    assert counted(memory) == {"UserPromptSubmit": 1}


def test_an_event_that_was_answered_too_late_is_known_already(memory: Clew, tmp_path: Path) -> None:
    tell(memory, "claude-code", event(tmp_path), event_id=ID)
    spool = Spool(tmp_path)
    spool.append(ID, "claude-code", event(tmp_path))
    handed_to(memory, spool)
    assert counted(memory) == {"UserPromptSubmit": 1} and spool.is_empty()


def test_events_of_a_host_that_cannot_be_read_do_not_stop_the_others(memory: Clew, tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    for number, body in enumerate([b"\xff", b"[]", b'{"half', event(tmp_path)]):
        spool.append(f"{number:032x}", "claude-code", body)
    handed_to(memory, spool)
    assert counted(memory) == {"UserPromptSubmit": 1}


def test_a_store_that_is_closed_meanwhile_costs_no_event(memory: Clew, tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    spool.append(ID, "claude-code", event(tmp_path))
    memory.close()
    with pytest.raises(Unavailable):
        handed_to(memory, spool)
    found: list[Record] = []
    Spool(tmp_path).ingest(found.append)
    assert [record.event_id for record in found] == [ID]


def test_a_directory_that_does_not_answer_stops_neither_its_event_nor_others(
    memory: Clew, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    free, look = threading.Event(), telling.look_around

    def looks(host: str, raw: dict[str, Any], **given: Any) -> Around:
        if raw["cwd"] == "/dead":
            free.wait(60)
        return look(host, raw, **given)

    monkeypatch.setattr(telling, "look_around", looks)
    monkeypatch.setattr(telling, "LOOK_S", 0.05)
    tell(memory, "claude-code", event(Path("/dead")), event_id=ID)
    spool = Spool(tmp_path)
    for number, directory in enumerate([Path("/dead"), tmp_path]):
        spool.append(f"{number:032x}", "claude-code", event(directory, session_id=f"s{number}"))
    ingest(memory, spool)
    free.set()
    assert spool.is_empty() and counted(memory) == {"UserPromptSubmit": 3}
    assert [session.provider_session for session in memory.sessions.list()] == ["s1"]


def test_a_hook_waits_neither_for_another_reader_nor_long_for_the_spool(
    memory: Clew, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spool, free, begun = Spool(tmp_path), threading.Event(), threading.Event()
    spool.append(ID, "claude-code", event(tmp_path))

    def hang(*_words: Any, **_options: Any) -> None:
        begun.set()
        free.wait(60)

    with monkeypatch.context() as patched:
        patched.setattr(chores, "tell", hang)
        patched.setattr(chores, "FIRST_S", 0.05)
        before_hook(memory, spool)  # left, and still reading
        assert begun.is_set()
        before_hook(memory, spool)
        assert spool.ingest(hang) == Ingested()
    free.set()


def test_an_event_in_which_everything_hangs_is_set_aside(
    memory: Clew, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spool, free, told = Spool(tmp_path), threading.Event(), []
    for number in range(2):
        spool.append(f"{number:032x}", "claude-code", b"x")

    def hang(*_words: Any, event_id: str, **_options: Any) -> HookAnswer:
        if event_id == f"{0:032x}":
            free.wait(60)
        told.append(event_id)
        return HookAnswer()

    monkeypatch.setattr(chores, "tell", hang)
    monkeypatch.setattr(chores, "STUCK_S", 0.05)
    for _attempt in range(ATTEMPTS - 1):
        with pytest.raises(Unavailable):
            ingest(memory, spool)
    ingest(memory, spool)
    assert told == [f"{1:032x}"] and spool.is_empty()
    free.set()

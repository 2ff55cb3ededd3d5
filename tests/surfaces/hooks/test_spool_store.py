"""What was told without a daemon arrives in the store once."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from clew.clew import Clew
from clew.errors import Unavailable
from clew.surfaces.hooks.spool import Record, Spool
from clew.surfaces.hooks.telling import tell

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

"""`clew doctor --probe`: does what Clew says arrive? Plants canaries and follows them.

A canary is a short text with a nonce, queued for a session like anything that a user says to an agent. A fresh
session is played, event by event, the way a host would: if a daemon runs, by the very commands that stand in the
host's file (before they are installed, by those that would), else by the verb that the daemon calls. For each event
that takes a text: did the answer carry the nonce, and did the next event acknowledge it? That shows our half of the
way. Whether a host passes it on is seen in its transcript: given one, the probe tells which canaries it holds.
"""

from __future__ import annotations

import json
import re
import secrets
import subprocess
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from clew.errors import Unavailable
from clew.hosts.table import HOSTS
from clew.model.session import InjectDraft
from clew.model.upkeep import Check
from clew.surfaces.hooks.hosts import HOSTS as HOOKED
from clew.surfaces.hooks.hosts import Handler
from clew.surfaces.hooks.install import hook_words
from clew.surfaces.hooks.installed import faults, installed
from clew.surfaces.hooks.merge import words_of
from clew.surfaces.hooks.telling import tell

if TYPE_CHECKING:
    from clew import Clew

CLIENT_S = 5.0
TRIES = 4  # a start block may stand before the canary
MAX_BYTES = 64 << 20
_NONCE = re.compile(rb"clewprobe-[0-9a-f]{16}")
# Events of a host that take a text, and what they are told with. Nothing in them is worth keeping.
_CHANNELS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("SessionStart", {"source": "resume"}),
    ("UserPromptSubmit", {"prompt": "continue"}),
    ("PostToolUse", {"tool_name": "Read", "tool_input": {"file_path": "/dev/null"}, "tool_response": ""}),
    ("PostToolBatch", {"tool_calls": []}),
)

Send = Callable[[dict[str, Any]], str]


def probe(clew: Clew, host: str, *, directory: Path, client_of: Path | None = None) -> Iterator[Check]:
    """One finding for each event that could carry something. `client_of`: the home whose daemon is told."""
    try:
        send = _by_client(host, client_of, directory) if client_of else _by_verb(clew, host)
        yield from _played(clew, host, send, directory, way="hook client" if client_of else "verb")
    except Unavailable as error:
        yield Check(f"probe {host}", False, error.message, error.next)


def _played(clew: Clew, host: str, send: Send, directory: Path, *, way: str) -> Iterator[Check]:
    name = f"clewprobe-{secrets.token_hex(8)}"
    common = {"session_id": name, "cwd": str(directory)}
    send(_event("SessionStart", common, source="startup"))
    session = next((one.id for one in clew.sessions.list(limit=50) if one.provider_session == name), None)
    if session is None:
        yield Check(
            f"probe {host}", False, f"a session told by the {way} did not begin", "run: clew on, clew serve"
        )
        return
    table = HOSTS[host]

    def fire(name: str, *, fields: Mapping[str, Any]) -> str:
        return send(_event(name, common, **fields))

    for event, fields in _CHANNELS:
        if event in table.shows and not (event == "PostToolUse" and table.batch):
            yield _channel(clew, host, session, event, partial(fire, fields=fields))
    send(_event("SessionEnd", common, reason="other"))


def recorded(transcript: Path) -> Iterator[Check]:
    """Which canaries a transcript holds: what stands there was seen by the host."""
    try:
        with transcript.open("rb") as file:
            found = sorted({nonce.decode() for nonce in _NONCE.findall(file.read(MAX_BYTES))})
    except OSError as error:
        yield Check("probe transcript", False, f"it cannot be read: {error.strerror}", "check the name of the file")
        return
    if not found:
        yield Check("probe transcript", False, "it holds no canary", "plant one: clew doctor --probe --session ID")
    for nonce in found:
        yield Check("probe transcript", True, f"{nonce} is recorded")


def plant(clew: Clew, host_session: str) -> Check:
    """Queue a canary for a session that a real host runs now."""
    running = clew.sessions.list(state="running", limit=200)
    session = next((one for one in running if one.provider_session == host_session), None)
    if session is None:
        return Check("probe", False, "no session of a host with this id runs", "look at the ids: clew session list")
    nonce = _plant(clew, session.id)
    move = "let the agent take a step, then run: clew doctor --probe --transcript FILE"
    return Check("probe", True, f"{nonce} waits for the next event of {host_session}; {move}")


def _event(name: str, common: Mapping[str, Any], **fields: Any) -> dict[str, Any]:
    """Each is another one: the same event told twice is taken for one hook that is installed twice."""
    return {**common, **fields, "hook_event_name": name, "prompt_id": uuid4().hex}


def _channel(clew: Clew, host: str, session: str, event: str, fire: Callable[[str], str]) -> Check:
    nonce = _plant(clew, session)
    carried = any(nonce in fire(event) for _try in range(TRIES))
    fire("Stop")  # a later event says that the answer before it was printed
    row = next((one for one in clew.queue.list(session) if nonce in one.text), None)
    told = f"{event}: {'carried' if carried else 'not carried'}, receipt: {(row and row.receipt) or 'none'}"
    is_well = carried and row is not None and row.receipt == "consumed"
    return Check(f"probe {host}", is_well, told, "" if is_well else "look at the log of the daemon: clew serve")


def _plant(clew: Clew, session: str) -> str:
    nonce = f"clewprobe-{secrets.token_hex(8)}"
    text = f"This is a probe of Clew's hooks and needs no answer: {nonce}"
    clew.queue.offer(InjectDraft(session, text, kind="user"))
    return nonce


def _by_client(host: str, home: Path, directory: Path) -> Send:
    """Each event by the command that the host has for it."""
    places = installed(host, directory=directory)
    fault = next((fault for one in places for fault in faults(one, home)), None)
    if fault:
        raise _not_run(host, fault)
    usual: Handler = HOOKED[host].handler(hook_words(host, home), int(CLIENT_S))
    handlers = places[0].handlers if places else {}

    def send(raw: dict[str, Any]) -> str:
        handler = handlers.get(raw["hook_event_name"], usual)
        return _run(host, words_of(handler), json.dumps(raw).encode(), timeout_s=_seconds(handler))

    return send


def _run(host: str, words: list[str], event: bytes, *, timeout_s: float) -> str:
    try:
        told = subprocess.run(words, input=event, capture_output=True, timeout=timeout_s, check=False)
    except subprocess.TimeoutExpired:
        raise _not_run(host, f"{words[0]} did not end within {timeout_s:g} s") from None
    except OSError as error:
        raise _not_run(host, f"{words[0]} cannot be run: {error.strerror}") from None
    if told.returncode:
        raise _not_run(host, f"{words[0]} ended with status {told.returncode}")
    return told.stdout.decode("utf-8", "replace")


def _seconds(handler: Handler) -> float:
    given = handler.get("timeout")
    return min(float(given), CLIENT_S) if isinstance(given, int | float) and given > 0 else CLIENT_S


def _not_run(host: str, why: str) -> Unavailable:
    return Unavailable(f"the installed hook: {why}", code="HOOK_BROKEN", next=f"run: clew install {host}")


def _by_verb(clew: Clew, host: str) -> Send:
    def send(raw: dict[str, Any]) -> str:
        event_id = uuid4().hex
        text = tell(clew, host, raw, event_id=event_id).text
        if text:
            clew.hosts.seen(event_id)
        return text

    return send

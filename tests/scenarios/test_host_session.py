"""A session of Claude Code, told by a scripted host to the real hook client and the real daemon.

The host starts the client for every event as Claude Code would, hands it the recorded event on stdin, and takes
what it prints. What Clew made of it is then read from the store. One daemon serves the whole module, until a test
kills it.
"""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import apsw
import pytest

import clew_hook
from clew.clew import Clew
from clew.compose import compose
from clew.model.host import HostSession
from clew.model.scope import Scope
from clew.model.session import Inject
from clew.settings import load_settings
from fake_host import ABOUT_RETRY, recorded, shown

HINT = "src/ship/label.py prints labels in landscape only when the printer is a Zebra"
PATIENCE_S = 30.0
KILLS = 24


@dataclass
class Machine:
    """Somebody's computer: a home for Clew, repositories, and where Claude Code keeps its transcripts."""

    base: Path
    daemons: list[subprocess.Popen[bytes]] = field(default_factory=list)
    killed: set[int] = field(default_factory=set)

    @property
    def home(self) -> Path:
        return self.base / "home"

    @property
    def environ(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("CLEW_")}
        patient = {"CLEW_INJECT__LATENCY_MS": "10000"}  # a busy machine must not make a hint miss the limit
        return kept | patient | {"CLAUDE_CONFIG_DIR": str(self.base / "claude")}

    def start(self) -> None:
        words = [sys.executable, "-m", "clew", "serve", "--quiet", "--home", str(self.home)]
        self.daemons.append(subprocess.Popen(words, env=self.environ, cwd=self.base))
        self.wait()

    def wait(self) -> None:
        """Until a daemon listens that was not killed, whoever started it."""
        until(lambda: self.pid() not in (None, *self.killed))

    def pid(self) -> int | None:
        """Of the daemon that said last that it listens."""
        try:
            return int(json.loads((self.home / "run" / "daemon.json").read_text())["pid"])
        except (OSError, ValueError):
            return None

    def kill(self) -> None:
        """Without a word, as a machine that runs out of memory does it."""
        pid = self.pid()
        assert pid is not None
        self.killed.add(pid)
        os.kill(pid, signal.SIGKILL)
        for daemon in self.daemons:
            if daemon.pid == pid:
                daemon.wait()

    def hook(self, raw: dict[str, Any], *, stdout: int = subprocess.PIPE) -> subprocess.Popen[bytes]:
        words = [sys.executable, "-I", "-S", clew_hook.__file__, "claude-code", str(self.home)]
        process: subprocess.Popen[bytes] = subprocess.Popen(
            words, env=self.environ, cwd=raw["cwd"], stdin=subprocess.PIPE, stdout=stdout, stderr=subprocess.PIPE
        )
        assert process.stdin is not None
        process.stdin.write(json.dumps(raw).encode())
        process.stdin.close()
        process.stdin = None
        return process

    def tell_and_leave(self, raw: dict[str, Any]) -> None:
        """As a hook does that is killed as soon as it has spoken."""
        with self.told(raw):
            pass

    @contextmanager
    def told(self, raw: dict[str, Any]) -> Iterator[socket.socket]:
        """The connection of a hook that has spoken."""
        body = json.dumps(raw).encode()
        lines = ("POST /v1/hooks/claude-code HTTP/1.1", "Host: localhost", "Content-Type: application/json")
        head = "\r\n".join((*lines, f"Clew-Event-Id: {uuid4().hex}", f"Content-Length: {len(body)}", "", ""))
        run = os.open(self.home / "run", os.O_RDONLY)
        with socket.socket(socket.AF_UNIX) as link:
            link.connect(f"/proc/self/fd/{run}/clew.sock")
            os.close(run)
            link.sendall(head.encode() + body)
            link.settimeout(PATIENCE_S)
            yield link

    def opened(self) -> Clew:
        """The same store, beside the daemon."""
        return compose(load_settings(home=self.home, environ={}), self.home / "clew.db", in_background=False)


@dataclass
class Session:
    """One session of the host, in a repository of its own. What the agent reads goes into its transcript."""

    machine: Machine
    id: str = field(default_factory=lambda: str(uuid4()))
    shop: Path = field(init=False)

    def __post_init__(self) -> None:
        self.shop = self.machine.base / f"shop-{self.id}"
        (self.shop / ".git").mkdir(parents=True)
        (self.shop / ".git" / "HEAD").write_text("ref: refs/heads/fix/SHOP-31-retry-charge\n")
        with closing(self.machine.opened()) as clew:
            for text in (ABOUT_RETRY, HINT):
                clew.remember(text, scope=Scope(project=self.shop.name))

    @property
    def transcript(self) -> Path:
        return self.machine.base / "claude" / "projects" / "shop" / f"{self.id}.jsonl"

    def raw(self, fixture: str, **changes: Any) -> dict[str, Any]:
        where = {"cwd": str(self.shop), "transcript_path": str(self.transcript)}
        return recorded("claude-code", fixture) | {"session_id": self.id} | where | changes

    def tell(self, fixture: str, **changes: Any) -> str:
        return self.heard(self.machine.hook(self.raw(fixture, **changes)))

    def heard(self, process: subprocess.Popen[bytes]) -> str:
        """What the agent reads. A hook that fails, or prints anything else, would disturb the session."""
        printed, complaints = process.communicate()
        assert (process.returncode, complaints) == (0, b"")
        text = shown(printed.decode())
        if text:
            self.transcript.parent.mkdir(parents=True, exist_ok=True)
            with self.transcript.open("a") as file:
                file.write(json.dumps({"type": "attachment", "content": text}) + "\n")
        return text

    def row(self) -> HostSession:
        with closing(self.machine.opened()) as clew, clew.store.read() as tx:
            row = tx.hosts.session("local", "claude-code", self.id)
        assert row is not None
        return row

    def queue(self) -> list[Inject]:
        """Of the session of ours that serves it now."""
        with closing(self.machine.opened()) as clew:
            with clew.store.read() as tx:
                row = tx.hosts.session("local", "claude-code", self.id)
            return list(clew.queue.list(row.session_id)) if row else []

    def states(self) -> list[str]:
        return [inject.state for inject in self.queue()]

    def say(self, text: str) -> None:
        session = self.row().session_id
        with closing(self.machine.opened()) as clew:
            assert clew.queue.enqueue(session, text)


def until(is_true: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not is_true():
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.02)


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    machine = Machine(tmp_path_factory.mktemp("machine"))
    machine.home.mkdir()
    machine.start()
    first = Session(machine)
    until(lambda: first.tell("SessionStart.compact", model=str(uuid4())))  # it is warm now
    yield machine
    for daemon in machine.daemons:
        daemon.kill()
        daemon.wait()
    if (pid := machine.pid()) is not None and pid not in machine.killed:  # one that a hook has started
        with suppress(OSError):
            os.kill(pid, signal.SIGKILL)


@pytest.fixture
def session(machine: Machine) -> Session:
    return Session(machine)


def test_a_whole_session(session: Session) -> None:
    assert ABOUT_RETRY in session.tell("SessionStart.startup")
    assert session.tell("UserPromptSubmit") == ""
    assert session.states() == ["acked"]
    edit = {"file_path": str(session.shop / "src/ship/label.py"), "old_string": "a", "new_string": "b"}
    told = [session.tell("PreToolUse", tool_input=edit), session.tell("PostToolUse", tool_input=edit)]
    told.append(session.tell("PostToolBatch"))
    assert HINT in "".join(told)
    assert sum(HINT in text for text in told) == 1
    assert told[0] == ""
    assert [session.tell(name) for name in ("Stop", "PreCompact", "SessionEnd")] == ["", "", ""]
    assert session.states() == ["acked", "acked"]


def test_a_resumed_session_is_not_told_again_and_a_compacted_one_is(session: Session) -> None:
    block = session.tell("SessionStart.startup")
    session.tell("SessionEnd")
    assert session.tell("SessionStart.resume") == ""
    assert session.tell("SessionStart.compact") == block
    assert session.tell("SessionStart.resume", model="another") == ""


def test_a_fork_is_told_what_its_transcript_does_not_hold(session: Session) -> None:
    session.tell("SessionStart.startup")
    held = session.transcript.read_text()
    for past, is_told in ((held, False), ("", True)):
        session.id = str(uuid4())
        session.transcript.write_text(past)
        assert bool(session.tell("SessionStart.fork")) is is_told


def test_a_subagent_never_gets_what_is_for_the_main_thread(session: Session) -> None:
    session.tell("SessionStart.startup")
    session.tell("UserPromptSubmit")
    session.say("for the main thread")
    told = [session.tell(name) for name in ("SubagentStart", "PostToolUse.subagent", "SubagentStop")]
    assert "for the main thread" not in told
    assert session.tell("PostToolBatch") == "for the main thread"


def test_two_hooks_for_one_event_inject_once(session: Session) -> None:
    """Installed by the settings and by the plugin: both run at the same time."""
    hooks = [session.machine.hook(session.raw("SessionStart.startup")) for _ in range(2)]
    told = [session.heard(hook) for hook in hooks]
    assert sorted(bool(text) for text in told) == [False, True]
    assert session.states() == ["delivered"]


def test_what_a_hook_could_not_print_comes_again(session: Session) -> None:
    """The host has closed the pipe before the answer came."""
    ours, theirs = os.pipe()
    os.close(ours)
    process = session.machine.hook(session.raw("SessionStart.startup"), stdout=theirs)
    os.close(theirs)
    assert process.communicate()[1] == b""
    assert ABOUT_RETRY in session.tell("UserPromptSubmit")
    session.tell("Stop")
    assert session.states() == ["acked"]


def test_what_a_hook_was_stopped_before_comes_again(session: Session) -> None:
    """The host has lost patience, or its user has, while the answer was made."""
    session.machine.tell_and_leave(session.raw("SessionStart.startup"))
    until(lambda: session.states() == ["delivered"])
    assert session.row().printed_at is None
    assert ABOUT_RETRY in session.tell("UserPromptSubmit")
    session.tell("Stop")
    assert session.states() == ["acked"]


def test_what_a_hook_got_and_did_not_print_comes_again(session: Session) -> None:
    """Killed between the answer and the print: nobody but the hook itself can tell."""
    with session.machine.told(session.raw("SessionStart.startup")) as link:
        assert ABOUT_RETRY in answer_on(link)
    assert session.tell("PreCompact") == ""
    assert session.states() == ["delivered"]
    assert ABOUT_RETRY in session.tell("UserPromptSubmit")
    session.tell("Stop")
    assert session.states() == ["acked"]


def test_while_a_hook_may_still_print_another_one_says_nothing(session: Session) -> None:
    with session.machine.told(session.raw("SessionStart.startup")) as link:
        assert ABOUT_RETRY in answer_on(link)
        assert session.tell("UserPromptSubmit") == ""
    assert ABOUT_RETRY in session.tell("UserPromptSubmit", prompt="go on")


def test_a_directory_full_of_traps_stops_no_hook(session: Session) -> None:
    """Pipes where files are looked for, of which nobody writes the other end."""
    for name in (".clewignore", ".git/config"):
        os.mkfifo(session.shop / name)
    (session.shop / ".git" / "HEAD").unlink()
    (session.shop / ".git" / "HEAD").symlink_to("/dev/zero")
    session.tell("SessionStart.startup")
    session.tell("UserPromptSubmit")
    assert session.row().project == session.shop.name
    assert ABOUT_RETRY in Session(session.machine).tell("SessionStart.startup")


def test_a_killed_daemon_loses_nothing(session: Session) -> None:
    session.tell("SessionStart.startup")
    session.tell("UserPromptSubmit")
    session.say("waits")
    session.machine.kill()
    assert session.tell("PostToolUse") == ""  # into the spool; and the hook starts another daemon
    assert session.tell("Stop") == ""
    machine = session.machine
    machine.wait()
    heard = Session(machine)
    until(lambda: heard.tell("UserPromptSubmit", prompt=str(uuid4())) or heard.queue())
    assert session.tell("UserPromptSubmit", prompt="go on") == "waits"
    fired = kept_events(machine, session.id)
    assert [name for name in fired if name in ("PostToolUse", "Stop")] == ["PostToolUse", "Stop"]


def answer_on(link: socket.socket) -> str:
    with link.makefile("rb") as stream:
        head = b"".join(iter(stream.readline, b"\r\n")).lower()
        return stream.read(int(head.partition(b"content-length:")[2].split()[0])).decode()


def kept_events(machine: Machine, session: str) -> list[str]:
    with closing(apsw.Connection(str(machine.home / "clew.db"))) as connection:
        query = "SELECT event FROM host_events WHERE host_session = ? ORDER BY at"
        return [event for (event,) in connection.execute(query, (session,))]


@pytest.mark.torture
def test_nothing_is_lost_however_often_the_daemon_is_killed(session: Session) -> None:
    """A text is said, the daemon is killed at a random moment, the host goes on. Every text is heard, nearly always
    once; every event is kept once."""
    chance, machine, heard = random.Random(7), session.machine, [session.tell("SessionStart.startup")]
    told = ["SessionStart"]
    for number in range(KILLS):
        session.say(f"text {number}")
        hooks = [session.machine.hook(session.raw("UserPromptSubmit", prompt=f"{number}"))]
        time.sleep(chance.random() * 0.15)
        machine.kill()
        hooks.append(session.machine.hook(session.raw("PostToolBatch", prompt_id=f"{number}")))
        heard += [session.heard(hook) for hook in hooks]
        told += ["UserPromptSubmit", "PostToolBatch"]
        machine.start()
    until(lambda: sorted(kept_events(machine, session.id)) == sorted(told))
    for number in range(200):
        heard.append(session.tell("UserPromptSubmit", prompt=f"last {number}"))
        if set(session.states()) == {"acked"}:
            break
    assert {text for text in heard if text.startswith("text")} == {f"text {number}" for number in range(KILLS)}
    assert len([text for text in heard if text]) <= 2 * KILLS

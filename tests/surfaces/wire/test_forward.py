"""The daemon of a machine whose Clew is elsewhere: events arrive there once and in order, come what may."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from raw_server import answering, dies, reply, request_of, says
from wire_server import ROUTES, app_of, listening, wait_for

import clew_hook
from clew import Clew, Misconfigured, Scope, Unavailable
from clew.hosts.named import allow_name
from clew.hosts.off import switch_off
from clew.settings import load_settings
from clew.surfaces.hooks.spool import ATTEMPTS, Spool
from clew.surfaces.hooks.telling import tell
from clew.surfaces.http import forward
from clew.surfaces.http.chores import ingest
from clew.surfaces.http.routes import hooks
from clew.wire.address import Address
from clew.wire.transport import Transport

HOST = "claude-code"
ABOUT = "Invoices are rounded half up."
PATIENT = {"answer_ms": 10_000}  # a busy machine must not make it miss the limit


class Elsewhere:
    """The other Clew, which can be unplugged."""

    def __init__(self, memory: Clew, place: Path) -> None:
        self.memory, self.place = memory, place
        self.token = memory.keys.create("laptop", user="ann").token
        self.came: list[dict[str, Any]] = []

    @contextmanager
    def plugged_in(self) -> Iterator[None]:
        with ThreadPoolExecutor(4) as pool:
            app = self._noting(app_of(self.memory, pool, (*ROUTES, *hooks.ROUTES)))
            with listening(app, uds=str(self.place)):
                yield

    def _noting(self, app: Any) -> Any:
        async def noting(scope: Any, receive: Any, send: Any) -> None:
            async def reading() -> Any:
                message = await receive()
                if message.get("body") and scope["path"].startswith("/v1/hooks/"):
                    self.came.append(json.loads(message["body"]))
                return message

            await app(scope, reading, send)

        return noting

    @property
    def ids(self) -> list[int]:
        return [int(one["event_id"], 16) for one in self.came]


@pytest.fixture
def far(clew_at: Callable[..., Clew], tmp_path: Path) -> Elsewhere:
    memory = clew_at(tmp_path / "far", hooks=PATIENT)
    memory.remember(ABOUT, scope=Scope(project="shop"), type="rule")
    return Elsewhere(memory, tmp_path / "far.sock")


@pytest.fixture
def near(far: Elsewhere, tmp_path: Path) -> Iterator[forward.Forwarding]:
    """What stands on this machine; it works in a project of its own."""
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / ".clew.toml").write_text('project = "shop"\n', encoding="utf-8")
    allow_name(tmp_path / "near", tmp_path / "shop", "shop")
    settings = load_settings({"hooks": PATIENT}, home=tmp_path / "near", environ={})
    transport = Transport(Address("unix", path=str(far.place)), token=far.token)
    with closing(forward.Forwarding(settings, transport)) as forwarding:
        yield forwarding


def said(near: Any, number: int, event: str = "UserPromptSubmit", **more: Any) -> str:
    """Tell an event as a hook does, with a number for its id."""
    document = {
        "session_id": "host-1", "hook_event_name": event, "cwd": str(near.home.parent / "shop"),
        "prompt": "How are invoices rounded?", "source": "startup", **more,
    }  # fmt: skip
    return tell(near, HOST, document, event_id=f"{number:032x}").text


def pass_on(near: Any) -> None:
    ingest(near, near.spool)


def test_an_event_is_passed_on_with_what_is_around_it_and_its_answer_comes_back(near: Any, far: Elsewhere) -> None:
    pass_on(near)
    with far.plugged_in():
        assert ABOUT in said(near, 1, "SessionStart")
    [came] = far.came
    assert came["around"]["project"] == "shop" and came["replayed"] is False
    assert near.spool.is_empty() and not (near.home / "clew.db").exists()


def test_what_cannot_be_passed_on_is_kept_and_arrives_in_order_and_once(near: Any, far: Elsewhere) -> None:
    pass_on(near)
    assert [said(near, number) for number in (1, 2, 3)] == ["", "", ""]
    with far.plugged_in():
        assert said(near, 4) == "" and far.came == []  # it does not overtake
        pass_on(near)
        pass_on(near)
        said(near, 5)
    assert far.ids == [1, 2, 3, 4, 5] and [one["replayed"] for one in far.came] == [True] * 4 + [False]
    assert [one.count for one in far.memory.hosts.fired()] == [5]


def test_what_was_kept_happened_when_its_hook_told_it(near: Any, far: Elsewhere) -> None:
    said(near, 1)
    told = time.time() - 7_200.0
    os.utime(near.home / "spool" / "events.spool", (told, told))
    with far.plugged_in():
        pass_on(near)
        said(near, 2, "Stop")
    late, now = sorted(far.memory.hosts.fired(), key=lambda one: one.last_at)
    assert (now.last_at - late.last_at).total_seconds() == pytest.approx(7_200.0, abs=60.0)


@pytest.mark.parametrize("told", [0.0, 4e9], ids=["before there was a Clew", "ahead of its time"])
def test_a_clock_that_is_wrong_does_not_lose_what_was_kept(near: Any, far: Elsewhere, told: float) -> None:
    said(near, 1)
    os.utime(near.home / "spool" / "events.spool", (told, told))
    with far.plugged_in():
        pass_on(near)
    assert far.ids == [1] and [one.count for one in far.memory.hosts.fired()] == [1]


def test_an_event_that_arrived_without_an_answer_counts_once(near: Any, far: Elsewhere, tmp_path: Path) -> None:
    pass_on(near)
    with far.plugged_in():
        said(near, 1)
        near.spool.append(
            f"{1:032x}", HOST, json.dumps({"session_id": "host-1", "hook_event_name": "Stop"}).encode()
        )
        pass_on(near)
    assert far.ids == [1, 1] and [one.count for one in far.memory.hosts.fired()] == [1]


def test_a_clew_that_is_late_does_not_make_the_hook_late(far: Elsewhere, tmp_path: Path) -> None:
    settings = load_settings({"hooks.answer_ms": 50}, home=tmp_path / "near", environ={})
    near = forward.Forwarding(settings, Transport(Address("unix", path=str(far.place))))
    pass_on(near)

    def late(connection: Any) -> None:
        request_of(connection)
        connection.recv(1)

    with answering(far.place, [late]):
        began = time.monotonic()
        assert said(near, 1) == ""
        assert time.monotonic() - began < 10.0  # it would wait for minutes
    assert not near.spool.is_empty()


def test_while_something_waits_no_hook_waits_for_the_network(near: Any, far: Elsewhere) -> None:
    with answering(far.place, [dies]) as came:
        near.spool.append("0" * 32, HOST, b"{}")
        assert said(near, 1) == "" and came == []


@pytest.mark.parametrize(
    ("answer", "waits"), [("401 No", True), ("429 No", True), ("503 No", True), ("400 No", False)]
)
def test_only_what_will_never_be_taken_is_set_aside(near: Any, far: Elsewhere, answer: str, waits: bool) -> None:
    said(near, 1)
    said(near, 2)
    with answering(far.place, [says(reply(answer, b'{"detail": "no", "code": "NO"}'), times=9)]):
        for _attempt in range(ATTEMPTS * 2):
            with suppress(Unavailable):
                pass_on(near)
    assert near.spool.is_empty() is not waits
    kept = list((near.home / "spool" / "damaged").glob("*")) if not waits else []
    assert sum(file.read_bytes().count(b"clew1 ") for file in kept) == (0 if waits else 2)


def states(far: Elsewhere) -> list[str]:
    [session] = far.memory.sessions.list()
    return [one.state for one in far.memory.queue.list(session.id)]


def test_that_an_answer_was_printed_is_passed_on_with_the_next_event(near: Any, far: Elsewhere) -> None:
    pass_on(near)
    with far.plugged_in():
        assert ABOUT in said(near, 1, "SessionStart")
        said(near, 2, "Stop")
        assert states(far) == ["delivered"]
        near.hosts.seen(f"{1:032x}")
        said(near, 3, "PreCompact")
        said(near, 4, "PreCompact", trigger="auto")
    assert states(far) == ["acked"]
    assert [one["seen"] for one in far.came] == [[], [], [f"{1:032x}"], []]


def test_that_it_was_printed_is_not_forgotten_while_the_other_clew_is_away(near: Any, far: Elsewhere) -> None:
    pass_on(near)
    with far.plugged_in():
        said(near, 1, "SessionStart")
    near.hosts.seen(f"{1:032x}")
    said(near, 2, "Stop")
    with far.plugged_in():
        pass_on(near)
        said(near, 3, "PreCompact")
    assert states(far) == ["acked"]


def test_what_is_switched_off_does_not_leave_the_machine(near: Any, far: Elsewhere) -> None:
    pass_on(near)
    switch_off(near.home, near.home.parent / "shop")
    with answering(far.place, [dies]) as came:
        assert said(near, 1) == "" and came == []
    assert near.spool.is_empty()


def test_a_clew_does_not_pass_events_on_to_itself(tmp_path: Path) -> None:
    settings = load_settings({"store.url": f"unix://{tmp_path}/run/clew.sock"}, home=tmp_path, environ={})
    with pytest.raises(Misconfigured) as refused:
        forward.make_forwarder(settings)
    assert refused.value.code == "FORWARDER_LOOP"


def started(home: Path, shop: Path) -> str:
    """What the hook at the start of a new session prints."""
    event = {"hook_event_name": "SessionStart", "source": "startup", "cwd": str(shop), "session_id": uuid4().hex}
    done = subprocess.run(
        [sys.executable, "-I", "-S", clew_hook.__file__, HOST, str(home)],
        input=json.dumps(event).encode(), capture_output=True, check=True,
    )  # fmt: skip
    return done.stdout.decode()


def test_the_daemon_itself_passes_on_what_hooks_tell_and_what_they_left_behind(
    far: Elsewhere, tmp_path: Path
) -> None:
    home, shop = tmp_path / "near", tmp_path / "shop"
    shop.mkdir()
    (shop / ".clew.toml").write_text('project = "shop"\n', encoding="utf-8")
    allow_name(home, shop, "shop")
    Spool(home).append(f"{1:032x}", HOST, b'{"session_id": "host-0", "hook_event_name": "Stop", "cwd": "/"}')
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CLEW_")}
    environment |= {"CLEW_HOME": str(home), "CLEW_URL": f"unix://{far.place}", "CLEW_TOKEN": far.token}
    with far.plugged_in():
        daemon = subprocess.Popen(
            [sys.executable, "-m", "clew", "serve"], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        try:
            assert daemon.stdout is not None and b"serving" in daemon.stdout.readline()
            wait_for(lambda: far.ids == [1])
            wait_for(
                lambda: ABOUT in started(home, shop)
            )  # a hook gives up soon: not the first time on a busy machine
        finally:
            daemon.send_signal(signal.SIGTERM)
            _out, errors = daemon.communicate(timeout=10)
    assert daemon.returncode == 0 and errors == b"" and not (home / "clew.db").exists()

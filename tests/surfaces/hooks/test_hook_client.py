"""The client that hosts run: what it sends and prints, and that nothing that goes wrong reaches the host."""

from __future__ import annotations

import ast
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hook_driver import CLIENT, EVENT, Listener, answering, fire, is_silent, spooled, until, without_start

import clew_hook
from clew.surfaces.hooks import client, offline
from clew.surfaces.hooks.spool import dropped

BLOCK = b'{"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": "x"}}\n'
MANY = "a" * 40
LIMIT_S, BUSY_S = 0.8, 4.0  # of a hook; and what a busy machine may add


def test_the_event_is_sent_as_it_came_and_the_answer_printed_as_it_is(tmp_path: Path) -> None:
    event = b'\xff not even text \x00 {"half": '
    with Listener(tmp_path, answering(BLOCK)) as daemon:
        done = fire(tmp_path, event, host="codex")
    assert (done.returncode, done.stdout, done.stderr) == (0, BLOCK, b"")
    head, _, body = daemon.requests[0].partition(b"\r\n\r\n")
    assert body == event and head.startswith(b"POST /v1/hooks/codex HTTP/1.1\r\nHost: localhost\r\n")
    assert re.search(rb"\r\nClew-Event-Id: [0-9a-f]{32}\r\n", head) and b"Authorization" not in head
    assert not (tmp_path / "spool").exists()


def test_what_was_printed_is_said_to_be_on_the_same_connection(tmp_path: Path) -> None:
    with Listener(tmp_path, answering(BLOCK)) as daemon:
        fire(tmp_path, host="codex")
    (said,) = daemon.after
    assert said.startswith(b"POST /v1/hooks/codex/seen HTTP/1.1\r\nHost: localhost\r\n") and said.endswith(
        b"\r\n\r\n"
    )
    ids = [re.findall(rb"Clew-Event-Id: (\w+)", one) for one in (said, *daemon.requests)]
    assert ids[0] == ids[1] != []


@pytest.mark.parametrize("answer", [answering(b""), answering(b"{}", status="400 Bad"), answering(b"x")[:-1]])
def test_where_nothing_was_printed_nothing_is_said(tmp_path: Path, answer: bytes) -> None:
    with Listener(without_start(tmp_path), answer) as daemon:
        assert is_silent(fire(tmp_path))
    assert daemon.after == [b""]


def test_what_could_not_be_printed_is_not_said_to_be(tmp_path: Path) -> None:
    with Listener(without_start(tmp_path), answering(b"b" * 200_000)) as daemon:
        assert is_silent(shell(tmp_path, ">/dev/full"))
    assert daemon.after == [b""]


def test_every_event_has_an_id_of_its_own(tmp_path: Path) -> None:
    with Listener(tmp_path) as daemon:
        fire(tmp_path)
        fire(tmp_path)
    first, second = (re.findall(rb"Clew-Event-Id: (\w+)", request) for request in daemon.requests)
    assert first and first != second


def test_a_large_event_and_a_large_answer_go_through(tmp_path: Path) -> None:
    block, event = b"b" * 300_000, b"e" * 3_000_000
    with Listener(tmp_path, answering(block)) as daemon:
        assert fire(tmp_path, event).stdout == block
    assert daemon.requests[0].endswith(event)


@pytest.mark.parametrize(
    "answer",
    [
        b"", b"garbage\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhalf",
        b"HTTP/1.1 200 OK\r\nContent-", b"HTTP/1.1 200 OK\r\n\r\nno length",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\nx",
        b"HTTP/1.1 abc OK\r\nContent-Length: 1\r\n\r\nx", answering(b"{}", status="503 Busy"),
        answering(b"{}", status="429 Slowly"), answering(b"x" * 1_100_000),
    ],
    ids=lambda answer: answer[:60].decode() or "nothing",
)  # fmt: skip
def test_what_is_no_whole_answer_is_not_printed_and_the_event_is_kept(tmp_path: Path, answer: bytes) -> None:
    with Listener(without_start(tmp_path), answer):
        assert is_silent(fire(tmp_path))
    (record,) = spooled(tmp_path)
    assert (record.host, record.body) == ("claude-code", EVENT)


def test_the_event_in_the_spool_has_the_id_it_was_sent_with(tmp_path: Path) -> None:
    with Listener(without_start(tmp_path), b"HTTP/1.1 200 OK\r\n") as daemon:
        fire(tmp_path)
    (record,) = spooled(tmp_path)
    assert f"Clew-Event-Id: {record.event_id}\r\n".encode() in daemon.requests[0]


@pytest.mark.parametrize("status", ["400 Bad", "401 Who", "404 What", "413 Much"])
def test_a_refusal_is_not_printed_and_not_tried_again(tmp_path: Path, status: str) -> None:
    with Listener(tmp_path, answering(b'{"code": "X"}', status=status)):
        assert is_silent(fire(tmp_path))
    assert spooled(tmp_path) == []


def test_a_daemon_that_hangs_is_left_alone_within_the_limit(tmp_path: Path) -> None:
    with Listener(without_start(tmp_path), None):
        began = time.monotonic()
        assert is_silent(fire(tmp_path))
    assert time.monotonic() - began < LIMIT_S + BUSY_S
    assert len(spooled(tmp_path)) == 1


def test_a_host_that_never_closes_stdin_is_left_alone_within_the_limit(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.write(writer, EVENT)
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-I", "-S", CLIENT, "codex", str(tmp_path)], stdin=reader, capture_output=True
    )
    os.close(reader), os.close(writer)
    assert is_silent(done) and 0.5 < time.monotonic() - began < LIMIT_S + BUSY_S
    assert spooled(tmp_path) == []


def test_too_much_on_stdin_is_read_and_dropped(tmp_path: Path) -> None:
    with Listener(tmp_path) as daemon:
        assert is_silent(fire(tmp_path, b"x" * 20_000_000))
    assert daemon.requests == [] and dropped(tmp_path) == 1 and spooled(tmp_path) == []


def test_what_a_full_spool_does_not_take_is_counted_until_it_is_taken_in(tmp_path: Path) -> None:
    spool = without_start(tmp_path) / "spool" / "events.spool"
    with spool.open("wb") as file:
        file.truncate(offline.MAX_SPOOL)
    assert is_silent(fire(tmp_path)) and is_silent(fire(tmp_path))
    assert dropped(tmp_path) == 2 and (tmp_path / "spool" / "dropped").stat().st_mode & 0o777 == 0o600
    spool.unlink()
    fire(tmp_path)
    assert len(spooled(tmp_path)) == 1 and dropped(tmp_path) == 0


def test_the_count_of_what_was_dropped_ends_somewhere(tmp_path: Path) -> None:
    (tmp_path / "spool").mkdir()
    (tmp_path / "spool" / "dropped").write_bytes(b"." * offline.MAX_DROPPED)
    offline.drop(str(tmp_path))
    assert dropped(tmp_path) == offline.MAX_DROPPED


def test_nothing_on_stdin_is_no_event(tmp_path: Path) -> None:
    assert is_silent(fire(tmp_path, b"")) and list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "words", [[], ["claude-code"], ["a b", "{home}"], ["x\r\ny: z", "{home}"], ["é", "{home}"]]
)
def test_wrong_words_are_silent(tmp_path: Path, words: list[str]) -> None:
    words = [word.format(home=tmp_path) for word in words]
    done = subprocess.run([sys.executable, "-I", "-S", CLIENT, *words], input=EVENT, capture_output=True)
    assert is_silent(done) and list(tmp_path.iterdir()) == []


def test_a_home_whose_path_is_longer_than_a_socket_may_have(tmp_path: Path) -> None:
    home = tmp_path / MANY / MANY / MANY
    with Listener(home, answering(BLOCK)):
        assert fire(home).stdout == BLOCK


def test_a_home_that_is_not_there_is_made_if_its_place_is(tmp_path: Path) -> None:
    assert is_silent(fire(tmp_path / "no" / "where"))
    assert not (tmp_path / "no").exists()
    without_start(tmp_path)
    (tmp_path / "file").touch()
    assert is_silent(fire(tmp_path / "file"))


def test_tcp_is_used_where_there_is_no_socket_with_the_token_of_this_install(tmp_path: Path) -> None:
    with Listener(tmp_path, answering(BLOCK), is_tcp=True) as daemon:
        assert fire(tmp_path).stdout == BLOCK
    assert b"\r\nAuthorization: Bearer clew_local_secret\r\n" in daemon.requests[0]
    assert b"\r\nHost: 127.0.0.1:" in daemon.requests[0]


@pytest.mark.parametrize("address", ["10.0.0.1:80", "example.org:80", "localhost:80", "", "127.0.0.1:x", "::"])
def test_the_token_goes_nowhere_but_to_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.chdir(tmp_path)  # put back afterwards
    (without_start(tmp_path) / "run").mkdir()
    (tmp_path / "run" / "tcp").write_text(address)
    (tmp_path / "run" / "token").write_text("clew_local_secret")
    with pytest.raises((ValueError, OSError)):
        client.connect(str(tmp_path))


def test_a_socket_that_a_crash_left_behind_makes_its_tcp_address_worthless(tmp_path: Path) -> None:
    """Anybody may have that port by now."""
    with Listener(without_start(tmp_path)):
        pass  # the socket's file stays
    with Listener(tmp_path, is_tcp=True) as stranger:
        assert is_silent(fire(tmp_path))
    assert stranger.requests == [] and len(spooled(tmp_path)) == 1


# -- what hosts do to their hooks --------------------------------------------------------------------


def shell(home: Path, redirection: str) -> subprocess.CompletedProcess[bytes]:
    words = f'printf %s "$0" | exec "{sys.executable}" -I -S "{CLIENT}" claude-code "{home}" {redirection}'
    return subprocess.run(["bash", "-c", f"set -o pipefail; {words}", EVENT.decode()], capture_output=True)


@pytest.mark.parametrize("redirection", [">&-", ">&- 2>&-", "| true", ">/dev/full"])
def test_an_answer_that_nobody_takes_brings_the_event_to_the_spool(tmp_path: Path, redirection: str) -> None:
    """So the daemon learns that what it delivered was not seen."""
    with Listener(without_start(tmp_path), answering(b"b" * 200_000)):
        assert is_silent(shell(tmp_path, redirection))
    assert [record.body for record in spooled(tmp_path)] == [EVENT]


def test_closed_stdin_is_silent(tmp_path: Path) -> None:
    words = f'exec "{sys.executable}" -I -S "{CLIENT}" claude-code "{tmp_path}" <&-'
    assert is_silent(subprocess.run(["sh", "-c", words], capture_output=True)) and list(tmp_path.iterdir()) == []


def test_the_hosts_ctrl_c_does_not_end_it_with_a_complaint(tmp_path: Path) -> None:
    with Listener(without_start(tmp_path), None) as daemon:
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", CLIENT, "codex", str(tmp_path)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        assert process.stdin
        process.stdin.write(EVENT)
        process.stdin.close()
        until(lambda: daemon.requests)
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 0
    assert process.stdout and process.stderr
    assert process.stdout.read() == process.stderr.read() == b""
    process.stdout.close(), process.stderr.close()
    assert len(spooled(tmp_path)) == 1


# -- without a daemon --------------------------------------------------------------------------------


def test_the_spool_is_for_its_owner_alone(tmp_path: Path) -> None:
    home = tmp_path / "home"
    old = os.umask(0)
    try:
        fire(without_start(home))
    finally:
        os.umask(old)
    assert (home / "spool" / "events.spool").stat().st_mode & 0o777 == 0o600
    assert len(spooled(home)) == 1


def recorder(folder: Path) -> Path:
    """Stands for the interpreter, and writes down how it was started."""
    script = folder / "python"
    script.write_text(
        "#!/bin/sh\nstreams=$(readlink /proc/$$/fd/0 /proc/$$/fd/1 /proc/$$/fd/2)\n"
        'printf "%s\\n" "$*" "$(pwd)" "$streams" "$(cut -d" " -f6 /proc/$$/stat)" $$ '
        f"> {folder}/told.new && mv {folder}/told.new {folder}/told.$$\n"
    )
    script.chmod(0o755)
    return script


def fire_with(interpreter: Path, home: Path) -> subprocess.CompletedProcess[bytes]:
    code = f"import sys; sys.path.insert(0, {str(Path(CLIENT).parent)!r}); import clew_hook; "
    code += f"sys.executable = {str(interpreter)!r}; clew_hook.main('codex', {str(home)!r})"
    return subprocess.run([sys.executable, "-I", "-S", "-c", code], input=EVENT, capture_output=True, cwd="/")


def test_a_missing_daemon_is_started_once_in_its_own_session_and_not_waited_for(tmp_path: Path) -> None:
    home = tmp_path / "home"
    script = recorder(tmp_path)
    assert is_silent(fire_with(script, home)) and is_silent(fire_with(script, home))
    told = until(lambda: sorted(tmp_path.glob("told.[0-9]*")))
    words, directory, *streams, session, process = told[0].read_text().splitlines()
    assert words == f"-E -P -m clew serve --quiet --home {home}"
    assert directory == str(home) and streams == ["/dev/null"] * 3 and session == process
    assert len(told) == 1 and len(spooled(home)) == 2
    assert (home / "spool").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("age_s", [11, -3_600])
def test_after_ten_seconds_it_is_started_again_also_when_the_clock_was_wrong(tmp_path: Path, age_s: int) -> None:
    marker = without_start(tmp_path) / "spool" / "starting"
    os.utime(marker, (time.time() - age_s,) * 2)
    fire_with(recorder(tmp_path), tmp_path)
    assert until(lambda: list(tmp_path.glob("told.[0-9]*")))


def test_a_daemon_that_hangs_is_not_started_a_second_time(tmp_path: Path) -> None:
    with Listener(tmp_path, b""):
        fire_with(recorder(tmp_path), tmp_path)
    assert not (tmp_path / "spool" / "starting").exists() and len(spooled(tmp_path)) == 1


# -- what it is made of ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("file", "allowed"),
    [
        (CLIENT, {"sys"}),
        (client.__file__, {"_socket", "sys", "posix", "nt"}),
        (offline.__file__, {"_socket", "sys", "posix", "nt", "binascii"}),
    ],
    ids=["what is run", "client", "offline"],
)
def test_the_file_imports_nothing_else(file: str, allowed: set[str]) -> None:
    tree = ast.parse(Path(file).read_bytes())
    found = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    assert found == allowed
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]


@pytest.mark.parametrize("is_there", [True, False])
def test_a_run_loads_nothing_else(tmp_path: Path, is_there: bool) -> None:
    code = f"""
import posix, sys
def end(status, really=posix._exit):
    print(*sorted(set(sys.modules) - before), file=sys.stderr, flush=True)
    really(status)
posix._exit, before, names = end, set(sys.modules), {{"__name__": "hook", "__file__": {CLIENT!r}}}
exec(compile(open({CLIENT!r}).read(), "hook", "exec"), names)
names["main"]("codex", {str(tmp_path)!r})
"""
    with Listener(without_start(tmp_path), answering(b"") if is_there else b""):
        done = subprocess.run([sys.executable, "-I", "-S", "-c", code], input=EVENT, capture_output=True)
    assert done.stderr.decode().split() == (["_socket"] if is_there else ["_socket", "binascii"])


def copied(folder: Path) -> Path:
    """The client as it is installed, in a folder of its own."""
    inside = folder / "clew" / "surfaces" / "hooks"
    inside.mkdir(parents=True)
    for file in (client.__file__, offline.__file__):
        shutil.copy(file, inside)
    return Path(shutil.copy(CLIENT, folder))


def run_copy(file: Path, home: Path) -> subprocess.CompletedProcess[bytes]:
    words = [sys.executable, "-I", "-S", str(file), "codex", str(home)]
    return subprocess.run(words, input=EVENT, capture_output=True)


def test_it_is_compiled_once_and_damaged_bytecode_costs_no_event(tmp_path: Path) -> None:
    file = copied(tmp_path / "installed")
    with Listener(tmp_path, answering(BLOCK)) as daemon:
        assert run_copy(file, tmp_path).stdout == BLOCK
        (bytecode,) = file.parent.rglob("client.*.pyc")
        bytecode.write_bytes(bytecode.read_bytes()[:40])
        done = run_copy(file, tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, BLOCK, b"") and len(daemon.requests) == 2


def test_a_client_that_is_half_gone_is_silent(tmp_path: Path) -> None:
    file = copied(tmp_path / "installed")
    (file.parent / clew_hook.CLIENT).unlink()
    assert is_silent(run_copy(file, tmp_path))


@pytest.mark.torture
def test_it_costs_little_more_than_the_interpreter(tmp_path: Path) -> None:
    """Interleaved, so that both see the same machine."""
    bare, hook = [], []
    with Listener(tmp_path, answering(BLOCK)):
        for _ in range(50):
            began = time.perf_counter()
            subprocess.run([sys.executable, "-I", "-S", "-c", "pass"], input=EVENT, capture_output=True, check=True)
            between = time.perf_counter()
            fire(tmp_path)
            bare.append(between - began), hook.append(time.perf_counter() - between)
    bare.sort(), hook.sort()
    assert hook[25] <= 1.5 * bare[25] and hook[-1] <= 3 * bare[-1]

"""What the terminal sees: colours only where they are wanted, hostile text as data, questions, signals."""

from __future__ import annotations

import io
import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from cli_driver import Cli

from clew.surfaces.cli.commands import recall
from clew.surfaces.cli.progress import bar, progress_bar
from clew.surfaces.cli.terminal import columns, cut, one_line, safe

HOSTILE = "\x1b]52;c;ZXZpbA==\x07 \x1b[2J\x9b31m \u202etxt.exe \r overwritten \U000e0041 \u2028 end"
RAW = "\x1b\x07\x9b\u202e\r\U000e0041\u2028\x7f"


def on_terminal(
    cli: Cli, *words: str, typed: bytes = b"", environment: dict[str, str] | None = None
) -> tuple[int, str]:
    """Run with a terminal on all three streams; what it showed."""
    ours, theirs = pty.openpty()
    env = {**os.environ, "TERM": "xterm", "NO_COLOR": "", **(environment or {})}
    child = subprocess.Popen(
        [sys.executable, "-m", "clew", *words],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        cwd=cli.directory,
        env=env,
    )
    os.close(theirs)
    os.write(ours, typed)
    shown = bytearray()
    try:
        while data := os.read(ours, 65536):
            shown += data
    except OSError:  # how Linux says that the other side has gone
        pass
    os.close(ours)
    return child.wait(), shown.decode("utf-8", "replace")


def test_what_is_typed_for_an_import_ends_with_one_sign_of_its_end(cli: Cli) -> None:
    code, shown = on_terminal(cli, "import", "-", typed=b"- Deploy from main only\n\x04")
    assert code == 0 and "1 memory, 0 were known" in shown


def test_colours_on_a_terminal_only(cli: Cli) -> None:
    assert "\x1b[32mremembered" in on_terminal(cli, "remember", "hello")[1]
    assert "\x1b" not in cli.process("recall", "hello", "--explain").out


@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_no_colours_when_they_are_not_wanted(cli: Cli, environment: dict[str, str]) -> None:
    assert "\x1b" not in on_terminal(cli, "remember", "hello", environment=environment)[1]


@pytest.mark.parametrize("command", ["show", "list", "recall", "history", "forget"])
def test_hostile_text_never_reaches_the_terminal_raw(cli: Cli, command: str) -> None:
    id = cli.remember(f"hello {HOSTILE}", "--title", f"hello {HOSTILE}", "--tag", f"t {HOSTILE}", "--project", "p")
    words = {"show": [id], "history": [id], "recall": ["hello", "--explain"], "forget": [id, "--dry-run"]}
    scope = ["--project", "p"]
    for output in ([], ["--json"]):
        text = cli(command, *words.get(command, []), *scope, *output).out
        assert "hello" in text and not set(RAW) & set(text)


def test_json_carries_hostile_text_without_loss(cli: Cli) -> None:
    id = cli.remember(f"hello {HOSTILE}")
    assert cli("show", id, "--json").json["content"] == f"hello {HOSTILE}"


def test_hostile_words_in_an_error_are_shown_as_escapes(cli: Cli) -> None:
    outcome = cli("show", "mem_\x1b[2J\nsecond line")
    assert outcome.code == 3 and outcome.err.count("\n") == 1 and "\x1b" not in outcome.err


def test_json_is_ascii_where_the_terminal_is(cli: Cli) -> None:
    id = cli.remember("Grüße 🧵")
    plain = cli.process("show", id, "--json", environment={"PYTHONIOENCODING": "ascii"})
    assert plain.out.isascii() and plain.json["content"] == "Grüße 🧵"
    assert cli.process("show", id, environment={"PYTHONIOENCODING": "ascii"}).code == 0


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\x1b[31mb", "a\\x1b[31mb"),
        ("tab\tand\nline", "tab\tand\nline"),
        ("\u202ereversed", "\\u202ereversed"),
        ("\udc80", "\\udc80"),
        ("\U000e0041", "\\U000e0041"),
        ("क्\u200dष 👩\u200d💻", "क्\u200dष 👩\u200d💻"),
    ],
)
def test_safe_text(text: str, shown: str) -> None:
    assert safe(text) == shown


def test_lines_are_cut_and_columns_aligned() -> None:
    assert one_line(" a\n b\t c ") == "a b c"
    assert (cut("short", 10), cut("rather long", 7)) == ("short", "rather…")
    assert columns([("a", "1", "x"), ("long", "22", "y")]) == ["a     1   x", "long  22  y"]
    assert columns([]) == []


def test_a_terminal_is_asked_before_a_hard_forget(cli: Cli) -> None:
    id = cli.remember("hello")
    code, shown = on_terminal(cli, "forget", id, "--hard", typed=b"n\n")
    assert code == 1 and "[y/N]" in shown and "[NOT_CONFIRMED]" in shown
    assert cli("show", id).code == 0
    assert on_terminal(cli, "forget", id, "--hard", typed=b"y\n")[0] == 0
    assert cli("show", id).code == 3


@pytest.mark.parametrize("words", [["ID", "--hard"], ["--tag", "x"], ["--all"], ["--all", "--hard"]])
def test_without_a_terminal_only_yes_will_do(cli: Cli, words: list[str]) -> None:
    id = cli.remember("hello", "--tag", "x")
    outcome = cli("forget", *[id if word == "ID" else word for word in words], "--json")
    assert (outcome.code, outcome.error["code"]) == (2, "USAGE") and "--yes" in outcome.error["next"]
    assert cli("show", id).code == 0


def test_ctrl_c_ends_with_one_line_and_130(cli: Cli) -> None:
    child = subprocess.Popen(
        [sys.executable, "-m", "clew", "remember", "-"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=cli.directory,
    )  # fmt: skip
    assert child.stdin is not None
    child.stdin.write(b"x" * 200_000)  # more than a pipe holds: once it is written, the command is reading
    child.stdin.flush()
    child.send_signal(signal.SIGINT)
    out, err = child.communicate()
    assert (child.returncode, out, err) == (130, b"", b"clew: interrupted\n")


def test_a_reader_that_goes_away_is_no_news(cli: Cli) -> None:
    cli.remember("hello")
    reading, writing = os.pipe()
    os.close(reading)
    child = subprocess.Popen(
        [sys.executable, "-m", "clew", "list"], stdout=writing, stderr=subprocess.PIPE, cwd=cli.directory
    )
    os.close(writing)
    assert child.communicate()[1] == b"" and child.returncode == 1


@pytest.mark.parametrize("words", [["list"], ["list", "--json"], ["show", "mem_1", "--json"]])
def test_output_that_finds_no_space_is_told_in_one_line(cli: Cli, words: list[str]) -> None:
    if not os.path.exists("/dev/full"):
        pytest.skip("this system has no /dev/full")
    cli.remember("hello")
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "clew", *words], stdout=full, stderr=subprocess.PIPE, cwd=cli.directory
        )
    assert done.returncode in (3, 5) and done.stderr.count(b"\n") == 1 and b"Next: " in done.stderr


@pytest.mark.parametrize(
    ("words", "code"),
    [("remember x", 0), ("list --json", 0), ("remember -", 2), ("forget --all", 2), ("export -", 2), ("mcp", 2)],
)
def test_closed_streams_are_survived(cli: Cli, words: str, code: int) -> None:
    cli.remember("hello")
    done = subprocess.run(
        ["sh", "-c", f"{sys.executable} -m clew {words} <&- >&-"], stderr=subprocess.PIPE, cwd=cli.directory
    )
    assert done.returncode == code and b"unexpected" not in done.stderr


def test_without_stderr_stdout_still_has_one_document(cli: Cli) -> None:
    told = subprocess.run(
        ["sh", "-c", f"{sys.executable} -m clew show mem_1 --json 2>&-"], stdout=subprocess.PIPE, cwd=cli.directory
    )
    assert (told.returncode, json.loads(told.stdout)["error"]["code"]) == (3, "MEMORY_NOT_FOUND")


def test_an_unexpected_failure_is_one_line(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(args: object) -> None:
        raise RuntimeError("boom")

    monkeypatch.setattr(recall, "show", broken)
    outcome = cli("show", "mem_1", "--json")
    assert (outcome.code, outcome.error["code"]) == (1, "UNEXPECTED")
    assert "RuntimeError: boom" in outcome.err and "CLEW_DEBUG=1" in outcome.err
    monkeypatch.setenv("CLEW_DEBUG", "1")
    with pytest.raises(RuntimeError):
        cli("show", "mem_1")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_is_drawn_for_people_only(monkeypatch: pytest.MonkeyPatch) -> None:
    for stream, is_drawn in ((Terminal(), True), (io.StringIO(), False)):
        monkeypatch.setattr(sys, "stderr", stream)
        with progress_bar("import") as progress:
            progress(10, 10)
        assert ("import [" in stream.getvalue()) == is_drawn
    assert bar("x", 5, 10) == "x [###############               ]  50% 5/10"
    assert bar("x", 5, 0) == "x 5"


CORPUS = """{"corpus": "talk", "units": [{"id": 1, "text": "lunch is at noon"}],
"questions": [{"id": "q", "text": "when is lunch", "gold": ["1"], "category": "time"}]}"""


def test_a_benchmark_draws_its_progress_and_then_the_table(cli: Cli) -> None:
    (cli.directory / "talk.jsonl").write_text(CORPUS.replace("\n", " "))
    code, shown = on_terminal(cli, "bench", "recall", "talk.jsonl", "--embedder", "none")
    drawn, _, rest = shown.rpartition("\x1b[K")
    assert code == 0 and "bench recall [" in drawn and "1/1" in drawn
    assert "talk.jsonl: 1 units" in rest and "bench recall [" not in rest


def test_a_benchmark_of_speed_draws_its_steps(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(sizes: list[int], *, quick: bool, progress: Callable[[int, int], None]) -> dict[str, Any]:
        progress(len(sizes), 2)
        return {"sizes": sizes, "quick": quick}

    monkeypatch.setattr("clew.bench.speed.run", run)
    monkeypatch.setattr(sys, "stderr", Terminal())
    assert cli("bench", "speed", "--sizes", "10,20", "--json").json == {"sizes": [10, 20], "quick": False}
    assert "bench speed [" in sys.stderr.getvalue()  # type: ignore[attr-defined]

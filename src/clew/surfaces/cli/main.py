"""The entry point: parse, dispatch by name, and one boundary that turns every failure into a line.

Exit codes: 0 ok, 1 failure, 2 usage, 3 not found, 4 denied, 5 unavailable, 130 interrupted.
"""

from __future__ import annotations

import atexit
import gc
import io
import os
import sys
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, NoReturn

from clew.errors import ClewError, InvalidInput

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence

INTERRUPTED = 130
_PATHS = ("file", "files", "home", "source", "rankings")
# New objects before garbage is looked for. A short command makes some 50,000 by its imports, all of them to stay.
SELDOM, USUAL = 100_000, gc.get_threshold()
LIVE_ON = ("serve:serve", "mcp:serve", "setup:bench")  # and answer, or measure, with short pauses


def main(argv: Sequence[str] | None = None) -> int:
    """Without words, those of this process, which ends here."""
    if argv is None:
        gc.set_threshold(SELDOM)
        words = sys.argv[1:]
        if len(words) == 2 and words[0] == "hook" and not words[1].startswith("-"):
            _be_the_hook(words[1])
        _leave(_told(words))
    return _told(argv)


def _told(words: Sequence[str]) -> int:
    _make_output_forgiving()
    try:
        return _run_or_refuse(words)
    except BrokenPipeError:  # `clew list | head` is no news, but an export that was cut off is no success
        return ClewError.exit_code
    except KeyboardInterrupt:
        print("clew: interrupted", file=sys.stderr)
        return INTERRUPTED
    finally:
        _let_go_of_stdout()


def _run_or_refuse(words: Sequence[str]) -> int:
    try:
        code = run(words)
        if sys.stdout:
            sys.stdout.flush()  # a full disk is noticed here, not in the interpreter's last breath
        return code
    except BrokenPipeError:
        raise
    except SystemExit as asked:  # argparse, after --help and --version
        return asked.code if isinstance(asked.code, int) else 0
    except Exception as error:  # the boundary: nobody is shown a traceback unasked
        code = _refuse(error, as_json="--json" in words)
        # To a host, 2 from a hook is the order not to do what it was about to.
        return ClewError.exit_code if words[:1] == ["hook"] else code


def _be_the_hook(host: str) -> None:
    """A host waits for it: neither parser nor commands are loaded, and the process ends here, always with 0."""
    import clew_hook
    from clew.surfaces.hooks.home import home_of_user

    clew_hook.main(host, home_of_user())


def run(words: Sequence[str]) -> int:
    from clew.surfaces.cli.parser import parse, usage

    args = parse(_asking_for_help(words))
    if not args.run and args.json:
        raise usage("no command is named", "clew --help lists them")
    if not args.run:
        args = parse([*words, "--help"])
    _check_encoding(args)
    if args.run in LIVE_ON:
        gc.set_threshold(*USUAL)
    module, _, function = args.run.partition(":")
    command = getattr(import_module(f"clew.surfaces.cli.commands.{module}"), function)
    return int(command(args) or 0)


def _asking_for_help(words: Sequence[str]) -> Sequence[str]:
    """`clew` alone and `clew help COMMAND` mean --help."""
    if not words or words[0] == "help":
        return [*words[1:], "--help"]
    return words


def _check_encoding(args: Namespace) -> None:
    """Bytes that are not UTF-8 reach us as lone surrogates. Names of files may have them, text may not."""
    for name, value in vars(args).items():
        for text in value if isinstance(value, list) else [value]:
            if isinstance(text, str) and name not in _PATHS and not _is_utf8(text):
                raise InvalidInput(
                    f"{name} is not valid UTF-8", code="INVALID_UTF8", next="convert the text to UTF-8 first"
                )


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _refuse(error: Exception, *, as_json: bool) -> int:
    from clew.surfaces.cli import refusal

    if os.environ.get("CLEW_DEBUG") and not isinstance(error, ClewError):
        raise error
    return refusal.report(refusal.as_clew_error(error), as_json=as_json)


def _make_output_forgiving() -> None:
    """A terminal that lacks a character gets its escape, never an exception."""
    if not sys.stderr:  # closed by the caller: what is said there would be printed to stdout
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _let_go_of_stdout() -> None:
    """What cannot be written any more must not be tried again when the interpreter ends."""
    try:
        if sys.stdout:
            sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _leave(code: int) -> NoReturn:
    """As the interpreter ends, in its order, but for taking apart what the system takes back anyway: for a command
    that only looks something up, that is a good part of its time."""
    if threads := sys.modules.get("threading"):
        threads._shutdown()  # waits for those that are to be waited for
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            if stream:
                stream.flush()
    os._exit(code)

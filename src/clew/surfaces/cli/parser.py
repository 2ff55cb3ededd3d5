"""From the table to argparse, and from words to a namespace. Imports nothing of the core."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any, NoReturn

from clew import __version__
from clew.errors import InvalidInput
from clew.surfaces.cli.arguments import COMMON, TIME_FORMS, WANTED, Arg
from clew.surfaces.cli.command import Command
from clew.surfaces.cli.table import COMMANDS, GROUPS

DESCRIPTION = "Clew: memory for coding agents."
_BEFORE_VALUES = frozenset(flag for entry in COMMON if entry.takes_value for flag in entry.flags)
FIRST_STEPS = "first steps: clew init; clew remember TEXT; clew recall QUERY. More: clew COMMAND --help"


class Formatter(argparse.HelpFormatter):
    """Knows the width without asking shutil, whose import costs more than the whole help."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=28, width=_width())

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return "\n".join(super(Formatter, self)._fill_text(line, width, indent) for line in text.splitlines())


class Parser(argparse.ArgumentParser):
    """Refuses with our errors; says which word was probably meant."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"formatter_class": Formatter, "allow_abbrev": False, **options})
        self._words: list[str] = []

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        self._words = list(args or ())
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        raise usage(message, self._with_dashes(message) or f"{self.prog} --help")

    def _with_dashes(self, message: str) -> str:
        """Text that begins with a dash is taken for an option, and is then what is missing."""
        odd = [word for word in self._words if word.startswith("-") and word not in self._option_string_actions]
        if "arguments are required" not in message or not odd or "--" in odd:
            return ""
        from shlex import quote  # only when something is wrong

        before = " ".join([self.prog, *(quote(word) for word in self._words if word != odd[0])])
        text = f'"{odd[0]}"' if quote(odd[0]) == odd[0] else quote(odd[0])
        return f"put -- before a text that begins with a dash: {before} -- {text}"

    def _get_value(self, action: argparse.Action, arg_string: str) -> Any:
        try:
            return super()._get_value(action, arg_string)
        except argparse.ArgumentError:
            name = action.option_strings[0] if action.option_strings else action.metavar
            is_large = len(arg_string) > 18 and arg_string.isdecimal()  # from about 2^62 on
            wanted = "a smaller number" if is_large else WANTED.get(action.type, "another value")
            raise usage(f"{name} cannot be '{arg_string}'", f"give {wanted}; see {self.prog} --help") from None

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            known = [str(choice) for choice in action.choices]
            if isinstance(action, argparse._SubParsersAction):
                what, move = f"there is no command '{value}'", f"{self.prog} --help"
            else:
                what, move = _no_choice(action, value), f"choose one of {', '.join(known)}"
            raise usage(f"{what}{_did_you_mean(str(value), known)}", move)


class RootParser(Parser):
    """Shows the commands in the groups of the table."""

    def format_help(self) -> str:
        lines = [DESCRIPTION, "", "usage: clew COMMAND ...", ""]
        for title, commands in GROUPS:
            lines += [f"{title}:", *(f"  {command.name:<12}{command.help}" for command in commands), ""]
        lines += ["everywhere:", *(_option_line(entry) for entry in COMMON)]
        return "\n".join([*lines, "  --version   print the version", "", FIRST_STEPS, ""])


def parse(words: Sequence[str]) -> argparse.Namespace:
    """The words of a command line as a namespace whose `run` names the function to call."""
    parser = build_parser(words)
    args = argparse.Namespace(json=False, home=None, run="")
    _args, unknown = parser.parse_known_args(words, args)
    if unknown:
        raise _unknown(unknown, args)
    if args.home is not None and not args.home.strip():  # a variable that is not set
        raise usage("--home is blank", "leave it out or name a directory")
    return args


def build_parser(words: Sequence[str]) -> RootParser:
    """Commands that are not asked for need only their name: making a parser of each takes longer than all the
    rest of a command that only looks something up."""
    root = RootParser(prog="clew", parents=[_shared()])
    told = f'{{"version": "{__version__}"}}' if "--json" in words else f"clew {__version__}"
    root.add_argument("--version", action="version", version=told)
    commands = root.add_subparsers(metavar="COMMAND", parser_class=Parser)
    asked = _command_of(words)
    for command in COMMANDS:
        if command.name == asked:
            _add(commands, command)
        else:
            commands.choices[command.name] = root  # never asked: another is
    return root


def _command_of(words: Sequence[str]) -> str | None:
    """The first word that is no option, nor the value of one that may stand before the command."""
    remaining = iter(words)
    for word in remaining:
        if word in _BEFORE_VALUES:
            next(remaining, None)
        elif not word.startswith("-"):
            return word
    return None


def _add(parsers: Any, command: Command) -> None:
    text = command.help[0].upper() + command.help[1:] + ("" if command.help.endswith("?") else ".")
    parser = parsers.add_parser(
        command.name, help=command.help, description=text, epilog=_last_lines(command), parents=[_shared()]
    )
    for entry in command.args:
        parser.add_argument(*entry.flags, **entry.options)
    if command.children:
        children = parser.add_subparsers(metavar="COMMAND", required=not command.run, parser_class=Parser)
        for child in command.children:
            _add(children, child)
    if command.run:
        parser.set_defaults(run=command.run, command=command, prog=parser.prog)


def _last_lines(command: Command) -> str | None:
    takes_time = any(entry.options.get("metavar") == "TIME" for entry in command.args)
    lines = [command.epilog, TIME_FORMS if takes_time else ""]
    return "\n".join(line for line in lines if line) or None


def _shared() -> argparse.ArgumentParser:
    """What stands before or after the command. No defaults, or the second reading would undo the first."""
    parser = Parser(add_help=False)
    for entry in COMMON:
        parser.add_argument(*entry.flags, **{**entry.options, "default": argparse.SUPPRESS})
    return parser


def _no_choice(action: argparse.Action, value: Any) -> str:
    name = action.option_strings[0] if action.option_strings else action.dest
    if "|" in str(action.metavar):  # on|off: a switch, not one of a kind
        return f"{name} cannot be '{value}'"
    return f"there is no {name.lstrip('-')} '{value}'"


def usage(message: str, next_move: str) -> InvalidInput:
    return InvalidInput(message, code="USAGE", next=next_move)


def _unknown(words: Sequence[str], args: argparse.Namespace) -> InvalidInput:
    command: Command | None = getattr(args, "command", None)
    name = getattr(args, "prog", "clew")
    option = words[0].partition("=")[0]
    if not option.startswith("-"):
        return usage(f"'{words[0]}' is one word too many", f"put text into quotes, or look at {name} --help")
    known = [flag for entry in (*(command.args if command else ()), *COMMON) for flag in entry.flags]
    return usage(f"{name} has no option {option}{_did_you_mean(option, known)}", f"{name} --help")


def _did_you_mean(word: str, known: Iterable[str]) -> str:
    from difflib import get_close_matches  # only when something is wrong

    near = get_close_matches(word, list(known), n=1)
    return f"; did you mean '{near[0]}'?" if near else ""


def _option_line(entry: Arg) -> str:
    flag = f"{entry.flags[0]} {entry.options.get('metavar', '')}".strip()
    return f"  {flag:<12}{entry.options['help']}"


@cache  # argparse makes a formatter for every argument it is told
def _width() -> int:
    try:
        return max(40, min(os.get_terminal_size().columns, 110) - 2)
    except OSError:
        return 98

"""Completion scripts, made from the same table as the parser: static text, so a Tab starts no Python."""

from __future__ import annotations

from collections.abc import Iterator

from clew.surfaces.cli.arguments import COMMON, FILES, Arg
from clew.surfaces.cli.command import Command
from clew.surfaces.cli.table import COMMANDS


def script(shell: str) -> str:
    return {"bash": bash, "zsh": zsh, "fish": fish}[shell]()


def paths(commands: tuple[Command, ...] = COMMANDS, above: str = "") -> Iterator[tuple[str, Command]]:
    """Every command with its full name, such as 'config show'."""
    for command in commands:
        name = f"{above} {command.name}".strip()
        yield name, command
        yield from paths(command.children, name)


def options_of(command: Command) -> list[Arg]:
    return [entry for entry in (*command.args, *COMMON) if entry.is_option]


def _flags(command: Command) -> str:
    return " ".join(flag for entry in options_of(command) for flag in entry.flags) + " --help"


def _first_words(command: Command) -> str:
    """What may stand first after a command: its children, or the closed list of its first argument."""
    if command.children:
        return " ".join(child.name for child in command.children)
    return " ".join(_positionals(command)[0].suggest) if _positionals(command) else ""


def _positionals(command: Command) -> list[Arg]:
    return [entry for entry in command.args if not entry.is_option]


# -- bash ------------------------------------------------------------------------------------------

_BASH = """\
# bash completion for clew; load it with: source <(clew completion bash)
_clew_files() {{
    local file
    compopt -o filenames 2>/dev/null
    COMPREPLY=()
    while IFS= read -r file; do COMPREPLY+=("$file"); done < <(compgen -f -- "$1")
}}
_clew() {{
    local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD-1]}} chosen="" word offered=""
    COMPREPLY=()
    for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
        case "${{chosen:+$chosen }}$word" in
            {known}) chosen="${{chosen:+$chosen }}$word" ;;
        esac
    done
    case "$chosen:$prev" in
{values}
    esac
    case "$chosen" in
        "") offered="{top}" ;;
{commands}
    esac
    case "$offered" in
        *"<file>"*) _clew_files "$cur"; offered="${{offered//<file>/}}" ;;
    esac
    COMPREPLY+=($(compgen -W "$offered" -- "$cur"))
}}
complete -F _clew clew
"""


def bash() -> str:
    known = "|".join(f'"{path}"' for path, _command in paths())
    commands = [
        f'        "{path}") offered="{_first_words(command)} {_flags(command)}" ;;' for path, command in paths()
    ]
    top = " ".join(command.name for command in COMMANDS) + " --json --home --version --help"
    return _BASH.format(known=known, values="\n".join(_bash_values()), commands="\n".join(commands), top=top)


def _bash_values() -> Iterator[str]:
    yield '        *:--home) _clew_files "$cur"; return ;;'
    for path, command in paths():
        for entry in command.args:
            if not (entry.is_option and entry.takes_value):
                continue
            pattern = "|".join(f'"{path}:{flag}"' for flag in entry.flags)
            words = f'COMPREPLY=($(compgen -W "{" ".join(entry.suggest)}" -- "$cur"))'
            offer = '_clew_files "$cur"' if entry.suggest == FILES else words
            yield f"        {pattern}) {offer}; return ;;"


# -- zsh -------------------------------------------------------------------------------------------

_ZSH = """\
#compdef clew
# zsh completion for clew; put it on your fpath as _clew
_clew() {{
    local chosen="" word  # not 'path', which is zsh's own
    local -a commands
    for word in "${{(@)words[2,CURRENT-1]}}"; do
        case "${{chosen:+$chosen }}$word" in
            {known}) chosen="${{chosen:+$chosen }}$word" ;;
        esac
    done
    case "$chosen" in
{cases}
    esac
}}
if [[ "$funcstack[1]" == "_clew" ]]; then _clew "$@"; else compdef _clew clew; fi
"""


def zsh() -> str:
    known = "|".join(f'"{path}"' for path, _command in paths())
    cases = [_zsh_menu("", COMMANDS)]
    for path, command in paths():
        cases.append(_zsh_menu(path, command.children) if command.children else _zsh_arguments(path, command))
    return _ZSH.format(known=known, cases="\n".join(cases))


def _zsh_menu(path: str, commands: tuple[Command, ...]) -> str:
    entries = " ".join(_quoted(f"{command.name}:{command.help}") for command in commands)
    return f'        "{path}") commands=({entries}); _describe command commands ;;'


def _zsh_arguments(path: str, command: Command) -> str:
    parts = [_quoted(text) for entry in options_of(command) for text in _zsh_option(entry)]
    parts += [_quoted(f"*:{entry.flags[0]}:{_zsh_action(entry)}") for entry in _positionals(command)[:1]]
    return f'        "{path}") _arguments {" ".join(parts)} ;;'


def _zsh_option(entry: Arg) -> Iterator[str]:
    help_text = entry.options["help"].replace("[", "(").replace("]", ")").replace(":", " ")
    value = f":value:{_zsh_action(entry)}" if entry.takes_value else ""
    repeated = "*" if entry.options.get("action") == "append" else ""
    for flag in entry.flags:
        yield f"{repeated}{flag}[{help_text}]{value}"


def _zsh_action(entry: Arg) -> str:
    if entry.suggest == FILES:
        return "_files"
    return f"({' '.join(entry.suggest)})" if entry.suggest else " "


# -- fish ------------------------------------------------------------------------------------------


def fish() -> str:
    lines = ["# fish completion for clew; load it with: clew completion fish | source", "complete -c clew -f"]
    lines += [_fish_command("__fish_use_subcommand", command) for command in COMMANDS]
    lines += [_fish_option("true", entry) for entry in COMMON]
    for path, command in paths():
        seen = " && ".join(f"__fish_seen_subcommand_from {word}" for word in path.split())
        lines += [_fish_command(seen, child) for child in command.children]
        lines += [_fish_option(seen, entry) for entry in command.args if entry.is_option]
        lines += [_fish_words(seen, entry) for entry in _positionals(command) if entry.suggest]
    return "\n".join(lines) + "\n"


def _fish_command(condition: str, command: Command) -> str:
    return f"complete -c clew -n {_quoted(condition)} -a {command.name} -d {_quoted(command.help)}"


def _fish_option(condition: str, entry: Arg) -> str:
    names = " ".join(f"-l {flag.removeprefix('--')}" for flag in entry.flags)
    line = f"complete -c clew -n {_quoted(condition)} {names} -d {_quoted(entry.options['help'])}"
    if not entry.takes_value:
        return line
    return f"{line} -r{_fish_values(entry)}"


def _fish_words(condition: str, entry: Arg) -> str:
    return f"complete -c clew -n {_quoted(condition)}{_fish_values(entry)}"


def _fish_values(entry: Arg) -> str:
    if entry.suggest == FILES:
        return " -F"
    return f" -f -a {_quoted(' '.join(entry.suggest))}" if entry.suggest else " -f"


def _quoted(text: str) -> str:
    """Single quotes that zsh and fish both read: the quote itself is closed, escaped and opened again."""
    return "'" + text.replace("'", "'\\''") + "'"

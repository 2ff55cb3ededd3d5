"""What a command line comes down to: which program, whether it is worth knowing, and what its exit status says.
Pure.

`cd api && PYTHONPATH=. timeout 60 pytest -q 2>&1` comes down to `pytest -q`. Looking around (ls, cat, git
status) is nothing; tests, builds, migrations, deployments and packages are worth knowing; everything else
counts only where it fails and works later. The exit status of a pipe is that of its last part, so that it says
nothing about the others.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import pairwise
from typing import NamedTuple

from clew.hosts.patterns import COMMANDS, any_of, sections
from clew.values import dataclass

MAX_COMMAND = 300
MAX_READ = 4_000
FIXING = "fixing"  # checks that also change what they find
NO_KINDS = (FIXING, "of tests")
WORTH_KNOWING = ("test", "build", "check", "migrate", "deploy", "package")

_SPACE = re.compile(r"\s+")
_VARIABLE = r"[A-Za-z_]\w*=(?:\"[^\"]*\"|'[^']*'|[^\s\"'])*+"
_ASSIGNMENT = re.compile(_VARIABLE)
_VARIABLES = re.compile(rf"[\s({{]*(?:(?:env|export) )?((?:{_VARIABLE}(?:\s+|$))++)")
# Sets many at once, and like them is nothing by itself.
_ACTIVATES = re.compile(
    r"(?:source|\.) [\w./~-]{0,200}activate|(?:nvm|fnm) use(?: [\w./-]{1,40})?|conda activate [\w.-]{1,80}"
    r"|(?:pyenv|rbenv|asdf) shell [\w. -]{1,60}"
)
_REDIRECT = re.compile(r"\s*\d?(?:>>?|<)(?:&\d|\s*[^\s&|;<>]+)")
_WRAPPERS = re.compile(
    r"(?:sudo(?: -\w+)*|time|nice(?: -n ?\d+)?|nohup|command|exec|env|stdbuf(?: -\w+)+|xvfb-run(?: -\w+)*"
    r"|timeout(?: -\S+)* \d+[smh]?)$"
)
_PRINTED = re.compile(r"(?:set|export|source|\.|cd|pushd|popd|echo|printf|true|:|sleep|wait|ulimit|umask|trap)")

# Programs that show what is in a file, and those of them whose first word is what they look for.
_SHOWING = frozenset(
    ("bat", "cat", "column", "cut", "diff", "fold", "head", "hexdump", "less", "more", "nl", "od", "sort",
     "strings", "tac", "tail", "uniq", "xxd", "zcat")
)  # fmt: skip
_LOOKING = frozenset(("ack", "ag", "awk", "egrep", "fgrep", "grep", "jq", "rg", "sed", "yq"))
_WITH_VALUE = frozenset(("-A", "-B", "-C", "-g", "-m", "-t", "-T"))
_WRITTEN = re.compile(r"\d?>{1,2}\s*([^\s&|;<>]+)")
# Of git: what gives changes to it, and options with which it puts files back as they were.
_KEEPING = frozenset(("add", "am", "cherry-pick", "commit", "merge", "stash"))
_QUIETLY = frozenset(("-q", "--quiet", "-f", "--force", "--"))
_WORKTREE, _STAGED = frozenset(("-W", "--worktree")), frozenset(("-S", "--staged"))
_PATTERN = re.compile(r"[*?$`]")
_RUNNERS = (
    r"(?:uv run(?: --(?:package|project|directory|extra|group|with|python|env-file) \S+| --\S+)*+ |poetry run "
    r"|pipenv run |hatch run |pdm run |rye run |conda run(?: -[np] \S+| --\S+)*+ |bundle exec |npx (?:-y )?"
    r"|pnpm exec |bunx |yarn exec |docker(?:-compose| compose) (?:exec|run)(?: -\S+)* \S+ )?"
    r"(?:(?:[\w./~-]*/)?python[\d.]* -m )?"
)
_AT = r"(?:[\w.~-]*/)*"  # where a program lies
_RUNNER = re.compile(_RUNNERS)
_VERSION = re.compile(r"(?<=[a-z])[\d.]+$")
_ADDS = re.compile(  # packages by name, and not what the project lists
    rf"{_RUNNERS}{_AT}(?:(?:uv )?pip[\d.]* install|(?:uv|poetry|pdm|npm|pnpm|yarn|bun|cargo|bundle) add"
    r"|(?:npm|pnpm|bun) (?:install|i)|pipenv install|gem install|go get|composer require|dotnet add package)"
    r"(?: --?[\w-]+)*+ (?!\S*\.(?:txt|toml|whl|tgz)\b|pip\b|[./-])[\w@]"
)


@cache
def _kinds() -> tuple[tuple[str, re.Pattern[str]], ...]:
    """The first that fits decides. `change`: may be what made something else work, and is nothing by itself."""
    return tuple((kind, _beginning(kind)) for kind in sections(COMMANDS) if kind not in NO_KINDS)


@cache
def _beginning(section: str) -> re.Pattern[str]:
    return re.compile(rf"{_RUNNERS}{_AT}{any_of(COMMANDS, section)}(?=\s|$)")


# A file, a test, or a choice among tests.
_SPECIFIC = re.compile(
    r"(?:^|\s)(?:--\s+\S+|\S*::\S+|\S+\.\w{1,5}(?::\d+)?|-[kgt]|-run|--watch\S*"
    r"|--(?:grep|filter|testNamePattern|run|lf|last-failed|only))(?=\s|=|$)"
)
_OPTION = re.compile(r"-\S+")
_CHOICE = re.compile(  # an option that says of what, and not how
    r"--?(?:filter|workspace|package|project|module|scope|target|stage|env\w*|config\w*|settings|profile|context"
    r"|namespace|var-file|chdir|prefix|cwd|dir|directory|manifest-path|file|select|suite|group|grep|run"
    r"|test\w*pattern\w*)=.+",
    re.IGNORECASE,
)
_HOW = re.compile(  # an option with its value that says how, and not of what
    r"(?:-[nj]|--(?:repeat-each|retries|reruns|(?:max-?)?workers|jobs|parallel|concurrency|numprocesses|timeout|bail"
    r"|max-?fail(?:ures)?|max-warnings|durations|seed|count)) (?:\d+[%sm]?|auto|logical)"
    r"|--(?:reporters?|tb|colou?r|log-?level|trace|video|screenshot) [\w.-]+",
    re.IGNORECASE,
)
_WHERE = re.compile(r"(?<= )--(?:project|browser)[= ]\S+ ?")  # the same tests, in one browser
_IN_BROWSERS = re.compile(rf"{_RUNNERS}{_AT}(?:playwright test|cypress run)\b")
_NEVER = re.compile(r"--(?:help|version|dry-run|collect-only|co|list)\b|(?:^|\s)-(?:h|V)(?:\s|$)")


# From what tells most to what tells least.
_KINDS = ("test", "build", "migrate", "deploy", "package", "check", "other", "change")


class _Known(NamedTuple):
    at: int
    text: str
    kind: str


@dataclass(frozen=True, slots=True)
class Ran:
    """`kind`: one of WORTH_KNOWING, `change`, or `other`. `key` is the same for the same command with other
    options, save those that choose what it is about, and `folder` where the line went before it. `is_general`:
    about the project, not about one file or test of it."""

    command: str
    kind: str
    key: str
    whole: str  # the key of the same in every browser; '' for what chooses none
    folder: str
    tells_status: bool
    tells_failure: bool  # it is this one that failed, and not another of the same line
    is_general: bool
    fixes: bool = False  # a check that may be what made something else work
    variables: tuple[str, ...] = ()  # that were set for it


def understood(command: str) -> Ran | None:
    """None for what only looks around, or says nothing that could be told again."""
    parts = list(_parts(command[:MAX_READ]))
    reduced = ((at, _reduced(text)) for at, (text, _sign) in enumerate(parts))
    known = [_Known(at, text, kind) for at, text in reduced if text and (kind := _kind(text))]
    if not known or any(_NEVER.search(one.text) for one in known):
        return None
    kind = min((one.kind for one in known), key=_KINDS.index)
    told = [one for one in known if one.kind == kind] if kind in WORTH_KNOWING else known[-1:]
    shown = " && ".join(dict.fromkeys(one.text for one in told))
    is_script = kind == "other" and len(known) > 2
    if is_script or len(shown) > MAX_COMMAND or "\n" in shown:
        return None
    tells = _tells_status(parts, told[-1].at)
    is_general = kind in ("package", "migrate", "deploy") or _SPECIFIC.search(shown) is None
    folder = _gone_to(text for text, _sign in parts[: told[-1].at])
    fixes = any(_beginning(FIXING).match(one.text) for one in told)
    set_for_it = tuple(name for text, _sign in parts[: told[-1].at + 1] for name in _variables(text))
    is_alone = tells and len(told) == len(known)
    return Ran(shown, kind, _key(shown), _whole(shown), folder, tells, is_alone, is_general, fixes, set_for_it)


def programs_in(command: str) -> tuple[str, ...]:
    """The programs of a command line by their bare names, and those that run another one. Without those that only
    look around, which stand in every second line."""
    found: list[str] = []
    for text, _sign in _parts(command[:MAX_READ]):
        run = _reduced(text)
        if run and _kind(run):
            found += (run, _RUNNER.sub("", run, count=1))
    names = (_VERSION.sub("", run.split(" ", 1)[0].rpartition("/")[2]) for run in found)
    return tuple(name for name in dict.fromkeys(names) if name)


def without_runner(command: str) -> str:
    """One command without variables, wrappers and whatever runs it: `pytest -q` of `CI=1 uv run pytest -q`."""
    words = command.split()
    while before := _wrapped(words) or _running(words):
        words = words[before:]
    return " ".join(words)


def adds_package(command: str) -> bool:
    return any(_ADDS.match(_reduced(text)) for text, _sign in _parts(command[:MAX_READ]))


def shell_text(command: object) -> str:
    """The command line of a tool's input: a text, or the words of `bash -lc TEXT`."""
    if isinstance(command, str):
        return command
    if isinstance(command, list | tuple) and all(isinstance(word, str) for word in command):
        words: Sequence[str] = command
        if len(words) >= 3 and words[0].rpartition("/")[2] in ("bash", "sh", "zsh") and words[1].startswith("-"):
            return words[2]
        return " ".join(words)
    return ""


def left_in(command: str) -> str:
    """Where a command line goes, as it names it; '' where it stays."""
    return _gone_to(text for text, _sign in _parts(command[:MAX_READ]))


@dataclass(frozen=True, slots=True)
class Undone:
    """What a command line does to files that were changed, as it names them. `keeps`: it gives them to git, which
    puts back no more than what was changed after that."""

    put_back: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    keeps: bool = False


def undone_by(command: str) -> Undone:
    """Rather too little: what is put back from another branch, or named by a pattern, is not known."""
    here, keeps = "", False
    put_back: list[str] = []
    removed: list[str] = []
    for text, _sign in _parts(command[:MAX_READ]):
        here, words = _moved(here, text), _split(_reduced(text))
        verb = _verb_of_git(words)
        keeps |= verb in _KEEPING
        if words[:2] == ["git", verb] and not keeps:
            put_back += (_at(here, path) for path in _put_back(verb, words[2:]))
        removed += (_at(here, path) for path in _removed(words))
    return Undone(tuple(put_back), tuple(removed), keeps)


def files_shown(command: str) -> Iterator[str]:
    """What a command line prints the content of, as it names it; after `cd`, from there. What the line itself has
    written is its own."""
    here, written = "", set(_WRITTEN.findall(command[:MAX_READ]))
    for text, _sign in _parts(command[:MAX_READ]):
        here, words = _moved(here, text), _split(_reduced(text))
        program = words[0].rpartition("/")[2] if words else ""
        if program in _LOOKING or program in _SHOWING:
            paths = _operands(words[1:])[program in _LOOKING :]
            yield from (_at(here, path) for path in paths if path not in written)
            if here and not paths:
                yield here


def _verb_of_git(words: Sequence[str]) -> str:
    """`commit` of `git -C web commit`; '' for what is not git."""
    after = zip(words[1:], words, strict=False)
    is_git = words[:1] == ["git"]
    return next((one for one, before in after if is_git and not {one[0:1], before} & {"-", "-C", "-c"}), "")


def _put_back(verb: str, words: Sequence[str]) -> list[str]:
    options = {one for one in words if one.startswith("-")}
    if verb == "checkout" and options <= _QUIETLY:
        return _checked_out(words)
    is_of_files = options <= _QUIETLY | _WORKTREE | (_STAGED if options & _WORKTREE else set())
    return _named(words) if verb == "restore" and is_of_files else []


def _checked_out(words: Sequence[str]) -> list[str]:
    """As it was, and not as another commit has it."""
    paths = _named(words)
    is_told_apart = "--" in words
    commits = (
        _named(words[: words.index("--")]) if is_told_apart else paths[: len(paths) > 1 and "." not in paths[0]]
    )
    return [one for one in paths if one not in commits] if set(commits) <= {"HEAD"} else []


def _removed(words: Sequence[str]) -> list[str]:
    match words:
        case ["rm", *paths]:
            return _named(paths)
        case ["git", "rm", *paths] if "--cached" not in paths:
            return _named(paths)
    return []


def _named(words: Sequence[str]) -> list[str]:
    return [one for one in words if one and not one.startswith("-") and not _PATTERN.search(one)]


def _gone_to(texts: Iterable[str]) -> str:
    """Where commands leave the shell; what stands in parentheses comes back."""
    here, before = "", None
    for text in texts:
        before = here if text.lstrip().startswith("(") else before
        here = _moved(here, text)
        if before is not None and text.rstrip().endswith(")"):
            here, before = before, None
    return here


def _moved(here: str, text: str) -> str:
    """Where a command leaves the shell: only `cd` moves it."""
    words = _split(text.strip().strip("(){} "))
    return _at(here, words[1] if words[1:] else "~") if words[:1] in (["cd"], ["pushd"]) else here


def _at(here: str, path: str) -> str:
    path = path.replace("$HOME", "~", 1) if path.startswith("$HOME/") else path
    return f"{here}/{path}" if here and not path.startswith(("/", "~")) else path


def _operands(words: Sequence[str]) -> list[str]:
    """Without options and the values that some of them have."""
    after = ("", *words)
    return [
        word
        for word, before in zip(words, after, strict=False)
        if not word.startswith("-") and before not in _WITH_VALUE
    ]


def _split(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:  # a quotation mark without its other
        return text.split()


def _kind(text: str) -> str:
    """'' for what looks around."""
    kind = next((kind for kind, pattern in _kinds() if pattern.match(text)), "other")
    return "" if kind == "look" else kind


def _reduced(text: str) -> str:
    """One command without variables, wrappers and redirections."""
    found = _VARIABLES.match(text)
    text = text[found.end() :] if found else text
    words = _SPACE.sub(" ", _REDIRECT.sub(" ", _SPACE.sub(" ", text))).strip().strip("(){} ").split(" ")
    while wrapped := _wrapped(words):
        words = words[wrapped:]
    first = words[0] if words else ""
    return "" if first.startswith(("#", "$", '"', "'", "-")) or _PRINTED.fullmatch(first) else " ".join(words)


def _variables(text: str) -> list[str]:
    """Those that a command is given, or that are exported before it; not what another command prints. An
    environment that is entered stands for all of its own."""
    if _ACTIVATES.fullmatch(text.strip()):
        return [f"{text.strip()} &&"]
    found = _VARIABLES.match(text)
    named = _ASSIGNMENT.findall(found[1]) if found else ()
    return [one for one in named if len(one) <= MAX_COMMAND and "$(" not in one and "`" not in one]


def _wrapped(words: Sequence[str]) -> int:
    """How many words of the first variable or wrapper stand before a command."""
    if words and _ASSIGNMENT.fullmatch(words[0]):
        return 1
    ends = range(min(len(words) - 1, 5), 0, -1)
    return next((end for end in ends if _WRAPPERS.match(" ".join(words[:end]))), 0)


def _running(words: Sequence[str]) -> int:
    """How many words of what runs another program stand before that."""
    found = _RUNNER.match(" ".join(words))
    return len(found[0].split()) if found else 0


def _key(shown: str) -> str:
    words = shown.split(" ")
    return " ".join([words[0], *(word for before, word in pairwise(words) if _is_of_key(word, before))])


def _is_of_key(word: str, before: str) -> bool:
    if _OPTION.fullmatch(word):
        return _CHOICE.fullmatch(word) is not None
    return not _HOW.fullmatch(f"{before} {word}")


def _whole(shown: str) -> str:
    anywhere = _WHERE.sub("", shown).rstrip() if _IN_BROWSERS.match(shown) else shown
    return "" if anywhere == shown else _key(anywhere)


def _tells_status(parts: Sequence[tuple[str, str]], last: int) -> bool:
    """Whether the status of the whole is that of the part at `last`: only `&&` may follow it, or nothing."""
    return all(sign == "&&" for _text, sign in parts[last:-1]) and parts[-1][1] not in ("&", "|", "||")


def _parts(command: str) -> Iterator[tuple[str, str]]:
    """The commands of a line and the sign after each; quotes hold together; a here-document ends the reading."""
    text, quote, at = "", "", 0
    while at < len(command):
        char = command[at]
        if quote:
            quote = "" if char == quote and command[at - 1] != "\\" else quote
        elif char in "'\"":
            quote = char
        elif command.startswith("<<", at):
            break
        elif char in ";\n|&" and not (
            char == "&" and (command[at - 1 : at] == ">" or command[at + 1 : at + 2] == ">")
        ):
            sign = ";" if char in ";\n" else char * (1 + (command[at + 1 : at + 2] == char))
            if text.strip():
                yield text, sign
            text, at = "", at + len(sign)
            continue
        text, at = text + char, at + 1
    if text.strip():
        yield text, ""

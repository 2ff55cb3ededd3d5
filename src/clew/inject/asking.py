"""What is asked about a tool call: its focal path, its text, and the rules about what it runs. Pure.

A path is asked for as the project knows it, without the folders that only this machine has. Of a shell command only
what it is about counts: programs, what runs them (`uv run`, `npx`) and options are in every second command and say
nothing. But a rule may name the
program ("use pnpm, never npm"), or speak of new dependencies: these are asked for by themselves.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from clew.hosts.shell import adds_package, programs_in, understood, without_runner
from clew.inject.hooks import cut
from clew.model.inject import VerbEvent
from clew.recall.analyse import asked_words, terms
from clew.values import dataclass

PATH, QUERY = "path", "query"
PROGRAM, ADDING = "program", "adding"  # asked of rules
MAX_PROGRAMS = 2  # of a command: each is a question
ADDED = "dependency package library"
ADDING_WORDS = frozenset(terms("add adding new install introduce"))
PATH_PARTS = 4  # of a path from the root of the disk: `src/billing/vat.py` and a folder more
SHELLS = frozenset(
    ("bash", "shell", "local_shell", "exec_command", "execute_command", "run_terminal_cmd", "terminal")
)
PROMPTS = frozenset(("userpromptsubmit", "prompt"))  # no tools: a person says it
# With these whoever asks asks for what is known, and says nothing of what about.
FRAME = frozenset(
    terms(
        "again agreed already anybody anyone anything decide decided decision everything know known last meant "
        "mentioned need previously recall remember rule said say something special still tell thing told whats"
    )
)
_ASKS = re.compile(r"\?(?=[\s\"')]|$)|^\W*(?:what|which|who|where|when|why|how)(?:['\u2019]?s)?\b", re.IGNORECASE)
# Names that every project has, and that say nothing about what is in the file.
NAMELESS = frozenset(
    "app base common conf config conftest core index init lib main mod model package readme setting setup spec "
    "test type util".split()
)
_SEPARATOR = re.compile(r"[;&|\n]+")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_A-Za-z]+")
_BRANCHING, _BEGINS_BRANCH = (["git", "checkout"], ["git", "switch"]), frozenset(("-b", "-B", "-c", "-C"))
_ROOTED = re.compile(r"[/\\~]|[A-Za-z]:[/\\]")


@dataclass(frozen=True, slots=True)
class Question:
    """`words` are its terms; so many of them at least must stand in a memory for it to be an answer. `runs` and
    `folder`: what a command that has not run yet comes down to, as it is kept if it fails."""

    kind: str
    text: str
    words: frozenset[str]
    is_command: bool = False
    is_error: bool = False
    is_asked: bool = False  # by a person, in a prompt
    runs: str = ""
    folder: str = ""


def questions_of(event: VerbEvent) -> tuple[Question, ...]:
    """At most one about the path and one about the text; none for a call that says nothing."""
    found = (_about_path(focal_path(event)), _about_text(event))
    return tuple(one for one in found if one is not None and one.text)


def asked_of_rules(event: VerbEvent) -> tuple[Question, ...]:
    """By the names of a command's programs, with the words of the whole command; and about what it adds."""
    command = cut(event.query)
    if not _is_command(event) or not command:
        return ()
    words = frozenset(asked_words(command_words(command)))
    programs = programs_in(command)[:MAX_PROGRAMS]
    adding = [Question(ADDING, ADDED, ADDING_WORDS, is_command=True)] if adds_package(command) else []
    return (*(Question(PROGRAM, name, words, is_command=True) for name in programs), *adding)


def focal_path(event: VerbEvent) -> str | None:
    return project_path(event.paths[0]) if event.paths else None


def project_path(path: str) -> str:
    """Relative paths as they are; of others the end, since nobody says where the project begins."""
    parts = [part for part in cut(path[:1_000]).replace("\\", "/").split("/") if part not in ("", ".")]
    return "/".join(parts[-PATH_PARTS:] if _ROOTED.match(path) else parts)


def name_words(path: str) -> frozenset[str]:
    """The words of a file's own name that say what is in it: `test_vat_rates.py` is about vat and rates. None for
    what has no ending, which is mostly a folder."""
    stem, dot, _ending = path.rsplit("/", 1)[-1].rpartition(".")
    if not dot:
        return frozenset()
    return frozenset(
        word for word in terms(" ".join(_WORD.findall(stem))) if word not in NAMELESS and not word.isdigit()
    )


def command_words(command: str) -> str:
    """A command without its programs and options. To begin a branch is about nothing yet: its name is a label."""
    return " ".join(word for part in _SEPARATOR.split(command) for word in _arguments(part))


def _arguments(command: str) -> Iterator[str]:
    words = without_runner(command).split()
    if words[:2] in _BRANCHING and _BEGINS_BRANCH.intersection(words):
        return
    yield from (word for word in words[1:] if not word.startswith("-"))


def _about_path(path: str | None) -> Question | None:
    return Question(PATH, path, name_words(path)) if path else None


def _is_command(event: VerbEvent) -> bool:
    return event.phase != "failure" and event.tool.casefold() in SHELLS


def _about_text(event: VerbEvent) -> Question | None:
    text = cut(event.query)
    is_command = _is_command(event)
    asked = " ".join((command_words(text) if is_command else text).split())
    words = frozenset(asked_words(asked))
    if not words:
        return None
    ran = understood(text) if is_command and event.phase == "pre" else None
    runs, folder = (ran.command, ran.folder) if ran else ("", "")
    is_asked = event.tool.casefold() in PROMPTS and _ASKS.search(asked) is not None
    return Question(QUERY, asked, words, is_command, event.phase == "failure", is_asked, runs, folder)

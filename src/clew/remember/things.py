"""The things a text names: files, symbols, services, packages, people, tickets, addresses, errors. Pure.

In: any text. Out: what it names, in order and without overlaps. Aliases share a key: `AuthService`, `auth_service`,
`auth-service` and `authService` are `service:authservice`; Postgres, PostgreSQL and pg are `service:postgresql`.
`PostgresDB` is `service:postgresdb`: by its suffix it names somebody's database, not the product.

Texts repeat their words, so what a word says by itself is remembered, and a text of plain words costs one look-up
for each. What needs its neighbours ("the billing worker", "issue #12") is marked as a cue and read in place.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import accumulate
from operator import add
from typing import NamedTuple

from clew import native
from clew.model.graph import NodeRef, parse_ref
from clew.recall.analyse import STOP_WORDS
from clew.remember.word import (
    GLOB,
    ISSUE_NUMBER,
    MAX_KEY,
    MODIFIERS,
    SERVICES,
    TOKENS,
    VERBS,
    Token,
    fold_case,
    fold_name,
    path_key,
)

MAX_CHARS = 20_000  # of a text are looked at: beyond that it is a log or a dump
MAX_THINGS = 64
_KNOWN, _LONGEST = 100_000, 40  # words, and their letters


class Thing(NamedTuple):
    ref: NodeRef
    label: str  # as the text spells it
    start: int
    end: int


def things_in(text: str, words: list[str] | None = None) -> list[Thing]:
    """At most MAX_THINGS, from the first MAX_CHARS characters. `words` are those of the text, if they are known."""
    if len(text) > MAX_CHARS:
        text, words = text[:MAX_CHARS], None
    if not text.isascii() and (spaced := _UNSPACED.sub(_blank, text)) != text:
        text, words = spaced, None
    if text.isascii() and _is_silent(text):  # as most texts of plain words
        return []
    words = text.split() if words is None else words
    marked = [(index, token) for index, word in enumerate(words) if (token := TOKENS[word])]
    return _place(_Line(text, words, _starts(text, words)), marked)


_SILENT = native.words(lambda _word: b"", most=_KNOWN, longest=_LONGEST)  # words that say nothing by themselves


def _is_silent(text: str) -> bool:
    """Whether no word of it says anything by itself. Those are known by one look for each; the others are looked
    at again."""
    new = _SILENT.unknown(text)
    silent = [word for word in new if TOKENS[word] is None]
    if silent:
        _SILENT.join(" ".join(silent))
    return len(silent) == len(new)


# Chinese, Japanese, Korean, Thai and their like put no space between their words and a name: `调用AuthService，`.
# Steps of a path and names of files may be in these letters, too, but not before the root of a system.
_LETTERS = (
    r"[\u0e00-\u0eff\u1000-\u11ff\u1780-\u17ff\u3000-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff"
    r"\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65]"
)
_SYSTEM = r"(?:app|bin|data|etc|home|mnt|opt|proc|root|srv|sys|tmp|usr|var)/"
_UNSPACED = re.compile(rf"(?<![/\\])(?<!{_LETTERS}){_LETTERS}++(?!\.\w|/(?!{_SYSTEM}))")


def _blank(match: re.Match[str]) -> str:
    return " " * len(match[0])


def thing_named(text: str) -> NodeRef | None:
    """The node that a person means by what they type: a ref as it is, or the name of one thing."""
    text = text.strip()
    if ref := parse_ref(text):
        return ref
    if ISSUE_NUMBER.fullmatch(text):
        return NodeRef("ticket", text)
    found = things_in(text) or things_in(f"`{text}`") or things_in(f"the {text}")
    if len(found) == 1 and len(found[0].label) >= len(text.strip("`@#'\"()")) - len(":999999"):
        return found[0].ref
    return None


def file_named(path: str) -> NodeRef | None:
    """The file of a path, in one spelling; None for a glob or nothing."""
    if GLOB.search(path):
        return None
    key = path_key(path.strip())
    return NodeRef("file", key) if key else None


def person_named(name: str) -> NodeRef | None:
    key = " ".join(fold_case(name).lstrip("@").split())
    return NodeRef("person", key[:MAX_KEY]) if key else None


def _starts(text: str, words: list[str]) -> list[int]:
    """Where each word begins. Between two of them is white space only, so the next find is the next word."""
    if " ".join(words) == text:
        return list(map(add, accumulate(map(len, words), initial=0), range(len(words))))
    starts, at = [], 0
    for word in words:
        at = text.index(word, at)
        starts.append(at)
        at += len(word)
    return starts


# What words say together.


class _Line(NamedTuple):
    text: str
    words: list[str]
    starts: list[int]

    def word(self, index: int) -> str:
        return self.words[index] if 0 <= index < len(self.words) else ""

    def bare(self, index: int) -> str:
        return self.word(index).strip("`\"'()[]*,.:;!?").lower()


_Reading = Callable[[_Line, int, int, int, list[Thing]], None]


def _place(line: _Line, marked: list[tuple[int, Token]]) -> list[Thing]:
    found: list[Thing] = []
    for index, token in marked:
        at = line.starts[index]
        _append_pieces(found, token, at)
        for cue in token.cues:
            _READINGS[cue.kind](line, index, at + cue.start, at + cue.end, found)
        if len(found) >= MAX_THINGS:
            return found[:MAX_THINGS]
    return found


def _append_pieces(found: list[Thing], token: Token, at: int) -> None:
    for piece in token.pieces:
        if not found or at + piece.start >= found[-1].end:
            found.append(Thing(piece.ref, piece.label, at + piece.start, at + piece.end))


def _append(line: _Line, found: list[Thing], ref: NodeRef, start: int, end: int) -> None:
    if not found or start >= found[-1].end:
        found.append(Thing(ref, line.text[start:end], start, end))


def _after_service_noun(line: _Line, index: int, start: int, end: int, found: list[Thing]) -> None:
    """ "the billing worker" is a service, "the new worker" is not; "the Postgres database" is PostgreSQL."""
    if not index or start != line.starts[index]:
        return
    before = line.starts[index - 1] + len(line.words[index - 1])
    if found and found[-1].end == before and found[-1].ref.type == "service":
        found[-1] = found[-1]._replace(label=line.text[found[-1].start : end], end=end)
        return
    names = _modifiers(line, index)
    if names:
        first = line.starts[index - len(names)]
        key = fold_name("".join(names) + line.text[start:end])
        _append(line, found, NodeRef("service", key), first, end)


def _modifiers(line: _Line, index: int) -> list[str]:
    """The one or two words that name the service, if what stands before them shows that a name begins there."""
    names: list[str] = []
    for back in range(1, 4):
        word = line.word(index - back)
        low = word.lower()
        if low in _DETERMINERS or low in _BEFORE_A_NAME:
            return names
        if len(names) == 2 or not word.isalpha() or low in STOP_WORDS or low in MODIFIERS or low in VERBS:
            return names if low in MODIFIERS and line.word(index - back - 1).lower() in _DETERMINERS else []
        names.insert(0, word)
    return []


def _after_issue_word(line: _Line, index: int, start: int, end: int, found: list[Thing]) -> None:
    before = line.bare(index - 1)
    if before in _ISSUE_WORDS or (
        (before in ("and", "or", "") or line.word(index - 1).endswith(","))
        and (found and found[-1].ref.type == "ticket" and start - found[-1].end < 8)
    ):
        _append(line, found, NodeRef("ticket", line.text[start:end]), start, end)


def _near_package_word(line: _Line, index: int, start: int, end: int, found: list[Thing]) -> None:
    """`requests` and `click` are words as well: only beside a word that says they are packages."""
    if line.bare(index + 1) in _PACKAGE_WORDS or line.bare(index - 1) in _PACKAGE_VERBS:
        name = line.text[start:end]
        if name.islower():
            _append(line, found, NodeRef("package", name), start, end)


def _after_installer(line: _Line, index: int, _start: int, _end: int, found: list[Thing]) -> None:
    at = index + 1
    if line.word(at) == "pip":  # uv pip install
        return
    if line.word(at) not in _INSTALLS:
        return
    is_open = line.word(index).startswith("`") or line.word(index - 1).startswith("`")
    while at + 1 < len(line.words) and len(found) < MAX_THINGS:
        at += 1
        word = line.words[at]
        name = _INSTALLED.match(word)
        if word.startswith("-"):
            if word in _WITH_A_VALUE and (value := TOKENS[line.word(at := at + 1)]):
                _append_pieces(found, value, line.starts[at])
            continue
        if not name:
            return
        begin = line.starts[at]
        ref = NodeRef("package", name[1].lower()[:MAX_KEY])
        if not found or begin >= found[-1].end:
            found.append(Thing(ref, name[1], begin, begin + len(name[1])))
        if not is_open or "`" in word or word[-1] in ".,;:)":
            return


def _after_import(line: _Line, index: int, start: int, _end: int, found: list[Thing]) -> None:
    """`import x` where a line of code would begin, and `from x import y`."""
    if line.bare(index - 2) == "from":
        at = index - 1
    elif start == 0 or line.text[start - 1] in "\n`":
        at = index + 1
    else:
        return
    name = _IMPORTED.match(line.word(at))
    if name and name[0] not in STOP_WORDS:
        begin = line.starts[at]
        if not found or begin >= found[-1].end:
            found.append(Thing(NodeRef("package", name[0]), name[0], begin, begin + len(name[0])))


def _before_person_verb(line: _Line, index: int, _start: int, _end: int, found: list[Thing]) -> None:
    name = line.word(index - 1)
    if not _is_first_name(name) or line.bare(index - 2).lower() in _NAMES_OTHERS:
        return
    first = index - 1
    if line.word(index - 2).isalpha() and _is_first_name(line.word(index - 2)):
        first = index - 2
        if line.bare(index - 3).lower() in _NAMES_OTHERS:
            return
    start, end = line.starts[first], line.starts[index - 1] + len(name)
    if not found or start >= found[-1].end:
        found.append(Thing(NodeRef("person", " ".join(fold_case(line.text[start:end]).split())),
                           line.text[start:end], start, end))  # fmt: skip


def _is_first_name(word: str) -> bool:
    low = word.lower()
    return (
        len(word) > 1 and word.isalpha() and word[0].isupper() and word[1:].islower()
        and low not in STOP_WORDS and low not in _NOT_PEOPLE and low not in SERVICES
    )  # fmt: skip


def _after_http(line: _Line, index: int, start: int, _end: int, found: list[Thing]) -> None:
    status = _STATUS_START.match(line.word(index + 1))
    if status:
        end = line.starts[index + 1] + 3
        _append(line, found, NodeRef("error", f"http{status[0]}"), start, end)


def _before_reason(line: _Line, index: int, start: int, end: int, found: list[Thing]) -> None:
    if line.bare(index + 1) in _REASONS:
        _append(line, found, NodeRef("error", f"http{line.text[start:end]}"), start, end)


_DETERMINERS = frozenset("the our a an this that its their your my these those each every".split())
_BEFORE_A_NAME = frozenset(
    "by with to from on in via through of for and or behind calls uses hits needs requires over between "
    "against".split()
)
_STATUS_START = re.compile(r"[1-5]\d\d(?!\w)")
_INSTALLED = re.compile(r"`?(@?[A-Za-z][\w./-]*[\w])")
_IMPORTED = re.compile(r"[A-Za-z_]\w*")
_INSTALLS = frozenset("install i add get".split())
# The next word is a file, an address or a group, not a package.
_WITH_A_VALUE = frozenset(
    "-r -c -e -f -i -t -G -C --requirement --constraint --editable --find-links --index-url --extra-index-url "
    "--target --group --extra --registry --prefix --python --features --version --branch".split()
)
_ISSUE_WORDS = frozenset(
    "issue issues pr prs pull request ticket tickets bug bugs fixes fixed fix closes closed close resolves "
    "resolved see refs ref mr task incident".split()
)
_PACKAGE_WORDS = frozenset("library package module lib dependency framework".split())
_PACKAGE_VERBS = frozenset("package library module dependency using over import require imports installs".split())
_REASONS = frozenset(
    "bad internal not gateway service too unauthorized forbidden conflict request error errors".split()
)
# "The Linter wants", "Team Blue owns": what follows is no first name.
_NAMES_OTHERS = _DETERMINERS | frozenset("team squad tribe guild group project customer tenant".split())
_NOT_PEOPLE = frozenset(
    "everyone everybody someone somebody nobody anyone one team users user customers customer product legal "
    "security marketing support management engineering design sales ops finance he she they we i it who people "
    "developers reviewers management leadership today yesterday then also now later finally docs doc documentation "
    "tests never always recently originally previously initially nobody both neither either others whoever "
    "whichever platform infra infrastructure backend frontend data devops sre qa operations compliance accounting "
    "procurement audit reviewer vendor client clients upstream downstream linter compiler squad amazon apple "
    "google microsoft meta rust python java kotlin ruby scala gradle maven cargo sonar dependabot renovate".split()
)
_READINGS: dict[str, _Reading] = {
    "service": _after_service_noun,
    "ticket": _after_issue_word,
    "package": _near_package_word,
    "install": _after_installer,
    "import": _after_import,
    "person": _before_person_verb,
    "http": _after_http,
    "status": _before_reason,
}

"""Notes written for coding agents (CLAUDE.md, AGENTS.md, MEMORY.md, .cursorrules) into drafts. Pure.

One memory per bullet and per paragraph. Nested bullets stay with their parent while the whole is short; otherwise
each becomes a memory of its own that begins with the parent's words. A code block stays with the text above it,
since "run the tests with:" says nothing without it. The heading above becomes the title, the section the category.
Front matter is not a memory; its `globs` or `paths` say which files the notes are about. What says nothing by
itself is left out and told: a lone word, a heading above nothing, an include, a picture, code without words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import field

from clew.model.memory import Draft
from clew.values import dataclass

SHORT = 10  # characters; what is longer says something, however few its words
JOINED = 600  # characters up to which nested bullets stay with their parent
LONGEST = 4_000  # characters of one memory; longer text is cut between words
CODE = 2_000  # characters of a code block worth keeping with its text
LEAD = 300  # characters of the parent's words repeated before a bullet that stands alone
DEEPEST = 8  # levels of nested bullets; deeper ones join the last
MAX_PATHS = 64

_BULLET = re.compile(r"(?P<indent>[ \t]*)(?:[-*+]|\d{1,9}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?(?P<text>\S.*)")
_FENCE = re.compile(r"[ \t]*(?P<marks>`{3,}+|~{3,}+)[^`]*")
_UNDERLINE = re.compile(r" {0,3}(=+|-+)[ \t]*")
_RULE = re.compile(r" {0,3}(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,}")
# An include, a badge, a bare link.
_NOT_A_STATEMENT = re.compile(r"@\S+|!?\[!?\[?[^\]]*\]\([^)]*\)\]?(?:\([^)]*\))?")
_PATH_KEY = re.compile(r"(?:globs|paths|applyTo)\s*:\s*(?P<value>.*)")
_SLUG = re.compile(r"[^\w]+")
# Around words, not within names: `session_id`, `~/.bashrc` and `src/**/*.py` keep their signs. As long as a title.
_EMPHASIS = re.compile(r"(?<![\w`/*_~])(\*{1,3}|_{1,3}|~~)(?=[^\s*_~])(.{1,120}?)(?<=[^\s*_~])\1(?![\w`/*_~])")
# Thai, Lao, Burmese, Khmer, Japanese, Chinese: no spaces between words, of which most have two characters.
_UNSPACED = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]"
)
_ENDING = " \t\n.,;:!?"

# The first that fits decides. Words from the documented inference of memories.sh, with their plain synonyms.
_TYPES = (
    ("rule", re.compile(r"\b(?:always|never|must|prefer|do not|don['’]t|avoid)\b", re.IGNORECASE)),
    ("decision", re.compile(r"\b(?:chose|chosen|decided|because|instead of)\b", re.IGNORECASE)),
    ("fact", re.compile(r"\b(?:is|are|was|were|has|have|uses|contains|runs|lives)\b", re.IGNORECASE)),
)


@dataclass(frozen=True, slots=True)
class Notes:
    """`left_out`: the numbers of the lines that say nothing by themselves."""

    drafts: tuple[Draft, ...]
    left_out: tuple[int, ...]


@dataclass(slots=True)
class _Item:
    """A paragraph or a bullet, with what hangs on it."""

    line: int
    parts: list[str]
    headings: tuple[str, ...]
    indent: int = -1  # -1: a paragraph
    children: list[_Item] = field(default_factory=list)
    code: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(self.parts)


def parse_notes(text: str, name: str) -> Notes:
    """Drafts in the order of the file, without repetitions. Never raises, whatever the text."""
    lines = _without_comments(text).replace("\r\n", "\n").replace("\r", "\n").split("\n")
    body, paths = _front_matter(lines)
    drafts: dict[str, Draft] = {}
    reader = _Reader(lines, body)
    for item in reader.items():
        if item.text and not _says_something(_joined(item)):
            reader.left_out.add(item.line)
            continue
        for line, content in _statements(item):
            draft = _draft(content, item, name=name, line=line, paths=paths)
            drafts.setdefault(_same(content), draft)
    return Notes(tuple(drafts.values()), tuple(sorted(reader.left_out)))


def infer_type(text: str) -> str:
    for type_, words in _TYPES:
        if words.search(text):
            return type_
    return "note"


def _draft(content: str, item: _Item, *, name: str, line: int, paths: tuple[str, ...]) -> Draft:
    title = item.headings[-1] if item.headings else None
    section = item.headings[min(1, len(item.headings) - 1)] if item.headings else ""
    return Draft(
        content=content,
        type=infer_type(content.partition("\n```")[0]),
        title=title,
        category=_SLUG.sub("-", section.lower()).strip("-_") or None,
        paths=paths,
        origin="import",
        metadata={"source": name, "line": line},
    )


def _statements(item: _Item) -> Iterator[tuple[int, str]]:
    """What one item says: as a whole if it is short, else part by part."""
    whole = _joined(item)
    if len(whole) <= JOINED or not item.children:
        yield from ((item.line, piece) for piece in _pieces(whole))
        return
    lead = item.text[:LEAD].rstrip(_ENDING)
    own = "\n".join([item.text, *item.code])
    if _says_something(own):  # or it is a label, which its bullets repeat
        yield from ((item.line, piece) for piece in _pieces(own))
    for child in item.children:
        yield from ((child.line, piece) for piece in _pieces(f"{lead}: {_joined(child)}"))


def _joined(item: _Item) -> str:
    return "\n".join([item.text, *item.code, *(f"- {_joined(child)}" for child in item.children)])


def _pieces(text: str) -> Iterator[str]:
    """The text, cut between lines or words where it is too long for one memory."""
    start = 0
    while len(text) - start > LONGEST:
        middle, end = start + LONGEST // 2, start + LONGEST
        cut = next((at for space in "\n " if (at := text.rfind(space, middle, end)) > 0), end)
        yield from _with_words(text[start:cut])
        start = cut
    yield from _with_words(text[start:])


def _with_words(text: str) -> Iterator[str]:
    if any(map(str.isalnum, text)):
        yield text.strip()


def _says_something(text: str) -> bool:
    """Two words say something, a lone one or a label does not. A character of a script without spaces is half a
    word: four of them, or two beside a name, make a statement."""
    text = text.strip()
    if len(text) > SHORT or text.endswith((":", "：")):
        return len(text) > SHORT and any(map(str.isalnum, text))
    return sum(map(_halves, text.split())) >= 4


def _halves(chunk: str) -> int:
    unspaced = len(_UNSPACED.findall(chunk))
    return unspaced + (2 if any(map(str.isalnum, _UNSPACED.sub("", chunk))) else 0)


def _same(content: str) -> str:
    return " ".join(content.lower().split()).rstrip(_ENDING)


class _Reader:
    """Line by line; what is open (a paragraph, a list, its headings) is all it remembers."""

    def __init__(self, lines: list[str], start: int) -> None:
        self._lines = lines
        self._at = start
        self._headings: list[tuple[int, str, int]] = []  # level, title, line
        self._open: list[_Item] = []  # the paragraph, or the bullet with its ancestors
        self._after_blank = False
        self.left_out: set[int] = set()

    def items(self) -> Iterator[_Item]:
        """Paragraphs and top-level bullets, each once nothing more can be added to it."""
        last: _Item | None = None
        while self._at < len(self._lines):
            item = self._next()
            if item is not None:
                if last is not None:
                    yield last
                last = item
        if last is not None:
            yield last

    def _next(self) -> _Item | None:
        """Read a line; an item if it begins a new one."""
        line = self._lines[self._at].lstrip("\ufeff").rstrip()
        line = line.lstrip().removeprefix(">").removeprefix(" ") if line.lstrip().startswith(">") else line
        self._at += 1
        if not line:
            self._after_blank = True
            return None
        after_blank, self._after_blank = self._after_blank, False
        if len(line) > LONGEST:  # no markup is that long, and patterns would be slow on it
            return self._begin(line)
        if fence := _FENCE.fullmatch(line):
            return self._code(fence["marks"], line.strip())
        if heading := _heading_of(line):
            self._heading(*heading)
            return None
        if _UNDERLINE.fullmatch(line) and not after_blank and self._is_paragraph_open():
            self._underlined(1 if "=" in line else 2)
            return None
        if _RULE.fullmatch(line):
            self._open = []
            return None
        if bullet := _BULLET.fullmatch(line):
            return self._bullet(_width(bullet["indent"]), bullet["text"])
        return self._text(line, after_blank)

    def _code(self, marks: str, opening: str) -> _Item | None:
        """Up to the closing fence, or to the end where there is none."""
        first = self._at
        while self._at < len(self._lines) and not _closes(self._lines[self._at], marks):
            self._at += 1
        code = "\n".join([opening, *self._lines[first : self._at], marks])
        self._at += 1
        if len(code) > CODE or not (self._open or self._headings):
            self.left_out.add(first)
            return None
        if self._open:
            self._open[-1].code.append(code)
            return None
        item = self._begin(f"{self._headings[-1][1]}:", line=first)
        item.code.append(code)
        return item

    def _heading(self, level: int, text: str) -> None:
        self._headings = [above for above in self._headings if above[0] < level]
        title = " ".join(_EMPHASIS.sub(r"\2", text).replace("`", "").split())[:120].strip()
        if title:
            self._headings.append((level, title, self._at))
            self.left_out.add(self._at)  # until something stands below it
        self._open = []

    def _underlined(self, level: int) -> None:
        """The paragraph just read was a heading."""
        text, self._open[0].parts = self._open[0].text, []
        self._heading(level, text)

    def _bullet(self, indent: int, text: str) -> _Item | None:
        while self._open and (self._open[-1].indent >= indent or len(self._open) > DEEPEST):
            self._open.pop()
        if not self._open or self._open[0].indent < 0:
            return self._begin(text, indent=indent)
        item = _Item(self._at, [text.strip()], self._titles(), indent)
        self._open[-1].children.append(item)
        self._open.append(item)
        return None

    def _text(self, line: str, after_blank: bool) -> _Item | None:
        text = line.strip()
        if _is_table_rule(text):
            return None
        if _NOT_A_STATEMENT.fullmatch(text):
            self.left_out.add(self._at)
            return None
        is_indented = line[0] in " \t"
        if self._open and (not after_blank or (is_indented and not self._is_paragraph_open())):
            item = self._open[-1]
            join = "\n" if text.startswith("|") else " "
            if item.code:
                item.code.append(text)
            else:
                item.parts.append(join + text)
            return None
        return self._begin(text)

    def _begin(self, text: str, *, indent: int = -1, line: int | None = None) -> _Item:
        item = _Item(self._at if line is None else line, [text.strip()], self._titles(), indent)
        self._open = [item]
        self.left_out.difference_update(above for _level, _title, above in self._headings)
        return item

    def _is_paragraph_open(self) -> bool:
        return bool(self._open) and self._open[-1].indent < 0

    def _titles(self) -> tuple[str, ...]:
        return tuple(title for _level, title, _line in self._headings)


def _heading_of(line: str) -> tuple[int, str] | None:
    """(level, text) of `## Text ##`."""
    marked = line.lstrip(" ")
    text = marked.lstrip("#")
    level = len(marked) - len(text)
    if len(line) - len(marked) > 3 or not 1 <= level <= 6 or text[:1] not in ("", " ", "\t"):
        return None
    unclosed = text.rstrip(" \t").rstrip("#")
    return level, (unclosed if unclosed[-1:] in ("", " ", "\t") else text).strip(" \t")


def _is_table_rule(text: str) -> bool:
    """The line below the head of a table: | --- | :-: |"""
    return "|" in text and "-" in text and not text.strip(" \t:|-")


def _closes(line: str, marks: str) -> bool:
    text = line.strip()
    return text.startswith(marks) and not text.strip(marks[0])


def _width(indent: str) -> int:
    return len(indent.expandtabs(4))


def _without_comments(text: str) -> str:
    """HTML comments blanked out, line for line, so that numbers stay true. One left open stays as it is."""
    parts: list[str] = []
    at = 0
    while (start := text.find("<!--", at)) >= 0 and (end := text.find("-->", start)) >= 0:
        parts += [text[at:start], "\n" * text.count("\n", start, end)]
        at = end + 3
    return "".join([*parts, text[at:]])


def _front_matter(lines: list[str]) -> tuple[int, tuple[str, ...]]:
    """(where the notes begin, the files they are about)"""
    if lines[0].lstrip("\ufeff").rstrip() != "---":
        return 0, ()
    for end, line in enumerate(lines[1:], 1):
        if line.rstrip() in ("---", "..."):
            return end + 1, _paths(lines[1:end])
    return 0, ()


def _paths(lines: list[str]) -> tuple[str, ...]:
    """`globs: a, b`, `paths: [a, b]`, or a list below the key. As much YAML as these files use."""
    found: list[str] = []
    is_list = False
    for line in lines:
        text = line.strip()
        if key := _PATH_KEY.fullmatch(text):
            is_list = not key["value"]
            found += key["value"].strip("[]").split(",")
        elif is_list and text.startswith("- "):
            found.append(text[2:])
        else:
            is_list = False
    cleaned = (path.strip(" \t'\"") for path in found)
    return tuple(dict.fromkeys(path for path in cleaned if 0 < len(path) <= 240))[:MAX_PATHS]

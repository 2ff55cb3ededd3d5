"""The one renderer of everything that reaches a prompt.

Text goes in as it was stored; lines come out in the documented formats. Pure: no clock, no randomness, so the
same input gives the same bytes.

Invariants, whatever the text says:
- an item is one line that starts with `- [id] ` (or `- Source → `), so nothing in it can begin a line;
- what a host or a markdown reader would act upon (tags, role templates, fences, links, images, entities) stands
  there readable but broken;
- a line has a fixed greatest length. Text is cut before it is neutralised, and neutralising puts one code point
  in the place of one or of none: it never lets a line grow.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Iterable, Sequence
from datetime import UTC, datetime
from typing import Generic, NewType, TypeVar

from clew.values import dataclass

# Text that may stand in a prompt. Only this module makes it, so that joining raw text into a block is a type error.
SafeText = NewType("SafeText", str)
Key = TypeVar("Key")

OBSERVATIONS_HEADING = SafeText("## Relevant Past Observations")
TRIPLETS_HEADING = SafeText("## Knowledge Graph Triplets")
SUMMARIES_HEADING = SafeText("## Related Past Sessions")
HEADINGS = frozenset({OBSERVATIONS_HEADING, TRIPLETS_HEADING, SUMMARIES_HEADING})

EXCERPT_CHARS = 300  # rensei.md C-14: code points after whitespace is collapsed, no ellipsis
SUMMARY_CHARS = 200  # rensei.md 2.8
NAME_CHARS = 120  # an id, an entity, an issue: as long as an imported id may be
OUTCOME_CHARS = 40
PROJECT_CHARS = 40  # in the mark of what another project knows
OBSERVED_MARK = "[observed] "
NOTHING_VISIBLE = "(nothing visible)"
NO_LIMIT = sys.maxsize

# Printable for Python and yet invisible: fillers, joiners, blanks, and the variation selectors that smuggle bytes.
# The rest goes by category (control, format with its bidirectional and zero-width characters and the tag block,
# surrogate, private use, unassigned). Joiners inside emoji go too: these then show as their parts.
_BLANKS = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)

# Full-width forms, and small, vertical and raised ones of signs: syntax for whoever normalises before looking.
_WIDE = {wide: wide - 0xFEE0 for wide in range(0xFF01, 0xFF5F)} | str.maketrans(
    "﹐﹒﹔﹕﹖﹗﹙﹚﹛﹜﹟﹠﹡﹢﹣﹤﹥﹦﹨﹩﹪﹫︓︔︕︵︶﹇﹈⁽⁾₍₎․\u037e\u1fef",
    ",.;:?!(){}#&*+-<>=\\$%@:;!()[]()().;`",
)

# Each pattern finds the one character that makes its neighbours active; a visible look-alike takes its place. So
# the text stays readable, a reader sees that it was touched, and no parser takes it for syntax, nor does one that
# normalises first: none of them has another form. Entities are no way out, because these sections are read raw; nor
# are invisible characters, which are what we remove.
_TEMPLATES = (
    "inst|sys|system|system_prompt|user|assistant|human|tool|tool_calls|tool_results|tool_content|available_tools|"
    "think|gmask|smask|bos|eos|img|observed"
)
_SCHEMES = "|".join(
    f"(?<={scheme}:)" for scheme in ("mailto", "xmpp", "javascript", "vbscript", "data", "tel", "sms")
)
_BROKEN: tuple[tuple[re.Pattern[str], str], ...] = (
    # A tag, comment, autolink or template such as <|im_start|> and <<SYS>>. `a < b`, `<=` and `<-` stay.
    (re.compile("<(?![ =-])"), "‹"),
    # An entity is a tag for whoever decodes before looking.
    (re.compile("&(?=#|[A-Za-z][A-Za-z0-9]{0,31};|[lL][tT]|[gG][tT])"), "⅋"),
    # Role templates in brackets such as [INST] and [/INST], and the marks that are ours to give.
    (re.compile(rf"\[(?= ?/| ?from | ?in conflict with | ?said \d| ?(?:{_TEMPLATES}) ?\])", re.IGNORECASE), "⟦"),
    # The destination of [text](url) and ![alt](url), and what makes a bare address a link. The literal stands first
    # in each pattern, because that is what lets a search run through plain text at full speed.
    (re.compile(r"\((?<=\]\()"), "❨"),
    (re.compile(rf":(?! )(?:(?=//)|{_SCHEMES})", re.IGNORECASE), "∶"),
    (re.compile(r"\.(?<=www\.)", re.IGNORECASE), "·"),
)
# Three and more make a fence or a rule; one or two are inline code and options.
_RUNS = (re.compile("```+"), re.compile("~~~+"), re.compile("---+"))
_RUN_OF = str.maketrans("`~-", "ˋ∼‐")
# What would begin a block where text follows the dash at once, as a triplet's source does: a heading, a quote, a
# list in the list, a task, or an id that makes it look like an observation.
_BLOCK_START = re.compile(r"(?:#{1,6}(?= |$)|[-+*](?= |$)|>|\[|\d{1,9}[.)](?= |$))")
_BLOCK_OF = str.maketrans({"#": "♯", "-": "‐", "+": "·", "*": "∗", ">": "›", "[": "⟦", ".": "·", ")": "❩"})
# How a line begins that only we write: a heading, and an item with an id.
_OURS = re.compile(r"^ *+(?:##+|#(?= |$)|[-+*] ++\[)", re.MULTILINE)
_OURS_OF = str.maketrans("#[", "♯⟦")
# The arrow between parts, and those that look like it.
_ARROWS = re.compile("[→⟶➔➙➛➜➝➞➟➠➡⇒⟹￫]")
_PARENTHESES = str.maketrans("()", "❨❩")
_BRACKETS = str.maketrans("[]", "⟦⟧")
_TASKS = frozenset("xX")  # a box that is ticked
_WEIGHT = re.compile(r" \(weight: \d+\.\d\d\)$")
_NOT_IN_ID = re.compile(r"[^\w.:@-]")


@dataclass(frozen=True, slots=True)
class Packed(Generic[Key]):
    """A section within its budget, the keys of its lines, and of those that did not fit."""

    text: SafeText
    taken: tuple[Key, ...] = ()
    left_out: tuple[Key, ...] = ()


def excerpt(text: str, limit: int = EXCERPT_CHARS) -> SafeText:
    """Return the beginning of a text as one line of at most `limit` code points that does nothing but be read."""
    # Each word takes a character and a space: no more words than these can matter, however long the text is.
    collapsed = " ".join(text.split(None, limit // 2 + 1))
    return _neutral(collapsed[:limit])


def observation_line(
    id: str,
    text: str,
    weight: float,
    *,
    observed: bool = False,
    came_from: str | None = None,
    disputed_by: Sequence[str] = (),
    overtaken: bool = False,
    heard: bool = False,
    at: datetime | None = None,
) -> SafeText:
    """`came_from` is the project it was taken over from, `disputed_by` are memories that contradict it: then `at`,
    when it was said, lets whoever reads tell which is the newer one, and `overtaken` that the newer one ends it.
    What was `heard` in passing tells the day: of two about the same, nobody may have seen that they contradict."""
    mark = (OBSERVED_MARK if observed else "") + (_moved(came_from) if came_from else "")
    if disputed_by:
        mark += _disputed(disputed_by, at, overtaken=overtaken)
    elif heard and at:
        mark += f"[said {at.astimezone(UTC):%Y-%m-%d}] "
    shown = excerpt(text) or NOTHING_VISIBLE
    return SafeText(f"- [{_safe_id(id)}] {mark}{shown} (weight: {_two_decimals(weight)})")


def triplet_line(source: str, relation: str, target: str) -> SafeText:
    first = _entity(source)
    start = _BLOCK_START.match(first)
    if start:
        first = start[0].translate(_BLOCK_OF) + first[start.end() :]
    return SafeText(f"- {first} → {_entity(relation)} → {_entity(target)}")


def summary_line(id: str, issue: str, outcome: str, text: str) -> SafeText:
    """The parentheses around the outcome are the only ones before the text, so that it cannot be foretold."""
    named = (excerpt(issue, NAME_CHARS) or "no issue").translate(_PARENTHESES)
    ended = (excerpt(outcome, OUTCOME_CHARS) or "no outcome").translate(_PARENTHESES)
    return SafeText(f"- [{_safe_id(id)}] {named} ({ended}): {excerpt(text, SUMMARY_CHARS) or NOTHING_VISIBLE}")


def tokens(text: str) -> int:
    """Return what a finished text costs: a quarter of its code points, rounded up (rensei.md C-13)."""
    return -(-len(text) // 4)


def bytes_of(text: str) -> int:
    """Return how long a text is where it is stored or sent: of some scripts three and more to a character."""
    return len(text.encode())


def pack(
    heading: SafeText, lines: Sequence[tuple[Key, SafeText]], budget_tokens: int, *, most_bytes: int = NO_LIMIT
) -> Packed[Key]:
    """Take the lines in order, leave out what does not fit, go on. A heading alone is nothing."""
    chars, size = 4 * budget_tokens - len(heading), most_bytes - bytes_of(heading)
    taken: list[tuple[Key, SafeText]] = []
    left_out: list[Key] = []
    for key, line in lines:
        cost, length = 1 + len(line), 1 + bytes_of(line)
        if cost <= chars and length <= size:
            taken.append((key, line))
            chars, size = chars - cost, size - length
        else:
            left_out.append(key)
    text = "\n".join((heading, *(line for _key, line in taken))) if taken else ""
    return Packed(SafeText(text), tuple(key for key, _line in taken), tuple(left_out))


def without_held(packed: Packed[Key], held: Collection[Key]) -> Packed[Key]:
    """A section without the lines that its reader has already. What did not fit beside them still does not."""
    if not any(key in held for key in packed.taken):
        return packed
    heading, *lines = packed.text.split("\n")
    kept = [(key, line) for key, line in zip(packed.taken, lines, strict=True) if key not in held]
    text = "\n".join((heading, *(line for _key, line in kept))) if kept else ""
    return Packed(SafeText(text), tuple(key for key, _line in kept), packed.left_out)


def join_sections(parts: Iterable[SafeText]) -> SafeText:
    """One blank line between sections, none for those that are empty."""
    return SafeText("\n\n".join(part for part in parts if part))


def said_in(text: str) -> frozenset[str]:
    """What a finished text says: its lines in any order, without weights, which outcomes move."""
    return frozenset(_WEIGHT.sub("", line) for line in text.split("\n") if line.startswith("- "))


def rendered(section: str) -> SafeText:
    """A section that was rendered here and kept as text. Any other text is a mistake of the caller."""
    heading, *lines = section.split("\n") if section else [OBSERVATIONS_HEADING]
    if heading not in HEADINGS or not all(line.startswith("- ") for line in lines):
        raise ValueError("this text was not made by the renderer")
    return SafeText(section)


def visible(text: str) -> str:
    """The lines of a text without what nobody sees in them. Not safe by that: they still say what they say."""
    return "\n".join(_visible(line.replace("\t", " ")) for line in text.splitlines())


def neutral_lines(text: str) -> SafeText:
    """A text that keeps its lines and their indentation, each of which does nothing but be read. For answers in
    which a text is a value of its own, such as JSON: there a line cannot be taken for a part of the answer."""
    return SafeText("\n".join(map(_neutral_indented, text.splitlines())))


def said_lines(text: str) -> SafeText:
    """The same for a text that stands in a prompt by itself: no line begins like one of a block."""
    return SafeText(_OURS.sub(lambda begin: begin[0].translate(_OURS_OF), neutral_lines(text)))


def _neutral_indented(line: str) -> str:
    bare = line.lstrip(" \t")
    indent = line[: len(line) - len(bare)].replace("\t", "    ")
    return indent + _neutral(bare.replace("\t", " ")) if bare else ""


def _neutral(line: str) -> SafeText:
    visible = _visible(line)
    if visible != line:  # what went may have stood between two spaces
        visible = " ".join(visible.split())
    for pattern, replacement in _BROKEN:
        visible = pattern.sub(replacement, visible)
    for pattern in _RUNS:
        visible = pattern.sub(_broken_run, visible)
    return SafeText(visible.strip())


def _broken_run(run: re.Match[str]) -> str:
    return run[0].translate(_RUN_OF)


def _visible(line: str) -> str:
    if line.isascii() and line.isprintable():
        return line
    return "".join(char for char in _BLANKS.sub("", line).translate(_WIDE) if char.isprintable())


def _entity(name: str) -> str:
    """One part of a triplet; only the renderer's own arrows stand in its line."""
    return _ARROWS.sub("›", excerpt(name, NAME_CHARS)) or NOTHING_VISIBLE


def _safe_id(id: str) -> str:
    """Ids may come from an import: letters, digits and a few signs, and no more active than any other text."""
    safe = _NOT_IN_ID.sub("_", _neutral(id[:NAME_CHARS]))
    safe = _NOT_IN_ID.sub("_", _neutral(safe)) or "_"  # without its spaces it may have become active
    return f"{safe}_" if safe in _TASKS else safe


def _moved(project: str) -> str:
    return f"[from {(excerpt(project, PROJECT_CHARS) or NOTHING_VISIBLE).translate(_BRACKETS)}] "


def _disputed(by: Sequence[str], at: datetime | None, *, overtaken: bool) -> str:
    """The first by its id, the others by their number: the mark must not outgrow the text."""
    more = f" and {min(len(by) - 1, 99)} more" if len(by) > 1 else ""
    said = f"; this was said {at.astimezone(UTC):%Y-%m-%d %H:%M}" if at else ""
    said += ", overtaken since" if overtaken else ""
    return f"[in conflict with {_safe_id(by[0])}{more}{said}] "


def _two_decimals(weight: float) -> str:
    """Not a number counts as nothing; the comparison in this order says so."""
    return f"{min(max(0.0, weight), 999.0):.2f}"

"""What is not the speaker's own text goes before anything is kept: Clew's own blocks, and what a host wraps
around. Pure.

No self-ingestion: a block that we put before an agent comes back in prompts, messages and outputs. It is known
by its headings and line formats (`guard/render.py`), also quoted or indented.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from clew.guard.render import HEADINGS
from clew.hosts.render import LABEL

_QUOTE = r"^[>\s|*]*"
_HEADING = re.compile(
    _QUOTE + "(?:" + "|".join(re.escape(heading) for heading in (*sorted(HEADINGS), LABEL)) + r")\s*$"
)
# These two are nobody else's; the others count only below a heading of ours.
_OBSERVATION = re.compile(_QUOTE + r"- \[[\w.:@-]{1,121}\] .{0,900}\(weight: \d{1,3}\.\d\d\)\s*$")
_WITH_OUR_ID = re.compile(_QUOTE + r"(?:[-*] )?\[?(?:mem|sum|inj|ses)_[0-9a-z]{26}\b")
_ITEM = re.compile(_QUOTE + r"- ")
# What hosts put into a prompt: reminders, output of their own commands, pasted files.
_HOST_TAGS = (
    "system-reminder", "local-command-stdout", "local-command-stderr", "local-command-caveat", "command-name",
    "command-message", "command-args", "bash-input", "bash-stdout", "bash-stderr", "task-notification",
    "environment_context", "user_instructions", "INSTRUCTIONS", "ide_opened_file", "ide_selection",
    "attached_files", "clew-memory",
)  # fmt: skip
# What other agents, or people on other channels, say to this one: it comes as a prompt, too. A feed has a tag
# `channel` as well, but no source.
_OF_OTHERS = ("agent-message", "cross-session-message", "teammate-message", r"channel(?=\s[^<>]{0,200}\bsource=)")
_OTHERS = re.compile(rf"<(?:{'|'.join(_OF_OTHERS)})[\s>]", re.IGNORECASE)
_TAG = re.compile(
    rf"<(/?)({'|'.join((*_HOST_TAGS, *_OF_OTHERS))}|(?<=/)channel)(?:\s[^<>]{{0,400}})?>", re.IGNORECASE
)
_ATTACHED = re.compile(
    r"\[(?:Image|Screenshot|Pasted text|File|Audio) #\d{1,4}(?: \+\d+ lines)?\][ \t]*"
)  # where it stood
_FENCE = re.compile(r"^[>\s]*(`{3,}|~{3,})")


def own_words(text: str) -> str:
    """The text without our blocks and without what the host wrapped into it."""
    return "\n".join(_without_blocks(_without_tags(text).splitlines())).strip()


def is_from_others(prompt: str) -> bool:
    """Whether somebody else than the user says something in it."""
    return _OTHERS.search(prompt) is not None


def prose(text: str) -> str:
    """Own words without fenced code, tables and quotes."""
    return "\n".join(_without_code(own_words(text).splitlines())).strip()


def _without_tags(text: str) -> str:
    """Spans of host tags; one that is never closed reaches to the end."""
    text = _ATTACHED.sub("", text)
    if "<" not in text:
        return text
    kept: list[str] = []
    depth = channels = at = 0
    for tag in _TAG.finditer(text):
        if tag[2].lower() == "channel":
            if tag[1] and not channels:  # of a feed
                continue
            channels += -1 if tag[1] else 1
        if not tag[1]:
            if depth == 0:
                kept.append(text[at : tag.start()])
            depth += 1
        elif depth:
            depth -= 1
        else:
            kept.append(text[at : tag.start()])
        at = tag.end()
    return "".join(kept) + ("" if depth else text[at:])


def _without_blocks(lines: list[str]) -> Iterator[str]:
    is_ours = False
    for line in lines:
        if len(line) > 4_000:  # no line of ours is that long
            is_ours = False
        elif _HEADING.match(line):
            is_ours = True
            continue
        elif _OBSERVATION.match(line) or _WITH_OUR_ID.match(line) or (is_ours and _ITEM.match(line)):
            continue
        elif line.strip():
            is_ours = False
        yield line


def _without_code(lines: list[str]) -> Iterator[str]:
    fence = ""
    for line in lines:
        marks = _FENCE.match(line)
        if fence:
            if marks and line.strip().startswith(fence):
                fence = ""
            continue
        if marks:
            fence = marks[1]
            continue
        if not line.startswith(("    ", "\t")) and not line.lstrip().startswith(("|", ">")):
            yield line

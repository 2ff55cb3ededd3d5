"""Reads a rendered block as a host would, line by line, and tells what got out. Knows nothing of the renderer."""

from __future__ import annotations

import html
import random
import re
import unicodedata

HEADINGS = ("## Relevant Past Observations", "## Knowledge Graph Triplets", "## Related Past Sessions")
INVISIBLE = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
_SELECTORS = re.compile("[\u034f\u115f\u1160\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]")
_ITEM = {
    HEADINGS[0]: re.compile(r"- \[[\w.:@-]{1,120}\] (?P<text>.+) \(weight: \d{1,3}\.\d\d\)"),
    HEADINGS[1]: re.compile(r"- (?P<text>[^→]+ → [^→]+ → [^→]+)"),
    HEADINGS[2]: re.compile(r"- \[[\w.:@-]{1,120}\] [^()]+ \([^()]+\): (?P<text>.+)"),
}
# What CommonMark would open where an item's text begins.
_BLOCKS = re.compile(
    r"#{1,6}(\s|$)|>|`{3}|~{3}|[-+*](\s|$)|\d{1,9}[.)](\s|$)|\s|(?:[-*_]\s?){3,}$|\[[ xX]\]\s|\[[^\]]+\]:|"
    r"<[A-Za-z/!?]"
)
_INLINE = {
    "tag": re.compile(r"<[A-Za-z/!?|\[{]|<<"),
    "template": re.compile(
        r"<\||\[/|\[ ?(?:INST|SYS|SYSTEM|TOOL_CALLS|SYSTEM_PROMPT) ?\]|<</?SYS>>", re.IGNORECASE
    ),
    "link": re.compile(r"\]\("),
    "address": re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://|\bwww\.|\b(?:javascript|mailto|data):\S", re.IGNORECASE),
    "fence": re.compile("`{3}|~{3}|-{3}"),
}


def breakouts(block: str) -> list[str]:
    """What a reader of the block would take for anything else than its items; nothing, if all is well."""
    found, section = [], ""
    if block.splitlines() != block.split("\n") or block.endswith("\n"):
        found.append("line separator")
    for line in block.split("\n"):
        if line in HEADINGS:
            section = line
        elif line:
            found += [f"{reason}: {line!r}" for reason in _of_line(line, section)]
    return found


def _of_line(line: str, section: str) -> list[str]:
    item = _ITEM[section].fullmatch(line) if section else None
    if item is None:
        return ["not an item"]
    found = ["block"] if _BLOCKS.match(line[2:]) else []
    found += ["invisible"] if any(unicodedata.category(char) in INVISIBLE for char in line) else []
    found += ["selector"] if _SELECTORS.search(line) else []
    found += ["space"] if any(char.isspace() and char != " " for char in line) or "  " in line else []
    found += ["too long"] if len(line) > 490 else []
    decoded = html.unescape(line)
    normal = unicodedata.normalize("NFKC", line)
    for name, pattern in _INLINE.items():
        if pattern.search(line) or pattern.search(normal):
            found.append(name)
    if _INLINE["tag"].search(decoded) or _INLINE["tag"].search(html.unescape(normal)):
        found.append("tag when decoded")
    if re.match(r"\[ ?(?:observed|from )", unicodedata.normalize("NFKC", item["text"]), re.IGNORECASE):
        found.append("forged mark")
    return found


FRAGMENTS = (
    "\n", "\r\n", "\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c", "\x00", "\x1b[31m", "\t", " ", "  ",
    "\u3000", "\u00a0", "## Relevant Past Observations", "## Knowledge Graph Triplets", "# x",
    "- [mem_1] forged (weight: 1.00)", "- a → b → c", "(weight: 1.00)", "[observed] ", "(accepted): ", "→",
    " → ", "⟶", "```", "````js", "~~~", "`", "---", "***", "___", "===", "+++", "> ", "* ", "+ ", "- ", "1. ",
    "2) ", "[ ] ", "[x] ", "[id]: http://a", "[a](http://b)", "![a](http://b?q={x})", "](", "]", "[", "(", ")",
    "[[a]]", "<", ">", "</", "<system>", "</system>", "<system-reminder>", "<|im_start|>", "<|im_end|>", "<|",
    "|>", "<!--", "-->", "<![CDATA[", "<?php", "<a href=x>", "<img src=x onerror=y>", "<https://evil.example>",
    "<a@b.c>", "[INST]", "[/INST]", "[ INST ]", "<<SYS>>", "<</SYS>>", "[TOOL_CALLS]", "&lt;", "&#60;",
    "&#x3c;", "&lt", "&amp;lt;", "&LT;", "&colon;", "https://evil.example/?q=1", "HTTP://x", "www.evil.example",
    "WWW.x", "javascript:alert(1)", "data:x", "mailto:a@b.c", "ftp://x", "//evil", ":", "/", "//", "\u202e",
    "\u2066", "\u200b", "\u200d", "\u2060", "\ufeff", "\u00ad", "\U000e0041", "\U000e0100", "\ufe0f", "\u034f",
    "\u3164", "\u2800", "\ud800", "\ue000", "\uffff", "\U0010ffff", "＜script＞", "﹤b﹥", "［/INST］", "［",
    "］", "（", "！［x］（https：／／evil.example）", "｀｀｀", "｀", "～～～", "－－－", "－", "﹣﹣", "：／／",
    "：", "／", "＆lt；", "＆", "﹠lt;", "；", "＃", "﹟ ", "ｗｗｗ．", "［observed］ ", "［from x］ ",
    "[from x] ", "[ from x] ", "＊ ", "＋ ", "＞ ", "ｘ", "x", "－ ［x］ ", "｜im_start｜", "ｊavascript：",
    "１． ", "\\", "\\n", "\\<",
    "{{x}}", "${x}", "{% x %}", "|a|b|", "|---|", "$$", "é", "日本", "👩‍👧", "a", "word ", "x" * 350,
    "w " * 200, "human:", "### Instruction:", "\"", "'", ";", "\u0301",
)  # fmt: skip


def hostile(chance: random.Random) -> str:
    """Fragments of syntax in any order, with any characters between them."""
    parts = []
    for _ in range(chance.randint(0, 12)):
        if chance.random() < 0.8:
            parts.append(chance.choice(FRAGMENTS))
        else:
            parts.append(chr(chance.choice((chance.randrange(0x80), chance.randrange(0x110000)))))
    return "".join(parts)

"""Where a text takes back what else it says: "EDIT: no longer true", "This is outdated". Pure.

In: a text. Out: the stretches of it that hold no longer. An edit that calls what stands before it false takes back
all of that, since it was added to the whole; what tells how it is instead, or has no label, only the paragraph
before it. As the first words of a text they take back all that follows. They must be said of nothing else: "not
true for the exporter" takes nothing back.
"""

from __future__ import annotations

import re
from bisect import bisect_left

_ABOUT = r"(?:all of )?(?:this|that|these|those|the above)(?: (?:note|memory|entry|section|page|advice|all))?"
_IS = r"(?:['’]s| is| are| was| were| has been| have been| has become)(?: now| all| since| later)? "
_DONE = r"(?:reverted|rolled back|undone|retracted|removed|dropped|abandoned|scrapped)"
_NOT_TRUE = r"(?:no longer|not) (?:true|so|the case)"
_STALE = (
    rf"{_NOT_TRUE}|(?:no longer|not) (?:valid|correct|accurate|current|up[ -]to[ -]date|applicable|relevant)"
    r"|outdated|out of date|obsolete|wrong|incorrect|untrue|stale"
)
_WE = r"(?:(?:we|i|they)(?:['’]ve| have)? (?:since |now |later )?)?"
_LEFT = (
    rf"{_WE}(?:moved|migrated|switched|went|gone) (?:away|off) (?:from |of )?(?:this|that)"
    rf"|{_WE}(?:dropped|removed|reverted|abandoned|undid|scrapped|retired) (?:this|that)"
)
_LABEL = r"(?:edit|edited|update|updated|correction|retraction)(?: [^\s:]{1,12}){0,3}[*_)\]]{0,3}:[*_]{0,2}\s{1,3}"
# In an edit: "it uses Vault now", "moved to src/http.py". What is so as well takes nothing back.
_OTHERWISE = (
    r"(?![^.\n]{0,80} (?:also|too|still|both|as well))"
    r"(?:(?:it |this |we |they )?(?:(?:was |were |has |have )?(?:moved|switched|migrated|changed) to [^\n]{1,80}?"
    r"|now [^.\n]{2,80})|(?:it|this|we|they) [^.\n]{3,80} (?:now|instead))"
)
_MONTH = "january|february|march|april|may|june|july|august|september|october|november|december"
# Where it ends, or since when it is so.
_TAIL = (
    r"(?: any ?more| now)?(?=[ *_~]{0,3}(?:[.!;,)\]\n]|\Z)| [—–-] "
    rf"| (?:since|as of|after|because) | in (?:v?\d|{_MONTH}))"
)
_TAKES_BACK = re.compile(
    r"(?:\A|(?<=[\n.!?;)] )|(?<=\n))[ >*_(\[•–—-]{0,8}"
    rf"(?:(?P<label>{_LABEL})(?:(?:(?:{_ABOUT}|it){_IS})?(?:{_STALE}|{_DONE})|{_LEFT}|(?P<new>{_OTHERWISE}))"
    rf"|(?:(?:note|warning|status): |{_ABOUT}{_IS})?(?:{_STALE})|{_ABOUT}{_IS}{_DONE}|it{_IS}{_NOT_TRUE}"
    rf"|(?:{_ABOUT}|it) no longer (?:applies|holds)|{_LEFT}){_TAIL}",
    re.IGNORECASE,
)
_GAP = re.compile(r"\n(?=\n)")  # between paragraphs
_LETTER = re.compile(r"[^\n]")
_NAMES_ONLY = re.compile(r"(?:\s*+#[^\n]*+\n)?[\W_]*+")  # a heading, and nothing that is said


def taken_back(text: str) -> list[tuple[int, int]]:
    """From where to where, in order of what takes them back."""
    found = list(_TAKES_BACK.finditer(text))
    gaps = [gap.end() for gap in _GAP.finditer(text)] if found else []
    return [_reach(text, match, gaps) for match in found]


def without_taken_back(text: str) -> str:
    """The text with blanks for what it takes back, each character in its place."""
    for start, end in taken_back(text):
        text = text[:start] + _LETTER.sub(" ", text[start:end]) + text[end:]
    return text


def _reach(text: str, match: re.Match[str], gaps: list[int]) -> tuple[int, int]:
    start = end = match.start()
    if not match["new"] and _NAMES_ONLY.fullmatch(text, 0, start):
        return 0, len(text)
    if match["label"] and not match["new"]:
        return 0, start
    while end and text[end - 1].isspace():
        end -= 1
    before = bisect_left(gaps, end)  # the last gap that ends before the paragraph does
    return gaps[before - 1] if before else 0, start

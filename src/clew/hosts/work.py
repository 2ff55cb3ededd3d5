"""What an agent works on, as far as the branch or its first prompt tell: issue, work type, title. Pure."""

from __future__ import annotations

import re

from clew.deliver.sessions import WorkItem

# The first folder of a branch, or the first word of a commit-like title. The work types are those that have budgets
# of their own (rensei.md R-031); any other kind of work has the budget of any other.
WORK_TYPES = {
    "feature": ("feature", "features", "feat", "story", "enhancement"),
    "bug_fix": ("fix", "fixes", "bugfix", "bug", "hotfix", "bug-fix", "bug_fix", "patch"),
    "refactor": ("refactor", "refactoring", "refac", "cleanup", "clean-up", "perf"),
    "chore": (
        "chore",
        "chores",
        "docs",
        "doc",
        "build",
        "ci",
        "deps",
        "dependabot",
        "renovate",
        "release",
        "style",
    ),
}
MAX_LOOKED_AT = 2_000
MAX_TITLE = 200
TRUNKS = frozenset(
    (
        "main",
        "master",
        "trunk",
        "develop",
        "development",
        "dev",
        "staging",
        "production",
        "release",
        "head",
        "gh-pages",
    )
)
_OF_WORD = {word: work_type for work_type, words in WORK_TYPES.items() for word in words}
_KEY = re.compile(r"(?<![A-Za-z0-9_])([A-Za-z][A-Za-z0-9]{1,9}-[1-9]\d{0,6})(?![A-Za-z0-9_]|-\d)")
# In a text, where anything may look like a key, it is written in capitals.
_KEY_IN_TEXT = re.compile(r"(?<![A-Za-z0-9_./-])([A-Z][A-Z0-9]{1,9}-[1-9]\d{0,6})(?![A-Za-z0-9_]|[-.]\d)")
# Names of standards look like keys and are none.
_NO_KEYS = frozenset(
    ("UTF", "SHA", "ISO", "RFC", "CVE", "HTTP", "TLS", "AES", "MD", "RSA", "PEP", "ECMA", "GPT", "ES", "X", "COVID",
     "UTC", "GMT", "BASE", "IPV", "CP", "ED", "ARM", "CWE", "WCAG", "ISBN", "LATIN", "WINDOWS", "PYTHON", "NODE",
     "ADR")
)  # fmt: skip
# Names that hosts make up for branches of their own; what follows may be chance.
_MADE_UP = re.compile(r"worktree[-/]|(?:claude|codex|copilot|cursor)/", re.IGNORECASE)
_LIKE_COMMIT = re.compile(r"\s*([A-Za-z][A-Za-z_-]{1,14})(?:\([^()\n]{1,60}\))?!?:\s")
_ASKED = (
    ("bug_fix", re.compile(r"\b(?:fix|debug|repair|bug|broken|crash(?:es|ed|ing)?|regression|failing)\b", re.I)),
    ("refactor", re.compile(r"\b(?:refactor|clean ?up|simplify|rename|restructure|extract|split up)\b", re.I)),
    ("chore", re.compile(r"\b(?:bump|dependenc(?:y|ies)|changelog|release notes|typo|docs|documentation)\b", re.I)),
    ("feature", re.compile(r"\b(?:add|implement|create|build|support|introduce|write)\b", re.I)),
)  # fmt: skip
_SEPARATORS = re.compile(r"[/_-]+")


def work_of_branch(branch: str | None) -> WorkItem:
    """feature/PROJ-123-login-page -> feature, PROJ-123, "login page". A trunk tells nothing. Of a name that a host
    made up, the words are no title, and a key is one only in capitals."""
    name = (branch or "")[:MAX_LOOKED_AT].strip()
    made_up = _MADE_UP.match(name)
    name = name[made_up.end() :] if made_up else name
    if not name or name.casefold() in TRUNKS:
        return WorkItem()
    folders = name.split("/")
    work_type = next((found for folder in folders[:-1] if (found := _OF_WORD.get(folder.casefold()))), None)
    first = re.match(r"[A-Za-z]+", folders[-1])
    if work_type is None and first and len(folders[-1]) > len(first[0]):  # fix-login, docs_api
        work_type = _OF_WORD.get(first[0].casefold())
    issue = _issue(_KEY_IN_TEXT if made_up else _KEY, name)
    return WorkItem(work_type=work_type, issue=issue, title=None if made_up else _title_of(name, issue))


def work_of_prompt(prompt: str | None) -> WorkItem:
    """The first line says what it is about."""
    text = (prompt or "")[:MAX_LOOKED_AT]
    lines = [" ".join(line.split()) for line in text.splitlines() if line.strip()]
    if not lines or lines[0].startswith("/"):  # a command of the host
        return WorkItem()
    told = _LIKE_COMMIT.match(lines[0])
    work_type = _OF_WORD.get(told[1].casefold()) if told else None
    work_type = work_type or next((kind for kind, words in _ASKED if words.search(lines[0])), None)
    return WorkItem(work_type=work_type, issue=_issue(_KEY_IN_TEXT, text), title=_shortened(lines[0]))


def merged(known: WorkItem, more: WorkItem) -> WorkItem:
    """What is known first counts."""
    return WorkItem(
        known.work_type or more.work_type,
        known.issue or more.issue,
        known.issue_id or more.issue_id,
        known.title or more.title,
        known.description or more.description,
    )


def _issue(pattern: re.Pattern[str], text: str) -> str | None:
    keys = (found[1].upper() for found in pattern.finditer(text))
    return next((key for key in keys if _is_key(key)), None)


def _is_key(key: str) -> bool:
    word = key.partition("-")[0]
    is_version = word.rstrip("0123456789") in ("V", "VERSION")
    return not is_version and word not in _NO_KEYS and word.casefold() not in _OF_WORD


def _title_of(name: str, issue: str | None) -> str | None:
    """The words of a branch without its folder of work type, its issue and whoever's name leads it."""
    folders = name.split("/")
    words = _SEPARATORS.split(re.sub(re.escape(issue), " ", folders[-1], flags=re.I) if issue else folders[-1])
    words = [word for one in words for word in one.split()]
    if words and words[0].casefold() in _OF_WORD:
        words = words[1:]
    return _shortened(" ".join(words)) if any(len(word) > 2 and not word.isdigit() for word in words) else None


def _shortened(text: str) -> str | None:
    return (text if len(text) <= MAX_TITLE else text[:MAX_TITLE].rsplit(" ", 1)[0]) or None

"""What a branch or a first prompt say about the work."""

from __future__ import annotations

import pytest

from clew.hosts.work import MAX_TITLE, work_of_branch, work_of_prompt


@pytest.mark.parametrize(
    ("branch", "work_type", "issue", "title"),
    [
        ("feature/PROJ-123-login-page", "feature", "PROJ-123", "login page"),
        ("fix/SHOP-31-retry-charge", "bug_fix", "SHOP-31", "retry charge"),
        ("hotfix/payment_timeout", "bug_fix", None, "payment timeout"),
        ("refactor/split-parser", "refactor", None, "split parser"),
        ("chore/update-deps", "chore", None, "update deps"),
        ("docs/api-guide", "chore", None, "api guide"),
        ("ann/proj-7-cache-warmup", None, "PROJ-7", "cache warmup"),
        ("bugfix/ABC-9", "bug_fix", "ABC-9", None),
        ("fix-login-loop", "bug_fix", None, "login loop"),
        ("PROJ-42", None, "PROJ-42", None),
        ("team/feat/new-search", "feature", None, "new search"),
        ("release/v1-2", "chore", None, None),
        ("worktree-agent-aae6004a", None, None, None),
        ("worktree-agent-1234567", None, None, None),
        ("worktree-wf12-3", None, None, None),
        ("worktree-bright-running-fox", None, None, None),
        ("claude/zealous-tesla", None, None, None),
        ("claude/fix-login-loop-011CUx", "bug_fix", None, None),
        ("worktree-PROJ-12-cache", None, "PROJ-12", None),
        ("main", None, None, None),
        ("develop", None, None, None),
        ("", None, None, None),
        (None, None, None, None),
    ],
)
def test_a_branch_tells(branch: str | None, work_type: str | None, issue: str | None, title: str | None) -> None:
    item = work_of_branch(branch)
    assert (item.work_type, item.issue, item.title) == (work_type, issue, title)


@pytest.mark.parametrize(
    ("prompt", "work_type", "issue"),
    [
        ("Fix SHOP-31: charges are retried twice", "bug_fix", "SHOP-31"),
        ("refactor the parser into two modules", "refactor", None),
        ("Please add a dark mode\nSee PROJ-8 for details", "feature", "PROJ-8"),
        ("docs: explain UTF-8 and SHA-256", "chore", None),
        ("feat(api): new endpoint", "feature", None),
        ("What does this do?", None, None),
        ("the file proj-7.txt is wrong", None, None),
        ("", None, None),
        (None, None, None),
    ],
)
def test_a_prompt_tells(prompt: str | None, work_type: str | None, issue: str | None) -> None:
    item = work_of_prompt(prompt)
    assert (item.work_type, item.issue) == (work_type, issue)


def test_the_title_is_the_first_line_of_the_prompt() -> None:
    assert work_of_prompt("\n  Fix   the login \nmore words").title == "Fix the login"
    assert len(work_of_prompt("word " * 1_000).title or "") <= MAX_TITLE


def test_a_command_of_the_host_is_no_work() -> None:
    assert work_of_prompt("/clear").title is None

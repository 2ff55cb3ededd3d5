"""A block at the start of a session says what is known of its work, and nothing of other work."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import clew
from clew.clew import Clew

SHOP = clew.Scope(project="shop")
DONE = {
    "src/auth/oauth.py": ("Implement OAuth login with Google", "I chose PKCE because mobile clients need it."),
    "src/pdf/render.py": ("Speed up the invoice PDF renderer", "Loading fonts for every page made it slow."),
    "src/api/limits.py": ("Add rate limiting to the public API", "A token bucket avoids bursts at the edge."),
    "src/search/index.py": ("Migrate the search index", "The old alias stays: the mobile app uses it."),
}  # fmt: skip


@pytest.fixture(scope="module")
def worked_in(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clew]:
    home: Path = tmp_path_factory.mktemp("home")
    with clew.open(home / "clew.db") as memory:
        for path, (title, decided) in DONE.items():
            task = f"{title} in {path}"
            failed = f'Command `pytest` (Bash) failed with exit status 1: "ValueError: bad {path}"'
            kept: dict[str, Any] = {"scope": SHOP, "paths": (path,)}
            memory.remember(f"The user asked: {task}", origin="user_prompt", **kept)
            memory.remember(f'Files changed for "{task}": {path}.', **kept)
            memory.remember(f"{failed}; worked after edits of {path}.", **kept)
            memory.remember(decided, type="decision", **kept)
        memory.remember("Run the tests with make test-fast, never plain pytest.", scope=SHOP)
        yield memory


def told(memory: Clew, title: str) -> str:
    session = memory.sessions.start(project="shop", title=title)
    return memory.inject.start(session.id, dry_run=True).text


@pytest.mark.parametrize(
    "title",
    [
        "Create src/geo/distance.py with a haversine function",
        "Rename the variable x to count in src/misc/util.py",
        "Fix the typo in docs/intro.md",
        "Bump the Helm chart to version 4",
    ],
)
def test_of_other_work_nothing_is_said(worked_in: Clew, title: str) -> None:
    assert told(worked_in, title) == ""


def test_of_the_same_work_it_is(worked_in: Clew) -> None:
    text = told(worked_in, "Add logging to src/auth/login.py")
    assert "PKCE" in text and "OAuth" in text
    assert not [word for word in ("PDF", "bucket", "alias", "limits") if word in text]


def test_of_words_of_any_work_only_what_was_told_of_them(worked_in: Clew) -> None:
    text = told(worked_in, "run the tests")
    assert "make test-fast" in text and "PKCE" not in text

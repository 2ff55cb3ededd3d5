"""A small .gitignore: what is never told about."""

from __future__ import annotations

import pytest

from clew.hosts.ignore import is_ignored, patterns_of


@pytest.mark.parametrize(
    ("pattern", "path", "ignored"),
    [
        ("build", "build", True),
        ("build", "a/build/x.o", True),
        ("build", "builder/x", False),
        ("/build", "a/build", False),
        ("/build", "build/x", True),
        ("build/", "build", False),
        ("build/", "a/build/x", True),
        ("*.log", "deep/er/x.log", True),
        ("*.log", "x.log.py", False),
        ("a/*/c", "a/b/c", True),
        ("a/*/c", "a/b/b/c", False),
        ("a/**/c", "a/b/b/c", True),
        ("a/**/c", "a/c", True),
        ("**/tmp", "x/y/tmp/z", True),
        ("file?.txt", "file1.txt", True),
        ("file[0-9].txt", "file7.txt", True),
        ("file[!0-9].txt", "file7.txt", False),
        ("docs/private", "docs/private/a.md", True),
        ("docs/private", "x/docs/private/a.md", False),
        (r"\!odd", "!odd", True),
    ],
)
def test_patterns_fit_as_in_gitignore(pattern: str, path: str, ignored: bool) -> None:
    assert is_ignored(path, (pattern,)) is ignored


def test_the_last_pattern_that_fits_decides() -> None:
    assert not is_ignored("a/keep.log", ("*.log", "!keep.log"))
    assert is_ignored("a/keep.log", ("!keep.log", "*.log"))


@pytest.mark.parametrize(
    "path", [".env", "api/.env.production", "~/.ssh/id_rsa", "/home/u/.aws/credentials", "x/server.pem"]
)
def test_places_of_secrets_are_ignored_without_being_asked(path: str) -> None:
    assert is_ignored(path)
    assert not is_ignored(".env.example")


def test_a_project_takes_back_its_own_patterns_and_no_place_of_secrets() -> None:
    for pattern in ("!.env", "!*", "!**", "!tests/server.pem"):
        assert is_ignored("tests/server.pem", ("tests/", pattern))
        assert is_ignored("api/.env", (pattern,))
    assert not is_ignored("tests/a.py", ("tests/", "!tests/"))


def test_comments_and_empty_lines_are_no_patterns() -> None:
    assert patterns_of("# no\n\n*.log  \n" + "x" * 300 + "\n") == ("*.log",)


def test_a_hostile_pattern_takes_no_time() -> None:
    assert not is_ignored("a" * 900, ("*a" * 118 + "b",) * 50 + ("**/" * 79 + "b",))

"""Notes written for agents become drafts, whatever they look like."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.model.memory import Draft
from clew.remember.notes import LONGEST, infer_type, parse_notes

MARKDOWN = st.text(alphabet="ab \t\n\r#-*+`~|>=_1.)[]()<!@:'\"\x00é—")


def contents(text: str) -> list[str]:
    return [draft.content for draft in parse_notes(text, "CLAUDE.md").drafts]


def only(text: str) -> Draft:
    [draft] = parse_notes(text, "CLAUDE.md").drafts
    return draft


@settings(deadline=None)
@given(st.text() | MARKDOWN)
def test_no_text_makes_it_raise(text: str) -> None:
    notes = parse_notes(text, "notes.md")
    for draft in notes.drafts:
        assert 2 < len(draft.content) <= LONGEST
    assert all(0 < line <= len(text) + 1 for line in notes.left_out)


def test_bullets_and_paragraphs_become_memories() -> None:
    text = "The API speaks gRPC\nand no more.\n\n- Deploy from main\n* Ask before migrating\n1. Tag every release\n"
    assert contents(text) == [
        "The API speaks gRPC and no more.",
        "Deploy from main",
        "Ask before migrating",
        "Tag every release",
    ]


def test_the_heading_is_the_title_and_the_section_the_category() -> None:
    draft = only("# Shop\n\n## Code Style\n\n### *Imports*\n\n- Sort imports with ruff\n")
    assert (draft.title, draft.category) == ("Imports", "code-style")


@pytest.mark.parametrize(
    ("heading", "title"),
    [
        ("The session_id column", "The session_id column"),
        ("`__init__.py` and `~/.bashrc`", "__init__.py and ~/.bashrc"),
        ("Files in src/**/*.py", "Files in src/**/*.py"),
        ("2 * 3 * 4", "2 * 3 * 4"),
        ("**Never** use *this* __or__ ~~that~~", "Never use this or that"),
        ("**`run_tests`**", "run_tests"),
    ],
)
def test_a_title_loses_its_markup_and_no_sign_of_a_name(heading: str, title: str) -> None:
    assert only(f"# {heading}\n\n```\nmake it\n```\n").content.partition("\n")[0] == f"{title}:"


def test_underlined_headings_are_headings() -> None:
    draft = only("Testing notes\n=============\n\nRun everything twice.\n")
    assert (draft.title, draft.content) == ("Testing notes", "Run everything twice.")


def test_short_nested_bullets_stay_with_their_parent() -> None:
    assert contents("- Tests:\n  - unit tests in tests/unit\n  - no mocks\n- Next point here\n") == [
        "Tests:\n- unit tests in tests/unit\n- no mocks",
        "Next point here",
    ]


def test_long_nested_bullets_stand_alone_with_the_parents_words() -> None:
    long = "word " * 80
    found = contents(f"- When deploying:\n  - first {long}\n  - then {long}\n")
    assert [text[:22] for text in found] == ["When deploying:", "When deploying: first ", "When deploying: then w"]


def test_bullets_nested_without_end_do_not_exhaust_the_stack() -> None:
    text = "\n".join(f"{' ' * depth}- level number {depth}" for depth in range(1200))
    found = "\n".join(contents(text))
    assert all(f"level number {depth}" in found for depth in range(1200))


def test_a_code_block_stays_with_the_text_above_it() -> None:
    assert contents("Run the tests:\n\n```sh\n# not a heading\nmake test\n```\n\nOther text here.\n") == [
        "Run the tests:\n```sh\n# not a heading\nmake test\n```",
        "Other text here.",
    ]


def test_a_code_block_alone_belongs_to_its_heading() -> None:
    assert contents("## Deploy\n```\nfly deploy\n```\n") == ["Deploy:\n```\nfly deploy\n```"]


def test_a_fence_left_open_swallows_the_rest_and_no_more() -> None:
    assert contents("Before the fence.\n```\ncode\n- not a bullet\n") == [
        "Before the fence.\n```\ncode\n- not a bullet\n\n```"
    ]


def test_front_matter_names_the_paths_and_is_no_memory() -> None:
    draft = only("---\ndescription: x y z and more\nglobs: 'src/**/*.ts', lib/*\n---\nUse strict mode here.\n")
    assert (draft.content, draft.paths) == ("Use strict mode here.", ("src/**/*.ts", "lib/*"))


def test_front_matter_may_list_its_paths() -> None:
    assert only("---\npaths:\n  - a/*.py\n  - b/*.py\n---\nUse strict mode here.\n").paths == ("a/*.py", "b/*.py")


def test_a_rule_at_the_top_is_not_front_matter() -> None:
    assert contents("---\nSome text that matters.\n") == ["Some text that matters."]


def test_comments_includes_and_badges_are_left_out() -> None:
    text = "<!-- a long\ncomment -->\n@docs/more.md\n[![build](https://x/y.svg)](https://x)\nA real statement.\n"
    draft = only(text)
    assert (draft.content, draft.metadata["line"]) == ("A real statement.", 5)


def test_repetitions_are_said_once() -> None:
    assert contents("- Use tabs in Makefiles.\n- use tabs in   makefiles\n") == ["Use tabs in Makefiles."]


def test_a_draft_says_where_it_comes_from() -> None:
    draft = only("\n\n- Ship on Fridays only\n")
    assert (draft.origin, dict(draft.metadata)) == ("import", {"source": "CLAUDE.md", "line": 3})


def test_windows_line_ends_are_line_ends() -> None:
    assert contents("- First thing here\r\n- Second thing here\r\n") == ["First thing here", "Second thing here"]


@pytest.mark.parametrize(
    ("line", "title"),
    [
        ("# Shop", "Shop"),
        ("   ###### Shop ##", "Shop"),
        ("#\tShop #1", "Shop #1"),
        ("# C#", "C#"),
        ("#", None),
        ("## ##", None),
        ("#Shop", None),
        ("####### Shop", None),
        ("    # Shop", None),
    ],
)
def test_which_lines_are_headings(line: str, title: str | None) -> None:
    assert parse_notes(f"{line}\n\n- Sort imports with ruff\n", "x").drafts[-1].title == title


@pytest.mark.parametrize("rule", ["|---|---|", "--- | ---", "| :-: | -: |", "|-"])
def test_the_rule_of_a_table_is_left_out(rule: str) -> None:
    assert contents(f"| name | means |\n{rule}\n| tabs | yes |\n") == ["| name | means |\n| tabs | yes |"]


@pytest.mark.parametrize(
    "text",
    [
        "Use tabs",
        "pnpm only",
        "Go 1.22",
        "no `any`",
        "使用四个空格缩进",
        "テストは必須です",
        "禁止提交",
        "只用pnpm",
        "ใช้แท็บ",
    ],
)
@pytest.mark.parametrize("mark", ["- ", ""])
def test_a_short_statement_is_kept(text: str, mark: str) -> None:
    assert contents(f"{mark}{text}\n") == [text]


@pytest.mark.parametrize(
    "text", ["Testing", "`pnpm`", "Style:", "See also:", "**Style**", "| x |", "测试", "注意事项："]
)
@pytest.mark.parametrize("mark", ["- ", ""])
def test_a_lone_word_or_a_label_is_left_out_and_told(text: str, mark: str) -> None:
    notes = parse_notes(f"\n{mark}{text}\n\n- Use tabs\n", "CLAUDE.md")
    assert ([draft.content for draft in notes.drafts], notes.left_out) == (["Use tabs"], (2,))


def test_what_a_label_holds_is_kept_with_it() -> None:
    long = "word " * 80
    notes = parse_notes(f"- Tests:\n  - fast\n\nRun:\n```\nmake\n```\n\n- Do:\n  - a {long}\n  - b {long}\n", "x")
    assert [draft.content[:8] for draft in notes.drafts] == ["Tests:\n-", "Run:\n```", "Do: a wo", "Do: b wo"]
    assert notes.left_out == ()


def test_a_heading_above_nothing_an_include_and_bare_code_are_told() -> None:
    text = "```\nmake\n```\n# Shop\n\n## Use tabs everywhere\n\n## Style\n\n- Use tabs\n\n@more.md\n\n"
    text += "```\n" + "x = 1\n" * 400 + "```\n"
    notes = parse_notes(text, "x")
    assert ([draft.content for draft in notes.drafts], notes.left_out) == (["Use tabs"], (1, 6, 12, 14))


def test_rules_and_the_borders_of_tables_are_nothing_to_tell() -> None:
    assert (
        parse_notes(
            "---\n\n| a | b |\n|---|---|\n| c | d |\n\n***\n\nStyle guide\n===\n\n- Use tabs\n", "x"
        ).left_out
        == ()
    )


def test_the_last_word_of_a_very_long_text_is_kept() -> None:
    assert contents("x" * (LONGEST - 1) + " end")[-1] == "end"


HOSTILE: list[Callable[[int], str]] = [
    lambda n: "|" + "-" * n + " " * n + "x",
    lambda n: "|" + ":" * n + "-" * n + "|x",
    lambda n: "# a" + " " * n * 2 + "x",
    lambda n: "# a" + " #" * n + "x",
    lambda n: "#" + "\t" * n * 2 + "x",
    lambda n: "~" * n * 2 + "`",
    lambda n: "`" * n * 2 + "x`",
    lambda n: "- " * n + "x",
    lambda n: "*\t" * n + "x",
    lambda n: "-" * n * 2 + "x",
    lambda n: "- " + " " * n * 2 + "x",
    lambda n: "![" * n + "x",
    lambda n: "[a](" + "(" * n * 2,
    lambda n: "> " * n + "x",
    lambda n: "# " + "*a " * n,
]


@pytest.mark.parametrize("line", HOSTILE, ids=range(len(HOSTILE)))
def test_the_cost_of_a_line_grows_with_its_length_and_not_with_its_square(line: Callable[[int], str]) -> None:
    short, long = (f"Some words.\n\n{line(n)}\n" * 20 for n in (240, 1_920))
    fast = min(seconds(short) for _ in range(5))
    # Eight times the text: 8 is linear, 64 is quadratic; the millisecond forgives the clock's grain.
    assert any(seconds(long) < 24 * fast + 0.001 for _ in range(5))


def seconds(text: str) -> float:
    started = time.thread_time()
    parse_notes(text, "x")
    return time.thread_time() - started


def test_a_long_parent_is_not_repeated_whole_before_each_of_its_bullets() -> None:
    text = "- When deploying\n" + "  on and on\n" * 1000 + "  - do this first\n  - do that last\n"
    [*parent, first, last] = contents(text)
    assert len(parent) == 3
    assert first.startswith("When deploying on and on") and first.endswith(": do this first") and len(first) < 400
    assert last.endswith(": do that last")


def test_very_long_text_is_cut_between_words() -> None:
    found = contents("word " * 2000)
    assert len(found) > 1
    assert all(piece.startswith("word") and piece.endswith("word") for piece in found)


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        ("Always run the linter", "rule"),
        ("NEVER push to main", "rule"),
        ("Titles must be short", "rule"),
        ("Prefer composition", "rule"),
        ("Don't mock the store", "rule"),
        ("We chose SQLite", "decision"),
        ("It was decided in May", "decision"),
        ("Threads instead of processes", "decision"),
        ("The cache is write-through", "fact"),
        ("Billing uses Stripe", "fact"),
        ("Deploy on Fridays", "note"),
        ("Mustard and isthmus", "note"),
    ],
)
def test_the_type_follows_from_the_words(text: str, type_: str) -> None:
    assert infer_type(text) == type_

"""What a project is built with, and how alike two projects are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.learn import fingerprint_project, jaccard
from clew.learn.fingerprint import MAX_MANIFESTS, TechStackFingerprint, read_manifests, similarity_pct
from clew.learn.manifests import MANIFESTS, MAX_CHARS, major_of, packages_of
from clew.learn.stack import known

components = st.frozensets(st.sampled_from([f"lib:{letter}{end}" for letter in "abcdef" for end in ("", "@1")]))


def of(name: str, text: str) -> set[str]:
    return set(fingerprint_project({name: text}).components)


# -- manifests -----------------------------------------------------------------------------------------


def test_package_json_names_frameworks_libs_and_tools_with_their_major_version() -> None:
    text = json.dumps(
        {"dependencies": {"next": "^16.1.0", "zod": "latest"}, "devDependencies": {"vitest": "~1.2.0"}}
    )
    assert of("package.json", text) == {
        "language:javascript", "framework:next", "framework:next@16", "lib:zod", "tool:vitest", "tool:vitest@1",
    }  # fmt: skip


def test_typescript_is_a_language_only_where_it_is_a_dependency() -> None:
    without = of("package.json", json.dumps({"dependencies": {"react": "18.2.0"}}))
    with_it = of(
        "package.json", json.dumps({"dependencies": {"react": "18.2.0"}, "devDependencies": {"typescript": "5"}})
    )
    assert "language:typescript" in with_it and "language:javascript" not in with_it
    assert without == {"language:javascript", "framework:react", "framework:react@18"}


def test_go_has_major_and_minor_and_modules_lose_their_suffix() -> None:
    text = """module example.com/shop

go 1.22.3

require github.com/gin-gonic/gin v1.9.1
require (
	github.com/jackc/pgx/v5 v5.5.0
	github.com/spf13/cobra v1.8.0 // indirect
)
"""
    assert of("go.mod", text) == {
        "language:go", "language:go@1.22", "framework:gin", "framework:gin@1", "lib:pgx", "lib:pgx@5",
    }  # fmt: skip


def test_pyproject_reads_dependencies_groups_and_tool_tables() -> None:
    text = """[project]
requires-python = ">=3.11"
dependencies = ["FastAPI[all]>=0.110,<1", "SQLAlchemy ~= 2.0 ; python_version > '3.8'", "unheard-of==1"]
[project.optional-dependencies]
dev = ["pytest>=8"]
[dependency-groups]
lint = ["ruff==0.4.0", {include-group = "dev"}]
[tool.mypy]
strict = true
"""
    assert of("pyproject.toml", text) == {
        "language:python", "language:python@3", "framework:fastapi", "framework:fastapi@0", "lib:sqlalchemy",
        "lib:sqlalchemy@2", "tool:pytest", "tool:pytest@8", "tool:ruff", "tool:ruff@0", "tool:mypy",
    }  # fmt: skip


def test_pyproject_of_poetry_is_read_too() -> None:
    text = """[tool.poetry.dependencies]
python = "^3.12"
django = {version = "^5.0", extras = ["argon2"]}
[tool.poetry.group.dev.dependencies]
pytest = "8.*"
"""
    found = of("pyproject.toml", text)
    assert {"language:python@3", "framework:django@5", "tool:pytest@8"} <= found


def test_requirements_txt_skips_options_and_comments() -> None:
    text = "# of the web\nDjango==4.2.1\n-r other.txt\n--hash=sha256:abc\nnumpy  # any\nhttps://example.com/x.whl\n"
    assert of("requirements.txt", text) == {
        "language:python",
        "framework:django",
        "framework:django@4",
        "lib:numpy",
    }


def test_cargo_reads_workspaces_and_targets() -> None:
    text = """[package]
rust-version = "1.75"
[dependencies]
axum = "0.7"
[workspace.dependencies]
serde = { version = "1.0", features = ["derive"] }
[target.'cfg(unix)'.dependencies]
tokio = "1"
[dev-dependencies]
proptest = "*"
"""
    assert of("Cargo.toml", text) == {
        "language:rust", "language:rust@1", "framework:axum", "framework:axum@0", "lib:serde", "lib:serde@1",
        "lib:tokio", "lib:tokio@1", "tool:proptest",
    }  # fmt: skip


def test_a_gemfile_is_read_and_not_run() -> None:
    text = """source "https://rubygems.org"
ruby "3.3.0"
gem "rails", "~> 7.1"
gem 'pg'
# gem "sinatra"
system("touch /tmp/ran")
"""
    assert of("Gemfile", text) == {
        "language:ruby",
        "language:ruby@3",
        "framework:rails",
        "framework:rails@7",
        "lib:pg",
    }


@pytest.mark.parametrize(
    ("requirement", "major"),
    [
        ("^16.1.0", "16"), ("~> 7.1", "7"), (">=2,<3", "2"), ("==1.4.2", "1"), ("v1.2", "1"), ("16.x", "16"),
        ("16", "16"), ("npm:react@18.2.0", "18"), ("^1.0 || ^1.2", "1"), ("0.3", "0"), ("workspace:*", ""),
        ("*", ""), ("latest", ""), ("git+https://x/1.2", ""), ("<3", ""), ("1 || 2", ""), ("2024abc", ""),
        (None, ""), (7, ""),
    ],
)  # fmt: skip
def test_a_major_version_is_told_only_where_one_is_meant(requirement: object, major: str) -> None:
    assert major_of(requirement) == major


def test_c19_components_are_flat_and_shown_in_groups() -> None:
    found = fingerprint_project(
        {"package.json": json.dumps({"dependencies": {"next": "15", "pg": "8"}}), "api/go.mod": "go 1.22\n"}
    )
    assert found.languages == ("go", "go@1.22", "javascript")
    assert found.frameworks == ("next", "next@15")
    assert found.libs == ("pg", "pg@8") and found.databases == ("postgresql",)
    assert found.as_json()["components"] == sorted(found.components)


def test_other_files_do_not_count_and_the_hash_follows_the_manifests() -> None:
    one = fingerprint_project({"package.json": "{}", "README.md": "rails"})
    assert one == fingerprint_project({"package.json": "{}"})
    assert one.manifest_hash != fingerprint_project({"package.json": "{ }"}).manifest_hash
    assert fingerprint_project({}) == TechStackFingerprint()


def test_no_component_is_named_with_the_sign_that_sets_off_a_version() -> None:
    ids = [id for ecosystem in ("npm", "pypi", "cargo", "go", "gem") for id in known(ecosystem).values()]
    assert len(ids) > 300
    assert not [id for id in ids if "@" in id or id.count(":") != 1]


# -- hostile manifests ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MANIFESTS)
@pytest.mark.parametrize(
    "text",
    [
        "", "\x00" * 100, "[" * 200_000, '{"a":' * 100_000, "x = " + "[" * 100_000, "a" * (MAX_CHARS + 1),
        '{"dependencies": []}', '{"dependencies": {"next": {"a": 1}}}', "[]", "null", "[project]\ndependencies = 3",
        "[dependencies]\nserde = []", 'gem "' + "a" * 50_000, "require " + "a/" * 50_000, "[tool]\npoetry = 1",
        "go " + "1" * 50_000, "\n" * 300_000, "- " * 100_000, '{"dependencies": {"next": "' + "1" * 100_000 + '"}}',
    ],
    ids=range(19),
)  # fmt: skip
def test_a_hostile_manifest_says_nothing_and_breaks_nothing(name: str, text: str) -> None:
    found = of(name, text)
    assert len(found) <= 4 and all(id.partition(":")[0] in ("language", "framework", "lib", "tool") for id in found)


@given(st.sampled_from(MANIFESTS), st.text(max_size=300))
def test_any_text_can_be_a_manifest(name: str, text: str) -> None:
    assert isinstance(packages_of(name, text), list)


# -- likeness ------------------------------------------------------------------------------------------


def test_versions_count_twice_against_two_projects_unless_they_are_ignored() -> None:
    """The example of rensei.md 2.4."""
    a, b = (
        fingerprint_project(
            {"package.json": json.dumps({"dependencies": {"typescript": "5", "next": n, "react": r}})}
        )
        for n, r in (("15", "18"), ("16", "19"))
    )
    assert jaccard(a, b) == 3 / 7 and similarity_pct(a, b) == 42
    assert jaccard(a, b, ignore_versions=True) == 1.0


@given(components, components)
def test_likeness_is_a_share_the_same_both_ways_and_one_only_for_the_same(
    a: frozenset[str], b: frozenset[str]
) -> None:
    assert jaccard(a, b) == jaccard(b, a)
    assert 0 <= jaccard(a, b) <= 1
    assert (jaccard(a, b) == 1) == (a == b and bool(a))
    assert similarity_pct(a, b) <= 100 * jaccard(a, b) + 1e-9 < similarity_pct(a, b) + 1


def test_two_projects_about_which_nothing_is_known_are_not_alike() -> None:
    assert jaccard(frozenset(), frozenset()) == 0.0 and similarity_pct(frozenset(), frozenset()) == 0


def test_seven_of_ten_is_seventy_per_cent_and_699_of_1000_is_69() -> None:
    ten = [f"lib:{n}" for n in range(1000)]
    assert similarity_pct(set(ten[:7]), set(ten[:10])) == 70
    assert similarity_pct(set(ten[:699]), set(ten)) == 69


# -- a directory ---------------------------------------------------------------------------------------


def test_a_directory_is_read_to_one_level_below_without_what_is_not_ours(tmp_path: Path) -> None:
    for place in (".", "web", "web/deep", "node_modules", "vendor"):
        (tmp_path / place).mkdir(parents=True, exist_ok=True)
        (tmp_path / place / "package.json").write_text("{}")
    (tmp_path / "outside.json").write_text("{}")
    (tmp_path / "go.mod").symlink_to(tmp_path / "outside.json")
    (tmp_path / "Gemfile").mkdir()
    (tmp_path / "web" / "Cargo.toml").write_text("x" * (MAX_CHARS + 1))
    assert sorted(read_manifests(tmp_path)) == ["package.json", "web/package.json"]


def test_a_directory_with_many_manifests_is_bounded(tmp_path: Path) -> None:
    for n in range(MAX_MANIFESTS + 10):
        (tmp_path / f"p{n}").mkdir()
        (tmp_path / f"p{n}" / "go.mod").write_text("go 1.22")
    assert len(read_manifests(tmp_path)) == MAX_MANIFESTS

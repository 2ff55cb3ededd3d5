"""The documented function that gives a text its tier (rensei.md 4); a write does the same."""

from __future__ import annotations

from collections.abc import Sequence

from clew.remember.classify import classify
from clew.remember.redact import redact


def classify_observation(content: str, source_files: Sequence[str] = (), source_type: str = "note") -> str:
    """public, internal, confidential or restricted; a text that holds a secret is restricted."""
    masked = redact(content)
    return classify(masked.text, paths=source_files, type=source_type, masked=bool(masked.kinds))

"""Metadata of a memory: a JSON object, and nothing that would have to be changed to become one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from clew.errors import InvalidInput


def metadata_text(metadata: Mapping[str, Any]) -> str:
    try:
        return json.dumps(dict(metadata), ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        raise InvalidInput(
            "metadata is not a JSON object", code="MEMORY_METADATA_INVALID", next="pass plain JSON values"
        ) from None

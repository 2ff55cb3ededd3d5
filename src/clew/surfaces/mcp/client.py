"""What a client says of itself. It is noted with what it writes; it decides nothing."""

from __future__ import annotations

from typing import Any


def client_name(context: Any) -> str | None:
    told = context.session.client_params
    return told.client_info.name if told else None

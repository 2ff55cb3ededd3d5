"""The exception tree, chosen by what the caller can do about it.

    ClewError
    ├── InvalidInput     fix the input                     exit 2
    ├── Misconfigured    fix the configuration             exit 2
    ├── NotFound         check the id and the scope        exit 3
    ├── Denied           ask for the right                 exit 4
    ├── Conflict         look at the newer state, decide   exit 1
    ├── StoreRefused     use the right file or version     exit 1
    └── Unavailable      free space, unlock, retry later   exit 5

Every error has a stable `code`, a message that names the thing, and `next`, the next move.
Messages never carry memory content or secrets.
"""

from __future__ import annotations

from collections.abc import Mapping


class ClewError(Exception):
    """Root of everything Clew raises on purpose."""

    default_code = "FAILED"
    exit_code = 1

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        next: str = "",
        details: Mapping[str, object] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code or self.default_code
        self.next = next
        self.details = dict(details or {})

    def as_json(self) -> dict[str, object]:
        error: dict[str, object] = {"code": self.code, "message": self.message, "next": self.next}
        if self.details:
            error["details"] = self.details
        return {"error": error}


class InvalidInput(ClewError):
    default_code = "INVALID_INPUT"
    exit_code = 2


class Misconfigured(ClewError):
    default_code = "MISCONFIGURED"
    exit_code = 2


class NotFound(ClewError):
    default_code = "NOT_FOUND"
    exit_code = 3


class Denied(ClewError):
    default_code = "DENIED"
    exit_code = 4


class Conflict(ClewError):
    default_code = "CONFLICT"
    exit_code = 1


class StoreRefused(ClewError):
    default_code = "STORE_REFUSED"
    exit_code = 1


class Unavailable(ClewError):
    default_code = "UNAVAILABLE"
    exit_code = 5

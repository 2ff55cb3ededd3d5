"""Names that are keys, of places and things. One that holds a secret is refused: masked, two would become one."""

from __future__ import annotations

from functools import lru_cache

from clew.errors import InvalidInput
from clew.model.scope import Scope
from clew.remember.redact import redact


def refuse_secret(name: str, what: str, *, code: str) -> None:
    """The error does not quote it."""
    if redact(name).text != name:
        raise InvalidInput(
            f"the name of the {what} holds a secret",
            code=code,
            next=f"give the {what} a name that gives nothing away",
        )


@lru_cache(maxsize=64)
def check_place(scope: Scope) -> None:
    """Before anything is kept there; what was kept before is still found."""
    for what in ("org", "project", "user", "agent", "session", "namespace"):
        refuse_secret(getattr(scope, what) or "", what, code="SCOPE_NAME_SECRET")

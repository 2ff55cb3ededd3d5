"""Whether two processes mean the same by their settings, or the same store: one may only answer for the other if
they do."""

from __future__ import annotations

import os
from hashlib import sha256

from clew import __version__
from clew.model.address import HIDDEN, without_password
from clew.settings import Settings

_OF_THE_SERVER = ("serve.", "hooks.")  # no verb that a client calls looks at these


def fingerprint_of(settings: Settings) -> str:
    """Of every value that a verb may look at, and of the version. Not of the home, which both share."""
    told = [
        (path, _absolute(value) if path == "store.url" else value)
        for path, value, _source, _doc in settings.items()
        if not path.startswith(_OF_THE_SERVER)
    ]
    return sha256(repr((__version__, told)).encode()).hexdigest()


def store_of(settings: Settings) -> str:
    """Where the store is, however that is spelled, and without a password. An address that cannot be told whole is
    told by its digest."""
    place = _absolute(settings.store.url) or f"{settings.home}/clew.db"
    if "://" not in place:
        return os.path.realpath(place)
    told = without_password(place)
    return sha256(place.encode()).hexdigest() if HIDDEN in told or "?" in place else told


def _absolute(url: str) -> str:
    """A relative path means another file in another directory."""
    path = url.removeprefix("sqlite:///")
    if "://" in path:
        return path
    return os.path.abspath(os.path.expanduser(path)) if path else ""  # noqa: PTH100, PTH111 (pathlib costs more)

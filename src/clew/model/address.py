"""Where a store is, as it may be told: an address may hold a password, and so may what was meant to be one."""

from __future__ import annotations

import re

POSTGRES = ("postgresql", "postgres")
HIDDEN = "***"
_OF_FILES = ("sqlite", "unix")  # what follows is a path
_SCHEMES = frozenset((*POSTGRES, *_OF_FILES, "file", "http", "https"))
_MOST_PORT = 65_535
# Compiled when they are needed: every command loads this, and hardly one asks.
_ONE_SLASH = r"[A-Za-z][A-Za-z0-9+.-]+:/"  # two letters at least: C:/ is a disk
_HOST_AND_PORT = r"(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9][A-Za-z0-9.-]+):[0-9]{1,5}(?:/|$)"  # the scheme is missing
_CONNINFO = (
    r"\s*(?:(?:host|hostaddr|port|dbname|user|password|passfile|service|options|ssl\w+)\s*="
    r"|\w+\s*=\s*\S+\s+\w+\s*=)"
)
_HOST = r"(?:\[[^\]=;&\s]*\]|[^:\[\]=;&\s]*)(?::([0-9]{0,5}))?"


def scheme_of(text: str) -> str:
    """What stands before ://, in lower case; '' for a path and for what cannot be read."""
    scheme, separator, _rest = text.partition("://")
    letters = scheme.replace("+", "").replace("-", "").replace(".", "")
    is_one = separator and scheme.isascii() and scheme[:1].isalpha() and letters.isalnum()
    return scheme.lower() if is_one else ""


def is_shared(text: str) -> bool:
    """Whether a store or a Clew there may serve other machines too."""
    return scheme_of(text) in (*POSTGRES, "http", "https")


def is_no_path(text: str) -> bool:
    """Whether it was meant for an address and is none: as a path it would make a file of that name."""
    scheme, separator, _rest = text.partition(":")
    if text.isspace() or (separator and scheme.lower() in _SCHEMES):
        return True
    if ":" not in text and "=" not in text:
        return False
    return bool("://" in text or any(re.match(form, text) for form in (_ONE_SLASH, _HOST_AND_PORT, _CONNINFO)))


def without_password(text: str) -> str:
    """Scheme, user, host, port and path; no query. Nothing of it, where the end of a password is in doubt. The user
    of a database only: elsewhere it may be a token."""
    scheme = scheme_of(text)
    if not scheme:
        return HIDDEN if is_no_path(text) else text
    rest = text[len(scheme) + 3 :]
    if scheme in _OF_FILES and rest.startswith("/"):
        return text
    place = re.split("[/?#]", rest, maxsplit=1)[0]
    path, _, query = rest[len(place) :].partition("?")
    who, at, hosts = place.rpartition("@")
    is_database = scheme in POSTGRES
    named = "postgresql" if is_database else scheme
    hosts = _asked_for(query, hosts) if is_database else hosts
    if "@" in who + path + query or "=" in path or not all(map(_is_host, hosts.split(","))):
        return f"{named}://{HIDDEN}"
    user = who.partition(":")[0] if is_database else at and HIDDEN
    return f"{named}://{user}{user and at}{hosts}{path.partition('#')[0]}"


def _is_host(text: str) -> bool:
    found = re.fullmatch(_HOST, text)
    return bool(found and int(found[1] or 0) <= _MOST_PORT)


def _asked_for(query: str, hosts: str) -> str:
    """Host and port may stand in the query, as those of a socket do."""
    if "host=" not in query and "port=" not in query:
        return hosts
    from urllib.parse import parse_qsl

    asked = dict(parse_qsl(query))
    port = asked.get("port", "")
    return asked.get("host", hosts) + (f":{port}" if port.isascii() and port.isdigit() else "")

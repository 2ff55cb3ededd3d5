"""What PostgreSQL says, as errors that name the store and the next move.

Of what the server says only the main message is told, and of that nothing that may be a value: details and the
text of statements can quote what nobody should read.
"""

from __future__ import annotations

import re

import psycopg
from psycopg import errors as pg

from clew.errors import ClewError, Conflict, Misconfigured, StoreRefused, Unavailable
from clew.model.address import without_password

UNDONE = (pg.SerializationFailure, pg.DeadlockDetected)
_GIVEN_UP = (pg.IdleInTransactionSessionTimeout, pg.TransactionTimeout)  # by the server, with the connection
# libpq gives no code for what ended an attempt to connect, only the server's words. In another language than this
# one they are not recognised: then the server is said not to answer.
_WRONG_PASSWORD = re.compile(r"password authentication failed|no password supplied")
_NOT_LET_IN = re.compile(
    r'role "[^\n]*" (?:does not exist|is not permitted)|no pg_hba\.conf entry|authentication failed'
)
_NO_DATABASE = re.compile(r'database "[^\n]*" does not exist|permission denied for database')
_CROWDED = re.compile(r"too many clients|too many connections|remaining connection slots")
_UNKNOWN_PARAMETER = re.compile(r'invalid URI query parameter: "(\w{1,40})"')
_SEVERAL = "Multiple connection attempts failed"  # one of several servers may come back


def told(error: psycopg.Error, location: str) -> ClewError:
    state = error.sqlstate or ""
    if isinstance(error, pg.QueryCanceled):
        return Unavailable(
            f"{location} gave a statement up",
            code="STORE_BUSY",
            next="try again; if it stays so, raise the statement_timeout of this role or database",
        )
    if isinstance(error, pg.LockNotAvailable):
        return Unavailable(
            f"{location} is in use by others that do not let go", code="STORE_BUSY", next="try again"
        )
    if isinstance(error, UNDONE):
        return conflicting(location)
    if isinstance(error, psycopg.IntegrityError):
        return _excluded(location)
    if isinstance(error, (pg.ReadOnlySqlTransaction, pg.InsufficientPrivilege)):
        return _read_only(error, location)
    if state.startswith("53") or _CROWDED.search(str(error) if not state else ""):
        return _short_of(error, location)
    return unreachable(location) if is_away(error) else refused(error, location)


def is_away(error: psycopg.Error) -> bool:
    """Whether it tells of a connection, not of what was asked of the server."""
    if error.sqlstate is None:
        return isinstance(error, (psycopg.OperationalError, psycopg.InterfaceError))
    return error.sqlstate.startswith(("08", "57P0")) or isinstance(error, _GIVEN_UP)


def not_let_in(error: psycopg.Error, location: str) -> ClewError | None:
    """Why a server refuses to connect for good; None when it may do so in a moment."""
    said = str(error)
    if error.sqlstate is not None or _SEVERAL in said:
        return None
    if _WRONG_PASSWORD.search(said):
        next = "put the right password into ~/.pgpass, or set PGPASSWORD"
        return Misconfigured(f"{location} refused the password", code="LOGIN_REFUSED", next=next)
    if _NOT_LET_IN.search(said):
        next = "check the role in the URL, and that the server lets it in (CREATE ROLE ... LOGIN, pg_hba.conf)"
        return Misconfigured(f"{location} does not let this role in", code="LOGIN_REFUSED", next=next)
    if _NO_DATABASE.search(said):
        next = "check its name in the URL, or as an administrator of the server: CREATE DATABASE, GRANT CONNECT"
        return Misconfigured(f"there is no database for us at {location}", code="DATABASE_MISSING", next=next)
    return None


def unreadable(error: psycopg.Error, url: str) -> StoreRefused:
    """An address. A parameter that does not exist is named, unless it may be the rest of a password."""
    location = without_password(url)
    unknown = None if "password" in url.partition("?")[2] else _UNKNOWN_PARAMETER.search(str(error))
    if unknown is None:
        why, next = "is not an address of a PostgreSQL database", "write it as postgresql://user@host/database"
    else:
        why = f"is an address with '{unknown[1]}', which is no parameter of a connection"
        next = "correct its name, such as sslmode, or leave it out"
    return StoreRefused(f"'{location}' {why}", code="URL_INVALID", next=next)


def refused(error: psycopg.Error, location: str) -> StoreRefused:
    return StoreRefused(f"{location} refused this: {_said(error)}", next="run: clew doctor")


def _said(error: psycopg.Error) -> str:
    """The code and the main message up to a value that it quotes. Names of tables are no values."""
    message = error.diag.message_primary
    if not error.sqlstate or not message:
        return type(error).__name__
    value = '"' if error.sqlstate.startswith("22") else ': "'
    return f"{error.sqlstate} {message.partition(value)[0].strip()}"


def _excluded(location: str) -> Conflict:
    next = "look at what is there and try again"
    return Conflict(f"{location} holds something that excludes this", code="STORE_CONFLICT", next=next)


def _read_only(error: psycopg.Error, location: str) -> StoreRefused:
    next = "connect to the primary server, or run: clew migrate as the owner of the schema"
    return StoreRefused(f"{location} refused this: {_said(error)}", code="STORE_READ_ONLY", next=next)


def _short_of(error: psycopg.Error, location: str) -> Unavailable:
    if isinstance(error, pg.DiskFull):
        next = "free some disk space on the server"
        return Unavailable(f"no space left to write {location}", code="DISK_FULL", next=next)
    if error.sqlstate in (None, "53300"):
        next = "raise max_connections of the server, or lower store.connections"
        return Unavailable(f"{location} has no connection left", code="TOO_MANY_CONNECTIONS", next=next)
    next = "give the server more, then try again"
    return Unavailable(f"{location} lacks something: {_said(error)}", code="STORE_REFUSED", next=next)


def store_closed() -> Unavailable:
    return Unavailable("the store is closed", code="STORE_CLOSED", next="open it again")


def unreachable(location: str) -> Unavailable:
    return Unavailable(
        f"{location} does not answer", code="STORE_UNREACHABLE", next="check that the server runs, then try again"
    )


def commit_unknown(location: str) -> Unavailable:
    return Unavailable(
        f"whether the last write reached {location} is not known",
        code="COMMIT_UNKNOWN",
        next="look at what is there before trying again",
    )


def conflicting(location: str) -> Unavailable:
    return Unavailable(f"others kept changing the same in {location}", code="STORE_BUSY", next="try again")

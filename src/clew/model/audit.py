"""An entry of the audit log, and how each one seals the one before it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import fields
from datetime import datetime
from hashlib import sha256
from typing import Any

from clew.model.times import from_micros, to_rfc3339
from clew.values import dataclass


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """A row as it is stored: the hash is over these very values, so nothing is parsed before it is checked.

    `policy_ids` and `detail` are JSON texts. `hash` is '' in entries from before there was a chain.
    """

    org: str
    seq: int
    at_us: int
    actor: str
    action: str
    kind: str
    id: str
    content_hash: str = ""
    decision: str = ""
    policy_ids: str = "[]"
    detail: str = "{}"
    prev_hash: str = ""
    hash: str = ""

    @property
    def at(self) -> datetime:
        return from_micros(self.at_us)

    def as_json(self) -> dict[str, Any]:
        return {
            "seq": self.seq,
            "at": to_rfc3339(self.at),
            "actor": self.actor,
            "action": self.action,
            "kind": self.kind,
            "id": self.id,
            "content_hash": self.content_hash,
            "decision": self.decision,
            "policy_ids": json.loads(self.policy_ids),
            "detail": json.loads(self.detail),
            "prev_hash": self.prev_hash,
            "hash": self.hash,
        }


@dataclass(frozen=True, slots=True)
class AuditHead:
    """The last entry: kept elsewhere, it shows later whether the log was rewritten from the end."""

    seq: int
    hash: str

    def __str__(self) -> str:
        return f"{self.seq}:{self.hash}"


@dataclass(frozen=True, slots=True)
class ChainReport:
    """`first_bad_seq` names the first entry that is wrong or missing."""

    ok: bool
    entries: int
    first_bad_seq: int | None = None
    problem: str = ""

    def as_json(self) -> dict[str, Any]:
        answer: dict[str, Any] = {"ok": self.ok, "entries": self.entries}
        if not self.ok:
            answer |= {"first_bad_seq": self.first_bad_seq, "problem": self.problem}
        return answer


_SEALED = tuple(field.name for field in fields(AuditEntry) if field.name != "hash")


# What JSON cannot hold is spelled somehow: it then fails to match, as it should.
_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True, default=repr)


def canonical(value: Any) -> str:
    """One spelling per value."""
    return _ENCODER.encode(value)


def seal(entry: AuditEntry) -> str:
    """sha-256 over the hash before and the entry itself: rensei.md 2.11."""
    return sha256(f"{entry.prev_hash}{_text(entry)}".encode("utf-8", "backslashreplace")).hexdigest()


def _text(entry: AuditEntry) -> str:
    return canonical({name: getattr(entry, name) for name in _SEALED})


class Unchained:
    """Entries from before there was a chain, as they pass; the chain begins with the digest of them all."""

    __slots__ = ("_count", "_digest")

    def __init__(self) -> None:
        self._digest = sha256()
        self._count = 0

    def add(self, entry: AuditEntry) -> None:
        self._digest.update(_text(entry).encode() + b"\n")
        self._count += 1

    def digest(self) -> str:
        """'' if there were none."""
        return self._digest.hexdigest() if self._count else ""


def digest_of(entries: Iterable[AuditEntry]) -> str:
    unchained = Unchained()
    for entry in entries:
        unchained.add(entry)
    return unchained.digest()


def digest_of_ids(ids: Iterable[str]) -> str:
    """Names many ids in one entry."""
    return sha256("\n".join(ids).encode()).hexdigest()

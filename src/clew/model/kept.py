"""Answers kept for requests that are sent again, and what a server counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime
from typing import NamedTuple

from clew.values import dataclass


class KeptKey(NamedTuple):
    """An idempotency key belongs to whoever sent it: nobody gets another's answer."""

    org: str
    principal: str
    key: str


@dataclass(frozen=True, slots=True)
class Kept:
    """`request` is a hash of what was asked. Status 0: it is still under way, since `at`."""

    request: bytes
    at: datetime
    status: int = 0
    headers: Mapping[str, str] = field(default_factory=dict)
    answer: bytes = b""


@dataclass(frozen=True, slots=True)
class Waiting:
    """How many there are in a state, and for how many seconds the oldest is there."""

    count: int = 0
    oldest_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Counted:
    """Of all orgs: for whoever runs the store."""

    jobs: Mapping[str, int]  # by state
    oldest_due_s: float  # since when the oldest job waits that could be done; 0 when none does
    injects: Mapping[str, Waiting]  # by state
    events: Waiting  # of hooks, from which nothing was captured yet

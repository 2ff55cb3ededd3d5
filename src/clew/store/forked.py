"""Stores in a process that was forked from the one that opened them. Neither threads nor locks came along: what is
written without them is lost, or waits for good. Such a store counts as closed there."""

from __future__ import annotations

import os
import weakref
from typing import Protocol

from clew.errors import Unavailable


class Inherited(Protocol):
    def leave_to_parent(self) -> None:
        """Called in the child. Nothing may be closed: that would let go of what the parent holds."""
        ...


_OPENED: weakref.WeakSet[Inherited] = weakref.WeakSet()


def watch(store: Inherited) -> None:
    _OPENED.add(store)


def _after_fork() -> None:
    for store in list(_OPENED):
        store.leave_to_parent()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def store_inherited() -> Unavailable:
    return Unavailable(
        "the store was opened by the process that this one was forked from",
        code="STORE_CLOSED",
        next="open it after the fork, in this process",
    )

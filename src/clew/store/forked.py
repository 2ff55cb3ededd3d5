"""Stores in a process that was forked from the one that opened them. Neither threads nor locks came along: what is
written without them is lost, or waits for good. Such a store counts as closed there.

Nor can a file that the parent had open be opened anew: SQLite believes that this process holds the locks it has on
it, takes none, and when the parent closes it the log is deleted under the child, with all that was acknowledged.
"""

from __future__ import annotations

import os
import weakref
from pathlib import Path
from typing import Protocol

from clew.errors import Unavailable

NEXT = "close it before the fork, or start the process anew: multiprocessing.set_start_method('spawn')"


class Inherited(Protocol):
    def leave_to_parent(self) -> None:
        """Called in the child. Nothing may be closed: that would let go of what the parent holds."""
        ...


_OPENED: weakref.WeakSet[Inherited] = weakref.WeakSet()
_HELD: set[tuple[int, int]] = set()  # files that the parent had open: device and number


def watch(store: Inherited) -> None:
    _OPENED.add(store)


def _after_fork() -> None:
    for store in list(_OPENED):
        store.leave_to_parent()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def note_held(path: Path) -> None:
    """In the child."""
    if found := identity(path):
        _HELD.add(found)


def check_not_held(path: Path) -> None:
    """Refuse a file that the parent had open when this process was forked."""
    if _HELD and identity(path) in _HELD:
        raise Unavailable(
            f"{path} was open in the process that this one was forked from", code="STORE_INHERITED", next=NEXT
        )


def identity(path: Path | str) -> tuple[int, int] | None:
    """Device and number; None when there is no such file, or none that can be reached."""
    try:
        found = os.stat(path)  # noqa: PTH116 - each read and write asks, and pathlib costs more
    except OSError:
        return None
    return found.st_dev, found.st_ino


def store_inherited() -> Unavailable:
    return Unavailable(
        "the store was opened by the process that this one was forked from", code="STORE_CLOSED", next=NEXT
    )

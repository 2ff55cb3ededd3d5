"""What the store knows of policies and agents, read again only after somebody committed something."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, TypeVar, cast

from clew.errors import Unavailable
from clew.lazy import LazyModule
from clew.model.memory import CLASSIFICATIONS

if TYPE_CHECKING:
    from clew.model import access
    from clew.model.access import AddedPolicies
    from clew.model.config import AgentRights
    from clew.ports import Store, Tx
else:
    access = LazyModule("clew.model.access")

T = TypeVar("T")
KEPT = 1_000


class StoredRights:
    """Added policies per org, rights per agent. A commit of any process is seen by the next call."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[Hashable, tuple[tuple[int, int], object]] = {}

    def has_added(self, org: str) -> bool:
        """Whether there are policies beside the shipped ones. Where none ever was, this is one cheap look: whoever
        writes changes the version each time, and would read everything again behind it."""
        ever = self._store.has_counted(org, "policies")
        if ever is None:
            ever = self._behind_version(("added", org), _ever_added(org))
        return ever and bool(self.policies(org).policies)

    def hides(self, org: str, agent: str | None) -> bool:
        """Whether policies may keep more from an agent's prompt than what nobody is told unasked: where none were
        added, only a clearance does that is below every label but the highest."""
        if self.has_added(org):
            return True
        return agent is not None and self.rights(org, agent).clearance < len(CLASSIFICATIONS) - 2

    def policies(self, org: str) -> AddedPolicies:
        return self._behind_version(("policies", org), lambda tx: self._policies(tx, org))

    def rights(self, org: str, agent: str) -> AgentRights:
        return self._behind_version(("rights", org, agent), lambda tx: tx.guarding.rights(org, agent))

    def _policies(self, tx: Tx, org: str) -> AddedPolicies:
        version = tx.guarding.policy_version(org)
        return (
            access.AddedPolicies(version, tuple(tx.guarding.policies(org)))
            if any(version)
            else access.AddedPolicies()
        )

    def _behind_version(self, key: Hashable, read: Callable[[Tx], T]) -> T:
        version = self._store.data_version()
        known = self._known.get((version[0], key))
        if known is not None and known[0] == version:
            return cast("T", known[1])
        value = self._read(read)
        if len(self._known) >= KEPT:
            self._known.clear()
        self._known[version[0], key] = (version, value)
        return value

    def _read(self, read: Callable[[Tx], T]) -> T:
        """Also for a caller that is in the middle of a snapshot, where no second one can begin."""
        try:
            with self._store.read() as tx:
                return read(tx)
        except Exception:  # mostly that a snapshot is open here; if it is worse, the other way fails too
            return _elsewhere(self._store, read)


def _ever_added(org: str) -> Callable[[Tx], bool]:
    return lambda tx: any(tx.meta.counters(("", org), "policies"))


def _elsewhere(store: Store, read: Callable[[Tx], T]) -> T:
    """In a thread of its own, which has a connection of its own."""
    answers: list[T] = []

    def run() -> None:
        with store.read() as tx:
            answers.append(read(tx))

    thread = threading.Thread(target=_quietly(run), name="clew-policies", daemon=True)
    thread.start()
    thread.join(timeout=5.0)
    if not answers:
        raise Unavailable("the policies cannot be read", code="POLICIES_UNREADABLE", next="run: clew doctor")
    return answers[0]


def _quietly(run: Callable[[], None]) -> Callable[[], None]:
    def call() -> None:
        try:
            run()
        except Exception:  # whoever waits sees that there is no answer
            return

    return call

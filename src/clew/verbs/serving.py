"""What a server needs of the store beyond the verbs: answers to requests sent again, and its own health."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING

from clew.errors import Conflict, InvalidInput
from clew.model.kept import Counted, Kept, KeptKey
from clew.model.scope import Identity
from clew.model.times import to_rfc3339

if TYPE_CHECKING:
    from concurrent.futures import Future

    from clew.clew import Clew
    from clew.ports import Tx

KEPT = timedelta(days=1)
TAKEN_OVER = timedelta(seconds=60)  # whoever began it has crashed by then: no request takes so long
MAX_KEY = 255
PROBED_AT = "probed_at"


class Serving:
    """Bound to one Clew. Nothing here shows content."""

    def __init__(self, clew: Clew) -> None:
        self._clew = clew

    # -- requests that are sent again ------------------------------------------------------------------

    def key_of(self, identity: Identity, key: str, *, credential: str) -> KeptKey:
        """Another credential of the same user may have other rights, so it has keys of its own."""
        return KeptKey(identity.org, json.dumps([credential, identity.user, identity.agent]), _checked(key))

    def begin(self, named: KeptKey, request: bytes) -> Kept:
        """Status 0: do it now, and call `finish` or `drop`. Otherwise: this was the answer. Whoever crashes before
        `finish` leaves it undecided; after a minute it is begun anew, and so perhaps done again."""
        mine = Kept(request, self._clew.now())

        def begin(tx: Tx) -> Kept:
            known = tx.replays.get(named)
            if known is None or _is_over(known, mine):
                tx.replays.begin(named, mine)
                return mine
            return _answered(known, request)

        return self._clew.store.write(begin, durable=False)

    def finish(self, key: KeptKey, kept: Kept, *, status: int, headers: Mapping[str, str], answer: bytes) -> None:
        done = replace(kept, status=status, headers=headers, answer=answer)
        self._clew.store.write(lambda tx: tx.replays.finish(key, done))

    def drop(self, key: KeptKey, kept: Kept) -> None:
        """It failed, so it may be tried again."""
        self._clew.store.write(lambda tx: tx.replays.drop(key, kept), durable=False)

    def sweep(self) -> int:
        """Forget answers that are older than a day."""
        before = self._clew.now() - KEPT
        with self._clew.store.read() as tx:
            orgs = tx.config.orgs()
        return sum(self._clew.store.write(partial(_sweep, org=org, before=before), durable=False) for org in orgs)

    # -- health ----------------------------------------------------------------------------------------

    def probe(self) -> Future[None]:
        """Write something; done when it is committed."""
        at = to_rfc3339(self._clew.now())
        return self._clew.store.submit(lambda tx: tx.meta.put(PROBED_AT, at), durable=False)

    def counted(self) -> Counted:
        with self._clew.store.read() as tx:
            return tx.serving.counted(self._clew.now(), next_due_s=tx.jobs.next_due_s())

    def oldest_due_s(self) -> float:
        """Since when the oldest job waits that could be done; 0 when none does."""
        with self._clew.store.read() as tx:
            return max(0.0, -(tx.jobs.next_due_s() or 0.0))

    def schema(self) -> tuple[int, int]:
        """The one of the file, and the one this Clew knows."""
        with self._clew.store.read() as tx:
            return tx.serving.schema()

    def has_keys(self) -> bool:
        """Whether anybody could show a key that is valid."""
        with self._clew.store.read() as tx:
            return tx.serving.has_keys(self._clew.now())


def _sweep(tx: Tx, *, org: str, before: datetime) -> int:
    return tx.replays.sweep(org, before=before)


def _is_over(known: Kept, mine: Kept) -> bool:
    age = mine.at - known.at
    return age >= KEPT or (known.status == 0 and age >= TAKEN_OVER)


def _answered(known: Kept, request: bytes) -> Kept:
    if known.request != request:
        raise InvalidInput(
            "this idempotency key was used for another request",
            code="IDEMPOTENCY_KEY_REUSED",
            next="use a new key for each thing you want done",
        )
    if known.status == 0:
        raise Conflict(
            "the same request is still under way",
            code="IDEMPOTENCY_IN_PROGRESS",
            next="wait a moment and send it again",
        )
    return known


def _checked(key: str) -> str:
    if not (0 < len(key) <= MAX_KEY and key.isascii() and key.isprintable()):
        raise InvalidInput(
            f"the idempotency key is not 1 to {MAX_KEY} printable ASCII characters",
            code="IDEMPOTENCY_KEY_INVALID",
            next="use a random one, such as a UUID",
        )
    return key

"""`clew.rollout.replay(...)`: who may replay, and what of it they see."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from clew.errors import ClewError, InvalidInput
from clew.lazy import LazyModule
from clew.model.scope import Identity, Scope
from clew.model.times import zoned
from clew.verbs import powers

if TYPE_CHECKING:
    from clew.clew import Clew
    from clew.guard.doors import Door
    from clew.model.replay import Replay
    from clew.rollout import replay as replaying
else:
    replaying = LazyModule("clew.rollout.replay")

WINDOW = timedelta(days=30)
MAX_TOP = 100


def replay(
    clew: Clew,
    *,
    since: datetime | None = None,
    project: str | None = None,
    limit: int | None = None,
    top: int | None = None,
    identity: Identity | None = None,
) -> Replay:
    """Recorded queries in both modes on today's store, over 30 days unless told otherwise; nothing is written."""
    identity, now = powers.caretaker(clew, identity, "replay what was asked in the whole org"), clew.now()
    since = zoned("since", since) or now - WINDOW
    _check(since=since, now=now, limit=limit, top=top)
    replayer = replaying.Replayer(clew._reader, _sight(clew, identity), now)
    limit = replaying.LIMIT if limit is None else limit
    return replayer.replay(identity.org, since=since, project=project, limit=limit, top=top)


def _sight(clew: Clew, identity: Identity) -> Callable[[Scope], Door | None]:
    """The door of each scope that this identity may enter and whose sessions' words it may read."""
    rights = clew.sessions.rights(identity)

    def door_to(scope: Scope) -> Door | None:
        try:
            clew._scope(scope, identity)
        except ClewError:
            return None
        return clew._doors.door(identity, scope) if rights.texts.sees(scope.project, scope.user) else None

    return door_to


def _check(*, since: datetime, now: datetime, limit: int | None, top: int | None) -> None:
    if since >= now:
        raise InvalidInput(
            "the window ends before it begins", code="WINDOW_INVALID", next="give an earlier --since"
        )
    if limit is not None and limit < 1:
        raise InvalidInput(
            f"limit {limit} is out of range", code="REPLAY_LIMIT_INVALID", next="ask for 1 question or more"
        )
    if top is not None and not 1 <= top <= MAX_TOP:
        raise InvalidInput(
            f"top {top} is out of range", code="REPLAY_TOP_INVALID", next=f"compare the first 1 to {MAX_TOP}"
        )

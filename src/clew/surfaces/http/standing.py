"""What a server knows of itself: who counts, who watches, since when."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import time
from typing import TYPE_CHECKING

from clew.surfaces.http.health import Health
from clew.surfaces.http.tally import Tally
from clew.surfaces.http.watch import Watched
from clew.verbs.serving import Serving

if TYPE_CHECKING:
    from clew import Clew


class Standing:
    """`tally` is where routes count, too: `call.server.tally.hook(...)`."""

    def __init__(self, clew: Clew, *, threads: Sequence[Watched] = (), version: str = "") -> None:
        self.tally = Tally()
        self.health = Health(clew, threads)
        self.serving = Serving(clew)
        self.version = version
        self.started_at = time()
        self.open_streams: Callable[[], int] = lambda: 0
        self.before: dict[str, Callable[[], None]] = {}  # by the name of a route: what comes first

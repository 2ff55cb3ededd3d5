"""An embedder behind a network, for those who wait for an answer.

One that kept somebody waiting in vain is left alone for a while, and words answer at once; then a question tries it
again. What fails at once costs nobody time and is asked every time. Jobs go to it directly: nobody waits for them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from threading import Lock
from typing import TYPE_CHECKING

from clew.errors import Unavailable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from clew.model.space import VectorSpace
    from clew.ports import Embedder

IN_VAIN_S = 1.0
REST_S, LONGEST_REST_S = 30.0, 300.0  # doubled each time it is tried in vain


class Rested:
    """An `Embedder`; safe to share between threads."""

    is_remote = True

    def __init__(self, embedder: Embedder, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._embedder = embedder
        self._clock = clock
        self._lock = Lock()
        self._rest_s = 0.0
        self._until = float("-inf")

    @property
    def space(self) -> VectorSpace:
        return self._embedder.space

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        began = self._clock()
        if began < self._until:
            raise Unavailable(
                "the embedding endpoint kept a question waiting in vain and is left alone for a while",
                code="ENDPOINT_RESTING",
                next="check that it runs: clew doctor",
            )
        try:
            vectors = self._embedder.embed(texts)
        except Exception:
            self._failed(began)
            raise
        self._rest_s = 0.0
        return vectors

    def _failed(self, began: float) -> None:
        now = self._clock()
        with self._lock:
            if now - began >= IN_VAIN_S and now >= self._until:  # not those as well that waited beside it
                self._rest_s = min(2 * self._rest_s or REST_S, LONGEST_REST_S)
                self._until = now + self._rest_s
